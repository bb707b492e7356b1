// Defines a fusion in linalg, and sorts its results into loop nests.
//
//   1. The linalg definitions of the fusion's ops form a scratch function.
//   2. The fusion is flat if every generic reads each operand at its own place
//      and all shapes are equal.
//   3. Otherwise the widest loops define the rows, and each result is sorted by
//      its shape and by what its computation needs:
//
//   rows of tensor<8x4xf32>:
//     %e = nn.softmax %x          elements
//     %f = nn.neg %x              first, if a reduction reads it: stored, then loaded
//     %m = nn.reduce_sum %x {1}   per row
//     %c = nn.reduce_sum %e {0}   columns: added up while the rows are computed
//     anything else               others: a nest of its own
//
// A result may be computed in the place of an operand if each element of the
// operand is read no later than the result's element at the same place is
// stored, or was read before the row's elements were stored (RowReads).
#include "passes/plan/KernelForm.h"

#include "dialects/nn/Definition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

#include <numeric>
#include <set>

using namespace mlir;

namespace splitcast {

static constexpr char kExactSum[] = "exact_sum", kJoined[] = "joined";

LinalgBody::LinalgBody(nn::FusionOp fusion) : module(ModuleOp::create(fusion.getLoc())) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Type> inputs(fusion.getInputs().getTypes());
  auto function = builder.create<func::FuncOp>(fusion.getLoc(), "body", builder.getFunctionType(inputs, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  arguments.assign(block->args_begin(), block->args_end());
  IRMapping map;
  map.map(fusion.getBody().front().getArguments(), block->getArguments());
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(map.lookup(operand));
    const SmallVector<Value> defined = nn::define(cast<nn::ComputeOpInterface>(op), builder, operands);
    auto sum = defined.front().getDefiningOp<linalg::GenericOp>();
    if (sum && isReduction(sum) && cast<sbp::ShardingOpInterface>(op).getLoopSpec().exactSums)
      sum->setAttr(kExactSum, builder.getUnitAttr());
    if (auto concat = dyn_cast<nn::ConcatOp>(op))
      if (auto joined = defined.front().getDefiningOp<linalg::GenericOp>())
        joined->setAttr(kJoined, concat.getDimAttr());
    map.map(op.getResults(), defined);
  }
  SmallVector<Value> made;
  for (Value result : fusion.getBody().front().getTerminator()->getOperands())
    made.push_back(map.lookup(result));
  auto end = builder.create<func::ReturnOp>(fusion.getLoc(), made);
  // A loss and its gradient need the same sums of a row, so equal
  // subexpressions are merged. Constants are moved to the front first: if a
  // constant outside a region replaced the one inside only one of two regions,
  // these would no longer be equal.
  module->walk([&](arith::ConstantOp constant) { constant->moveBefore(block, block->begin()); });
  IRRewriter rewriter(builder);
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, *module);
  results.assign(end.operand_begin(), end.operand_end());
  end.erase();
}

bool isReduction(linalg::GenericOp generic) { return generic.getNumReductionLoops() > 0; }

bool isExactSum(linalg::GenericOp generic) { return generic->hasAttr(kExactSum); }

std::optional<Joined> joinedBy(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  auto dim = generic ? generic->getAttrOfType<IntegerAttr>(kJoined) : IntegerAttr();
  if (!dim)
    return std::nullopt;
  Joined joined{dim.getInt(), {}};
  int64_t extent = 0;
  generic.getBody()->walk([&](tensor::ExtractOp extract) {
    joined.pieces.push_back(extract.getTensor());
    extent += extract.getTensor().getType().getDimSize(joined.dim);
  });
  // Small floats are joined as wide ones, of which another generic makes small ones: the pieces are not in this one.
  return extent == cast<RankedTensorType>(tensor.getType()).getDimSize(joined.dim) ? std::optional(joined)
                                                                                   : std::nullopt;
}

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

linalg::GenericOp genericOf(Value tensor) { return tensor.getDefiningOp<linalg::GenericOp>(); }

