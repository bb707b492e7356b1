#include "runtime/nccl/NcclCommunicator.h"

#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/CollectiveChecks.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/gpu/DeviceTreeSum.h"
#include "runtime/nccl/NcclStatus.h"
#include "runtime/nccl/NcclTreeSum.h"
#include "runtime/nccl/NcclWatch.h"

#include "absl/strings/str_cat.h"
#include "nccl.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace splitcast::runtime {
namespace {

std::optional<ncclDataType_t> typeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return ncclFloat32;
  case ElementType::F64:
    return ncclFloat64;
  case ElementType::BF16:
    return ncclBfloat16;
  case ElementType::F16:
    return ncclFloat16;
  default:
    return std::nullopt;
  }
}

/// Returns where each block of these sizes begins, and at last where the last
/// one ends.
std::vector<int64_t> startsOf(absl::Span<const int64_t> sizes) {
  std::vector<int64_t> starts = {0};
  for (int64_t size : sizes)
    starts.push_back(starts.back() + size);
  return starts;
}

/// A symmetric window of NCCL. Collectives find it by the addresses of their
/// buffers.
class NcclWindow : public Registration {
public:
  NcclWindow(std::shared_ptr<NcclWatch> watch, ncclWindow_t window) : watch(std::move(watch)), window(window) {}
  NcclWindow(const NcclWindow &) = delete;
  NcclWindow &operator=(const NcclWindow &) = delete;
  ~NcclWindow() override {
    if (watch->comm())
      ncclCommWindowDeregister(watch->comm(), window);
  }

private:
  const std::shared_ptr<NcclWatch> watch;
  const ncclWindow_t window;
};

/// The first version whose symmetric kernels wait for the preceding work of the
/// stream (commit 2948185d of NCCL's sources).
constexpr int kSymmetricVersion = NCCL_VERSION(2, 30, 7);

class NcclCommunicator : public Communicator {
public:
  NcclCommunicator(std::unique_ptr<Communicator> control, const NcclCommunicatorOptions &options)
      : control(std::move(control)), options(options) {}

  absl::Status init() {
    int version = 0;
    ncclUniqueId id = {};
    absl::Status status = ncclStatus(ncclGetVersion(&version), "reading NCCL's version", nullptr);
    if (status.ok() && rank() == 0)
      status = ncclStatus(ncclGetUniqueId(&id), "creating NCCL's unique id", nullptr);
    // Only the id of rank 0 is used, but the versions of all ranks are
    // compared.
    std::string mine(reinterpret_cast<const char *>(&id), sizeof(id));
    auto all = control->exchange(absl::StrCat(version, " ", status.ok() ? mine : ""), {"exchanging NCCL's unique id"});
    SPLITCAST_RETURN_IF_ERROR(status);
    if (!all.ok())
      return all.status();
    SPLITCAST_RETURN_IF_ERROR(checkVersions(*all));
    usesWindows = options.usesWindows && version >= kSymmetricVersion;
    std::memcpy(&id, all->front().data() + all->front().size() - sizeof(id), sizeof(id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    status = ncclStatus(ncclCommInitRankConfig(&comm, static_cast<int>(size()), id, static_cast<int>(rank()), &config),
                        "creating an NCCL communicator", nullptr);
    SPLITCAST_RETURN_IF_ERROR(status);
    watch = std::make_shared<NcclWatch>(comm, options);
    addCudaWatcher(watch);
    SPLITCAST_ASSIGN_OR_RETURN(adding, createCudaStream("sums over ranks"));
    return watch->settle("creating an NCCL communicator");
  }

  int64_t rank() const override { return control->rank(); }
  int64_t size() const override { return control->size(); }
  int64_t numberOf(int64_t rank) const override { return control->numberOf(rank); }
  uint32_t nextSession() override { return control->nextSession(); }
  absl::Status agreeOnRun(const CallSite &site) override { return control->barrier(site); }
  int64_t chunkBytes() const override { return ccl::deviceChunkBytes(size(), options.roundBytes); }

  absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                  const CallSite &site) override {
    SPLITCAST_RETURN_IF_ERROR(checkAllGather(*this, data, bytesPerRank, site));
    const std::vector<int64_t> starts = startsOf(bytesPerRank);
    cudaStream_t on = cudaStreamOf(stream);
    const int64_t own = bytesPerRank[rank()];
    const bool areEqual = std::all_of(bytesPerRank.begin(), bytesPerRank.end(), [&](int64_t b) { return b == own; });
    absl::Status status;
    if (areEqual && own > 0)
      status = call(ncclAllGather(data.data + starts[rank()], data.data, own, ncclInt8, watch->comm(), on), site);
    else if (!areEqual)
      status = exchangeBlocks(site, [&](int64_t peer) {
        absl::Status sent = send(data.slice(starts[rank()], own), peer, on, site);
        sent.Update(receive(data.slice(starts[peer], bytesPerRank[peer]), peer, on, site));
        return sent;
      });
    return finish(status, stream, site);
  }

  absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                      Buffer output, Buffer workspace, Stream &stream, const CallSite &site) override {
    SPLITCAST_RETURN_IF_ERROR(checkReduceScatter(*this, data, elementsPerRank, type, output, workspace, site));
    const int64_t own = elementsPerRank[rank()];
    const bool areEqual =
        std::all_of(elementsPerRank.begin(), elementsPerRank.end(), [&](int64_t n) { return n == own; });
    if (!options.deterministic && areEqual) {
      absl::Status status = own == 0 ? absl::OkStatus()
                                     : call(ncclReduceScatter(data.data, output.data, own, *typeOf(type), ncclSum,
                                                              watch->comm(), cudaStreamOf(stream)),
                                            site);
      return finish(status, stream, site);
    }
    SPLITCAST_RETURN_IF_ERROR(checkTree(site));
    return finish(sumBlocks(data, elementsPerRank, type, output, workspace, stream, site), stream, site);
  }

  absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace, Stream &stream,
                                  const CallSite &site) override {
    SPLITCAST_RETURN_IF_ERROR(checkAllReduce(*this, data, elements, type, workspace, site));
    if (!options.deterministic)
      return finish(call(ncclAllReduce(data.data, data.data, elements, *typeOf(type), ncclSum, watch->comm(),
                                       cudaStreamOf(stream)),
                         site),
                    stream, site);
    SPLITCAST_RETURN_IF_ERROR(checkTree(site));
    if (elements * bytesOf(type) <= ccl::kSmallAllReduceBytes)
      return finish(sumWhole(data.slice(0, elements * bytesOf(type)), type, workspace, stream, site), stream, site);
    const std::vector<int64_t> blocks = allReduceBlocks(*this, elements);
    std::vector<int64_t> bytes;
    for (int64_t block : blocks)
      bytes.push_back(block * bytesOf(type));
    const int64_t start = std::accumulate(bytes.begin(), bytes.begin() + rank(), int64_t{0});
    SPLITCAST_RETURN_IF_ERROR(sumBlocks(data, blocks, type, data.slice(start, bytes[rank()]), workspace, stream, site));
    return allGather(data.slice(0, elements * bytesOf(type)), bytes, stream, site);
  }

  absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                 absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                 const CallSite &site) override {
    absl::Status status = checkAllToAll(*this, input, inputBytesPerRank, output, outputBytesPerRank, site);
    SPLITCAST_RETURN_IF_ERROR(status);
    const std::vector<int64_t> sends = startsOf(inputBytesPerRank), receives = startsOf(outputBytesPerRank);
    cudaStream_t on = cudaStreamOf(stream);
    status = exchangeBlocks(site, [&](int64_t peer) {
      absl::Status sent = send(input.slice(sends[peer], inputBytesPerRank[peer]), peer, on, site);
      sent.Update(receive(output.slice(receives[peer], outputBytesPerRank[peer]), peer, on, site));
      return sent;
    });
    const int64_t own = inputBytesPerRank[rank()];
    if (status.ok() && own > 0 &&
        cudaMemcpyAsync(output.data + receives[rank()], input.data + sends[rank()], own, cudaMemcpyDeviceToDevice,
                        on) != cudaSuccess)
      status = absl::UnavailableError(absl::StrCat(site.what, ": a copy on the device failed"));
    return finish(status, stream, site);
  }

  /// Registers the memory only if all ranks have the same layout, on which NCCL
  /// relies.
  absl::StatusOr<std::unique_ptr<Registration>> registerMemory(Buffer memory, const std::string &layout,
                                                               const CallSite &site) override {
    if (!usesWindows || size() == 1)
      return nullptr;
    SPLITCAST_ASSIGN_OR_RETURN(
        std::vector<std::string> all,
        control->exchange(absl::StrCat(memory.bytes, " ", std::hash<std::string>{}(layout)), site));
    const bool isSymmetric =
        std::all_of(all.begin(), all.end(), [&](const std::string &other) { return other == all.front(); });
    if (!isSymmetric) // NCCL maps the other ranks' memory with this rank's size
      return nullptr;
    auto window = std::make_shared<ncclWindow_t>(nullptr);
    watch->keep(window); // NCCL's own thread writes it, possibly even after an error
    absl::Status status = statusOf(
        ncclCommWindowRegister(watch->comm(), memory.data, memory.bytes, window.get(), NCCL_WIN_COLL_SYMMETRIC), site);
    if (status.ok())
      status = watch->settle(site.what); // the call may report success while that thread is still at work
    SPLITCAST_RETURN_IF_ERROR(status);
    if (!*window) // NCCL's transport has no windows
      return nullptr;
    return std::make_unique<NcclWindow>(watch, *window);
  }

  absl::Status barrier(const CallSite &site) override { return control->barrier(site); }
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) override {
    return control->exchange(mine, site);
  }
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override {
    absl::StatusOr<std::unique_ptr<Communicator>> group = control->split(ranks, site);
    return group.ok() ? createNcclCommunicator(*std::move(group), options) : group.status();
  }

