#include "tests/cuda_on_cpu/ptx/PtxTestKernels.h"

#include "absl/strings/match.h"

#include <cstdlib>

namespace splitcast::cuda_on_cpu {
namespace {

void expectRefusal(const absl::Status &status, const std::string &part) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), part)) << status << "\nhas no: " << part;
}

void expectParseError(const std::string &body, const std::string &part) {
  absl::StatusOr<std::unique_ptr<PtxModule>> module = PtxModule::parse(kernelText(body, 1));
  ASSERT_FALSE(module.ok()) << body;
  expectRefusal(module.status(), part);
}

/// Runs `body` over a buffer of 64 words, which %rd0 holds, and an address of the thread's own word, in %rd1.
absl::Status run(const std::string &body, PtxGrid grid = {{1, 1, 1}, {32, 1, 1}}, const std::string &before = "",
                 PtxChecks checks = PtxChecks()) {
  TestMemory memory;
  const auto *buffer = memory.add(std::vector<uint32_t>(64, 1));
  return runKernel(kernelText("mul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd1, %rd0, %rd2;\n" + body, 1, before),
                   {addressOf(buffer)}, memory, grid, checks);
}

constexpr PtxGrid kTwoWarps = {{1, 1, 1}, {64, 1, 1}}, kTwoBlocks = {{2, 1, 1}, {32, 1, 1}};
const char kShared[] = ".shared .align 16 .b8 s[256];\nmov.u64 %rd5, s;\nadd.s64 %rd6, %rd5, %rd2;\n";

TEST(PtxRefusal, UnknownText) {
  expectParseError("frobnicate.u32 %r1, %r2;", "the instruction 'frobnicate' is not supported");
  expectParseError("add.funny.s32 %r1, %r2, %r3;", "the modifier or type '.funny' of 'add' is not supported");
  expectParseError("add.rz.f32 %f1, %f2, %f3;", "'.rz' of 'add' is not supported");
  expectParseError("add.s32 %r1, %r2;", "2 operands; 3 are expected");
  expectParseError("add.s32 %r1, %r2, %r77;", "there is no register '%r77'");
  expectParseError("add.s32 %r1, %r2, %rd3;", "register %rd3 is not of the instruction's width");
  expectParseError("add.rn.f32 %f1, %f2, 3;", "an immediate of another type");
  expectParseError("bra NOWHERE;", "there is no label 'NOWHERE'");
  expectParseError("cvt.u32.f32 %r1, %f1;", "this conversion is not supported");
  expectParseError("bar.sync 1;", "only barrier 0");
  expectParseError("shfl.bfly.b32 %r1, %r2, 1, 31;", "this shuffle is not supported");
  expectParseError("call.uni nothing;", "there is no function 'nothing'");
  expectParseError("mov.u32 %tid.x, %r1;", "a result is no register that can be written");
  expectParseError("ld.param.u64 %rd1, [p0+8];", "the access is outside of the parameter");
  // The line and its text are named, and so is what stands around it.
  expectParseError("frobnicate.u32 %r1, %r2;", "PTX, 'k', line 16 'frobnicate.u32 %r1, %r2;': ");
}

TEST(PtxRefusal, ApproximateArithmetic) {
  for (const char *name : {"sin.approx.f32 %f1, %f2", "cos.approx.ftz.f32 %f1, %f2", "lg2.approx.f32 %f1, %f2",
                           "rcp.approx.f32 %f1, %f2", "rsqrt.approx.f32 %f1, %f2", "sqrt.approx.f32 %f1, %f2",
                           "div.approx.f32 %f1, %f2, %f3", "div.full.f32 %f1, %f2, %f3", "tanh.approx.f32 %f1, %f2"})
    expectParseError(absl::StrCat(name, ";"), "is approximate arithmetic, which this project forbids");
}

