//===- WithoutCollectives.h - A step without its collectives ----------------===//
//
// Running the same program without its collectives shows how much of a step's time is exposed communication.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_WITHOUTCOLLECTIVES_H
#define SPLITCAST_RUNTIME_API_WITHOUTCOLLECTIVES_H

#include "runtime/api/Communicator.h"

namespace splitcast::runtime {

/// Returns a communicator of the same ranks whose prepared collectives (start) complete at once: they move nothing,
/// wait for no rank and leave all buffers as they are, so the results of a plan are wrong. Communicators that are split
/// from it do the same. `ranks` does all else: barriers, exchanges, shared memory, and collectives that are called by
/// their own methods.
std::unique_ptr<Communicator> withoutCollectives(std::unique_ptr<Communicator> ranks);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_WITHOUTCOLLECTIVES_H
