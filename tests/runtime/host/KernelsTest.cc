#include "tests/runtime/host/KernelFixture.h"

#include "gmock/gmock.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace splitcast::runtime {
namespace {

using testing::HasSubstr;

class KernelsTest : public KernelFixture {
protected:
  /// Runs math.`op` over many f32 and compares with `exact`, in units of the last place.
  void expectMath(const std::string &op, float from, float to, std::function<double(double)> exact, double ulps) {
    std::vector<float> in(4099), out(4099, -7);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = from + (to - from) * i / (in.size() - 1);
    std::string body = "%y = math." + op + " %x : f32";
    ASSERT_EQ(run(elementwise(4099, "f32", "f32", body), {bufferOf(in), bufferOf(out)}), absl::OkStatus());
    for (size_t i = 0; i < in.size(); ++i) {
      double expected = exact(in[i]);
      float ulp = std::nextafter(std::fabs(float(expected)), INFINITY) - std::fabs(float(expected));
      EXPECT_LE(std::fabs(out[i] - expected), ulps * ulp) << op << "(" << in[i] << ") = " << out[i];
    }
  }
};

uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

TEST_F(KernelsTest, AddsVectorsOfAnyLength) {
  for (int count : {1, 15, 16, 17, 1000}) {
    std::string type = "memref<" + std::to_string(count) + "xf32>";
    std::vector<float> a(count), b(count), sum(count, -1);
    std::iota(a.begin(), a.end(), 0);
    std::iota(b.begin(), b.end(), 0.5f);
    std::string text = "func.func @k(%a: " + type + ", %b: " + type + ", %c: " + type + R"() {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant )" +
                       std::to_string(count) + R"( : index
      scf.for %i = %c0 to %n step %c1 {
        %x = memref.load %a[%i] : )" +
                       type + R"(
        %y = memref.load %b[%i] : )" +
                       type + R"(
        %z = arith.addf %x, %y : f32
        memref.store %z, %c[%i] : )" +
                       type + R"(
      }
      return
    })";
    ASSERT_EQ(run(text, {bufferOf(a), bufferOf(b), bufferOf(sum)}), absl::OkStatus());
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(sum[i], a[i] + b[i]);
  }
}

TEST_F(KernelsTest, ComputesFunctionsToAFewUnitsOfTheLastPlace) {
  expectMath("exp", -80, 80, [](double x) { return std::exp(x); }, 2);
  expectMath("tanh", -12, 12, [](double x) { return std::tanh(x); }, 6);
  expectMath("erf", -5, 5, [](double x) { return std::erf(x); }, 6);
  expectMath("log", 0.01, 1000, [](double x) { return std::log(x); }, 4);
  expectMath("rsqrt", 0.001, 1000, [](double x) { return 1 / std::sqrt(x); }, 2);
  expectMath("sqrt", 0, 1000, [](double x) { return std::sqrt(x); }, 0.5);
  expectMath("sin", -30000, 30000, [](double x) { return std::sin(x); }, 2);
  expectMath("cos", -30000, 30000, [](double x) { return std::cos(x); }, 2);
}

