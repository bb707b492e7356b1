//===- PtxChecks.h - Finds races between threads ---------------------------------------------===//
//
// For each granule of memory (4 bytes; fewer after a narrower access) it stores the last store and the last load, each
// with its thread and its segment of the launch. A segment begins with each block and at each barrier, so accesses in
// different segments of a block are ordered. Several readers in a segment are stored as "many of this warp" or "many".
//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXCHECKS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXCHECKS_H

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace splitcast::cuda_on_cpu {

enum class Access : uint8_t { Load, LoadNoncoherent, LoadAtomic, Store, Atomic };

class RaceCheck {
public:
  void beginBlock();
  /// Called when all threads of the block have reached a barrier.
  void barrier();
  void warpBarrier(uint32_t warp, uint32_t lanes);

  /// Called when threads firstThread, firstThread + 1, ... of the block access `bytes` bytes each, consecutively from
  /// `address` on. `bytes` is a power of two that divides `address`. Returns false if an access conflicts with another
  /// one; conflict() then describes it.
  bool global(Access access, uint64_t address, unsigned bytes, unsigned firstThread, unsigned threads) {
    return rows<false>(access, address, bytes, firstThread, threads);
  }
  bool shared(Access access, uint64_t address, unsigned bytes, unsigned firstThread, unsigned threads) {
    return rows<true>(access, address, bytes, firstThread, threads);
  }
  const std::string &conflict() const { return found; }
  /// Whether the warp's last bar.warp.sync was one of all lanes, or there was none. Then its lanes differ only in their
  /// numbers.
  bool lanesAreAlike(uint32_t warp) const { return warpBarriers[warp].lanes == ~uint32_t{0}; }

private:
  /// segment << 12 | thread << 1 | a bit, which says whether the store was atomic, or the load was noncoherent.
  struct Entry {
    uint32_t store = 0, load = 0;
  };
  struct Page {
    std::unique_ptr<Entry[]> entries;
    unsigned shift = 2;
  };
  struct WarpBarrier {
    uint32_t segment = 0, lanes = ~uint32_t{0};
  };

  template <bool Shared> bool rows(Access access, uint64_t address, unsigned bytes, unsigned thread, unsigned threads);
  template <bool Shared, Access A> bool touch(Entry *entry, unsigned perThread, unsigned thread, unsigned threads);
  template <bool Shared> bool isOrdered(uint32_t stamp, unsigned thread) const;
  template <bool Shared> uint32_t mergedLoad(uint32_t old, unsigned thread, bool noncoherent) const;
  template <bool Shared> uint32_t mergedStore(uint32_t old, unsigned thread, bool atomic) const;
  uint32_t merged(uint32_t old, unsigned thread) const;
  bool refuse(const char *what, uint32_t stamp, bool nc);
  bool isOfWarp(uint32_t who, unsigned warp) const;
  bool warpOrders(uint32_t stamp, unsigned thread) const;

  template <bool Shared> Page &pageOf(uint64_t number);
  static void refine(Page &page, unsigned shift);
  void advance();
  void renumber();
  template <bool Shared> uint32_t renumbered(uint32_t stamp, uint32_t shift) const;

  uint32_t segment = 1, blockBegin = 1, phaseBegin = 1;
  std::array<WarpBarrier, 32> warpBarriers;
  std::unordered_map<uint64_t, Page> pages;
  std::vector<Page> sharedPages;
  struct Recent {
    uint64_t number = ~uint64_t{0};
    Page *page = nullptr;
  };
  std::array<Recent, 64> recent;
  std::string found;
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXCHECKS_H
