//===- Text.h - What the examples that learn a text share ---------------------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_TEXT_H
#define SPLITCAST_EXAMPLES_COMMON_TEXT_H

#include "examples/common/Training.h"
#include "runtime/io/TextFile.h"

#include "absl/time/clock.h"

namespace splitcast {

/// Windows at random places of a text, which depend on the seed and the sample's number only.
class TextWindows {
public:
  /// Windows of `length` bytes. The text is borrowed, and has that many bytes or more.
  TextWindows(const runtime::TextFile &text, int64_t length, int64_t seed) : text(text), length(length), seed(seed) {}

  /// Bytes [from, from + count) of the window of a sample, as integers.
  absl::Status read(int64_t sample, int64_t from, int64_t count, int64_t *to) const;
  /// The same of the samples `first`, `first` + 1 and so on, one after the other.
  absl::Status readRows(int64_t first, int64_t rows, int64_t from, int64_t count, int64_t *to) const;

private:
  int64_t place(int64_t sample) const;

  const runtime::TextFile &text;
  int64_t length, seed;
};

/// A line at the first and the last step, and in between every second and every tenth of the run.
class TextProgress {
public:
  TextProgress(int64_t steps, int64_t tokensPerStep, const MemoryReport &memory);

  /// Called after each step, on every rank; prints if `isPrinting`, and adds to the line of metrics.
  void show(const StepResult &result, bool isPrinting, nlohmann::ordered_json &metrics);

private:
  int64_t steps, tokensPerStep;
  std::string predicted;
  absl::Time begin = absl::Now(), shown = absl::InfinitePast();
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_TEXT_H
