//===- SessionTurns.h - Two sessions that take turns: see Kinds.h ---------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_SESSIONTURNS_H
#define SPLITCAST_TESTS_PROPERTY_SESSIONTURNS_H

#include "tests/property/GraphGenerator.h"
#include "tests/property/Random.h"

namespace splitcast::property {

/// The graph itself is the program of the first session.
GeneratedGraph sessionTurns(Random &random, mlir::MLIRContext &context);

/// Runs the sessions as threads: each alone, then both in turns, then in turns that are unlike.
///   Errors  DataLoss: what a session makes alone is not what the reference makes; in turns it is something else; or a
///           rank learns of no error where ranks take unlike turns. Those of sessions.
absl::Status checkSessionTurns(const SessionTurns &sessions, const std::string &objectCacheDir);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_SESSIONTURNS_H
