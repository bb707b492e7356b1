//===- Frame.h - What a message belongs to ----------------------------------===//
//
// Ranks must call the same things in the same order. Lengths do not tell whether they do: two functions may have
// messages of equal length, and their values would mix. So each message carries a frame, which the receiver compares
// with its own. A communicator makes the frames of all messages (HostCommunicatorQueue.h), and transports compare them,
// so that no caller can forget it:
//
//   rank 0, run 3 of session 1   all-reduce of 'loss'   {site 7f.., shape 05.., session 1, run 3, alike 3c..}  -->
//   rank 1, run 1 of session 2   all-reduce of 'loss'   {site 7f.., shape 05.., session 2, run 1, alike 90..}  unlike:
//   an error
//
// A frame is a header, as a transport has others. It is not payload: predictions and counts of bytes leave it out.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_FRAME_H
#define SPLITCAST_RUNTIME_API_FRAME_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// The job is not in it: a transport connects the ranks of one job only.
struct Frame {
  uint64_t alike = 0;   ///< a digest of the values that both ranks must give alike in this run
  uint32_t site = 0;    ///< a digest of the call site, the function that runs, and how many calls went before
  uint32_t shape = 0;   ///< a digest of the kind of the call, and of the sizes that ranks give alike
  uint32_t session = 0; ///< the number of the session in its job, from 1; 0: the call belongs to none
  uint32_t run = 0;     ///< how many runs the session has begun
};
static_assert(sizeof(Frame) == 24, "a message carries no more than 32 bytes besides its payload");

inline bool operator==(const Frame &a, const Frame &b) {
  return a.alike == b.alike && a.site == b.site && a.shape == b.shape && a.session == b.session && a.run == b.run;
}
inline bool operator!=(const Frame &a, const Frame &b) { return !(a == b); }

/// Where a session is, for the frames and the errors of its calls. The session changes it at the begin and the end of
/// a run, when no call is under way.
struct Activity {
  uint32_t session = 0, run = 0;
  std::string function;                ///< the function that runs now; empty between runs
  std::vector<uint64_t> alike;         ///< Frame::alike by rank, as Communicator::numberOf counts ranks
  std::function<std::string()> values; ///< returns what was given alike in this run, as a text for errors
};

/// Adds a number to a digest. The result is the same in all processes.
inline uint64_t mixed(uint64_t digest, uint64_t number) {
  digest = (digest ^ number) * 0x9E3779B97F4A7C15u;
  return digest ^ digest >> 29;
}

/// Returns a digest of a text, the same in all processes.
uint64_t digestOf(absl::string_view text);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_FRAME_H
