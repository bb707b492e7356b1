//===- PtxBuilder.h - Translates statements of PTX to instructions ---------------------------===//
//
// The body of a routine is read statement by statement. The function for a statement's opcode, in one of PtxOps*.cc,
// translates it to instructions. Translation stops at the first error.
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

/// Returns the type with this name, or None.
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
  /// For a register or a parameter of a call, its bytes per lane and its offset in the register file; 0 if it has none
  /// yet.
  uint32_t bytes = 0, at = 0;
  uint64_t address = 0; // for a variable: its address in its space
  Special special = Special::TidX;
  std::string name = {};
};

struct Operand {
  /// Pair: a|b. List: (a, b). Name: a label, a function or a parameter of a call.
  enum class Kind : uint8_t { Register, Clock, Immediate, Address, Vector, Pair, List, Name, Sink };
  Kind kind = Kind::Sink;
  bool negated = false;
  /// The bytes of a floating-point immediate, 4 or 8; 0 for all others.
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

  /// Consumes the next modifier if it is this one; otherwise returns false.
  bool take(absl::string_view modifier);
  /// Consumes the next modifier if it is one of these, and returns its index; otherwise returns -1.
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

  /// Translates the statements between two tokens.
  absl::Status lowerBody(const Token *begin, const Token *end);

  // The functions below are for the functions of opcodes.

  void fail(absl::string_view what);
  bool failed() const { return !error.ok(); }
  /// Checks that the statement has this many operands and no modifier left; otherwise it is an error.
  bool expect(const Statement &statement, size_t operands);
  /// Returns the register of an operand that is read as `type`. A constant gets a register.
  uint32_t source(const Operand &operand, Type type);
  uint32_t source(const Operand &operand, uint32_t bytes);
  uint32_t target(const Operand &operand, uint32_t bytes);
  uint32_t target(const Operand &operand, Type type) { return target(operand, bytesOf(type)); }
  /// Returns the register with the 64 bits of an address. The operand's offset must still be added to it.
  uint32_t address(const Operand &operand);
  uint32_t constant(uint32_t bytes, uint64_t bits);
  uint32_t temporary(uint32_t bytes) { return allocate(bytes); }
  /// Returns a register with the value of `at` in another number of bytes: sign- or zero-extended, or its low bytes. If
  /// the number is the same, this is `at`.
  uint32_t resized(uint32_t at, uint32_t bytes, uint32_t wanted, bool isSigned);
  void resizeInto(uint32_t target, uint32_t wanted, uint32_t at, uint32_t bytes, bool isSigned);
  Inst &emit(Handler handler, uint32_t d, std::initializer_list<uint32_t> sources, int64_t immediate = 0);
  /// Emits an instruction whose `immediate` is the position of the label.
  void emitBranch(Handler handler, std::initializer_list<uint32_t> sources, absl::string_view label);
  const std::vector<std::string> *table(absl::string_view label) const;
  /// Appends the positions of these labels to Program::lists, and returns the index of the first one. The positions are
  /// filled in later.
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
Lowerings tileLowerings();

/// Parses an immediate. Returns false if `text` is none.
bool parseImmediate(absl::string_view text, uint64_t &bits, uint32_t &floatBytes);
/// A declaration of a variable or parameter: `.align`, a type, a name and a number of elements. parseDeclaration
/// returns false if the text is wrong.
struct Declaration {
  std::string name;
  Type type = Type::None;
  int64_t align = 0, bytes = 0;
};
bool parseDeclaration(const Token *&token, Declaration &into);

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXBUILDER_H
