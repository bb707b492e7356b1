#include "tests/cuda_on_cpu/ptx/PtxBuilder.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {

void Builder::lowerStatement() {
  current = Statement();
  current.line = peek().line;
  if (takeIf("{")) {
    scopes.emplace_back();
  } else if (takeIf("}")) {
    if (scopes.size() == 1)
      fail("'}' closes nothing");
    else
      scopes.pop_back();
  } else if (peek().kind == Token::Kind::Word && token + 1 != last && token[1].is(":")) {
    declareLabel();
  } else if (absl::StartsWith(peek().text, ".")) {
    lowerDirective();
  } else if (!takeIf(";")) {
    if (takeIf("@")) {
      current.guardNegated = takeIf("!");
      const Operand guard = parseOperand();
      if (guard.kind != Operand::Kind::Register || guard.bytes != 1)
        fail("a guard is a predicate");
      current.guard = guard.at;
    }
    if (peek().kind != Token::Kind::Word)
      fail(absl::StrCat("an instruction is expected at '", peek().text, "'"));
    else
      lowerInstruction();
  }
}

void Builder::declareLabel() {
  const std::string name(take().text);
  take();
  if (peek().is(".branchtargets")) { // read before, by lowerBody
    while (token != last && !peek().is(";"))
      take();
    return;
  }
  if (!labels.emplace(name, static_cast<uint32_t>(program.code.size())).second)
    fail(absl::StrCat("a second label '", name, "'"));
}

void Builder::lowerDirective() {
  const Token directive = take();
  if (directive.is(".reg")) {
    declareRegisters();
  } else if (directive.is(".local")) {
    declareVariable(Space::Local);
  } else if (directive.is(".shared")) {
    declareVariable(Space::Shared);
  } else if (directive.is(".param")) {
    declareVariable(Space::Param);
  } else if (directive.is(".loc")) {
    while (token != last && peek().line == directive.line)
      take();
  } else if (directive.is(".pragma")) {
    take();
    expectToken(";");
  } else {
    fail(absl::StrCat("the directive '", directive.text, "' is not supported here"));
  }
}

void Builder::declareRegisters() {
  const Type type = typeNamed(absl::StripPrefix(take().text, "."));
  if (type == Type::None || (type != Type::Pred && bytesOf(type) == 1)) {
    fail("registers of this type are not supported");
    return;
  }
  do {
    const std::string name(take().text);
    uint64_t count = 0;
    if (takeIf("<")) {
      uint32_t floatBytes = 0;
      if (!parseImmediate(take().text, count, floatBytes) || floatBytes != 0 || count > 1000000)
        fail("a number of registers is expected");
      expectToken(">");
      for (uint64_t index = 0; index < count; ++index) {
        const std::string numbered = absl::StrCat(name, index);
        scopes.back()[numbered] = {Symbol::Kind::Register, bytesOf(type), 0, 0, Special::TidX, numbered};
      }
    } else {
      scopes.back()[name] = {Symbol::Kind::Register, bytesOf(type), 0, 0, Special::TidX, name};
    }
  } while (!failed() && takeIf(","));
  expectToken(";");
}

void Builder::declareVariable(Space space) {
  Declaration declared;
  if (!parseDeclaration(token, declared)) {
    fail("the declaration is not understood");
    return;
  }
  expectToken(";");
  if (space == Space::Param) {
    const auto stride = static_cast<uint32_t>((declared.bytes + 7) / 8 * 8);
    scopes.back()[declared.name] = {Symbol::Kind::CallParam, stride, 0, 0, Special::TidX, declared.name};
    return;
  }
  const bool isShared = space == Space::Shared;
  uint64_t &end = isShared ? frame.sharedEnd : frame.localEnd;
  const uint64_t begin = (end + declared.align - 1) / declared.align * declared.align;
  end = begin + declared.bytes;
  (isShared ? frame.shared : frame.local).push_back({declared.name, begin, end});
  scopes.back()[declared.name] = {isShared ? Symbol::Kind::Shared : Symbol::Kind::Local, 0, 0, begin};
}

