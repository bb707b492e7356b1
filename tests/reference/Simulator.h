//===- Simulator.h - Simulates N ranks of the local level in one process -------===//
//
// Rank r runs module r. A rank runs until a ccl.wait for a collective that not all ranks of its group have started;
// then the next rank runs. If no rank can continue, that is a deadlock, which is an error.
//
//   modules of 2 ranks                     rank 0                       rank 1
//   %p = ccl.all_gather "w" %x ...         starts it                    starts it, so that it is done
//   %y = ccl.wait %p                       waits until the next round   continues at once
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
  /// Borrows one module per rank. They must be in one MLIRContext, and must not change while the simulator lives.
  ///   Errors  InvalidArgument: there are no modules or several contexts, or a module does not verify. Those of
  ///           RankStorages.
  static absl::StatusOr<Simulator> create(std::vector<mlir::ModuleOp> modules, Precision precision = Precision::F32);

  int64_t numRanks() const { return modules.size(); }

  /// Write whole variables to the ranks' storages and read them back; see RankStorages.h.
  absl::Status setVariables(const Variables &globals) { return storages.setVariables(globals, precision); }
  absl::StatusOr<Variables> getVariables() const { return storages.getVariables(); }
  /// Checks that storage which belongs to no variable is zero.
  absl::Status checkPadding() const { return storages.checkPadding(); }

  /// Runs a function of all modules, with the inputs of each rank. Returns the results of each rank. (Layout.h cuts and
  /// assembles them.)
  ///   Errors  NotFound, InvalidArgument: those of GlobalInterpreter::run, with the rank. FailedPrecondition: there is
  ///           a deadlock (the message says where each rank is), or not all ranks have started a collective.
  ///           InvalidArgument: the collectives of a group do not agree; the message names both ranks. Variables that
  ///           were assigned before an error keep their new values.
  absl::StatusOr<std::vector<std::vector<Tensor>>> run(const std::string &function,
                                                       std::vector<std::vector<Tensor>> inputs);

  /// The counts of collectives of each rank since the simulator was created or `resetCounts` was called.
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
