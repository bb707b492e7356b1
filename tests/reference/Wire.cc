#include "tests/reference/Wire.h"

#include "tests/reference/Exchange.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <set>

using namespace mlir;

namespace splitcast::reference {
namespace {

std::string listOf(const std::vector<int64_t> &numbers) { return absl::StrCat("[", absl::StrJoin(numbers, ", "), "]"); }

/// A call is one of its own rank, in a group that exists.
absl::Status checkOwn(int64_t rank, int64_t numRanks, const Call &call) {
  auto invalid = [&](const std::string &why) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " starts ", describe(call), ": ", why));
  };
  std::set<int64_t> distinct(call.ranks.begin(), call.ranks.end());
  if (distinct.size() != call.ranks.size() || *distinct.begin() < 0 || *distinct.rbegin() >= numRanks)
    return invalid(absl::StrCat("the ranks of a group are distinct ones of 0 to ", numRanks - 1));
  if (call.ranks[call.index] != rank)
    return invalid(absl::StrCat("its index ", call.index, " there is rank ", call.ranks[call.index]));
  int64_t most = std::max(call.input->numElements(), call.resultType.getNumElements());
  auto isOutside = [&](int64_t block) { return block < 0 || block > most; };
  if (llvm::any_of(call.blocks, isOutside) || llvm::any_of(call.received, isOutside))
    return invalid(
        absl::StrCat("a block has a negative number of elements, or more than the ", most, " that there are"));
  return absl::OkStatus();
}

/// Two ranks' calls are of one collective.
absl::Status checkAgree(const Call &a, const Call &b) {
  auto differ = [&](const std::string &inA, const std::string &inB) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", a.ranks[a.index], " starts ", describe(a), " with ", inA,
                                                   ", but rank ", b.ranks[b.index], " starts ", describe(b), " with ",
                                                   inB));
  };
  if (a.kind != b.kind)
    return differ(absl::StrCat("operation ", nameOf(a.kind)), absl::StrCat("operation ", nameOf(b.kind)));
  if (a.what != b.what)
    return differ(absl::StrCat("name \"", a.what, "\""), absl::StrCat("name \"", b.what, "\""));
  if (a.input->elementType != b.input->elementType)
    return differ(printed(a.input->elementType), printed(b.input->elementType));
  const bool isExchange = ccl::ruleOf(a.kind).result == ccl::Part::Received;
  if (!isExchange && a.blocks != b.blocks)
    return differ("blocks " + listOf(a.blocks), "blocks " + listOf(b.blocks));
  if (isExchange && (a.blocks[b.index] != b.received[a.index] || b.blocks[a.index] != a.received[b.index]))
    return differ(absl::StrCat("blocks ", listOf(a.blocks), " received ", listOf(a.received)),
                  absl::StrCat("blocks ", listOf(b.blocks), " received ", listOf(b.received)));
  return absl::OkStatus();
}

} // namespace

std::string describe(const Call &call) {
  return absl::StrCat(nameOf(call.kind), " \"", call.what, "\" over ranks ", listOf(call.ranks));
}

absl::StatusOr<Ticket> Wire::start(int64_t rank, Call call) {
  if (absl::Status status = checkOwn(rank, counts.size(), call); !status.ok())
    return status;
  Group &group = groups[call.ranks];
  group.started.resize(call.ranks.size());
  Ticket ticket{call.ranks, group.started[call.index]++, call.index};
  if (ticket.sequence == static_cast<int64_t>(group.collectives.size()))
    group.collectives.push_back({std::vector<std::optional<Call>>(call.ranks.size()), {}});
  Collective &collective = group.collectives[ticket.sequence];
  for (const std::optional<Call> &other : collective.calls)
    if (other)
      if (absl::Status status = checkAgree(*other, call); !status.ok())
        return status;
  ++counts[rank][call.kind].calls;
  collective.calls[ticket.index] = std::move(call);
  if (llvm::all_of(collective.calls, [](const std::optional<Call> &made) { return made.has_value(); }))
    run(collective);
  return ticket;
}

void Wire::run(Collective &collective) {
  std::vector<Call> calls;
  for (const std::optional<Call> &call : collective.calls)
    calls.push_back(*call);
  Exchanged exchanged = runCollective(calls, precision);
  for (const Call &call : calls)
    counts[call.ranks[call.index]][call.kind].bytesSent += exchanged.bytesSent[call.index];
  for (Tensor &result : exchanged.results)
    collective.results.push_back(share(std::move(result)));
}

const Wire::Collective &Wire::find(const Ticket &ticket) const {
  return groups.at(ticket.ranks).collectives[ticket.sequence];
}

TensorRef Wire::result(const Ticket &ticket) const {
  const Collective &collective = find(ticket);
  return collective.results.empty() ? nullptr : collective.results[ticket.index];
}

std::string Wire::missing(const Collective &collective) const {
  std::vector<std::string> absent;
  std::string text;
  for (const std::optional<Call> &call : collective.calls)
    if (call) {
      text = describe(*call);
      for (size_t index = 0; index < collective.calls.size(); ++index)
        if (!collective.calls[index])
          absent.push_back(absl::StrCat("rank ", call->ranks[index]));
      break;
    }
  return absl::StrCat(text, ", not started by ", absl::StrJoin(absent, ", "));
}

std::string Wire::describePending(const Ticket &ticket) const { return missing(find(ticket)); }

absl::Status Wire::checkAllDone() const {
  for (const auto &[ranks, group] : groups)
    for (const Collective &collective : group.collectives)
      if (collective.results.empty())
        return absl::FailedPreconditionError(absl::StrCat("all ranks have returned, but ", missing(collective)));
  return absl::OkStatus();
}

} // namespace splitcast::reference
