#include "tests/cuda_on_cpu/ptx/Ptx.h"
#include "tests/cuda_on_cpu/ptx/PtxBuilder.h"
#include "tests/cuda_on_cpu/ptx/PtxProgram.h"
#include "tests/cuda_on_cpu/ptx/PtxTokens.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstring>

namespace splitcast::cuda_on_cpu {
namespace {

/// What stands outside of bodies. Functions are lowered before kernels, whose frames begin where theirs end.
class Parser {
public:
  explicit Parser(Program &into) : program(into) {}

  absl::Status run() {
    program.lines = absl::StrSplit(program.text, '\n');
    absl::StatusOr<std::vector<Token>> read = tokenize(program.text);
    if (!read.ok())
      return read.status();
    tokens = *std::move(read);
    token = tokens.data();
    while (error.ok() && token->kind != Token::Kind::End)
      parseTopLevel();
    for (bool kernels : {false, true})
      for (const Body &body : bodies)
        if (error.ok() && body.routine->isKernel == kernels)
          lower(body);
    return error;
  }

private:
  struct Body {
    Routine *routine;
    const Token *begin, *end;
  };

  void fail(absl::string_view what) {
    if (error.ok())
      error = absl::InvalidArgumentError(absl::StrCat(
          "PTX, line ", token->line, " '", absl::StripAsciiWhitespace(program.lines[token->line - 1]), "': ", what));
  }
  Token take() { return *(token->kind == Token::Kind::End ? token : token++); }
  bool takeIf(absl::string_view text) {
    if (!token->is(text))
      return false;
    take();
    return true;
  }
  void expect(absl::string_view text) {
    if (!takeIf(text))
      fail(absl::StrCat("'", text, "' is expected at '", token->text, "'"));
  }
  void skipLine() {
    for (const uint32_t line = token->line; token->line == line && token->kind != Token::Kind::End;)
      take();
  }
  uint64_t takeCount() {
    uint64_t bits = 0;
    uint32_t floatBytes = 0;
    if (!parseImmediate(take().text, bits, floatBytes) || floatBytes != 0)
      fail("a number is expected");
    return bits;
  }

  void parseTopLevel();
  void skipSection();
  void parseVariable(absl::string_view space);
  void parseInitializer(GlobalVariable &variable, const Declaration &declared);
  void parseRoutine(bool isKernel);
  std::vector<Argument> parseArguments();
  void parseLimits(Routine &routine);
  std::array<uint32_t, 3> takeExtents();
  void placeArguments(Routine &routine);
  void lower(const Body &body);

