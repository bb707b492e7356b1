#include "tests/cuda_on_cpu/ptx/PtxTokens.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace splitcast::cuda_on_cpu {
namespace {

class Tokenizer {
public:
  explicit Tokenizer(absl::string_view source) : text(source) {}

  absl::StatusOr<std::vector<Token>> run() {
    for (skipBlanks(); at < text.size(); skipBlanks()) {
      const absl::string_view rest = text.substr(at);
      if (absl::StartsWith(rest, "/*"))
        return absl::InvalidArgumentError(absl::StrCat("line ", line, ": a comment without end"));
      const size_t length = lengthOf(rest);
      if (length == 0)
        return absl::InvalidArgumentError(
            absl::StrCat("line ", line, ": '", rest.substr(0, 1), "' begins no token that is known"));
      tokens.push_back({kind, rest.substr(0, length), line});
      at += length;
    }
    tokens.push_back({Token::Kind::End, "the end of the text", line});
    return std::move(tokens);
  }

private:
  /// And comments.
  void skipBlanks() {
    for (; at < text.size(); ++at) {
      if (absl::StartsWith(text.substr(at), "//")) {
        at = std::min(text.find('\n', at), text.size()) - 1;
      } else if (absl::StartsWith(text.substr(at), "/*")) {
        const size_t end = text.find("*/", at);
        if (end == absl::string_view::npos)
          return;
        for (; at < end + 1; ++at)
          line += text[at] == '\n';
      } else if (!absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
        return;
      }
      line += text[at] == '\n';
    }
  }

  static bool isOfWord(char character) {
    return absl::ascii_isalnum(static_cast<unsigned char>(character)) || absl::StrContains("_$%.", character);
  }

  /// Of the token that `rest` begins with, whose kind is noted.
  size_t lengthOf(absl::string_view rest) {
    const bool number = absl::ascii_isdigit(static_cast<unsigned char>(rest[0]));
    if (rest[0] == '"') {
      kind = Token::Kind::Text;
      const size_t end = rest.find('"', 1);
      return end == absl::string_view::npos ? 0 : end + 1;
    }
    if (!isOfWord(rest[0])) {
      kind = Token::Kind::Sign;
      return absl::StrContains("{}()[],;:@!+-=|<>", rest[0]) ? 1 : 0;
    }
    kind = number ? Token::Kind::Number : Token::Kind::Word;
    size_t length = 1;
    while (length < rest.size())
      if (isOfWord(rest[length]))
        ++length;
      else if (!number && absl::StartsWith(rest.substr(length), "::")) // as in .L1::evict_last
        length += 2;
      else
        break;
    return length;
  }

  absl::string_view text;
  size_t at = 0;
  uint32_t line = 1;
  Token::Kind kind = Token::Kind::End;
  std::vector<Token> tokens;
};

} // namespace

absl::StatusOr<std::vector<Token>> tokenize(absl::string_view text) { return Tokenizer(text).run(); }

} // namespace splitcast::cuda_on_cpu
