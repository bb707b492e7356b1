#include "runtime/host/jit/Jit.h"

#include "tests/runtime/host/KernelFixture.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <map>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

namespace fs = std::filesystem;

class JitTest : public KernelFixture {
protected:
  JitTest() {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    directory = fs::path(testing::TempDir()) / ("jit_test_" + name);
    fs::remove_all(directory);
  }
  ~JitTest() override { fs::remove_all(directory); }

  static std::string addConstant(const std::string &name, const std::string &value) {
    std::string text =
        elementwise(5, "f32", "f32", "%c = arith.constant " + value + " : f32\n%y = arith.addf %x, %c : f32");
    return text.replace(text.find("@k"), 2, "@" + name);
  }

  /// Loads `text` in a new process's place: nothing is shared but the directory.
  JitStatistics loadAnew(const std::string &text, std::vector<float> &out, int threads = 1) {
    auto jit = std::make_shared<Jit>(JitOptions{threads, directory.string(), hostTarget()});
    auto module = parse(text);
    auto library = jit->load(*module);
    EXPECT_TRUE(library.ok()) << library.status();
    auto kernel = (*library)->kernel("k");
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    std::vector<float> in = {1, 2, 3, 4, 5};
    out.assign(5, 0);
    EXPECT_EQ((*kernel)->launch({bufferOf(in), bufferOf(out)}, *stream), absl::OkStatus());
    return jit->statistics();
  }

  std::vector<fs::path> files() {
    std::vector<fs::path> found;
    for (const auto &entry : fs::directory_iterator(directory))
      found.push_back(entry.path());
    return found;
  }

  fs::path directory;
  const std::vector<float> expected = {3, 4, 5, 6, 7};
};

TEST_F(JitTest, ReadsFromTheCacheWhatItCompiledBefore) {
  std::vector<float> out;
  JitStatistics first = loadAnew(addConstant("k", "2.0"), out);
  EXPECT_EQ(first.compiled, 1);
  EXPECT_EQ(first.readFromCache, 0);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(files()[0].extension(), ".kernel");
  JitStatistics second = loadAnew(addConstant("k", "2.0"), out);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.readFromCache, 1);
  EXPECT_EQ(out, expected);
}

// All of a kernel's code has its name, not the entry alone.
TEST_F(JitTest, NamesCodeForPerf) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  fs::remove(path);
  JitOptions options{1, "", hostTarget()};
  options.namesForPerf = true;
  {
    auto jit = std::make_shared<Jit>(options);
    auto module = parse(addConstant("small", "3.0") + elementwise(5000, "f32", "f32",
                                                                  "%u = math.exp %x : f32\n%v = math.tanh %u : f32\n"
                                                                  "%w = math.sin %v : f32\n%y = math.log %w : f32"));
    ASSERT_TRUE(jit->load(*module).ok());
  }
  std::map<std::string, uint64_t> bytes;
  std::ifstream file(path);
  file >> std::hex;
  std::string name;
  for (uint64_t address = 0, size = 0; file >> address >> size >> name; bytes[name] += size)
    EXPECT_GT(address, 0u);
  fs::remove(path);
  ASSERT_EQ(bytes.size(), 2u);
  EXPECT_GT(bytes["small"], 20u);
  EXPECT_GT(bytes["k"], 500u);
}