  Program &program;
  std::vector<Token> tokens;
  const Token *token = nullptr;
  std::map<std::string, Symbol> symbols;
  std::vector<Body> bodies;
  bool isExtern = false;
  absl::Status error;
};

void Parser::parseTopLevel() {
  if (takeIf(".version") || takeIf(".target") || takeIf(".file")) {
    skipLine();
  } else if (takeIf(".address_size")) {
    if (takeCount() != 64)
      fail("addresses have 64 bits");
  } else if (takeIf(".extern")) {
    isExtern = true;
  } else if (takeIf(".visible") || takeIf(".weak") || takeIf(".common") || takeIf(";")) {
    // Linkage: a module stands alone here.
  } else if (takeIf(".pragma")) {
    take();
    expect(";");
  } else if (takeIf(".section")) {
    skipSection();
  } else if (token->is(".entry") || token->is(".func")) {
    parseRoutine(take().is(".entry"));
    isExtern = false;
  } else if (token->is(".global") || token->is(".const") || token->is(".shared")) {
    parseVariable(take().text);
    isExtern = false;
  } else {
    fail(absl::StrCat("'", token->text, "' is not supported outside of bodies"));
  }
}

/// Of what debuggers read.
void Parser::skipSection() {
  while (error.ok() && !token->is("{") && token->kind != Token::Kind::End)
    take();
  while (error.ok() && !token->is("}") && token->kind != Token::Kind::End)
    take();
  expect("}");
}

void Parser::parseVariable(absl::string_view space) {
  Declaration declared;
  if (isExtern || !parseDeclaration(token, declared)) {
    fail(isExtern ? "variables without a size, or of another module, are not supported"
                  : "the declaration is not understood");
    return;
  }
  if (space == ".shared") {
    const uint64_t begin = (program.functions.sharedEnd + declared.align - 1) / declared.align * declared.align;
    program.functions.sharedEnd = begin + declared.bytes;
    program.functions.shared.push_back({declared.name, begin, begin + declared.bytes});
    symbols[declared.name] = {Symbol::Kind::Shared, 0, 0, begin};
    expect(";");
    return;
  }
  GlobalVariable variable;
  variable.name = declared.name;
  variable.isConst = space == ".const";
  variable.storage.reset(new uint8_t[declared.bytes + declared.align]());
  const auto base = reinterpret_cast<uintptr_t>(variable.storage.get());
  variable.begin = (base + declared.align - 1) / declared.align * declared.align;
  variable.end = variable.begin + declared.bytes;
  if (takeIf("="))
    parseInitializer(variable, declared);
  expect(";");
  symbols[declared.name] = {Symbol::Kind::Global, 0, 0, variable.begin};
  program.globals.push_back(std::move(variable));
}

void Parser::parseInitializer(GlobalVariable &variable, const Declaration &declared) {
  const bool braces = takeIf("{");
  const uint32_t bytes = bytesOf(declared.type);
  auto *at = reinterpret_cast<uint8_t *>(variable.begin);
  auto *const end = reinterpret_cast<uint8_t *>(variable.end);
  do {
    const bool negative = takeIf("-");
    uint64_t bits = 0;
    uint32_t floatBytes = 0;
    if (!parseImmediate(take().text, bits, floatBytes) || (floatBytes != 0) != isFloat(declared.type) ||
        (floatBytes != 0 && floatBytes != bytes) || at == end) {
      fail("the initial value is not understood; addresses, and numbers that do not fit, are not supported");
      return;
    }
    bits = negative ? 0 - bits : bits;
    std::memcpy(at, &bits, bytes);
    at += bytes;
  } while (braces && takeIf(","));
  if (braces)
    expect("}");
}

std::vector<Argument> Parser::parseArguments() {
  std::vector<Argument> arguments;
  while (error.ok() && !takeIf(")")) {
    Declaration declared;
    if (!takeIf(".param") || !parseDeclaration(token, declared)) {
      fail("a parameter is expected");
      break;
    }
    arguments.push_back({declared.name, declared.bytes, declared.align, 0, 0});
    if (!token->is(")"))
      expect(",");
  }
  return arguments;
}

std::array<uint32_t, 3> Parser::takeExtents() {
  std::array<uint32_t, 3> extents = {1, 1, 1};
  size_t axis = 0;
  do
    extents[axis++] = static_cast<uint32_t>(takeCount());
  while (axis < 3 && takeIf(","));
  return extents;
}

void Parser::parseLimits(Routine &routine) {
  while (error.ok() && !token->is("{") && !token->is(";")) {
    if (takeIf(".maxntid")) {
      const std::array<uint32_t, 3> most = takeExtents();
      routine.mostThreads = uint64_t{most[0]} * most[1] * most[2];
    } else if (takeIf(".reqntid")) {
      routine.requiredThreads = takeExtents();
    } else if (takeIf(".minnctapersm") || takeIf(".maxnreg") || takeIf(".maxnctapersm")) {
      takeCount();
    } else if (takeIf(".pragma")) {
      take();
      expect(";");
    } else if (!takeIf(".noreturn")) {
      fail(absl::StrCat("'", token->text, "' is not supported in front of a body"));
    }
  }
}

/// A function's arguments are registers of its caller's warp; a kernel's lie in the window of parameters.
void Parser::placeArguments(Routine &routine) {
  Frame &frame = program.functions;
  int64_t end = 0;
  for (std::vector<Argument> *arguments : {&routine.arguments, &routine.results})
    for (Argument &argument : *arguments) {
      if (routine.isKernel) {
        end = (end + argument.align - 1) / argument.align * argument.align;
        argument.at = static_cast<uint32_t>(kWindowBegin + end);
        end += argument.bytes;
        continue;
      }
      argument.stride = static_cast<uint32_t>((argument.bytes + 7) / 8 * 8);
      argument.at = frame.fileBytes + kRegisterHeaderBytes;
      frame.fileBytes = argument.at + argument.stride * kWarpSize;
      frame.registers.emplace_back(argument.at, argument.name);
    }
  routine.argumentsBytes = end;
}

void Parser::parseRoutine(bool isKernel) {
  std::vector<Argument> results;
  if (!isKernel && takeIf("("))
    results = parseArguments();
  const std::string name(take().text);
  std::vector<Argument> arguments;
  if (takeIf("("))
    arguments = parseArguments();
  Routine *&routine = program.routineNamed[name];
  if (!routine) { // else there was a prototype
    program.routines.emplace_back();
    routine = &program.routines.back();
    routine->name = name;
    routine->isKernel = isKernel;
  }
  parseLimits(*routine);
  if (!error.ok() || takeIf(";"))
    return;
  if (routine->isDefined)
    fail(absl::StrCat("a second '", name, "'"));
  routine->isDefined = true;
  routine->arguments = std::move(arguments);
  routine->results = std::move(results);
  placeArguments(*routine);
  const Token *begin = token + 1;
  for (int depth = 0; error.ok();) {
    depth += static_cast<int>(token->is("{")) - static_cast<int>(token->is("}"));
    if (depth == 0)
      break;
    if (token->kind == Token::Kind::End)
      fail("a body without end");
    take();
  }
  bodies.push_back({routine, begin, token});
  take();
}

void Parser::lower(const Body &body) {
  Routine &routine = *body.routine;
  Frame &functions = program.functions;
  if (routine.isKernel) {
    routine.frame.fileBytes = functions.fileBytes;
    routine.frame.sharedEnd = functions.sharedEnd;
    routine.frame.localEnd = functions.localEnd;
  }
  Frame &frame = routine.isKernel ? routine.frame : functions;
  routine.firstRegister = frame.registers.size();
  error = Builder(program, routine, frame, symbols).lowerBody(body.begin, body.end);
  routine.endOfRegisters = frame.registers.size();
}

} // namespace

absl::StatusOr<std::unique_ptr<PtxModule>> PtxModule::parse(absl::string_view text) {
  auto program = std::make_unique<Program>();
  program->text = std::string(text);
  if (absl::Status status = Parser(*program).run(); !status.ok())
    return status;
  return std::unique_ptr<PtxModule>(new PtxModule(std::move(program)));
}

} // namespace splitcast::cuda_on_cpu
