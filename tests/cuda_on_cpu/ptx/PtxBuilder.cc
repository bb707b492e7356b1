#include "tests/cuda_on_cpu/ptx/PtxBuilder.h"

#include "tests/cuda_on_cpu/ptx/PtxWarp.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

const std::map<absl::string_view, Lower> &lowerings() {
  static const auto *all = [] {
    auto *table = new std::map<absl::string_view, Lower>;
    for (const Lowerings &some :
         {integerLowerings(), carryLowerings(), bitLowerings(), floatLowerings(), compareLowerings(),
          convertLowerings(), memoryLowerings(), atomicLowerings(), controlLowerings(), tileLowerings()})
      table->insert(some.begin(), some.end());
    return table;
  }();
  return *all;
}

template <class From, class To> Next resize(Warp &warp, const Inst &inst, uint32_t lanes) {
  const From *from = warp.lanes<From>(inst.sources[0]);
  To *to = warp.lanes<To>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { to[lane] = static_cast<To>(from[lane]); });
  return Next::Step;
}

template <class From> Handler resizeFrom(uint32_t wanted) {
  return wanted == 1   ? resize<From, uint8_t>
         : wanted == 2 ? resize<From, uint16_t>
         : wanted == 4 ? resize<From, uint32_t>
                       : resize<From, uint64_t>;
}

Next negatePredicate(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *from = warp.lanes<uint8_t>(inst.sources[0]);
  auto *to = warp.lanes<uint8_t>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { to[lane] = from[lane] ^ 1; });
  return Next::Step;
}

Next runPastTheEnd(Warp &warp, const Inst &inst, uint32_t lanes) {
  return warp.fail(inst, static_cast<uint32_t>(__builtin_ctz(lanes)), "the body ends here without ret");
}

const std::pair<absl::string_view, Special> kSpecials[] = {{"%tid.x", Special::TidX},
                                                           {"%tid.y", Special::TidY},
                                                           {"%tid.z", Special::TidZ},
                                                           {"%ntid.x", Special::NtidX},
                                                           {"%ntid.y", Special::NtidY},
                                                           {"%ntid.z", Special::NtidZ},
                                                           {"%ctaid.x", Special::CtaidX},
                                                           {"%ctaid.y", Special::CtaidY},
                                                           {"%ctaid.z", Special::CtaidZ},
                                                           {"%nctaid.x", Special::NctaidX},
                                                           {"%nctaid.y", Special::NctaidY},
                                                           {"%nctaid.z", Special::NctaidZ},
                                                           {"%laneid", Special::LaneId},
                                                           {"%warpid", Special::WarpId},
                                                           {"%nwarpid", Special::NwarpId},
                                                           {"%lanemask_eq", Special::LanemaskEq},
                                                           {"%lanemask_lt", Special::LanemaskLt},
                                                           {"%lanemask_le", Special::LanemaskLe},
                                                           {"%lanemask_gt", Special::LanemaskGt},
                                                           {"%lanemask_ge", Special::LanemaskGe}};

} // namespace

Type typeNamed(absl::string_view name) {
  static const absl::string_view names[] = {"",   "pred", "b8",  "b16", "b32", "b64",  "u8",    "u16",    "u32", "u64",
                                            "s8", "s16",  "s32", "s64", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64"};
  const auto *found = std::find(std::begin(names) + 1, std::end(names), name);
  return found == std::end(names) ? Type::None : static_cast<Type>(found - std::begin(names));
}

uint32_t bytesOf(Type type) {
  static const uint8_t bytes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 4, 4, 8};
  return bytes[static_cast<size_t>(type)];
}