// A large number swallows small ones that come one by one; another order is another kernel of the cache.
TEST_F(JitTest, AddsUpInAnyOrderOnlyWhereItIsAllowed) {
  const std::string text = R"(
    func.func @k(%in: memref<4096xf32>, %out: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 4096 : index
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
        %x = memref.load %in[%i] : memref<4096xf32>
        %t = arith.addf %s, %x : f32
        scf.yield %t : f32
      }
      memref.store %sum, %out[%c0] : memref<1xf32>
      return
    })";
  std::vector<float> in(4096, 1);
  in[0] = 16777216; // its neighbours are 2 apart
  for (bool anyOrder : {false, true}) {
    JitOptions options{1, directory.string(), hostTarget()};
    options.target.anyOrder = anyOrder;
    auto jit = std::make_shared<Jit>(options);
    auto module = parse(text);
    auto library = jit->load(*module);
    ASSERT_TRUE(library.ok()) << library.status();
    std::vector<float> out = {0};
    ASSERT_EQ((*(*library)->kernel("k"))->launch({bufferOf(in), bufferOf(out)}, *stream), absl::OkStatus());
    EXPECT_EQ(out[0] == 16777216, !anyOrder) << out[0];
  }
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(JitTest, CompilesOnlyTheKernelThatChanged) {
  std::vector<float> out;
  loadAnew(addConstant("k", "2.0") + addConstant("other", "3.0"), out);
  JitStatistics second = loadAnew(addConstant("k", "2.0") + addConstant("other", "4.0"), out, 2);
  EXPECT_EQ(second.compiled, 1);
  EXPECT_EQ(second.readFromCache, 1);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(JitTest, CompilesEqualKernelsOnce) {
  std::vector<float> out;
  JitStatistics counts = loadAnew(addConstant("a", "2.0") + addConstant("k", "2.0") + addConstant("b", "2.0"), out, 2);
  EXPECT_EQ(counts.compiled, 1);
  EXPECT_EQ(out, expected);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(JitTest, LoadsAKernelOnceOverAllModules) {
  auto jit = std::make_shared<Jit>(JitOptions{});
  auto first = parse(addConstant("a", "2.0"));
  auto second = parse(addConstant("b", "2.0"));
  ASSERT_TRUE(jit->load(*first).ok());
  ASSERT_TRUE(jit->load(*second).ok());
  EXPECT_EQ(jit->statistics().compiled, 1);
}

Buffer buffer(std::vector<int32_t> &of) {
  return {reinterpret_cast<std::byte *>(of.data()), static_cast<int64_t>(of.size() * sizeof(int32_t))};
}

/// y[i] = x[i] + i, of 400,003 elements, in a loop that may be divided; by a step of which the last is not whole.
constexpr const char *kDivisible = R"(
func.func @k(%x: memref<400003xi32>, %y: memref<400003xi32>) {
  %c0 = arith.constant 0 : index
  %end = arith.constant 400003 : index
  %step = arith.constant 16 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %end step %step {
    %behind = arith.addi %i, %c16 : index
    %last = arith.minsi %behind, %end : index
    scf.for %j = %i to %last step %c1 {
      %0 = memref.load %x[%j] : memref<400003xi32>
      %1 = arith.index_cast %j : index to i32
      %2 = arith.addi %0, %1 : i32
      memref.store %2, %y[%j] : memref<400003xi32>
    }
  } {splitcast.divisible}
  return
})";

TEST_F(JitTest, ThreadsDoEachIterationOnce) {
  const auto source = kernelSources(*parse(kDivisible));
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ(source->front().loops.size(), 1u);
  EXPECT_EQ(source->front().loops[0].iterations, 400003);
  EXPECT_EQ(source->front().loops[0].stride, 16);
  EXPECT_EQ(source->front().loops[0].bytes, 2 * 400003 * 4);
  for (int threads : {1, 2, 3, 7}) {
    auto jit = std::make_shared<Jit>(JitOptions{1, "", hostTarget(), std::make_shared<WorkerPool>(threads)});
    auto library = jit->load(*parse(kDivisible));
    ASSERT_TRUE(library.ok()) << library.status();
    auto kernel = *(*library)->kernel("k");
    std::vector<int32_t> x(400003, 5), y(400003);
    for (int launch = 0; launch < 3; ++launch) {
      std::fill(y.begin(), y.end(), 0);
      ASSERT_TRUE(kernel->launch({buffer(x), buffer(y)}, *stream).ok());
      for (int32_t i = 0; i < 400003; ++i)
        ASSERT_EQ(y[i], i + 5) << threads << " threads";
    }
  }
}

/// y[i] = x[i] + 1, z[j] = y[399,999 - j] through a view: a loop that needs all iterations of the one before it.
constexpr const char *kTwoLoops = R"(
func.func @k(%x: memref<400000xi32>, %bytes: memref<1600000xi8>, %z: memref<400000xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %end = arith.constant 400000 : index
  %last = arith.constant 399999 : index
  %y = memref.view %bytes[%c0][] : memref<1600000xi8> to memref<400000xi32>
  scf.for %i = %c0 to %end step %c1 {
    %0 = memref.load %x[%i] : memref<400000xi32>
    %1 = arith.addi %0, %one : i32
    memref.store %1, %y[%i] : memref<400000xi32>
  } {splitcast.divisible}
  scf.for %i = %c0 to %end step %c1 {
    %0 = arith.subi %last, %i : index
    %1 = memref.load %y[%0] : memref<400000xi32>
    memref.store %1, %z[%i] : memref<400000xi32>
  } {splitcast.divisible}
  return
})";

