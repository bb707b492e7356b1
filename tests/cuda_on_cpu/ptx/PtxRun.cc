#include "tests/cuda_on_cpu/ptx/PtxWarp.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr uint8_t kUninitialized = 0xA5;
constexpr std::array<uint32_t, 3> kMostBlocks = {0x7FFFFFFF, 65535, 65535}, kMostThreadsPerAxis = {1024, 1024, 64};

absl::Status checkGrid(const Routine &kernel, const PtxGrid &grid) {
  auto refuse = [&](auto... what) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "': ", what...));
  };
  uint64_t threads = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (grid.blocks[axis] == 0 || grid.threads[axis] == 0)
      return refuse("the grid is empty in dimension ", axis);
    if (grid.blocks[axis] > kMostBlocks[axis])
      return refuse(grid.blocks[axis], " blocks in dimension ", axis, "; a GPU has at most ", kMostBlocks[axis]);
    if (grid.threads[axis] > kMostThreadsPerAxis[axis])
      return refuse("blocks of ", grid.threads[axis], " threads in dimension ", axis, "; a GPU has at most ",
                    kMostThreadsPerAxis[axis]);
    threads *= grid.threads[axis];
    if (kernel.requiredThreads[0] != 0 && grid.threads[axis] != kernel.requiredThreads[axis])
      return refuse("blocks of ", grid.threads[axis], " threads in dimension ", axis, "; its .reqntid says ",
                    kernel.requiredThreads[axis]);
  }
  if (threads > kMostThreads)
    return refuse("blocks of ", threads, " threads; a GPU has at most ", kMostThreads);
  if (kernel.mostThreads != 0 && threads > kernel.mostThreads)
    return refuse("blocks of ", threads, " threads; its .maxntid says at most ", kernel.mostThreads);
  return absl::OkStatus();
}

class Run {
public:
  Run(const Program &program, const Routine &kernel, const PtxGrid &grid, const GlobalMemory &memory,
      const PtxChecks &checks, void *const *arguments)
      : launch(program, kernel, memory, grid, checks.races) {
    launch.params.resize(kernel.argumentsBytes);
    for (size_t index = 0; index < kernel.arguments.size(); ++index)
      std::memcpy(launch.params.data() + (kernel.arguments[index].at - kWindowBegin), arguments[index],
                  kernel.arguments[index].bytes);
    for (const Frame *frame : {&program.functions, &kernel.frame}) {
      launch.sharedArrays.insert(launch.sharedArrays.end(), frame->shared.begin(), frame->shared.end());
      launch.localArrays.insert(launch.localArrays.end(), frame->local.begin(), frame->local.end());
    }
    launch.sharedBytes = kernel.frame.sharedEnd - kWindowBegin;
    launch.localBytes = kernel.frame.localEnd - kWindowBegin;
    if (const char *seed = std::getenv("SPLITCAST_CUDA_ON_CPU_SEED")) {
      launch.isShuffled = true;
      launch.seed = std::strtoull(seed, nullptr, 0);
    }
    for (uint32_t warp = 0; warp * kWarpSize < launch.threads(); ++warp)
      warps.emplace_back(launch, warp, kernel.frame.fileBytes);
    order.resize(warps.size());
    std::iota(order.begin(), order.end(), 0);
  }

  absl::Status run() {
    const std::array<uint32_t, 3> &extent = launch.grid.blocks;
    const uint64_t count = uint64_t{extent[0]} * extent[1] * extent[2];
    std::vector<uint64_t> blocks;
    if (launch.isShuffled) {
      blocks.resize(count);
      std::iota(blocks.begin(), blocks.end(), 0);
      shuffle(blocks);
    }
    for (uint64_t index = 0; index < count; ++index) {
      const uint64_t block = blocks.empty() ? index : blocks[index];
      launch.block = {static_cast<uint32_t>(block % extent[0]), static_cast<uint32_t>(block / extent[0] % extent[1]),
                      static_cast<uint32_t>(block / extent[0] / extent[1])};
      if (!runBlock())
        return absl::InvalidArgumentError(message);
    }
    return absl::OkStatus();
  }

  int64_t instructions() const { return launch.instructions; }

private:
  template <class T> void shuffle(std::vector<T> &values) {
    for (size_t rest = values.size(); rest > 1; --rest)
      std::swap(values[rest - 1], values[launch.draw(rest)]);
  }

  bool runBlock() {
    launch.races.beginBlock();
    launch.shared.assign(launch.sharedBytes, kUninitialized);
    launch.local.assign(launch.localBytes * launch.threads(), kUninitialized);
    for (Warp &warp : warps)
      warp.beginBlock();
    for (;;) {
      if (launch.isShuffled)
        shuffle(order);
      bool alive = false;
      for (uint32_t number : order) {
        if (!warps[number].run()) {
          message = warps[number].fault();
          return false;
        }
        alive |= warps[number].liveLanes() != 0;
      }
      if (!alive)
        return true;
      if (!passBarrier())
        return false;
    }
  }

  /// All threads wait at a barrier or have ended now; they may go on only where all wait at the same one.
  bool passBarrier() {
    const auto waiting =
        std::find_if(warps.begin(), warps.end(), [](const Warp &warp) { return warp.barrierLanes() != 0; });
    const auto first = static_cast<uint32_t>(__builtin_ctz(waiting->barrierLanes()));
    for (uint32_t thread = 0; thread < launch.threads(); ++thread) {
      Warp &warp = warps[thread / kWarpSize];
      const uint32_t lane = thread % kWarpSize;
      const bool ended = (warp.liveLanes() >> lane & 1) == 0;
      if (!ended && warp.pcOf(lane) == waiting->pcOf(first))
        continue;
      waiting->fail(launch.program.code[waiting->pcOf(first)], first,
                    absl::StrCat("thread number ", thread, " of the block does not come to this barrier; it ",
                                 ended ? "has ended" : absl::StrCat("waits in line ", warp.lineOf(lane))));
      message = waiting->fault();
      return false;
    }
    for (Warp &warp : warps)
      warp.leaveBarrier();
    launch.races.barrier();
    return true;
  }

  Launch launch;
  std::vector<Warp> warps;
  std::vector<uint32_t> order;
  std::string message;
};

} // namespace

PtxModule::PtxModule(std::unique_ptr<Program> parsed) : program(std::move(parsed)) {}
PtxModule::~PtxModule() = default;

bool PtxModule::hasKernel(const std::string &name) const {
  auto found = program->routineNamed.find(name);
  return found != program->routineNamed.end() && found->second->isKernel && found->second->isDefined;
}

std::vector<int64_t> PtxModule::argumentBytes(const std::string &name) const {
  std::vector<int64_t> bytes;
  if (hasKernel(name))
    for (const Argument &argument : program->routineNamed.at(name)->arguments)
      bytes.push_back(argument.bytes);
  return bytes;
}

absl::Status PtxModule::run(const std::string &name, const PtxGrid &grid, void *const *arguments,
                            const GlobalMemory &memory, const PtxChecks &checks) const {
  if (!hasKernel(name))
    return absl::NotFoundError(absl::StrCat("the module has no kernel '", name, "'"));
  const Routine &kernel = *program->routineNamed.at(name);
  if (absl::Status status = checkGrid(kernel, grid); !status.ok())
    return status;
  Run run(*program, kernel, grid, memory, checks, arguments);
  absl::Status status = run.run();
  executed += run.instructions();
  return status;
}

} // namespace splitcast::cuda_on_cpu
