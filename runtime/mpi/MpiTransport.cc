#include "runtime/mpi/MpiTransport.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/api/TransportChecks.h"
#include "runtime/process/ProcessHealth.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sched.h>

namespace splitcast::runtime {

absl::Status mpiStatus(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return absl::UnavailableError(absl::StrCat(what, " failed: ", std::string(text, length)));
}

namespace {

/// How long a message that nobody needs any more may take until MPI is given
/// up, which is then not finalized.
constexpr std::chrono::milliseconds kGiveUpPatience{1000};

/// A request of MPI and, if it has them, the header and the short contents that
/// MPI sends from or receives to.
struct Request {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::unique_ptr<std::byte[]> memory;
};

class MpiMessage final : public Message {
public:
  MpiMessage(std::shared_ptr<MpiState> state, std::byte *data, int64_t bytes, const Frame &frame, bool isReceive)
      : state(std::move(state)), data(data), header{frame, bytes}, isReceive(isReceive) {}

  ~MpiMessage() override {
    if (!state->finalized)
      for (Request *request : {&head, &rest})
        giveUp(*request);
  }

  absl::Status send(const std::byte *from, int to, int tag, MPI_Comm communicator) {
    const int64_t within = isInline() ? header.bytes : 0;
    head.memory.reset(new std::byte[sizeof(MpiHeader) + within]);
    std::memcpy(head.memory.get(), &header, sizeof(header));
    if (within > 0)
      std::memcpy(head.memory.get() + sizeof(header), from, within);
    int code = MPI_Isend(head.memory.get(), static_cast<int>(sizeof(header) + within), MPI_UNSIGNED_CHAR, to, tag,
                         communicator, &head.handle);
    if (code == MPI_SUCCESS && !isInline())
      code = MPI_Isend(from, static_cast<int>(header.bytes), MPI_BYTE, to, tag, communicator, &rest.handle);
    return mpiStatus(code, "MPI_Isend");
  }

  /// Where long contents are awaited, there is room for their header alone: hundreds of such receives may be posted.
  /// Of a short message that comes in their place, MPI then fills in the header, and reports a truncation.
  absl::Status receive(int from, int tag, MPI_Comm communicator) {
    const int64_t room = sizeof(MpiHeader) + (isInline() ? kInlineBytes : 0);
    head.memory.reset(new std::byte[room]());
    int code =
        MPI_Irecv(head.memory.get(), static_cast<int>(room), MPI_UNSIGNED_CHAR, from, tag, communicator, &head.handle);
    if (code == MPI_SUCCESS && !isInline())
      code = MPI_Irecv(data, static_cast<int>(header.bytes), MPI_BYTE, from, tag, communicator, &rest.handle);
    return mpiStatus(code, "MPI_Irecv");
  }

  absl::StatusOr<bool> test() override {
    SPLITCAST_RETURN_IF_ERROR(failure);
    absl::StatusOr<bool> done = testHead();
    if (done.ok() && *done)
      done = testRest();
    failure = done.status();
    return done;
  }

private:
  bool isInline() const { return header.bytes <= kInlineBytes; }

  absl::StatusOr<bool> testHead() {
    if (head.handle == MPI_REQUEST_NULL)
      return true;
    int done = 0, count = 0;
    MPI_Status status;
    const int code = MPI_Test(&head.handle, &done, &status);
    const bool isTruncated = isReceive && isTruncation(code);
    if (code != MPI_SUCCESS && !isTruncated)
      return testError(code);
    if ((!done && !isTruncated) || !isReceive)
      return done != 0;
    MpiHeader arrived;
    std::memcpy(&arrived, head.memory.get(), sizeof(arrived));
    if (isTruncated && arrived.frame == Frame()) // MPI has filled in nothing
      return testError(code);
    MPI_Get_count(&status, MPI_UNSIGNED_CHAR, &count);
    if (!isTruncated && count < static_cast<int>(sizeof(arrived)))
      return wrongLength(count, header.bytes);
    if (arrived.frame != header.frame)
      return unlikeFrame(arrived.frame, header.frame);
    if (arrived.bytes != header.bytes)
      return wrongLength(arrived.bytes, header.bytes);
    if (isInline() && header.bytes > 0)
      std::memcpy(data, head.memory.get() + sizeof(arrived), header.bytes);
    return true;
  }

