//===- PtxBuilder.h - From statements of PTX to instructions ---------------------------------===//
//
// The body of a routine is read statement by statement, and each is at once turned into instructions by the function
// that its opcode names; PtxOps*.cc have these. The first error is kept, and what follows it is not looked at.
//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXBUILDER_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXBUILDER_H

#include "tests/cuda_on_cpu/ptx/PtxProgram.h"
#include "tests/cuda_on_cpu/ptx/PtxTokens.h"

#include "absl/status/status.h"

#include <initializer_list>
#include <map>

namespace splitcast::cuda_on_cpu {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F16x2,
  BF16x2,
  F32,
  F64
};

/// None: no type is called so.
Type typeNamed(absl::string_view name);
uint32_t bytesOf(Type type);
inline bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
inline bool isUnsigned(Type type) { return type >= Type::U8 && type <= Type::U64; }
inline bool isInteger(Type type) { return type >= Type::U8 && type <= Type::S64; }
inline bool isBits(Type type) { return type >= Type::B8 && type <= Type::B64; }
inline bool isFloat(Type type) { return type >= Type::F16; }

struct Symbol {
  enum class Kind : uint8_t { Register, Special, Clock, CallParam, Shared, Local, Global, KernelParam };
  Kind kind;
  /// Of a register or a parameter of a call: its bytes per lane, and its place (0: it has none yet).
  uint32_t bytes = 0, at = 0;
  uint64_t address = 0; // in its space
  Special special = Special::TidX;
  std::string name = {};
};

struct Operand {
  /// Pair: a|b. List: (a, b). Name: a label, a function or a parameter of a call.
  enum class Kind : uint8_t { Register, Clock, Immediate, Address, Vector, Pair, List, Name, Sink };
  Kind kind = Kind::Sink;
  bool negated = false;
  /// Of a floating-point immediate: 4 or 8; of any other: 0.
  uint32_t floatBytes = 0;
  uint32_t at = 0, bytes = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  const Symbol *symbol = nullptr;
  absl::string_view name;
  std::vector<Operand> elements = {};
};

struct Statement {
  uint32_t line = 0;
  uint32_t guard = kNoRegister;
  bool guardNegated = false;
  std::vector<absl::string_view> parts;
  std::vector<Operand> operands;

  /// Whether the next modifier is this one, which is then done with.
  bool take(absl::string_view modifier);
  /// The first of these that is next, and done with; -1: none of them.
  int takeOneOf(std::initializer_list<absl::string_view> modifiers);
  Type takeType();
  bool isDone() const { return next == parts.size(); }
  absl::string_view rest() const { return isDone() ? absl::string_view() : parts[next]; }

private:
  size_t next = 1;
};

class Builder {
public:
  Builder(Program &into, Routine &of, Frame &its, const std::map<std::string, Symbol> &moduleSymbols)
      : program(into), routine(of), frame(its), module(moduleSymbols) {}

  /// The statements between two tokens.
  absl::Status lowerBody(const Token *begin, const Token *end);

  // For the functions that opcodes name.

  void fail(absl::string_view what);
  bool failed() const { return !error.ok(); }
  /// With this many operands, and no modifier left; else fails.
  bool expect(const Statement &statement, size_t operands);
  /// The register of an operand that is read as `type`; constants get one.
  uint32_t source(const Operand &operand, Type type);
  uint32_t source(const Operand &operand, uint32_t bytes);
  uint32_t target(const Operand &operand, uint32_t bytes);
  uint32_t target(const Operand &operand, Type type) { return target(operand, bytesOf(type)); }
  /// 64 bits; what is added to it is the operand's offset.
  uint32_t address(const Operand &operand);
  uint32_t constant(uint32_t bytes, uint64_t bits);
  uint32_t temporary(uint32_t bytes) { return allocate(bytes); }
  /// `at` with another number of bytes: sign- or zero-extended, or its low ones. No instruction where nothing changes.
  uint32_t resized(uint32_t at, uint32_t bytes, uint32_t wanted, bool isSigned);
  void resizeInto(uint32_t target, uint32_t wanted, uint32_t at, uint32_t bytes, bool isSigned);
  Inst &emit(Handler handler, uint32_t d, std::initializer_list<uint32_t> sources, int64_t immediate = 0);
  /// An instruction whose `immediate` is where the label stands.
  void emitBranch(Handler handler, std::initializer_list<uint32_t> sources, absl::string_view label);
  const std::vector<std::string> *table(absl::string_view label) const;
  /// The next of Program::lists, to be filled with where these labels stand.
  uint32_t listOfLabels(const std::vector<std::string> &labels);
  Routine *routineNamed(absl::string_view name) const;
  size_t indexOf(const Routine &wanted) const;

  Program &program;
  Routine &routine;

private:
  using Scope = std::map<std::string, Symbol>;

  void lowerStatement();
  void lowerDirective();
  void lowerInstruction();
  void declareRegisters();
  void declareVariable(Space space);
  void declareLabel();
  void patchLabels();

  Operand parseOperand();
  Operand parseWord();
  Operand parseNumber(bool negative);
  Operand parseAddress();
  Operand parseElements(Operand::Kind kind, absl::string_view close);
  int64_t parseOffset();
  Operand operandOf(const Symbol &symbol);
  const Symbol *find(absl::string_view name);
  uint32_t place(Symbol &symbol);
  uint32_t allocate(uint32_t bytesPerLane);

  const Token &peek() const { return *token; }
  Token take() { return *(token == last ? token : token++); }
  bool takeIf(absl::string_view text);
  void expectToken(absl::string_view text);

  Frame &frame;
  const std::map<std::string, Symbol> &module;
  std::vector<Scope> scopes;
  std::map<std::string, Symbol> specials;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> constants;
  std::map<std::string, uint32_t> labels;
  std::map<std::string, std::vector<std::string>> tables;
  struct Fixup {
    size_t inst, list;
    std::string label;
    uint32_t line;
  };
  std::vector<Fixup> fixups;
  const Token *token = nullptr, *last = nullptr;
  Statement current;
  absl::Status error;
};

using Lower = void (*)(Builder &, Statement &);
using Lowerings = std::vector<std::pair<absl::string_view, Lower>>;
Lowerings integerLowerings();
Lowerings carryLowerings();
Lowerings bitLowerings();
Lowerings floatLowerings();
Lowerings compareLowerings();
Lowerings convertLowerings();
Lowerings memoryLowerings();
Lowerings atomicLowerings();
Lowerings controlLowerings();

/// A number as an immediate writes it; false: it is none.
bool parseImmediate(absl::string_view text, uint64_t &bits, uint32_t &floatBytes);
/// `.align`, a type, a name and a number of elements, as variables and parameters are declared; false: `text` is wrong.
struct Declaration {
  std::string name;
  Type type = Type::None;
  int64_t align = 0, bytes = 0;
};
bool parseDeclaration(const Token *&token, Declaration &into);

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXBUILDER_H
