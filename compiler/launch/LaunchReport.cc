#include "compiler/launch/LaunchReport.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/process/ViewedMemory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace splitcast {

std::string megabytes(int64_t bytes) { return absl::StrFormat("%.3f MB", static_cast<double>(bytes) / 1e6); }

std::string memoryText(const MemoryReport &memory) {
  auto mb = [](int64_t bytes) { return absl::StrFormat("%.3f", static_cast<double>(bytes) / 1e6); };
  std::string arena = absl::StrCat(
      "gathered window ", mb(memory.gathered), ", gradient buckets ", mb(memory.gradientBuckets), ", gradient shards ",
      mb(memory.gradientShards), ", staging ", mb(memory.staging), ", activations ", mb(memory.activations),
      memory.accumulators > 0 ? absl::StrCat(", accumulators ", mb(memory.accumulators)) : "");
  if (memory.functionArenaBytes < memory.arenaBytes)
    arena = absl::StrCat("that of another function; this function's is ", mb(memory.functionArenaBytes), ": ", arena);
  return absl::StrCat(
      "predicted peak ", megabytes(memory.peakBytes()), " = persistent ", mb(memory.persistentBytes), " (parameters ",
      mb(memory.parameters), ", optimizer state ", mb(memory.optimizerState), ", other ", mb(memory.otherState),
      memory.accumulatorsAtRest > 0 ? absl::StrCat(", accumulators ", mb(memory.accumulatorsAtRest)) : "", ") + arena ",
      mb(memory.arenaBytes), " (", arena,
      memory.deviceIsHost ? ") + inputs and outputs " : "); on the host inputs and outputs ", mb(memory.interfaceBytes),
      memory.snapshotBytes > 0 ? absl::StrCat(" + snapshot ", mb(memory.snapshotBytes)) : "");
}

std::string groupsText(const MemoryReport &memory) {
  std::string text;
  for (const GroupMemory &group : memory.groups)
    absl::StrAppend(&text, "group ", group.name, ": parameters ", megabytes(group.parameters), ", optimizer state ",
                    megabytes(group.optimizerState),
                    group.accumulators > 0 ? absl::StrCat(", accumulators ", megabytes(group.accumulators)) : "", "; ",
                    sbp::toString(group.policy), "\n");
  return text;
}

std::string communicationText(const CommunicationReport &communication) {
  std::string text;
  for (const CommunicationReport::Entry &entry : communication.entries)
    absl::StrAppend(&text, entry.collective, ": ", entry.calls, " calls, ", entry.bytesSent, " bytes sent in ",
                    entry.messages, " messages\n");
  return text.empty() ? "no communication\n" : text;
}

namespace {

/// What a rank tells the others about a function.
struct Costs {
  int64_t peakBytes = 0, bytesSent = 0;
};

/// Returns the costs of all functions, in the order of Session::functions.
std::vector<Costs> costsOf(const Session &session) {
  std::vector<Costs> all;
  for (const std::string &function : session.functions()) {
    all.push_back({session.memoryReport(function).peakBytes()});
    for (const CommunicationReport::Entry &entry : session.communicationReport(function).entries)
      all.back().bytesSent = sbp::cappedSum(all.back().bytesSent, entry.bytesSent);
  }
  return all;
}

/// Returns the costs of all functions, by rank.
absl::StatusOr<std::vector<std::vector<Costs>>> costsOfAll(const Session &session, runtime::Communicator &ranks) {
  std::string mine;
  for (const Costs &costs : costsOf(session))
    absl::StrAppend(&mine, costs.peakBytes, " ", costs.bytesSent, " ");
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> texts, ranks.exchange(mine, {"gathering of the report"}));
  std::vector<std::vector<Costs>> all;
  for (const std::string &text : texts) {
    std::istringstream numbers(text);
    all.emplace_back();
    for (Costs costs; numbers >> costs.peakBytes >> costs.bytesSent;)
      all.back().push_back(costs);
  }
  return all;
}

/// Returns how one of a function's costs differs between ranks: "0.089 MB to
/// 0.281 MB (rank 1), 0.370 MB in sum". It is empty if there is one rank.
std::string spreadText(const std::vector<std::vector<Costs>> &all, size_t function, int64_t Costs::*cost) {
  auto of = [&](size_t rank) { return all[rank][function].*cost; };
  if (all.size() == 1)
    return "";
  size_t least = 0, most = 0;
  int64_t sum = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    least = of(rank) < of(least) ? rank : least;
    most = of(rank) > of(most) ? rank : most;
    sum = sbp::cappedSum(sum, of(rank));
  }
  const std::string each = of(least) == of(most)
                               ? absl::StrCat(megabytes(of(least)), " on each")
                               : absl::StrCat(megabytes(of(least)), " to ", megabytes(of(most)), " (rank ", most, ")");
  return absl::StrCat(each, ", ", megabytes(sum), " in sum");
}

