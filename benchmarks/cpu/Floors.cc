// floors: estimates how long a step of a module would take on this machine if
// every op were as fast as possible.
//
//   mpirun -n 2 floors MODULE.mlir [--enable-zero=stage=N,...] [--rounds=9]
//
// MODULE.mlir is a module at the global level, such as examples write with
// --write-mlir, for as many ranks as run. Each product of the plan is timed as
// the plan calls it and as a direct call of oneDNN, in turns, on operands that are
// in no cache. All ranks measure at the same time, since they share the machine's
// memory. The time of kernels, copies and collectives is their bytes at the rate
// of a copy or of an update, whichever is faster on this machine. A collective's
// bytes are those that this rank reads and writes, in its own memory and in that
// of others. Prints a line per product and, for each plan, the sum of all times:
// the floor of a step. A real step can be faster if operands are in a cache, or
// if data is moved while a product is computed.
#include "benchmarks/cpu/RawProduct.h"
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/SessionTensors.h"
#include "compiler/tools/ModuleFile.h"
#include "runtime/executor/Profiler.h"
#include "runtime/host/Peaks.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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

/// The operands of a product have several copies, of this many bytes in all, which
/// are used in turn so that no cache holds them.
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

/// Several copies of the buffers of a product.
class Operands {
public:
  explicit Operands(runtime::Device &device) : device(device) {}
  ~Operands() {
    for (runtime::Buffer buffer : buffers)
      device.release(buffer);
  }

  absl::Status allocate(exec::MatmulAttr call) {
    int64_t all = 0;
    for (int64_t bytes : call.getOperandBytes())
      all += bytes;
    const int64_t turns = std::clamp<int64_t>(kTurnedBytes / std::max<int64_t>(all, 1), 1, kMostTurns);
    for (int64_t turn = 0; turn < turns; ++turn)
      for (int64_t bytes : call.getOperandBytes()) {
        SPLITCAST_ASSIGN_OR_RETURN(runtime::Buffer buffer, device.allocate(bytes));
        buffers.push_back(buffer);
        std::fill_n(buffer.data, bytes, std::byte{0});
      }
    return absl::OkStatus();
  }
  absl::Span<const runtime::Buffer> next() {
    turn = (turn + 3) % buffers.size();
    return absl::MakeConstSpan(buffers).subspan(turn, 3);
  }

private:
  runtime::Device &device;
  std::vector<runtime::Buffer> buffers;
  size_t turn = 0;
};

/// Times in seconds. `raw` is a direct call of oneDNN, the faster one if there are
/// two, and 0 if there is none.
struct Measured {
  double planMedian = 0, planLeast = 0, rawMedian = 0, rawLeast = 0;

  double floorMedian() const { return rawMedian > 0 ? std::min(planMedian, rawMedian) : planMedian; }
  double floorLeast() const { return rawLeast > 0 ? std::min(planLeast, rawLeast) : planLeast; }
};

using Way = std::function<absl::Status(absl::Span<const runtime::Buffer>)>;

