//===- SolverBoxings.h - The best boxings of one tensor --------------------===//
//
// A tensor is made in one signature. Each of its uses can take one of several sets of signatures (one signature, where
// it is one operand), at a price that depends on which; and each signature that any of them takes is boxed to once.
// This is the problem of where to open facilities, the signatures boxed to, so that to open them and to serve the uses
// costs least in sum. The uses of a tensor and its signatures are few: mostly all choices are tried.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERBOXINGS_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERBOXINGS_H

#include "dialects/sbp/algebra/SolverTables.h"

namespace splitcast::sbp::solver {

/// A use that can still choose.
struct Chooser {
  const std::vector<std::vector<int>> *options; ///< sets of signatures
  const std::vector<Score> *scores;             ///< per option: what it costs beyond the boxings of this tensor
  int current;                                  ///< the option before
};

class BoxingChoice {
public:
  BoxingChoice(Tables &tables, SolverStatistics &statistics) : tables(tables), statistics(statistics) {}

  /// The least of all sums of boxings of the tensor, made in `seen`, and scores of the choosers, when it is boxed to
  /// all of `wanted`, which may hold a signature several times. Fills `chosen` with each chooser's option. Where there
  /// are too many to try, not the least, but none above that of the current options; then isExact() is false from
  /// there on.
  Score choose(int tensor, int seen, const std::vector<int> &wanted, const std::vector<Chooser> &choosers,
               std::vector<int> &chosen);

  bool isExact() const { return exact; }

private:
  /// What a chooser may take, and the set of `targets` that must be boxed to for it.
  struct Offer {
    int option;
    uint64_t needs;
  };

  void listTargets(int seen, const std::vector<int> &wanted, const std::vector<Chooser> &choosers);
  void listOffers(const std::vector<Chooser> &choosers);
  void leaveOutUseless(const std::vector<Chooser> &choosers);
  bool isUseless(size_t target, const std::vector<Chooser> &choosers) const;
  Score keepAll(const std::vector<Chooser> &choosers, std::vector<int> &chosen);
  Score chooseAmongAll(const std::vector<Chooser> &choosers, std::vector<int> &chosen);
  Score tryCombinations(const std::vector<Chooser> &choosers, std::vector<int> &chosen);
  Score trySets(const std::vector<Chooser> &choosers, std::vector<int> &chosen);
  Score descend(const std::vector<Chooser> &choosers, std::vector<int> &chosen);
  /// Boxing to these, with what each chooser then likes best; nothing when one can take nothing.
  std::optional<Score> withOpen(uint64_t open, const std::vector<Chooser> &choosers, std::vector<int> &taken);
  Score priceOf(uint64_t open) const;

  Tables &tables;
  SolverStatistics &statistics;
  bool exact = true;
  std::vector<std::vector<Offer>> offers; ///< per chooser
  std::vector<int> targets;               ///< signatures that may be boxed to, beyond the wanted ones
  std::vector<Score> prices;              ///< per target
  uint64_t useful = 0;                    ///< the targets that offers still need
};

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERBOXINGS_H
