// Products of a warp's tiles (TileKernel.h), as tensor cores make them and without them: which elements a thread holds,
// and how many bits of an operand count.
#include "runtime/gpu/TileProducts.h"
#include "runtime/gpu/GpuProgram.h"
#include "runtime/gpu/TileKernel.h"
#include "tests/gpu/EmulatedDevice.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>

namespace splitcast::gpu_tests {
namespace {

using Floats = std::vector<float>;

/// Multiplies [16, 8] by [8, 8], and adds to the result its product, as a left operand, with the latter.
class Product : runtime::TileKernel {
public:
  Product(mlir::MLIRContext &context, bool rounds) : TileKernel(context, rounds) {}

  void emit(mlir::ModuleOp module) {
    auto wide = mlir::MemRefType::get({16, 8}, b.getF32Type()), square = mlir::MemRefType::get({8, 8}, b.getF32Type());
    function(module, "product", {wide, square, wide, wide}, [&](mlir::ValueRange arguments) {
      launch(1, 1, {}, [&](mlir::ValueRange) {
        group = quotient(lane, 4), inGroup = rest(lane, 4);
        const Values zeros(4, real(0));
        Values elements;
        for (const int64_t column : {0, 4})
          for (const int64_t row : {0, 8})
            elements.push_back(at(arguments[0], add(group, number(row)), add(inGroup, number(column))));
        const Operands first =
            right({stored(at(arguments[1], inGroup, group)), stored(at(arguments[1], add(inGroup, number(4)), group))});
        const Values once = addProduct(left(elements), first, zeros);
        storeSum(once, arguments[2]);
        Value even = times(inGroup, 2), odd = add(even, number(1));
        const Operands again = right({stored(at(arguments[1], even, group)), stored(at(arguments[1], odd, group))});
        storeSum(addProduct(left({once[0], once[2], once[1], once[3]}), again, once), arguments[3]);
      });
    });
  }

private:
  Value at(Value memory, Value row, Value column) { return load(memory, {row, column}); }
  void storeSum(const Values &sum, Value to) {
    for (int64_t element = 0; element < 4; ++element)
      store(sum[element], to, {add(group, number(element / 2 * 8)), add(times(inGroup, 2), number(element % 2))});
  }

  Value group, inGroup;
};

struct Products {
  Floats once = Floats(16 * 8, 77), twice = Floats(16 * 8, 77);
};

Products multiply(Floats wide, Floats square, bool rounds, bool hasTensorCores) {
  const std::string text = runtime::kernelText([&](mlir::MLIRContext &context, mlir::ModuleOp module) {
    Product(context, rounds).emit(module);
    if (!hasTensorCores)
      runtime::expandTileProducts(module);
  });
  EXPECT_EQ(text.find("nvvm.mma.sync") != std::string::npos, hasTensorCores);
  mlir::DialectRegistry registry;
  runtime::registerGpuKernelDialects(registry);
  mlir::MLIRContext context(registry);
  const auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  const std::unique_ptr<runtime::Device> device = createEmulatedDevice({});
  const auto library = device->loadKernels(*module);
  EXPECT_TRUE(library.ok()) << library.status();
  const auto stream = device->createStream("compute");
  const auto kernel = (*library)->kernel("product");
  Products products;
  std::vector<runtime::Buffer> buffers;
  for (Floats *values : {&wide, &square, &products.once, &products.twice})
    buffers.push_back({reinterpret_cast<std::byte *>(values->data()), static_cast<int64_t>(values->size() * 4)});
  EXPECT_EQ((*kernel)->launch(buffers, **stream), absl::OkStatus());
  return products;
}

Floats product(const Floats &wide, const Floats &square) {
  Floats result(16 * 8);
  for (int64_t row = 0; row < 16; ++row)
    for (int64_t column = 0; column < 8; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < 8; ++i)
        sum += double{wide[row * 8 + i]} * square[i * 8 + column];
      result[row * 8 + column] = static_cast<float>(sum);
    }
  return result;
}

Floats integers(int64_t count, int64_t seed) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((i * i * 7 + i * 3 + seed) % 11 - 5);
  return values;
}

TEST(TileProductsTest, OfSmallIntegersAreExact) {
  const Floats wide = integers(16 * 8, 1), square = integers(8 * 8, 2);
  for (const bool rounds : {false, true})
    for (const bool hasTensorCores : {false, true}) {
      const Products found = multiply(wide, square, rounds, hasTensorCores);
      EXPECT_EQ(found.once, product(wide, square));
      Floats sum = product(product(wide, square), square);
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += found.once[i];
      EXPECT_EQ(found.twice, sum);
    }
}

/// 1 + 2^-11 needs one bit more than tf32 has, and lies between two of its numbers: it rounds away from 0.
TEST(TileProductsTest, OperandsAreRoundedOnlyOnRequest) {
  Floats wide(16 * 8, 0), square(8 * 8, 0);
  for (int64_t i = 0; i < 8; ++i)
    wide[i * 8 + i] = square[i * 8 + i] = (i % 2 ? -1 : 1) * (1 + std::ldexp(1.F, -11));
  for (const bool hasTensorCores : {false, true}) {
    EXPECT_EQ(multiply(wide, square, true, hasTensorCores).once[0], 1 + std::ldexp(1.F, -9) + std::ldexp(1.F, -20));
    const float close = multiply(wide, square, false, hasTensorCores).once[0];
    EXPECT_NEAR(close, 1 + std::ldexp(1.F, -10) + std::ldexp(1.F, -22), std::ldexp(1.F, -21));
  }
}

TEST(TileProductsTest, NotANumberStaysOne) {
  Floats wide(16 * 8, 1), square(8 * 8, 1);
  const uint32_t bits = 0x7fffffff; // whose rounding would carry into the sign
  std::memcpy(&wide[3], &bits, sizeof(bits));
  for (const bool rounds : {false, true}) {
    const Products found = multiply(wide, square, rounds, true);
    EXPECT_TRUE(std::isnan(found.once[0]));
    EXPECT_EQ(found.once[8], 8);
  }
}

} // namespace
} // namespace splitcast::gpu_tests