  absl::StatusOr<bool> testRest() {
    if (rest.handle == MPI_REQUEST_NULL)
      return true;
    int done = 0;
    if (int code = MPI_Test(&rest.handle, &done, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
      return testError(code);
    return done != 0;
  }

  static bool isTruncation(int code) {
    int errorClass = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
      MPI_Error_class(code, &errorClass);
    return errorClass == MPI_ERR_TRUNCATE;
  }

  static absl::Status testError(int code) {
    if (isTruncation(code))
      return absl::InvalidArgumentError("a longer message arrived than was expected");
    return mpiStatus(code, "MPI_Test");
  }

  /// A receive that no message has matched can be cancelled, and then no longer
  /// touches its buffer. A send cannot.
  void giveUp(Request &request) {
    if (request.handle == MPI_REQUEST_NULL)
      return;
    int done = 0;
    if (isReceive)
      MPI_Cancel(&request.handle);
    // A message that is under way ends soon, and then MPI can be finalized. A process that was told to end has no time
    // for it: mpirun kills it a second later, and it has yet to say for whom it waited.
    const auto begin = std::chrono::steady_clock::now();
    do {
      if (MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
        return;
      sched_yield();
    } while (!state->gaveUp && processHealth().ok() && std::chrono::steady_clock::now() - begin < kGiveUpPatience);
    state->gaveUp = true;
    (void)request.memory.release(); // MPI may still use it
    if (request.handle != MPI_REQUEST_NULL)
      MPI_Request_free(&request.handle);
  }

  std::shared_ptr<MpiState> state;
  std::byte *data; ///< where a receive writes
  const MpiHeader header;
  const bool isReceive;
  Request head, rest; ///< `rest` is used for contents that are not sent with the header
  absl::Status failure;
};

class MpiTransport final : public Transport {
public:
  MpiTransport(MPI_Comm communicator, std::shared_ptr<MpiState> state)
      : communicator(communicator), state(std::move(state)) {
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator, &self);
    MPI_Comm_size(communicator, &ranks);
  }

  ~MpiTransport() override {
    // MPI_Comm_free waits for pending messages, so a job that has given some up
    // ends without it.
    if (!state->finalized && !state->gaveUp)
      MPI_Comm_free(&communicator);
  }

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }

  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                const Frame &frame) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, to, tag, bytes));
    auto message = std::make_unique<MpiMessage>(state, nullptr, bytes, frame, /*isReceive=*/false);
    SPLITCAST_RETURN_IF_ERROR(message->send(data, static_cast<int>(to), tag, communicator));
    return message;
  }

  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                   const Frame &frame) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, from, tag, bytes));
    auto message = std::make_unique<MpiMessage>(state, data, bytes, frame, /*isReceive=*/true);
    SPLITCAST_RETURN_IF_ERROR(message->receive(static_cast<int>(from), tag, communicator));
    return message;
  }

  absl::Status health() override { return processHealth(); }

  /// MPI polls: where ranks share a processor, a round trip waits until each of them has had its turn.
  int64_t fanOut() const override { return 256; }

  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &group) override {
    SPLITCAST_RETURN_IF_ERROR(checkGroup(*this, group));
    int64_t place = std::find(group.begin(), group.end(), rank()) - group.begin();
    MPI_Comm made = MPI_COMM_NULL;
    int code = MPI_Comm_split(communicator, static_cast<int>(group.front()), static_cast<int>(place), &made);
    if (code != MPI_SUCCESS)
      return mpiStatus(code, "MPI_Comm_split");
    return createMpiTransport(made, state);
  }

private:
  MPI_Comm communicator;
  std::shared_ptr<MpiState> state;
  int self = 0, ranks = 1;
};

/// The transport of a job of one rank, which has no peers: each message is an
/// error.
class SingleTransport final : public Transport {
public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *, int64_t bytes,
                                                const Frame &) override {
    return checkMessage(*this, to, tag, bytes);
  }
  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *, int64_t bytes,
                                                   const Frame &) override {
    return checkMessage(*this, from, tag, bytes);
  }
  absl::Status health() override { return processHealth(); }
  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &group) override {
    SPLITCAST_RETURN_IF_ERROR(checkGroup(*this, group));
    return createSingleTransport();
  }
};

} // namespace

std::unique_ptr<Transport> createMpiTransport(MPI_Comm communicator, std::shared_ptr<MpiState> state) {
  return std::make_unique<MpiTransport>(communicator, std::move(state));
}

std::unique_ptr<Transport> createSingleTransport() { return std::make_unique<SingleTransport>(); }

} // namespace splitcast::runtime
