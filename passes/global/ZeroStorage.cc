// Implements ZeRO as storage: decides which variables are stored split, and in
// which slots of which buckets.
#include "passes/global/Passes.h"
#include "passes/global/VariableStorages.h"
#include "passes/global/ZeroTexts.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <queue>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_ZEROSTORAGEPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

using Roles = std::map<std::string, Type>; ///< by role: the element type of the states that lie as their parameter does

/// Parameters that share a bucket, in the order of the module.
struct Bucket {
  std::string name;
  Type element;
  bool frozen;
  sbp::Policy policy;
  Roles states; ///< the same for each member, since a range of states is as long as that of the parameters
  SmallVector<sbp::VariableOp> members;
  SmallVector<int64_t> offsets;
  int64_t elements = 0; ///< so far, without padding at the end
  StringRef lastGroup;
};

struct ZeroStorage : splitcast::impl::ZeroStoragePassBase<ZeroStorage> {
  ZeroStorage() : texts(*this, /*ofStorageOnly=*/true) {}
  ZeroStorage(const ZeroStorage &other) : ZeroStoragePassBase(other), texts(*this, /*ofStorageOnly=*/true) {}
  explicit ZeroStorage(const sbp::ZeroOptions &options) : ZeroStorage() { texts.set(options); }

  LogicalResult initializeOptions(StringRef text, function_ref<LogicalResult(const Twine &)> errorHandler) override {
    sbp::ZeroOptions parsed;
    if (std::optional<std::string> error = sbp::parseZeroOptions(text, &parsed, /*ofStorageOnly=*/true))
      return errorHandler("'sbp-zero-storage' is given '" + text + "': " + *error);
    texts.set(parsed);
    return success();
  }

  void runOnOperation() override {
    if (failed(checkOptions()) || failed(verifyModule(getOperation())) || failed(verifyVariables(getOperation())) ||
        failed(verifyCarried(getOperation())) || failed(completePolicies()))
      return signalPassFailure();
    states.clear();
    names.clear();
    storageNames.clear();
    copiesOf.clear();
    if (!placement)
      return; // without global tensors there is nothing to store
    for (auto symbol : getOperation().getOps<SymbolOpInterface>()) {
      names.insert(symbol.getName());
      storageNames.insert(symbol.getName().rsplit('.').first);
    }
    SmallVector<sbp::VariableOp> parameters;
    for (auto variable : getOperation().getOps<sbp::VariableOp>()) {
      if (variable.getAsMade())
        continue;                 // 'sbp-propagate' decides its signature
      if (!variable.getLogical()) // without a signature it is B
        variable.setTypeAttr(TypeAttr::get(sbp::withSignature(variable.getType(), sbp::NdAttr::broadcast(placement))));
      if (sbp::SlotAttr slot = variable.getSlotAttr())
        names.insert(slot.getBucket().getValue()); // this name is taken
      else if (variable.getStateOf())
        states[variable.getStateOf().value()].push_back(variable);
      else if (isSplittable(variable))
        parameters.push_back(variable);
    }
    if (failed(split(parameters)))
      signalPassFailure();
  }

private:
  LogicalResult checkOptions() {
    ModuleOp module = getOperation();
    options = sbp::ZeroOptions();
    if (std::optional<std::string> error = texts.parse(&options))
      return module.emitError() << "'sbp-zero-storage': " << *error;
    placement = sbp::placementOf(module);
    if (!placement)
      return success();
    if (placement.getNumAxes() == 0)
      return module.emitError() << "'sbp-zero-storage' needs a placement with an axis to split along";
    algebra = placement.toAlgebra();
    zeroAxis = options.axis.empty() ? 0 : algebra.axisIndex(options.axis);
    if (zeroAxis >= 0)
      return success();
    InFlightDiagnostic diag = module.emitError()
                              << "'sbp-zero-storage' got axis=" << options.axis << "; the placement has";
    for (const sbp::Axis &known : algebra.axes)
      diag << " " << known.name;
    return diag << "; give one of these, or leave the axis out for the first";
  }