TEST_F(KernelsTest, KeepsInfinitiesAndNans) {
  std::vector<float> in = {INFINITY, -INFINITY, NAN, 1000, -1000}, out(5);
  ASSERT_EQ(run(elementwise(5, "f32", "f32", "%y = math.exp %x : f32"), {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  EXPECT_EQ(out[0], INFINITY);
  EXPECT_EQ(out[1], 0);
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], INFINITY);
  EXPECT_EQ(out[4], 0);
}

TEST_F(KernelsTest, ComputesInF64ThroughLibm) {
  std::vector<double> in = {-2.5, 0, 0.1, 3.75}, out(4);
  ASSERT_EQ(run(elementwise(4, "f64", "f64",
                            "%e = math.exp %x : f64\n%p = math.powf %e, %x : f64\n"
                            "%y = math.erf %p : f64"),
                {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  for (int i = 0; i < 4; ++i)
    EXPECT_DOUBLE_EQ(out[i], std::erf(std::pow(std::exp(in[i]), in[i])));
}

TEST_F(KernelsTest, KeepsSmallArgumentsInF64) {
  std::vector<double> in = {1e-18, -3e-20, 0.5}, out(3);
  ASSERT_EQ(run(elementwise(3, "f64", "f64", "%l = math.log1p %x : f64\n%y = math.expm1 %l : f64"),
                {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  for (int i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(out[i], in[i]);
}

TEST_F(KernelsTest, TruncatesToBf16ByRoundingToEven) {
  std::vector<float> in = {1, 1.00390625f, 1.01171875f, -1.00390625f, 3.14159f, 1e-40f, 65504, INFINITY, -0.0f};
  while (in.size() < 37)
    in.push_back(in.back() * 1.37f + in.size());
  std::vector<uint16_t> out(37);
  ASSERT_EQ(run(elementwise(37, "f32", "bf16", "%y = arith.truncf %x : f32 to bf16"), {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  for (int i = 0; i < 37; ++i)
    EXPECT_EQ(out[i], toBf16(in[i])) << in[i];
  EXPECT_EQ(out[1], 0x3F80) << "a tie goes to the even neighbour below";
  EXPECT_EQ(out[2], 0x3F82) << "a tie goes to the even neighbour above";
  EXPECT_NE(out[5], 0) << "denormals are kept";
}

TEST_F(KernelsTest, TruncatesNanToNan) {
  std::vector<uint32_t> in = {0x7FFFFFFF, 0x7F800001, 0xFFFFFFFF};
  std::vector<uint16_t> out(3);
  ASSERT_EQ(run(elementwise(3, "f32", "bf16", "%y = arith.truncf %x : f32 to bf16"), {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  for (uint16_t value : out)
    EXPECT_TRUE(std::isnan(fromBf16(value))) << std::hex << value;
}

TEST_F(KernelsTest, ExtendsBf16Exactly) {
  std::vector<uint16_t> in(65536);
  std::iota(in.begin(), in.end(), 0);
  std::vector<uint32_t> out(65536);
  ASSERT_EQ(run(elementwise(65536, "bf16", "f32", "%y = arith.extf %x : bf16 to f32"), {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  for (int i = 0; i < 65536; ++i)
    ASSERT_EQ(out[i], uint32_t(i) << 16);
}

// (x + x/256-ish) rounded, then multiplied and rounded again: the roundings in between may not be folded away.
TEST_F(KernelsTest, RoundsBf16AfterEveryOp) {
  std::vector<uint16_t> in(256), out(256);
  for (int i = 0; i < 256; ++i)
    in[i] = toBf16(0.37f + 0.011f * i);
  ASSERT_EQ(run(elementwise(256, "bf16", "bf16",
                            "%c = arith.constant 1.0078125e-2 : bf16\n%s = arith.addf %x, %c : bf16\n"
                            "%m = arith.mulf %s, %s : bf16\n%y = arith.subf %m, %x : bf16"),
                {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  int differsWithoutRounding = 0;
  for (int i = 0; i < 256; ++i) {
    float x = fromBf16(in[i]), c = fromBf16(toBf16(1.0078125e-2f));
    float sum = fromBf16(toBf16(x + c));
    EXPECT_EQ(out[i], toBf16(fromBf16(toBf16(sum * sum)) - x)) << i;
    differsWithoutRounding += out[i] != toBf16((x + c) * (x + c) - x);
  }
  EXPECT_GT(differsWithoutRounding, 0);
}

TEST_F(KernelsTest, ComparesI64) {
  std::vector<int64_t> in = {-5, 41, 42, 43, int64_t{1} << 40}, out(5, 9);
  ASSERT_EQ(run(elementwise(5, "i64", "i64",
                            "%c = arith.constant 42 : i64\n%l = arith.cmpi slt, %x, %c : i64\n"
                            "%y = arith.extui %l : i1 to i64"),
                {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  EXPECT_EQ(out, (std::vector<int64_t>{1, 1, 0, 0, 0}));
}

// 16 lanes, then a tree: the sum of floats is that order's and no other.
TEST_F(KernelsTest, ReducesLaneByLane) {
  std::vector<float> in(160), out(2);
  for (int i = 0; i < 160; ++i)
    in[i] = (i % 7 - 3) * std::exp2(float(i % 23));
  std::string text = R"(func.func @k(%a: memref<160xf32>, %b: memref<2xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %n = arith.constant 160 : index
    %zero = arith.constant dense<0.0> : vector<16xf32>
    %init = arith.constant 0.0 : f32
    %lanes = scf.for %i = %c0 to %n step %c16 iter_args(%sum = %zero) -> (vector<16xf32>) {
      %x = vector.load %a[%i] : memref<160xf32>, vector<16xf32>
      %e = arith.mulf %x, %x : vector<16xf32>
      %s = arith.addf %sum, %e : vector<16xf32>
      scf.yield %s : vector<16xf32>
    }
    %r = vector.reduction <add>, %lanes : vector<16xf32> into f32
    %m = vector.reduction <maximumf>, %lanes : vector<16xf32> into f32
    memref.store %r, %b[%c0] : memref<2xf32>
    memref.store %m, %b[%c1] : memref<2xf32>
    return
  })";
  ASSERT_EQ(run(text, {bufferOf(in), bufferOf(out)}), absl::OkStatus());
  float lanes[16] = {}, sum = 0, maximum = 0;
  for (int i = 0; i < 160; ++i)
    lanes[i % 16] += in[i] * in[i];
  for (float lane : lanes) {
    sum += lane;
    maximum = std::max(maximum, lane);
  }
  EXPECT_EQ(out[0], sum);
  EXPECT_EQ(out[1], maximum);
}

// The same element, alone, at the head of a vector, or in a loop's remainder.
TEST_F(KernelsTest, AValueDoesNotDependOnItsPlace) {
  std::string body = "%t = math.tanh %x : f32\n%e = math.exp %t : f32\n%p = arith.mulf %e, %x : f32\n"
                     "%y = arith.addf %p, %t : f32";
  std::vector<float> in(1003), whole(1003);
  for (int i = 0; i < 1003; ++i)
    in[i] = 0.013f * (i - 500);
  ASSERT_EQ(run(elementwise(1003, "f32", "f32", body), {bufferOf(in), bufferOf(whole)}), absl::OkStatus());
  auto one = loadKernel(elementwise(1, "f32", "f32", body), "k");
  auto seven = loadKernel(elementwise(7, "f32", "f32", body), "k");
  ASSERT_TRUE(one.ok() && seven.ok());
  for (int i = 0; i + 7 <= 1003; ++i) {
    std::vector<float> alone(1), some(7);
    ASSERT_EQ((*one)->launch({bufferOf(in).slice(4 * i, 4), bufferOf(alone)}, *stream), absl::OkStatus());
    ASSERT_EQ((*seven)->launch({bufferOf(in).slice(4 * i, 28), bufferOf(some)}, *stream), absl::OkStatus());
    EXPECT_EQ(std::memcmp(&alone[0], &whole[i], 4), 0) << i;
    EXPECT_EQ(std::memcmp(&some[0], &whole[i], 28), 0) << i;
  }
}

TEST_F(KernelsTest, TransposesWithVectors) {
  std::vector<float> in(256), out(256);
  std::iota(in.begin(), in.end(), 0);
  ASSERT_EQ(run(R"(func.func @k(%a: memref<16x16xf32>, %b: memref<16x16xf32>) {
    %c0 = arith.constant 0 : index
    %p = arith.constant 0.0 : f32
    %x = vector.transfer_read %a[%c0, %c0], %p {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %y = vector.transpose %x, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
    vector.transfer_write %y, %b[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    return
  })",
                {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], i % 16 * 16 + i / 16);
}

TEST_F(KernelsTest, TakesFortyArguments) {
  std::string arguments, body;
  std::vector<std::vector<float>> values(41, std::vector<float>(1));
  std::vector<Buffer> buffers;
  for (int i = 0; i < 40; ++i) {
    std::string n = std::to_string(i);
    arguments += "%a" + n + ": memref<1xf32>, ";
    body += "%x" + n + " = memref.load %a" + n + "[%c0] : memref<1xf32>\n%s" + std::to_string(i + 1) +
            " = arith.addf %s" + n + ", %x" + n + " : f32\n";
    values[i][0] = 1 << (i % 20);
  }
  for (auto &value : values)
    buffers.push_back(bufferOf(value));
  ASSERT_EQ(run("func.func @k(" + arguments + R"(%out: memref<1xf32>) {
    %c0 = arith.constant 0 : index
    %s0 = arith.constant 0.0 : f32
    )" + body + "memref.store %s40, %out[%c0] : memref<1xf32>\nreturn\n}",
                buffers),
            absl::OkStatus());
  EXPECT_EQ(values[40][0], 2 * ((1 << 20) - 1));
}

TEST_F(KernelsTest, CallsHelpersAndReadsGlobals) {
  std::vector<float> in = {1, 2, 3}, out(3);
  ASSERT_EQ(run("memref.global \"private\" constant @table : memref<3xf32> = dense<[10.0, 20.0, 30.0]>\n"
                "func.func private @twice(%x: f32) -> f32 {\n  %y = arith.addf %x, %x : f32\n  return %y : f32\n}\n" +
                    elementwise(3, "f32", "f32",
                                "%t = memref.get_global @table : memref<3xf32>\n"
                                "%v = memref.load %t[%i] : memref<3xf32>\n"
                                "%d = func.call @twice(%x) : (f32) -> f32\n%y = arith.addf %d, %v : f32"),
                {bufferOf(in), bufferOf(out)}),
            absl::OkStatus());
  EXPECT_EQ(out, (std::vector<float>{12, 24, 36}));
}

TEST_F(KernelsTest, ReportsWorkspace) {
  auto kernel = loadKernel(R"(func.func @k(%a: memref<2xf32>, %w: memref<64xi8>) attributes
      {splitcast.workspace = 64 : i64} { return })",
                           "k");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->workspaceBytes(), 64);
  auto wrong = loadKernel(R"(func.func @k(%a: memref<2xf32>, %w: memref<32xi8>) attributes
      {splitcast.workspace = 64 : i64} { return })",
                          "k");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("memref<32xi8>"));
}

TEST_F(KernelsTest, RefusesBuffersThatAreTooSmallOrTooFew) {
  auto kernel = loadKernel(elementwise(8, "f32", "f32", "%y = arith.addf %x, %x : f32"), "k");
  ASSERT_TRUE(kernel.ok());
  std::vector<float> eight(8), seven(7, 3);
  absl::Status small = (*kernel)->launch({bufferOf(eight), bufferOf(seven)}, *stream);
  EXPECT_EQ(small, absl::InvalidArgumentError("kernel @k: buffer 1 has 28 bytes; argument 1 needs 32"));
  EXPECT_EQ(seven, std::vector<float>(7, 3));
  EXPECT_EQ((*kernel)->launch({bufferOf(eight)}, *stream),
            absl::InvalidArgumentError("kernel @k was launched with 1 buffers; it takes 2"));
}

TEST_F(KernelsTest, KnowsItsKernelsOnly) {
  auto kernel = loadKernel(elementwise(8, "f32", "f32", "%y = arith.addf %x, %x : f32"), "other");
  EXPECT_EQ(kernel.status(), absl::NotFoundError("there is no kernel @other among the 1 of this module"));
}

TEST_F(KernelsTest, KernelsOutliveLibraryModuleAndDevice) {
  auto kernel = loadKernel(elementwise(3, "f32", "f32", "%y = arith.addf %x, %x : f32"), "k");
  ASSERT_TRUE(kernel.ok());
  device.reset();
  std::vector<float> in = {1, 2, 3}, out(3);
  EXPECT_EQ((*kernel)->launch({bufferOf(in), bufferOf(out)}, *stream), absl::OkStatus());
  EXPECT_EQ(out, (std::vector<float>{2, 4, 6}));
}

struct Refusal {
  const char *text;
  const char *message;
};

class RefusedKernels : public KernelFixture, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedKernels, AreInvalidArguments) {
  absl::Status status = loadKernel(GetParam().text, "k").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("kernel @k: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedKernels,
    testing::Values(
        Refusal{"func.func @k(%a: memref<2xf32>, %b: i32) { return }", "argument 1 is 'i32'"},
        Refusal{"func.func @k(%a: memref<?xf32>) { return }", "argument 0 is 'memref<?xf32>'"},
        Refusal{"func.func @k(%a: memref<4xf32, strided<[2]>>) { return }", "strided<[2]>"},
        Refusal{"func.func @k(%a: memref<4xindex>) { return }", "memref<4xindex>"},
        Refusal{"func.func @k(%a: memref<4611686018427387904xf32>) { return }", "more bytes than 64 bits"},
        Refusal{"func.func @k(%a: memref<1xf32>) -> f32 { %c = arith.constant 1.0 : f32\nreturn %c : f32 }",
                "returns a value"},
        Refusal{"func.func @k(%a: memref<1xf32>) { \"linalg.fill\"(%a) : (memref<1xf32>) -> ()\nreturn }",
                "'linalg.fill'; lower it"},
        Refusal{"func.func @k(%a: memref<1xf32>) { %c = arith.constant 1.0 : f32\n"
                "%d = arith.addf %c, %c fastmath<reassoc> : f32\nreturn }",
                "fastmath<reassoc>"},
        Refusal{"func.func @k(%a: memref<16xi1>) { %c = arith.constant 0 : index\n"
                "%v = vector.load %a[%c] : memref<16xi1>, vector<16xi1>\nreturn }",
                "vectors of i1"},
        Refusal{"func.func private @nowhere_at_all()\nfunc.func @k(%a: memref<1xf32>) { call @nowhere_at_all() : () -> "
                "()\nreturn }",
                "nowhere_at_all"}));

} // namespace
} // namespace splitcast::runtime
