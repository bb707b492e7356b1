//===- Nccl.cc - NCCL's calls that the project makes ----------------------------------------------------------===//
//
// Ranks are processes of this machine. Collectives are work of streams; what ranks say of one is compared. A rank that
// is gone leaves the others' work waiting until they abort, as on a GPU; calls answer that they are in progress; a
// communicator ends only when no graph holds work of it.
//
//===----------------------------------------------------------------------===//
#include "tests/cuda_on_cpu/Memory.h"
#include "tests/cuda_on_cpu/Mesh.h"
#include "tests/cuda_on_cpu/Runtime.h"

#include "absl/strings/str_cat.h"
#include "nccl.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <unistd.h>

namespace splitcast::cuda_on_cpu {
namespace {

/// ncclMemAlloc's allocations can be windows.
constexpr size_t kAlignment = NCCL_WIN_REQUIRED_ALIGNMENT;

/// What the ranks of a collective must agree on.
struct Header {
  char name[16] = {};
  uint64_t number = 0, count = 0, type = 0;
  bool operator==(const Header &other) const {
    return std::strcmp(name, other.name) == 0 && number == other.number && count == other.count && type == other.type;
  }
  std::string text() const { return absl::StrCat(name, " number ", number, " of ", count, " elements of type ", type); }
};

struct Communicator {
  Communicator(const std::string &id, int rank, int size)
      : rank(rank), size(size), data(id + "/data", rank, size, isAborted),
        control(id + "/control", rank, size, isAborted) {}

  const int rank, size;
  std::atomic<bool> isAborted = false;
  Mesh data, control;
  std::atomic<ncclResult_t> state = ncclInProgress;
  std::atomic<bool> isBusy = false;
  uint64_t done = 0;                                          ///< collectives
  std::shared_ptr<int> references = std::make_shared<int>(0); ///< of work and of graphs
  std::thread background;

  /// Everything in the background, one after another.
  template <typename Function> void later(Function function) {
    if (background.joinable())
      background.join();
    state = ncclInProgress;
    background = std::thread([this, function] {
      usleep(1000);
      ncclResult_t result = function();
      state = result;
    });
  }

  void finish() {
    if (background.joinable())
      background.join();
    while (references.use_count() > 1)
      usleep(100);
  }

  /// Values of the same size of all ranks.
  absl::Status gather(Mesh &mesh, const void *own, void *all, size_t bytes) const {
    std::vector<Transfer> sends, receives;
    for (int peer = 0; peer < size; ++peer) {
      auto *slot = static_cast<std::byte *>(all) + peer * bytes;
      if (peer == rank) {
        std::memmove(slot, own, bytes);
        continue;
      }
      sends.push_back({peer, static_cast<std::byte *>(const_cast<void *>(own)), bytes});
      receives.push_back({peer, slot, bytes});
    }
    return mesh.exchange(sends, receives);
  }

