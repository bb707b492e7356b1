//===- Transport.h - Bytes between two ranks --------------------------------===//
//
// A host communicator is built on a transport: point-to-point messages in host memory, whose calls never block.
// runtime/mpi implements it over MPI, runtime/tcp over sockets, runtime/pull within a machine over shared memory, and
// runtime/host/communicator among the threads of one process.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_TRANSPORT_H
#define SPLITCAST_RUNTIME_API_TRANSPORT_H

#include "runtime/api/Frame.h"
#include "runtime/api/SharedMemory.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// A send or a receive in flight. Destroy it before the transport, and only once it is done, or when the transport is
/// given up. If it is destroyed earlier, its peer may wait for ever, later messages may be mixed up, and MPI may go on
/// using its memory. (TCP and threads no longer use the memory.)
class Message {
public:
  virtual ~Message() = default;
  /// Drives progress without blocking. Returns true once the message is done: the buffer of a send may then be reused,
  /// and the buffer of a receive is filled. Later calls then return true, too; after an error they return that error.
  ///   Errors  Unavailable: the peer or the transport is lost. FailedPrecondition: the message has another frame
  ///           than the receive; the text is what "rank 0 and rank 1" do (TransportChecks.h). InvalidArgument: it has
  ///           the frame, but another length. ResourceExhausted: this process has no room to map what the peer sends
  ///           (runtime/pull alone).
  virtual absl::StatusOr<bool> test() = 0;
};

/// A receive whose bytes may stay in the sender's memory.
class Reading : public Message {
public:
  /// Returns where the bytes are. Call it once test() has returned true; it is valid until release() or until this
  /// object is destroyed.
  virtual const std::byte *data() const = 0;
  /// Announces that the bytes are no longer needed. Call it once test() has returned true; from then on test() tells
  /// whether the sender has been answered.
  virtual void release() = 0;
};

/// Messages between the same two ranks with the same tag arrive in the order in which they were sent. Tags are
/// 0..32767.
///   Threads  Only one thread at a time may use the transports of one job, those that were split from them, and their
///            messages: MPI allows no more. (Transports of different ranks in one process may each have a thread.)
class Transport {
public:
  virtual ~Transport() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// Send to or receive from another rank. The memory is borrowed until the message is done. Several sends may borrow
  /// the same memory at once. `bytes` is from 0 to 2^30. `frame` travels beside the bytes, is not counted among them,
  /// and must be equal on both sides.
  ///   Errors  InvalidArgument: a rank, tag or size is out of bounds. Unavailable: the peer or the transport is lost.
  virtual absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                        const Frame &frame = {}) = 0;
  virtual absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                           const Frame &frame = {}) = 0;
  /// Like receive, but the bytes may stay in the sender's memory; the send is then done only once they are released.
  /// Otherwise they go to `room`, which is borrowed until the message is done.
  virtual absl::StatusOr<std::unique_ptr<Reading>> read(int64_t from, int tag, std::byte *room, int64_t bytes,
                                                        const Frame &frame = {});
  /// Returns zeroed memory, and sets `place` to a text by which other ranks join it. Returns null if not all ranks of
  /// this transport could join. Keep the memory until all have joined.
  ///   Errors  ResourceExhausted: the system does not have that much memory, or none that processes can share.
  virtual absl::StatusOr<std::unique_ptr<SharedMemory>> createShared(int64_t bytes, std::string &place);
  /// Returns the memory that rank `owner` created at `place`; `bytes` is the same as there. Of this, only that it is
  /// not more than the memory has is checked.
  ///   Errors  Unavailable: the memory is gone, or cannot be mapped. ResourceExhausted: this process has no room left.
  ///           InvalidArgument: `bytes` is more than the memory has; `place` is no such text (runtime/pull).
  virtual absl::StatusOr<std::unique_ptr<SharedMemory>> joinShared(int64_t owner, const std::string &place,
                                                                   int64_t bytes);
  /// Returns OK until this process is told to end (SIGTERM, SIGINT) or the transport is lost. Waits then end with this
  /// status.
  virtual absl::Status health() = 0;
  /// Gives the processor away while this rank waits for messages and nothing can be moved. `waited` is how long that
  /// has been so. Returns at the latest after `longest`, and soon after a message of any transport of the job has
  /// arrived. By default, which polls, at once.
  virtual void idle(absl::Duration waited, absl::Duration longest);
  /// Returns to how many ranks at once a short message is better sent directly than by way of others; at least 2,
  /// and the same on all ranks. By default 8: over sockets messages cost more than waits.
  virtual int64_t fanOut() const;
  /// Returns a transport between the given ranks of this one, numbered in this order, whose messages never mix with
  /// those of this one. Every rank calls it at the same point, each with its own group; the groups do not overlap. The
  /// result may outlive this transport. Over MPI it is a communicator of its own, of which there may be some thousands.
  ///   Errors  InvalidArgument: a rank of the group does not exist, or this rank is not in it. Those of the system:
  ///           Unavailable (MPI), ResourceExhausted (TCP: too many splits).
  virtual absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_TRANSPORT_H
