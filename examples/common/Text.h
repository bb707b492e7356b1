//===- Text.h - What the examples that learn a text share ---------------------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_TEXT_H
#define SPLITCAST_EXAMPLES_COMMON_TEXT_H

#include "examples/common/Training.h"
#include "runtime/io/TokenFile.h"

#include "absl/time/clock.h"

namespace splitcast {

/// Windows of a file of tokens.
class Windows {
public:
  /// Of `length` tokens. The file is borrowed, and has that many tokens or more.
  Windows(const runtime::TokenFile &tokens, int64_t length) : tokens(tokens), length(length) {}
  virtual ~Windows() = default;

  /// Tokens [from, from + count) of the windows of samples `first`, `first` + 1 and so on, one after the other: of as
  /// many as fill `to`.
  absl::Status readRows(int64_t first, int64_t from, int64_t count, absl::Span<int64_t> to) const;

protected:
  /// From 0 on.
  int64_t places() const { return tokens.size() - length + 1; }

private:
  /// Where the window of a sample begins.
  virtual int64_t place(int64_t sample) const = 0;

  const runtime::TokenFile &tokens;
  int64_t length;
};

/// At random places, which depend on the seed and the sample's number only.
class RandomWindows : public Windows {
public:
  RandomWindows(const runtime::TokenFile &tokens, int64_t length, int64_t seed) : Windows(tokens, length), seed(seed) {}

private:
  int64_t place(int64_t sample) const override;

  int64_t seed;
};

/// So many that are as far from each other as can be, from the first to the last.
class EvenWindows : public Windows {
public:
  EvenWindows(const runtime::TokenFile &tokens, int64_t length, int64_t samples)
      : Windows(tokens, length), samples(samples) {}

private:
  int64_t place(int64_t sample) const override;

  int64_t samples;
};

/// One behind the other: windows of `length` tokens begin every `length` - 1, so that none is predicted twice. What is
/// left at the end and makes no window is left out.
class SequentialWindows : public Windows {
public:
  SequentialWindows(const runtime::TokenFile &tokens, int64_t length) : Windows(tokens, length), stride(length - 1) {}

  int64_t size() const { return (places() - 1) / stride + 1; }

private:
  int64_t place(int64_t sample) const override { return sample * stride; }

  int64_t stride;
};

/// A line at the first and the last step, and in between every second and every tenth of the run.
class TextProgress {
public:
  TextProgress(int64_t steps, int64_t tokensPerStep, const MemoryReport &memory);

  /// Called after each step, on every rank; prints if `isPrinting`. Returns what the line of metrics has besides.
  nlohmann::ordered_json show(const StepResult &result, bool isPrinting);

private:
  int64_t steps, tokensPerStep;
  std::string predicted;
  absl::Time begin = absl::Now(), shown = absl::InfinitePast();
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_TEXT_H
