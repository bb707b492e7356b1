// Every boxing of a tensor of one or two dimensions on a mesh, as collectives: from each signature to each that has no
// addends, divisible and ragged, in the simulator and exact. Which steps a boxing takes is tested in
// tests/dialects/sbp/algebra; here are the ops that a step becomes on each rank.
#include "tests/differential/BoxingModule.h"
#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace splitcast::differential {
namespace {

class BoxingsTest : public testing::TestWithParam<BoxingModule> {
protected:
  /// A call of each function with integers.
  Experiment callsOf(size_t functions) {
    Experiment experiment;
    for (size_t i = 0; i < functions; ++i) {
      Tensor input = Tensor::zeros(GetParam().argumentShape(), mlir::FloatType::getF32(context.get()));
      for (double &element : input.floats)
        element = static_cast<double>(engine() % 64);
      experiment.calls.push_back({absl::StrCat("f", i), {std::move(input)}});
    }
    return experiment;
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
  std::mt19937 engine{7};
};

TEST_P(BoxingsTest, GiveTheSameTensor) {
  const std::vector<BoxingPair> pairs = GetParam().allPairs();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(GetParam().functions(pairs), context.get());
  ASSERT_TRUE(module);
  for (const std::string &pass : globalPasses({}))
    ASSERT_TRUE(runPass(*module, pass).ok()) << pass;
  const Experiment experiment = callsOf(pairs.size());
  absl::StatusOr<Outcome> whole = runGlobal(*module, experiment);
  ASSERT_TRUE(whole.ok()) << whole.status();
  absl::StatusOr<std::vector<mlir::OwningOpRef<mlir::ModuleOp>>> ranks = localizeAll(*module);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  std::vector<mlir::ModuleOp> modules;
  for (mlir::OwningOpRef<mlir::ModuleOp> &rank : *ranks)
    modules.push_back(*rank);
  absl::StatusOr<Outcome> pieces = runLocal(modules, experiment);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const absl::Status same = compare({{whole->results[i]}, {}}, {{pieces->results[i]}, {}}, Agreement::Values);
    EXPECT_TRUE(same.ok()) << pairs[i].text() << ": " << same;
  }
  RecordProperty("boxings", static_cast<int>(pairs.size()));
  printf("%zu boxings\n", pairs.size());
}

INSTANTIATE_TEST_SUITE_P(
    Meshes, BoxingsTest,
    testing::Values(BoxingModule{{2}, {4, 6}}, BoxingModule{{2}, {3, 1}}, BoxingModule{{3}, {6, 3}},
                    BoxingModule{{3}, {7, 2}}, BoxingModule{{4}, {4, 8}}, BoxingModule{{4}, {3, 5}},
                    BoxingModule{{2, 2}, {4, 8}}, BoxingModule{{2, 2}, {5, 3}}, BoxingModule{{2, 3}, {6, 12}},
                    BoxingModule{{2, 3}, {7, 5}}, BoxingModule{{2, 3}, {1, 4}}, BoxingModule{{2, 2}, {64}},
                    BoxingModule{{2, 3}, {7}}, BoxingModule{{2, 2}, {40'000}}, BoxingModule{{2, 3}, {33'333}},
                    BoxingModule{{2, 2, 2}, {16}}, BoxingModule{{2, 2, 2}, {11}}, BoxingModule{{2, 2, 2}, {8, 16}},
                    BoxingModule{{2, 2, 2}, {5, 3}}, BoxingModule{{2, 2, 2}, {0, 3}}));
/// From and to what one rank of an axis has alone, scalars included.
INSTANTIATE_TEST_SUITE_P(Coordinates, BoxingsTest,
                         testing::Values(BoxingModule{{2}, {}, true}, BoxingModule{{3}, {4, 7}, true},
                                         BoxingModule{{9}, {2, 20}, true}, BoxingModule{{2, 2}, {}, true},
                                         BoxingModule{{2, 3}, {7}, true}, BoxingModule{{3, 2}, {5, 3}, true},
                                         BoxingModule{{2, 2, 2}, {}, true}));

} // namespace
} // namespace splitcast::differential
