//===- Endings.h - Which ranks have ended their program ------------------------===//
//
// A rank that leaves out a step may end while the others still wait for it. It sends them nothing that they could
// compare, so it says that it has ended, and who waits for it looks.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_ENDINGS_H
#define SPLITCAST_COMPILER_LAUNCH_ENDINGS_H

#include "runtime/api/Transport.h"

namespace splitcast {

/// Works on a transport of all ranks, on which it uses one tag. The transport outlives it.
class Endings {
public:
  explicit Endings(runtime::Transport &transport) : transport(transport) {}

  /// Tells all other ranks that this one has ended, and does not wait.
  void tell();
  /// Returns whether a rank has told this one that it has ended. It does not wait.
  bool hasEnded(int64_t rank);

private:
  void listen();

  runtime::Transport &transport;
  std::vector<std::unique_ptr<runtime::Message>> sent;
  std::vector<std::unique_ptr<runtime::Message>> awaited; ///< by rank; null: this rank, or a rank that has ended
  bool isListening = false;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_ENDINGS_H
