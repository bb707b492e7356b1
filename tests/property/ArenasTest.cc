// Arenas of random graphs: what the planner adds to what is live at once, which no layout can go below. Their tensors
// are small, so their bytes are taken 4,096 times: then alignment is nothing, and most arenas are of megabytes.
#include "compiler/Compile.h"
#include "dialects/exec/Exec.h"
#include "passes/plan/ArenaPlanner.h"
#include "tests/property/GraphGenerator.h"

#include "gtest/gtest.h"

namespace splitcast::property {
namespace {

constexpr int64_t kTimes = 4096;
constexpr int64_t kLeastBytes = 1000000;

/// The buffers of a plan, as the planner gets them.
std::vector<ArenaBuffer> buffersOf(exec::PlanOp plan) {
  std::vector<ArenaBuffer> buffers;
  if (mlir::ArrayAttr all = plan.getBuffersAttr())
    for (auto buffer : all.getAsRange<exec::BufferAttr>())
      buffers.push_back({buffer.getRange().getBytes() * kTimes, buffer.getFirst(), buffer.getLast(), buffer.getRole(),
                         0, buffer.getOwner().str()});
  return buffers;
}

/// Of the plans of rank 0 of a graph, compiled as its last configuration says.
void checkArenas(uint64_t seed, int64_t &large) {
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  GeneratedGraph graph = generateGraph(seed, *context);
  const CompileOptions options{graph.configurations.back().zero()};
  auto global = compileGlobal(*graph.module, options);
  ASSERT_TRUE(global.ok()) << global.status();
  auto plans = compilePlan(**global, options, 0);
  ASSERT_TRUE(plans.ok()) << plans.status();
  for (auto plan : (*plans)->getOps<exec::PlanOp>()) {
    std::vector<ArenaBuffer> buffers = buffersOf(plan);
    const int64_t live = liveBytes(buffers), bytes = planArena(buffers);
    EXPECT_GE(bytes, live);
    if (live < kLeastBytes)
      continue;
    ++large;
    EXPECT_LE(bytes, live + live / 100) << "@" << plan.getSymName().str() << " of seed " << seed << ", "
                                        << buffers.size() << " buffers";
  }
}

TEST(ArenasTest, OfAtMostOnePercentMoreThanIsLive) {
  int64_t large = 0;
  for (uint64_t seed = 2000; seed < 2100; ++seed)
    checkArenas(seed, large);
  EXPECT_GE(large, 100);
}

} // namespace
} // namespace splitcast::property