TEST(PtxRefusal, Grids) {
  auto grid = [](PtxGrid grid) {
    return runKernel(kernelText("", 0, "", ".maxntid 32, 4, 1"), {}, TestMemory(), grid);
  };
  EXPECT_TRUE(grid({{1, 1, 1}, {128, 1, 1}}).ok());
  expectRefusal(grid({{1, 1, 1}, {129, 1, 1}}), "kernel 'k': blocks of 129 threads; its .maxntid says at most 128");
  expectRefusal(grid({{1, 0, 1}, {32, 1, 1}}), "the grid is empty in dimension 1");
  expectRefusal(grid({{1, 1, 1}, {32, 1, 0}}), "the grid is empty in dimension 2");
  expectRefusal(grid({{1, 65536, 1}, {1, 1, 1}}), "65536 blocks in dimension 1; a GPU has at most 65535");
  const std::string unlimited = kernelText("", 0);
  EXPECT_TRUE(runKernel(unlimited, {}, TestMemory(), {{1, 1, 1}, {1024, 1, 1}}).ok());
  expectRefusal(runKernel(unlimited, {}, TestMemory(), {{1, 1, 1}, {512, 3, 1}}), "blocks of 1536 threads");
  expectRefusal(runKernel(kernelText("", 0, "", ".reqntid 16"), {}, TestMemory()), "its .reqntid says 16");
  TestMemory memory;
  EXPECT_EQ(PtxModule::parse(unlimited).value()->run("x", {{1, 1, 1}, {1, 1, 1}}, nullptr, memory).code(),
            absl::StatusCode::kNotFound);
}

TEST(PtxRefusal, Bounds) {
  EXPECT_TRUE(run("ld.global.u32 %r1, [%rd1];", kTwoWarps).ok());
  expectRefusal(
      run("ld.global.u32 %r1, [%rd1+4];", kTwoWarps),
      "kernel 'k', block (0,0,0), thread (63,0,0), line 18 'ld.global.u32 %r1, [%rd1+4];': the access to 4 bytes at");
  expectRefusal(run("ld.global.u32 %r1, [%rd1+4];", kTwoWarps), "is outside of any allocation");
  expectRefusal(run("ld.u32 %r1, [%rd1+-4];"), "thread (0,0,0)");
  expectRefusal(run("st.global.u32 [%rd1+4], 5;", kTwoWarps), "is outside of any allocation");
  expectRefusal(run("ld.global.v2.u32 {%r1, %r2}, [%rd0+256];"), "is outside of any allocation");
  expectRefusal(run("mov.u64 %rd5, 0;\nld.global.u64 %rd5, [%rd5];"), "is outside of any allocation");
  expectRefusal(run("atom.global.add.u32 %r1, [%rd0+256], 1;"), "is outside of any allocation");
  // One access over the end of an allocation, whose size is no multiple of its width.
  TestMemory memory;
  const auto *odd = memory.add(std::vector<uint8_t>(6, 0));
  expectRefusal(runKernel(kernelText("ld.global.u32 %r1, [%rd0+4];", 1), {addressOf(odd)}, memory),
                "is outside of any allocation");
}

TEST(PtxRefusal, Alignment) {
  expectRefusal(run("ld.global.u32 %r1, [%rd1+2];", {{1, 1, 1}, {8, 1, 1}}), "is misaligned");
  expectRefusal(run("ld.global.v2.u32 {%r1, %r2}, [%rd0+4];"), "the access to 8 bytes");
  expectRefusal(run("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8];"), "is misaligned");
  expectRefusal(run("st.global.u16 [%rd0+1], 5;"), "is misaligned");
  expectRefusal(run(absl::StrCat(kShared, "ld.shared.u64 %rd7, [%rd5+4];")), "is misaligned");
}

