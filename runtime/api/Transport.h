//===- Transport.h - Bytes between two ranks --------------------------------===//
//
// What a host communicator is built on: point-to-point messages that never block. runtime/mpi implements it over MPI,
// runtime/host/communicator among the threads of one process.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_TRANSPORT_H
#define SPLITCAST_RUNTIME_API_TRANSPORT_H

#include "runtime/api/SharedMemory.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// A send or a receive under way. Destroyed only when done, or when the transport is given up.
class Message {
public:
  virtual ~Message() = default;
  /// Drives progress without waiting. True once done: the buffer of a send may be reused, that of a receive is filled.
  ///   Errors  Unavailable: the peer or the transport is lost. InvalidArgument: a message of another length arrived.
  virtual absl::StatusOr<bool> test() = 0;
};

/// A receive whose bytes may stay where their sender has them.
class Reading : public Message {
public:
  /// Once test() was true: where the bytes are, until release or the end of this.
  virtual const std::byte *data() const = 0;
  /// Says, once test() was true, that the bytes are not needed any more. From then on test() asks whether all is done.
  virtual void release() = 0;
};

/// Messages between the same two ranks with the same tag arrive in the order of sending. Tags are 0..32767.
class Transport {
public:
  virtual ~Transport() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// Borrows the memory until the message is done. `bytes` is at most 2^30.
  virtual absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes) = 0;
  /// As receive, save that the bytes may be left where their sender has them, which is then not done before they are
  /// released. `room` is where they go if not; borrowed until the message is done.
  virtual absl::StatusOr<std::unique_ptr<Reading>> read(int64_t from, int tag, std::byte *room, int64_t bytes);
  /// Zeroed memory that other ranks join by `place`, a text that this sets; null: not all could.
  ///   Errors  ResourceExhausted: the system has not so much, or none that is shared.
  virtual absl::StatusOr<std::unique_ptr<SharedMemory>> createShared(int64_t bytes, std::string &place);
  /// As many bytes, which `owner` has created there.
  ///   Errors  Unavailable: they cannot be had.
  virtual absl::StatusOr<std::unique_ptr<SharedMemory>> joinShared(int64_t owner, const std::string &place,
                                                                   int64_t bytes);
  /// Not OK once this process was told to end (SIGTERM, SIGINT) or the transport is lost: waits end with this status.
  virtual absl::Status health() = 0;
  /// A transport of some of these ranks, numbered in this order, whose messages never mix with those of this one. Every
  /// rank calls it at the same point, each with its own group; the groups do not overlap.
  virtual absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_TRANSPORT_H