  /// Completes the policy of each variable, and erases groups: later passes
  /// know neither groups nor options.
  LogicalResult completePolicies() {
    sbp::GroupPolicies groups;
    for (auto group : getOperation().getOps<sbp::GroupOp>())
      if (failed(groups.add(group)))
        return failure();
    for (auto variable : getOperation().getOps<sbp::VariableOp>())
      if (!variable.getStateOf())
        variable.setPolicyAttr(sbp::PolicyAttr::get(&getContext(), policyOf(variable, groups)));
    if (failed(groups.verifyAllUsed()))
      return failure();
    for (auto group : llvm::make_early_inc_range(getOperation().getOps<sbp::GroupOp>()))
      group.erase();
    return success();
  }

  /// Returns the complete policy of a variable. Splitting and gathering a small
  /// variable is not worth it (whole-bytes).
  sbp::Policy policyOf(sbp::VariableOp variable, sbp::GroupPolicies &groups) const {
    sbp::Policy policy = groups.policyOf(variable).over(options.policy);
    const RankedTensorType type = variable.getTensorType();
    const int64_t bytes = *sbp::checkedBytes(sbp::shapeOf(type), sbp::elementBytes(type.getElementType()));
    const bool saysStage = variable.getPolicyOrDefault().get(sbp::Decision::Stage).has_value();
    if (bytes <= policy.wholeBytes() && policy.wholeBytes() > 0 && !saysStage)
      policy.setStage(0);
    return policy;
  }

  bool isSplittable(sbp::VariableOp variable) {
    if (!variable.getLogical() || variable.getTensorType().getRank() == 0)
      return false;
    if (variable.getStorage()) // the user chose a storage, which is no slot
      return false;
    if (variable.getCarried()) // each micro-batch would gather it, and split it again
      return false;
    if (variable.getFrozen() && !variable.getPolicyOrDefault().splitsParameters())
      return false;
    return variable.getLogical().toAlgebra()[zeroAxis].isBroadcast();
  }

  /// Returns the logical signature with another entry along the axis.
  sbp::NdAttr split(sbp::VariableOp variable, const sbp::Sbp &entry) {
    sbp::NdSbp signature = variable.getLogical().toAlgebra();
    signature[zeroAxis] = entry;
    return sbp::NdAttr::get(placement, signature);
  }

  void store(sbp::VariableOp parameter, sbp::NdAttr signature, sbp::SlotAttr slot) {
    auto place = [&](sbp::VariableOp variable, bool isSplit) {
      if (isSplit)
        variable.setStorageAttr(signature);
      if (slot)
        variable.setSlotAttr(slot);
    };
    const sbp::Policy policy = parameter.getPolicyOrDefault();
    if (policy.splitsUpdates() && !parameter.getFrozen())
      parameter.setUpdateAttr(signature);
    place(parameter, isSplit(parameter));
    for (sbp::VariableOp state : states[parameter.getSymName()])
      if (liesAs(parameter, state))
        place(state, policy.splitsUpdates());
  }

  /// Whether a state may lie as its parameter does, cut into the same pieces. A
  /// state of another shape, or with a storage of its own, is stored by itself.
  static bool liesAs(sbp::VariableOp parameter, sbp::VariableOp state) {
    RankedTensorType type = state.getTensorType(), like = parameter.getTensorType();
    if (type.getShape() != like.getShape() || type.getEncoding() != like.getEncoding())
      return false;
    return !state.getStorage(); // else the user chose its storage
  }

  /// Returns the bytes that the parameter costs the rank that owns it, in units
  /// of its bucket: its gradient, which lives as long as the update, and, if
  /// they are split, the parameter itself and the states that lie as it does.
  /// Sizes that cannot be counted are refused when a bucket is filled.
  int64_t loadOf(sbp::VariableOp parameter) {
    auto bytes = [&](sbp::VariableOp variable) {
      const int64_t bytesEach = sbp::elementBytes(variable.getTensorType().getElementType());
      const std::optional<int64_t> elements =
          sbp::checkedAlignUp(boxElements(parameter), sbp::kAlignmentBytes / bytesEach);
      return sbp::cappedProduct(elements.value_or(std::numeric_limits<int64_t>::max()), bytesEach);
    };
    const sbp::Policy policy = parameter.getPolicyOrDefault();
    const bool isUpdated = policy.splitsUpdates() && !parameter.getFrozen();
    int64_t sum = isUpdated ? bytes(parameter) : 0;
    if (isSplit(parameter))
      sum = sbp::cappedSum(sum, bytes(parameter));
    for (sbp::VariableOp state : states[parameter.getSymName()])
      if (policy.splitsUpdates() && liesAs(parameter, state))
        sum = sbp::cappedSum(sum, bytes(state));
    return sum;
  }

