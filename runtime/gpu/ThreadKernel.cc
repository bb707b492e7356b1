#include "runtime/gpu/ThreadKernel.h"

#include "runtime/gpu/GpuProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace splitcast::runtime {

ThreadKernel::Values ThreadKernel::loop(Value from, Value to, Value step, const Values &start,
                                        function_ref<Values(Value, ValueRange)> body) {
  auto op = b.create<scf::ForOp>(loc, from, to, step, start, [&](OpBuilder &, Location, Value i, ValueRange carried) {
    b.create<scf::YieldOp>(loc, body(i, carried));
  });
  return op.getResults();
}

void ThreadKernel::emitIf(Value condition, function_ref<void()> then) {
  b.create<scf::IfOp>(loc, condition, [&](OpBuilder &, Location) {
    then();
    b.create<scf::YieldOp>(loc);
  });
}

ThreadKernel::Values ThreadKernel::valuesIf(Value condition, function_ref<Values()> then, const Values &otherwise) {
  auto op = b.create<scf::IfOp>(
      loc, condition, [&](OpBuilder &, Location) { b.create<scf::YieldOp>(loc, then()); },
      [&](OpBuilder &, Location) { b.create<scf::YieldOp>(loc, otherwise); });
  return op.getResults();
}

void ThreadKernel::function(ModuleOp module, StringRef name, TypeRange types, function_ref<void(ValueRange)> body) {
  b.setInsertionPointToEnd(module.getBody());
  auto function = b.create<func::FuncOp>(loc, name, b.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  body(entry->getArguments());
  b.create<func::ReturnOp>(loc);
}

void ThreadKernel::launch(int64_t blocks, int64_t warps, ArrayRef<SharedArray> arrays,
                          function_ref<void(ValueRange)> body) {
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  SmallVector<Type> shared;
  for (const auto &[shape, type] : arrays)
    shared.push_back(MemRefType::get(shape, type, MemRefLayoutAttrInterface(), space));
  Value one = number(1);
  auto op = b.create<gpu::LaunchOp>(loc, number(blocks), one, one, number(kWarpLanes), number(warps), one, Value(),
                                    Type(), ValueRange(), TypeRange(shared));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getBody().front());
  block = op.getBlockIds().x, lane = op.getThreadIds().x, warp = op.getThreadIds().y;
  body(llvm::to_vector_of<Value>(op.getWorkgroupAttributions()));
  b.create<gpu::TerminatorOp>(loc);
}

std::string kernelText(function_ref<void(MLIRContext &, ModuleOp)> emit) {
  DialectRegistry registry;
  registerGpuKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  emit(context, *module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

} // namespace splitcast::runtime