  absl::Status agree(Header header) {
    header.number = done;
    std::vector<Header> all(size);
    if (absl::Status status = gather(data, &header, all.data(), sizeof(Header)); !status.ok())
      return status;
    for (int peer = 0; peer < size; ++peer)
      if (!(all[peer] == header))
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", rank, " is at ", header.text(), ", rank ", peer, " at ", all[peer].text()));
    return absl::OkStatus();
  }
};

Communicator &of(ncclComm_t comm) { return *reinterpret_cast<Communicator *>(comm); }

/// NCCL refuses two ranks of one host on one device.
ncclResult_t join(Communicator &comm, int device) {
  absl::Status status = comm.data.connect();
  if (status.ok())
    status = comm.control.connect();
  std::array<char, 64> own = {};
  const char *host = std::getenv("NCCL_HOSTID");
  absl::StrCat(host ? host : "this", ":", device).copy(own.data(), own.size() - 1);
  std::vector<std::array<char, 64>> all(comm.size);
  if (status.ok())
    status = comm.gather(comm.control, own.data(), all.data(), own.size());
  for (int peer = 0; peer < comm.size && status.ok(); ++peer)
    if (peer != comm.rank && all[peer] == own)
      return ncclInvalidUsage;
  return status.ok() ? ncclSuccess : ncclRemoteError;
}

/// Work of a communicator, on a stream.
template <typename Function>
ncclResult_t enqueue(ncclComm_t handle, cudaStream_t stream, const char *name, Function function) {
  Communicator &comm = of(handle);
  auto run = [&comm, function, reference = comm.references]() -> absl::Status {
    if (comm.isBusy.exchange(true))
      return absl::InvalidArgumentError("a communicator has work under way on two streams");
    absl::Status status = function(comm);
    ++comm.done;
    comm.isBusy = false;
    if (absl::IsUnavailable(status))
      comm.state = ncclRemoteError;
    while (absl::IsUnavailable(status) && !comm.isAborted)
      usleep(1000);
    return comm.isAborted ? absl::OkStatus() : status;
  };
  const char *ordered = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  cudaError_t error = streamOf(stream).add({name, run, ordered && std::string(ordered) == "1" ? "nccl" : ""});
  return error == cudaSuccess ? ncclInProgress : ncclUnhandledCudaError;
}

size_t bytesOf(ncclDataType_t type) { return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8; }

/// The ranks' addends of block `block`, in the order of a ring that ends at the block's owner.
template <typename T>
void addInRing(const std::byte *const *addends, int size, int block, size_t begin, size_t end, T *sum) {
  for (size_t i = begin; i < end; ++i) {
    T total = 0;
    for (int step = 1; step <= size; ++step)
      total += reinterpret_cast<const T *>(addends[(block + step) % size])[i];
    sum[i - begin] = total;
  }
}

void add(const std::vector<std::string> &all, int block, size_t begin, size_t end, ncclDataType_t type, void *sum) {
  std::vector<const std::byte *> addends;
  for (const std::string &one : all)
    addends.push_back(reinterpret_cast<const std::byte *>(one.data()));
  if (type == ncclFloat64)
    addInRing(addends.data(), static_cast<int>(all.size()), block, begin, end, static_cast<double *>(sum));
  else
    addInRing(addends.data(), static_cast<int>(all.size()), block, begin, end, static_cast<float *>(sum));
}

/// What all ranks hold there.
absl::Status fetchAll(Communicator &comm, const void *own, size_t bytes, std::vector<std::string> &all) {
  std::string flat(bytes * comm.size, '\0');
  absl::Status status = comm.gather(comm.data, own, flat.data(), bytes);
  for (int peer = 0; peer < comm.size; ++peer)
    all.push_back(flat.substr(peer * bytes, bytes));
  return status;
}

Header headerOf(const char *name, size_t count, ncclDataType_t type) {
  Header header;
  absl::string_view(name).copy(header.name, sizeof(header.name) - 1);
  header.count = count;
  header.type = type;
  return header;
}

struct Message {
  bool isSend;
  void *data;
  size_t bytes;
  int peer;
  ncclComm_t comm;
  cudaStream_t stream;
};

thread_local int groupDepth = 0;
thread_local std::vector<Message> group;

/// Those of one communicator, at once. Each is preceded by its size.
absl::Status exchangeMessages(Communicator &comm, const std::vector<Message> &messages) {
  std::vector<Transfer> sends, receives;
  std::vector<uint64_t> sizes(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message &message = messages[i];
    if (absl::Status status =
            Memory::get().check(message.data, message.bytes, message.isSend ? "ncclSend" : "ncclRecv");
        !status.ok())
      return status;
    sizes[i] = message.isSend ? message.bytes : 0;
    std::vector<Transfer> &transfers = message.isSend ? sends : receives;
    transfers.push_back({message.peer, reinterpret_cast<std::byte *>(&sizes[i]), sizeof(sizes[i])});
    transfers.push_back({message.peer, static_cast<std::byte *>(message.data), message.bytes});
  }
  if (absl::Status status = comm.data.exchange(sends, receives); !status.ok())
    return status;
  for (size_t i = 0; i < messages.size(); ++i)
    if (sizes[i] != messages[i].bytes)
      return absl::InvalidArgumentError(absl::StrCat("rank ", messages[i].peer, " sent ", sizes[i], " bytes to rank ",
                                                     comm.rank, ", which awaits ", messages[i].bytes));
  return absl::OkStatus();
}

ncclResult_t flushGroup() {
  ncclResult_t result = ncclSuccess;
  std::vector<Message> all = std::move(group);
  group.clear();
  while (!all.empty()) {
    const ncclComm_t comm = all.front().comm;
    const cudaStream_t stream = all.front().stream;
    std::vector<Message> own, others;
    for (const Message &message : all)
      (message.comm == comm && message.stream == stream ? own : others).push_back(message);
    all = std::move(others);
    result = enqueue(comm, stream, "ncclSend and ncclRecv",
                     [own = std::move(own)](Communicator &on) { return exchangeMessages(on, own); });
  }
  return result;
}

ncclResult_t addMessage(const Message &message) {
  if (message.peer == of(message.comm).rank || message.peer < 0 || message.peer >= of(message.comm).size)
    return ncclInvalidArgument;
  group.push_back(message);
  return groupDepth > 0 ? ncclSuccess : flushGroup();
}

} // namespace
} // namespace splitcast::cuda_on_cpu

using namespace splitcast::cuda_on_cpu; // the functions below are C's