  bool isSplit(sbp::VariableOp parameter) const {
    const sbp::Policy policy = parameter.getPolicyOrDefault();
    return (policy.splitsParameters() && !mayHaveOneCopy(parameter)) ||
           (policy.splitsMasters() && !parameter.getFrozen());
  }

  /// Whether the ranks of a machine may have one copy of the parameter. A
  /// frozen parameter is never gathered in place, and one that belongs to one
  /// rank is summed in a collective in which not all ranks meet; both would
  /// need a copy per rank. One rank has one copy anyway.
  bool mayHaveOneCopy(sbp::VariableOp parameter) const {
    return options.oneCopy == sbp::OneCopy::Yes && !parameter.getFrozen() &&
           parameter.getPolicyOrDefault().strategy() != sbp::Strategy::Whole && algebra.axes[zeroAxis].size > 1;
  }

  /// Gives each parameter with strategy `whole` a rank of the axis: the largest
  /// first, to the rank with the fewest bytes so far.
  void chooseOwners(ArrayRef<sbp::VariableOp> parameters) {
    owners.clear();
    SmallVector<std::pair<int64_t, sbp::VariableOp>> bySize;
    for (sbp::VariableOp parameter : parameters)
      if (parameter.getPolicyOrDefault().strategy() == sbp::Strategy::Whole)
        bySize.push_back({loadOf(parameter), parameter});
    llvm::stable_sort(bySize, [](const auto &a, const auto &b) { return a.first > b.first; });
    using Load = std::pair<int64_t, int64_t>; // bytes, rank
    using Loads = std::priority_queue<Load, std::vector<Load>, std::greater<>>;
    std::map<std::vector<int64_t>, Loads> loadsAt; // by coordinates, where other ranks are
    for (auto [bytes, parameter] : bySize) {
      Loads &loads = loadsAt[coordinatesOf(parameter)];
      for (int64_t rank = 0; loads.size() < static_cast<size_t>(algebra.axes[zeroAxis].size); ++rank)
        loads.push({0, rank});
      const auto [load, rank] = loads.top();
      loads.pop();
      owners[parameter] = rank;
      loads.push({sbp::cappedSum(load, bytes), rank});
    }
  }

  Roles statesOf(sbp::VariableOp parameter) {
    Roles roles;
    for (sbp::VariableOp state : states[parameter.getSymName()])
      if (liesAs(parameter, state))
        roles.try_emplace(state.getRole()->str(), state.getTensorType().getElementType());
    return roles;
  }

  LogicalResult split(ArrayRef<sbp::VariableOp> parameters) {
    chooseOwners(parameters);
    std::vector<Bucket> open; // one per element type, frozenness, policy, roles of state and coordinates
    for (sbp::VariableOp parameter : parameters) {
      bool byRows = parameter.getPolicyOrDefault().strategy() == sbp::Strategy::Tensor;
      if (failed(byRows ? splitByRows(parameter) : addToBucket(parameter, open)))
        return failure();
    }
    return success(llvm::all_of(open, [&](Bucket &bucket) { return succeeded(finish(bucket)); }));
  }

  LogicalResult splitByRows(sbp::VariableOp parameter) {
    bool rowsAreSplit = llvm::any_of(parameter.getLogical().toAlgebra(),
                                     [](const sbp::Sbp &entry) { return entry.splitsSameDimAs(sbp::Sbp::split(0)); });
    if (!rowsAreSplit) {
      store(parameter, split(parameter, sbp::Sbp::split(0)), {});
      return success();
    }
    // Another axis already splits the rows, and this split must lie within it:
    // the parameter gets a bucket of its own.
    Bucket alone = startBucket(parameter, parameter.getSymName());
    return success(succeeded(add(alone, parameter)) && succeeded(finish(alone)));
  }

