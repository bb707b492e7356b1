#include "runtime/process/Patience.h"

#include <algorithm>
#include <chrono>

namespace splitcast::runtime {
namespace {

/// A longer gap between two looks counts as this much. Waits look ten times a
/// second at least, and a busy machine may delay them somewhat.
constexpr absl::Duration kMostGap = absl::Milliseconds(250);

} // namespace

int64_t Patience::steadyClock() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of a short limit, one gap is at most the half.
Patience::Patience(absl::Duration limit, Clock clock)
    : clock(clock), limit(absl::ToInt64Nanoseconds(limit)),
      mostGap(absl::ToInt64Nanoseconds(std::min(kMostGap, limit / 2))), last(clock()) {}

void Patience::restart() {
  last = clock();
  waited = 0;
}

bool Patience::isOver() {
  const int64_t now = clock(), gap = now - last;
  const bool wasOver = waited >= limit, wasStopped = gap > mostGap;
  last = now;
  waited += std::min(gap, mostGap);
  return waited >= limit && (wasOver || !wasStopped);
}

absl::Duration Patience::left() const { return absl::Nanoseconds(std::max<int64_t>(limit - waited, 0)); }

} // namespace splitcast::runtime
