//===- MpiPredictionTest.cc - What MPI is given, and what the system counts ----------===//
//
// The binary runs itself under mpirun. A rank compares what it hands to MPI in one step (counted in place of MPI's own
// functions) with the report of its plan; what the session asks its device for, and which pages of that it touches,
// with the predicted peak, to the byte; and how far the session raises the system's high-water mark of its memory with
// that peak, too, since a session may hold more than it asks a device for: neither may be more than the other.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "compiler/launch/Session.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/mpi/MpiRuntime.h"
#include "tests/compiler/prediction/Measured.h"
#include "tests/compiler/prediction/Model.h"
#include "tests/runtime/mpi/Mpirun.h"

#include "mlir/Parser/Parser.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <malloc.h>

namespace splitcast::prediction {
namespace {

/// What the system may count besides: pages of libraries that are first used, and the compiler's modules. A forgotten
/// buffer of one layer, a copy of the inputs or of a variable's initial values is more.
constexpr int64_t kSlackBytes = 10'000'000;

/// Of layers whose training needs far more than the other function; a buffer of one has 16 MB.
constexpr int64_t kWidth = 2000;

/// An input of 80 MB, and one of 40 MB that nothing reads; three ranks have 7, 7 and 6 rows of the one, and 4, 3 and 3
/// of the other.
absl::StatusOr<std::string> inputText(int64_t ranks) {
  Graph graph({.deviceKind = "cpu", .axes = {{"dp", ranks}}});
  graph.variable("row", {16}, Init::constant(0)); // without one there is no persistent space
  graph.input("unused", runtime::ElementType::F32, {10, 1'000'000}, split(0));
  graph.output("sum", sum(graph.input("x", runtime::ElementType::F32, {20, 1'000'000}, split(0))));
  return graph.text();
}

/// A variable of 10 MB, of a type whose initial values are computed in doubles.
absl::StatusOr<std::string> halvesText(int64_t ranks) {
  Graph graph({.deviceKind = "cpu", .axes = {{"dp", ranks}}});
  Tensor x = graph.input("x", runtime::ElementType::F32, {8, 4}, split(0));
  VariableOptions halves;
  halves.type = runtime::ElementType::BF16;
  graph.variable("halves", {5'000'000}, Init::constant(0.5), halves);
  Tensor loss = sum(mul(x, graph.variable("row", {4}, Init::constant(1))));
  graph.minimize(loss, Sgd{.lr = 1});
  graph.output("loss", loss);
  return graph.text();
}

/// Micro-batches, whose functions are told their numbers.
absl::StatusOr<std::string> microBatchesText(int64_t ranks) {
  Graph graph({.deviceKind = "cpu", .axes = {{"dp", ranks}}});
  graph.function("train");
  Tensor x = graph.input("x", runtime::ElementType::F32, {36, 40}, split(0));
  Tensor loss = mean(linear(dropout(linear(x, "first", 50), 0.5), "second", 3));
  graph.minimize(loss, Adam{.lr = 0.01}, {.accumulate = 6});
  graph.output("loss", loss);
  return graph.text();
}

/// As "layers", with its variables written beside the second run.
constexpr char kSaves[] = "saves";

absl::StatusOr<std::string> textOf(const std::string &model, int64_t ranks) {
  if (model == "layers" || model == kSaves)
    return modelText(ranks, kWidth);
  if (model == "micro-batches")
    return microBatchesText(ranks);
  return model == "input" ? inputText(ranks) : halvesText(ranks);
}

/// A line of the system's account of this process, such as "VmRSS:", in bytes.
int64_t processBytes(const std::string &name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(name, 0) == 0)
      return std::stoll(line.substr(name.size())) * 1024;
  return 0;
}

std::string testDirectory() {
  const char *directory = std::getenv("TEST_TMPDIR");
  return directory ? directory : "/tmp";
}

/// One rank of one model.
class Measurement {
public:
  explicit Measurement(runtime::MpiRuntime &mpi) : mpi(mpi) {}

  /// OK: measured is predicted.
  absl::Status run(const std::string &model, int stage) {
    auto transport = mpi.createTransport();
    if (!transport.ok())
      return transport.status();
    communicator = runtime::createHostCommunicator(*std::move(transport), {absl::Seconds(60)});
    device = std::make_unique<CountingDevice>(testDirectory() + "/kernels");
    options.compile.zero.policy.setStage(stage);
    options.savesBeside = model == kSaves;
    absl::Status status = loadKernels(model);
    // Whatever a first session needs once per process.
    if (status.ok())
      status = openAndRun(*modelText(mpi.size(), 20));
    if (status.ok())
      status = restartHighWater();
    return status.ok() ? openAndRun(*textOf(model, mpi.size())) : status;
  }

private:
  using Module = mlir::OwningOpRef<mlir::ModuleOp>;

  Module parse(const std::string &text) { return mlir::parseSourceString<mlir::ModuleOp>(text, &context); }