  LogicalResult addToBucket(sbp::VariableOp parameter, std::vector<Bucket> &open) {
    auto fits = [&](Bucket &bucket) {
      return bucket.element == parameter.getTensorType().getElementType() && bucket.frozen == parameter.getFrozen() &&
             bucket.policy == parameter.getPolicyOrDefault() && bucket.states == statesOf(parameter) &&
             coordinatesOf(bucket.members.front()) == coordinatesOf(parameter);
    };
    auto bucket = llvm::find_if(open, fits);
    if (bucket == open.end()) {
      open.push_back(startGroup(parameter));
      bucket = std::prev(open.end());
    } else if (isFull(*bucket, parameter)) {
      if (failed(finish(*bucket)))
        return failure();
      *bucket = startGroup(parameter);
    }
    return add(*bucket, parameter);
  }

  bool isFull(const Bucket &bucket, sbp::VariableOp next) {
    int64_t bytes = bucket.elements * sbp::elementBytes(bucket.element);
    return bucket.lastGroup != next.getGroupOrPrefix() && bytes >= bucket.policy.bucketBytes();
  }

  /// Takes the name for a bucket, if no symbol has it, and no symbol has a name
  /// that a rank gives to a storage of the bucket.
  bool take(const std::string &name) { return !storageNames.contains("bucket." + name) && names.insert(name).second; }

  /// Starts an empty bucket with a name that no other has: a bucket of another
  /// element type may have taken the name of the group, or the group may come
  /// again.
  Bucket startBucket(sbp::VariableOp first, StringRef wantedName) {
    std::string name = wantedName.str();
    for (int &copies = copiesOf[wantedName]; !take(name);)
      name = wantedName.str() + "_" + std::to_string(++copies);
    return {name,
            first.getTensorType().getElementType(),
            first.getFrozen(),
            first.getPolicyOrDefault(),
            statesOf(first),
            {},
            {},
            0,
            first.getGroupOrPrefix()};
  }

  Bucket startGroup(sbp::VariableOp first) {
    StringRef group = first.getGroupOrPrefix();
    return startBucket(first, group.empty() ? "bucket" : group);
  }

  static LogicalResult emitTooLarge(Bucket &bucket) {
    return bucket.members.back().emitError() << "'sbp-zero-storage' fills bucket '" << bucket.name << "' to more than "
                                             << sbp::kMostBytesText << " with @" << bucket.members.back().getSymName()
                                             << "; put it into another group, or give fewer bucket-bytes";
  }

  /// Returns the elements that the other axes leave of the parameter, on the
  /// rank that has most.
  int64_t boxElements(sbp::VariableOp parameter) const {
    return sbp::maxBoxElements(sbp::shapeOf(parameter.getType()), parameter.getLogical().toAlgebra(), algebra);
  }

  LogicalResult add(Bucket &bucket, sbp::VariableOp parameter) {
    int64_t unit = sbp::kAlignmentBytes / sbp::elementBytes(bucket.element);
    bucket.offsets.push_back(bucket.elements);
    bucket.members.push_back(parameter);
    std::optional<int64_t> elements = sbp::checkedAlignUp(boxElements(parameter), unit);
    if (elements)
      elements = sbp::checkedSum(bucket.elements, *elements);
    if (!elements || !sbp::checkedProduct(*elements, sbp::elementBytes(bucket.element)))
      return emitTooLarge(bucket);
    bucket.elements = *elements;
    bucket.lastGroup = parameter.getGroupOrPrefix();
    return success();
  }

