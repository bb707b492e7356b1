#include "examples/gpt/Sample.h"

#include "runtime/io/Random.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

namespace splitcast {
namespace {

/// Draws a class with the probabilities softmax(logits / temperature). `uniform`
/// is a random number in [0, 1).
int64_t choose(const float *logits, int64_t classes, double temperature, double uniform) {
  const int64_t likeliest = std::max_element(logits, logits + classes) - logits;
  if (temperature <= 0)
    return likeliest;
  std::vector<double> upTo(classes);
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i)
    upTo[i] = sum += std::exp((static_cast<double>(logits[i]) - logits[likeliest]) / temperature);
  const int64_t chosen = std::upper_bound(upTo.begin(), upTo.end(), uniform * sum) - upTo.begin();
  return std::min(chosen, classes - 1);
}

/// Returns the words of three or more letters, including a word at the very end
/// of the text only if `takesLast`.
std::vector<std::string> wordsOf(const std::string &text, bool takesLast) {
  std::vector<std::string> words;
  std::string word;
  auto end = [&] {
    if (word.size() >= 3)
      words.push_back(word);
    word.clear();
  };
  for (char character : text)
    std::isalpha(static_cast<unsigned char>(character)) ? word.push_back(character) : end();
  if (takesLast)
    end();
  return words;
}

} // namespace

absl::StatusOr<std::string> sampleText(Session &session, const std::string &function, const std::string &prompt,
                                       const SampleOptions &options) {
  absl::StatusOr<std::vector<TensorInfo>> inputs = session.inputs(function), outputs = session.outputs(function);
  if (!inputs.ok() || !outputs.ok())
    return inputs.ok() ? outputs.status() : inputs.status();
  const int64_t context = inputs->front().shape[1], classes = outputs->front().shape[1];
  std::vector<float> logits(context * classes);
  std::vector<int64_t> window(context);
  std::string text = prompt.empty() ? "\n" : prompt;
  for (int64_t i = 0; i < options.bytes; ++i) {
    // Attention is causal, so the zeros behind the last known byte do not affect
    // its logits.
    const int64_t known = std::min<int64_t>(context, text.size());
    std::fill(window.begin(), window.end(), 0);
    std::transform(text.end() - known, text.end(), window.begin(),
                   [](char c) { return static_cast<unsigned char>(c); });
    absl::Status status = session.setInput(function, 0, window.data());
    if (status.ok())
      status = session.run(function);
    if (status.ok())
      status = session.getOutput(function, 0, logits.data());
    if (!status.ok())
      return status;
    double uniform = 0;
    runtime::fillUniform({options.seed, runtime::hashName("sample")}, i, 1, 0.0F, 1.0F, &uniform);
    text.push_back(
        static_cast<char>(choose(logits.data() + (known - 1) * classes, classes, options.temperature, uniform)));
  }
  return text;
}

double shareOfKnownWords(const std::string &sample, const std::string &text) {
  std::vector<std::string> all = wordsOf(text, true), words = wordsOf(sample, false);
  const std::set<std::string> known(all.begin(), all.end());
  const auto found =
      std::count_if(words.begin(), words.end(), [&](const std::string &w) { return known.count(w) > 0; });
  return words.empty() ? 0.0 : static_cast<double>(found) / static_cast<double>(words.size());
}

} // namespace splitcast
