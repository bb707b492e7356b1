#include "runtime/pull/PeerMemory.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr char kWhat[] = "finding ranks of one machine";

/// Processes with equal texts have numbers of one kind: one start of one system, one namespace.
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

iovec part(const void *data, uint64_t bytes) { return {const_cast<void *>(data), bytes}; }

/// In another process.
const void *addressOf(uint64_t address) { return reinterpret_cast<const void *>(address); }

} // namespace

absl::StatusOr<std::shared_ptr<PeerMemory>> PeerMemory::connect(Communicator &ranks, bool isWanted) {
  std::shared_ptr<PeerMemory> memory(new PeerMemory);
  absl::Status status = memory->introduce(ranks, isWanted);
  if (status.ok())
    status = memory->compareNotes(ranks);
  if (!status.ok())
    return status;
  return memory;
}

absl::Status PeerMemory::introduce(Communicator &ranks, bool isWanted) {
  const std::string machine = isWanted ? machineText() : "";
  mark = drawMark();
#ifdef PR_SET_PTRACER
  // Where only a parent may look into a process, this one lets others of its user. Elsewhere the call fails, and
  // nothing is lost.
  if (isWanted)
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
#endif
  auto texts =
      ranks.exchange(absl::StrCat(machine, " ", getpid(), " ", reinterpret_cast<uintptr_t>(&mark), " ", mark), {kWhat});
  if (!texts.ok())
    return texts.status();
  peers.resize(texts->size());
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    Peer &peer = peers[rank];
    const std::vector<std::string> fields = absl::StrSplit((*texts)[rank], ' ');
    peer.isRead = fields.size() == 4 && !machine.empty() && fields[0] == machine &&
                  static_cast<int64_t>(rank) != ranks.rank() && absl::SimpleAtoi(fields[1], &peer.process) &&
                  absl::SimpleAtoi(fields[2], &peer.markAddress) && absl::SimpleAtoi(fields[3], &peer.mark);
  }
  return absl::OkStatus();
}

// A text for each rank: those that it reads, and what kept it from reading another.
absl::Status PeerMemory::compareNotes(Communicator &ranks) {
  std::vector<int64_t> read;
  std::string reason;
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    if (!peers[rank].isRead)
      continue;
    const absl::Status status = this->read(static_cast<int64_t>(rank), nullptr, 0, 0);
    peers[rank].isRead = status.ok();
    if (status.ok())
      read.push_back(static_cast<int64_t>(rank));
    else
      reason = absl::StrCat("rank ", ranks.rank(), " cannot read the memory of rank ", rank, " (",
                            std::string(status.message()), ")");
  }
  auto texts = ranks.exchange(absl::StrCat(absl::StrJoin(read, ","), ";", reason), {kWhat});
  if (!texts.ok())
    return texts.status();
  for (size_t rank = 0; rank < texts->size(); ++rank) {
    const std::vector<std::string> halves = absl::StrSplit((*texts)[rank], absl::MaxSplits(';', 1));
    for (const absl::string_view number : absl::StrSplit(halves[0], ',', absl::SkipEmpty()))
      if (number == absl::StrCat(ranks.rank()))
        peers[rank].isReader = true;
    if (failure.empty() && halves.size() > 1)
      failure = halves[1];
  }
  return absl::OkStatus();
}

absl::Status PeerMemory::read(int64_t rank, std::byte *to, uint64_t address, int64_t bytes) const {
  const Peer &peer = peers[rank];
  uint64_t found = 0;
  const iovec here[] = {part(to, bytes), part(&found, sizeof(found))};
  // The mark in the same call: the number of a process that has ended may be another's by now.
  const iovec there[] = {part(addressOf(address), bytes), part(addressOf(peer.markAddress), sizeof(found))};
  const ssize_t count = process_vm_readv(static_cast<pid_t>(peer.process), here, 2, there, 2, 0);
  if (count < 0)
    return absl::UnavailableError(absl::StrCat("process_vm_readv: ", std::strerror(errno)));
  if (count != bytes + static_cast<ssize_t>(sizeof(found)) || found != peer.mark)
    return absl::UnavailableError("process_vm_readv: it has ended");
  return absl::OkStatus();
}

} // namespace splitcast::runtime