TEST_F(JitTest, ALoopBeginsWhenAllThreadsHaveDoneTheOneBeforeIt) {
  const auto source = kernelSources(*parse(kTwoLoops));
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ(source->front().loops.size(), 2u);
  EXPECT_EQ(source->front().loops[1].bytes, 2 * 1600000);
  for (int threads : {1, 2, 3, 7}) {
    auto jit = std::make_shared<Jit>(JitOptions{1, "", hostTarget(), std::make_shared<WorkerPool>(threads)});
    auto library = jit->load(*parse(kTwoLoops));
    ASSERT_TRUE(library.ok()) << library.status();
    auto kernel = *(*library)->kernel("k");
    std::vector<int32_t> x(400000), y(400000), z(400000);
    std::iota(x.begin(), x.end(), 0);
    for (int launch = 0; launch < 3; ++launch) {
      std::fill(y.begin(), y.end(), 0);
      ASSERT_TRUE(kernel->launch({buffer(x), buffer(y), buffer(z)}, *stream).ok());
      for (int32_t i = 0; i < 400000; ++i)
        ASSERT_EQ(z[i], 400000 - i) << threads << " threads";
    }
  }
}

// Nor does a loop without iterations take bounds.
TEST_F(JitTest, DividesLoopsThatSaySoAndNothingElse) {
  const std::string text = kDivisible, mark = " {splitcast.divisible}";
  const auto replaced = [&](const std::string &from, const std::string &to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  for (const std::string &other : {replaced(mark, ""), replaced("constant 400003 : index", "constant 0 : index"),
                                   replaced("  return", "  memref.store %twice, %y[%c0] : memref<400003xi32>\n  return")
                                       .insert(text.find("  %c0"), "  %twice = arith.constant 1 : i32\n")}) {
    const auto module = parse(other);
    ASSERT_TRUE(module) << other;
    const auto source = kernelSources(*module);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_TRUE(source->front().loops.empty()) << other;
  }
}

// Every byte of the file, and every length, matters.
TEST_F(JitTest, CompilesAgainWhenTheFileIsDamaged) {
  std::vector<float> out;
  loadAnew(addConstant("k", "2.0"), out);
  fs::path file = files().at(0);
  auto size = static_cast<int64_t>(fs::file_size(file));
  for (int64_t place : {int64_t{0}, int64_t{20}, int64_t{41}, size / 2, size - 1}) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(place);
    int byte = stream.get();
    stream.seekp(place);
    stream.put(byte ^ 0x10);
    stream.close();
    EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).compiled, 1) << "byte " << place;
    EXPECT_EQ(out, expected);
    EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).readFromCache, 1) << "the file is good again";
  }
  for (int64_t length : {int64_t{0}, int64_t{7}, int64_t{40}, size - 1}) {
    fs::resize_file(file, length);
    EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).compiled, 1) << "length " << length;
    EXPECT_EQ(out, expected);
  }
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(JitTest, DoesNotBelieveAFileUnderAnotherName) {
  std::vector<float> out;
  loadAnew(addConstant("k", "1.0"), out);
  fs::path other = files().at(0);
  loadAnew(addConstant("k", "2.0"), out);
  fs::path own = files()[0] == other ? files()[1] : files()[0];
  fs::copy_file(other, own, fs::copy_options::overwrite_existing);
  EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).compiled, 1);
  EXPECT_EQ(out, expected);
}

