//===- RunFlags.h - The flags of splitcast-run --------------------------------===//
#ifndef SPLITCAST_COMPILER_TOOLS_RUNFLAGS_H
#define SPLITCAST_COMPILER_TOOLS_RUNFLAGS_H

#include "compiler/launch/Checkpoints.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/LaunchFiles.h"
#include "compiler/launch/Session.h"
#include "compiler/launch/VariableSources.h"

#include <string>
#include <vector>

namespace splitcast {

struct RunFlags {
  std::string module; ///< the path of the module
  bool allowBytecode = false;
  std::string function; ///< the function to run; if empty, the module's only one, or "train"
  int64_t steps = -1;   ///< the number of steps; -1: as many as the inputs have, or 1 without inputs
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  int64_t seed = 0;
  std::vector<NamedFile> inputs, outputs;
  VariableSources sources;
  std::string saveVariables, metrics;
  bool report = false;
  CheckpointOptions checkpoints;
  LaunchOptions launch;

  void addTo(Flags &flags);
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_TOOLS_RUNFLAGS_H
