// Every op of nn against NumPy.
#include "tests/reference/tests/Vectors.h"
#include "tests/reference/GlobalInterpreter.h"
#include "tests/reference/tests/Fixture.h"

#include <set>

namespace splitcast::reference {
namespace {

class VectorsTest : public ReferenceTest {
protected:
  void SetUp() override {
    cases = readVectors(context);
    ASSERT_GT(cases.size(), 0u);
  }

  absl::StatusOr<std::vector<Tensor>> evaluate(const VectorCase &testCase) {
    auto module = testCase.module(context);
    if (!module)
      return absl::InvalidArgumentError("the case does not parse");
    absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(*module);
    if (!interpreter.ok())
      return interpreter.status();
    return interpreter->run("f", testCase.operands);
  }

  std::vector<VectorCase> cases;
};

TEST_F(VectorsTest, AllOpsGiveWhatNumPyGives) {
  for (const VectorCase &testCase : cases) {
    SCOPED_TRACE(testCase.text);
    absl::StatusOr<std::vector<Tensor>> results = evaluate(testCase);
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(results->size(), testCase.results.size());
    for (size_t i = 0; i < results->size(); ++i)
      expectResult(testCase, i, (*results)[i]);
    if (HasFatalFailure())
      return;
  }
}

// A new op without vectors fails here.
TEST_F(VectorsTest, EveryOpThatComputesHasVectors) {
  std::set<std::string> covered;
  for (const VectorCase &testCase : cases)
    covered.insert(testCase.op);
  std::vector<std::string> ops = opsWith<nn::ComputeOpInterface>(context, "nn");
  EXPECT_GT(ops.size(), 0u);
  for (const std::string &op : ops)
    EXPECT_TRUE(covered.count(op)) << op << " has no case in tests/vectors/gen_vectors.py";
}

} // namespace
} // namespace splitcast::reference
