// Where a program was written is no part of it.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/Ranks.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"

#include <gtest/gtest.h>

namespace splitcast {
namespace {

void build(Graph &graph, Caller at) {
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0), at);
  Tensor loss = mean(relu(linear(x, "layer", 3, {}, at), at), at);
  graph.minimize(loss, Adam{0.1}, {}, at);
  graph.output("loss", loss, at);
}

// Ranks agree on a program that each has from another line, even where locations are printed.
TEST(Locations, AreNoPartOfTheProgramThatRanksCompare) {
  mlir::registerAsmPrinterCLOptions();
  const char *const arguments[] = {"test", "--mlir-print-debuginfo"};
  ASSERT_TRUE(llvm::cl::ParseCommandLineOptions(2, arguments));
  const Caller lines[] = {
      Caller::here(),
      Caller::here(),
  };
  absl::Status status = differential::onRanks(2, "", [&](runtime::Device &device, runtime::Communicator &communicator) {
    Graph graph({"cpu", {{"dp", 2}}});
    build(graph, lines[communicator.rank()]);
    absl::StatusOr<mlir::ModuleOp> module = graph.finish();
    return module.ok() ? Session::create(*module, SessionOptions(), device, communicator).status() : module.status();
  });
  EXPECT_TRUE(status.ok()) << status;
}

} // namespace
} // namespace splitcast
