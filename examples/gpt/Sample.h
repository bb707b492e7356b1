//===- Sample.h - Writes with a trained model --------------------------------===//
#ifndef SPLITCAST_EXAMPLES_GPT_SAMPLE_H
#define SPLITCAST_EXAMPLES_GPT_SAMPLE_H

#include "compiler/launch/Session.h"

namespace splitcast {

struct SampleOptions {
  int64_t bytes = 400;
  double temperature = 0.7; ///< 0: always the likeliest byte
  uint64_t seed = 0;
};

/// `prompt` and what a function goes on with: its one input is [1, context] bytes, its one output [context, vocabulary]
/// logits of the byte after each. Every rank calls it, and gets the same text.
absl::StatusOr<std::string> sampleText(Session &session, const std::string &function, const std::string &prompt,
                                       const SampleOptions &options);

/// Of the words of three or more letters in `sample`, the share that occur in `text`; 0 without any. The last word,
/// which may be cut off, does not count.
double shareOfKnownWords(const std::string &sample, const std::string &text);

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_GPT_SAMPLE_H