extern "C" {

/// SPLITCAST_CUDA_ON_CPU_NCCL_VERSION says which, as 23007 for 2.30.7.
ncclResult_t ncclGetVersion(int *version) {
  const char *wanted = std::getenv("SPLITCAST_CUDA_ON_CPU_NCCL_VERSION");
  *version = wanted ? std::atoi(wanted) : NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "a rank is gone"
         : result == ncclSuccess   ? "no error"
                                   : "an error of NCCL on a CPU";
}

const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclMemAlloc(void **data, size_t bytes) {
  *data = Memory::get().allocate(bytes, kAlignment, MemoryKind::Device);
  return *data ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *data) {
  return Memory::get().release(data, MemoryKind::Device) ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<int> number = 0;
  *id = {};
  absl::StrCat("cuda_on_cpu/", getpid(), "/", number++).copy(id->internal, sizeof(id->internal) - 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id, int rank, ncclConfig_t *config) {
  if (rank < 0 || rank >= size || config->blocking != 0)
    return ncclInvalidArgument;
  auto *made = new Communicator(id.internal, rank, size);
  *comm = reinterpret_cast<ncclComm_t>(made);
  made->later([made, device = currentDevice()] { return join(*made, device); });
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  *state = of(comm).state;
  return ncclSuccess;
}

/// All ranks do it: none is gone before the others' last messages arrived.
ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  Communicator *comm = &of(handle);
  comm->later([comm] {
    std::vector<int> all(comm->size);
    return comm->gather(comm->control, &comm->rank, all.data(), sizeof(int)).ok() ? ncclSuccess : ncclRemoteError;
  });
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  of(comm).finish();
  delete &of(comm);
  return ncclSuccess;
}

/// SPLITCAST_CUDA_ON_CPU_ABORT_HANGS=1: it never returns, as where a kernel of NCCL's sees no abort.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (const char *hangs = std::getenv("SPLITCAST_CUDA_ON_CPU_ABORT_HANGS"); hangs && std::atoi(hangs))
    for (;;)
      pause();
  of(comm).isAborted = true;
  return ncclCommDestroy(comm);
}

/// The handle is there when the state says so, not when the call returns.
ncclResult_t ncclCommWindowRegister(ncclComm_t handle, void *data, size_t bytes, ncclWindow_t *window, int flags) {
  const bool isAligned = reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
  if (!isAligned || flags != NCCL_WIN_COLL_SYMMETRIC || !Memory::get().check(data, bytes, "a window").ok())
    return ncclInvalidArgument;
  Communicator *comm = &of(handle);
  comm->later([=] {
    std::vector<size_t> all(comm->size);
    if (!comm->gather(comm->control, &bytes, all.data(), sizeof(bytes)).ok())
      return ncclRemoteError;
    if (std::any_of(all.begin(), all.end(), [&](size_t other) { return other != bytes; }))
      return ncclInvalidArgument;
    *window = reinterpret_cast<ncclWindow_t>(data);
    return ncclSuccess;
  });
  return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t window) {
  return window ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclGroupStart() {
  ++groupDepth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return --groupDepth > 0 ? ncclSuccess : flushGroup(); }

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return addMessage({true, const_cast<void *>(data), count * bytesOf(type), peer, comm, stream});
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return addMessage({false, data, count * bytesOf(type), peer, comm, stream});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t handle,
                           cudaStream_t stream) {
  return enqueue(handle, stream, "ncclAllGather", [=](Communicator &comm) {
    const size_t bytes = count * bytesOf(type);
    absl::Status status = Memory::get().check(from, bytes, "ncclAllGather");
    status.Update(Memory::get().check(to, bytes * comm.size, "ncclAllGather"));
    if (status.ok())
      status = comm.agree(headerOf("AllGather", count, type));
    return status.ok() ? comm.gather(comm.data, from, to, bytes) : status;
  });
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t handle, cudaStream_t stream) {
  if (op != ncclSum || type == ncclInt8)
    return ncclInvalidArgument;
  return enqueue(handle, stream, "ncclReduceScatter", [=](Communicator &comm) {
    const size_t bytes = count * bytesOf(type);
    absl::Status status = Memory::get().check(from, bytes * comm.size, "ncclReduceScatter");
    status.Update(Memory::get().check(to, bytes, "ncclReduceScatter"));
    if (status.ok())
      status = comm.agree(headerOf("ReduceScatter", count, type));
    std::vector<std::string> all;
    if (status.ok())
      status = fetchAll(comm, from, bytes * comm.size, all);
    if (status.ok())
      add(all, comm.rank, count * comm.rank, count * (comm.rank + 1), type, to);
    return status;
  });
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t handle, cudaStream_t stream) {
  if (op != ncclSum || type == ncclInt8)
    return ncclInvalidArgument;
  return enqueue(handle, stream, "ncclAllReduce", [=](Communicator &comm) {
    const size_t bytes = count * bytesOf(type);
    absl::Status status = Memory::get().check(from, bytes, "ncclAllReduce");
    status.Update(Memory::get().check(to, bytes, "ncclAllReduce"));
    if (status.ok())
      status = comm.agree(headerOf("AllReduce", count, type));
    std::vector<std::string> all;
    if (status.ok())
      status = fetchAll(comm, from, bytes, all);
    for (int block = 0; block < comm.size && status.ok(); ++block) {
      const size_t begin = count * block / comm.size, end = count * (block + 1) / comm.size;
      add(all, block, begin, end, type, static_cast<char *>(to) + begin * bytesOf(type));
    }
    return status;
  });
}

} // extern "C"
