#include "runtime/mpi/MpiTransport.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/api/TransportChecks.h"
#include "runtime/process/ProcessHealth.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

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

class MpiMessage final : public Message {
public:
  MpiMessage(std::shared_ptr<MpiState> state, int64_t receivedBytes)
      : state(std::move(state)), receivedBytes(receivedBytes) {}

  ~MpiMessage() override {
    if (request != MPI_REQUEST_NULL && !state->finalized)
      giveUp();
  }

  absl::StatusOr<bool> test() override {
    SPLITCAST_RETURN_IF_ERROR(failure);
    if (request == MPI_REQUEST_NULL)
      return true;
    int done = 0;
    MPI_Status status;
    if (int code = MPI_Test(&request, &done, &status); code != MPI_SUCCESS)
      return failure = testError(code);
    if (!done || receivedBytes < 0)
      return done != 0;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != receivedBytes)
      return failure = wrongLength(count, receivedBytes);
    return true;
  }

  MPI_Request request = MPI_REQUEST_NULL;

private:
  absl::Status testError(int code) const {
    int errorClass = 0;
    MPI_Error_class(code, &errorClass);
    if (errorClass == MPI_ERR_TRUNCATE)
      return absl::InvalidArgumentError(
          absl::StrCat("a message of more than the expected ", receivedBytes, " bytes arrived"));
    return mpiStatus(code, "MPI_Test");
  }

  /// A receive that no message has matched can be cancelled, and then no longer
  /// touches its buffer. A send cannot.
  void giveUp() {
    int done = 0;
    if (receivedBytes >= 0)
      MPI_Cancel(&request);
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
      return;
    state->gaveUp = true;
    if (request != MPI_REQUEST_NULL)
      MPI_Request_free(&request);
  }

  std::shared_ptr<MpiState> state;
  int64_t receivedBytes; ///< the number of bytes to receive, or -1 for a send
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

  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, to, tag, bytes));
    auto message = std::make_unique<MpiMessage>(state, -1);
    int code =
        MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), tag, communicator, &message->request);
    if (code != MPI_SUCCESS)
      return mpiStatus(code, "MPI_Isend");
    return message;
  }

  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, from, tag, bytes));
    auto message = std::make_unique<MpiMessage>(state, bytes);
    int code = MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(from), tag, communicator,
                         &message->request);
    if (code != MPI_SUCCESS)
      return mpiStatus(code, "MPI_Irecv");
    return message;
  }

  absl::Status health() override { return processHealth(); }

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
  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *, int64_t bytes) override {
    return checkMessage(*this, to, tag, bytes);
  }
  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *, int64_t bytes) override {
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
