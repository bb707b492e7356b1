//===- ThreadKernel.h - Writes kernels as the work of one thread --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_THREADKERNEL_H
#define SPLITCAST_RUNTIME_GPU_THREADKERNEL_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <utility>

namespace splitcast::runtime {

inline constexpr int64_t kWarpLanes = 32;

/// The common base of classes that emit such kernels. Names are short, so that the emitting code reads like a kernel.
/// Indices are compared as unsigned numbers.
class ThreadKernel {
protected:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;
  /// The extents and the element type of an array in a block's shared memory.
  using SharedArray = std::pair<llvm::SmallVector<int64_t>, mlir::Type>;

  explicit ThreadKernel(mlir::MLIRContext &context) : loc(mlir::UnknownLoc::get(&context)), b(&context) {}

  template <typename OpT> Value make(Value x, Value y) { return b.create<OpT>(loc, x, y); }
  Value number(int64_t value) { return b.create<mlir::arith::ConstantIndexOp>(loc, value); }
  Value word(int32_t value) { return b.create<mlir::arith::ConstantOp>(loc, b.getI32IntegerAttr(value)); }
  Value add(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value minus(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value times(Value x, int64_t y) { return make<mlir::arith::MulIOp>(x, number(y)); }
  Value least(Value x, Value y) { return make<mlir::arith::MinUIOp>(x, y); }
  Value quotient(Value x, int64_t y) { return make<mlir::arith::DivUIOp>(x, number(y)); }
  Value rest(Value x, int64_t y) { return make<mlir::arith::RemUIOp>(x, number(y)); }
  Value isBelow(Value x, Value y) { return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::ult, x, y); }
  Value isEqual(Value x, Value y) { return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::eq, x, y); }
  Value choose(Value condition, Value x, Value y) { return b.create<mlir::arith::SelectOp>(loc, condition, x, y); }
  Value toIndex(Value integer) { return b.create<mlir::arith::IndexCastOp>(loc, b.getIndexType(), integer); }
  Value toWord(Value index) { return b.create<mlir::arith::IndexCastOp>(loc, b.getI32Type(), index); }
  Value load(Value from, mlir::ValueRange at) { return b.create<mlir::memref::LoadOp>(loc, from, at); }
  void store(Value value, Value to, mlir::ValueRange at) { b.create<mlir::memref::StoreOp>(loc, value, to, at); }
  void barrier() { b.create<mlir::gpu::BarrierOp>(loc); }

  Values loop(Value from, Value to, Value step, const Values &start,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void emitIf(Value condition, llvm::function_ref<void()> then);
  /// Emits an if op whose results are those of `then`, or `otherwise` if the condition does not hold.
  Values valuesIf(Value condition, llvm::function_ref<Values()> then, const Values &otherwise);

  /// Adds a function to the module. `body` gets its arguments, and emits its launches.
  void function(mlir::ModuleOp module, llvm::StringRef name, mlir::TypeRange types,
                llvm::function_ref<void(mlir::ValueRange)> body);
  /// Emits a launch of `blocks` blocks of kWarpLanes x `warps` threads. `body` gets the shared arrays, and emits the
  /// work of one thread.
  void launch(int64_t blocks, int64_t warps, llvm::ArrayRef<SharedArray> arrays,
              llvm::function_ref<void(mlir::ValueRange)> body);

  const mlir::Location loc;
  mlir::OpBuilder b;
  Value block, lane, warp; ///< the place of the thread in the launch that is being emitted
};

/// Returns the text of a module that `emit` fills, in a context made for it.
std::string kernelText(llvm::function_ref<void(mlir::MLIRContext &, mlir::ModuleOp)> emit);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_THREADKERNEL_H
