//===- WithoutCollectives.h - What a step takes when ranks do not meet ------===//
//
// To measure how much of a step is exposed communication: the same program, its collectives taken out.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_WITHOUTCOLLECTIVES_H
#define SPLITCAST_RUNTIME_API_WITHOUTCOLLECTIVES_H

#include "runtime/api/Communicator.h"

namespace splitcast::runtime {

/// A communicator of the same ranks, and so are those that it is split into, whose prepared collectives (start) are
/// over at once: they move nothing, wait for no rank and leave all buffers as they are, so that what a plan computes
/// is wrong. All else is done by `ranks`: barriers, exchanges, memory in common, and collectives that are called by
/// name, such as those that save variables.
std::unique_ptr<Communicator> withoutCollectives(std::unique_ptr<Communicator> ranks);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_WITHOUTCOLLECTIVES_H