TEST(PtxRefusal, Windows) {
  EXPECT_TRUE(run(absl::StrCat(kShared, "ld.shared.u32 %r1, [%rd6];")).ok());
  expectRefusal(run(absl::StrCat(kShared, "ld.shared.u32 %r1, [%rd6+132];")), "is outside of any shared array");
  expectRefusal(run(absl::StrCat(kShared, "st.shared.u32 [%rd6+132], 1;")), "is outside of any shared array");
  expectRefusal(run(absl::StrCat(kShared, "cvta.shared.u64 %rd7, %rd6;\nld.u32 %r1, [%rd7+-4];")),
                "is outside of any shared array");
  expectRefusal(run("ld.shared.u32 %r1, [%rd1];"), "is outside of any shared array");
  // Between two arrays.
  expectRefusal(run(".shared .align 4 .b8 a[4];\n.shared .align 16 .b8 b[16];\nld.shared.u32 %r1, [a+4];"),
                "is outside of any shared array");
  const std::string local = ".local .align 4 .b8 l[8];\nmov.u64 %rd5, l;\ncvta.local.u64 %rd6, %rd5;\n";
  EXPECT_TRUE(run(local + "st.local.u32 [%rd5+4], 1;").ok());
  expectRefusal(run(local + "st.local.u32 [%rd5+8], 1;"), "is outside of any local array");
  expectRefusal(run(local + "ld.u32 %r1, [%rd6+8];"), "is outside of any local array");
  expectRefusal(run("mov.b64 %rd5, p0;\ncvta.param.u64 %rd6, %rd5;\nst.u32 [%rd6], 1;"),
                "is not a load of the kernel's parameters");
  expectRefusal(run("mov.u64 %rd5, c;\nst.global.u32 [%rd5], 1;", {{1, 1, 1}, {1, 1, 1}}, ".const .u32 c = 5;"),
                "is a store to constant memory");
}

TEST(PtxRefusal, UndefinedRegisters) {
  expectRefusal(run("add.s32 %r1, %r5, 1;"), "%r5 was never written");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 9;\n@%p1 mov.u32 %r5, 1;\nadd.s32 %r1, %r5, 1;"), "thread (9,0,0)");
  expectRefusal(run("@%p3 mov.u32 %r5, 1;"), "%p3 was never written");
  expectRefusal(run("st.global.v2.u32 [%rd0], {%r0, %r5};", {{1, 1, 1}, {1, 1, 1}}), "%r5 was never written");
  expectRefusal(run("ld.global.u32 %r1, [%rd9];"), "%rd9 was never written");
  expectRefusal(run("div.s32 %r1, %r0, %r0;"), "a division by zero");
  expectRefusal(run("trap;"), "the kernel gives up here");
}

TEST(PtxRefusal, Barriers) {
  EXPECT_TRUE(run("bar.sync 0;\nbar.sync 0;", kTwoWarps).ok());
  expectRefusal(run("setp.eq.u32 %p1, %r0, 40;\n@%p1 ret;\nbar.sync 0;", kTwoWarps),
                "line 20 'bar.sync 0;': thread number 40 of the block does not come to this barrier; it has ended");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 40;\n@%p1 bar.sync 0;\n@!%p1 bar.sync 0;", kTwoWarps),
                "thread number 40 of the block does not come to this barrier; it waits in line 20");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 40;\n@%p1 bar.sync 0;", kTwoWarps), "it has ended");
}

TEST(PtxRefusal, Shuffles) {
  expectRefusal(run("setp.eq.u32 %p1, %r0, 3;\n@%p1 ret;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;"),
                "lane 3, which the mask 0xffffffff names, does not arrive; it has ended");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 16;\n@%p1 shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\nbar.sync 0;"),
                "lane 16, which the mask 0xffffffff names, does not arrive; it waits in line 20");
  expectRefusal(run("shfl.sync.bfly.b32 %r1, %r0, 16, 31, 0xFFFF;"), "its own lane, 16, is not in the mask 0xffff");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 16;\n@%p1 shfl.sync.bfly.b32 %r1, %r0, 16, 31, 0xFFFF;"),
                "it reads lane 16, which does not take part (lanes 0xffff do)");
  expectRefusal(run("shfl.sync.down.b32 %r1, %r0, 1, 31, -1;", {{1, 1, 1}, {20, 1, 1}}),
                "thread (19,0,0), line 18 'shfl.sync.down.b32 %r1, %r0, 1, 31, -1;': it reads lane 20");
  // The lanes that a mask names must name the same.
  expectRefusal(
      run("setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r5, -1, 0xFFFF0000, %p1;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, %r5;"),
      "lane 16, which the mask 0xffffffff names, does not arrive");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 4;\n@%p1 vote.sync.ballot.b32 %r1, %p1, 31;"),
                "lane 4, which the mask 0x1f");
  expectRefusal(run("setp.lt.u32 %p1, %r0, 4;\nselp.b32 %r5, 15, -1, %p1;\nbar.warp.sync %r5;"), "does not arrive");
}

