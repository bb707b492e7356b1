//===- GpuLaunches.h - What kernels for a GPU are written with --------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_GPULAUNCHES_H
#define SPLITCAST_PASSES_PLAN_GPULAUNCHES_H

#include "passes/plan/FusionEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace splitcast {

/// The threads of a warp, and of a block of elementwise work; the bytes that a thread moves at once.
inline constexpr int64_t kWarp = 32, kThreads = 256, kVectorBytes = 16;
/// The blocks for which a whole device has about room.
inline constexpr int64_t kDeviceBlocks = 1024;
/// The addends that a thread loads before it adds them, so that loads do not wait for sums.
inline constexpr int64_t kAddendsAtOnce = 4;

/// Returns the number of addends of each element of a sum.
int64_t addendsOf(mlir::linalg::GenericOp sum);

/// Emits launches, and what one of their threads does.
class GpuLaunches : public FusionEmitter {
protected:
  using FusionEmitter::FusionEmitter;

  struct Ids {
    mlir::Value block, thread, warp;
    llvm::SmallVector<mlir::Value> shared;
  };

  /// Emits a launch of blocks of kWarp x `warps` threads, or of kThreads x 1 if `warps` is 0.
  void launch(int64_t blocks, int64_t warps, mlir::TypeRange shared, llvm::function_ref<void(const Ids &)> emitBody);
  /// Adds shared memory to the launch that is being emitted.
  mlir::Value addShared(mlir::MemRefType type) { return launched.addWorkgroupAttribution(type, loc); }
  /// Returns the type of an array in a block's shared memory.
  mlir::MemRefType sharedArray(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b);
  mlir::Value quotient(mlir::Value a, int64_t b);
  mlir::Value rest(mlir::Value a, int64_t b);
  mlir::Value isBelow(mlir::Value index, int64_t bound);
  mlir::Value isEqual(mlir::Value index, int64_t number);
  /// Emits a branch. Values that are made in it are known only in it.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = {});
  /// Emits the indices of element number `linear` of a tensor of these extents.
  llvm::SmallVector<Index> placeOf(mlir::Value linear, llvm::ArrayRef<int64_t> extents, bool isLane);
  /// Emits the value of the thread whose number differs in the bit `offset`. Types that shuffles do not support are
  /// widened to f32, which is exact.
  mlir::Value shuffle(mlir::Value value, int32_t offset);

  /// Emits the sum of the values of a warp's threads, in a fixed tree. With `columns`, a power of two, it is that of
  /// every columns-th thread.
  mlir::Value addWarp(mlir::linalg::GenericOp generic, mlir::Value value, int64_t columns = 1);

  /// Returns the loops of a sum at a place of its result and the number of an addend.
  llvm::SmallVector<Index> loopsAt(mlir::linalg::GenericOp sum, llvm::ArrayRef<Index> place, mlir::Value addend);
  /// Every `stride`-th addend of [first, end).
  struct Addends {
    mlir::Value first, end;
    int64_t stride;
    bool areWhole; ///< each thread has a multiple of kAddendsAtOnce of them
  };
  /// Emits the sums of these addends, at one place of the results of `sums`, which have the same loops.
  llvm::SmallVector<mlir::Value> addEvery(llvm::ArrayRef<mlir::linalg::GenericOp> sums, llvm::ArrayRef<Index> place,
                                          Addends addends);

private:
  mlir::gpu::LaunchOp launched; ///< the launch that is being emitted
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_GPULAUNCHES_H