private:
  static absl::Status checkVersions(const std::vector<std::string> &all) {
    for (size_t r = 1; r < all.size(); ++r) {
      const std::string first = all[0].substr(0, all[0].find(' ')), other = all[r].substr(0, all[r].find(' '));
      if (first != other)
        return absl::FailedPreconditionError(absl::StrCat("rank 0 has NCCL ", first, ", but rank ", r, " has ", other,
                                                          "; install the same version everywhere"));
    }
    for (size_t r = 0; r < all.size(); ++r)
      if (all[r].size() < all[r].find(' ') + 1 + sizeof(ncclUniqueId))
        return absl::UnavailableError(absl::StrCat("rank ", r, " could not initialize NCCL"));
    return absl::OkStatus();
  }

  /// Returns an earlier error first: once the communicator is gone, NCCL
  /// reports only an invalid argument.
  absl::Status statusOf(ncclResult_t result, const CallSite &site) const {
    return watch->comm() ? ncclStatus(result, site.what, watch->comm()) : watch->error();
  }

  absl::Status call(ncclResult_t result, const CallSite &site) {
    SPLITCAST_RETURN_IF_ERROR(statusOf(result, site));
    return result == ncclInProgress ? watch->settle(site.what) : absl::OkStatus();
  }

  absl::Status send(Buffer from, int64_t peer, cudaStream_t on, const CallSite &site) {
    if (from.bytes == 0)
      return absl::OkStatus();
    return statusOf(ncclSend(from.data, from.bytes, ncclInt8, static_cast<int>(peer), watch->comm(), on), site);
  }
  absl::Status receive(Buffer to, int64_t peer, cudaStream_t on, const CallSite &site) {
    if (to.bytes == 0)
      return absl::OkStatus();
    return statusOf(ncclRecv(to.data, to.bytes, ncclInt8, static_cast<int>(peer), watch->comm(), on), site);
  }

  /// Checks that the kernel can add the addends of all ranks. The answer is the
  /// same on all ranks, and is known before anything is sent.
  absl::Status checkTree(const CallSite &site) const {
    if (size() <= kMostAddends)
      return absl::OkStatus();
    return invalidCall(site, absl::StrCat("the sum has addends from ", size(),
                                          " ranks, but on GPUs the fixed tree has at most ", kMostAddends,
                                          "; sum over fewer ranks, or let NCCL add equal blocks "
                                          "(NcclCommunicatorOptions::deterministic = false)"));
  }

  /// Calls `exchange`, which sends to and receives from a peer, for each other
  /// rank, as one group of NCCL calls.
  template <typename Exchange> absl::Status exchangeBlocks(const CallSite &site, Exchange exchange) {
    absl::Status status = statusOf(ncclGroupStart(), site);
    for (int64_t peer = 0; peer < size() && status.ok(); ++peer)
      if (peer != rank())
        status = exchange(peer);
    ncclResult_t ended = ncclGroupEnd();
    status.Update(call(ended, site));
    return status;
  }

  /// Returns a peer's part of the workspace, in which each other rank has
  /// `bytes`, aligned.
  Buffer partOf(Buffer workspace, int64_t peer, int64_t bytes) const {
    const int64_t part = peer < rank() ? peer : peer - 1;
    return workspace.slice(part * sbp::alignUp(bytes, sbp::kAlignmentBytes), bytes);
  }

  /// Sums each block at its owner: every other rank sends its addends, chunk by
  /// chunk. The chunks of even and of odd rounds have a place each, so that one
  /// is added while the next arrives.
  absl::Status sumBlocks(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type, Buffer output,
                         Buffer workspace, Stream &stream, const CallSite &site) {
    const int64_t element = bytesOf(type), chunkSize = chunkBytes();
    std::vector<int64_t> bytes;
    for (int64_t elements : elementsPerRank)
      bytes.push_back(elements * element);
    const std::vector<int64_t> starts = startsOf(bytes);
    auto chunkOf = [&](int64_t block, int64_t begin) {
      return data.slice(starts[block] + begin, std::min(bytes[block] - begin, chunkSize));
    };
    const int64_t own = bytes[rank()], most = *std::max_element(bytes.begin(), bytes.end());
    Event added[2];
    for (int64_t begin = 0; begin < most; begin += chunkSize) {
      const bool hasOwn = begin < own;
      const int64_t place = begin / chunkSize % 2;
      if (added[place])
        SPLITCAST_RETURN_IF_ERROR(stream.waitFor(added[place]));
      std::vector<Buffer> addends(size());
      SPLITCAST_RETURN_IF_ERROR(exchangeBlocks(site, [&](int64_t peer) {
        absl::Status sent =
            begin < bytes[peer] ? send(chunkOf(peer, begin), peer, cudaStreamOf(stream), site) : absl::OkStatus();
        if (!hasOwn)
          return sent;
        addends[peer] = partOf(workspace, peer, ccl::addendBytes(own, chunkSize))
                            .slice(place * chunkSize, chunkOf(rank(), begin).bytes);
        sent.Update(receive(addends[peer], peer, cudaStreamOf(stream), site));
        return sent;
      }));
      if (!hasOwn)
        continue;
      addends[rank()] = chunkOf(rank(), begin);
      const Buffer sum = output.slice(begin, addends[rank()].bytes);
      if (most <= chunkSize)
        return sums.launch(addends, sum, type, cudaStreamOf(stream), site.what);
      SPLITCAST_ASSIGN_OR_RETURN(added[place], addBeside(addends, sum, type, stream, site));
    }
    for (const Event &event : added)
      if (event)
        SPLITCAST_RETURN_IF_ERROR(stream.waitFor(event));
    return absl::OkStatus();
  }

  /// Adds what has arrived on `stream` by now on the stream for additions, and
  /// returns the event of the sum.
  absl::StatusOr<Event> addBeside(const std::vector<Buffer> &addends, Buffer sum, ElementType type, Stream &stream,
                                  const CallSite &site) {
    SPLITCAST_ASSIGN_OR_RETURN(Event arrived, stream.record());
    SPLITCAST_RETURN_IF_ERROR(adding->waitFor(arrived));
    SPLITCAST_RETURN_IF_ERROR(sums.launch(addends, sum, type, cudaStreamOf(*adding), site.what));
    return adding->record();
  }

  /// Sums a small tensor on every rank: each rank sends all of it to each
  /// other.
  absl::Status sumWhole(Buffer data, ElementType type, Buffer workspace, Stream &stream, const CallSite &site) {
    if (data.bytes == 0)
      return absl::OkStatus();
    cudaStream_t on = cudaStreamOf(stream);
    std::vector<Buffer> addends(size());
    addends[rank()] = data;
    absl::Status status = exchangeBlocks(site, [&](int64_t peer) {
      addends[peer] = partOf(workspace, peer, data.bytes);
      absl::Status sent = send(data, peer, on, site);
      sent.Update(receive(addends[peer], peer, on, site));
      return sent;
    });
    return status.ok() ? sums.launch(addends, data, type, on, site.what) : status;
  }

  absl::StatusOr<Event> finish(const absl::Status &status, Stream &stream, const CallSite &site) {
    SPLITCAST_RETURN_IF_ERROR(status);
    SPLITCAST_RETURN_IF_ERROR(
        watch->error()); // after an earlier collective's error NCCL is not called if there is nothing to send
    absl::StatusOr<Event> event = recordCudaEvent(cudaStreamOf(stream));
    if (event.ok() && isCapturing(cudaStreamOf(stream)))
      watch->addCaptured(site.what);
    else if (event.ok())
      watch->add(*event, site.what);
    return event;
  }

  const std::unique_ptr<Communicator> control;
  const NcclCommunicatorOptions options;
  NcclTreeSum sums; ///< outlives `watch`, which waits for the collectives that use its kernels
  std::shared_ptr<NcclWatch> watch;
  bool usesWindows = false;
  std::unique_ptr<Stream> adding; ///< adds one chunk while the next is on its way
};

} // namespace

void avoidKnownNcclDefects() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version >= NCCL_VERSION(2, 29, 2))
    return;
  setenv("NCCL_GRAPH_REGISTER", "0", 0);
  setenv("NCCL_LOCAL_REGISTER", "0", 0);
}

absl::StatusOr<std::unique_ptr<Communicator>> createNcclCommunicator(std::unique_ptr<Communicator> control,
                                                                     const NcclCommunicatorOptions &options) {
  auto communicator = std::make_unique<NcclCommunicator>(std::move(control), options);
  SPLITCAST_RETURN_IF_ERROR(communicator->init());
  return communicator;
}

} // namespace splitcast::runtime
