#include "dialects/sbp/algebra/SolverBoxings.h"

#include <algorithm>

namespace splitcast::sbp::solver {

namespace {

/// Offers that are looked at for a tensor at most; where there are more, not all choices are tried.
constexpr int64_t kMostTried = 1 << 14;
/// Targets that fit into a set of bits.
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
  listOffers(seen, wanted, choosers);
  prices.clear();
  for (int target : targets)
    prices.push_back(tables.boxing(tensor, seen, target));
  if (targets.size() > kMostTargets)
    return score + keepAll(choosers, chosen);
  setBits();
  if (choosers.size() > 1)
    leaveOutUseless(choosers);
  return score + chooseAmongAll(choosers, chosen);
}

/// Fills `offers` and `targets`.
void BoxingChoice::listOffers(int seen, const std::vector<int> &wanted, const std::vector<Chooser> &choosers) {
  targets.clear();
  offers.resize(choosers.size());
  for (size_t i = 0; i < choosers.size(); ++i) {
    offers[i].clear();
    for (size_t option = 0; option < choosers[i].options->size(); ++option) {
      Offer offer{static_cast<int>(option), {}, 0};
      for (int target : (*choosers[i].options)[option])
        if (target != seen && !contains(wanted, target)) {
          offer.needs.push_back(target);
          if (!contains(targets, target))
            targets.push_back(target);
        }
      offers[i].push_back(std::move(offer));
    }
  }
}

void BoxingChoice::setBits() {
  for (std::vector<Offer> &list : offers)
    for (Offer &offer : list) {
      offer.bits = 0;
      for (size_t target = 0; target < targets.size(); ++target)
        if (contains(offer.needs, targets[target]))
          offer.bits |= uint64_t{1} << target;
    }
}

/// Each its current option: none that is better is looked for.
Score BoxingChoice::keepAll(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  exact = false;
  Score score;
  std::vector<bool> isOpen(targets.size());
  for (size_t i = 0; i < choosers.size(); ++i) {
    const int current = choosers[i].current;
    chosen.push_back(current);
    score = score + (*choosers[i].scores)[current];
    for (size_t target = 0; target < targets.size(); ++target)
      if (!isOpen[target] && contains(offers[i][current].needs, targets[target])) {
        isOpen[target] = true;
        score = score + prices[target];
      }
  }
  return score;
}

/// Where each offer needs one target at most, a target gains no more beside others than alone: one that does not gain
/// what it costs is in no set that is better than all without it.
void BoxingChoice::leaveOutUseless(const std::vector<Chooser> &choosers) {
  for (const std::vector<Offer> &list : offers)
    for (const Offer &offer : list)
      if (offer.needs.size() > 1)
        return;
  std::vector<int> kept;
  std::vector<Score> keptPrices;
  for (size_t target = 0; target < targets.size(); ++target)
    if (!isUseless(target, choosers)) {
      kept.push_back(targets[target]);
      keptPrices.push_back(prices[target]);
    }
  targets = std::move(kept);
  prices = std::move(keptPrices);
  for (std::vector<Offer> &list : offers) {
    auto isOut = [&](const Offer &offer) { return !offer.needs.empty() && !contains(targets, offer.needs.front()); };
    list.erase(std::remove_if(list.begin(), list.end(), isOut), list.end());
  }
  setBits();
}

bool BoxingChoice::isUseless(size_t target, const std::vector<Chooser> &choosers) const {
  Score without, with = prices[target];
  for (size_t i = 0; i < choosers.size(); ++i) {
    const Score *best = nullptr, *served = nullptr;
    for (const Offer &offer : offers[i]) {
      const Score &score = (*choosers[i].scores)[offer.option];
      const Score *&known = offer.needs.empty() ? best : served;
      if ((offer.needs.empty() || offer.needs.front() == targets[target]) && (!known || score < *known))
        known = &score;
    }
    if (!best) {
      if (served)
        return false; // without it this one may be left with nothing
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
  const int64_t sets = targets.size() < 14 ? numOffers << targets.size() : kMostTried + 1;
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
      open |= offer.bits;
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
      if ((offer.bits & ~open) == 0 && (!best || each < *best)) {
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
  for (uint64_t open = 0; open < uint64_t{1} << targets.size(); ++open) {
    std::optional<Score> score = withOpen(open, choosers, taken);
    if (score && (!best || *score < *best)) {
      best = score;
      chosen = taken;
    }
  }
  return *best; // with all open, each chooser has all its offers
}

/// From what is open now, and from everything: opens or closes one at a time for as long as that is better. Each step
/// lowers a score that is no sum of more than these prices, so that this ends; a set is no better than its last.
Score BoxingChoice::descend(const std::vector<Chooser> &choosers, std::vector<int> &chosen) {
  exact = false;
  uint64_t current = 0;
  for (size_t i = 0; i < choosers.size(); ++i)
    for (const Offer &offer : offers[i])
      if (offer.option == choosers[i].current)
        current |= offer.bits;
  std::optional<Score> best;
  std::vector<int> taken;
  for (uint64_t open : {current, (uint64_t{1} << targets.size()) - 1}) {
    std::optional<Score> here = withOpen(open, choosers, taken);
    for (bool goesOn = here.has_value(); goesOn;) {
      goesOn = false;
      for (size_t target = 0; target < targets.size(); ++target) {
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
