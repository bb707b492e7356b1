//===- SolverBoxings.h - The best boxings of one tensor --------------------===//
//
// A tensor is made in one signature. Each of its uses can take one of several sets of signatures (a single signature,
// if the tensor is one operand of the use), at a cost that depends on the set; each signature that any use takes needs
// one boxing. This is the facility location problem: the facilities are the signatures that the tensor is boxed to, and
// the cost of opening them plus that of serving the uses is minimized. A tensor has few uses and few signatures: mostly
// all choices are tried.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERBOXINGS_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERBOXINGS_H

#include "dialects/sbp/algebra/SolverTables.h"

namespace splitcast::sbp::solver {

/// A use that can still choose.
struct Chooser {
  const std::vector<std::vector<int>> *options; ///< sets of signatures
  const std::vector<Score> *scores;             ///< per option: its cost without the boxings of this tensor
  int current;                                  ///< the option so far
};

class BoxingChoice {
public:
  BoxingChoice(Tables &tables, SolverStatistics &statistics) : tables(tables), statistics(statistics) {}

  /// Returns the least sum of the boxings of the tensor, which is made in `seen`, and the scores of the choosers. The
  /// tensor is also boxed to all of `wanted`, which may hold a signature several times. Fills `chosen` with each
  /// chooser's option. Where there are too many choices to try, the sum may not be the least, but is not above that of
  /// the current options; isExact() is false from then on.
  Score choose(int tensor, int seen, const std::vector<int> &wanted, const std::vector<Chooser> &choosers,
               std::vector<int> &chosen);

  bool isExact() const { return exact; }

private:
  /// An option of a chooser, and the set of `targets` that the tensor must be boxed to for it.
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
  /// Returns the score of boxing to the open targets, with the best option that each chooser then has; nothing when a
  /// chooser has none.
  std::optional<Score> withOpen(uint64_t open, const std::vector<Chooser> &choosers, std::vector<int> &taken);
  Score priceOf(uint64_t open) const;

  Tables &tables;
  SolverStatistics &statistics;
  bool exact = true;
  std::vector<std::vector<Offer>> offers; ///< per chooser
  std::vector<int> targets;               ///< signatures, other than the wanted ones, that the tensor may be boxed to
  std::vector<Score> prices;              ///< per target
  uint64_t useful = 0;                    ///< the targets that some offer still needs
};

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERBOXINGS_H
