#include "runtime/executor/Groups.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <numeric>

namespace splitcast::runtime {

namespace {

using GroupSet = std::set<GroupOnStream>;

/// Returns "communication:0,2;communication:0,1". groupsIn() reads it.
std::string textOf(const GroupSet &groups) {
  return absl::StrJoin(groups, ";", [](std::string *out, const GroupOnStream &group) {
    absl::StrAppend(out, group.first, ":", absl::StrJoin(group.second, ","));
  });
}

GroupSet groupsIn(const std::string &text) {
  GroupSet groups;
  for (absl::string_view one : absl::StrSplit(text, ';', absl::SkipEmpty())) {
    std::pair<std::string, std::string> parts = absl::StrSplit(one, absl::MaxSplits(':', 1));
    GroupOnStream group{parts.first, {}};
    for (absl::string_view number : absl::StrSplit(parts.second, ',')) {
      int64_t rank = -1;
      group.second.push_back(absl::SimpleAtoi(number, &rank) ? rank : -1);
    }
    groups.insert(std::move(group));
  }
  return groups;
}

std::string describe(const GroupOnStream &group) {
  return absl::StrCat("[", absl::StrJoin(group.second, ", "), "] on stream '", group.first, "'");
}

/// Returns the union of all ranks' groups, or an error if a rank has a group
/// that another member of the group lacks.
absl::StatusOr<GroupSet> unite(const std::vector<GroupSet> &byRank) {
  GroupSet all;
  for (size_t rank = 0; rank < byRank.size(); ++rank)
    for (const GroupOnStream &group : byRank[rank]) {
      if (!all.insert(group).second)
        continue;
      for (int64_t member : group.second)
        if (member < 0 || member >= static_cast<int64_t>(byRank.size()) || byRank[member].count(group) == 0)
          return absl::FailedPreconditionError(absl::StrCat(
              "the plan of rank ", rank, " calls collectives in the group ", describe(group),
              ", but the plan of its member rank ", member, " does not; run the same program on all ranks"));
    }
  return all;
}

/// Checks that each group of the plans has this rank at the index that the
/// plans give it.
absl::Status checkPlaces(mlir::ModuleOp plans, const Communicator &root) {
  for (auto group : plans.getOps<exec::GroupOp>()) {
    const int64_t place = group.getIndex();
    if (group.getRanks()[place] != root.rank())
      return absl::InvalidArgumentError(absl::StrCat("the plan has rank ", group.getRanks()[place], " at index ", place,
                                                     " of @", group.getSymName().str(), ", but this is rank ",
                                                     root.rank(), "; give each rank the plan that was made for it"));
  }
  return absl::OkStatus();
}

} // namespace

std::vector<std::vector<GroupOnStream>> roundsOf(const std::set<GroupOnStream> &groups) {
  std::vector<std::vector<GroupOnStream>> rounds;
  std::vector<std::set<int64_t>> taken; // the ranks that are taken, by round
  for (const GroupOnStream &group : groups) {
    auto isTaken = [&](size_t round) {
      return std::any_of(group.second.begin(), group.second.end(),
                         [&](int64_t rank) { return taken[round].count(rank) > 0; });
    };
    size_t round = 0;
    while (round < rounds.size() && isTaken(round))
      ++round;
    rounds.resize(std::max(rounds.size(), round + 1));
    taken.resize(rounds.size());
    rounds[round].push_back(group);
    taken[round].insert(group.second.begin(), group.second.end());
  }
  return rounds;
}

absl::StatusOr<std::unique_ptr<Groups>> Groups::create(mlir::ModuleOp plans, Communicator &root) {
  std::unique_ptr<Groups> groups(new Groups(root));
  GroupSet own;
  plans.walk([&](exec::CollectiveOp op) { own.insert(groups->keyOf(op)); });
  // A fault of this rank alone is reported after the exchange, in which the
  // other ranks wait for it.
  absl::StatusOr<std::vector<std::string>> texts = root.exchange(textOf(own), {"exchanging the groups of the plans"});
  SPLITCAST_RETURN_IF_ERROR(checkPlaces(plans, root));
  if (!texts.ok())
    return texts.status();
  std::vector<GroupSet> byRank;
  for (const std::string &text : *texts)
    byRank.push_back(groupsIn(text));
  SPLITCAST_ASSIGN_OR_RETURN(GroupSet all, unite(byRank));
  SPLITCAST_RETURN_IF_ERROR(groups->makeAll(all));
  return groups;
}

/// The first group that has all ranks uses `root` itself.
absl::Status Groups::makeAll(const GroupSet &groups) {
  Communicator &root = *order.front();
  std::vector<int64_t> everyone(root.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  GroupSet toMake = groups;
  auto isOfAll = [&](const GroupOnStream &group) { return group.second == everyone; };
  if (auto first = std::find_if(toMake.begin(), toMake.end(), isOfAll); first != toMake.end()) {
    communicators[*first] = &root;
    toMake.erase(first);
  }
  for (const std::vector<GroupOnStream> &round : roundsOf(toMake)) {
    auto isMine = [&](const GroupOnStream &group) {
      return std::find(group.second.begin(), group.second.end(), root.rank()) != group.second.end();
    };
    auto mine = std::find_if(round.begin(), round.end(), isMine);
    const std::vector<int64_t> members = mine == round.end() ? std::vector<int64_t>{root.rank()} : mine->second;
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> group,
                               root.split(members, {"making a group of the placement"}));
    if (mine == round.end())
      continue;
    communicators[*mine] = group.get();
    order.push_back(group.get());
    made.push_back(std::move(group));
  }
  return absl::OkStatus();
}

GroupOnStream Groups::keyOf(exec::CollectiveOp op) { return {op.getStream().str(), groupOf(op).getRanks().vec()}; }

Communicator *Groups::communicatorOf(exec::CollectiveOp op) { return communicators.at(keyOf(op)); }

} // namespace splitcast::runtime
