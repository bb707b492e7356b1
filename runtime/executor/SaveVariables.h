//===- SaveVariables.h - Variables on their way to a file -----------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_SAVEVARIABLES_H
#define SPLITCAST_RUNTIME_EXECUTOR_SAVEVARIABLES_H

#include "runtime/io/Safetensors.h"

#include <future>

namespace splitcast::runtime {

class Variables;
struct VariableInfo;

/// A file of variables that a thread of each rank writes, from copies of what they were when it was begun. At most one
/// at a time; the variables outlive it. Destroying it waits for the thread; without finish() there is no file.
class PendingSave {
public:
  ~PendingSave();
  /// Whether this rank's pieces are on the disk, or cannot be written.
  bool isWritten() const;
  /// Waits for that, on all ranks, and gives the file its name. Every rank calls it, once.
  absl::Status finish();

private:
  friend class Variables;
  /// This rank's pieces of a variable, one after the other.
  struct Piece {
    const VariableInfo *variable;
    const char *data;
  };
  PendingSave(Variables &variables, SafetensorsWriter writer, std::vector<Piece> pieces);

  Variables &variables;
  SafetensorsWriter writer; ///< of the thread, until it has ended
  std::future<absl::Status> writing;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_SAVEVARIABLES_H
