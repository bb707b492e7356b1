//===- Sessions.h - Runs a session per rank in one process -------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SESSIONS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SESSIONS_H

#include "compiler/launch/Session.h"

#include <functional>
#include <string>

namespace splitcast::differential {

using OptionsOfRank = std::function<SessionOptions(int64_t rank)>;
using SessionBody = std::function<absl::Status(Session &session, runtime::Communicator &communicator)>;

/// Compiles the module `text` for `ranks` ranks and runs `body` once per rank, each in its own thread (Ranks.h).
///   Errors  the first failure, of a compilation or of `body`, with its rank.
absl::Status onSessions(int64_t ranks, const std::string &text, const OptionsOfRank &options, const SessionBody &body);

/// The same, with equal options on all ranks.
absl::Status onSessions(int64_t ranks, const std::string &text, const SessionOptions &options, const SessionBody &body);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SESSIONS_H