TEST(PtxRefusal, RacesInSharedMemory) {
  const std::string store = absl::StrCat(kShared, "st.shared.u32 [%rd6], %r0;\n");
  const std::string readNext = "xor.b64 %rd7, %rd6, 4;\nld.shared.u32 %r1, [%rd7];";
  EXPECT_TRUE(run(store + "bar.sync 0;\n" + readNext).ok());
  expectRefusal(run(store + readNext),
                "a race: thread number 1 of this block stored it too, and no barrier is between");
  EXPECT_TRUE(run(store + readNext, {{1, 1, 1}, {32, 1, 1}}, "", {false}).ok());
  // Orders the warp only.
  EXPECT_TRUE(run(store + "bar.warp.sync -1;\n" + readNext).ok());
  expectRefusal(
      run(".shared .align 4 .b8 t[4];\nsetp.eq.u32 %p1, %r0, 32;\n@%p1 st.shared.u32 [t], 1;\nbar.warp.sync -1;\n"
          "setp.eq.u32 %p1, %r0, 2;\n@%p1 ld.shared.u32 %r1, [t];",
          kTwoWarps),
      "a race");
  // Half of it.
  expectRefusal(run(store + "setp.lt.u32 %p1, %r0, 16;\n@%p1 bar.warp.sync 0xFFFF;\n" + readNext), "thread (16,0,0)");
  expectRefusal(run(store + "setp.lt.u32 %p1, %r0, 16;\n@%p1 bar.warp.sync 0xFFFF;\nxor.b64 %rd7, %rd6, 64;\n"
                            "@!%p1 ld.shared.u32 %r1, [%rd7];"),
                "thread (16,0,0)");
  // A shuffle is no barrier.
  expectRefusal(run(store + "shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n" + readNext), "a race");
  // First the loads, then a store.
  const std::string loadAll = std::string(kShared) + "ld.shared.u32 %r1, [%rd5];\n";
  const std::string oneStores = "setp.eq.u32 %p1, %r0, 5;\n@%p1 st.shared.u32 [%rd5], 1;";
  expectRefusal(run(loadAll + oneStores), "threads of warp 0 loaded it too");
  expectRefusal(run(loadAll + "bar.warp.sync -1;\nsetp.eq.u32 %p1, %r0, 40;\n@%p1 st.shared.u32 [%rd5], 1;", kTwoWarps),
                "a race: threads of other warps loaded it too");
  EXPECT_TRUE(run(loadAll + "bar.warp.sync -1;\n" + oneStores).ok());
  EXPECT_TRUE(run(loadAll + "bar.sync 0;\n" + oneStores, kTwoWarps).ok());
  // All store one word; the first two threads are those that are found.
  expectRefusal(run(absl::StrCat(kShared, "st.shared.u32 [%rd5], 7;")), "thread (1,0,0)");
  // Bytes of one word are no race; the words of two blocks are not the same.
  EXPECT_TRUE(
      run(absl::StrCat(kShared, "cvt.u64.u32 %rd7, %r0;\nadd.s64 %rd7, %rd5, %rd7;\nst.shared.u8 [%rd7], %r0;")).ok());
  EXPECT_TRUE(run(store, kTwoBlocks).ok());
  EXPECT_TRUE(run(absl::StrCat(kShared, "atom.shared.add.u32 %r1, [%rd5], 1;"), kTwoBlocks).ok());
  expectRefusal(run(absl::StrCat(kShared, "atom.shared.add.u32 %r1, [%rd5], 1;\nld.shared.u32 %r1, [%rd5];")),
                "a race");
}