absl::StatusOr<std::string> reportText(const Session &session, runtime::Communicator &ranks) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::vector<Costs>> all, costsOfAll(session, ranks));
  const Session::CompileSeconds seconds = session.compileSeconds();
  std::string text =
      absl::StrFormat("compiled: global level %.3f s, plan %.3f s, comparison with other ranks %.3f s, kernels %.3f s, "
                      "initial values %.3f s\n",
                      seconds.global, seconds.plan, seconds.ranks, seconds.kernels, seconds.variables);
  if (const std::optional<sbp::Policy> chosen = session.chosenPolicy())
    absl::StrAppend(&text, "chosen within memory-limit: ", sbp::toString(*chosen), "\n");
  if (session.scratchBytes() > 0)
    absl::StrAppend(&text, "scratch of library calls on this processor, which the peaks leave out: ",
                    megabytes(session.scratchBytes()), "\n");
  if (session.sharedBytes() > 0)
    absl::StrAppend(&text, "of ", megabytes(session.sharedBytes()),
                    " of persistent memory, all ranks of a group have one copy, ",
                    "of which each counts its own block; gathers there, which are counted below, move nothing\n");
  if (const std::string why = session.whyNotShared(); !why.empty())
    absl::StrAppend(&text, "each rank has its own copy of what is gathered in place: ", why, "\n");
  if (!session.functions().empty()) // all functions share what is persistent
    if (MemoryReport memory = session.memoryReport(session.functions().front()); memory.hasSeveralPolicies())
      absl::StrAppend(&text, groupsText(memory));
  const std::vector<std::string> functions = session.functions();
  for (size_t index = 0; index < functions.size(); ++index) {
    const std::string &function = functions[index];
    absl::StrAppend(&text, "function '", function,
                    "', on this rank:\n  memory: ", memoryText(session.memoryReport(function)), "\n");
    std::istringstream lines(communicationText(session.communicationReport(function)));
    for (std::string line; std::getline(lines, line);)
      absl::StrAppend(&text, "  communication per run: ", line, "\n");
    if (const std::string peaks = spreadText(all, index, &Costs::peakBytes); !peaks.empty())
      absl::StrAppend(&text, "  of all ranks: predicted peak ", peaks, "\n");
    if (const std::string sent = spreadText(all, index, &Costs::bytesSent); !sent.empty())
      absl::StrAppend(&text, "  of all ranks: sent per run ", sent, "\n");
  }
  return text;
}

} // namespace

absl::Status printReport(const Session &session, runtime::Communicator &ranks) {
  runtime::restartViewedMemory();
  absl::StatusOr<std::string> text = reportText(session, ranks);
  if (text.ok() && ranks.rank() == 0)
    printf("%s", text->c_str());
  return text.status();
}

absl::Status printViewedMemory(runtime::Communicator &ranks) {
  const runtime::ViewedMemory viewed = runtime::viewedMemory();
  for (const auto &[what, bytes] : {std::pair("most memory of other ranks that was mapped", viewed.read.most),
                                    std::pair("blocks of other ranks in shared memory", viewed.shared.most)}) {
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> texts, ranks.exchange(megabytes(bytes), {"report of memory"}));
    if (ranks.rank() == 0)
      printf("%s, by rank: %s\n", what, absl::StrJoin(texts, ", ").c_str());
  }
  return absl::OkStatus();
}

ProcessMemory processMemory() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t kilobytes = 0;
    words >> name >> kilobytes;
    // The system counts in units of 1024 bytes.
    if (name == "VmRSS:")
      memory.residentBytes = kilobytes * 1024;
    if (name == "VmHWM:")
      memory.highWaterBytes = kilobytes * 1024;
  }
  const runtime::ViewedMemory viewed = runtime::viewedMemory();
  memory.residentBytes = std::max<int64_t>(0, memory.residentBytes - viewed.read.bytes - viewed.shared.bytes);
  // Memory that was mapped after the peak is subtracted, too; but the result is
  // at least what is resident now.
  memory.highWaterBytes = std::max(memory.residentBytes, memory.highWaterBytes - viewed.read.most - viewed.shared.most);
  return memory;
}

absl::StatusOr<std::vector<NamedScalar>> scalarOutputs(Session &session, const std::string &function) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> infos, session.outputs(function));
  std::vector<NamedScalar> scalars;
  for (size_t i = 0; i < infos.size(); ++i) {
    const TensorInfo &info = infos[i];
    bool isSingle = info.type == runtime::ElementType::F32, isDouble = info.type == runtime::ElementType::F64;
    if (!info.shape.empty() || (!isSingle && !isDouble))
      continue;
    float single = 0;
    double value = 0;
    SPLITCAST_RETURN_IF_ERROR(session.getOutput(function, i, isSingle ? static_cast<void *>(&single) : &value));
    scalars.push_back({info.name, isSingle ? static_cast<double>(single) : value});
  }
  return scalars;
}

nlohmann::ordered_json metricsOf(int64_t step, double seconds, const std::vector<NamedScalar> &scalars) {
  nlohmann::ordered_json line;
  line["step"] = step;
  line["seconds"] = seconds;
  for (const NamedScalar &scalar : scalars)
    line[scalar.name] = scalar.value;
  return line;
}

} // namespace splitcast
