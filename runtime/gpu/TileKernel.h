//===- TileKernel.h - Writes kernels with the products of tensor cores --------------------------------------===//
//
// A warp multiplies tiles of f32 with mma.sync.m16n8k8, whose operands are tf32 (PTX ISA, "Matrix Fragments for
// mma.m16n8k8"). With lane = 4 g + t, a thread holds of
//
//   left      [16 rows, 8 of the sum]   (g, t) (g + 8, t) (g, t + 4) (g + 8, t + 4)
//   right     [8 of the sum, 8 columns] (t, g) (t + 4, g)
//   a sum     [16 rows, 8 columns]      (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
//
// The order within the sum is free: a thread's elements of a sum, taken as the next product's left operand, count as
// columns 2t and 2t + 1 in the place of t and t + 4, if the right operand is read in that order, too.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_TILEKERNEL_H
#define SPLITCAST_RUNTIME_GPU_TILEKERNEL_H

#include "runtime/gpu/ThreadKernel.h"

namespace splitcast::runtime {

/// The extents of one product of a warp.
inline constexpr int64_t kTileRows = 16, kTileColumns = 8, kTileDepth = 8;

class TileKernel : protected ThreadKernel {
protected:
  /// With `rounds`, operands are rounded to tf32. If not, each is the sum of two numbers of tf32, and three of their
  /// four products are added: the error of a product is that of 21 bits. They are added to the sum by an addition of
  /// their own: tensor cores cut sums off and do not round them (Fasi et al. 2021, doi:10.7717/peerj-cs.330), so that
  /// the errors of many additions would grow. An infinity gives NaN then.
  TileKernel(mlir::MLIRContext &context, bool rounds) : ThreadKernel(context), rounds(rounds) {}

  /// The numbers of tf32 that stand for operands: the upper parts as i32 and, unless operands are rounded, the lower.
  struct Operands {
    Values upper, lower;
  };
  /// Takes the elements of a left operand as they are in a kernel's arguments, or are computed.
  Operands left(const Values &elements);
  /// Takes the elements of a right operand, which have been stored(), as tiles in shared memory are.
  Operands right(const Values &elements);
  /// Returns an element for a tile in shared memory.
  Value stored(Value element) { return rounds ? rounded(element) : element; }
  /// Returns the four elements `sum`, with the product added to them.
  Values addProduct(const Operands &left, const Operands &right, const Values &sum);

  Value real(double value) {
    return b.create<mlir::arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value)));
  }
  /// Combines the values of the four threads with the same g, in a fixed order; all four get the result.
  template <typename OpT> Value ofRow(Value value) {
    for (const int32_t offset : {1, 2})
      value = make<OpT>(value, b.create<mlir::gpu::ShuffleOp>(loc, value, offset, static_cast<int32_t>(kWarpLanes),
                                                              mlir::gpu::ShuffleMode::XOR)
                                   .getShuffleResult());
    return value;
  }

private:
  Value bits(Value element) { return b.create<mlir::arith::BitcastOp>(loc, b.getI32Type(), element); }
  Value rounded(Value element);
  Value withoutLast(Value bits);
  Operands split(const Values &elements);
  Values multiply(const Values &left, const Values &right, const Values &sum);

  const bool rounds;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_TILEKERNEL_H
