//===- TouchedBytesTest.cc - Bytes that ops really touch, and messages really sent -===//
//
// Measured by others than the predictor: every byte of both spaces is compared around every op, the arena ends at a
// guard page, and the transport counts.
//
//===----------------------------------------------------------------------===//
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/plan/Reports.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/Variables.h"
#include "runtime/host/HostDevice.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"
#include "tests/compiler/prediction/Model.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>

namespace splitcast::prediction {
namespace {

constexpr unsigned char kPaint = 0xA5;
constexpr int64_t kBlock = 4096;

/// Compares all bytes before and after every op.
class Painter : public runtime::ExecutorObserver {
public:
  void watch(runtime::Executor &bound, mlir::ModuleOp plans) {
    executor = &bound;
    for (auto space : plans.getOps<exec::SpaceOp>())
      names.push_back(space.getSymName().str());
    const runtime::Buffer space = bound.space(exec::kArenaName);
    std::memset(space.data, kPaint, space.bytes);
  }

  void before(mlir::Operation *op, int64_t, runtime::Stream &) override {
    llvm::SmallVector<exec::RangeAttr> reads, writes;
    exec::rangesOf(op, reads, writes);
    // What the op must write anew in the arena is painted, to see that it does.
    auto launch = mlir::dyn_cast<exec::LaunchOp>(op);
    if (!mlir::isa<exec::CollectiveOp>(op))
      for (size_t number = 0; number < writes.size(); ++number)
        if (writes[number].getSpace() == exec::kArenaName &&
            !(launch && llvm::is_contained(launch.getInPlace(), number)))
          std::memset(executor->resolve(writes[number]).data, kPaint, writes[number].getBytes());
    for (const std::string &name : names)
      was[name] = bytesOf(executor->space(name));
  }

  void after(mlir::Operation *op, int64_t, runtime::Stream &) override {
    llvm::SmallVector<exec::RangeAttr> reads, writes;
    exec::rangesOf(op, reads, writes);
    if (!mlir::isa<exec::CollectiveOp>(op))
      for (exec::RangeAttr range : writes)
        checkWhollyWritten(op, range);
    if (auto collective = mlir::dyn_cast<exec::CollectiveOp>(op))
      underWay[collective.getTicket()] = op;
    for (auto &[ticket, collective] : underWay)
      exec::rangesOf(collective, reads, writes);
    for (const std::string &name : names)
      checkOnlyTouched(op, name, was[name], writes);
    if (auto wait = mlir::dyn_cast<exec::WaitOp>(op))
      underWay.erase(wait.getTicket());
    ++ops;
  }

  std::string errors;
  int64_t ops = 0;
  int64_t highestByte = 0; ///< of the arena that any op touched, and one

private:
  static std::vector<unsigned char> bytesOf(runtime::Buffer buffer) {
    const auto *data = reinterpret_cast<const unsigned char *>(buffer.data);
    return {data, data + buffer.bytes};
  }

  void fail(mlir::Operation *op, const std::string &what) {
    std::string text;
    llvm::raw_string_ostream(text) << *op;
    errors += text + "\n  " + what + "\n";
  }

  /// The last element of a range in the arena was written: paint is no value that comes out of this model.
  void checkWhollyWritten(mlir::Operation *op, exec::RangeAttr range) {
    if (range.getSpace() != exec::kArenaName || range.getBytes() < 4)
      return;
    const std::byte *end = executor->resolve(range).data + range.getBytes();
    unsigned char paint[4] = {kPaint, kPaint, kPaint, kPaint};
    if (std::memcmp(end - 4, paint, 4) == 0)
      fail(op, "does not write the end of a range that it says it writes");
  }

  void checkOnlyTouched(mlir::Operation *op, llvm::StringRef space, const std::vector<unsigned char> &was,
                        llvm::ArrayRef<exec::RangeAttr> writes) {
    const runtime::Buffer now = executor->space(space);
    const auto *data = reinterpret_cast<const unsigned char *>(now.data);
    for (int64_t i = 0; i < now.bytes; ++i) {
      if (i % kBlock == 0)
        while (i + kBlock <= now.bytes && std::memcmp(data + i, was.data() + i, kBlock) == 0)
          i += kBlock; // most of it
      if (i == now.bytes || data[i] == was[i])
        continue;
      if (space == exec::kArenaName)
        highestByte = std::max(highestByte, i + 1);
      bool isDeclared = llvm::any_of(writes, [&](exec::RangeAttr range) {
        return range.getSpace() == space && range.getOffset() <= i && i < range.getEnd();
      });
      if (!isDeclared)
        return fail(op,
                    "touches byte " + std::to_string(i) + " of the " + space.str() + " space, which it does not name");
    }
  }