TEST(PtxRefusal, RacesInGlobalMemory) {
  EXPECT_TRUE(run("st.global.u32 [%rd1], 5;\nld.global.u32 %r1, [%rd1];", kTwoWarps).ok());
  expectRefusal(run("st.global.u32 [%rd0], 5;"), "a race: thread number 0 of this block stored it too");
  expectRefusal(run("setp.eq.u32 %p1, %r0, 0;\n@%p1 st.global.u32 [%rd0], 5;", kTwoBlocks),
                "block (1,0,0), thread (0,0,0), line 19 '@%p1 st.global.u32 [%rd0], 5;'");
  expectRefusal(run("st.global.u32 [%rd1], 5;", kTwoBlocks), "a race: a thread of another block stored it too");
  EXPECT_TRUE(run("st.global.u32 [%rd1], 5;", kTwoBlocks, "", {false}).ok());
  const std::string readNext = "xor.b64 %rd7, %rd1, 4;\nld.global.u32 %r1, [%rd7];";
  expectRefusal(run("st.global.u32 [%rd1], 5;\n" + readNext), "thread number 1 of this block stored it too");
  EXPECT_TRUE(run("st.global.u32 [%rd1], 5;\nbar.sync 0;\n" + readNext).ok());
  // Loads of all blocks, then a store of the last one; whatever comes first.
  const std::string load = "ld.global.u32 %r1, [%rd0];\nmov.u32 %r2, %ctaid.x;\n";
  expectRefusal(run(load + "setp.eq.u32 %p1, %r2, 1;\nsetp.eq.and.u32 %p1, %r0, 0, %p1;\n@%p1 st.global.u32 [%rd0], 5;",
                    kTwoBlocks),
                "a thread of another block loaded it too");
  expectRefusal(run("mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\nsetp.eq.and.u32 %p1, %r0, 0, %p1;\n"
                    "@%p1 st.global.u32 [%rd0], 5;\nbar.sync 0;\nld.global.u32 %r1, [%rd0];",
                    kTwoBlocks),
                "a thread of another block stored it too");
  // Among atomics there is none, but beside them.
  EXPECT_TRUE(run("red.global.add.u32 [%rd0], 5;", kTwoBlocks).ok());
  expectRefusal(run("red.global.add.u32 [%rd0], 5;\nld.global.u32 %r1, [%rd0];"), "a race: threads of warp 0 stored");
  EXPECT_TRUE(run("red.global.add.u32 [%rd0], 5;\nld.relaxed.gpu.global.u32 %r1, [%rd0];").ok());
  EXPECT_TRUE(run("red.global.add.u32 [%rd0], 5;\nbar.sync 0;\nld.global.u32 %r1, [%rd0];").ok());
  expectRefusal(run("red.global.add.u32 [%rd0], 5;\nbar.sync 0;\nld.global.u32 %r1, [%rd0];", kTwoBlocks),
                "a race: a thread of another block loaded it too");
  expectRefusal(run("mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 1;\nred.global.add.u32 [%rd0], 5;\nbar.sync 0;\n"
                    "@%p1 ld.global.u32 %r1, [%rd0];",
                    kTwoBlocks),
                "a race: a thread of another block stored it too");
  // Bytes side by side.
  EXPECT_TRUE(run("cvt.u64.u32 %rd5, %r0;\nadd.s64 %rd5, %rd0, %rd5;\nst.global.u8 [%rd5], %r0;").ok());
  expectRefusal(
      run("cvt.u64.u32 %rd5, %r0;\nshr.u64 %rd5, %rd5, 1;\nadd.s64 %rd5, %rd0, %rd5;\nst.global.u8 [%rd5], %r0;"),
      "thread (1,0,0)");
  // A word that was stored, then one of its bytes.
  expectRefusal(run("setp.eq.u32 %p1, %r0, 0;\n@%p1 st.global.u32 [%rd0], 5;\n@!%p1 ld.global.u8 %r1, [%rd0+3];"),
                "thread number 0 of this block stored it too");
}

