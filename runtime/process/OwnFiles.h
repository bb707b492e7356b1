//===- OwnFiles.h - Descriptors that forked children do not keep ---------------===//
//
// A connection ends when all descriptors of it are closed. A forked child (a worker that loads data, say) has copies of
// its parent's. If it kept them, the other ranks would take a dead parent for one that is slow. Close-on-exec does not
// help, since such a child executes nothing else. So fork() replaces the descriptors that are registered here, in the
// child, by ones of /dev/null. Their numbers stay taken: what the child's copies of their owners do with them, or that
// they close them, then meets no other file.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PROCESS_OWNFILES_H
#define SPLITCAST_RUNTIME_PROCESS_OWNFILES_H

#include "absl/functional/function_ref.h"

namespace splitcast::runtime {

/// Calls `open`, which returns a new descriptor or -1, and registers the descriptor. No fork happens in between. `open`
/// must not block. Sets errno as `open` does.
int openOwn(absl::FunctionRef<int()> open);

/// Closes a descriptor that openOwn returned. It is an error of the caller if it did not.
void closeOwn(int descriptor);

/// Returns whether this process is a forked child of one that had registered descriptors. It has lost them, and is no
/// rank of the job.
bool isForkedChild();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PROCESS_OWNFILES_H
