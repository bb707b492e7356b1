//===- SessionCommunicator.h - The communicator of one session --------------===//
#ifndef SPLITCAST_RUNTIME_API_SESSIONCOMMUNICATOR_H
#define SPLITCAST_RUNTIME_API_SESSIONCOMMUNICATOR_H

#include "runtime/api/Communicator.h"

namespace splitcast::runtime {

/// Returns a communicator of the same ranks whose calls, and those of the communicators that are split from it, belong
/// to `session`: their messages meet no others (Frame.h). A session does everything through it, so nothing that the
/// session calls has to know of sessions. `ranks` is borrowed, and outlives the result.
std::unique_ptr<Communicator> createSessionCommunicator(Communicator &ranks, std::shared_ptr<const Activity> session);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_SESSIONCOMMUNICATOR_H