/// More barriers than there are numbers for what lies between them: what is remembered is numbered anew.
TEST(PtxRefusal, RacesAfterManyBarriers) {
  const std::string many = "st.global.u32 [%rd1], 5;\nmov.u32 %r5, 0;\nROUND:\nbar.sync 0;\nadd.s32 %r5, %r5, 1;\n"
                           "setp.lt.u32 %p1, %r5, 1100000;\n@%p1 bra ROUND;\nxor.b64 %rd7, %rd1, 4;\n";
  const std::string load = "ld.global.u32 %r1, [%rd7];\n", store = "st.global.u32 [%rd1], 6;\n";
  EXPECT_TRUE(run(many + load, {{1, 1, 1}, {2, 1, 1}}).ok());
  expectRefusal(run(many + store + load, {{1, 1, 1}, {2, 1, 1}}), "thread number 1 of this block stored it too");
  expectRefusal(run(many + load + store, {{1, 1, 1}, {2, 1, 1}}), "thread number 1 of this block loaded it too");
  expectRefusal(run(many, {{2, 1, 1}, {2, 1, 1}}), "a thread of another block stored it too");
}

/// Whatever the order, and also by the thread itself.
TEST(PtxRefusal, NoncoherentLoads) {
  EXPECT_TRUE(run("ld.global.nc.u32 %r1, [%rd1+128];\nst.global.u32 [%rd1], %r1;").ok());
  expectRefusal(run("ld.global.nc.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;"),
                "is of what the launch stores and loads with ld.global.nc (thread number 0 of this block loaded it)");
  expectRefusal(run("st.global.u32 [%rd1], 5;\nbar.sync 0;\nld.global.nc.u32 %r1, [%rd1];"),
                "is of what the launch stores and loads with ld.global.nc (thread number 0 of this block stored it)");
  expectRefusal(run("mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 ld.global.nc.u32 %r1, [%rd1];\n"
                    "@!%p1 st.global.u32 [%rd1], 5;",
                    kTwoBlocks),
                "(a thread of another block loaded it)");
  expectRefusal(
      run("ld.global.nc.u32 %r1, [%rd0];\nld.global.u32 %r1, [%rd0];\nbar.sync 0;\nred.global.add.u32 [%rd0], 1;"),
      "is of what the launch stores and loads with ld.global.nc");
}

/// Found in each order of threads.
TEST(PtxRefusal, RacesInEachOrder) {
  for (int number = 0; number < 8; ++number) {
    setenv("SPLITCAST_CUDA_ON_CPU_SEED", std::to_string(number).c_str(), 1);
    expectRefusal(run("st.global.u32 [%rd1], 5;\nxor.b64 %rd7, %rd1, 4;\nld.global.u32 %r1, [%rd7];"), "a race");
    expectRefusal(run("st.global.u32 [%rd1], 5;", kTwoBlocks), "a race");
    EXPECT_TRUE(run("st.global.u32 [%rd1], 5;\nbar.sync 0;\nxor.b64 %rd7, %rd1, 4;\nld.global.u32 %r1, [%rd7];").ok());
    expectRefusal(run("setp.lt.u32 %p1, %r0, 40;\n@%p1 ret;\nbar.sync 0;", kTwoWarps), "it has ended");
  }
  unsetenv("SPLITCAST_CUDA_ON_CPU_SEED");
}

TEST(PtxRefusal, Recursion) {
  expectRefusal(run("call.uni again;", {{1, 1, 1}, {32, 1, 1}}, ".func again()\n{\ncall.uni again;\nret;\n}\n"),
                "functions call each other in a circle");
}

} // namespace
} // namespace splitcast::cuda_on_cpu