bool parseImmediate(absl::string_view text, uint64_t &bits, uint32_t &floatBytes) {
  const absl::string_view lead = text.substr(0, 2);
  floatBytes = lead == "0f" || lead == "0F" ? 4 : lead == "0d" || lead == "0D" ? 8 : 0;
  if (floatBytes != 0)
    return text.size() == 2 + 2 * floatBytes && absl::SimpleHexAtoi(text.substr(2), &bits);
  if (!text.empty() && text.back() == 'U')
    text.remove_suffix(1);
  if (lead == "0x" || lead == "0X")
    return absl::SimpleHexAtoi(text, &bits);
  if (text.size() > 1 && text[0] == '0') // octal or binary
    return false;
  return absl::SimpleAtoi(text, &bits);
}

bool parseDeclaration(const Token *&token, Declaration &into) {
  uint32_t floatBytes = 0;
  uint64_t number = 0;
  auto takeNumber = [&] { return parseImmediate((token++)->text, number, floatBytes) && floatBytes == 0; };
  if (token->is(".align")) {
    ++token;
    if (!takeNumber())
      return false;
    into.align = static_cast<int64_t>(number);
  }
  into.type = typeNamed(absl::StripPrefix(token->text, "."));
  if (into.type == Type::None || into.type == Type::Pred)
    return false;
  ++token;
  into.bytes = bytesOf(into.type);
  into.align = std::max<int64_t>(into.align, into.bytes);
  if (token->is(".ptr")) { // says more of what a kernel's parameter points to
    for (++token; token->text.substr(0, 1) == "."; ++token)
      if (token->is(".align"))
        ++token;
  }
  if (token->kind != Token::Kind::Word)
    return false;
  into.name = std::string((token++)->text);
  if (!token->is("["))
    return true;
  ++token;
  if (token->kind != Token::Kind::Number || !takeNumber() || !token->is("]"))
    return false;
  ++token;
  into.bytes *= static_cast<int64_t>(number);
  return true;
}

bool Statement::take(absl::string_view modifier) { return takeOneOf({modifier}) == 0; }

int Statement::takeOneOf(std::initializer_list<absl::string_view> modifiers) {
  const auto *found = isDone() ? modifiers.end() : std::find(modifiers.begin(), modifiers.end(), parts[next]);
  if (found == modifiers.end())
    return -1;
  ++next;
  return static_cast<int>(found - modifiers.begin());
}

Type Statement::takeType() {
  const Type type = isDone() ? Type::None : typeNamed(parts[next]);
  next += static_cast<size_t>(type != Type::None);
  return type;
}

void Builder::fail(absl::string_view what) {
  if (!error.ok())
    return;
  const uint32_t line = current.line;
  error = absl::InvalidArgumentError(absl::StrCat("PTX, '", routine.name, "', line ", line, " '",
                                                  absl::StripAsciiWhitespace(program.lines[line - 1]), "': ", what));
}

bool Builder::takeIf(absl::string_view text) {
  if (!peek().is(text))
    return false;
  take();
  return true;
}

void Builder::expectToken(absl::string_view text) {
  if (!takeIf(text))
    fail(absl::StrCat("'", text, "' is expected at '", peek().text, "'"));
}

bool Builder::expect(const Statement &statement, size_t operands) {
  if (!statement.isDone())
    fail(absl::StrCat("the modifier or type '.", statement.rest(), "' of '", statement.parts[0], "' is not supported"));
  else if (statement.operands.size() != operands)
    fail(absl::StrCat(statement.operands.size(), " operands; ", operands, " are expected"));
  return !failed();
}

uint32_t Builder::allocate(uint32_t bytesPerLane) {
  const uint32_t at = frame.fileBytes + kRegisterHeaderBytes;
  frame.fileBytes = at + bytesPerLane * kWarpSize;
  return at;
}

uint32_t Builder::constant(uint32_t bytes, uint64_t bits) {
  if (bytes < 8)
    bits &= (uint64_t{1} << bytes * 8) - 1;
  uint32_t &at = constants[{bytes, bits}];
  if (at == 0) {
    at = allocate(bytes);
    frame.constants.push_back({at, bytes, bits});
  }
  return at;
}

