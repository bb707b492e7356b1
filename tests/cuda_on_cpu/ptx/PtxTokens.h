//===- PtxTokens.h - The tokens of a PTX text -----------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXTOKENS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXTOKENS_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <vector>

namespace splitcast::cuda_on_cpu {

struct Token {
  /// Word: a name, a register, a directive, or an opcode with all its modifiers.
  enum class Kind : uint8_t { Word, Number, Text, Sign, End };
  Kind kind = Kind::End;
  absl::string_view text;
  uint32_t line = 0;

  bool is(absl::string_view what) const { return text == what && kind != Kind::Text; }
};

/// Splits `text` into tokens, which point into it. The last one is an End.
absl::StatusOr<std::vector<Token>> tokenize(absl::string_view text);

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXTOKENS_H
