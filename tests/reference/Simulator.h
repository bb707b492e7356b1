//===- Simulator.h - N ranks in one process, on the local level ----------------===//
//
// Rank r runs the r-th module. Each rank runs until a ccl.wait whose collective not all ranks of its group have
// started; then the next rank has its turn. When none can go on, that is a deadlock, and an error.
//
//   modules of 2 ranks                     rank 0                       rank 1
//   %p = ccl.all_gather "w" %x ...         starts, reaches the wait     starts: both have, so it is done
//   %y = ccl.wait %p                       goes on in the next round    goes on at once
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_SIMULATOR_H
#define SPLITCAST_TESTS_REFERENCE_SIMULATOR_H

#include "tests/reference/LinalgEvaluator.h"
#include "tests/reference/RankStorages.h"
#include "tests/reference/Wire.h"

namespace splitcast::reference {

class Simulator {
public:
  /// One module per rank, all of one MLIRContext; borrowed, and must not change while the simulator lives.
  ///   Errors  InvalidArgument: no modules, several contexts, a module that does not verify; those of RankStorages.
  static absl::StatusOr<Simulator> create(std::vector<mlir::ModuleOp> modules, Precision precision = Precision::F32);

  int64_t numRanks() const { return modules.size(); }

  /// Global variables, cut to the ranks' storages and put together again: see RankStorages.h.
  absl::Status setVariables(const Variables &globals) { return storages.setVariables(globals, precision); }
  absl::StatusOr<Variables> getVariables() const { return storages.getVariables(); }
  /// That what belongs to no variable is zero.
  absl::Status checkPadding() const { return storages.checkPadding(); }

  /// Runs a function of all modules; inputs and results by rank (Layout.h cuts and assembles them).
  ///   Errors  NotFound, InvalidArgument: as GlobalInterpreter::run; the rank is named. FailedPrecondition: a deadlock,
  ///           naming where each rank stands, or a collective that not all ranks have started. InvalidArgument:
  ///           collectives of a group that do not agree, naming both ranks. What was assigned before an error stays.
  absl::StatusOr<std::vector<std::vector<Tensor>>> run(const std::string &function,
                                                       std::vector<std::vector<Tensor>> inputs);

  /// Collectives since the simulator was made or `resetCounts` called, by rank.
  const std::vector<RankCounts> &counts() const { return rankCounts; }
  void resetCounts() { rankCounts.assign(modules.size(), {}); }

private:
  Simulator(std::vector<mlir::ModuleOp> modules, Precision precision, RankStorages storages)
      : modules(std::move(modules)), precision(precision), storages(std::move(storages)),
        rankCounts(this->modules.size()), evaluator(precision) {}

  std::vector<mlir::ModuleOp> modules;
  Precision precision;
  RankStorages storages;
  std::vector<RankCounts> rankCounts;
  LinalgEvaluator evaluator;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_SIMULATOR_H