  runtime::Executor *executor = nullptr;
  std::vector<std::string> names;                        ///< of the spaces
  std::map<std::string, std::vector<unsigned char>> was; ///< before the op, by space
  std::map<int64_t, mlir::Operation *> underWay;
};

struct RankResult {
  std::string errors;
  std::vector<float> losses;
  int64_t highestByte = 0, arenaBytes = 0; ///< of what ops touched, or inputs were written to
  CommunicationReport predicted;
  int64_t sentBytes = 0, sentMessages = 0;
};

/// What is done to a plan before it is verified and bound; or after that, when only the painter still looks at it.
struct Corruption {
  void (*unbound)(mlir::ModuleOp) = nullptr;
  void (*bound)(mlir::ModuleOp) = nullptr;
};

class RankRun {
public:
  RankRun(std::unique_ptr<runtime::Transport> transport, const std::string &text, const CompileOptions &options,
          const Corruption &corruption)
      : wire(*transport), corruption(corruption),
        communicator(runtime::createHostCommunicator(std::move(transport), {absl::Seconds(20)})) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    mlir::OwningOpRef<mlir::ModuleOp> source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    auto global = compileGlobal(*source, options);
    if (!keep(global.status()))
      return;
    auto compiled = compilePlan(**global, options, communicator->rank());
    if (!keep(compiled.status()))
      return;
    plans = std::move(*compiled);
    if (corruption.unbound)
      corruption.unbound(*plans);
    mlir::ScopedDiagnosticHandler keepText(&context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        result.errors += diagnostic.str() + "\n";
      return mlir::success();
    });
    (void)mlir::verify(*plans);
  }

  void run(int64_t steps) {
    auto device = runtime::createHostDevice({1, "", /*guardPages=*/true});
    auto executor = runtime::Executor::bind(*plans, *device, *communicator, &painter);
    if (!keep(executor.status()))
      return;
    auto variables = runtime::Variables::create(*plans, *device, *communicator, **executor);
    if (!keep(variables.status()) || !keep((*variables)->initialize(7)))
      return;
    if (corruption.bound)
      corruption.bound(*plans);
    painter.watch(**executor, *plans);
    auto plan = *plans->getOps<exec::PlanOp>().begin();
    for (int64_t step = 0; step < steps && result.errors.empty(); ++step)
      runStep(plan, **executor);
    result.errors += painter.errors;
    result.highestByte = std::max(painter.highestByte, inputsEnd);
    result.arenaBytes = plans->lookupSymbol<exec::SpaceOp>(exec::kArenaName).getBytes();
    result.predicted = reportCommunication(plan);
  }

  RankResult result;

private:
  bool keep(const absl::Status &status) {
    if (!status.ok())
      result.errors += std::string(status.message()) + "\n";
    return status.ok();
  }

