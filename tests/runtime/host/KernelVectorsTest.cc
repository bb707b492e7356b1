// Every op, compiled by the whole compiler for this CPU, and for a GPU whose threads the CPU runs, against NumPy: on
// one rank, alone in a function.
#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"
#include "tests/reference/tests/Fixture.h"
#include "tests/reference/tests/Vectors.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <map>

namespace splitcast::runtime {
namespace {

using reference::VectorCase;

/// Where the pieces of random ops begin, by function: the global level does not say it, and 'sbp-localize' sets it.
class Places {
public:
  void takeFrom(mlir::ModuleOp global) {
    global.walk([&](mlir::Operation *op) {
      if (!mlir::isa<nn::PlacedOpInterface>(op))
        return;
      for (const char *name : {"offsets", "global_shape"})
        places[functionOf(op)].push_back({name, op->removeAttr(name)});
    });
  }
  void giveTo(mlir::ModuleOp local) {
    local.walk([&](mlir::Operation *op) {
      if (mlir::isa<nn::PlacedOpInterface>(op))
        for (const auto &[name, place] : places.at(functionOf(op)))
          place ? op->setAttr(name, place) : (void)op->removeAttr(name);
    });
  }

private:
  static std::string functionOf(mlir::Operation *op) {
    return op->getParentOfType<mlir::func::FuncOp>().getName().str();
  }

  std::map<std::string, std::vector<std::pair<const char *, mlir::Attribute>>> places;
};

/// One module of all these cases, as plans.
absl::StatusOr<differential::Outcome> runAll(const std::vector<VectorCase> &cases, const std::string &deviceKind,
                                             mlir::MLIRContext &context) {
  std::string text = "module attributes {sbp.placement = #sbp.placement<\"" + deviceKind + "\", [dp = 1]>} {\n";
  differential::Experiment experiment;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string name = "f" + std::to_string(i);
    text += cases[i].function(name);
    experiment.calls.push_back({name, cases[i].operands});
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text + "}\n", &context);
  if (!module)
    return absl::InvalidArgumentError("the cases do not parse:\n" + text);
  Places places;
  places.takeFrom(*module);
  for (const std::string &pass : differential::globalPasses({}))
    if (absl::Status status = differential::runPass(*module, pass); !status.ok())
      return status;
  auto local = differential::localizeAll(*module);
  if (!local.ok())
    return local.status();
  places.giveTo(*local->front());
  std::vector<std::string> passes = differential::localPasses({}), plan = differential::planPasses();
  passes.insert(passes.end(), plan.begin(), plan.end());
  for (const std::string &pass : passes)
    if (absl::Status status = differential::runPass(*local->front(), pass); !status.ok())
      return status;
  return differential::runPlans({local->front().get()}, experiment, /*objectCacheDir=*/"");
}

/// A GPU makes products of attention of two parts of each number, and the second part of an infinity is a NaN: where an
/// operand is infinite, it may give a NaN instead of what is expected (nn.attention says so). Anything else it may not.
bool mayGiveNan(const VectorCase &testCase, llvm::StringRef deviceKind) {
  return deviceKind == "cuda" && llvm::StringRef(testCase.op).starts_with("nn.attention") &&
         llvm::any_of(testCase.operands, [](const reference::Tensor &operand) {
           return llvm::any_of(operand.floats, [](double number) { return std::isinf(number); });
         });
}

/// Puts what is expected where a NaN is found.
void replaceNans(reference::Tensor &found, const reference::Tensor &expected) {
  for (size_t i = 0; i < found.floats.size(); ++i)
    if (std::isnan(found.floats[i]))
      found.floats[i] = expected.floats[i];
}

class KernelVectorsTest : public testing::TestWithParam<const char *> {};

TEST_P(KernelVectorsTest, CompiledOpsGiveWhatNumPyGives) {
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  std::map<std::string, std::vector<VectorCase>> byOp;
  for (const VectorCase &testCase : reference::readVectors(*context))
    byOp[testCase.op].push_back(testCase);
  EXPECT_EQ(byOp.size(), reference::opsWith<nn::ComputeOpInterface>(*context, "nn").size());
  for (const auto &[op, cases] : byOp) {
    SCOPED_TRACE(op);
    absl::StatusOr<differential::Outcome> outcome = runAll(cases, GetParam(), *context);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok())
      continue; // the other ops are compared all the same
    ASSERT_EQ(outcome->results.size(), cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].text);
      ASSERT_EQ(outcome->results[i].size(), cases[i].results.size());
      for (size_t result = 0; result < cases[i].results.size(); ++result) {
        if (mayGiveNan(cases[i], GetParam()))
          replaceNans(outcome->results[i][result], cases[i].results[result]);
        expectResult(cases[i], result, outcome->results[i][result]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, KernelVectorsTest, testing::Values("cpu", "cuda"));

} // namespace
} // namespace splitcast::runtime
