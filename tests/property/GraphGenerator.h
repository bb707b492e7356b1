//===- GraphGenerator.h - Random training graphs ------------------------------------===//
//
// From a seed it generates a module at the global level, like one that a user writes, and an experiment: inputs,
// variables and calls. A fifth of the seeds have structured graphs: see Kinds.h. All data of the others are small
// integers. Their graphs have
//
//   placements   2, 3 and 4 ranks; meshes [n], [2, 2], with axes of size 1, with ranks in another order
//                From kFirstSeedOnMesh on: two and three axes, up to 12 ranks, with variables at coordinates
//   shapes       extents 1 to 9: ragged on the mesh, and smaller than it, so that shards are empty; in a third of the
//                graphs one extent or two, up to 19, so that most tensors are square, and many are cubes
//   elements     f32 and some f64; in a quarter of the graphs also bf16, f16 or both, but without sums of these over
//                ranks, which communicators do not support
//   signatures   of inputs, results, variables and boxings: none, or any without P
//   variables    frozen, scalar, f64, read several times (tied), shared by functions, split by the user,
//                assigned by hand
//   functions    one or two that train, with one optimizer or two, and one that only evaluates
//   optimizers   sgd, momentum, adam, adamw
//   features     in nearly half of the graphs: those of ModelState.h
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_GRAPHGENERATOR_H
#define SPLITCAST_TESTS_PROPERTY_GRAPHGENERATOR_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"
#include "tests/differential/SessionRun.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <set>

namespace splitcast::property {

inline constexpr uint64_t kFirstSeedOnMesh = 1'000'000;

/// A module that the global level must reject.
struct Refusal {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string says; ///< a part of the expected error
};

/// What a result of the first call must be, as the generator computes it: without the compiler, and in f64.
struct Expectation {
  size_t result;
  differential::Tensor value;
};

/// Two sessions on the same ranks, which take turns: first all ranks alike, then one rank otherwise than the others,
/// which must be an error on all of them.
struct SessionTurns {
  struct Program {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    differential::Configuration configuration;
    double tolerance; ///< with which the reference agrees
    uint64_t seed;
  };
  std::vector<Program> programs;
  std::vector<differential::Turn> turns;
  differential::UnlikeTurns unlike;
};

struct GeneratedGraph {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  differential::Experiment experiment;
  /// Whether it has only ops whose results are exact on small integers. isExactInF32 finds out whether f32 can
  /// represent them.
  bool isOfIntegers = false;
  /// The largest relative error of rounding to the smallest float type in it; 0 if none is smaller than f32.
  double halfRounding = 0;
  /// The configurations with which to compile it. Their results must have the same bits.
  std::vector<differential::Configuration> configurations;
  std::vector<Refusal> refusals; ///< copies of the graph with something that must be rejected
  std::vector<Expectation> expected;
  std::optional<SessionTurns> sessions;
  std::set<std::string> features; ///< the names of its features, which are not part of a model

  /// With which its levels agree, where they need not agree in bits.
  double tolerance() const { return std::max(differential::kTolerance, halfRounding); }
  /// Whether it is only a model and its steps, whatever ZeRO does with them.
  bool isPlainModel() const;
};

/// Returns the largest relative error of rounding to a float type smaller than f32 in the module; 0 if it has none.
double halfRoundingOf(mlir::ModuleOp module);

GeneratedGraph generateGraph(uint64_t seed, mlir::MLIRContext &context);

/// Returns a second graph of the seed, which is checked like the first, if it has one: see Kinds.h. So new kinds take
/// no seeds from other graphs.
std::optional<GeneratedGraph> generateBeside(uint64_t seed, mlir::MLIRContext &context);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_GRAPHGENERATOR_H
