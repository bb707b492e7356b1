// ZeRO as storage: which variables lie split, and as slots of which buckets.
#include "passes/global/Passes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_ZEROSTORAGEPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Parameters that share a bucket, in the order of the module.
struct Bucket {
  std::string name;
  Type element;
  bool frozen;
  SmallVector<sbp::VariableOp> members;
  SmallVector<int64_t> offsets;
  int64_t elements = 0; ///< so far; unpadded
  StringRef lastGroup;
};

struct ZeroStorage : splitcast::impl::ZeroStoragePassBase<ZeroStorage> {
  using ZeroStoragePassBase::ZeroStoragePassBase;

  void runOnOperation() override {
    if (failed(checkOptions()) || failed(verifyModule(getOperation())))
      return signalPassFailure();
    states.clear();
    names.clear();
    if (!placement)
      return; // no global tensor, nothing to store
    for (auto symbol : getOperation().getOps<SymbolOpInterface>())
      names.insert(symbol.getName());
    SmallVector<sbp::VariableOp> parameters;
    for (auto variable : getOperation().getOps<sbp::VariableOp>()) {
      if (!variable.getLogical()) // what nobody said is B
        variable.setTypeAttr(TypeAttr::get(sbp::withSignature(variable.getType(), sbp::NdAttr::broadcast(placement))));
      if (variable.getStateOf())
        states[variable.getStateOf().value()].push_back(variable);
      else if (isSplittable(variable))
        parameters.push_back(variable);
    }
    if (strategy == "bucket")
      splitByBuckets(parameters);
    else
      for (sbp::VariableOp parameter : parameters)
        splitByRows(parameter);
  }

private:
  LogicalResult checkOptions() {
    ModuleOp module = getOperation();
    if (stage < 0 || stage > 3)
      return module.emitError() << "'sbp-zero-storage' got stage=" << stage.getValue() << "; stages are 0, 1, 2 and 3";
    if (strategy != "bucket" && strategy != "tensor")
      return module.emitError() << "'sbp-zero-storage' got strategy=" << strategy.getValue()
                                << "; it is bucket or tensor";
    if (bucketBytes < 0)
      return module.emitError() << "'sbp-zero-storage' got bucket-bytes=" << bucketBytes.getValue()
                                << "; it is at least 0";
    placement = sbp::placementOf(module);
    if (!placement)
      return success();
    if (placement.getNumAxes() == 0)
      return module.emitError() << "'sbp-zero-storage' needs a placement with an axis to split along";
    algebra = placement.toAlgebra();
    zeroAxis = axis.empty() ? 0 : algebra.axisIndex(axis);
    if (zeroAxis >= 0)
      return success();
    InFlightDiagnostic diag = module.emitError()
                              << "'sbp-zero-storage' got axis=" << axis.getValue() << "; the placement has";
    for (const sbp::Axis &known : algebra.axes)
      diag << " " << known.name;
    return diag;
  }

  bool isSplittable(sbp::VariableOp variable) {
    if (!variable.getLogical() || variable.getTensorType().getRank() == 0)
      return false;
    if (variable.getFrozen() && stage < 3)
      return false;
    return variable.getLogical().toAlgebra()[zeroAxis].isBroadcast();
  }

