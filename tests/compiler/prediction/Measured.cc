#include "tests/compiler/prediction/Measured.h"

#include "tests/runtime/mpi/CountingMpi.h"

#include "absl/strings/str_cat.h"

namespace splitcast::prediction {

absl::Status runAndCompareTraffic(Session &session, const std::string &function) {
  const ccl::Traffic was = runtime::sentOverMpi();
  if (absl::Status status = session.run(function); !status.ok())
    return status;
  const ccl::Traffic now = runtime::sentOverMpi();
  int64_t bytes = now.bytes - was.bytes, messages = now.messages - was.messages;
  for (const CommunicationReport::Entry &entry : session.communicationReport(function).entries) {
    bytes -= entry.bytesSent;
    messages -= entry.messages;
  }
  if (bytes == 0 && messages == 0)
    return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("in '", function, "' MPI was given ", bytes, " bytes and ", messages,
                                          " messages more than predicted"));
}

absl::Status compareHeld(const CountingDevice &device, const MemoryReport &report, const std::string &function) {
  const int64_t predicted = report.peakBytes() - report.snapshotBytes; // those are the host's
  const std::string text = absl::StrCat(", where ", predicted, " were predicted for '", function, "'");
  if (device.heldBytes() != predicted)
    return absl::DataLossError(absl::StrCat("the session holds ", device.heldBytes(), " bytes of its device", text));
  if (const int64_t untouched = device.untouchedBytes(); untouched != 0)
    return absl::DataLossError(absl::StrCat("the session never touches ", untouched, " bytes that it holds", text));
  return absl::OkStatus();
}

} // namespace splitcast::prediction