uint32_t Builder::source(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::Immediate && !isBits(type) &&
      (isFloat(type) ? operand.floatBytes != bytesOf(type) : operand.floatBytes != 0))
    fail("an immediate of another type than the instruction");
  if (operand.kind == Operand::Kind::Immediate && type == Type::Pred)
    return constant(bytesOf(type), operand.bits != 0 ? 1 : 0); // -1 is true, too
  return source(operand, bytesOf(type));
}

uint32_t Builder::source(const Operand &operand, uint32_t bytes) {
  if (operand.kind == Operand::Kind::Immediate) {
    if (operand.floatBytes != 0 && operand.floatBytes != bytes)
      fail("an immediate of another width than the instruction");
    return constant(bytes, operand.bits);
  }
  if (operand.kind != Operand::Kind::Register) {
    fail("an operand is no register and no immediate");
    return kNoRegister;
  }
  if (operand.bytes != bytes)
    fail(absl::StrCat("register ", operand.name, " is not of the instruction's ", bytes == 1 ? "type" : "width"));
  if (!operand.negated)
    return operand.at;
  const uint32_t negated = temporary(1);
  emit(negatePredicate, negated, {operand.at});
  return negated;
}

uint32_t Builder::target(const Operand &operand, uint32_t bytes) {
  if (operand.kind == Operand::Kind::Sink)
    return temporary(bytes);
  if (operand.kind != Operand::Kind::Register || operand.symbol->kind != Symbol::Kind::Register || operand.negated)
    fail("a result is no register that can be written");
  else if (operand.bytes != bytes)
    fail(absl::StrCat("register ", operand.name, " is not of the instruction's ", bytes == 1 ? "type" : "width"));
  return operand.at;
}

uint32_t Builder::address(const Operand &operand) {
  if (operand.kind != Operand::Kind::Address || (operand.symbol && operand.symbol->kind == Symbol::Kind::CallParam)) {
    fail("an address is expected");
    return kNoRegister;
  }
  if (!operand.symbol || operand.symbol->kind != Symbol::Kind::Register)
    return constant(8, operand.bits);
  if (operand.bytes != 4 && operand.bytes != 8)
    fail("an address has 32 or 64 bits");
  return resized(operand.at, operand.bytes, 8, false);
}

void Builder::resizeInto(uint32_t target, uint32_t wanted, uint32_t at, uint32_t bytes, bool isSigned) {
  const Handler handler = bytes == 1   ? isSigned ? resizeFrom<int8_t>(wanted) : resizeFrom<uint8_t>(wanted)
                            : bytes == 2 ? isSigned ? resizeFrom<int16_t>(wanted) : resizeFrom<uint16_t>(wanted)
                            : bytes == 4 ? isSigned ? resizeFrom<int32_t>(wanted) : resizeFrom<uint32_t>(wanted)
                                         : resizeFrom<uint64_t>(wanted);
  emit(handler, target, {at});
}

uint32_t Builder::resized(uint32_t at, uint32_t bytes, uint32_t wanted, bool isSigned) {
  if (bytes == wanted)
    return at;
  const uint32_t result = temporary(wanted);
  resizeInto(result, wanted, at, bytes, isSigned);
  return result;
}

Inst &Builder::emit(Handler handler, uint32_t d, std::initializer_list<uint32_t> sources, int64_t immediate) {
  Inst inst;
  inst.run = handler;
  inst.d = d;
  std::copy(sources.begin(), sources.end(), inst.sources.begin());
  inst.immediate = immediate;
  inst.line = current.line;
  inst.guard = current.guard;
  inst.guardNegated = current.guardNegated;
  program.code.push_back(inst);
  return program.code.back();
}

void Builder::emitBranch(Handler handler, std::initializer_list<uint32_t> sources, absl::string_view label) {
  fixups.push_back({program.code.size(), 0, std::string(label), current.line});
  emit(handler, kNoRegister, sources);
}

const std::vector<std::string> *Builder::table(absl::string_view label) const {
  auto found = tables.find(std::string(label));
  return found == tables.end() ? nullptr : &found->second;
}

