#include "dialects/sbp/algebra/SolverBoxings.h"

#include <algorithm>

namespace splitcast::sbp::solver {

namespace {

/// The most choices that are tried for one tensor. If there are more, the
/// result need not be the best.
constexpr int64_t kMostTried = 1 << 14;
/// The most targets that fit into a set of bits (a uint64_t).
constexpr size_t kMostTargets = 62;

bool contains(const std::vector<int> &values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

} // namespace

Score BoxingChoice::choose(int tensor, int seen, const std::vector<int> &wanted, const std::vector<Chooser> &choosers,
                           std::vector<int> &chosen) {
  Score score;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::find(wanted.begin(), wanted.begin() + i, wanted[i]) == wanted.begin() + i)
      score = score + tables.boxing(tensor, seen, wanted[i]);
  chosen.clear();
  if (choosers.empty())
    return score;
  listTargets(seen, wanted, choosers);
  prices.clear();
  for (int target : targets)
    prices.push_back(tables.boxing(tensor, seen, target));
  if (targets.size() > kMostTargets)
    return score + keepAll(choosers, chosen);
  listOffers(choosers);
  if (choosers.size() > 1)
    leaveOutUseless(choosers);
  return score + chooseAmongAll(choosers, chosen);
}

void BoxingChoice::listTargets(int seen, const std::vector<int> &wanted, const std::vector<Chooser> &choosers) {
  targets.clear();
  for (const Chooser &chooser : choosers)
    for (const std::vector<int> &option : *chooser.options)
      for (int target : option)
        if (target != seen && !contains(wanted, target) && !contains(targets, target))
          targets.push_back(target);
}

void BoxingChoice::listOffers(const std::vector<Chooser> &choosers) {
  useful = (uint64_t{1} << targets.size()) - 1;
  offers.resize(choosers.size());
  for (size_t i = 0; i < choosers.size(); ++i) {
    offers[i].clear();
    const std::vector<std::vector<int>> &options = *choosers[i].options;
    for (size_t option = 0; option < options.size(); ++option) {
      uint64_t needs = 0;
      for (size_t target = 0; target < targets.size(); ++target)
        if (contains(options[option], targets[target]))
          needs |= uint64_t{1} << target;
      offers[i].push_back({static_cast<int>(option), needs});
    }
  }
}

/// Gives each chooser its current option, without looking for a better one.
Score BoxingChoice::keepAll(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  exact = false;
  Score score;
  std::vector<bool> isOpen(targets.size());
  for (size_t i = 0; i < choosers.size(); ++i) {
    const int current = choosers[i].current;
    chosen.push_back(current);
    score = score + (*choosers[i].scores)[current];
    for (size_t target = 0; target < targets.size(); ++target)
      if (!isOpen[target] && contains((*choosers[i].options)[current], targets[target])) {
        isOpen[target] = true;
        score = score + prices[target];
      }
  }
  return score;
}

/// Leaves out targets that cannot help. If no offer needs more than one target,
/// a target gains no more beside others than alone: then a target that gains
/// less than it costs is in no set that is better than the best set without it.
void BoxingChoice::leaveOutUseless(const std::vector<Chooser> &choosers) {
  for (const std::vector<Offer> &list : offers)
    for (const Offer &offer : list)
      if ((offer.needs & (offer.needs - 1)) != 0)
        return;
  for (size_t target = 0; target < targets.size(); ++target)
    if (isUseless(target, choosers))
      useful &= ~(uint64_t{1} << target);
  for (std::vector<Offer> &list : offers) {
    auto isOut = [this](const Offer &offer) { return (offer.needs & ~useful) != 0; };
    list.erase(std::remove_if(list.begin(), list.end(), isOut), list.end());
  }
}

bool BoxingChoice::isUseless(size_t target, const std::vector<Chooser> &choosers) const {
  Score without, with = prices[target];
  for (size_t i = 0; i < choosers.size(); ++i) {
    const Score *best = nullptr, *served = nullptr;
    for (const Offer &offer : offers[i]) {
      const Score &score = (*choosers[i].scores)[offer.option];
      const Score *&known = offer.needs == 0 ? best : served;
      if ((offer.needs == 0 || offer.needs == uint64_t{1} << target) && (!known || score < *known))
        known = &score;
    }
    if (!best) {
      if (served)
        return false; // without the target, this chooser may have no offer
      continue;
    }
    without = without + *best;
    with = with + (served && *served < *best ? *served : *best);
  }
  return !(with < without);
}

Score BoxingChoice::chooseAmongAll(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  int64_t combinations = 1, numOffers = 0;
  for (const std::vector<Offer> &list : offers) {
    combinations = std::min<int64_t>(combinations * list.size(), kMostTried + 1);
    numOffers += list.size();
  }
  int numUseful = 0;
  for (size_t target = 0; target < targets.size(); ++target)
    numUseful += useful >> target & 1;
  const int64_t sets = numUseful < 14 ? numOffers << numUseful : kMostTried + 1;
  if (combinations <= std::min(sets, kMostTried))
    return tryCombinations(choosers, chosen);
  return sets <= kMostTried ? trySets(choosers, chosen) : descend(choosers, chosen);
}

Score BoxingChoice::priceOf(uint64_t open) const {
  Score score;
  for (size_t target = 0; target < targets.size(); ++target)
    if (open >> target & 1)
      score = score + prices[target];
  return score;
}

Score BoxingChoice::tryCombinations(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  std::vector<size_t> at(choosers.size(), 0);
  std::optional<Score> best;
  for (bool isLast = false; !isLast;) {
    uint64_t open = 0;
    Score score;
    for (size_t i = 0; i < choosers.size(); ++i) {
      const Offer &offer = offers[i][at[i]];
      open |= offer.needs;
      score = score + (*choosers[i].scores)[offer.option];
    }
    score = score + priceOf(open);
    ++statistics.steps;
    if (!best || score < *best) {
      best = score;
      chosen.clear();
      for (size_t i = 0; i < choosers.size(); ++i)
        chosen.push_back(offers[i][at[i]].option);
    }
    isLast = true;
    for (size_t i = 0; i < at.size() && isLast; ++i) {
      isLast = ++at[i] == offers[i].size();
      if (isLast)
        at[i] = 0;
    }
  }
  return *best;
}

std::optional<Score> BoxingChoice::withOpen(uint64_t open, const std::vector<Chooser> &choosers,
                                            std::vector<int> &taken) {
  ++statistics.steps;
  taken.clear();
  Score score = priceOf(open);
  for (size_t i = 0; i < choosers.size(); ++i) {
    const Score *best = nullptr;
    for (const Offer &offer : offers[i]) {
      const Score &each = (*choosers[i].scores)[offer.option];
      if ((offer.needs & ~open) == 0 && (!best || each < *best)) {
        best = &each;
        if (taken.size() == i)
          taken.push_back(0);
        taken[i] = offer.option;
      }
    }
    if (!best)
      return std::nullopt;
    score = score + *best;
  }
  return score;
}

Score BoxingChoice::trySets(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  std::optional<Score> best;
  std::vector<int> taken;
  uint64_t open = 0;
  do {
    std::optional<Score> score = withOpen(open, choosers, taken);
    if (score && (!best || *score < *best)) {
      best = score;
      chosen = taken;
    }
    open = (open - useful) & useful; // the next subset
  } while (open != 0);
  return *best; // if all targets are open, each chooser has all its offers
}

/// Searches locally, once from the targets that are open now and once from all
/// targets: opens or closes one target at a time as long as that lowers the
/// score. The result need not be the best set. The search ends, since there are
/// finitely many sets and each step lowers the score.
Score BoxingChoice::descend(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  exact = false;
  uint64_t current = 0;
  for (size_t i = 0; i < choosers.size(); ++i)
    for (const Offer &offer : offers[i])
      if (offer.option == choosers[i].current)
        current |= offer.needs;
  std::optional<Score> best;
  std::vector<int> taken;
  for (uint64_t open : {current, useful}) {
    std::optional<Score> here = withOpen(open, choosers, taken);
    for (bool goesOn = here.has_value(); goesOn;) {
      goesOn = false;
      for (size_t target = 0; target < targets.size(); ++target) {
        if (!(useful >> target & 1))
          continue;
        std::optional<Score> there = withOpen(open ^ uint64_t{1} << target, choosers, taken);
        if (there && *there < *here) {
          here = there;
          open ^= uint64_t{1} << target;
          goesOn = true;
        }
      }
    }
    if (here && (!best || *here < *best)) {
      best = here;
      withOpen(open, choosers, chosen);
    }
  }
  return *best;
}

} // namespace splitcast::sbp::solver