/// What lies under a kernel's name, and is not this user's file, is replaced and not read. (A FIFO would make a reader
/// wait.)
TEST_F(JitTest, DoesNotReadWhatIsNoFileOfItsOwn) {
  std::vector<float> out;
  loadAnew(addConstant("k", "2.0"), out);
  const fs::path file = files().at(0), aside = directory.string() + ".aside";
  fs::copy_file(file, aside, fs::copy_options::overwrite_existing);
  const std::vector<std::function<void()>> plants = {[&] { ASSERT_EQ(mkfifo(file.c_str(), 0600), 0); },
                                                     [&] { fs::create_symlink(aside, file); },
                                                     [&] { fs::create_hard_link(aside, file); },
                                                     [&] {
                                                       fs::copy_file(aside, file);
                                                       fs::permissions(file, fs::perms(0620));
                                                     },
                                                     [&] {
                                                       fs::copy_file(aside, file);
                                                       fs::resize_file(file, int64_t{1} << 40);
                                                     }};
  for (const std::function<void()> &plant : plants) {
    fs::remove(file);
    plant();
    testing::internal::CaptureStderr();
    EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).compiled, 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(testing::HasSubstr("warning: compiled kernels are not taken from the cache"),
                               testing::HasSubstr(file.string()), testing::HasSubstr("remove it")));
    EXPECT_EQ(out, expected);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
    EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).readFromCache, 1);
  }
  EXPECT_EQ(files().size(), 1u);
  fs::remove(aside);
}

/// Nothing is read from a directory in which others may write, and nothing is kept; one line says so.
TEST_F(JitTest, DoesNotUseADirectoryOfOthers) {
  std::vector<float> out;
  loadAnew(addConstant("k", "2.0"), out);
  for (const mode_t mode : {0770, 0702, 01777}) {
    ASSERT_EQ(chmod(directory.c_str(), mode), 0);
    testing::internal::CaptureStderr();
    const JitStatistics counts = loadAnew(addConstant("k", "2.0") + addConstant("other", "3.0"), out);
    EXPECT_EQ(counts.compiled, 2);
    EXPECT_EQ(out, expected);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::HasSubstr("so others may have written to it"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(files().size(), 1u);
  }
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0); // as it was made once: others may read
  EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).readFromCache, 1);
  EXPECT_EQ(fs::status(directory).permissions(), fs::perms(0700));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory.c_str(), 65534, 65534), 0);
    testing::internal::CaptureStderr();
    EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).compiled, 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr("belongs to user 65534, but this process runs as user 0"));
  }
}

/// A writer that is killed leaves its temporary file, and the next one removes it when it is old.
TEST_F(JitTest, RemovesWhatKilledWritersLeft) {
  std::vector<float> out;
  loadAnew(addConstant("k", "2.0"), out);
  const std::string kernel = files().at(0).string();
  for (const char *name : {".1-0.tmp", ".1.0.tmp", ".2-0.tmp"})
    std::ofstream(kernel + name) << "part";
  std::ofstream(directory / "mine.tmp") << "not a kernel";
  const fs::file_time_type old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const std::string &file : {kernel + ".1-0.tmp", kernel + ".1.0.tmp", (directory / "mine.tmp").string(), kernel})
    fs::last_write_time(file, old);
  fs::permissions(directory, fs::perms(0755));
  EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).readFromCache, 1);
  EXPECT_EQ(files().size(), 5u) << "who only reads does not list the directory";
  EXPECT_EQ(loadAnew(addConstant("k", "3.0"), out).compiled, 1);
  EXPECT_FALSE(fs::exists(kernel + ".1-0.tmp"));
  EXPECT_FALSE(fs::exists(kernel + ".1.0.tmp"));
  EXPECT_EQ(files().size(), 4u) << "the new one, what is no kernel's, and two kernels stay";
  EXPECT_EQ(fs::status(directory).permissions(), fs::perms(0755)) << "a directory that has other files, too";
}

