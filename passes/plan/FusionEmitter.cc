#include "passes/plan/FusionEmitter.h"

#include "passes/plan/KernelArguments.h"

using namespace mlir;

namespace splitcast {

FailureOr<func::FuncOp> FusionEmitter::emit(StringRef name) {
  SmallVector<Type> types = kernelArgumentTypes(body, form, tied);
  if (MemRefType type = workspaceType())
    types.push_back(type);
  auto function = builder.create<func::FuncOp>(loc, name, builder.getFunctionType(types, {}));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  targets = bindKernelArguments(body, tied, block, memory);
  if (workspaceType())
    workspace = block->getArguments().back();
  emitNests();
  builder.create<func::ReturnOp>(loc);
  if (error.empty())
    return function;
  return fusion.emitOpError() << error;
}

} // namespace splitcast
