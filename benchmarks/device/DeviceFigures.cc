// Measures how close compiled steps come to the best that the device can do. Each
// figure times a compiled step and direct use of the device, in turns:
//
//   executor  a plan that launches a nearly empty kernel many times, and the same
//             launches without a plan
//   adamw     one step of AdamW on one variable, and a copy that moves as many
//             bytes
//   products  a chain of matrix products as a plan, and the same library calls
//             without a plan
//
// For each it prints a line of JSON: the seconds of both, median and minimum, and
// the ratios of direct to compiled (1 if the compiled step is as fast).
#include "compiler/Pipelines.h"
#include "compiler/graph/Graph.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/Session.h"
#include "compiler/launch/SessionTensors.h"
#include "dialects/exec/Exec.h"
#include "runtime/executor/Executor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "mlir/Parser/Parser.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

using namespace splitcast;

namespace {

struct FigureFlags {
  int64_t elements = 1 << 22, size = 256, products = 32, launches = 10'000, rounds = 20;
};

using Work = std::function<absl::Status()>;
using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Json summaryOf(const std::vector<double> &seconds) {
  return {{"median_s", median(seconds)}, {"min_s", *std::min_element(seconds.begin(), seconds.end())}};
}

/// Times both in turns. The first three rounds do not count: kernels are loaded in
/// the first, and captured in the second.
absl::StatusOr<Json> compare(const std::string &what, int64_t rounds, const Work &compiled, const Work &bare) {
  constexpr int64_t kWarmup = 3;
  std::vector<double> seconds[2];
  for (int64_t round = 0; round < kWarmup + rounds; ++round)
    for (int side = 0; side < 2; ++side) {
      const absl::Time begin = absl::Now();
      SPLITCAST_RETURN_IF_ERROR((side == 0 ? compiled : bare)());
      if (round >= kWarmup)
        seconds[side].push_back(absl::ToDoubleSeconds(absl::Now() - begin));
    }
  const double best[] = {*std::min_element(seconds[0].begin(), seconds[0].end()),
                         *std::min_element(seconds[1].begin(), seconds[1].end())};
  return Json{{"what", what},
              {"compiled", summaryOf(seconds[0])},
              {"bare", summaryOf(seconds[1])},
              {"ratio_median", median(seconds[1]) / median(seconds[0])},
              {"ratio_min", best[1] / best[0]}};
}

absl::StatusOr<std::unique_ptr<Session>> compile(Graph &graph, Launch &launch) {
  SPLITCAST_ASSIGN_OR_RETURN(mlir::ModuleOp module, graph.finish());
  return Session::create(module, sessionOptionsOf(launch), launch.device(), launch.communicator());
}

/// A buffer on the device, filled with zeros.
class DeviceBuffer {
public:
  static absl::StatusOr<DeviceBuffer> create(runtime::Device &device, int64_t bytes, runtime::Stream &stream) {
    SPLITCAST_ASSIGN_OR_RETURN(runtime::Buffer buffer, device.allocate(bytes));
    DeviceBuffer result(device, buffer);
    absl::Status status = device.clear(buffer, stream);
    status.Update(stream.synchronize());
    SPLITCAST_RETURN_IF_ERROR(status);
    return result;
  }
  runtime::Buffer get() const { return *memory; }

private:
  DeviceBuffer(runtime::Device &device, runtime::Buffer buffer)
      : memory(new runtime::Buffer(buffer), [&device](runtime::Buffer *owned) {
          device.release(*owned);
          delete owned;
        }) {}

  std::shared_ptr<runtime::Buffer> memory;
};

/// The number of arrays that AdamW reads or writes: it reads the variable, its
/// gradient and two moments, and writes all but the gradient.
constexpr int64_t kAdamArrays = 7;

absl::StatusOr<Json> adamw(const FigureFlags &flags, Launch &launch) {
  Graph graph({launch.options().deviceKind, {{"dp", 1}}});
  graph.function("train");
  VariableOptions constant;
  constant.trainable = false;
  Tensor weight = graph.variable("weight", {flags.elements}, Init::normal(0, 1));
  Tensor slope = graph.variable("slope", {flags.elements}, Init::normal(0, 1), constant);
  graph.minimize(sum(mul(weight, slope)), AdamW{1e-3});
  absl::StatusOr<std::unique_ptr<Session>> session = compile(graph, launch);
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = launch.device().createStream("copies");
  for (const absl::Status &status : {session.status(), stream.status()})
    SPLITCAST_RETURN_IF_ERROR(status);
  const int64_t bytes = kAdamArrays * flags.elements * static_cast<int64_t>(sizeof(float)); // read and written
  absl::StatusOr<DeviceBuffer> from = DeviceBuffer::create(launch.device(), bytes / 2, **stream),
                               to = DeviceBuffer::create(launch.device(), bytes / 2, **stream);
  for (const absl::Status &status : {from.status(), to.status()})
    SPLITCAST_RETURN_IF_ERROR(status);
  absl::StatusOr<Json> result = compare(
      "adamw", flags.rounds, [&] { return (*session)->run("train"); },
      [&] {
        absl::Status status = launch.device().copy(to->get(), from->get(), **stream);
        status.Update((*stream)->synchronize());
        return status;
      });
  if (result.ok()) {
    (*result)["elements"] = flags.elements;
    (*result)["bytes"] = bytes;
  }
  return result;
}

constexpr char kEmptyPlan[] = R"(
exec.space @arena 64 bytes
exec.plan @launches attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [],
                                outputs = []} {
  LAUNCHES
}
module @kernels {
  func.func @one(%to: memref<1xf32>) {
    BODY
    return
  }
}
)";