TEST_F(JitTest, WorksWithoutACacheItCannotWrite) {
  std::ofstream(directory.string()) << "a file where the directory should be";
  std::vector<float> out;
  EXPECT_EQ(loadAnew(addConstant("k", "2.0"), out).compiled, 1);
  EXPECT_EQ(out, expected);
}

// What a kernel computes depends on its text only: here for the widths and instructions of an older CPU.
TEST_F(JitTest, VectorWidthDoesNotChangeBits) {
  if (hostTarget().vectorBits != 512)
    GTEST_SKIP() << "needs a CPU with AVX-512";
  std::string text = elementwise(1003, "f32", "bf16",
                                 "%t = math.tanh %x : f32\n%e = math.exp %x : f32\n%r = math.erf %t : f32\n"
                                 "%p = arith.mulf %e, %t : f32\n%s = arith.addf %p, %r : f32\n"
                                 "%l = math.log %e : f32\n%q = arith.divf %s, %l : f32\n"
                                 "%y = arith.truncf %q : f32 to bf16");
  std::vector<float> in(1003);
  for (int i = 0; i < 1003; ++i)
    in[i] = 0.013f * (i - 500);
  std::vector<std::vector<uint16_t>> results;
  for (const JitTarget &target : {hostTarget(), JitTarget{hostTarget().triple, "haswell", "", 256}}) {
    auto jit = std::make_shared<Jit>(JitOptions{1, "", target});
    auto module = parse(text);
    auto library = jit->load(*module);
    ASSERT_TRUE(library.ok()) << library.status();
    results.emplace_back(1003);
    ASSERT_EQ((*(*library)->kernel("k"))->launch({bufferOf(in), bufferOf(results.back())}, *stream), absl::OkStatus());
  }
  EXPECT_EQ(results[0], results[1]);
}

// On a CPU without bf16 instructions LLVM widens a bf16 that lives across a branch, and calls a function to narrow it.
TEST_F(JitTest, Bf16LivesAcrossABranchOnEveryCpu) {
  const std::string text = R"(func.func @k(%a: memref<4xbf16>, %c: memref<4xi32>, %b: memref<4xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    scf.for %i = %c0 to %n step %c1 {
      %x = memref.load %a[%i] : memref<4xbf16>
      %j = memref.load %c[%i] : memref<4xi32>
      %far = arith.cmpi ne, %j, %zero : i32
      %y = scf.if %far -> bf16 {
        %at = arith.index_cast %j : i32 to index
        %z = memref.load %a[%at] : memref<4xbf16>
        memref.store %zero, %c[%i] : memref<4xi32>
        scf.yield %z : bf16
      } else {
        scf.yield %x : bf16
      }
      memref.store %y, %b[%i] : memref<4xbf16>
    }
    return
  })";
  for (const JitTarget &target : {hostTarget(), JitTarget{hostTarget().triple, "x86-64", "", 128}}) {
    auto jit = std::make_shared<Jit>(JitOptions{1, "", target});
    auto library = jit->load(*parse(text));
    ASSERT_TRUE(library.ok()) << target.cpu << ": " << library.status();
    std::vector<uint16_t> in = {0x3f81, 0xc2ff, 0x0001, 0x7f80}, out(4); // a subnormal and infinity among them
    std::vector<int32_t> from = {3, 2, 0, 1};
    ASSERT_EQ((*(*library)->kernel("k"))->launch({bufferOf(in), bufferOf(from), bufferOf(out)}, *stream),
              absl::OkStatus());
    EXPECT_EQ(out, (std::vector<uint16_t>{0x7f80, 0x0001, 0x0001, 0xc2ff})) << target.cpu;
  }
}

TEST_F(JitTest, LeavesTheCallersModuleAlone) {
  auto module = parse("func.func @k(%a: memref<1xf32> {test.x = 1 : i64}) attributes {test.y} { return }");
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  };
  std::string before = print();
  ASSERT_TRUE(std::make_shared<Jit>(JitOptions{})->load(*module).ok());
  EXPECT_EQ(print(), before);
}

} // namespace
} // namespace splitcast::runtime