/// Whether `test` holds for a generic that the computation of `tensor` needs.
bool anyGeneric(Value tensor, function_ref<bool(linalg::GenericOp)> test) {
  SmallVector<Value> open = {tensor};
  DenseSet<Value> seen = {tensor};
  while (!open.empty()) {
    linalg::GenericOp generic = genericOf(open.pop_back_val());
    if (generic && test(generic))
      return true;
    for (Value input : generic ? generic.getDpsInputs() : SmallVector<Value>())
      if (seen.insert(input).second)
        open.push_back(input);
  }
  return false;
}

bool extracts(linalg::GenericOp generic) {
  return generic.getBody()->walk([](tensor::ExtractOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Whether a generic reads each operand at its own loop indices, or as a
/// scalar.
bool isPointwise(linalg::GenericOp generic) {
  if (isReduction(generic))
    return false;
  for (AffineMap map : generic.getIndexingMapsArray())
    if (!map.isIdentity() && map.getNumResults() != 0)
      return false;
  WalkResult places = generic.getBody()->walk([](Operation *op) {
    return isa<linalg::IndexOp, tensor::ExtractOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !places.wasInterrupted();
}

bool isFlatBody(const LinalgBody &body) {
  bool result = true;
  const_cast<OwningOpRef<ModuleOp> &>(body.module)->walk([&](Operation *op) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      result &= isPointwise(generic);
    result &= !isa<tensor::ReshapeOp>(op);
  });
  ArrayRef<int64_t> shape;
  for (Value value : llvm::concat<const Value>(body.arguments, body.results)) {
    if (shapeOf(value).empty())
      continue;
    result &= shape.empty() || shape == shapeOf(value);
    shape = shapeOf(value);
  }
  for (Value value : body.results)
    result &= shapeOf(value) == shape;
  return result;
}

/// Whether the tensor is a sum over all dimensions of `rows` but the last.
bool isColumnSum(Value tensor, ArrayRef<int64_t> rows) {
  linalg::GenericOp generic = genericOf(tensor);
  if (!generic || rows.size() < 2 || ArrayRef<int64_t>(generic.getStaticLoopRanges()) != rows || extracts(generic))
    return false;
  SmallVector<utils::IteratorType> iterators = generic.getIteratorTypesArray();
  AffineMap result = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  return iterators.back() == utils::IteratorType::parallel &&
         llvm::all_of(ArrayRef(iterators).drop_back(),
                      [](utils::IteratorType type) { return type == utils::IteratorType::reduction; }) &&
         result.getNumResults() == 1;
}

/// Whether the tensor is made element by element of such a sum: where there are
/// as many rows as columns, its shape is also that of values per row.
bool isOfColumnSum(Value tensor, ArrayRef<int64_t> rows) {
  linalg::GenericOp sum = reductionOf(tensor);
  return sum && isColumnSum(sum.getResult(0), rows);
}

/// Adds to `found` the values that the computation of `open` needs, and `open`
/// itself; with `withPlaces` also tensors that are read at computed places.
void addInputs(SmallVector<Value> open, bool withPlaces, DenseSet<Value> &found) {
  while (!open.empty()) {
    const Value next = open.pop_back_val();
    linalg::GenericOp generic = found.insert(next).second ? genericOf(next) : linalg::GenericOp();
    if (!generic)
      continue;
    llvm::append_range(open, generic.getDpsInputs());
    if (withPlaces)
      generic.getBody()->walk([&](tensor::ExtractOp extract) { open.push_back(extract.getTensor()); });
  }
}

/// Returns the iteration space of the highest rank; of several, the first.
SmallVector<int64_t> widestLoops(const LinalgBody &body) {
  SmallVector<int64_t> widest;
  const_cast<OwningOpRef<ModuleOp> &>(body.module)->walk([&](linalg::GenericOp generic) {
    SmallVector<int64_t> loops = generic.getStaticLoopRanges();
    if (loops.size() > widest.size())
      widest = loops;
  });
  return widest;
}

/// Finds the tensors that a row nest reads elsewhere when it stores the element
/// (i.., j): at other elements than that one. Elements of row i.. that a
/// reduction reads once per row do not count, because they were read before the
/// elements of the row are stored.
class RowReads {
public:
  RowReads(size_t rank, DenseSet<Value> &elsewhere) : rank(rank), elsewhere(elsewhere) {}

  /// Adds the reads that `tensor` needs at the first `known` dimensions of the
  /// nest.
  void add(Value tensor, size_t known) {
    Place place(known);
    std::iota(place.begin(), place.end(), 0);
    open.push_back({tensor, place});
    while (!open.empty()) {
      auto [next, at] = open.pop_back_val();
      visit(next, at);
    }
  }

private:
  /// An index that is not a dimension of the nest.
  static constexpr int64_t kAnyOfRow = -1, kElsewhere = -2;
  using Place = std::vector<int64_t>;

  void visit(Value tensor, const Place &place) {
    if (!seen.insert({tensor.getAsOpaquePointer(), place}).second)
      return;
    if (!isOwn(place))
      elsewhere.insert(tensor);
    linalg::GenericOp generic = genericOf(tensor);
    if (!generic)
      return;
    bool isPerRow = llvm::all_of(place, [&](int64_t dim) { return dim >= 0 && dim + 1 < static_cast<int64_t>(rank); });
    Place loops(generic.getNumLoops(), isPerRow ? kAnyOfRow : kElsewhere);
    AffineMap result = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
    for (auto [dim, expr] : llvm::zip(place, result.getResults()))
      loops[cast<AffineDimExpr>(expr).getPosition()] = dim;
    for (OpOperand *input : generic.getDpsInputOperands()) {
      Place at;
      for (AffineExpr expr : generic.getMatchingIndexingMap(input).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        at.push_back(dim ? loops[dim.getPosition()] : kElsewhere);
      }
      open.push_back({input->get(), at});
    }
  }

  bool isOwn(const Place &place) const {
    for (auto [position, dim] : llvm::enumerate(place))
      if (dim != static_cast<int64_t>(position) && !(dim == kAnyOfRow && position + 1 == rank))
        return false;
    return place.size() == rank;
  }

  size_t rank;
  DenseSet<Value> &elsewhere;
  SmallVector<std::pair<Value, Place>> open;
  std::set<std::pair<void *, Place>> seen;
};

} // namespace

bool containsReduction(Value tensor) { return anyGeneric(tensor, isReduction); }

bool usesPlaces(Value tensor) { return anyGeneric(tensor, extracts); }

linalg::GenericOp reductionOf(Value tensor) {
  linalg::GenericOp generic = genericOf(tensor);
  while (generic && !isReduction(generic)) {
    SetVector<Value> reduced;
    for (Value input : generic.getDpsInputs())
      if (containsReduction(input))
        reduced.insert(input);
    if (!isPointwise(generic) || reduced.size() != 1 || shapeOf(reduced.front()) != shapeOf(tensor))
      return {};
    generic = genericOf(reduced.front());
  }
  return generic;
}

KernelForm::KernelForm(const LinalgBody &body) : isFlat(isFlatBody(body)) {
  if (isFlat)
    return;
  rows = widestLoops(body);
  SmallVector<size_t> ofRowShape;
  for (auto [index, result] : llvm::enumerate(body.results)) {
    linalg::GenericOp generic = genericOf(result);
    bool isSum = generic && isReduction(generic);
    if (isColumnSum(result, rows))
      columns.push_back(index);
    else if (!isSum && shapeOf(result) == ArrayRef<int64_t>(rows) && !rows.empty())
      ofRowShape.push_back(index);
    else if (rows.size() > 1 && shapeOf(result) == ArrayRef<int64_t>(rows).drop_back() && containsReduction(result) &&
             !usesPlaces(result) && !isOfColumnSum(result, rows))
      perRow.push_back(index);
    else
      others.push_back(index);
  }
  for (size_t result = 0; result < body.results.size(); ++result)
    needs.push_back(needsOf(body, result));
  noteLists();
  sortIntoNest(ofRowShape, body);
  noteLists();
  auto ofNest = llvm::concat<const size_t>(first, elements, perRow);
  warps = llvm::any_of(ofNest, [&](size_t result) { return needs[result].hasReduction; }) &&
          llvm::none_of(ofNest, [&](size_t result) { return needs[result].hasPlaces; });
  for (Value argument : body.arguments) {
    overwritten.push_back(mayOverwrite(argument, /*launchesThreads=*/false));
    overwrittenByThreads.push_back(mayOverwrite(argument, /*launchesThreads=*/true));
  }
}

void KernelForm::noteLists() {
  for (auto [index, of] : llvm::enumerate(needs)) {
    of.isElement = llvm::is_contained(elements, index);
    of.isColumn = llvm::is_contained(columns, index);
    of.isOther = llvm::is_contained(others, index);
  }
}

KernelForm::Needs KernelForm::needsOf(const LinalgBody &body, size_t result) const {
  Needs of;
  const Value tensor = body.results[result];
  of.hasReduction = containsReduction(tensor);
  of.hasPlaces = usesPlaces(tensor);
  addInputs({tensor}, /*withPlaces=*/true, of.read);
  RowReads rowReads(rows.size(), of.elsewhere);
  linalg::GenericOp sum = llvm::is_contained(columns, result) ? genericOf(tensor) : linalg::GenericOp();
  if (!sum)
    rowReads.add(tensor, llvm::is_contained(perRow, result) ? rows.size() - 1 : rows.size());
  for (OpOperand *input : sum ? sum.getDpsInputOperands() : SmallVector<OpOperand *>()) // computed with the elements
    if (sum.getMatchingIndexingMap(input).isIdentity())
      rowReads.add(input->get(), rows.size());
    else
      addInputs({input->get()}, /*withPlaces=*/true, of.elsewhere);
  DenseSet<Value> made;
  addInputs(sum ? sum.getDpsInputs() : SmallVector<Value>{tensor}, /*withPlaces=*/false, made);
  for (Value value : made)
    if (linalg::GenericOp generic = genericOf(value); generic && isReduction(generic))
      addInputs(generic.getDpsInputs(), /*withPlaces=*/false, of.reduced);
  return of;
}

void KernelForm::sortIntoNest(ArrayRef<size_t> ofRowShape, const LinalgBody &body) {
  const SmallVector<size_t> ofNest = llvm::to_vector(llvm::concat<const size_t>(ofRowShape, perRow, columns));
  for (size_t index : ofRowShape) {
    // A result that is stored first can be loaded only by its own row: a result
    // that reads other rows must compute it anew.
    const Value result = body.results[index];
    bool isReadByRow = llvm::all_of(ofNest, [&](size_t other) {
      return other == index || !needs[other].read.contains(result) || readsOwn(other, result);
    });
    bool feedsReduction = isReadByRow && !needs[index].hasReduction &&
                          llvm::any_of(ofNest, [&](size_t other) { return needs[other].reduced.contains(result); });
    (feedsReduction ? first : elements).push_back(index);
  }
  if (!first.empty() || !elements.empty() || !perRow.empty())
    return;
  // If there are only columns, each keeps its sums in registers, unless it
  // needs a value that is computed once per row.
  SmallVector<size_t> needRows;
  for (size_t index : columns) {
    bool needsRow = llvm::any_of(genericOf(body.results[index]).getDpsInputs(), containsReduction);
    (needsRow ? needRows : others).push_back(index);
  }
  columns = needRows;
  llvm::sort(others);
}

bool KernelForm::mayTie(const LinalgBody &body, size_t result, size_t operand, bool launchesThreads) const {
  if (body.results[result].getType() != body.arguments[operand].getType())
    return false;
  return isFlat || (needs[result].isElement && (launchesThreads ? overwrittenByThreads : overwritten)[operand]);
}

/// Whether each element of the argument may be overwritten when the element at
/// its place is stored: all reads are of that element, or come before.
bool KernelForm::mayOverwrite(Value argument, bool launchesThreads) const {
  bool reducesAtOnce = !launchesThreads || warps;
  return llvm::all_of(llvm::seq<size_t>(0, needs.size()), [&](size_t other) {
    if (!needs[other].read.contains(argument))
      return true;
    bool isLater = launchesThreads && needs[other].isColumn;
    return readsOwn(other, argument) && !isLater && (reducesAtOnce || !needs[other].hasReduction);
  });
}

bool KernelForm::readsOwn(size_t result, Value value) const {
  return !needs[result].isOther && !needs[result].hasPlaces && !needs[result].elsewhere.contains(value);
}

} // namespace splitcast
