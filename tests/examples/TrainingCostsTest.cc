//===- TrainingCostsTest.cc - What each way to train sends and holds, as predicted ----===//
//
// The models are those that the GPT example writes for its flags. The binary runs itself under mpirun, once per model:
// a rank opens a session for each way of ZeRO, and compares what it hands to MPI in each step with the report of its
// plan, and what it asks its device for, and touches of that, with the predicted peak, all to the byte.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "dialects/sbp/Sbp.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/mpi/MpiRuntime.h"
#include "tests/compiler/prediction/Measured.h"
#include "tests/examples/TrainingRuns.h"
#include "tests/runtime/mpi/Mpirun.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <iostream>

namespace splitcast {
namespace {

//===----------------------------------------------------------------------===//
// A rank
//===----------------------------------------------------------------------===//

/// Those of --enable-zero. Each stage, strategy, size of buckets, type and way of updating is in one of them.
constexpr const char *kWays[] = {"stage=0,compute-type=bf16",
                                 "stage=1,strategy=whole,bucket-bytes=3000",
                                 "stage=1,strategy=tensor,compute-type=bf16,accumulate=7",
                                 "stage=2,update=reduced,whole-bytes=100,recompute=elementwise",
                                 "stage=2,strategy=whole,compute-type=f16,accumulate=2,accumulate-order=per-step",
                                 "stage=3,strategy=whole,recompute=yes",
                                 "stage=3,compute-type=bf16,bucket-bytes=3000,prefetch=2,keep=always",
                                 "stage=3,strategy=tensor,accumulate=2,keep=step"};

absl::Status compareWay(mlir::MLIRContext &context, const std::string &path, const std::string &zero,
                        runtime::Communicator &communicator) {
  const char *directory = std::getenv("TEST_TMPDIR");
  prediction::CountingDevice device(absl::StrCat(directory ? directory : "/tmp", "/kernels"));
  SessionOptions options;
  if (const std::optional<std::string> wrong = sbp::parseEnableZero(zero, &options.compile.zero))
    return absl::InvalidArgumentError(*wrong);
  mlir::OwningOpRef<mlir::ModuleOp> source = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!source)
    return absl::NotFoundError(path);
  auto session = Session::create(*source, options, device, communicator);
  if (!session.ok())
    return session.status();
  for (int step = 0; step < 2; ++step) // inputs are zero, which changes no byte count
    for (const std::string &function : (*session)->functions())
      if (absl::Status status = prediction::runAndCompareTraffic(**session, function); !status.ok())
        return status;
  for (const std::string &function : (*session)->functions())
    if (absl::Status status = prediction::compareHeld(device, (*session)->memoryReport(function), function);
        !status.ok())
      return status;
  return absl::OkStatus();
}

int runAsRank(const std::string &path) {
  auto mpi = runtime::MpiRuntime::create();
  if (!mpi.ok())
    return 3;
  auto transport = (*mpi)->createTransport();
  if (!transport.ok())
    return 3;
  auto communicator = runtime::createHostCommunicator(*std::move(transport), {absl::Seconds(60)});
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  for (const char *zero : kWays)
    if (absl::Status status = compareWay(context, path, zero, *communicator); !status.ok()) {
      std::cerr << "rank " << (*mpi)->rank() << ", " << zero << ": " << status.message() << std::endl;
      (*mpi)->abortJob(1);
    }
  return 0;
}

//===----------------------------------------------------------------------===//
// The models
//===----------------------------------------------------------------------===//

/// What is trained, and how.
struct Training {
  const char *name; ///< of the test
  std::vector<std::string> flags;
  int64_t ranks = 3;
};

const std::vector<Training> kTrainings = {
    {"Adapters", {"--adapters=2"}},
    {"Neox", {"--neox"}},
    {"FrozenNeox", {"--neox", "--freeze=wte.weight,out.weight,ln.*,h0.*"}},
    {"ClippedByNorm", {"--clip-norm=0.25", "--optimizer=lamb", "--group=matrices:*.up.weight,*.down.weight:muon"}},
    {"ClippedByValue", {"--clip-value=0.1", "--schedule=cosine,steps=9,warmup=2"}},
    {"EachOtherOptimizer",
     {"--optimizer=adam", "--group=a:*.up.weight:sgd", "--group=b:*.up.bias:momentum", "--group=c:*.down.*:nesterov",
      "--group=d:*.query.weight:lion", "--group=e:h0.key.weight:adagrad", "--group=f:*.value.*:rmsprop"}},
    {"FourCopies", {"--mesh=dp=4"}, 4},
    {"BlocksInFour", {"--mesh=tp=4"}, 4},
    {"DividedBlocks", {"--mesh=dp=2,tp=2"}, 4},
    {"Stages", {"--mesh=dp=2,pp=2", "--neox"}, 4},
    {"StagesOfDividedBlocks", {"--mesh=pp=2,tp=2"}, 4},
    {"CopiesOfStagesOfDividedBlocks", {"--mesh=dp=2,pp=2,tp=2"}, 8}};

class TrainingCosts : public ::testing::TestWithParam<Training> {};

TEST_P(TrainingCosts, AreThoseThatWerePredicted) {
  const std::string directory = makeWorkDirectory();
  Command write = {programPath("examples/gpt/gpt"),
                   "--text=text",
                   "--layers=2",
                   "--heads=4",
                   "--width=32",
                   "--context=10",
                   "--batch=14",
                   "--dropout=0.25",
                   "--sample=0",
                   "--steps=0",
                   "--loss-scale=initial=1024",
                   "--write-mlir=model.mlir"};
  const JobResult written = runIn(directory, GetParam().ranks, with(write, GetParam().flags));
  ASSERT_TRUE(written.succeeded()) << written.describe();
  const runtime::MpirunResult result = runtime::runUnderMpirun(GetParam().ranks, {directory + "/model.mlir"}, 120);
  EXPECT_EQ(result.exitCode, 0) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Gpt, TrainingCosts, ::testing::ValuesIn(kTrainings),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace splitcast

int main(int argc, char **argv) {
  if (argc == 2 && argv[1][0] != '-')
    return splitcast::runAsRank(argv[1]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
