#include "runtime/pull/PeerMemory.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/OwnDirectory.h"
#include "runtime/process/ViewedMemory.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr char kWhat[] = "finding the ranks of this machine";
constexpr int64_t kMarkBytes = sizeof(uint64_t);
constexpr int64_t kHugePageBytes = 2 << 20, kSmallPagesBytes = 64 << 10;

/// Returns a text that is equal for two processes only if each can name the
/// other by its process number: same machine, same boot, same namespace of
/// process numbers. It is empty if the system does not say.
std::string machineText() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = {};
  if (readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0)
    boot.clear();
  return boot.empty() ? "" : absl::StrCat(boot, "/", space);
}

uint64_t drawMark() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

/// Returns the error in errno: ResourceExhausted if this process has run out of
/// something, and otherwise Unavailable, as the fault of the other process.
absl::Status systemError(const std::string &what) {
  const int error = errno;
  const std::string text = absl::StrCat(what, ": ", std::strerror(error));
  const bool isOwn = error == ENOMEM || error == EMFILE || error == ENFILE;
  return isOwn ? absl::ResourceExhaustedError(text) : absl::UnavailableError(text);
}

/// Returns whether the address space is unlimited, so that this process can map
/// whatever others have.
bool hasAddresses() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/// Maps all of a file that another process has open.
absl::StatusOr<void *> mapFileOf(int64_t process, const SharedPlace &place, bool isWritten) {
  const std::string path = absl::StrCat("/proc/", process, "/fd/", place.file);
  const int file = open(path.c_str(), (isWritten ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return systemError(path);
  // If the process has ended or has closed the file, its number may belong to
  // another by now.
  const absl::Status own = checkOwnFile(file, path);
  if (!own.ok()) {
    close(file);
    return absl::UnavailableError(own.message());
  }
  struct stat found{};
  const bool isSame = fstat(file, &found) == 0 && found.st_ino == place.identity && found.st_size == place.fileBytes;
  void *data = isSame ? mapFile(file, place.fileBytes, isWritten ? PROT_READ | PROT_WRITE : PROT_READ) : nullptr;
  absl::Status failed = data     ? absl::OkStatus()
                        : isSame ? systemError(absl::StrCat("mapping ", path))
                                 : absl::UnavailableError(absl::StrCat(path, ": it is a different file by now"));
  close(file);
  SPLITCAST_RETURN_IF_ERROR(failed);
  return data;
}

/// Memory of this rank that others may map.
class CreatedMemory final : public SharedMemory {
public:
  CreatedMemory(std::shared_ptr<HostMemory> memory, Buffer data) : memory(std::move(memory)), data(data) {}
  CreatedMemory(const CreatedMemory &) = delete;
  CreatedMemory &operator=(const CreatedMemory &) = delete;
  ~CreatedMemory() override { memory->release(data); }
  Buffer buffer() const override { return data; }
  absl::Status populate() override { return memory->populate(data); }

private:
  std::shared_ptr<HostMemory> memory;
  Buffer data;
};

/// Memory of another rank.
class JoinedMemory final : public SharedMemory {
public:
  JoinedMemory(void *address, int64_t fileBytes, int64_t bytes)
      : address(address), fileBytes(fileBytes), bytes(bytes) {}
  JoinedMemory(const JoinedMemory &) = delete;
  JoinedMemory &operator=(const JoinedMemory &) = delete;
  ~JoinedMemory() override { munmap(address, fileBytes); }
  Buffer buffer() const override { return {static_cast<std::byte *>(address), bytes}; }
  absl::Status populate() override {
    return populateFile(address, fileBytes)
               ? absl::OkStatus()
               : absl::ResourceExhaustedError(
                     absl::StrCat("getting the pages of another rank's memory: ", std::strerror(errno)));
  }

private:
  void *address;
  int64_t fileBytes, bytes;
};

} // namespace

struct PeerMemory::MappedFile {
  MappedFile(const std::byte *data, int64_t bytes) : data(data), bytes(bytes) {}
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile() {
    munmap(const_cast<std::byte *>(data), bytes);
    for (const auto &[page, count] : users)
      countViewed(-bytesOf(page));
  }

  static absl::StatusOr<std::shared_ptr<MappedFile>> open(int64_t process, const SharedPlace &place);

  /// A view's pages count as this process's memory from the first read to the
  /// view's end, a huge page as a whole. leave() unmaps them, except the last
  /// one, in which the next view often begins. (Mapping pages again takes a
  /// twentieth of the time of reading them.)
  void enter(int64_t offset, int64_t length) {
    std::lock_guard<std::mutex> lock(mutex);
    forEachPage(offset, length, [this](int64_t page) { retain(page); });
  }
  void leave(int64_t offset, int64_t length) {
    std::lock_guard<std::mutex> lock(mutex);
    const int64_t last = pageOf(offset + length - 1);
    retain(last);
    forEachPage(offset, length, [this](int64_t page) { release(page); });
    if (leftOver >= 0)
      release(leftOver);
    leftOver = last;
  }

  const std::byte *data;
  const int64_t bytes;

private:
  /// Returns the page that has this byte. The end of a file that fills no huge
  /// page has small pages, which the system maps 16 at a time.
  int64_t pageOf(int64_t offset) const {
    const bool isHuge = offset < bytes - bytes % kHugePageBytes;
    return offset - offset % (isHuge ? kHugePageBytes : kSmallPagesBytes);
  }
  int64_t bytesOf(int64_t page) const {
    return page + kHugePageBytes <= bytes ? kHugePageBytes : std::min(kSmallPagesBytes, bytes - page);
  }
  void forEachPage(int64_t offset, int64_t length, absl::FunctionRef<void(int64_t)> visit) const {
    for (int64_t page = pageOf(offset); page < offset + length; page += bytesOf(page))
      visit(page);
  }
  void retain(int64_t page) {
    if (++users[page] == 1)
      countViewed(bytesOf(page));
  }
  void release(int64_t page) {
    if (--users[page] > 0)
      return;
    users.erase(page);
    madvise(const_cast<std::byte *>(data) + page, bytesOf(page), MADV_DONTNEED);
    countViewed(-bytesOf(page));
  }

  std::mutex mutex;
  std::map<int64_t, int64_t> users; ///< how many views use each mapped page, plus one for the page left over
  int64_t leftOver = -1;            ///< the last page of the last view, or -1
};

absl::StatusOr<std::shared_ptr<PeerMemory::MappedFile>> PeerMemory::MappedFile::open(int64_t process,
                                                                                     const SharedPlace &place) {
  SPLITCAST_ASSIGN_OR_RETURN(void *data, mapFileOf(process, place, /*isWritten=*/false));
  return std::make_shared<MappedFile>(static_cast<const std::byte *>(data), place.fileBytes);
}

PeerMemory::PeerMemory() = default;
PeerMemory::~PeerMemory() {
  if (own)
    own->onRelease(nullptr);
}

absl::StatusOr<std::shared_ptr<PeerMemory>> PeerMemory::connect(Communicator &ranks, bool isWanted) {
  std::shared_ptr<PeerMemory> memory(new PeerMemory);
  absl::Status status = memory->introduce(ranks, isWanted);
  if (status.ok())
    status = memory->compareNotes(ranks);
  SPLITCAST_RETURN_IF_ERROR(status);
  return memory;
}

// Exchanges how to reach each rank's memory: machine, process, a random mark,
// and the file that has the mark.
absl::Status PeerMemory::introduce(Communicator &ranks, bool isWanted) {
  HostMemoryOptions options;
  options.isShared = isWanted && ranks.size() > 1;
  own = std::make_shared<HostMemory>(options);
  std::string mine = "not";
  const std::string machine = options.isShared ? machineText() : "";
  if (absl::StatusOr<Buffer> place = own->allocate(kMarkBytes); place.ok() && !machine.empty()) {
    const uint64_t mark = drawMark();
    std::memcpy(place->data, &mark, kMarkBytes);
    const SharedPlace where = own->find(place->data, kMarkBytes).value_or(SharedPlace());
    mine = absl::StrCat(machine, " ", getpid(), " ", mark, " ", where.file, " ", where.identity, " ", where.fileBytes);
  }
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> texts, ranks.exchange(mine, {kWhat}));
  peers.resize(texts.size());
  marks.resize(texts.size());
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    Peer &peer = peers[rank];
    const std::vector<std::string> fields = absl::StrSplit(texts[rank], ' ');
    peer.isRead = fields.size() == 6 && !machine.empty() && fields[0] == machine &&
                  static_cast<int64_t>(rank) != ranks.rank() && absl::SimpleAtoi(fields[1], &peer.process) &&
                  absl::SimpleAtoi(fields[2], &marks[rank]) && absl::SimpleAtoi(fields[3], &peer.mark.file) &&
                  absl::SimpleAtoi(fields[4], &peer.mark.identity) && absl::SimpleAtoi(fields[5], &peer.mark.fileBytes);
  }
  return absl::OkStatus();
}