absl::StatusOr<double> secondsOf(const Way &way, absl::Span<const runtime::Buffer> buffers) {
  const absl::Time begin = absl::Now();
  SPLITCAST_RETURN_IF_ERROR(way(buffers));
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

/// Times each way, in turns.
absl::StatusOr<std::vector<Times>> timeInTurns(const std::vector<Way> &ways, int64_t rounds, Operands &operands) {
  constexpr int64_t kWarmup = 2;
  std::vector<Times> times(ways.size());
  for (int64_t round = -kWarmup; round < rounds; ++round)
    for (size_t way = 0; way < ways.size(); ++way) {
      SPLITCAST_ASSIGN_OR_RETURN(double seconds, secondsOf(ways[way], operands.next()));
      if (round >= 0)
        times[way].seconds.push_back(seconds);
    }
  return times;
}

/// Measures one product. All ranks call it at the same point.
absl::StatusOr<Measured> measure(exec::MatmulAttr call, int64_t rounds, Launch &launch) {
  absl::StatusOr<std::unique_ptr<runtime::Launchable>> planned = launch.device().libraryCall(call);
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = launch.device().createStream("products");
  Operands operands(launch.device());
  absl::Status ready = operands.allocate(call);
  ready.Update(planned.status());
  ready.Update(stream.status());
  SPLITCAST_RETURN_IF_ERROR(launch.agree(ready, "preparing a product"));
  std::vector<Way> ways = {[&](auto buffers) { return (*planned)->launch(buffers, **stream); }};
  for (const absl::StatusOr<RawProduct> &raw : {rawPrimitive(call, launch.threads()), rawSgemm(call, launch.threads())})
    if (raw.ok())
      ways.push_back([raw = *raw](auto buffers) { return raw(buffers[0].data, buffers[1].data, buffers[2].data); });
  absl::StatusOr<std::vector<Times>> times = timeInTurns(ways, rounds, operands);
  SPLITCAST_RETURN_IF_ERROR(launch.agree(times.status(), "measuring products"));
  Measured result{times->front().median(), times->front().least()};
  for (size_t way = 1; way < times->size(); ++way) {
    const double median = (*times)[way].median(), least = (*times)[way].least();
    result.rawMedian = way == 1 ? median : std::min(result.rawMedian, median);
    result.rawLeast = way == 1 ? least : std::min(result.rawLeast, least);
  }
  return result;
}

/// What a step of a plan computes and moves.
struct Contents {
  llvm::MapVector<exec::MatmulAttr, int64_t> products; ///< how often each runs, in the order of their first runs
  double otherFlops = 0;                               ///< of library calls that are not products
  int64_t kernelBytes = 0, collectiveBytes = 0;
};

/// The bytes that a collective reads and writes on this rank: an all-gather copies
/// the blocks of the other ranks, a reduce-scatter reads a block of every rank and
/// writes their sum, an all-reduce does both, and others read and write all bytes
/// once. All blocks count as equally large.
int64_t bytesMoved(exec::CollectiveOp op) {
  auto group = mlir::SymbolTable::lookupNearestSymbolFrom<exec::GroupOp>(op, op.getGroupAttr());
  const auto ranks = static_cast<int64_t>(group.getRanks().size());
  const int64_t all = op.getData().getBytes(), own = all / ranks;
  const int64_t gathered = 2 * (all - own), reduced = (ranks + 1) * own;
  const llvm::StringRef kind = op.getRule().name;
  if (kind == "all_gather")
    return gathered;
  if (kind == "reduce_scatter")
    return reduced;
  return kind == "all_reduce" ? gathered + reduced : 2 * all;
}

bool isEmpty(exec::MatmulAttr call) {
  return call.getProducts() == 0 || call.getM() == 0 || call.getN() == 0 || call.getK() == 0;
}

Contents contentsOf(exec::PlanOp plan) {
  Contents result;
  runtime::Profiler profiler(0, nullptr); // it computes the bytes and flops of each op
  int64_t index = 0;
  for (mlir::Operation &op : plan.getBody().front()) {
    profiler.bound(&op, index++);
    const runtime::ProfiledOp &known = profiler.ops().back();
    auto library = mlir::dyn_cast<exec::LibraryOp>(op);
    if (auto product = library ? mlir::dyn_cast<exec::MatmulAttr>(library.getCall()) : exec::MatmulAttr()) {
      if (!isEmpty(product))
        ++result.products[product];
    } else if (library) {
      result.otherFlops += known.flops;
    } else if (auto collective = mlir::dyn_cast<exec::CollectiveOp>(op)) {
      result.collectiveBytes += bytesMoved(collective);
    } else if (!known.isOfRanks) {
      result.kernelBytes += known.bytes;
    }
  }
  return result;
}

void printProduct(exec::MatmulAttr product, int64_t runs, const Measured &measured) {
  std::string sizes;
  llvm::raw_string_ostream(sizes) << product;
  printf("%6ld %13.3f %9.3f", static_cast<long>(runs), measured.planMedian * 1e3, measured.planLeast * 1e3);
  if (measured.rawMedian > 0)
    printf(" %15.3f %9.3f %12.2f", measured.rawMedian * 1e3, measured.rawLeast * 1e3,
           measured.planMedian / measured.rawMedian);
  else
    printf(" %15s %9s %12s", "none", "none", "");
  printf("   %s\n", sizes.c_str());
}

absl::Status report(exec::PlanOp plan, const FloorFlags &flags, const runtime::Peaks &peaks, Launch &launch) {
  const Contents contents = contentsOf(plan);
  // Ranks measure their own products, one at a time, and meet after each: they
  // need equally many.
  SPLITCAST_RETURN_IF_ERROR(launch.agreeAlike(absl::StrCat(contents.products.size(), " products of different sizes"),
                                              "plans (the number of ranks must divide the batch)"));
  const bool prints = launch.rank() == 0;
  if (prints)
    printf("plan '%s':\n  runs  plan: median     least  oneDNN: median     least  plan/oneDNN   ms\n",
           plan.getSymName().str().c_str());
  double planSum = 0, floorMedian = 0, floorLeast = 0;
  for (const auto &[product, runs] : contents.products) {
    SPLITCAST_ASSIGN_OR_RETURN(Measured measured, measure(product, flags.rounds, launch));
    planSum += static_cast<double>(runs) * measured.planMedian;
    floorMedian += static_cast<double>(runs) * measured.floorMedian();
    floorLeast += static_cast<double>(runs) * measured.floorLeast();
    if (prints)
      printProduct(product, runs, measured);
  }
  if (!prints)
    return absl::OkStatus();
  const double kernels = static_cast<double>(contents.kernelBytes) / peaks.movedBytesPerSecond,
               collectives = static_cast<double>(contents.collectiveBytes) / peaks.movedBytesPerSecond,
               others = contents.otherFlops / peaks.flopsPerSecond;
  printf("  products: the plan's %.2f ms, the faster of both %.2f ms (least %.2f)\n", planSum * 1e3, floorMedian * 1e3,
         floorLeast * 1e3);
  printf("  kernels and copies: %.1f MB, %.2f ms; collectives: %.1f MB, %.2f ms; other calls: %.1f Gflop, %.2f ms\n",
         contents.kernelBytes / 1e6, kernels * 1e3, contents.collectiveBytes / 1e6, collectives * 1e3,
         contents.otherFlops / 1e9, others * 1e3);
  printf("  floor: %.2f ms (least %.2f)\n", (floorMedian + kernels + collectives + others) * 1e3,
         (floorLeast + kernels + collectives + others) * 1e3);
  fflush(stdout);
  return absl::OkStatus();
}

/// Compiles the plan of this rank.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> planOf(const FloorFlags &flags, mlir::MLIRContext &context,
                                                         Launch &launch) {
  SPLITCAST_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                             parseModuleFile(flags.path, &context, /*allowBytecode=*/false));
  CompileOptions compile = sessionOptionsOf(launch).compile;
  compile.zero = flags.zero;
  SPLITCAST_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> global, compileGlobal(*module, compile));
  return compilePlan(*global, compile, launch.rank());
}

