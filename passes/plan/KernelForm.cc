// What a fusion computes as linalg, and which of its results one walk over the rows makes.
//
//   1. Each op of the fusion gives its linalg definition; together they are a scratch function.
//   2. Flat, when every generic reads each operand at its own place and all shapes are one.
//   3. Else the rows are those of the widest loops, and each result is sorted by its shape and what makes it.
//
//   tensor<8x4xf32> rows:   %e = nn.softmax %x            elements
//                           %f = nn.neg %x                first, if a reduction reads it: stored, and then loaded
//                           %m = nn.reduce_sum %x {1}     per row
//                           %c = nn.reduce_sum %e {0}     columns: added up while the rows are made
//                           anything else                 others: a nest of its own
//
// A result may lie in an operand's place when all that is read of the operand for an element is the element at the
// same place, or was read before the row's elements were stored (RowReads).
#include "passes/plan/KernelForm.h"

#include "dialects/nn/Definition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>
#include <set>

using namespace mlir;

namespace splitcast {

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
    map.map(op.getResults(), nn::define(cast<nn::ComputeOpInterface>(op), builder, operands));
  }
  for (Value result : fusion.getBody().front().getTerminator()->getOperands())
    results.push_back(map.lookup(result));
}

bool isReduction(linalg::GenericOp generic) { return generic.getNumReductionLoops() > 0; }

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

linalg::GenericOp genericOf(Value tensor) { return tensor.getDefiningOp<linalg::GenericOp>(); }

/// Whether `test` holds for a generic that making `tensor` includes.
bool anyGeneric(Value tensor, DenseSet<Value> &seen, function_ref<bool(linalg::GenericOp)> test) {
  linalg::GenericOp generic = genericOf(tensor);
  if (!generic || !seen.insert(tensor).second)
    return false;
  return test(generic) ||
         llvm::any_of(generic.getDpsInputs(), [&](Value input) { return anyGeneric(input, seen, test); });
}

bool anyGeneric(Value tensor, function_ref<bool(linalg::GenericOp)> test) {
  DenseSet<Value> seen;
  return anyGeneric(tensor, seen, test);
}

