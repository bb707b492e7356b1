// Whole variables are assembled from the pieces of all ranks, and divided into
// them.
#include "runtime/api/StatusMacros.h"
#include "runtime/executor/Variables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>

namespace splitcast::runtime {

namespace {

/// Calls `visit` for each run of the pieces, cut to `elements`, in order, until
/// an error.
absl::Status forEachWithin(const std::vector<sbp::Run> &pieces, const sbp::Interval &elements,
                           absl::FunctionRef<absl::Status(const sbp::Run &)> visit) {
  const int64_t end = elements.begin + elements.count;
  auto run = std::partition_point(pieces.begin(), pieces.end(), [&](const sbp::Run &before) {
    return before.logical + before.count <= elements.begin;
  });
  for (; run != pieces.end() && run->logical < end; ++run) {
    const int64_t begin = std::max(run->logical, elements.begin);
    const int64_t count = std::min(run->logical + run->count, end) - begin;
    SPLITCAST_RETURN_IF_ERROR(visit({begin, run->local + begin - run->logical, count}));
  }
  return absl::OkStatus();
}

/// A message that names a variable and holds runs of its elements. Each run
/// starts with a header of 16 bytes: its first element and its number of
/// elements.
class PieceMessage {
public:
  explicit PieceMessage(const VariableInfo &variable) : bytesEach(bytesOf(variable.type)), text(nameOf(variable)) {}

  /// Appends a run, and returns where its `count` elements, from `begin` on,
  /// are to be written.
  char *append(int64_t begin, int64_t count) {
    const int64_t head[2] = {begin, count};
    text.append(reinterpret_cast<const char *>(head), sizeof(head));
    text.resize(text.size() + count * bytesEach);
    return text.data() + text.size() - count * bytesEach;
  }
  const std::string &get() const { return text; }

  /// Checks that all ranks' messages are about the same variable. All ranks get
  /// the same status.
  static absl::Status check(const std::vector<std::string> &messages) {
    for (size_t rank = 1; rank < messages.size(); ++rank)
      if (nameIn(messages[rank]) != nameIn(messages[0]))
        return absl::FailedPreconditionError(absl::StrCat("rank 0 reads ", nameIn(messages[0]), ", but rank ", rank,
                                                          " reads ", nameIn(messages[rank]),
                                                          "; all ranks read the same variables, in the same order"));
    return absl::OkStatus();
  }

  /// Copies the elements of a message, which has been checked, into `part`,
  /// whose first element is number `first` of the variable.
  static void copy(const std::string &message, int64_t bytesEach, int64_t first, char *part) {
    for (size_t at = nameIn(message).size() + 1; at < message.size();) {
      int64_t head[2];
      std::memcpy(head, message.data() + at, sizeof(head));
      at += sizeof(head);
      std::memcpy(part + (head[0] - first) * bytesEach, message.data() + at, head[1] * bytesEach);
      at += head[1] * bytesEach;
    }
  }

private:
  static std::string nameOf(const VariableInfo &variable) {
    return absl::StrCat("@", variable.name, " of ", absl::StrJoin(variable.shape, "x"), " ",
                        runtime::nameOf(variable.type), std::string(1, '\0'));
  }
  static std::string nameIn(const std::string &message) { return message.substr(0, message.find('\0')); }

  int64_t bytesEach;
  std::string text;
};

} // namespace

absl::Status Variables::stream(const VariableInfo &variable, std::optional<int64_t> to, Visitor visit) {
  const int64_t bytes = bytesOf(variable.type), all = sbp::numElements(variable.shape);
  const bool isVisiting = !to || *to == communicator.rank();
  absl::Status status; // after an error a rank still takes part in the exchanges, for which the others wait
  if (to && (*to < 0 || *to >= communicator.size()))
    return absl::InvalidArgumentError(absl::StrCat("variable @", variable.name, " is to be read on rank ", *to,
                                                   ", but the ranks are 0 to ", communicator.size() - 1,
                                                   "; name one of these"));
  std::vector<char> whole;
  for (sbp::Interval part{0, 0}; part.begin < all; part.begin += part.count) {
    part.count = std::min(all - part.begin, kPartBytes / bytes);
    PieceMessage mine(variable);
    if (variable.ownsPieces)
      status.Update(forEachWithin(variable.pieces, part, [&](const sbp::Run &run) {
        return readPart(variable, {run.local, run.count}, mine.append(run.logical, run.count));
      }));
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> messages,
                               communicator.exchange(mine.get(), {absl::StrCat("reading @", variable.name)}));
    SPLITCAST_RETURN_IF_ERROR(PieceMessage::check(messages));
    if (!isVisiting || !status.ok())
      continue;
    whole.resize(part.count * bytes);
    for (const std::string &message : messages)
      PieceMessage::copy(message, bytes, part.begin, whole.data());
    status.Update(visit(part, whole.data()));
  }
  return agree(status, absl::StrCat("reading @", variable.name));
}

absl::Status Variables::readWhole(const VariableInfo &variable, void *data) {
  const int64_t bytes = bytesOf(variable.type);
  return stream(variable, std::nullopt, [&](const sbp::Interval &part, const void *elements) {
    std::memcpy(static_cast<char *>(data) + part.begin * bytes, elements, part.count * bytes);
    return absl::OkStatus();
  });
}

absl::Status Variables::writeWhole(const VariableInfo &variable, const void *data) {
  return writeElements(variable, {0, sbp::numElements(variable.shape)}, data);
}

absl::Status Variables::writeElements(const VariableInfo &variable, const sbp::Interval &elements, const void *data) {
  const int64_t bytes = bytesOf(variable.type);
  if (const int64_t all = sbp::numElements(variable.shape);
      elements.begin < 0 || elements.count < 0 || elements.begin > all - elements.count)
    return absl::OutOfRangeError(absl::StrCat("variable @", variable.name, ": elements ", elements.begin, " to ",
                                              elements.begin + elements.count, " are given, but the variable has ",
                                              all));
  if (!variable.isSet)
    return absl::OkStatus();
  return forEachWithin(variable.pieces, elements, [&](const sbp::Run &run) {
    return device.upload(pieceOf(variable).slice(run.local * bytes, run.count * bytes),
                         static_cast<const char *>(data) + (run.logical - elements.begin) * bytes);
  });
}

} // namespace splitcast::runtime