  /// Compiles the kernels, so that the session only reads them.
  absl::Status loadKernels(const std::string &model) {
    Module source = parse(*textOf(model, mpi.size()));
    auto global = compileGlobal(*source, options.compile);
    auto plans = global.ok() ? compilePlan(**global, options.compile, mpi.rank()) : global.status();
    absl::Status status = plans.status();
    if (status.ok())
      for (auto kernels : (*plans)->getOps<mlir::ModuleOp>())
        status.Update(device->loadKernels(kernels).status());
    return status;
  }

  /// From now on the high-water mark is that of what comes, and not of what compiling took.
  absl::Status restartHighWater() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    before = processBytes("VmRSS:");
    if (const int64_t mark = processBytes("VmHWM:"); mark > before + kSlackBytes)
      return absl::UnavailableError("this system does not restart the high-water mark: it is " + std::to_string(mark) +
                                    " bytes, of which " + std::to_string(before) + " are resident");
    return absl::OkStatus();
  }

  /// Two runs of every function; what is measured of the last session counts.
  absl::Status openAndRun(const std::string &text) {
    Module source = parse(text);
    auto session = Session::create(*source, options, *device, *communicator);
    if (!session.ok())
      return session.status();
    for (int step = 0; step < 2; ++step)
      if (absl::Status status = runAll(**session); !status.ok())
        return status;
    if (before == 0)
      return absl::OkStatus();
    const int64_t used = processBytes("VmHWM:") - before;
    for (const std::string &function : (*session)->functions())
      if (absl::Status status = compare(used, (*session)->memoryReport(function), function); !status.ok())
        return status;
    return absl::OkStatus();
  }

  /// As a user writes them, and zero, which changes no byte count: pages that nobody touched are not there.
  static absl::Status writeInputs(Session &session, const std::string &function) {
    auto inputs = session.inputs(function);
    absl::Status status = inputs.status();
    for (size_t i = 0; status.ok() && i < inputs->size(); ++i) {
      auto piece = session.inputPiece(function, i);
      status = piece.status();
      if (piece.ok())
        std::fill(piece->begin(), piece->end(), std::byte{0});
    }
    return status;
  }

  absl::Status runAll(Session &session) {
    std::unique_ptr<runtime::PendingSave> save;
    if (options.savesBeside) {
      auto begun = session.beginSave(testDirectory() + "/variables");
      if (!begun.ok())
        return begun.status();
      save = *std::move(begun);
    }
    for (const std::string &function : session.functions()) {
      absl::Status status = writeInputs(session, function);
      if (status.ok())
        status = runAndCompareTraffic(session, function);
      if (!status.ok())
        return status;
    }
    return save ? save->finish() : absl::OkStatus();
  }

  absl::Status compare(int64_t used, const MemoryReport &report, const std::string &function) {
    const int64_t predicted = report.peakBytes();
    if (absl::Status status = compareHeld(*device, report, function); !status.ok())
      return status;
    if (std::abs(used - predicted) > kSlackBytes)
      return absl::DataLossError("the process's high-water mark rose by " + std::to_string(used) + " bytes, where " +
                                 std::to_string(predicted) + " were predicted for '" + function + "'");
    return absl::OkStatus();
  }

  static mlir::DialectRegistry allDialects() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  runtime::MpiRuntime &mpi;
  mlir::MLIRContext context{allDialects(), mlir::MLIRContext::Threading::DISABLED};
  SessionOptions options;
  std::unique_ptr<runtime::Communicator> communicator;
  std::unique_ptr<CountingDevice> device;
  int64_t before = 0; ///< resident before the session that is measured
};

int runAsRank(const std::string &model, int stage) {
  auto mpi = runtime::MpiRuntime::create();
  if (!mpi.ok())
    return 3;
  absl::Status status = Measurement(**mpi).run(model, stage);
  if (status.ok())
    return 0;
  std::cerr << "rank " << (*mpi)->rank() << ": " << status.message() << std::endl;
  (*mpi)->abortJob(1);
}

class MpiPrediction : public testing::TestWithParam<int> {};

void expectMeasuredIsPredicted(int64_t ranks, const std::string &model, int stage) {
  runtime::MpirunResult result = runtime::runUnderMpirun(ranks, {model, std::to_string(stage)}, 120);
  EXPECT_EQ(result.exitCode, 0) << result.output;
}

TEST_P(MpiPrediction, IsWhatIsMeasured) {
  for (int64_t ranks : {2, 3})
    expectMeasuredIsPredicted(ranks, "layers", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Stages, MpiPrediction, testing::Values(0, 1, 2, 3));

TEST(MpiPrediction, OfInputs) {
  for (int64_t ranks : {2, 3})
    expectMeasuredIsPredicted(ranks, "input", 0);
}

TEST(MpiPrediction, OfMicroBatches) { expectMeasuredIsPredicted(3, "micro-batches", 2); }

TEST(MpiPrediction, OfVariablesThatAreSavedBesideTraining) { expectMeasuredIsPredicted(3, "saves", 2); }

TEST(MpiPrediction, OfInitialValues) { expectMeasuredIsPredicted(2, "halves", 0); }

} // namespace
} // namespace splitcast::prediction

int main(int argc, char **argv) {
  if (argc == 3)
    return splitcast::prediction::runAsRank(argv[1], std::atoi(argv[2]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