constexpr char kStore[] = R"(%c0 = arith.constant 0 : index
%one = arith.constant 1.0 : f32
memref.store %one, %to[%c0] : memref<1xf32>
)";

/// Returns the body of the kernel for a device of this kind.
std::string bodyFor(const std::string &deviceKind) {
  if (deviceKind == "cpu")
    return kStore;
  return absl::StrCat("%c1 = arith.constant 1 : index\n",
                      "gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) ",
                      "threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {\n", kStore, "gpu.terminator\n}\n");
}

absl::StatusOr<Json> executor(const FigureFlags &flags, Launch &launch) {
  std::string launches;
  for (int64_t i = 0; i < flags.launches; ++i)
    launches += "exec.launch @kernels::@one reads [] writes [#exec.range<arena, 0, 4>]\n";
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto plans = mlir::parseSourceString<mlir::ModuleOp>(
      absl::StrReplaceAll(kEmptyPlan, {{"LAUNCHES", launches}, {"BODY", bodyFor(launch.options().deviceKind)}}),
      &context);
  if (!plans)
    return absl::InternalError("the plan of launches does not verify");
  absl::StatusOr<std::unique_ptr<runtime::Executor>> bound =
      runtime::Executor::bind(*plans, launch.device(), launch.communicator());
  absl::StatusOr<std::unique_ptr<runtime::KernelLibrary>> library =
      launch.device().loadKernels(*plans->getOps<mlir::ModuleOp>().begin());
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = launch.device().createStream("launches");
  for (const absl::Status &status : {bound.status(), library.status(), stream.status()})
    SPLITCAST_RETURN_IF_ERROR(status);
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Launchable> kernel, (*library)->kernel("one"));
  const runtime::Buffer buffers[] = {(*bound)->space("arena").slice(0, 4)};
  absl::StatusOr<Json> result = compare(
      "executor", flags.rounds, [&] { return (*bound)->run("launches"); },
      [&] {
        absl::Status status;
        for (int64_t i = 0; i < flags.launches && status.ok(); ++i)
          status = kernel->launch(buffers, **stream);
        status.Update((*stream)->synchronize());
        return status;
      });
  if (result.ok()) {
    (*result)["launches"] = flags.launches;
    (*result)["microseconds_per_launch"] =
        (*result)["compiled"]["median_s"].get<double>() * 1e6 / static_cast<double>(flags.launches);
  }
  return result;
}

absl::StatusOr<Json> products(const FigureFlags &flags, Launch &launch) {
  Graph graph({launch.options().deviceKind, {{"dp", 1}}});
  graph.function("chain");
  Tensor weight = graph.variable("weight", {flags.size, flags.size}, Init::normal(0, 0.01));
  Tensor x = graph.variable("x", {flags.size, flags.size}, Init::normal(0, 1));
  for (int64_t i = 0; i < flags.products; ++i)
    x = matmul(x, weight);
  graph.output("y", sum(x));
  absl::StatusOr<std::unique_ptr<Session>> session = compile(graph, launch);
  absl::StatusOr<std::unique_ptr<runtime::Stream>> stream = launch.device().createStream("products");
  for (const absl::Status &status : {session.status(), stream.status()})
    SPLITCAST_RETURN_IF_ERROR(status);
  exec::LibraryCallAttrInterface product;
  (*session)->plan().walk([&](exec::LibraryOp op) { product = op.getCall(); });
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Launchable> call, launch.device().libraryCall(product));
  const int64_t bytes = flags.size * flags.size * static_cast<int64_t>(sizeof(float));
  std::vector<runtime::Buffer> buffers;
  std::vector<DeviceBuffer> owned;
  for (int i = 0; i < 3; ++i) {
    SPLITCAST_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::create(launch.device(), bytes, **stream));
    buffers.push_back(buffer.get());
    owned.push_back(buffer);
  }
  absl::StatusOr<Json> result = compare(
      "products", flags.rounds, [&] { return (*session)->run("chain"); },
      [&] {
        absl::Status status;
        for (int64_t i = 0; i < flags.products && status.ok(); ++i) {
          status = call->launch(buffers, **stream);
          std::swap(buffers[0], buffers[2]); // the next call multiplies this result
        }
        status.Update((*stream)->synchronize());
        return status;
      });
  if (result.ok()) {
    (*result)["size"] = flags.size;
    (*result)["products"] = flags.products;
  }
  return result;
}

absl::Status run(const FigureFlags &flags, Launch &launch) {
  if (launch.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat("this program runs on 1 rank, not on ", launch.size()));
  for (const auto &figure : {executor, adamw, products}) {
    SPLITCAST_ASSIGN_OR_RETURN(Json result, figure(flags, launch));
    printf("%s\n", result.dump().c_str());
    fflush(stdout);
  }
  return absl::OkStatus();
}

} // namespace

int main(int argc, char **argv) {
  FigureFlags figures;
  LaunchOptions options;
  Flags flags("device_figures",
              "[flags]\nCompares the times of compiled steps with direct use of the device, and prints JSON.");
  flags.addInteger("elements", &figures.elements, 1, int64_t{1} << 33,
                   "the number of elements of the variable that AdamW updates");
  flags.addInteger("size", &figures.size, 1, 1 << 16, "the number of rows and of columns of the matrices");
  flags.addInteger("products", &figures.products, 1, 100'000, "the number of matrix products in the chain");
  flags.addInteger("launches", &figures.launches, 1, 1'000'000, "the number of launches of the nearly empty kernel");
  flags.addInteger("rounds", &figures.rounds, 1, 1'000'000, "the number of counted rounds");
  options.addTo(flags);
  return launchMain(flags, argc, argv, options, [&](Launch &launch) { return run(figures, launch); });
}
