#include "passes/plan/KernelArguments.h"

using namespace mlir;

namespace splitcast {

namespace {

/// Returns the memref type of a tensor; if `isFlat`, all dimensions are one.
MemRefType kernelMemref(Value tensor, bool isFlat) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (isFlat && type.getRank() > 0)
    return MemRefType::get({type.getNumElements()}, type.getElementType());
  if (type.getNumElements() == 0) { // never accessed, and strides of 0 cannot be lowered
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape.front() = 0;
    return MemRefType::get(shape, type.getElementType());
  }
  return MemRefType::get(type.getShape(), type.getElementType());
}

} // namespace

SmallVector<Type> kernelArgumentTypes(const LinalgBody &body, const KernelForm &form, ArrayRef<int64_t> tied) {
  SmallVector<Type> types;
  for (auto [index, argument] : llvm::enumerate(body.arguments))
    if (!llvm::is_contained(tied, static_cast<int64_t>(index)))
      types.push_back(kernelMemref(argument, form.isFlat));
  for (Value result : body.results)
    types.push_back(kernelMemref(result, form.isFlat));
  return types;
}

SmallVector<Value> bindKernelArguments(const LinalgBody &body, ArrayRef<int64_t> tied, Block *entry,
                                       DenseMap<Value, Value> &memory) {
  SmallVector<Value> targets;
  unsigned next = 0;
  for (auto [index, argument] : llvm::enumerate(body.arguments))
    if (!llvm::is_contained(tied, static_cast<int64_t>(index)))
      memory[argument] = entry->getArgument(next++);
  for (size_t index = 0; index < body.results.size(); ++index) {
    targets.push_back(entry->getArgument(next++));
    if (tied[index] >= 0)
      memory[body.arguments[tied[index]]] = targets.back();
  }
  return targets;
}

} // namespace splitcast
