#include "runtime/api/Communicator.h"

namespace splitcast::runtime {

PreparedCollective::PreparedCollective(const ccl::CollectiveCall &call, ElementType type, Buffer data, Buffer output,
                                       Buffer workspace)
    : kind(call.kind), type(type), data(data), output(output), workspace(workspace), blocks(call.blocksByRank()),
      blockBytes(call.blockBytes()), elements(call.elements(call.rule().operand)) {
  for (int64_t block : call.receivedByRank())
    receivedBytes.push_back(block * call.elementBytes);
}

absl::StatusOr<Event> Communicator::start(const PreparedCollective &c, Stream &stream, const CallSite &site) {
  switch (c.kind) {
  case ccl::CollectiveKind::AllGather:
    return allGather(c.data, c.blockBytes, stream, site);
  case ccl::CollectiveKind::ReduceScatter:
    return reduceScatter(c.data, c.blocks, c.type, c.output, c.workspace, stream, site);
  case ccl::CollectiveKind::AllReduce:
    return allReduce(c.data, c.elements, c.type, c.workspace, stream, site);
  case ccl::CollectiveKind::AllToAll:
    return allToAll(c.data, c.blockBytes, c.output, c.receivedBytes, stream, site);
  }
  return absl::InternalError("unknown kind of collective");
}

} // namespace splitcast::runtime