absl::Status PeerMemory::recognize(int64_t rank, uint64_t expected) {
  if (peers[rank].mark.file < 0)
    return absl::UnavailableError("its system cannot create memory that processes share (memfd_create)");
  if (!hasAddresses())
    return absl::UnavailableError("ulimit -v limits the address space, which must have room to map it");
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<View> place, view(rank, peers[rank].mark, kMarkBytes));
  uint64_t found = 0;
  std::memcpy(&found, place->data(), kMarkBytes);
  return found == expected ? absl::OkStatus() : absl::UnavailableError("its process number belongs to another process");
}

// Each rank tries to read the marks of the others, and tells all ranks which it
// could read and why it could not read another.
absl::Status PeerMemory::compareNotes(Communicator &ranks) {
  std::vector<int64_t> read;
  std::string reason;
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    if (!peers[rank].isRead)
      continue;
    const absl::Status status = recognize(static_cast<int64_t>(rank), marks[rank]);
    peers[rank].isRead = status.ok();
    if (status.ok())
      read.push_back(static_cast<int64_t>(rank));
    else
      reason = absl::StrCat("rank ", ranks.rank(), " cannot read the memory of rank ", rank, " (",
                            std::string(status.message()), ")");
  }
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                             ranks.exchange(absl::StrCat(absl::StrJoin(read, ","), ";", reason), {kWhat}));
  bool isRead = false;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::vector<std::string> halves = absl::StrSplit(texts[rank], absl::MaxSplits(';', 1));
    for (const absl::string_view number : absl::StrSplit(halves[0], ',', absl::SkipEmpty()))
      if (number == absl::StrCat(ranks.rank()))
        isRead = peers[rank].isReader = true;
    if (failure.empty() && halves.size() > 1)
      failure = halves[1];
  }
  // The marks are no longer needed. From here on, memory that no rank reads is
  // private.
  views.clear();
  HostMemoryOptions options;
  options.isShared = isRead;
  own = std::make_shared<HostMemory>(options);
  own->onRelease([this] {
    std::lock_guard<std::mutex> lock(mutex);
    views.clear();
  });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PeerMemory::View>> PeerMemory::view(int64_t rank, const SharedPlace &place,
                                                                   int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<MappedFile> &file = views[{rank, place.identity}];
  if (!file) {
    auto opened = MappedFile::open(peers[rank].process, place);
    if (!opened.ok()) {
      views.erase({rank, place.identity});
      return opened.status();
    }
    file = *std::move(opened);
  }
  // A file is one allocation of its owner.
  if (bytes < 0 || place.offset < 0 || bytes > file->bytes || place.offset > file->bytes - bytes)
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " offers ", bytes, " bytes at offset ", place.offset,
                                                   " of memory that has ", file->bytes, " bytes"));
  return std::make_unique<View>(file, place.offset, bytes);
}