  LogicalResult finish(Bucket &bucket) {
    const int64_t unit = sbp::kAlignmentBytes / sbp::elementBytes(bucket.element);
    OpBuilder builder(bucket.members.front());
    const sbp::Ends ends = bucket.policy.strategy() == sbp::Strategy::Whole ? sortByOwners(bucket, unit) : sbp::Ends();
    // Equal chunks need padding. Chunks that follow the owners do not.
    std::optional<int64_t> padded =
        ends.empty() ? sbp::checkedAlignUp(bucket.elements, unit * algebra.axes[zeroAxis].size) : bucket.elements;
    if (!padded || !sbp::checkedProduct(*padded, sbp::elementBytes(bucket.element)))
      return emitTooLarge(bucket);
    int64_t total = *padded;
    for (auto [parameter, offset] : llvm::zip(bucket.members, bucket.offsets)) {
      sbp::Slot slot{bucket.name, offset, total, ends};
      store(parameter, split(parameter, sbp::Sbp::flat(slot)), sbp::SlotAttr::fromAlgebra(&getContext(), slot));
    }
    declare(bucket, total, ends, builder);
    return success();
  }

  /// Sorts the members by the ranks that own them. Returns where the chunk of
  /// each rank ends, behind its last member in whole units; nothing if the
  /// chunks are equal.
  sbp::Ends sortByOwners(Bucket &bucket, int64_t unit) {
    llvm::stable_sort(bucket.members,
                      [&](sbp::VariableOp a, sbp::VariableOp b) { return owners.lookup(a) < owners.lookup(b); });
    sbp::Ends ends(algebra.axes[zeroAxis].size, 0);
    bucket.offsets.clear();
    int64_t end = 0;
    for (sbp::VariableOp member : bucket.members) {
      bucket.offsets.push_back(end);
      end += sbp::alignUp(boxElements(member), unit);
      ends[owners.lookup(member)] = end;
    }
    for (size_t rank = 1; rank < ends.size(); ++rank)
      ends[rank] = std::max(ends[rank], ends[rank - 1]);
    return sbp::areEven(ends, end) ? sbp::Ends() : ends;
  }

  void declare(Bucket &bucket, int64_t total, const sbp::Ends &ends, OpBuilder &builder) {
    sbp::NdSbp signature(algebra.axes.size(), sbp::Sbp::broadcast());
    SmallVector<int64_t> shape, offsets(bucket.offsets);
    for (auto [index, coordinate] : llvm::enumerate(coordinatesOf(bucket.members.front())))
      if (coordinate >= 0)
        signature[index] = sbp::Sbp::at(coordinate);
    for (auto [index, axis] : llvm::enumerate(algebra.axes)) {
      auto splits = [&, other = index](sbp::VariableOp member) {
        return static_cast<int64_t>(other) != zeroAxis && member.getLogical().toAlgebra()[other].isSplit();
      };
      if (!llvm::any_of(bucket.members, splits))
        continue;
      signature[index] = sbp::Sbp::split(shape.size());
      shape.push_back(axis.size);
    }
    shape.push_back(total);
    auto type = RankedTensorType::get(shape, bucket.element, sbp::NdAttr::get(placement, signature));
    SmallVector<Attribute> members;
    for (sbp::VariableOp member : bucket.members)
      members.push_back(FlatSymbolRefAttr::get(member.getSymNameAttr()));
    StringRef group = bucket.members.front().getGroupOrPrefix();
    builder.create<sbp::BucketOp>(bucket.members.front().getLoc(), builder.getStringAttr(bucket.name), nullptr,
                                  TypeAttr::get(type), builder.getStringAttr(algebra.axes[zeroAxis].name),
                                  builder.getArrayAttr(members), builder.getDenseI64ArrayAttr(offsets),
                                  ends.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(ends),
                                  group.empty() ? StringAttr() : builder.getStringAttr(group));
  }

  ZeroTexts<Option<std::string>> texts;
  sbp::ZeroOptions options;
  sbp::PlacementAttr placement;
  sbp::Placement algebra;
  int64_t zeroAxis = 0;
  llvm::StringMap<SmallVector<sbp::VariableOp>> states;
  DenseMap<Operation *, int64_t> owners; ///< by parameter with strategy `whole`: the coordinate of its owner
  llvm::StringMap<int> copiesOf;         ///< by wanted name: the number of copies, each of which has a number
  llvm::StringSet<> names;               ///< names of buckets and symbols, which are taken
  llvm::StringSet<> storageNames;        ///< names of symbols, up to the last dot
};

} // namespace

std::unique_ptr<Pass> splitcast::createZeroStoragePass(const sbp::ZeroOptions &options) {
  return std::make_unique<ZeroStorage>(options);
}
