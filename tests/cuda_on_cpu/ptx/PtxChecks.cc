#include "tests/cuda_on_cpu/ptx/PtxChecks.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr unsigned kPageShift = 12, kWarpShift = 5;
constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;
constexpr unsigned kSegmentShift = 12;
constexpr uint32_t kMostSegments = (uint32_t{1} << 20) - 1;
/// Instead of a thread: several of a warp, or of several warps.
constexpr uint32_t kManyOfWarp = 1024, kMany = 2047;
/// After renumbering: of an earlier block, of an earlier phase of this block, and the first of this phase.
constexpr uint32_t kEarlierBlock = 1, kEarlierPhase = 2, kThisPhase = 3;

uint32_t segmentOf(uint32_t stamp) { return stamp >> kSegmentShift; }
uint32_t whoOf(uint32_t stamp) { return stamp >> 1 & 2047; }
uint32_t stampOf(uint32_t segment, uint32_t who, bool bit) {
  return segment << kSegmentShift | who << 1 | static_cast<uint32_t>(bit);
}

} // namespace

void RaceCheck::beginBlock() {
  advance();
  blockBegin = phaseBegin = segment;
  warpBarriers.fill(WarpBarrier());
}

void RaceCheck::barrier() {
  advance();
  phaseBegin = segment;
  warpBarriers.fill(WarpBarrier());
}

void RaceCheck::warpBarrier(uint32_t warp, uint32_t lanes) {
  advance();
  warpBarriers[warp] = {segment, lanes};
}

bool RaceCheck::isOfWarp(uint32_t who, unsigned warp) const {
  return who == kManyOfWarp + warp || (who < kManyOfWarp && who >> kWarpShift == warp);
}

/// By a bar.warp.sync in this phase of the block.
bool RaceCheck::warpOrders(uint32_t stamp, unsigned thread) const {
  const uint32_t who = whoOf(stamp), warp = thread >> kWarpShift;
  const WarpBarrier &last = warpBarriers[warp];
  if (!isOfWarp(who, warp) || segmentOf(stamp) >= last.segment || (last.lanes >> thread % 32 & 1) == 0)
    return false;
  return who < kManyOfWarp ? (last.lanes >> who % 32 & 1) != 0 : last.lanes == ~uint32_t{0};
}

/// Whether that access came before all that `thread` does now. Blocks are never ordered; shared memory is a block's
/// own.
template <bool Shared> bool RaceCheck::isOrdered(uint32_t stamp, unsigned thread) const {
  if (segmentOf(stamp) < phaseBegin)
    return Shared || segmentOf(stamp) >= blockBegin;
  return whoOf(stamp) == thread || warpOrders(stamp, thread);
}

/// The entry's `who` for an access of this phase and one more.
uint32_t RaceCheck::merged(uint32_t old, unsigned thread) const {
  if (whoOf(old) == thread || warpOrders(old, thread))
    return thread;
  const uint32_t warp = thread >> kWarpShift;
  return isOfWarp(whoOf(old), warp) ? kManyOfWarp + warp : kMany;
}

/// A load in an earlier block conflicts with each store to come; it is what must be remembered.
template <bool Shared> uint32_t RaceCheck::mergedLoad(uint32_t old, unsigned thread, bool noncoherent) const {
  if (Shared && segmentOf(old) < blockBegin)
    return stampOf(segment, thread, noncoherent);
  noncoherent |= (old & 1) != 0;
  if (segmentOf(old) < blockBegin)
    return old | static_cast<uint32_t>(noncoherent);
  return stampOf(segment, segmentOf(old) < phaseBegin ? thread : merged(old, thread), noncoherent);
}

/// `old` does not conflict: where it was of another block, it was atomic, and so is this one.
template <bool Shared> uint32_t RaceCheck::mergedStore(uint32_t old, unsigned thread, bool atomic) const {
  if (!atomic || (Shared && segmentOf(old) < blockBegin))
    return stampOf(segment, thread, atomic);
  if (segmentOf(old) < blockBegin)
    return old;
  if (segmentOf(old) < phaseBegin)
    return stampOf(segment, thread, true);
  return stampOf(segment, merged(old, thread), (old & 1) != 0 || whoOf(old) != thread);
}

bool RaceCheck::refuse(const char *what, uint32_t stamp, bool nc) {
  const uint32_t who = whoOf(stamp);
  std::string other = segmentOf(stamp) < blockBegin ? "a thread of another block"
                      : who == kMany                ? "threads of other warps"
                      : who >= kManyOfWarp          ? absl::StrCat("threads of warp ", who - kManyOfWarp)
                                                    : absl::StrCat("thread number ", who, " of this block");
  found = nc ? absl::StrCat("is of what the launch stores and loads with ld.global.nc (", other, " ", what, " it)")
             : absl::StrCat("is a race: ", other, " ", what, " it too, and no barrier is between");
  return false;
}

