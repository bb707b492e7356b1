// floors: below what time no step of a module can come on this machine.
//
//   mpirun -n 2 floors MODULE.mlir [--enable-zero=stage=N,...] [--rounds=9]
//
// MODULE.mlir is at the global level, such as examples write with --write-mlir, of as many ranks as run. Each product
// of the plan is timed as the plan calls it and as oneDNN does it alone, in turns, on operands that no cache holds; all
// ranks measure at once, since they share the machine's memory. Kernels, copies and collectives are bytes to move at
// the rate of a copy or of an update, whichever is faster here: what a collective reads and writes of this rank's and
// the others' memory. Prints a line per product, and the sum: the floor of a step of each plan.
#include "benchmarks/cpu/RawProduct.h"
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "compiler/graph/GraphDiagnostics.h"
#include "compiler/launch/Launch.h"
#include "runtime/executor/Profiler.h"
#include "runtime/host/Peaks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <cstdio>

using namespace splitcast;

namespace {

struct FloorFlags {
  std::string path;
  int64_t rounds = 9;
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
};

/// Memory that the operands of a product take turns in, so that each finds them in no cache.
constexpr int64_t kTurnedBytes = 128 << 20;
constexpr int64_t kMostTurns = 16;

struct Times {
  std::vector<double> seconds;
  double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

/// Buffers of a product, several times.
class Operands {
public:
  static absl::StatusOr<Operands> create(runtime::Device &device, exec::MatmulAttr call) {
    Operands result;
    int64_t all = 0;
    for (int64_t bytes : call.getOperandBytes())
      all += bytes;
    const int64_t turns = std::clamp<int64_t>(kTurnedBytes / std::max<int64_t>(all, 1), 1, kMostTurns);
    for (int64_t turn = 0; turn < turns; ++turn)
      for (int64_t bytes : call.getOperandBytes()) {
        absl::StatusOr<runtime::Buffer> buffer = device.allocate(bytes);
        if (!buffer.ok())
          return buffer.status();
        std::fill_n(buffer->data, bytes, std::byte{0});
        result.buffers.push_back(*buffer);
      }
    return result;
  }
  absl::Span<const runtime::Buffer> next() {
    turn = (turn + 3) % buffers.size();
    return absl::MakeConstSpan(buffers).subspan(turn, 3);
  }
  void release(runtime::Device &device) {
    for (runtime::Buffer buffer : buffers)
      device.release(buffer);
  }

private:
  std::vector<runtime::Buffer> buffers;
  size_t turn = 0;
};

struct Measured {
  double planMedian = 0, planLeast = 0, rawMedian = 0, rawLeast = 0; ///< seconds; of raw ones the better way
};

absl::StatusOr<double> secondsOf(const std::function<absl::Status()> &run) {
  const absl::Time begin = absl::Now();
  if (absl::Status status = run(); !status.ok())
    return status;
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

absl::StatusOr<Measured> measure(exec::MatmulAttr call, int64_t rounds, Launch &launch) {
  absl::StatusOr<std::unique_ptr<runtime::Launchable>> planned = launch.device().libraryCall(call);
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = launch.device().createStream("products");
  absl::StatusOr<Operands> operands = Operands::create(launch.device(), call);
  for (const absl::Status &status : {planned.status(), stream.status(), operands.status()})
    if (!status.ok())
      return status;
  std::vector<std::function<absl::Status()>> ways = {[&] { return (*planned)->launch(operands->next(), **stream); }};
  for (const absl::StatusOr<RawProduct> &raw : {rawPrimitive(call, launch.threads()), rawSgemm(call, launch.threads())})
    if (raw.ok())
      ways.push_back([raw = *raw, &operands] {
        const absl::Span<const runtime::Buffer> buffers = operands->next();
        return raw(buffers[0].data, buffers[1].data, buffers[2].data);
      });
  if (ways.size() == 1)
    return absl::UnimplementedError("oneDNN has no such product alone");
  if (absl::Status status = launch.communicator().barrier({"floors"}); !status.ok())
    return status;
  std::vector<Times> times(ways.size());
  for (int64_t round = -2; round < rounds; ++round)
    for (size_t way = 0; way < ways.size(); ++way) {
      absl::StatusOr<double> seconds = secondsOf(ways[way]);
      if (!seconds.ok())
        return seconds.status();
      if (round >= 0)
        times[way].seconds.push_back(*seconds);
    }
  operands->release(launch.device());
  Measured result{times[0].median(), times[0].least(), times[1].median(), times[1].least()};
  if (times.size() > 2) {
    result.rawMedian = std::min(result.rawMedian, times[2].median());
    result.rawLeast = std::min(result.rawLeast, times[2].least());
  }
  return result;
}

/// Of a plan, in the order in which things first appear.
struct Contents {
  llvm::MapVector<exec::MatmulAttr, int64_t> products; ///< how often each
  double otherFlops = 0;                               ///< of other library calls
  int64_t kernelBytes = 0, collectiveBytes = 0;
};

/// A collective reads what it sends, once, or adds up, and writes what it leaves.
int64_t bytesMoved(exec::CollectiveOp op, const std::vector<int64_t> &blocks) {
  int64_t all = 0;
  for (int64_t block : blocks)
    all += block;
  const int64_t own = blocks.empty() ? 0 : blocks.front(), ranks = static_cast<int64_t>(blocks.size());
  const llvm::StringRef kind = op.getRule().name;
  if (kind == "all_gather")
    return 2 * (all - own);
  if (kind == "reduce_scatter")
    return (ranks + 1) * own;
  return kind == "all_reduce" ? 2 * all + 2 * all / std::max<int64_t>(ranks, 1) : 2 * all;
}

Contents contentsOf(exec::PlanOp plan, int64_t ranks) {
  Contents result;
  runtime::Profiler profiler(0); // knows what an op's bytes are
  int64_t index = 0;
  for (mlir::Operation &op : plan.getBody().front()) {
    profiler.bound(&op, index++);
    const runtime::ProfiledOp &known = profiler.ops().back();
    auto library = mlir::dyn_cast<exec::LibraryOp>(op);
    if (auto product = library ? mlir::dyn_cast<exec::MatmulAttr>(library.getCall()) : exec::MatmulAttr())
      ++result.products[product];
    else if (library)
      result.otherFlops += known.flops;
    else if (auto collective = mlir::dyn_cast<exec::CollectiveOp>(op)) {
      const int64_t own = collective.getData().getBytes() / ranks;
      result.collectiveBytes += bytesMoved(collective, std::vector<int64_t>(ranks, own));
    } else if (!known.isOfRanks)
      result.kernelBytes += known.bytes;
  }
  return result;
}

absl::Status report(exec::PlanOp plan, const FloorFlags &flags, const runtime::Peaks &peaks, Launch &launch) {
  const Contents contents = contentsOf(plan, launch.size());
  const bool prints = launch.rank() == 0;
  if (prints)
    printf("plan '%s':\n  runs  plan: median     least  oneDNN: median     least  plan/oneDNN   ms\n",
           plan.getSymName().str().c_str());
  Measured sum;
  for (const auto &[product, runs] : contents.products) {
    absl::StatusOr<Measured> measured = measure(product, flags.rounds, launch);
    if (absl::Status status = launch.agree(measured.status(), "measuring products"); !status.ok())
      return status;
    sum.planMedian += runs * measured->planMedian;
    sum.planLeast += runs * measured->planLeast;
    sum.rawMedian += runs * measured->rawMedian;
    sum.rawLeast += runs * measured->rawLeast;
    std::string sizes;
    llvm::raw_string_ostream(sizes) << product;
    if (prints)
      printf("%6ld %13.3f %9.3f %15.3f %9.3f %12.2f   %s\n", static_cast<long>(runs), measured->planMedian * 1e3,
             measured->planLeast * 1e3, measured->rawMedian * 1e3, measured->rawLeast * 1e3,
             measured->planMedian / measured->rawMedian, sizes.c_str());
  }
  if (!prints)
    return absl::OkStatus();
  const double kernels = static_cast<double>(contents.kernelBytes) / peaks.movedBytesPerSecond,
               collectives = static_cast<double>(contents.collectiveBytes) / peaks.movedBytesPerSecond,
               others = contents.otherFlops / peaks.flopsPerSecond;
  printf("  products: the plan's %.2f ms (least %.2f), oneDNN's %.2f ms (least %.2f)\n", sum.planMedian * 1e3,
         sum.planLeast * 1e3, sum.rawMedian * 1e3, sum.rawLeast * 1e3);
  printf("  kernels and copies: %.1f MB, %.2f ms; collectives: %.1f MB, %.2f ms; other calls: %.1f Gflop, %.2f ms\n",
         contents.kernelBytes / 1e6, kernels * 1e3, contents.collectiveBytes / 1e6, collectives * 1e3,
         contents.otherFlops / 1e9, others * 1e3);
  printf("  floor: %.2f ms (least %.2f)\n", (sum.rawMedian + kernels + collectives + others) * 1e3,
         (sum.rawLeast + kernels + collectives + others) * 1e3);
  fflush(stdout);
  return absl::OkStatus();
}

/// The plan of this rank.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> planOf(const FloorFlags &flags, mlir::MLIRContext &context,
                                                         int64_t rank) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    DiagnosticCollector collector(&context);
    module = mlir::parseSourceFile<mlir::ModuleOp>(flags.path, &context);
    if (!module)
      return absl::InvalidArgumentError(
          absl::StrCat("'", flags.path, "' is no module: ", absl::StrJoin(collector.locatedMessages(), "\n")));
  }
  CompileOptions compile;
  compile.zero = flags.zero;
  auto global = compileGlobal(*module, compile);
  if (!global.ok())
    return global.status();
  return compilePlan(**global, compile, rank);
}

