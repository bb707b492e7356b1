#include "compiler/launch/Endings.h"

namespace splitcast {
namespace {

/// The exchange at the end of the job, on the same transport, has tags 0 and 1.
constexpr int kEndingTag = 32766;

} // namespace

void Endings::tell() {
  for (int64_t rank = 0; rank < transport.size(); ++rank)
    if (rank != transport.rank())
      if (auto message = transport.send(rank, kEndingTag, nullptr, 0); message.ok())
        sent.push_back(*std::move(message));
}

void Endings::listen() {
  isListening = true;
  for (int64_t rank = 0; rank < transport.size(); ++rank) {
    awaited.emplace_back();
    if (rank != transport.rank())
      if (auto message = transport.receive(rank, kEndingTag, nullptr, 0); message.ok())
        awaited.back() = *std::move(message);
  }
}

bool Endings::hasEnded(int64_t rank) {
  if (!isListening)
    listen();
  std::unique_ptr<runtime::Message> &message = awaited[rank];
  if (!message)
    return rank != transport.rank();
  const absl::StatusOr<bool> done = message->test();
  if (done.ok() && *done)
    message.reset();
  return done.ok() && *done;
}

} // namespace splitcast
