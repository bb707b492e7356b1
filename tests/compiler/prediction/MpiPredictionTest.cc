//===- MpiPredictionTest.cc - What MPI is given, and what the system counts ----------===//
//
// The binary runs itself under mpirun. A rank compares what it hands to MPI in one step (counted in place of MPI's own
// functions) with the report of its plan, and the system's high-water mark of its memory with the predicted peak.
//
//===----------------------------------------------------------------------===//
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "passes/plan/Reports.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/Variables.h"
#include "runtime/host/HostCommunicator.h"
#include "runtime/host/HostDevice.h"
#include "runtime/mpi/MpiRuntime.h"
#include "tests/compiler/prediction/Model.h"
#include "tests/runtime/mpi/CountingMpi.h"
#include "tests/runtime/mpi/Mpirun.h"

#include "mlir/Parser/Parser.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>

namespace splitcast::prediction {
namespace {

/// Wide enough that a forgotten buffer of one layer is more than the slack.
constexpr int64_t kWidth = 3500;
constexpr int64_t kSlackBytes = 32'000'000;

/// The process's high-water mark of resident memory.
int64_t highWaterBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stoll(line.substr(6)) * 1024;
  return 0;
}

/// "" or what is wrong.
std::string measure(runtime::MpiRuntime &mpi, int stage) {
  auto transport = mpi.createTransport();
  if (!transport.ok())
    return std::string(transport.status().message());
  auto communicator = runtime::createHostCommunicator(*std::move(transport), {absl::Seconds(60)});
  const char *directory = std::getenv("TEST_TMPDIR");
  auto device = runtime::createHostDevice({1, directory ? std::string(directory) + "/kernels" : ""});
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto source = mlir::parseSourceString<mlir::ModuleOp>(*modelText(mpi.size(), kWidth), &context);
  CompileOptions options;
  options.zero.stage = stage;
  auto global = compileGlobal(*source, options);
  auto plans = global.ok() ? compilePlan(**global, options, mpi.rank()) : global.status();
  if (!plans.ok())
    return std::string(plans.status().message());
  auto plan = *(*plans)->getOps<exec::PlanOp>().begin();
  std::string function = plan.getSymName().str();
  for (auto kernels : (*plans)->getOps<mlir::ModuleOp>()) // so that the compiler's own memory is held before
    if (absl::Status status = device->loadKernels(kernels).status(); !status.ok())
      return std::string(status.message());
  int64_t heldBytes = highWaterBytes(), predictedBytes = reportMemory(**plans, plan).peakBytes();
  auto executor = runtime::Executor::bind(**plans, *device, *communicator);
  if (!executor.ok())
    return std::string(executor.status().message());
  for (int step = 0; step < 2; ++step) { // inputs and variables are zero, which changes no byte count
    sbp::Traffic before = runtime::sentOverMpi();
    if (absl::Status status = (*executor)->run(function); !status.ok())
      return std::string(status.message());
    sbp::Traffic after = runtime::sentOverMpi();
    int64_t bytes = after.bytes - before.bytes, messages = after.messages - before.messages;
    for (const CommunicationReport::Entry &entry : reportCommunication(plan).entries) {
      bytes -= entry.bytesSent;
      messages -= entry.messages;
    }
    if (bytes != 0 || messages != 0)
      return "MPI was given " + std::to_string(bytes) + " bytes and " + std::to_string(messages) +
             " messages more than predicted";
  }
  int64_t usedBytes = highWaterBytes() - heldBytes;
  if (usedBytes > predictedBytes + kSlackBytes)
    return "the process's high-water mark rose by " + std::to_string(usedBytes) + " bytes, where " +
           std::to_string(predictedBytes) + " were predicted";
  return "";
}

int runAsRank(int stage) {
  auto mpi = runtime::MpiRuntime::create();
  if (!mpi.ok())
    return 3;
  std::string wrong = measure(**mpi, stage);
  if (wrong.empty())
    return 0;
  std::cerr << "rank " << (*mpi)->rank() << ": " << wrong << std::endl;
  (*mpi)->abortJob(1);
}

class MpiPrediction : public testing::TestWithParam<int> {};

TEST_P(MpiPrediction, IsWhatIsMeasured) {
  for (int64_t ranks : {2, 3}) {
    runtime::MpirunResult result = runtime::runUnderMpirun(ranks, {"stage", std::to_string(GetParam())}, 120);
    EXPECT_EQ(result.exitCode, 0) << result.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, MpiPrediction, testing::Values(0, 1, 2, 3));

} // namespace
} // namespace splitcast::prediction

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "stage") == 0)
    return splitcast::prediction::runAsRank(std::atoi(argv[2]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