  /// The logical signature with another entry along the axis.
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
    if (stage >= 1 && !parameter.getFrozen())
      parameter.setUpdateAttr(signature);
    place(parameter, stage >= 3);
    for (sbp::VariableOp state : states[parameter.getSymName()])
      place(state, stage >= 1);
  }

  void splitByRows(sbp::VariableOp parameter) {
    bool rowsAreSplit = llvm::is_contained(parameter.getLogical().toAlgebra(), sbp::Sbp::split(0));
    if (rowsAreSplit) { // by another axis, inside of which this split must lie: a bucket of one
      Bucket alone = startBucket(parameter, parameter.getSymName());
      add(alone, parameter);
      return finish(alone);
    }
    store(parameter, split(parameter, sbp::Sbp::split(0)), {});
  }

  void splitByBuckets(ArrayRef<sbp::VariableOp> parameters) {
    SmallVector<Bucket> open; // one per element type and frozenness
    for (sbp::VariableOp parameter : parameters) {
      auto fits = [&](Bucket &bucket) {
        return bucket.element == parameter.getTensorType().getElementType() && bucket.frozen == parameter.getFrozen();
      };
      Bucket *bucket = llvm::find_if(open, fits);
      if (bucket == open.end()) {
        open.push_back(startBucket(parameter, parameter.getGroupOrPrefix()));
        bucket = &open.back();
      } else if (isFull(*bucket, parameter)) {
        finish(*bucket);
        *bucket = startBucket(parameter, parameter.getGroupOrPrefix());
      }
      add(*bucket, parameter);
    }
    for (Bucket &bucket : open)
      finish(bucket);
  }

  bool isFull(const Bucket &bucket, sbp::VariableOp next) {
    int64_t bytes = bucket.elements * sbp::elementBytes(bucket.element);
    return bucket.lastGroup != next.getGroupOrPrefix() && bytes >= bucketBytes;
  }

  Bucket startBucket(sbp::VariableOp first, StringRef wanted) {
    std::string base = wanted.empty() ? "bucket" : wanted.str(), name = base;
    for (int copy = 1; !names.insert(name).second; ++copy) // another element type, or the group comes again
      name = base + "_" + std::to_string(copy);
    return {name, first.getTensorType().getElementType(), first.getFrozen(), {}, {}, 0, first.getGroupOrPrefix()};
  }

  void add(Bucket &bucket, sbp::VariableOp parameter) {
    int64_t unit = sbp::kAlignmentBytes / sbp::elementBytes(bucket.element);
    bucket.offsets.push_back(bucket.elements);
    bucket.members.push_back(parameter);
    sbp::Shape shape = sbp::shapeOf(parameter.getType());
    bucket.elements += sbp::alignUp(sbp::maxBoxElements(shape, parameter.getLogical().toAlgebra(), algebra), unit);
    bucket.lastGroup = parameter.getGroupOrPrefix();
  }

  void finish(Bucket &bucket) {
    int64_t unit = sbp::kAlignmentBytes / sbp::elementBytes(bucket.element);
    int64_t total = sbp::alignUp(bucket.elements, unit * algebra.axes[zeroAxis].size);
    for (auto [parameter, offset] : llvm::zip(bucket.members, bucket.offsets)) {
      sbp::Slot slot{bucket.name, offset, total};
      auto attr = sbp::SlotAttr::get(&getContext(), StringAttr::get(&getContext(), bucket.name), offset, total);
      store(parameter, split(parameter, sbp::Sbp::flat(slot)), attr);
    }
    declare(bucket, total);
  }

  void declare(Bucket &bucket, int64_t total) {
    sbp::NdSbp signature(algebra.axes.size(), sbp::Sbp::broadcast());
    SmallVector<int64_t> shape, offsets(bucket.offsets);
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
    OpBuilder builder(bucket.members.front());
    SmallVector<Attribute> members;
    for (sbp::VariableOp member : bucket.members)
      members.push_back(FlatSymbolRefAttr::get(member.getSymNameAttr()));
    StringRef group = bucket.members.front().getGroupOrPrefix();
    builder.create<sbp::BucketOp>(bucket.members.front().getLoc(), builder.getStringAttr(bucket.name), nullptr,
                                  TypeAttr::get(type), builder.getStringAttr(algebra.axes[zeroAxis].name),
                                  builder.getArrayAttr(members), builder.getDenseI64ArrayAttr(offsets),
                                  group.empty() ? StringAttr() : builder.getStringAttr(group));
  }

  sbp::PlacementAttr placement;
  sbp::Placement algebra;
  int64_t zeroAxis = 0;
  llvm::StringMap<SmallVector<sbp::VariableOp>> states;
  llvm::StringSet<> names; ///< of buckets, and of all that has a name already
};

} // namespace
