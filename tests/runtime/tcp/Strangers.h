//===- Strangers.h - Draws messages that no rank sends ----------------------===//
//
// Tests draw damaged messages from a seed that is printed:
//
//   SPLITCAST_FUZZ_MESSAGES   how many of each kind (2000)
//   SPLITCAST_FUZZ_SEED       where to begin (1); message i has the seed of the first plus i
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_TCP_STRANGERS_H
#define SPLITCAST_TESTS_RUNTIME_TCP_STRANGERS_H

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

namespace splitcast::runtime {

inline int64_t setting(const char *name, int64_t usual) {
  const char *text = std::getenv(name);
  int64_t value = usual;
  EXPECT_TRUE(!text || absl::SimpleAtoi(text, &value)) << name;
  return value;
}

class Draw {
public:
  explicit Draw(int64_t seed) : engine(seed) {}
  int64_t below(int64_t bound) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(bound)); }
  bool once(int64_t in) { return below(in) == 0; }
  uint64_t word() { return engine(); }
  std::string bytes(int64_t count) {
    std::string text;
    while (static_cast<int64_t>(text.size()) < count)
      text.push_back(static_cast<char>(engine()));
    return text;
  }
  /// A number as strangers like it: small, at an end of a type's range, or any.
  int64_t number() {
    constexpr int64_t kEnds[] = {
        0, -1, 1, INT64_MAX, INT64_MIN, INT32_MAX, int64_t{1} << 30, (int64_t{1} << 30) + 1, 32767, 32768};
    return once(3) ? below(100) : once(2) ? kEnds[below(std::size(kEnds))] : static_cast<int64_t>(word());
  }

private:
  std::mt19937_64 engine;
};

/// Changes a text: flips a bit, or sets, removes, inserts or repeats bytes.
inline void damage(std::string &text, Draw &draw) {
  const int64_t size = static_cast<int64_t>(text.size()), at = draw.below(size), count = 1 + draw.below(size - at);
  switch (draw.below(5)) {
  case 0:
    text[at] = static_cast<char>(text[at] ^ (1 << draw.below(8)));
    return;
  case 1:
    text.replace(at, count, draw.bytes(count));
    return;
  case 2:
    text.erase(at, count);
    return;
  case 3:
    text.insert(at, draw.bytes(1 + draw.below(200)));
    return;
  default:
    text.insert(at, text.substr(at, count));
  }
}

/// Runs `test` for each message, until one fails.
template <typename Test> void forEachMessage(Test test) {
  const int64_t first = setting("SPLITCAST_FUZZ_SEED", 1), count = setting("SPLITCAST_FUZZ_MESSAGES", 2000);
  std::cout << count << " messages from seed " << first << "\n";
  for (int64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("SPLITCAST_FUZZ_SEED=" + std::to_string(seed));
    Draw draw(seed);
    test(draw);
  }
}

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_TCP_STRANGERS_H