  void runStep(exec::PlanOp plan, runtime::Executor &executor) {
    auto inputs = llvm::to_vector(plan.getInputs().getAsRange<exec::RangeAttr>());
    runtime::Buffer x = executor.resolve(inputs[0]), labels = executor.resolve(inputs[1]);
    for (int64_t i = 0; i < x.bytes / 4; ++i)
      reinterpret_cast<float *>(x.data)[i] = static_cast<float>((i * 37 + communicator->rank() * 11) % 101) / 50 - 1;
    for (int64_t i = 0; i < labels.bytes / 8; ++i)
      reinterpret_cast<int64_t *>(labels.data)[i] = (i * 3 + communicator->rank()) % 10;
    for (exec::RangeAttr input : inputs)
      inputsEnd = std::max(inputsEnd, input.getEnd());
    runtime::TransportCounters before = runtime::countersOf(wire);
    if (!keep(executor.run(plan.getSymName().str())))
      return;
    runtime::TransportCounters after = runtime::countersOf(wire);
    result.sentBytes = after.sentBytes - before.sentBytes;
    result.sentMessages = after.sentMessages - before.sentMessages;
    auto output = mlir::cast<exec::RangeAttr>(plan.getOutputs()[0]);
    result.losses.push_back(*reinterpret_cast<float *>(executor.resolve(output).data));
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  runtime::Transport &wire;
  Corruption corruption;
  std::unique_ptr<runtime::Communicator> communicator;
  mlir::OwningOpRef<mlir::ModuleOp> plans;
  Painter painter;
  int64_t inputsEnd = 0; ///< in the arena, of those that were set
};

std::vector<RankResult> runRanks(int64_t ranks, const CompileOptions &options, const Corruption &corruption = {}) {
  absl::StatusOr<std::string> text = modelText(ranks);
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::unique_ptr<runtime::Transport>> transports = runtime::createThreadTransports(ranks);
  std::vector<RankResult> results(ranks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      RankRun run(std::move(transports[rank]), *text, options, corruption);
      if (run.result.errors.empty())
        run.run(3);
      results[rank] = run.result;
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

CompileOptions optionsOf(int stage, sbp::Strategy strategy) {
  CompileOptions options;
  options.zero.policy.setStage(stage);
  options.zero.policy.setStrategy(strategy);
  return options;
}

/// stage, strategy, ranks
class TouchedBytes : public testing::TestWithParam<std::tuple<int, sbp::Strategy, int64_t>> {};

// Every op touches the bytes that its plan names and no others, to the end; the arena is used to its end; and the wire
// carries the bytes and messages that were predicted.
TEST_P(TouchedBytes, AreThoseThatThePlanNames) {
  auto [stage, strategy, ranks] = GetParam();
  std::vector<RankResult> results = runRanks(ranks, optionsOf(stage, strategy));
  for (const RankResult &result : results) {
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(result.losses.size(), 3u);
    EXPECT_EQ(result.losses, results.front().losses);
    EXPECT_EQ(sbp::alignUp(result.highestByte, sbp::kAlignmentBytes), result.arenaBytes);
    int64_t bytes = 0, messages = 0;
    for (const CommunicationReport::Entry &entry : result.predicted.entries) {
      bytes += entry.bytesSent;
      messages += entry.messages;
    }
    EXPECT_EQ(result.sentBytes, bytes);
    EXPECT_EQ(result.sentMessages, messages);
  }
}

INSTANTIATE_TEST_SUITE_P(AllPlans, TouchedBytes,
                         testing::Combine(testing::Values(0, 1, 2, 3),
                                          testing::Values(sbp::Strategy::Bucket, sbp::Strategy::Tensor),
                                          testing::Values(1, 3, 4)));

exec::LibraryOp firstMatmul(exec::PlanOp plan) {
  for (auto op : plan.getBody().front().getOps<exec::LibraryOp>())
    if (mlir::isa<exec::MatmulAttr>(op.getCall()))
      return op;
  return {};
}

/// Moves what the first product writes by 64 bytes.
void moveOffset(mlir::ModuleOp plans) {
  auto library = firstMatmul(*plans.getOps<exec::PlanOp>().begin());
  auto range = mlir::cast<exec::RangeAttr>(library.getWrites()[0]);
  auto moved = exec::RangeAttr::get(plans.getContext(), range.getSpace(), range.getOffset() + 64, range.getBytes());
  library.setWritesAttr(mlir::ArrayAttr::get(plans.getContext(), {moved}));
}

/// Takes one element from a block of the first collective.
void changeCount(mlir::ModuleOp plans) {
  auto plan = *plans.getOps<exec::PlanOp>().begin();
  auto collective = *plan.getBody().front().getOps<exec::CollectiveOp>().begin();
  mlir::SymbolTableCollection symbols;
  std::vector<int64_t> blocks = exec::callOf(collective, exec::groupOf(collective, symbols)).blocksByRank();
  --blocks.back();
  collective.setBlocks(blocks);
}

void shrinkArena(mlir::ModuleOp plans) {
  auto space = plans.lookupSymbol<exec::SpaceOp>(exec::kArenaName);
  space.setBytes(space.getBytes() - 64);
}

/// Takes a wait away: of the last collective, so that no op comes between.
void forgetWait(mlir::ModuleOp plans) {
  auto plan = *plans.getOps<exec::PlanOp>().begin();
  exec::WaitOp last;
  for (auto wait : plan.getBody().front().getOps<exec::WaitOp>())
    last = wait;
  last.erase();
}

/// Says of the first product that it writes so many bytes more than it does.
template <int64_t Bytes> void changeWrite(mlir::ModuleOp plans) {
  auto library = firstMatmul(*plans.getOps<exec::PlanOp>().begin());
  auto range = mlir::cast<exec::RangeAttr>(library.getWrites()[0]);
  auto changed =
      exec::RangeAttr::get(plans.getContext(), range.getSpace(), range.getOffset(), range.getBytes() + Bytes);
  library.setWritesAttr(mlir::ArrayAttr::get(plans.getContext(), {changed}));
}

struct CorruptedPlan {
  const char *name;
  Corruption corruption;
  const char *expected; ///< of the error
};

// The tests above can fail: each wrong offset or count is noticed, by what it belongs to, on every rank.
TEST(CorruptedPlans, AreNoticed) {
  const CorruptedPlan table[] = {
      {"moveOffset",
       {moveOffset},
       "^'exec.library' op uses #exec.range<arena, [0-9]+, [0-9]+>, which lies in no buffer that is live at this "
       "op; let one live until then, or add one\n$"},
      {"changeCount",
       {changeCount},
       "^'exec.collective' op works on #exec.range<arena, [0-9]+, 1728>, but its blocks have 1724 bytes\n$"},
      {"shrinkArena",
       {shrinkArena},
       "^'exec.launch' op uses #exec.range<arena, [0-9]+, 4>, but the space has [0-9]+ bytes\n$"},
      {"forgetWait", {forgetWait}, "^'exec.collective' op is never waited for; end it with exec.wait\n$"},
      {"lessWritten",
       {changeWrite<-64>},
       "^'exec.library' op has ranges of \\[[0-9, ]+\\] bytes, but the operands of its call have \\[[0-9, ]+\\]; give "
       "each its range\n$"},
      {"lessPainted", {nullptr, changeWrite<-64>}, "touches byte [0-9]+ of the arena space, which it does not name\n$"},
      {"morePainted", {nullptr, changeWrite<64>}, "does not write the end of a range that it says it writes\n"}};
  for (const CorruptedPlan &plan : table)
    for (const RankResult &result : runRanks(3, optionsOf(2, sbp::Strategy::Bucket), plan.corruption))
      EXPECT_THAT(result.errors, ::testing::ContainsRegex(plan.expected)) << plan.name;
}

} // namespace
} // namespace splitcast::prediction
