//===- Text.h - Data and progress of examples that train on a text ------------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_TEXT_H
#define SPLITCAST_EXAMPLES_COMMON_TEXT_H

#include "examples/common/Training.h"
#include "runtime/io/TokenFile.h"

#include "absl/time/clock.h"

namespace splitcast {

/// Windows of a file of tokens: runs of `length` consecutive tokens. Each sample is one window; samples are numbered
/// from 0. A subclass says where the window of each sample begins.
class Windows {
public:
  /// The file is borrowed, and must have at least `length` tokens.
  Windows(const runtime::TokenFile &tokens, int64_t length) : tokens(tokens), length(length) {}
  virtual ~Windows() = default;

  /// Reads tokens [from, from + count) of the window of each of the samples `first`, `first` + 1, ..., one after the
  /// other, until `to` is full. Its size must be a multiple of `count`. Errors are those of TokenFile::read.
  absl::Status readRows(int64_t first, int64_t from, int64_t count, absl::Span<int64_t> to) const;

protected:
  /// The number of positions at which a window can begin. They count from 0.
  int64_t places() const { return tokens.size() - length + 1; }

private:
  /// The position at which the window of a sample begins.
  virtual int64_t place(int64_t sample) const = 0;

  const runtime::TokenFile &tokens;
  int64_t length;
};

/// Windows at random places, which depend only on the seed and the sample's number.
class RandomWindows : public Windows {
public:
  RandomWindows(const runtime::TokenFile &tokens, int64_t length, int64_t seed) : Windows(tokens, length), seed(seed) {}

private:
  int64_t place(int64_t sample) const override;

  int64_t seed;
};

/// A fixed number of windows, `samples`, spread evenly over the file, from its first window to its last.
class EvenWindows : public Windows {
public:
  EvenWindows(const runtime::TokenFile &tokens, int64_t length, int64_t samples)
      : Windows(tokens, length), samples(samples) {}

private:
  int64_t place(int64_t sample) const override;

  int64_t samples;
};

/// Windows one after the other. Each begins `length` - 1 tokens after the one before, so that no token is predicted
/// twice. Tokens at the end of the file that do not fill a window are not used.
class SequentialWindows : public Windows {
public:
  SequentialWindows(const runtime::TokenFile &tokens, int64_t length) : Windows(tokens, length), stride(length - 1) {}

  /// The number of windows in the file.
  int64_t size() const { return (places() - 1) / stride + 1; }

private:
  int64_t place(int64_t sample) const override { return sample * stride; }

  int64_t stride;
};

/// Prints the progress of training: a line after the first step, after the last one, after each tenth of the steps, and
/// whenever a second has passed since the line before.
class TextProgress {
public:
  TextProgress(int64_t steps, int64_t tokensPerStep, const MemoryReport &memory);

  /// Called after each step, on every rank; prints to stdout if `isPrinting`. Returns what is to be added to the step's
  /// line of metrics (Training::record): tokens per second, and resident bytes of this process.
  nlohmann::ordered_json show(const StepResult &result, bool isPrinting);

private:
  int64_t steps, tokensPerStep;
  std::string predicted;
  absl::Time begin = absl::Now(), shown = absl::InfinitePast();
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_TEXT_H
