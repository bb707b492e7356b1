//===- GraphGenerator.h - Random training graphs ------------------------------------===//
//
// A seed gives a module at the global level, as a user would write it, and an experiment: inputs, variables, calls. All
// data are small integers. Over the seeds there are
//
//   placements   2, 3 and 4 ranks; meshes [n], [2, 2], with axes of size 1, with ranks in another order
//                From kFirstSeedOnMesh on: of two and three axes, up to 12 ranks, with variables at coordinates
//   shapes       extents 1 to 9: ragged on the mesh, and smaller than it, so that shards are empty; in a third of the
//                graphs one extent or two, up to 19, so that most tensors are square, and many are cubes
//   elements     f32 and some f64; in a quarter of the graphs also bf16, f16 or both, but no sum of these over ranks,
//                which communicators refuse
//   signatures   of inputs, results, variables and boxings: none, or any that has no P
//   variables    frozen, scalar, f64, read several times (tied), shared by functions, split by the user,
//                assigned by hand
//   functions    one or two that train, by one optimizer or two, one that only evaluates
//   optimizers   sgd, momentum, adam, adamw
//   of users     in nearly half of the graphs: the features of ModelState.h
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_GRAPHGENERATOR_H
#define SPLITCAST_TESTS_PROPERTY_GRAPHGENERATOR_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

#include "mlir/IR/OwningOpRef.h"

#include <set>

namespace splitcast::property {

inline constexpr uint64_t kFirstSeedOnMesh = 1'000'000;

/// A module that the global level must refuse.
struct Refusal {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string says; ///< part of the error
};

struct GeneratedGraph {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  differential::Experiment experiment;
  /// Only ops whose results are exact on small integers were used. Whether f32 holds them is for isExactInF32 to say.
  bool isOfIntegers = false;
  /// Of the smallest floats in it, the share of a number that rounding may change; 0 where there are none smaller than
  /// f32.
  double halfRounding = 0;
  /// Ways to compile it, whose results must be equal to the bit.
  std::vector<differential::Configuration> configurations;
  std::vector<Refusal> refusals;  ///< the graph with something that no rank's program can mean
  std::set<std::string> features; ///< names of what it holds besides a model

  /// A model and its steps, whatever ZeRO does with them.
  bool isPlainModel() const;
};

GeneratedGraph generateGraph(uint64_t seed, mlir::MLIRContext &context);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_GRAPHGENERATOR_H
