#include "examples/common/Text.h"

#include "compiler/launch/LaunchReport.h"
#include "runtime/io/Random.h"

#include <algorithm>
#include <cmath>

namespace splitcast {

absl::Status Windows::readRows(int64_t first, int64_t from, int64_t count, absl::Span<int64_t> to) const {
  for (; !to.empty(); to.remove_prefix(count))
    SPLITCAST_RETURN_IF_ERROR(tokens.read(place(first++) + from, count, to.data()));
  return absl::OkStatus();
}

int64_t RandomWindows::place(int64_t sample) const {
  runtime::RandomKey key{static_cast<uint64_t>(seed), runtime::hashName("data.places")};
  double uniform = 0;
  runtime::fillUniform(key, sample, 1, 0.0F, 1.0F, &uniform);
  return std::min(places() - 1, static_cast<int64_t>(uniform * static_cast<double>(places())));
}

int64_t EvenWindows::place(int64_t sample) const {
  const double share = static_cast<double>(sample) / static_cast<double>(std::max<int64_t>(1, samples - 1));
  return std::min(places() - 1, static_cast<int64_t>(share * static_cast<double>(places() - 1)));
}

TextProgress::TextProgress(int64_t steps, int64_t tokensPerStep, const MemoryReport &memory)
    : steps(steps), tokensPerStep(tokensPerStep), predicted(megabytes(memory.peakBytes())) {}

nlohmann::ordered_json TextProgress::show(const StepResult &result, bool isPrinting) {
  const absl::Time now = absl::Now();
  const double elapsed = std::max(1e-9, absl::ToDoubleSeconds(now - begin));
  const double tokensPerSecond = static_cast<double>(result.step * tokensPerStep) / elapsed;
  const int64_t resident = processMemory().residentBytes;
  nlohmann::ordered_json metrics = {{"tokens_per_second", tokensPerSecond}, {"resident_bytes", resident}};
  if (isPrinting && result.validationLoss)
    printf("step %lld/%lld  validation loss %.4f\n", static_cast<long long>(result.step), static_cast<long long>(steps),
           *result.validationLoss);
  const bool isTenth = result.step % std::max<int64_t>(1, steps / 10) == 0;
  const bool isEnd = result.step == 1 || result.step == steps;
  if (!isPrinting || (!isEnd && !isTenth && now - shown < absl::Seconds(1)))
    return metrics;
  shown = now;
  const auto left =
      static_cast<long long>(std::ceil(static_cast<double>((steps - result.step) * tokensPerStep) / tokensPerSecond));
  printf("step %lld/%lld  loss %.4f  %.0f tokens/s  memory %s (predicted peak %s)  time left %lld:%02lld\n",
         static_cast<long long>(result.step), static_cast<long long>(steps), result.loss, tokensPerSecond,
         megabytes(resident).c_str(), predicted.c_str(), left / 60, left % 60);
  fflush(stdout);
  return metrics;
}

} // namespace splitcast