/// `perThread` entries for each of the threads.
template <bool Shared, Access A>
bool RaceCheck::touch(Entry *entry, unsigned perThread, unsigned thread, unsigned threads) {
  constexpr bool stores = A == Access::Store || A == Access::Atomic, nc = A == Access::LoadNoncoherent;
  constexpr bool atomic = A == Access::Atomic || A == Access::LoadAtomic;
  const uint32_t now = segment << kSegmentShift;
  for (const unsigned end = thread + threads; thread != end; ++thread)
    for (unsigned index = 0; index != perThread; ++index, ++entry) {
      const uint32_t store = entry->store, load = entry->load;
      if (!Shared && ((nc && store != 0) || (stores && (load & 1) != 0)))
        return refuse(nc ? "stored" : "loaded", nc ? store : load, true);
      if (store != 0 && !(atomic && (store & 1) != 0) && !isOrdered<Shared>(store, thread))
        return refuse("stored", store, false);
      if (stores) {
        if (load != 0 && !isOrdered<Shared>(load, thread))
          return refuse("loaded", load, false);
        entry->store = store == 0 ? now | thread << 1 | atomic : mergedStore<Shared>(store, thread, atomic);
      } else if (A != Access::LoadAtomic) {
        entry->load = load == 0 ? now | thread << 1 | nc : mergedLoad<Shared>(load, thread, nc);
      }
    }
  return true;
}

template <bool Shared>
bool RaceCheck::rows(Access access, uint64_t address, unsigned bytes, unsigned thread, unsigned threads) {
  while (threads != 0) {
    Page &page = pageOf<Shared>(address >> kPageShift);
    if (bytes < 1U << page.shift)
      refine(page, bytes == 1 ? 0 : 1);
    const uint64_t inPage = address & (kPageBytes - 1);
    const auto count = static_cast<unsigned>(std::min<uint64_t>(threads, (kPageBytes - inPage) / bytes));
    Entry *first = &page.entries[inPage >> page.shift];
    const unsigned perThread = bytes >> page.shift;
    bool good = false;
    switch (access) {
    case Access::Load:
      good = touch<Shared, Access::Load>(first, perThread, thread, count);
      break;
    case Access::LoadNoncoherent:
      good = touch<Shared, Access::LoadNoncoherent>(first, perThread, thread, count);
      break;
    case Access::LoadAtomic:
      good = touch<Shared, Access::LoadAtomic>(first, perThread, thread, count);
      break;
    case Access::Store:
      good = touch<Shared, Access::Store>(first, perThread, thread, count);
      break;
    case Access::Atomic:
      good = touch<Shared, Access::Atomic>(first, perThread, thread, count);
      break;
    }
    if (!good)
      return false;
    address += uint64_t{bytes} * count;
    thread += count;
    threads -= count;
  }
  return true;
}

template bool RaceCheck::rows<false>(Access, uint64_t, unsigned, unsigned, unsigned);
template bool RaceCheck::rows<true>(Access, uint64_t, unsigned, unsigned, unsigned);

template <bool Shared> RaceCheck::Page &RaceCheck::pageOf(uint64_t number) {
  auto filled = [](Page &page) -> Page & {
    if (!page.entries)
      page.entries = std::make_unique<Entry[]>(kPageBytes >> page.shift);
    return page;
  };
  if (Shared) {
    if (number >= sharedPages.size())
      sharedPages.resize(number + 1);
    return filled(sharedPages[number]);
  }
  Recent &last = recent[number % recent.size()];
  if (last.number != number)
    last = {number, &filled(pages[number])};
  return *last.page;
}

/// Entries for narrower granules; each inherits what was known of the wider one.
void RaceCheck::refine(Page &page, unsigned shift) {
  const uint64_t count = kPageBytes >> shift;
  auto entries = std::make_unique<Entry[]>(count);
  for (uint64_t index = 0; index < count; ++index)
    entries[index] = page.entries[index >> (page.shift - shift)];
  page.entries = std::move(entries);
  page.shift = shift;
}

void RaceCheck::advance() {
  if (segment == kMostSegments)
    renumber();
  ++segment;
}

template <bool Shared> uint32_t RaceCheck::renumbered(uint32_t stamp, uint32_t shift) const {
  if (stamp == 0 || (Shared && segmentOf(stamp) < blockBegin))
    return 0;
  const uint32_t number = segmentOf(stamp) < blockBegin   ? kEarlierBlock
                          : segmentOf(stamp) < phaseBegin ? kEarlierPhase
                                                          : segmentOf(stamp) - shift;
  return stampOf(number, whoOf(stamp), (stamp & 1) != 0);
}

/// When the numbers of segments are used up; of those before this phase, only what blocks and barriers say is kept.
void RaceCheck::renumber() {
  // A phase of a million bar.warp.sync counts as an earlier one.
  if (phaseBegin < kMostSegments / 2)
    phaseBegin = segment;
  const uint32_t shift = phaseBegin - kThisPhase;
  auto renumberPage = [&](Page &page, auto renumberStamp) {
    for (uint64_t index = 0; page.entries && index < kPageBytes >> page.shift; ++index) {
      page.entries[index].store = renumberStamp(page.entries[index].store);
      page.entries[index].load = renumberStamp(page.entries[index].load);
    }
  };
  for (auto &[number, page] : pages)
    renumberPage(page, [&](uint32_t stamp) { return renumbered<false>(stamp, shift); });
  for (Page &page : sharedPages)
    renumberPage(page, [&](uint32_t stamp) { return renumbered<true>(stamp, shift); });
  for (WarpBarrier &last : warpBarriers)
    last.segment = std::max(last.segment, shift) - shift;
  segment -= shift;
  blockBegin = kEarlierPhase;
  phaseBegin = kThisPhase;
}

} // namespace splitcast::cuda_on_cpu