absl::StatusOr<std::unique_ptr<SharedMemory>> PeerMemory::create(int64_t bytes, std::string &place) {
  SPLITCAST_ASSIGN_OR_RETURN(Buffer data, own->allocate(bytes));
  auto created = std::make_unique<CreatedMemory>(own, data);
  const std::optional<SharedPlace> where = own->find(data.data, bytes);
  if (!where)
    return absl::ResourceExhaustedError(
        absl::StrCat("the system allocated ", bytes,
                     " bytes, but not as memory that other processes can map; check ulimit -f and -n"));
  place = absl::StrCat(where->file, " ", where->identity, " ", where->fileBytes);
  return created;
}

absl::StatusOr<std::unique_ptr<SharedMemory>> PeerMemory::join(int64_t rank, const std::string &text, int64_t bytes) {
  SharedPlace place;
  const std::vector<std::string> fields = absl::StrSplit(text, ' ');
  if (fields.size() != 3 || !absl::SimpleAtoi(fields[0], &place.file) ||
      !absl::SimpleAtoi(fields[1], &place.identity) || !absl::SimpleAtoi(fields[2], &place.fileBytes) || bytes < 0 ||
      place.fileBytes < bytes)
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " describes its memory as '", text,
                                                   "'; expected a file number, an identity and a size of at least ",
                                                   bytes, " bytes"));
  SPLITCAST_ASSIGN_OR_RETURN(void *data, mapFileOf(peers[rank].process, place, /*isWritten=*/true));
  return std::make_unique<JoinedMemory>(data, place.fileBytes, bytes);
}

PeerMemory::View::View(std::shared_ptr<MappedFile> file, int64_t offset, int64_t bytes)
    : file(std::move(file)), offset(offset), bytes(bytes) {}

PeerMemory::View::~View() {
  if (isRead)
    file->leave(offset, bytes);
}

const std::byte *PeerMemory::View::data() {
  if (!isRead)
    file->enter(offset, bytes);
  isRead = true;
  return file->data + offset;
}

} // namespace splitcast::runtime
