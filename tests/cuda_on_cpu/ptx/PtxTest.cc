#include "tests/cuda_on_cpu/ptx/PtxTestKernels.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace splitcast::cuda_on_cpu {
namespace {

const char kGlobalThread[] = "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.s32 %r3, %r1, %r2, %r0;\n";

/// What threads of one dimension store as their result, which `body` leaves in %r9.
std::vector<uint32_t> results(const std::string &body, uint32_t threads, uint32_t blocks = 1,
                              const std::string &before = "") {
  TestMemory memory;
  const auto *out = memory.add(std::vector<uint32_t>(threads * blocks, 0xDEAD));
  absl::Status status = runKernel(kernelText(absl::StrCat(body, "\n", kGlobalThread, "mul.wide.u32 %rd1, %r3, 4;\n",
                                                          "add.s64 %rd0, %rd0, %rd1;\nst.global.u32 [%rd0], %r9;"),
                                             1, before),
                                  {addressOf(out)}, memory, {{blocks, 1, 1}, {threads, 1, 1}});
  EXPECT_TRUE(status.ok()) << status;
  return std::vector<uint32_t>(out, out + threads * blocks);
}

template <class F> std::vector<uint32_t> each(uint32_t count, F f) {
  std::vector<uint32_t> values(count);
  for (uint32_t index = 0; index < count; ++index)
    values[index] = f(index);
  return values;
}

/// Sets the seed as long as it lives.
class Seed {
public:
  explicit Seed(int number) { setenv("SPLITCAST_CUDA_ON_CPU_SEED", std::to_string(number).c_str(), 1); }
  ~Seed() { unsetenv("SPLITCAST_CUDA_ON_CPU_SEED"); }
};

/// Threads leave a loop after different numbers of rounds, and join.
TEST(PtxControl, Loop) {
  const char text[] = "mov.u32 %r9, 0;\nmov.u32 %r5, 0;\nbra.uni TEST;\nROUND:\nadd.s32 %r9, %r9, %r5;\n"
                      "add.s32 %r5, %r5, 1;\nTEST:\nsetp.le.u32 %p1, %r5, %r0;\n@%p1 bra ROUND;";
  auto expected = [](uint32_t thread) { return thread % 50 * (thread % 50 + 1) / 2; };
  EXPECT_EQ(results(text, 50, 2), each(100, expected));
  Seed seed(1);
  EXPECT_EQ(results(text, 50, 2), each(100, expected));
}

TEST(PtxControl, BothSidesOfABranch) {
  EXPECT_EQ(
      results("setp.lt.u32 %p1, %r0, 7;\n@%p1 bra LOW;\nmov.u32 %r9, 20;\nbra DONE;\nLOW:\nmov.u32 %r9, 10;\nDONE:\n"
              "add.s32 %r9, %r9, %r0;",
              40),
      each(40, [](uint32_t thread) { return (thread < 7 ? 10 : 20) + thread; }));
}

TEST(PtxControl, BranchByIndex) {
  EXPECT_EQ(results("rem.u32 %r5, %r0, 3;\nTABLE: .branchtargets A, B, C;\nbrx.idx %r5, TABLE;\nA:\nmov.u32 %r9, 5;\n"
                    "bra DONE;\nB:\nmov.u32 %r9, 6;\nbra DONE;\nC:\nmov.u32 %r9, 7;\nDONE:",
                    33),
            each(33, [](uint32_t thread) { return 5 + thread % 3; }));
}

const char kFunctions[] =
    ".func (.param .b32 square_retval) square(.param .b32 square_param);\n"
    ".func (.param .b32 sum_retval) sum(.param .b32 sum_param_0, .param .align 4 .b8 sum_param_1[8])\n{\n"
    ".reg .b32 %r<9>;\n.reg .pred %p<2>;\nld.param.u32 %r1, [sum_param_0];\nld.param.v2.u32 {%r2, %r3}, "
    "[sum_param_1];\n"
    "setp.gt.u32 %p1, %r2, 5;\n@%p1 bra MORE;\nadd.s32 %r5, %r1, %r3;\nst.param.b32 [sum_retval], %r5;\nret;\nMORE:\n"
    "{\n.param .b32 param0;\nst.param.b32 [param0], %r2;\n.param .b32 retval0;\n"
    "call.uni (retval0), square, (param0);\nld.param.b32 %r4, [retval0];\n}\n"
    "st.param.b32 [sum_retval], %r4;\nret;\n}\n"
    ".func (.param .b32 square_retval) square(.param .b32 square_param)\n{\n.reg .b32 %r<9>;\n"
    "ld.param.u32 %r1, [square_param];\nmul.lo.s32 %r2, %r1, %r1;\nst.param.b32 [square_retval], %r2;\nret;\n}\n";

/// Some threads of a warp call a second function from the first.
TEST(PtxControl, Calls) {
  const char text[] = "{\n.param .b32 param0;\nst.param.b32 [param0], 100;\n.param .align 4 .b8 param1[8];\n"
                      "st.param.v2.b32 [param1], {%r0, 7};\n.param .b32 retval0;\n"
                      "call.uni (retval0), sum, (param0, param1);\nld.param.b32 %r9, [retval0];\n}";
  auto expected = [](uint32_t thread) { return thread > 5 ? thread * thread : 107; };
  EXPECT_EQ(results(text, 40, 1, kFunctions), each(40, expected));
  Seed seed(3);
  EXPECT_EQ(results(text, 40, 1, kFunctions), each(40, expected));
}

TEST(PtxControl, SpecialRegisters) {
  TestMemory memory;
  const auto *out = memory.add(std::vector<uint32_t>(2 * 3 * 2 * 24, 0));
  // ((ctaid.y * nctaid.x + ctaid.x) * threads + thread) is where; the thread's own coordinates and lane are what.
  absl::Status status = runKernel(
      kernelText("mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %ntid.y;\n"
                 "mad.lo.u32 %r5, %r2, %r4, %r1;\nmad.lo.u32 %r5, %r5, %r3, %r0;\n"
                 "mov.u32 %r6, %ctaid.z;\nmov.u32 %r7, %nctaid.y;\nmov.u32 %r8, %ctaid.y;\n"
                 "mad.lo.u32 %r6, %r6, %r7, %r8;\nmov.u32 %r7, %nctaid.x;\nmov.u32 %r8, %ctaid.x;\n"
                 "mad.lo.u32 %r6, %r6, %r7, %r8;\nmad.lo.u32 %r6, %r6, 24, %r5;\nmul.wide.u32 %rd1, %r6, 4;\n"
                 "add.s64 %rd0, %rd0, %rd1;\nmov.u32 %r7, %laneid;\nmov.u32 %r8, %lanemask_lt;\npopc.b32 %r8, %r8;\n"
                 "shl.b32 %r7, %r7, 8;\nor.b32 %r7, %r7, %r8;\nst.global.u32 [%rd0], %r7;",
                 1),
      {addressOf(out)}, memory, {{2, 3, 2}, {2, 3, 4}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::vector<uint32_t>(out, out + 12 * 24), each(12 * 24, [](uint32_t at) { return at % 24 * 257; }));
}

/// Through shared memory into the block's other warp; the array of the module lies beside the kernel's own.
TEST(PtxMemory, SharedAndBarrier) {
  const char text[] = ".shared .align 4 .b8 own[256];\nmov.u64 %rd1, own;\nmul.wide.u32 %rd2, %r0, 4;\n"
                      "add.s64 %rd3, %rd1, %rd2;\nst.shared.u32 [%rd3], %r0;\nst.shared.u32 [other], 5;\nbar.sync 0;\n"
                      "sub.s32 %r4, 63, %r0;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                      "cvta.shared.u64 %rd4, %rd3;\nld.u32 %r9, [%rd4];";
  // Only thread 0 may store to `other`.
  const std::string body =
      std::string(text).replace(std::string(text).find("st.shared.u32 [other]"), 0, "setp.eq.u32 %p1, %r0, 0;\n@%p1 ");
  const auto expected = each(128, [](uint32_t thread) { return 63 - thread % 64; });
  EXPECT_EQ(results(body, 64, 2, ".shared .align 4 .u32 other;"), expected);
  for (int number = 0; number < 4; ++number) {
    Seed seed(number);
    EXPECT_EQ(results(body, 64, 2, ".shared .align 4 .u32 other;"), expected);
  }
}

TEST(PtxMemory, SharedBeginsAsAPattern) {
  EXPECT_EQ(results(".shared .align 4 .b8 own[256];\nld.shared.u32 %r9, [own+8];", 1),
            std::vector<uint32_t>{0xA5A5A5A5});
}

TEST(PtxMemory, Local) {
  const char text[] =
      ".local .align 8 .b8 __local_depot0[16];\n.reg .b64 %SP;\n.reg .b64 %SPL;\nmov.u64 %SPL, __local_depot0;\n"
      "cvta.local.u64 %SP, %SPL;\nadd.u64 %rd1, %SP, 8;\nadd.u64 %rd2, %SPL, 8;\nst.local.u32 [%rd2], %r0;\n"
      "st.u32 [%SP+12], 7;\nld.u32 %r5, [%rd1];\nld.local.v2.u32 {%r6, %r7}, [%SPL+8];\nmad.lo.u32 %r9, %r6, %r7, %r5;";
  EXPECT_EQ(results(text, 40), each(40, [](uint32_t thread) { return thread * 8; }));
}

TEST(PtxMemory, VariablesOfTheModule) {
  const char before[] = ".global .align 4 .u32 numbers[4] = {1, 0x10, -3};\n.const .align 4 .f32 half = 0f3F000000;\n"
                        ".global .align 1 .b8 text[3] = {65, 66, 67};\n";
  EXPECT_EQ(results("mov.u64 %rd1, numbers;\nld.global.v2.u32 {%r1, %r2}, [%rd1];\nld.global.u32 %r3, [numbers+8];\n"
                    "ld.global.u32 %r4, [numbers+12];\nld.const.f32 %f1, [half];\nmov.b32 %r5, %f1;\n"
                    "ld.global.u8 %r6, [text+2];\nadd.s32 %r9, %r1, %r2;\nadd.s32 %r9, %r9, %r3;\n"
                    "add.s32 %r9, %r9, %r4;\nadd.s32 %r9, %r9, %r5;\nadd.s32 %r9, %r9, %r6;",
                    1, 1, before),
            std::vector<uint32_t>{0x3F000000 + 17 - 3 + 67});
}

TEST(PtxMemory, WidthsAndVectors) {
  TestMemory memory;
  std::vector<uint8_t> bytes(64 * 32);
  std::iota(bytes.begin(), bytes.end(), 0x70);
  const uint8_t *in = memory.add(bytes);
  uint8_t *out = memory.add(std::vector<uint8_t>(64 * 32, 0));
  absl::Status status = runKernel(
      kernelText("mul.wide.u32 %rd2, %r0, 64;\nadd.s64 %rd0, %rd0, %rd2;\nadd.s64 %rd1, %rd1, %rd2;\n"
                 "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd0];\nst.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};\n"
                 "ld.global.nc.L1::evict_last.v2.f64 {%fd1, %fd2}, [%rd0+16];\n"
                 "st.global.v2.b64 [%rd1+16], {%fd1, %fd2};\nld.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [%rd0+32];\n"
                 "st.v4.u8 [%rd1+32], {%rs1, %rs2, %rs3, %rs4};\nld.global.s8 %r1, [%rd0+36];\n"
                 "st.global.u32 [%rd1+36], %r1;\nld.global.u8 %r1, [%rd0+36];\nst.global.u32 [%rd1+40], %r1;\n"
                 "ld.volatile.global.b16 %rs1, [%rd0+44];\nst.volatile.global.b16 [%rd1+44], %rs1;\n"
                 "ld.global.u16 %r2, [%rd0+46];\nst.global.u8 [%rd1+46], %r2;\nld.global.b64 %rd5, [%rd0+48];\n"
                 "st.global.b64 [%rd1+48], %rd5;\nadd.s64 %rd6, %rd0, 64;\nld.global.s16 %rd7, [%rd6+-8];\n"
                 "st.global.u64 [%rd1+56], %rd7;",
                 2),
      {addressOf(in), addressOf(out)}, memory);
  ASSERT_TRUE(status.ok()) << status;
  for (int thread = 0; thread < 32; ++thread) {
    const uint8_t *from = in + thread * 64, *to = out + thread * 64;
    EXPECT_TRUE(std::equal(from, from + 36, to));
    EXPECT_EQ(to[36], from[36]);
    EXPECT_EQ(to[39], from[36] < 128 ? 0 : 255);
    EXPECT_EQ(to[40], from[36]);
    EXPECT_EQ(to[43], 0);
    EXPECT_TRUE(std::equal(from + 44, from + 47, to + 44));
    EXPECT_EQ(to[47], 0);
    EXPECT_TRUE(std::equal(from + 48, from + 58, to + 48));
    EXPECT_EQ(to[63], from[57] < 128 ? 0 : 255);
  }
}

/// Arguments of several widths, at their own alignment; one is a structure whose address is taken.
TEST(PtxMemory, Arguments) {
  const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(\n.param .u8 k_0,\n.param .f32 k_1,\n"
      ".param .align 8 .b8 k_2[16],\n.param .u64 .ptr .global .align 4 k_3\n)\n.minnctapersm 2\n{\n"
      ".reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n.reg .b16 %rs<9>;\n.reg .f32 %f<9>;\n"
      "ld.param.u64 %rd1, [k_3];\nld.param.u8 %rs1, [k_0];\ncvt.u32.u16 %r1, %rs1;\n"
      "ld.param.f32 %f1, [k_1];\nmov.b64 %rd2, k_2;\ncvta.param.u64 %rd3, %rd2;\nld.u32 %r2, [%rd3+4];\n"
      "ld.param.u32 %r3, [%rd2+8];\nld.param.v2.u32 {%r4, %r5}, [k_2+8];\n"
      "st.global.u32 [%rd1], %r1;\nst.global.f32 [%rd1+4], %f1;\nst.global.u32 [%rd1+8], %r2;\n"
      "st.global.v2.u32 [%rd1+16], {%r3, %r5};\nret;\n}\n";
  absl::StatusOr<std::unique_ptr<PtxModule>> module = PtxModule::parse(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE((*module)->hasKernel("k"));
  EXPECT_FALSE((*module)->hasKernel("other"));
  EXPECT_EQ((*module)->argumentBytes("k"), (std::vector<int64_t>{1, 4, 16, 8}));
  TestMemory memory;
  uint32_t *out = memory.add(std::vector<uint32_t>(6, 0));
  uint8_t small = 200;
  float real = 1.5F;
  uint32_t structure[] = {10, 11, 12, 13};
  void *arguments[] = {&small, &real, structure, static_cast<void *>(&out)};
  absl::Status status = (*module)->run("k", {{1, 1, 1}, {1, 1, 1}}, arguments, memory);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::vector<uint32_t>(out, out + 6), (std::vector<uint32_t>{200, 0x3FC00000, 11, 0, 12, 13}));
  EXPECT_EQ((*module)->executedInstructions(), 17);
}

TEST(PtxWarp, Shuffles) {
  auto shuffled = [](const std::string &text) { return results(absl::StrCat(text, ";"), 32); };
  EXPECT_EQ(shuffled("shfl.sync.bfly.b32 %r9, %r0, 5, 31, -1"), each(32, [](uint32_t lane) { return lane ^ 5; }));
  EXPECT_EQ(shuffled("shfl.sync.down.b32 %r9, %r0, 3, 31, -1"),
            each(32, [](uint32_t lane) { return lane + 3 < 32 ? lane + 3 : lane; }));
  EXPECT_EQ(shuffled("shfl.sync.up.b32 %r9, %r0, 3, 0, -1"),
            each(32, [](uint32_t lane) { return lane >= 3 ? lane - 3 : lane; }));
  EXPECT_EQ(shuffled("shfl.sync.idx.b32 %r9, %r0, 6, 31, -1"), each(32, [](uint32_t) { return 6; }));
  // In segments of 8 lanes: 24 of the 5 bits name the segment.
  EXPECT_EQ(shuffled("shfl.sync.idx.b32 %r9, %r0, 2, 6175, -1"),
            each(32, [](uint32_t lane) { return lane / 8 * 8 + 2; }));
  EXPECT_EQ(shuffled("shfl.sync.down.b32 %r5|%p1, %r0, 3, 6151, -1;\nselp.b32 %r9, %r5, 99, %p1"),
            each(32, [](uint32_t lane) { return lane % 8 + 3 < 8 ? lane + 3 : 99; }));
  Seed seed(5);
  EXPECT_EQ(shuffled("shfl.sync.bfly.b32 %r9, %r0, 5, 31, -1"), each(32, [](uint32_t lane) { return lane ^ 5; }));
}

/// -1 is true in every lane, also as a guard.
TEST(PtxWarp, ImmediatePredicate) {
  EXPECT_EQ(
      results("mov.u32 %r9, 3;\nmov.pred %p1, -1;\n@%p1 mov.u32 %r9, 7;\nmov.pred %p1, 0;\n@%p1 mov.u32 %r9, 5;", 32),
      each(32, [](uint32_t) { return 7; }));
}

/// Lane 4 g + t of a product of tiles holds rows g and g + 8, and columns 2t and 2t + 1. The elements of the left
/// operand are the lane plus 32 times its number in the lane; likewise of the right one.
TEST(PtxWarp, ProductOfTiles) {
  auto left = [](uint32_t row, uint32_t depth) { return row % 8 * 4 + depth % 4 + 32 * (row / 8 + depth / 4 * 2); };
  auto right = [](uint32_t depth, uint32_t column) { return column * 4 + depth % 4 + 32 * (depth / 4); };
  for (uint32_t element = 0; element < 4; ++element) {
    const std::string text = absl::StrCat(
        "cvt.rn.f32.u32 %f1, %r0;\nadd.rn.f32 %f2, %f1, 0f42000000;\nadd.rn.f32 %f3, %f2, 0f42000000;\n"
        "add.rn.f32 %f4, %f3, 0f42000000;\nmov.b32 %r1, %f1;\nmov.b32 %r2, %f2;\nmov.b32 %r3, %f3;\nmov.b32 %r4, %f4;\n"
        "mov.f32 %f9, 0f40E00000;\nmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f5, %f6, %f7, %f8}, "
        "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f9, %f9, %f9, %f9};\ncvt.rzi.u32.f32 %r9, %f",
        5 + element, ";");
    EXPECT_EQ(results(text, 32), each(32, [&](uint32_t lane) {
                uint32_t sum = 7;
                for (uint32_t depth = 0; depth < 8; ++depth)
                  sum += left(lane / 4 + element / 2 * 8, depth) * right(depth, lane % 4 * 2 + element % 2);
                return sum;
              }));
  }
}

/// Two halves of a warp come to different shuffles, one after the other.
TEST(PtxWarp, ShuffleOfSomeLanes) {
  const char text[] =
      "setp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOW;\nshfl.sync.bfly.b32 %r9, %r0, 1, 31, 0xFFFF0000;\nbra DONE;\n"
      "LOW:\nshfl.sync.bfly.b32 %r9, %r0, 2, 31, 0xFFFF;\nDONE:";
  EXPECT_EQ(results(text, 32), each(32, [](uint32_t lane) { return lane < 16 ? lane ^ 2 : lane ^ 1; }));
  // The same instruction, with two masks.
  EXPECT_EQ(results("setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r5, 0xFFFF, 0xFFFF0000, %p1;\n"
                    "shfl.sync.bfly.b32 %r9, %r0, 1, 31, %r5;",
                    32),
            each(32, [](uint32_t lane) { return lane ^ 1; }));
  // Lanes that the block does not have need not come.
  EXPECT_EQ(results("shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1;", 8), each(8, [](uint32_t lane) { return lane ^ 1; }));
}

/// Lanes come to the next round of a loop while others still wait in this one.
TEST(PtxWarp, ShuffleInALoop) {
  const char text[] = "mov.u32 %r5, 0;\nmov.u32 %r9, %r0;\nROUND:\nshfl.sync.bfly.b32 %r6, %r9, 1, 31, -1;\n"
                      "add.s32 %r9, %r9, %r6;\nadd.s32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 8;\n@%p1 bra ROUND;";
  const auto expected = each(32, [](uint32_t lane) { return (lane / 2 * 4 + 1) * 128; });
  EXPECT_EQ(results(text, 32), expected);
  for (int number = 0; number < 20; ++number) {
    Seed seed(number);
    EXPECT_EQ(results(text, 32), expected);
  }
}

TEST(PtxWarp, Votes) {
  auto vote = [](const std::string &text) { return results("setp.lt.u32 %p1, %r0, 5;\n" + text, 32)[7]; };
  EXPECT_EQ(vote("vote.sync.ballot.b32 %r9, %p1, -1;"), 31);
  EXPECT_EQ(vote("vote.sync.ballot.b32 %r9, !%p1, -1;"), ~31U);
  EXPECT_EQ(vote("vote.sync.any.pred %p2, %p1, -1;\nselp.b32 %r9, 1, 0, %p2;"), 1);
  EXPECT_EQ(vote("vote.sync.all.pred %p2, %p1, -1;\nselp.b32 %r9, 1, 0, %p2;"), 0);
  EXPECT_EQ(vote("activemask.b32 %r9;\nbar.warp.sync -1;"), ~0U);
  EXPECT_EQ(vote("@!%p1 activemask.b32 %r9;\n@%p1 mov.u32 %r9, 1;"), ~31U);
}

TEST(PtxAtomics, Operations) {
  struct Row {
    const char *instruction;
    uint32_t before, after;
  };
  // By each of 40 threads in 2 blocks; %r0 is the thread.
  const Row rows[] = {{"atom.global.add.u32 %r5, [%rd0], %r0", 7, 7 + 2 * 780},
                      {"red.relaxed.gpu.global.add.s32 [%rd0], 1", 7, 87},
                      {"atom.add.u32 %r5, [%rd0], 2", 7, 167},
                      {"atom.global.min.s32 %r5, [%rd0], -3", 7, 0xFFFFFFFD},
                      {"atom.global.max.u32 %r5, [%rd0], %r0", 7, 39},
                      {"red.global.and.b32 [%rd0], 12", 10, 8},
                      {"red.global.or.b32 [%rd0], %r0", 64, 127},
                      {"atom.global.exch.b32 %r5, [%rd0], 9", 7, 9},
                      {"atom.global.cas.b32 %r5, [%rd0], 7, 8", 7, 8},
                      {"atom.global.inc.u32 %r5, [%rd0], 9", 0, 0},
                      {"red.global.add.f32 [%rd0], 0f3F800000", 0, 0x42A00000}};
  for (const Row &row : rows) {
    TestMemory memory;
    const auto *cell = memory.add(std::vector<uint32_t>{row.before});
    absl::Status status = runKernel(kernelText(absl::StrCat(row.instruction, ";"), 1), {addressOf(cell)}, memory,
                                    {{2, 1, 1}, {40, 1, 1}});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(*cell, row.after) << row.instruction;
  }
}

TEST(PtxAtomics, InSharedMemory) {
  EXPECT_EQ(results(".shared .align 8 .b64 cell;\nsetp.eq.u32 %p1, %r0, 0;\nmov.u64 %rd5, 5;\n"
                    "@%p1 st.shared.u64 [cell], %rd5;\nbar.sync 0;\natom.shared.add.u64 %rd6, [cell], 2;\n"
                    "barrier.sync 0;\nld.shared.u32 %r9, [cell];",
                    64),
            each(64, [](uint32_t) { return 5 + 128; }));
}

/// Which thread is the last depends on the seed, and on it alone.
TEST(PtxOrder, FollowsTheSeed) {
  auto last = [](const char *number) {
    TestMemory memory;
    const auto *cell = memory.add(std::vector<uint32_t>{0});
    EXPECT_TRUE(runKernel(kernelText(absl::StrCat(kGlobalThread, "atom.global.exch.b32 %r5, [%rd0], ", number, ";"), 1),
                          {addressOf(cell)}, memory, {{9, 1, 1}, {64, 1, 1}})
                    .ok());
    return *cell;
  };
  EXPECT_EQ(last("%r3"), 9 * 64 - 1);
  std::vector<uint32_t> blocks, threads;
  for (int number = 0; number < 20; ++number) {
    Seed seed(number);
    blocks.push_back(last("%r1"));
    threads.push_back(last("%r0"));
    EXPECT_EQ(threads.back(), last("%r0"));
  }
  auto distinct = [](std::vector<uint32_t> values) {
    std::sort(values.begin(), values.end());
    return std::unique(values.begin(), values.end()) - values.begin();
  };
  EXPECT_GT(distinct(blocks), 3);
  EXPECT_GT(distinct(threads), 3);
}

/// As LLVM wrote it for a sum over the columns of 64 rows of 10: 8 rows at a time, then over the 8 in shared memory.
TEST(PtxKernel, SumOverRows) {
  const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f7(\n.param .u64 f7_param_0,\n.param .u64 "
      "f7_param_1\n"
      ")\n.maxntid 32, 8, 1\n{\n.reg .pred %p<12>;\n.reg .b32 %r<13>;\n.reg .f32 %f<34>;\n.reg .b64 %rd<21>;\n"
      "// demoted variable\n.shared .align 4 .b8 __wg_f7_0[1024];\nmov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd2, %r1;\n"
      "mov.u32 %r2, %tid.y;\ncvt.u64.u32 %rd3, %r2;\nmov.f32 %f33, 0f00000000;\ncvt.u32.u64 %r12, %rd3;\n"
      "ld.param.u64 %rd6, [f7_param_0];\ncvta.to.global.u64 %rd8, %rd6;\nmin.u64 %rd9, %rd2, 9;\n"
      "shl.b64 %rd10, %rd9, 2;\nadd.s64 %rd4, %rd8, %rd10;\nmul.lo.s64 %rd11, %rd3, 40;\nadd.s64 %rd5, %rd4, %rd11;\n"
      "mov.u32 %r3, %r12;\n$L__BB7_1:\nld.global.nc.f32 %f12, [%rd5];\nadd.rn.f32 %f33, %f33, %f12;\n"
      "add.s64 %rd5, %rd5, 320;\nadd.s32 %r3, %r3, 8;\nsetp.lt.u32 %p2, %r3, 64;\n@%p2 bra $L__BB7_1;\n"
      "cvt.u32.u64 %r11, %rd2;\nshl.b64 %rd12, %rd3, 7;\nmov.u64 %rd13, __wg_f7_0;\nadd.s64 %rd14, %rd13, %rd12;\n"
      "shl.b64 %rd15, %rd2, 2;\nadd.s64 %rd16, %rd14, %rd15;\nst.shared.f32 [%rd16], %f33;\nbar.sync 0;\n"
      "setp.ne.s32 %p9, %r12, 0;\nsetp.gt.u32 %p10, %r11, 9;\nor.pred %p11, %p9, %p10;\n@%p11 bra $L__BB7_11;\n"
      "ld.param.u64 %rd7, [f7_param_1];\ncvta.to.global.u64 %rd1, %rd7;\nadd.s64 %rd19, %rd13, %rd15;\n"
      "mov.u32 %r4, 1;\n$L__BB7_5:\nadd.s64 %rd19, %rd19, 128;\nld.shared.f32 %f19, [%rd19];\n"
      "add.rn.f32 %f33, %f33, %f19;\nadd.s32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 8;\n@%p3 bra $L__BB7_5;\n"
      "add.s64 %rd20, %rd1, %rd15;\nst.global.f32 [%rd20], %f33;\n$L__BB7_11:\nret;\n\n}\n";
  std::vector<float> values(640), expected(10, 0.0F);
  for (int at = 0; at < 640; ++at)
    values[at] = static_cast<float>(at * 7919 % 1000) * 0.37F;
  for (int column = 0; column < 10; ++column)
    for (int first = 0; first < 8; ++first) {
      float partial = 0;
      for (int row = first; row < 64; row += 8)
        partial += values[row * 10 + column];
      expected[column] += partial;
    }
  TestMemory memory;
  const float *in = memory.add(values), *out = memory.add(std::vector<float>(10));
  void *arguments[] = {static_cast<void *>(&in), static_cast<void *>(&out)};
  absl::StatusOr<std::unique_ptr<PtxModule>> module = PtxModule::parse(text);
  ASSERT_TRUE(module.ok()) << module.status();
  absl::Status status = (*module)->run("f7", {{1, 1, 1}, {32, 8, 1}}, arguments, memory);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::vector<float>(out, out + 10), expected);
}

} // namespace
} // namespace splitcast::cuda_on_cpu
