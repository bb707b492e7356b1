#include "passes/plan/FusionEmitter.h"

#include "passes/plan/KernelArguments.h"

using namespace mlir;

namespace splitcast {

FailureOr<func::FuncOp> FusionEmitter::emit(StringRef name) {
  auto function =
      builder.create<func::FuncOp>(loc, name, builder.getFunctionType(kernelArgumentTypes(body, form, tied), {}));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  targets = bindKernelArguments(body, tied, block, memory);
  emitNests();
  builder.create<func::ReturnOp>(loc);
  if (error.empty())
    return function;
  return fusion.emitOpError() << error;
}

} // namespace splitcast
