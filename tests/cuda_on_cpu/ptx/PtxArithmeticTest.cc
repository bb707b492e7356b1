#include "tests/cuda_on_cpu/ptx/PtxTestKernels.h"

#include <cmath>
#include <cstring>

namespace splitcast::cuda_on_cpu {
namespace {

/// One instruction on registers 1, 2 and 3 of a kind (%r, %rs, %rd, %f, %fd; %p: bit 0), whose result is register 9 of
/// the kind `result`.
struct Row {
  const char *instruction, *result;
  uint64_t a, b, c, expected;
};

std::string readResult(const std::string &kind) {
  if (kind == "r")
    return "cvt.u64.u32 %rd9, %r9;";
  if (kind == "rs")
    return "cvt.u64.u16 %rd9, %rs9;";
  if (kind == "f")
    return "mov.b32 %r9, %f9;\ncvt.u64.u32 %rd9, %r9;";
  if (kind == "fd")
    return "mov.b64 %rd9, %fd9;";
  if (kind == "p")
    return "selp.b64 %rd9, 1, 0, %p9;";
  return "";
}

std::string textOf(const Row &row) {
  std::string body;
  for (int number = 1; number <= 3; ++number)
    absl::StrAppend(&body, "ld.global.u64 %rd", number, ", [%rd0+", number * 8 - 8, "];\ncvt.u32.u64 %r", number,
                    ", %rd", number, ";\ncvt.u16.u64 %rs", number, ", %rd", number, ";\nmov.b32 %f", number, ", %r",
                    number, ";\nmov.b64 %fd", number, ", %rd", number, ";\nand.b64 %rd10, %rd", number,
                    ", 1;\nsetp.ne.s64 %p", number, ", %rd10, 0;\n");
  return kernelText(absl::StrCat(body, "mul.wide.u32 %rd11, %r0, 8;\nld.param.u64 %rd12, [p1];\n",
                                 "add.s64 %rd12, %rd12, %rd11;\n", row.instruction, "\n", readResult(row.result),
                                 "\nst.global.u64 [%rd12], %rd9;"),
                    2);
}

/// In a whole warp, and in the first threads of one.
void check(const std::vector<Row> &rows) {
  for (const Row &row : rows)
    for (uint32_t threads : {32, 5}) {
      TestMemory memory;
      const uint64_t *in = memory.add(std::vector<uint64_t>{row.a, row.b, row.c});
      const uint64_t *out = memory.add(std::vector<uint64_t>(threads, 0xDEAD));
      absl::Status status =
          runKernel(textOf(row), {addressOf(in), addressOf(out)}, memory, {{1, 1, 1}, {threads, 1, 1}});
      ASSERT_TRUE(status.ok()) << row.instruction << ": " << status;
      for (uint32_t thread = 0; thread < threads; ++thread)
        ASSERT_EQ(out[thread], row.expected) << row.instruction << " of " << std::hex << row.a << ", " << row.b << ", "
                                             << row.c << " gives " << out[thread] << ", not " << row.expected;
    }
}

uint64_t f(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
uint64_t d(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
constexpr uint64_t kNan = 0x7FFFFFFF, kQuiet = 0x7FC00000, kInf = 0x7F800000, kMinusInf = 0xFF800000,
                   kMinusZero = 0x80000000;
constexpr uint64_t kOnes = ~uint64_t{0}, kOnes32 = 0xFFFFFFFF;

TEST(PtxArithmetic, Integers) {
  check({{"add.s32 %r9, %r1, %r2;", "r", 0xFFFFFFFF, 3, 0, 2},
         {"add.s16 %rs9, %rs1, %rs2;", "rs", 0xFFFF, 3, 0, 2},
         {"sub.s64 %rd9, %rd1, %rd2;", "rd", 1, 3, 0, kOnes - 1},
         {"mul.lo.s32 %r9, %r1, %r2;", "r", 0x10001, 0x10001, 0, 0x20001},
         {"mul.hi.u32 %r9, %r1, %r2;", "r", kOnes32, kOnes32, 0, 0xFFFFFFFE},
         {"mul.hi.s32 %r9, %r1, %r2;", "r", kOnes32, 5, 0, kOnes32},
         {"mul.hi.u16 %rs9, %rs1, %rs2;", "rs", 0xFFFF, 0xFFFF, 0, 0xFFFE},
         {"mul.hi.u64 %rd9, %rd1, %rd2;", "rd", kOnes, kOnes, 0, kOnes - 1},
         {"mul.hi.s64 %rd9, %rd1, %rd2;", "rd", kOnes, kOnes, 0, 0},
         {"mul.wide.u32 %rd9, %r1, %r2;", "rd", kOnes32, 2, 0, 0x1FFFFFFFE},
         {"mul.wide.s32 %rd9, %r1, %r2;", "rd", kOnes32, 2, 0, kOnes - 1},
         {"mul.wide.s16 %r9, %rs1, 2;", "r", 0x8000, 0, 0, 0xFFFF0000},
         {"mad.lo.s32 %r9, %r1, %r2, %r3;", "r", 7, 6, 5, 47},
         {"mad.hi.u32 %r9, %r1, %r2, %r3;", "r", 0x80000000, 4, 5, 7},
         {"mad.wide.u32 %rd9, %r1, %r2, %rd3;", "rd", kOnes32, 2, 3, 0x200000001},
         {"div.s32 %r9, %r1, %r2;", "r", kOnes32 - 6, 2, 0, kOnes32 - 2},
         {"div.u32 %r9, %r1, %r2;", "r", kOnes32 - 6, 2, 0, 0x7FFFFFFC},
         {"div.s32 %r9, %r1, -1;", "r", 0x80000000, 0, 0, 0x80000000},
         {"rem.s64 %rd9, %rd1, %rd2;", "rd", kOnes - 6, 4, 0, kOnes - 2},
         {"rem.u16 %rs9, %rs1, %rs2;", "rs", 0xFFFF, 10, 0, 5},
         {"min.s32 %r9, %r1, %r2;", "r", kOnes32, 1, 0, kOnes32},
         {"min.u32 %r9, %r1, %r2;", "r", kOnes32, 1, 0, 1},
         {"max.s64 %rd9, %rd1, %rd2;", "rd", kOnes, 1, 0, 1},
         {"max.u16 %rs9, %rs1, %rs2;", "rs", 0xFFFF, 1, 0, 0xFFFF},
         {"neg.s32 %r9, %r1;", "r", 5, 0, 0, kOnes32 - 4},
         {"abs.s64 %rd9, %rd1;", "rd", kOnes - 4, 0, 0, 5}});
}

/// Of two words, the upper one.
TEST(PtxArithmetic, Carries) {
  check(
      {{"add.cc.u32 %r8, %r1, %r2;\naddc.u32 %r9, %r3, 0;", "r", kOnes32, 1, 5, 6},
       {"add.cc.u32 %r8, %r1, %r2;\naddc.u32 %r9, %r3, 0;", "r", kOnes32, 0, 5, 5},
       {"add.cc.s64 %rd8, %rd1, %rd2;\naddc.s64 %rd9, %rd3, 0;", "rd", kOnes, 1, 5, 6},
       {"add.cc.u32 %r8, %r1, %r2;\naddc.cc.u32 %r8, %r1, 0;\naddc.u32 %r9, %r3, 0;", "r", kOnes32, 1, 5, 6},
       {"sub.cc.u32 %r8, %r1, %r2;\nsubc.u32 %r9, %r3, 0;", "r", 0, 1, 5, 4},
       {"sub.cc.u32 %r8, %r1, %r2;\nsubc.u32 %r9, %r3, 0;", "r", 1, 1, 5, 5},
       {"mad.lo.cc.u32 %r8, %r1, %r2, %r3;\nmadc.hi.u32 %r9, %r1, %r2, 0;", "r", kOnes32, kOnes32, kOnes32, kOnes32}});
}

TEST(PtxArithmetic, Bits) {
  check({{"and.b32 %r9, %r1, %r2;", "r", 12, 10, 0, 8},
         {"or.b16 %rs9, %rs1, %rs2;", "rs", 12, 10, 0, 14},
         {"xor.b64 %rd9, %rd1, %rd2;", "rd", 12, 10, 0, 6},
         {"not.b16 %rs9, %rs1;", "rs", 1, 0, 0, 0xFFFE},
         {"and.pred %p9, %p1, %p2;", "p", 1, 0, 0, 0},
         {"or.pred %p9, %p1, %p2;", "p", 1, 0, 0, 1},
         {"xor.pred %p9, %p1, %p2;", "p", 1, 1, 0, 0},
         {"not.pred %p9, %p1;", "p", 1, 0, 0, 0},
         {"mov.pred %p9, %p1;", "p", 1, 0, 0, 1},
         {"shl.b32 %r9, %r1, %r2;", "r", 3, 31, 0, 0x80000000},
         {"shl.b64 %rd9, %rd1, 64;", "rd", 3, 0, 0, 0},
         {"shr.u32 %r9, %r1, %r2;", "r", 0x80000000, 32, 0, 0},
         {"shr.s32 %r9, %r1, %r2;", "r", 0x80000000, 40, 0, kOnes32},
         {"shr.s16 %rs9, %rs1, 4;", "rs", 0x8000, 0, 0, 0xF800},
         {"shr.b64 %rd9, %rd1, 4;", "rd", kOnes, 0, 0, kOnes >> 4},
         {"shf.l.wrap.b32 %r9, %r1, %r2, %r3;", "r", 0x80000001, 0x12345678, 36, 0x23456788},
         {"shf.r.wrap.b32 %r9, %r1, %r2, %r3;", "r", 0x80000001, 0x12345678, 4, 0x88000000},
         {"shf.r.clamp.b32 %r9, %r1, %r2, %r3;", "r", 1, 7, 90, 7},
         {"popc.b32 %r9, %r1;", "r", 0xF0F, 0, 0, 8},
         {"popc.b64 %r9, %rd1;", "r", kOnes, 0, 0, 64},
         {"clz.b32 %r9, %r1;", "r", 0, 0, 0, 32},
         {"clz.b64 %r9, %rd1;", "r", 1, 0, 0, 63},
         {"brev.b32 %r9, %r1;", "r", 1, 0, 0, 0x80000000},
         {"brev.b64 %rd9, %rd1;", "rd", 3, 0, 0, uint64_t{3} << 62},
         {"bfe.u32 %r9, %r1, 4, 8;", "r", 0x12345, 0, 0, 0x34},
         {"bfe.s32 %r9, %r1, 4, 4;", "r", 0x8F, 0, 0, 0xFFFFFFF8},
         {"bfe.s32 %r9, %r1, 28, 8;", "r", 0x90000000, 0, 0, 0xFFFFFFF9},
         {"bfe.s32 %r9, %r1, 40, 8;", "r", 0x90000000, 0, 0, kOnes32},
         {"bfe.u64 %rd9, %rd1, %r2, %r3;", "rd", kOnes, 60, 8, 15},
         {"bfe.u64 %rd9, %rd1, 3, 0;", "rd", kOnes, 0, 0, 0},
         {"bfi.b32 %r9, %r1, %r2, 4, 8;", "r", 0xAB, 0xFFFFFFFF, 0, 0xFFFFFABF},
         {"bfi.b64 %rd9, %rd1, %rd2, 60, 8;", "rd", 0xAB, 0, 0, uint64_t{0xB} << 60},
         {"prmt.b32 %r9, %r1, %r2, 0x7104;", "r", 0x33221100, 0x77665544, 0, 0x77110044},
         {"prmt.b32 %r9, %r1, %r2, 0x0098;", "r", 0x00007F80, 0, 0, 0x808000FF},
         {"lop3.b32 %r9, %r1, %r2, %r3, 0x96;", "r", 12, 10, 6, 12 ^ 10 ^ 6},
         {"lop3.b32 %r9, %r1, %r2, %r3, 0x80;", "r", 15, 7, 6, 6}});
}

TEST(PtxArithmetic, Floats) {
  check({{"add.rn.f32 %f9, %f1, %f2;", "f", f(1), f(0x1p-24F), 0, f(1)},
         {"add.rn.f32 %f9, %f1, %f2;", "f", f(1), f(0x1.8p-24F), 0, f(1 + 0x1p-23F)},
         {"add.f32 %f9, %f1, %f2;", "f", kInf, kMinusInf, 0, kNan},
         {"add.rn.f32 %f9, %f1, %f2;", "f", 1, 1, 0, 2}, // subnormal
         {"add.rn.ftz.f32 %f9, %f1, %f2;", "f", 1, 1, 0, 0},
         {"mul.rn.ftz.f32 %f9, %f1, %f2;", "f", f(-0x1p-100F), f(0x1p-40F), 0, kMinusZero},
         {"mul.rn.sat.f32 %f9, %f1, %f2;", "f", f(3), f(2), 0, f(1)},
         {"add.rn.sat.f32 %f9, %f1, %f2;", "f", kInf, kMinusInf, 0, 0},
         {"sub.rn.f64 %fd9, %fd1, %fd2;", "fd", d(1), d(0x1p-53), 0, d(1 - 0x1p-53)},
         {"mul.rn.f32 %f9, %f1, 0f40000000;", "f", f(1.5F), 0, 0, f(3)},
         {"fma.rn.f32 %f9, %f1, %f2, %f3;", "f", f(1 + 0x1p-12F), f(1 - 0x1p-12F), f(-1), f(-0x1p-24F)},
         {"fma.rn.f64 %fd9, %fd1, %fd2, %fd3;", "fd", d(1 + 0x1p-30), d(1 - 0x1p-30), d(-1), d(-0x1p-60)},
         {"fma.rn.f32 %f9, %f1, %f2, %f3;", "f", kInf, 0, 0, kNan},
         {"div.rn.f32 %f9, %f1, %f2;", "f", f(1), f(3), 0, 0x3EAAAAAB},
         {"div.rn.f64 %fd9, %fd1, %fd2;", "fd", d(1), d(3), 0, 0x3FD5555555555555},
         {"rcp.rn.f32 %f9, %f1;", "f", f(3), 0, 0, 0x3EAAAAAB},
         {"sqrt.rn.f32 %f9, %f1;", "f", f(2), 0, 0, 0x3FB504F3},
         {"sqrt.rn.f32 %f9, %f1;", "f", f(-2), 0, 0, kNan},
         {"sqrt.rn.f64 %fd9, %fd1;", "fd", d(2), 0, 0, 0x3FF6A09E667F3BCD},
         {"ex2.approx.ftz.f32 %f9, %f1;", "f", f(-3), 0, 0, f(0.125F)},
         {"ex2.approx.ftz.f32 %f9, %f1;", "f", f(0.5F), 0, 0, 0x3FB504F2}, // sqrt(2) is 0x3FB504F3
         {"rcp.approx.ftz.f32 %f9, %f1;", "f", f(3), 0, 0, 0x3EAAAAAA},
         {"rcp.approx.ftz.f32 %f9, %f1;", "f", kInf, 0, 0, 0},
         {"rcp.approx.ftz.f64 %fd9, %fd1;", "fd", d(3), 0, 0, 0x3FD5555500000000},
         {"neg.f32 %f9, %f1;", "f", 0, 0, 0, kMinusZero},
         {"abs.f64 %fd9, %fd1;", "fd", d(-2), 0, 0, d(2)},
         {"copysign.f32 %f9, %f1, %f2;", "f", f(-3), f(2), 0, f(-2)},
         {"copysign.f64 %fd9, %fd1, %fd2;", "fd", d(3), d(-2), 0, d(2)}});
}

TEST(PtxArithmetic, LeastAndGreatest) {
  check({{"min.f32 %f9, %f1, %f2;", "f", 0, kMinusZero, 0, kMinusZero},
         {"min.f32 %f9, %f1, %f2;", "f", kMinusZero, 0, 0, kMinusZero},
         {"max.f32 %f9, %f1, %f2;", "f", 0, kMinusZero, 0, 0},
         {"max.f32 %f9, %f1, %f2;", "f", kMinusZero, 0, 0, 0},
         {"max.f32 %f9, %f1, %f2;", "f", kQuiet, f(-4), 0, f(-4)},
         {"min.f32 %f9, %f1, %f2;", "f", f(5), kQuiet, 0, f(5)},
         {"min.f32 %f9, %f1, %f2;", "f", kQuiet, kQuiet, 0, kNan},
         {"max.NaN.f32 %f9, %f1, %f2;", "f", kQuiet, f(-4), 0, kNan},
         {"min.NaN.f32 %f9, %f1, %f2;", "f", f(-4), kQuiet, 0, kNan},
         {"max.NaN.f32 %f9, %f1, %f2;", "f", f(3), f(-4), 0, f(3)},
         {"min.f64 %fd9, %fd1, %fd2;", "fd", d(3), d(-4), 0, d(-4)},
         {"max.bf16 %rs9, %rs1, %rs2;", "rs", 0x3F80, 0xC000, 0, 0x3F80},
         {"min.f16 %rs9, %rs1, %rs2;", "rs", 0x3C00, 0xC000, 0, 0xC000}});
}

TEST(PtxArithmetic, NarrowFloats) {
  check({{"add.rn.f16 %rs9, %rs1, %rs2;", "rs", 0x3C00, 0x1000, 0, 0x3C00}, // 1 + 2^-11: a tie, to even
         {"add.rn.f16 %rs9, %rs1, %rs2;", "rs", 0x3C01, 0x1000, 0, 0x3C02},
         {"mul.rn.f16 %rs9, %rs1, %rs2;", "rs", 0x7BFF, 0x4000, 0, 0x7C00},  // overflow
         {"mul.rn.f16 %rs9, %rs1, %rs2;", "rs", 0x0001, 0x3800, 0, 0x0000},  // half of the least one: to even
         {"sub.rn.bf16 %rs9, %rs1, %rs2;", "rs", 0x3F80, 0x3B80, 0, 0x3F7F}, // 1 - 2^-8
         // 1 * (1 + 2^-7) + 2^-8 + nothing is a tie; with 2^-100 less or more it is none.
         {"fma.rn.bf16 %rs9, %rs1, %rs2, %rs3;", "rs", 0x3F81, 0x3F80, 0x3B80, 0x3F82},
         {"fma.rn.bf16 %rs9, %rs1, %rs2, %rs3;", "rs", 0x3F88, 0x3F88, 0x0D80, 0x3F91}, // 1.12890625 + 2^-100
         {"fma.rn.bf16 %rs9, %rs1, %rs2, %rs3;", "rs", 0x3F88, 0x3F88, 0x8D80, 0x3F90},
         {"fma.rn.bf16 %rs9, %rs1, %rs2, %rs3;", "rs", 0x3F88, 0x3F88, 0, 0x3F90},
         {"neg.bf16 %rs9, %rs1;", "rs", 0x3F80, 0, 0, 0xBF80},
         {"abs.f16 %rs9, %rs1;", "rs", 0xBC00, 0, 0, 0x3C00},
         {"add.rn.f16x2 %r9, %r1, %r2;", "r", 0x3C004000, 0x3C003C00, 0, 0x40004200},
         {"fma.rn.bf16x2 %r9, %r1, %r2, %r3;", "r", 0x3F804000, 0x40004000, 0x00003F80, 0x400040A0}});
}

TEST(PtxArithmetic, ConversionsOfIntegers) {
  check({{"cvt.s64.s32 %rd9, %r1;", "rd", kOnes32, 0, 0, kOnes},
         {"cvt.u64.u32 %rd9, %r1;", "rd", kOnes32, 0, 0, kOnes32},
         {"cvt.s32.s8 %r9, %r1;", "r", 0x180, 0, 0, 0xFFFFFF80},
         {"cvt.u32.u8 %r9, %rs1;", "r", 0x180, 0, 0, 0x80},
         {"cvt.s16.s8 %rs9, %rs1;", "rs", 0x80, 0, 0, 0xFF80},
         {"cvt.u16.u32 %rs9, %r1;", "rs", 0x12345, 0, 0, 0x2345},
         {"cvt.u8.u32 %rs9, %r1;", "rs", 0x12345, 0, 0, 0x45},
         {"cvt.sat.s8.s32 %r9, %r1;", "r", 300, 0, 0, 127},
         {"cvt.sat.u32.s64 %r9, %rd1;", "r", kOnes, 0, 0, 0},
         {"cvt.sat.u16.u32 %rs9, %r1;", "rs", 70000, 0, 0, 0xFFFF},
         {"cvt.rzi.s32.f32 %r9, %f1;", "r", f(-2.9F), 0, 0, kOnes32 - 1},
         {"cvt.rni.s32.f32 %r9, %f1;", "r", f(2.5F), 0, 0, 2},
         {"cvt.rmi.s32.f32 %r9, %f1;", "r", f(-2.5F), 0, 0, kOnes32 - 2},
         {"cvt.rpi.u64.f64 %rd9, %fd1;", "rd", d(2.1), 0, 0, 3},
         {"cvt.rzi.s32.f32 %r9, %f1;", "r", f(3e9F), 0, 0, 0x7FFFFFFF},
         {"cvt.rzi.s32.f32 %r9, %f1;", "r", f(-3e9F), 0, 0, 0x80000000},
         {"cvt.rzi.u32.f32 %r9, %f1;", "r", f(-1), 0, 0, 0},
         {"cvt.rzi.s64.f32 %rd9, %f1;", "rd", kQuiet, 0, 0, 0},
         {"cvt.rzi.u64.f32 %rd9, %f1;", "rd", kInf, 0, 0, kOnes},
         {"cvt.rzi.u8.f32 %r9, %f1;", "r", f(300), 0, 0, 255},
         {"cvt.rzi.s16.f16 %rs9, %rs1;", "rs", 0xC500, 0, 0, 0xFFFB},
         {"cvt.rzi.s32.bf16 %r9, %rs1;", "r", 0x40A0, 0, 0, 5},
         {"cvt.rn.f32.s32 %f9, %r1;", "f", 0x1000001, 0, 0, f(0x1p24F)},
         {"cvt.rp.f32.s32 %f9, %r1;", "f", 0x1000001, 0, 0, f(0x1000002)},
         {"cvt.rz.f32.s32 %f9, %r1;", "f", 0xFEFFFFFD, 0, 0, f(-0x1000002)}, // -16777219
         {"cvt.rm.f32.s32 %f9, %r1;", "f", 0xFEFFFFFD, 0, 0, f(-0x1000004)},
         {"cvt.rn.f64.u64 %fd9, %rd1;", "fd", kOnes, 0, 0, d(0x1p64)},
         {"cvt.rn.f16.u32 %rs9, %r1;", "rs", 2049, 0, 0, 0x6800},
         {"cvt.rn.bf16.s64 %rs9, %rd1;", "rs", 0x8080000000000001, 0, 0, 0xDEFF}, // - (2^63 - 2^55) + 1
         {"cvt.rn.bf16.s64 %rs9, %rd1;", "rs", 0x4040000000000001, 0, 0, 0x5E81}, // 2^62 + 2^54 + 1
         {"cvt.rn.f32.u8 %f9, %rs1;", "f", 0x1FF, 0, 0, f(255)},
         {"cvt.rn.f32.s8 %f9, %rs1;", "f", 0x1FF, 0, 0, f(-1)}});
}

TEST(PtxArithmetic, ConversionsOfFloats) {
  check({{"cvt.rni.f32.f32 %f9, %f1;", "f", f(3.5F), 0, 0, f(4)},
         {"cvt.rzi.f32.f32 %f9, %f1;", "f", f(-3.5F), 0, 0, f(-3)},
         {"cvt.rmi.f32.f32 %f9, %f1;", "f", f(-3.5F), 0, 0, f(-4)},
         {"cvt.rpi.f64.f64 %fd9, %fd1;", "fd", d(3.5), 0, 0, d(4)},
         {"cvt.rn.f32.f64 %f9, %fd1;", "f", d(1 + 0x1p-24), 0, 0, f(1)},
         {"cvt.rp.f32.f64 %f9, %fd1;", "f", d(1 + 0x1p-24), 0, 0, f(1 + 0x1p-23F)},
         {"cvt.rz.f32.f64 %f9, %fd1;", "f", d(-1 - 0x1.8p-24), 0, 0, f(-1)},
         {"cvt.rm.f32.f64 %f9, %fd1;", "f", d(-1 - 0x1p-24), 0, 0, f(-1 - 0x1p-23F)},
         {"cvt.f64.f32 %fd9, %f1;", "fd", f(1.5F), 0, 0, d(1.5)},
         {"cvt.f32.f16 %f9, %rs1;", "f", 0x0001, 0, 0, f(0x1p-24F)},
         {"cvt.f32.f16 %f9, %rs1;", "f", 0xC200, 0, 0, f(-3)},
         {"cvt.f32.bf16 %f9, %rs1;", "f", 0xC040, 0, 0, f(-3)},
         {"cvt.f64.f16 %fd9, %rs1;", "fd", 0x7C00, 0, 0, d(INFINITY)},
         {"cvt.rn.f16.f32 %rs9, %f1;", "rs", f(1 + 0x1p-11F), 0, 0, 0x3C00},
         {"cvt.rn.f16.f32 %rs9, %f1;", "rs", f(1 + 0x3p-11F), 0, 0, 0x3C02},
         {"cvt.rn.f16.f32 %rs9, %f1;", "rs", f(65520), 0, 0, 0x7C00},
         {"cvt.rz.f16.f32 %rs9, %f1;", "rs", f(65535), 0, 0, 0x7BFF},
         {"cvt.rn.f16.f32 %rs9, %f1;", "rs", f(0x1.8p-24F), 0, 0, 2},
         {"cvt.rn.f16.f32 %rs9, %f1;", "rs", kQuiet, 0, 0, 0x7FFF},
         {"cvt.rn.f16.f64 %rs9, %fd1;", "rs", d(1 + 0x1p-11 + 0x1p-40), 0, 0, 0x3C01}, // not over f32
         {"cvt.rn.bf16.f32 %rs9, %f1;", "rs", f(1 + 0x1p-8F), 0, 0, 0x3F80},
         {"cvt.rn.bf16.f32 %rs9, %f1;", "rs", f(1 + 0x3p-8F), 0, 0, 0x3F82},
         {"cvt.rz.bf16.f32 %rs9, %f1;", "rs", f(-1.999F), 0, 0, 0xBFFF},
         {"cvt.rn.bf16.f32 %rs9, %f1;", "rs", 0xFF800001, 0, 0, 0x7FFF}, // NaN
         {"cvt.rn.bf16.f32 %rs9, %f1;", "rs", 0x7F7FFFFF, 0, 0, 0x7F80},
         {"cvt.rn.bf16.f32 %rs9, %f1;", "rs", 0x00018000, 0, 0, 2}, // subnormal
         {"cvt.rn.bf16x2.f32 %r9, %f1, %f2;", "r", f(1), f(-3), 0, 0x3F80C040},
         {"cvt.rn.f16x2.f32 %r9, %f1, %f2;", "r", f(1), f(-3), 0, 0x3C00C200},
         {"cvt.rn.ftz.f32.f64 %f9, %fd1;", "f", d(0x1p-130), 0, 0, 0},
         {"cvt.sat.f32.f32 %f9, %f1;", "f", f(1.5F), 0, 0, f(1)},
         {"cvt.rn.sat.f16.f32 %rs9, %f1;", "rs", kQuiet, 0, 0, 0}});
}

TEST(PtxArithmetic, Comparisons) {
  check({{"setp.eq.s32 %p9, %r1, %r2;", "p", 5, 5, 0, 1},
         {"setp.ne.b16 %p9, %rs1, %rs2;", "p", 5, 5, 0, 0},
         {"setp.lt.s32 %p9, %r1, %r2;", "p", kOnes32, 1, 0, 1},
         {"setp.lt.u32 %p9, %r1, %r2;", "p", kOnes32, 1, 0, 0},
         {"setp.hi.u64 %p9, %rd1, %rd2;", "p", kOnes, 1, 0, 1},
         {"setp.ls.u16 %p9, %rs1, %rs2;", "p", 7, 7, 0, 1},
         {"setp.ge.s64 %p9, %rd1, %rd2;", "p", kOnes, 1, 0, 0},
         {"setp.lt.f32 %p9, %f1, %f2;", "p", kQuiet, f(1), 0, 0},
         {"setp.ltu.f32 %p9, %f1, %f2;", "p", kQuiet, f(1), 0, 1},
         {"setp.ne.f32 %p9, %f1, %f2;", "p", kQuiet, f(1), 0, 0},
         {"setp.neu.f32 %p9, %f1, %f2;", "p", kQuiet, f(1), 0, 1},
         {"setp.equ.f64 %p9, %fd1, %fd2;", "p", d(1), d(2), 0, 0},
         {"setp.gtu.f64 %p9, %fd1, %fd2;", "p", d(1), d(2), 0, 0},
         {"setp.geu.f64 %p9, %fd1, %fd2;", "p", d(NAN), d(2), 0, 1},
         {"setp.leu.f32 %p9, %f1, %f2;", "p", f(2), f(2), 0, 1},
         {"setp.num.f32 %p9, %f1, %f2;", "p", kQuiet, f(1), 0, 0},
         {"setp.nan.f32 %p9, %f1, %f2;", "p", f(1), kQuiet, 0, 1},
         {"setp.eq.f32 %p9, %f1, %f2;", "p", 0, kMinusZero, 0, 1},
         {"setp.gt.bf16 %p9, %rs1, %rs2;", "p", 0x3F80, 0xC000, 0, 1},
         {"setp.lt.f16 %p9, %rs1, %rs2;", "p", 0xBC00, 0xC000, 0, 0},
         {"setp.lt.and.s32 %p9, %r1, %r2, %p3;", "p", 1, 2, 0, 0},
         {"setp.lt.and.s32 %p9, %r1, %r2, !%p3;", "p", 1, 2, 0, 1},
         {"setp.lt.or.s32 %p9|%p8, %r1, %r2, %p3;", "p", 3, 2, 1, 1},
         {"setp.lt.s32 %p8|%p9, %r1, %r2;", "p", 3, 2, 0, 1},
         {"setp.lt.xor.s32 %p8|%p9, %r1, %r2, %p3;", "p", 3, 2, 1, 0},
         {"set.lt.u32.s32 %r9, %r1, %r2;", "r", 1, 2, 0, kOnes32},
         {"set.lt.f32.s32 %f9, %r1, %r2;", "f", 1, 2, 0, f(1)},
         {"set.gt.u32.f32 %r9, %f1, %f2;", "r", f(1), f(2), 0, 0},
         {"setp.lt.f16x2 %p9|%p8, %r1, %r2;", "p", 0xBC003C00, 0x3C00BC00, 0, 0},
         {"setp.lt.f16x2 %p8|%p9, %r1, %r2;", "p", 0xBC003C00, 0x3C00BC00, 0, 1},
         {"selp.b32 %r9, %r1, %r2, %p3;", "r", 7, 8, 1, 7},
         {"selp.f64 %fd9, %fd1, 0d4000000000000000, %p3;", "fd", 7, 8, 0, d(2)},
         {"selp.u16 %rs9, -1, 0, %p3;", "rs", 7, 8, 1, 0xFFFF},
         {"slct.s32.s32 %r9, %r1, %r2, %r3;", "r", 7, 8, kOnes32, 8},
         {"slct.f32.f32 %f9, %f1, %f2, %f3;", "f", 7, 8, kMinusZero, 7},
         {"testp.finite.f32 %p9, %f1;", "p", kInf, 0, 0, 0},
         {"testp.infinite.f32 %p9, %f1;", "p", kMinusInf, 0, 0, 1},
         {"testp.notanumber.f64 %p9, %fd1;", "p", d(NAN), 0, 0, 1},
         {"testp.number.f32 %p9, %f1;", "p", kInf, 0, 0, 1},
         {"testp.subnormal.f32 %p9, %f1;", "p", 1, 0, 0, 1},
         {"testp.normal.f32 %p9, %f1;", "p", 0, 0, 0, 1}});
}

TEST(PtxArithmetic, Moves) {
  check({{"mov.b32 %r9, {%rs1, %rs2};", "r", 0x1111, 0x2222, 0, 0x22221111},
         {"mov.b64 %rd9, {%r1, %r2};", "rd", 1, 2, 0, 0x200000001},
         {"mov.b64 %rd9, {%rs1, %rs2, %rs3, %rs1};", "rd", 1, 2, 3, 0x0001000300020001},
         {"mov.b32 {_, %rs9}, %r1;", "rs", 0x22221111, 0, 0, 0x2222},
         {"{ .reg .b32 tmp; mov.b64 {tmp, %r9}, %rd1; }", "r", 0x200000001, 0, 0, 2},
         // A part that is undefined is all ones; LLVM packs such parts, and does not look at them again.
         {"mov.b32 %r9, {%rs1, %rs8};", "r", 0x1111, 0, 0, 0xFFFF1111},
         {"mov.b32 %r9, 0f3F800000;", "r", 0, 0, 0, 0x3F800000},
         {"mov.u16 %rs9, -3;", "rs", 0, 0, 0, 0xFFFD},
         {"mov.u64 %rd9, 0xFFFFFFFFFFFFFFFF;", "rd", 0, 0, 0, kOnes},
         {"mov.u32 %r9, %ntid.y;", "r", 0, 0, 0, 1},
         {"mov.u32 %r9, WARP_SZ;", "r", 0, 0, 0, 32}});
}

/// A predicated instruction leaves lanes alone whose predicate is false.
TEST(PtxArithmetic, Guards) {
  check({{"mov.u32 %r9, 5;\n@%p1 mov.u32 %r9, 6;", "r", 0, 0, 0, 5},
         {"mov.u32 %r9, 5;\n@!%p1 mov.u32 %r9, 6;", "r", 0, 0, 0, 6},
         {"mov.u32 %r9, 5;\n@%p1 add.rn.sat.f32 %f8, %f1, %f2;", "r", 0, 0, 0, 5}});
}

} // namespace
} // namespace splitcast::cuda_on_cpu