absl::Status run(const FloorFlags &flags, Launch &launch) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto plans = planOf(flags, context, launch);
  SPLITCAST_RETURN_IF_ERROR(launch.agree(plans.status(), "compiling"));
  const auto ranks = (**plans)->getAttrOfType<mlir::IntegerAttr>("ccl.ranks");
  if (ranks && ranks.getInt() != launch.size())
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.path, "' is for ", ranks.getInt(), " ranks, but ", launch.size(), " are running"));
  SPLITCAST_RETURN_IF_ERROR(launch.communicator().barrier({"floors"}));
  const runtime::Peaks peaks = runtime::measurePeaks(launch.threads());
  if (launch.rank() == 0)
    printf("rank 0 of %ld, with %d threads: at most %.1f GB/s (read and written) and %.1f Gflop/s in f32\n",
           static_cast<long>(launch.size()), launch.threads(), peaks.movedBytesPerSecond / 1e9,
           peaks.flopsPerSecond / 1e9);
  for (auto plan : (**plans).getOps<exec::PlanOp>())
    SPLITCAST_RETURN_IF_ERROR(report(plan, flags, peaks, launch));
  return absl::OkStatus();
}

} // namespace

int main(int argc, char **argv) {
  FloorFlags floors;
  LaunchOptions options;
  Flags flags("floors", "MODULE.mlir [flags]\nEstimates how long a step of a module takes at least on this machine.");
  flags.addPositional("MODULE.mlir", &floors.path);
  flags.addZero(&floors.zero);
  flags.addInteger("rounds", &floors.rounds, 1, 1'000'000, "the number of counted runs of each product");
  options.addTo(flags);
  return launchMain(flags, argc, argv, options, [&](Launch &launch) { return run(floors, launch); });
}
