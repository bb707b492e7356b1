//===- SaveVariables.h - Saving variables in the background ---------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_SAVEVARIABLES_H
#define SPLITCAST_RUNTIME_EXECUTOR_SAVEVARIABLES_H

#include "runtime/io/Safetensors.h"

#include <future>

namespace splitcast::runtime {

class Variables;
struct VariableInfo;

/// A save in progress: a thread of each rank writes copies of the variables, as they were at Variables::beginSave, to
/// one file. There is at most one save at a time, and the Variables object outlives it. The destructor waits for the
/// thread; without finish() no file appears at the path.
class PendingSave {
public:
  ~PendingSave();
  /// Returns without blocking whether this rank's thread has ended: its pieces are on the disk, or writing failed.
  bool isWritten() const;
  /// Blocks until the threads of all ranks have ended, and gives the file its name. Every rank calls it, once. If one
  /// rank has an error, all return an error.
  absl::Status finish();

private:
  friend class Variables;
  /// This rank's pieces of a variable, which lie one after the other from `data` on.
  struct Piece {
    const VariableInfo *variable;
    const char *data;
  };
  PendingSave(Variables &variables, SafetensorsWriter writer, std::vector<Piece> pieces);

  Variables &variables;
  SafetensorsWriter writer; ///< used by the thread alone, until it has ended
  std::future<absl::Status> writing;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_SAVEVARIABLES_H