bool extracts(linalg::GenericOp generic) {
  return generic.getBody()->walk([](tensor::ExtractOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Whether a generic reads each operand at its own loop indices, or a scalar.
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

/// A sum over all dimensions of `rows` but the last.
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

/// Whether `tensor` includes a reduction whose inputs include `value`.
bool isReduced(Value tensor, Value value) {
  return anyGeneric(tensor, [&](linalg::GenericOp generic) {
    return isReduction(generic) && llvm::any_of(generic.getDpsInputs(), [&](Value input) {
             return input == value || anyGeneric(input, [&](linalg::GenericOp inner) {
                      return llvm::is_contained(inner->getResults(), value) ||
                             llvm::is_contained(inner.getDpsInputs(), value);
                    });
           });
  });
}

/// The widest iteration space; the first, where several are.
SmallVector<int64_t> widestLoops(const LinalgBody &body) {
  SmallVector<int64_t> widest;
  const_cast<OwningOpRef<ModuleOp> &>(body.module)->walk([&](linalg::GenericOp generic) {
    SmallVector<int64_t> loops = generic.getStaticLoopRanges();
    if (loops.size() > widest.size())
      widest = loops;
  });
  return widest;
}

/// Whether all that a row nest reads of one operand, when it stores the element (i.., j), is that element, or was read
/// before the row's elements: any of row i.., for a reduction that is made once per row.
class RowReads {
public:
  RowReads(Value operand, size_t rank) : operand(operand), rank(rank) {}

  /// `tensor` is needed at the first `known` dimensions of the nest.
  bool areOwn(Value tensor, size_t known) {
    Place place(known);
    std::iota(place.begin(), place.end(), 0);
    return visit(tensor, place);
  }

private:
  /// Dimensions of the nest, or one of these.
  static constexpr int64_t kAnyOfRow = -1, kElsewhere = -2;
  using Place = std::vector<int64_t>;

  bool visit(Value tensor, const Place &place) {
    if (tensor == operand)
      return isOwn(place);
    linalg::GenericOp generic = genericOf(tensor);
    if (!generic || !seen.insert({tensor.getAsOpaquePointer(), place}).second)
      return true;
    bool isPerRow = llvm::all_of(place, [&](int64_t dim) { return dim >= 0 && dim + 1 < static_cast<int64_t>(rank); });
    Place loops(generic.getNumLoops(), isPerRow ? kAnyOfRow : kElsewhere);
    AffineMap result = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
    for (auto [dim, expr] : llvm::zip(place, result.getResults()))
      loops[cast<AffineDimExpr>(expr).getPosition()] = dim;
    return llvm::all_of(generic.getDpsInputOperands(), [&](OpOperand *input) {
      Place at;
      for (AffineExpr expr : generic.getMatchingIndexingMap(input).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        at.push_back(dim ? loops[dim.getPosition()] : kElsewhere);
      }
      return visit(input->get(), at);
    });
  }

  bool isOwn(const Place &place) const {
    for (auto [position, dim] : llvm::enumerate(place))
      if (dim != static_cast<int64_t>(position) && !(dim == kAnyOfRow && position + 1 == rank))
        return false;
    return place.size() == rank;
  }

  Value operand;
  size_t rank;
  std::set<std::pair<void *, Place>> seen;
};

/// Whether making `tensor` reads `operand` at all; also by way of what it takes elements of at computed places.
bool reads(Value tensor, Value operand) {
  return tensor == operand || anyGeneric(tensor, [&](linalg::GenericOp generic) {
           bool isExtracted =
               generic.getBody()
                   ->walk([&](tensor::ExtractOp extract) {
                     return reads(extract.getTensor(), operand) ? WalkResult::interrupt() : WalkResult::advance();
                   })
                   .wasInterrupted();
           return isExtracted || llvm::is_contained(generic.getDpsInputs(), operand);
         });
}

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
             !usesPlaces(result))
      perRow.push_back(index);
    else
      others.push_back(index);
  }
  for (size_t index : ofRowShape) {
    // Stored first, it is there for its own row alone: what reads another's makes that anew.
    bool isReadByRow = llvm::all_of(llvm::concat<size_t>(ofRowShape, perRow, columns), [&](size_t other) {
      return other == index || !reads(body.results[other], body.results[index]) ||
             readsOwn(body, other, body.results[index]);
    });
    bool feedsReduction = isReadByRow && !containsReduction(body.results[index]) &&
                          llvm::any_of(llvm::concat<size_t>(ofRowShape, perRow, columns), [&](size_t other) {
                            Value result = body.results[other];
                            if (!llvm::is_contained(columns, other))
                              return isReduced(result, body.results[index]);
                            return llvm::any_of(genericOf(result).getDpsInputs(),
                                                [&](Value input) { return isReduced(input, body.results[index]); });
                          });
    (feedsReduction ? first : elements).push_back(index);
  }
  if (!first.empty() || !elements.empty() || !perRow.empty())
    return;
  // Nothing but columns: each keeps its sums in registers, unless it needs what is made once per row.
  SmallVector<size_t> needRows;
  for (size_t index : columns) {
    bool needsRow = llvm::any_of(genericOf(body.results[index]).getDpsInputs(), containsReduction);
    (needsRow ? needRows : others).push_back(index);
  }
  columns = needRows;
  llvm::sort(others);
}

bool KernelForm::needsWarps(const LinalgBody &body) const {
  auto any = [&](bool (*test)(Value)) {
    return llvm::any_of(llvm::concat<const size_t>(first, elements, perRow),
                        [&](size_t result) { return test(body.results[result]); });
  };
  return any(containsReduction) && !any(usesPlaces);
}

bool KernelForm::mayTie(const LinalgBody &body, size_t result, size_t operand, bool launchesThreads) const {
  Value argument = body.arguments[operand];
  if (body.results[result].getType() != argument.getType())
    return false;
  if (isFlat)
    return true;
  if (!llvm::is_contained(elements, result))
    return false;
  bool reducesAtOnce = !launchesThreads || needsWarps(body);
  return llvm::all_of(llvm::seq<size_t>(0, body.results.size()), [&](size_t other) {
    Value tensor = body.results[other];
    if (!reads(tensor, argument))
      return true;
    bool isLater = launchesThreads && llvm::is_contained(columns, other);
    return readsOwn(body, other, argument) && !isLater && (reducesAtOnce || !containsReduction(tensor));
  });
}

bool KernelForm::readsOwn(const LinalgBody &body, size_t result, Value argument) const {
  Value tensor = body.results[result];
  if (llvm::is_contained(others, result) || usesPlaces(tensor))
    return false;
  RowReads rowReads(argument, rows.size());
  if (!llvm::is_contained(columns, result))
    return rowReads.areOwn(tensor, llvm::is_contained(perRow, result) ? rows.size() - 1 : rows.size());
  linalg::GenericOp sum = genericOf(tensor); // is made beside the elements
  return llvm::all_of(sum.getDpsInputOperands(), [&](OpOperand *input) {
    bool isWhole = sum.getMatchingIndexingMap(input).isIdentity();
    return !reads(input->get(), argument) || (isWhole && rowReads.areOwn(input->get(), rows.size()));
  });
}

} // namespace splitcast