uint32_t Builder::listOfLabels(const std::vector<std::string> &names) {
  const auto first = static_cast<uint32_t>(program.lists.size());
  for (const std::string &name : names) {
    fixups.push_back({0, program.lists.size() + 1, name, current.line});
    program.lists.push_back(0);
  }
  return first;
}

Routine *Builder::routineNamed(absl::string_view name) const {
  auto found = program.routineNamed.find(std::string(name));
  return found == program.routineNamed.end() ? nullptr : found->second;
}

size_t Builder::indexOf(const Routine &wanted) const {
  size_t index = 0;
  while (&program.routines[index] != &wanted)
    ++index;
  return index;
}

uint32_t Builder::place(Symbol &symbol) {
  if (symbol.at == 0) {
    symbol.at = allocate(symbol.bytes);
    frame.registers.emplace_back(symbol.at, symbol.name);
  }
  return symbol.at;
}

const Symbol *Builder::find(absl::string_view word) {
  const std::string name(word);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->find(name); found != scope->end()) {
      if (found->second.kind == Symbol::Kind::Register || found->second.kind == Symbol::Kind::CallParam)
        place(found->second);
      return &found->second;
    }
  if (auto found = module.find(name); found != module.end())
    return &found->second;
  if (auto found = specials.find(name); found != specials.end())
    return &found->second;
  if (word == "%clock" || word == "%clock64")
    return &(specials[name] = {Symbol::Kind::Clock, word == "%clock" ? 4U : 8U});
  for (const auto &[text, special] : kSpecials)
    if (text == word) {
      const uint32_t at = allocate(4);
      frame.specials.emplace_back(special, at);
      return &(specials[name] = {Symbol::Kind::Special, 4, at, 0, special});
    }
  return nullptr;
}

void Builder::patchLabels() {
  for (const Fixup &fixup : fixups) {
    auto found = labels.find(fixup.label);
    current.line = fixup.line;
    if (found == labels.end())
      fail(absl::StrCat("there is no label '", fixup.label, "'"));
    else if (fixup.list != 0)
      program.lists[fixup.list - 1] = found->second;
    else
      program.code[fixup.inst].immediate = found->second;
  }
}

absl::Status Builder::lowerBody(const Token *begin, const Token *end) {
  token = begin;
  last = end;
  scopes.resize(1);
  for (const Argument &argument : routine.arguments)
    scopes[0][argument.name] =
        routine.isKernel ? Symbol{Symbol::Kind::KernelParam, static_cast<uint32_t>(argument.bytes), 0, argument.at}
                         : Symbol{Symbol::Kind::CallParam, argument.stride, argument.at};
  for (const Argument &result : routine.results)
    scopes[0][result.name] = {Symbol::Kind::CallParam, result.stride, result.at};
  // Tables of labels stand behind the branches that use them, as labels do.
  for (const Token *at = begin; at + 2 < end; ++at)
    if (at[1].is(":") && at[2].is(".branchtargets"))
      for (const Token *target = at + 3; !target[-1].is(";"); target += 2)
        tables[std::string(at->text)].emplace_back(target->text);
  routine.entry = static_cast<uint32_t>(program.code.size());
  while (token != end && !failed())
    lowerStatement();
  current.guard = kNoRegister;
  current.line = end->line;
  emit(runPastTheEnd, kNoRegister, {});
  patchLabels();
  return error;
}

void Builder::lowerInstruction() {
  current.parts = absl::StrSplit(take().text, '.');
  auto found = lowerings().find(current.parts[0]);
  if (found == lowerings().end()) {
    fail(absl::StrCat("the instruction '", current.parts[0], "' is not supported"));
    return;
  }
  current.operands.clear();
  while (!failed() && !peek().is(";")) {
    current.operands.push_back(parseOperand());
    if (!peek().is(";"))
      expectToken(",");
  }
  if (failed())
    return;
  take();
  Statement statement = current;
  found->second(*this, statement);
}

} // namespace splitcast::cuda_on_cpu
