//===- Sample.h - Generates text with a trained model ------------------------===//
#ifndef SPLITCAST_EXAMPLES_GPT_SAMPLE_H
#define SPLITCAST_EXAMPLES_GPT_SAMPLE_H

#include "compiler/launch/Session.h"

namespace splitcast {

struct SampleOptions {
  int64_t bytes = 400;      ///< the number of bytes to generate
  double temperature = 0.7; ///< the logits are divided by it; 0: always the likeliest byte
  uint64_t seed = 0;        ///< of the random choices
};

/// Returns `prompt` (a newline if it is empty) and the bytes that the model generates after it. `function` has one
/// input, the bytes [1, context], and one output, the logits [context, vocabulary] of the byte after each, whole on
/// every rank. All ranks call this with the same arguments, and all get the same text. Errors are those of the session.
absl::StatusOr<std::string> sampleText(Session &session, const std::string &function, const std::string &prompt,
                                       const SampleOptions &options);

/// Returns the share of the words in `sample` that occur in `text`, from 0 to 1; 0 if there are no words. Only words of
/// three or more letters count. The last word counts only if another character follows it, since it may be cut off.
double shareOfKnownWords(const std::string &sample, const std::string &text);

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_GPT_SAMPLE_H
