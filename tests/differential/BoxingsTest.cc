// Every boxing of a tensor of two dimensions on a mesh, as collectives: from each signature to each that has no
// addends, divisible and ragged, in the simulator and exact. Which steps a boxing takes is tested in
// tests/dialects/sbp/algebra; here are the ops that a step becomes on each rank.
#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

#include "dialects/sbp/algebra/Signature.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace splitcast::differential {
namespace {

using Mesh = std::vector<int64_t>;

struct Boxings {
  Mesh mesh;
  sbp::Shape shape;
};

std::vector<sbp::NdSbp> signaturesOn(size_t axes, size_t dims, bool withPartial) {
  std::vector<sbp::Sbp> entries = {sbp::Sbp::broadcast()};
  for (size_t dim = 0; dim < dims; ++dim)
    entries.push_back(sbp::Sbp::split(static_cast<int64_t>(dim)));
  if (withPartial)
    entries.push_back(sbp::Sbp::partial());
  std::vector<sbp::NdSbp> all = {{}};
  for (size_t axis = 0; axis < axes; ++axis) {
    std::vector<sbp::NdSbp> longer;
    for (const sbp::NdSbp &before : all)
      for (const sbp::Sbp &entry : entries) {
        longer.push_back(before);
        longer.back().push_back(entry);
      }
    all = std::move(longer);
  }
  return all;
}

/// Of the argument whose sum over its first dimension is as `from`: what is P of the sum has a part of that dimension.
sbp::NdSbp argumentOf(const sbp::NdSbp &from) {
  sbp::NdSbp argument;
  for (const sbp::Sbp &entry : from)
    argument.push_back(entry.isPartial() ? sbp::Sbp::split(0)
                       : entry.isSplit() ? sbp::Sbp::split(entry.dim + 1)
                                         : entry);
  return argument;
}

std::string typeOf(const sbp::Shape &shape, const sbp::NdSbp &signature) {
  return absl::StrCat("tensor<", absl::StrJoin(shape, "x"), "xf32, #sbp.nd<#p, ", sbp::toString(signature), ">>");
}

class BoxingsTest : public testing::TestWithParam<Boxings> {
protected:
  static constexpr int64_t kAddends = 5;

  /// A function for each boxing, and a call of it with integers.
  void add(const sbp::NdSbp &from, const sbp::NdSbp &to) {
    const sbp::Shape &shape = GetParam().shape;
    sbp::Shape whole = shape;
    whole.insert(whole.begin(), kAddends);
    const std::string name = absl::StrCat("f", experiment.calls.size()), argument = typeOf(whole, argumentOf(from)),
                      sum = typeOf(shape, from), result = typeOf(shape, to);
    absl::StrAppend(&text, "func.func @", name, "(%x: ", argument, ") -> ", result, " {\n",
                    "  %y = nn.reduce_sum %x {dims = array<i64: 0>} : (", argument, ") -> ", sum, "\n",
                    "  %z = sbp.boxing %y : ", sum, " -> ", result, "\n  return %z : ", result, "\n}\n");
    Tensor input = Tensor::zeros(whole, mlir::FloatType::getF32(context.get()));
    for (double &element : input.floats)
      element = static_cast<double>(engine() % 64);
    experiment.calls.push_back({name, {std::move(input)}});
    names.push_back(absl::StrCat(sbp::toString(from), " to ", sbp::toString(to)));
  }

  void addAll() {
    const size_t axes = GetParam().mesh.size(), dims = GetParam().shape.size();
    for (const sbp::NdSbp &from : signaturesOn(axes, dims, /*withPartial=*/true))
      for (const sbp::NdSbp &to : signaturesOn(axes, dims, /*withPartial=*/false))
        if (from != to)
          add(from, to);
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
  std::string text;
  std::vector<std::string> names;
  Experiment experiment;
  std::mt19937 engine{7};
};

TEST_P(BoxingsTest, GiveTheSameTensor) {
  const size_t axes = GetParam().mesh.size();
  std::vector<std::string> extents;
  for (size_t axis = 0; axis < axes; ++axis)
    extents.push_back(absl::StrCat("a", axis, " = ", GetParam().mesh[axis]));
  text = absl::StrCat("#p = #sbp.placement<\"cpu\", [", absl::StrJoin(extents, ", "), "]>\n");
  addAll();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  for (const std::string &pass : globalPasses({}))
    ASSERT_TRUE(runPass(*module, pass).ok()) << pass;
  absl::StatusOr<Outcome> whole = runGlobal(*module, experiment);
  ASSERT_TRUE(whole.ok()) << whole.status();
  absl::StatusOr<std::vector<mlir::OwningOpRef<mlir::ModuleOp>>> ranks = localizeAll(*module);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  std::vector<mlir::ModuleOp> modules;
  for (mlir::OwningOpRef<mlir::ModuleOp> &rank : *ranks)
    modules.push_back(*rank);
  absl::StatusOr<Outcome> pieces = runLocal(modules, experiment);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::Status same = compare({{whole->results[i]}, {}}, {{pieces->results[i]}, {}}, Agreement::Values);
    EXPECT_TRUE(same.ok()) << names[i] << ": " << same;
  }
  RecordProperty("boxings", static_cast<int>(names.size()));
  printf("%zu boxings\n", names.size());
}

INSTANTIATE_TEST_SUITE_P(Meshes, BoxingsTest,
                         testing::Values(Boxings{{2}, {4, 6}}, Boxings{{2}, {3, 1}}, Boxings{{3}, {6, 3}},
                                         Boxings{{3}, {7, 2}}, Boxings{{4}, {4, 8}}, Boxings{{4}, {3, 5}},
                                         Boxings{{2, 2}, {4, 8}}, Boxings{{2, 2}, {5, 3}}, Boxings{{2, 3}, {6, 12}},
                                         Boxings{{2, 3}, {7, 5}}, Boxings{{2, 3}, {1, 4}}, Boxings{{2, 2}, {64}},
                                         Boxings{{2, 3}, {7}}, Boxings{{2, 2, 2}, {16}}, Boxings{{2, 2, 2}, {11}},
                                         Boxings{{2, 2, 2}, {8, 16}}, Boxings{{2, 2, 2}, {5, 3}},
                                         Boxings{{2, 2, 2}, {0, 3}}));

} // namespace
} // namespace splitcast::differential
