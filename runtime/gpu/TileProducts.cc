#include "runtime/gpu/TileProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace splitcast::runtime {
namespace {

constexpr int64_t kDepth = 8, kQuad = 4, kWarp = 32;

class Expander {
public:
  explicit Expander(NVVM::MmaOp product) : product(product), loc(product.getLoc()), b(product) {}

  void run() {
    Value thread = b.create<gpu::ThreadIdOp>(loc, gpu::Dimension::x);
    lane = b.create<arith::IndexCastOp>(loc, b.getI32Type(), thread);
    inGroup = b.create<arith::RemUIOp>(loc, lane, word(kQuad));
    SmallVector<SmallVector<Value>> rows, columns;
    for (const size_t nth : {0, 1}) {
      rows.push_back(rowOfLeft(nth));
      columns.push_back(columnOfRight(nth));
    }
    SmallVector<Value> sums;
    for (const size_t row : {0, 1})
      for (const size_t column : {0, 1})
        sums.push_back(sum(rows[row], columns[column], product.getOperandC()[sums.size()]));
    for (Operation *user : llvm::make_early_inc_range(product->getUsers())) {
      auto extract = cast<LLVM::ExtractValueOp>(user);
      extract.replaceAllUsesWith(sums[extract.getPosition().front()]);
      extract.erase();
    }
    product.erase();
  }

private:
  Value word(int64_t value) {
    return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  /// Returns, as f32, the bits that `value` has in the lane whose number differs by the bits of `offset`.
  Value ofLane(Value value, Value offset) {
    Value bits = b.create<gpu::ShuffleOp>(loc, value, offset, word(kWarp), gpu::ShuffleMode::XOR).getShuffleResult();
    return b.create<arith::BitcastOp>(loc, b.getF32Type(), bits);
  }

  SmallVector<Value> rowOfLeft(size_t half) {
    SmallVector<Value> elements;
    for (int64_t depth = 0; depth < kDepth; ++depth) {
      Value offset = b.create<arith::XOrIOp>(loc, inGroup, word(depth % kQuad));
      elements.push_back(ofLane(product.getOperandA()[half + 2 * (depth / kQuad)], offset));
    }
    return elements;
  }

  SmallVector<Value> columnOfRight(size_t odd) {
    SmallVector<Value> elements;
    // The column 2 t + odd lies in the lanes of that group.
    Value column = b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, inGroup, word(2)), word(odd));
    Value first = b.create<arith::MulIOp>(loc, column, word(kQuad));
    for (int64_t depth = 0; depth < kDepth; ++depth) {
      Value from = b.create<arith::AddIOp>(loc, first, word(depth % kQuad));
      elements.push_back(ofLane(product.getOperandB()[depth / kQuad], b.create<arith::XOrIOp>(loc, lane, from)));
    }
    return elements;
  }

  Value sum(ArrayRef<Value> row, ArrayRef<Value> column, Value total) {
    for (auto [x, y] : llvm::zip(row, column))
      total = b.create<arith::AddFOp>(loc, total, b.create<arith::MulFOp>(loc, x, y));
    return total;
  }

  NVVM::MmaOp product;
  Location loc;
  OpBuilder b;
  Value lane, inGroup;
};

} // namespace

void expandTileProducts(Operation *root) {
  SmallVector<NVVM::MmaOp> products;
  root->walk([&](NVVM::MmaOp product) { products.push_back(product); });
  for (NVVM::MmaOp product : products)
    Expander(product).run();
}

} // namespace splitcast::runtime