absl::Status run(const FloorFlags &flags, Launch &launch) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto plans = planOf(flags, context, launch.rank());
  if (absl::Status status = launch.agree(plans.status(), "compiling"); !status.ok())
    return status;
  const auto ranks = (**plans)->getAttrOfType<mlir::IntegerAttr>("ccl.ranks");
  if (ranks && ranks.getInt() != launch.size())
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.path, "' is of ", ranks.getInt(), " ranks, but ", launch.size(), " are running"));
  if (absl::Status status = launch.communicator().barrier({"floors"}); !status.ok())
    return status;
  const runtime::Peaks peaks = runtime::measurePeaks(launch.threads());
  if (launch.rank() == 0)
    printf("a rank of %ld, with %d threads: at most %.1f GB/s, read and written, and %.1f Gflop/s of f32\n",
           static_cast<long>(launch.size()), launch.threads(), peaks.movedBytesPerSecond / 1e9,
           peaks.flopsPerSecond / 1e9);
  for (auto plan : (**plans).getOps<exec::PlanOp>())
    if (absl::Status status = report(plan, flags, peaks, launch); !status.ok())
      return status;
  return absl::OkStatus();
}

} // namespace

int main(int argc, char **argv) {
  FloorFlags floors;
  LaunchOptions options;
  Flags flags("floors", "MODULE.mlir [flags]\nTimes what a step of a module cannot do without.");
  flags.addPositional("MODULE.mlir", &floors.path);
  flags.addZero(&floors.zero);
  flags.addInteger("rounds", &floors.rounds, 1, 1'000'000, "that count");
  options.addTo(flags);
  return launchMain(flags, argc, argv, options, [&](Launch &launch) { return run(floors, launch); });
}