int64_t Builder::parseOffset() {
  int64_t offset = 0;
  while (peek().is("+") || peek().is("-")) {
    const bool negative = take().is("-") != takeIf("-");
    uint64_t bits = 0;
    uint32_t floatBytes = 0;
    if (!parseImmediate(take().text, bits, floatBytes) || floatBytes != 0)
      fail("an offset is expected");
    offset += static_cast<int64_t>(negative ? 0 - bits : bits);
  }
  return offset;
}

Operand Builder::operandOf(const Symbol &symbol) {
  Operand operand;
  operand.symbol = &symbol;
  operand.at = symbol.at;
  operand.bytes = symbol.bytes;
  switch (symbol.kind) {
  case Symbol::Kind::Register:
  case Symbol::Kind::Special:
    operand.kind = Operand::Kind::Register;
    break;
  case Symbol::Kind::Clock:
    operand.kind = Operand::Kind::Clock;
    break;
  case Symbol::Kind::CallParam:
    operand.kind = Operand::Kind::Name;
    break;
  default:
    operand.kind = Operand::Kind::Immediate;
    operand.bits = symbol.address;
  }
  return operand;
}

Operand Builder::parseWord() {
  const absl::string_view word = take().text;
  Operand operand;
  if (word == "_")
    return operand;
  if (word == "WARP_SZ") {
    operand.kind = Operand::Kind::Immediate;
    operand.bits = kWarpSize;
    return operand;
  }
  if (const Symbol *symbol = find(word)) {
    operand = operandOf(*symbol);
    if (operand.kind == Operand::Kind::Immediate)
      operand.bits += static_cast<uint64_t>(parseOffset());
  } else {
    operand.kind = Operand::Kind::Name;
    if (word[0] == '%')
      fail(absl::StrCat("there is no register '", word, "'"));
  }
  operand.name = word;
  return operand;
}

Operand Builder::parseNumber(bool negative) {
  Operand operand;
  operand.kind = Operand::Kind::Immediate;
  const absl::string_view text = take().text;
  if (!parseImmediate(text, operand.bits, operand.floatBytes) || (negative && operand.floatBytes != 0))
    fail(absl::StrCat("'", text, "' is not understood as a number"));
  if (negative)
    operand.bits = 0 - operand.bits;
  return operand;
}

Operand Builder::parseAddress() {
  Operand operand;
  operand.kind = Operand::Kind::Address;
  if (peek().kind == Token::Kind::Number) {
    operand.bits = parseNumber(false).bits;
  } else {
    const absl::string_view word = take().text;
    operand.symbol = find(word);
    operand.name = word;
    if (!operand.symbol || operand.symbol->kind == Symbol::Kind::Special) {
      fail(absl::StrCat("'", word, "' is no base of an address"));
      return operand;
    }
    operand.at = operand.symbol->at;
    operand.bytes = operand.symbol->bytes;
    operand.bits = operand.symbol->address;
  }
  operand.offset = parseOffset();
  expectToken("]");
  return operand;
}

Operand Builder::parseElements(Operand::Kind kind, absl::string_view close) {
  Operand operand;
  operand.kind = kind;
  while (!failed() && !peek().is(close)) {
    operand.elements.push_back(parseOperand());
    if (!peek().is(close))
      expectToken(",");
  }
  expectToken(close);
  return operand;
}

Operand Builder::parseOperand() {
  if (takeIf("["))
    return parseAddress();
  if (takeIf("{"))
    return parseElements(Operand::Kind::Vector, "}");
  if (takeIf("("))
    return parseElements(Operand::Kind::List, ")");
  if (takeIf("-"))
    return parseNumber(true);
  if (peek().kind == Token::Kind::Number)
    return parseNumber(false);
  const bool negated = takeIf("!");
  if (peek().kind != Token::Kind::Word) {
    fail(absl::StrCat("an operand is expected at '", peek().text, "'"));
    return {};
  }
  Operand operand = parseWord();
  operand.negated = negated;
  if (negated && (operand.kind != Operand::Kind::Register || operand.bytes != 1))
    fail("'!' stands before something else than a predicate");
  if (!takeIf("|"))
    return operand;
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.elements = {operand, parseOperand()};
  return pair;
}

} // namespace splitcast::cuda_on_cpu
