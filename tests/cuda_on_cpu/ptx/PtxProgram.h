//===- PtxProgram.h - PTX, decoded ----------------------------------------------------------===//
//
// A warp has one register file: for each register a header of 32 bytes, whose last four are the lanes that have been
// written, then 32 values, of as many bytes as the register has. An instruction names registers by the offset of those
// values. Immediates, special registers and temporaries of the decoder are registers too; so operands are of one kind.
//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXPROGRAM_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXPROGRAM_H

#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace splitcast::cuda_on_cpu {

constexpr uint32_t kWarpSize = 32, kMostThreads = 1024, kAllLanes = ~uint32_t{0};
constexpr uint32_t kRegisterHeaderBytes = 32;
/// The register that instructions name which have no destination, or fewer sources; all lanes always count as written.
constexpr uint32_t kNoRegister = kRegisterHeaderBytes;
constexpr uint32_t kFirstFreeRegister = kNoRegister + kWarpSize * 8;

/// Addresses in the windows of shared memory, local memory and parameters begin here, that 0 is in none of them.
constexpr uint64_t kWindowBegin = 1024;
/// Generic addresses of these windows; no address of the host has these upper bits.
constexpr uint64_t kSharedWindow = uint64_t{0xFF51} << 48, kLocalWindow = uint64_t{0xFF52} << 48,
                   kParamWindow = uint64_t{0xFF53} << 48, kWindowMask = uint64_t{0xFFFF} << 48;

enum class Space : uint8_t { Generic, Global, Const, Shared, Local, Param };

/// What comes after an instruction: the next one, what the warp's own counters say, or nothing.
enum class Next : uint8_t { Step, Flow, Fault };

class Warp;
struct Inst;
using Handler = Next (*)(Warp &, const Inst &, uint32_t lanes);

struct Inst {
  Handler run = nullptr;
  int64_t immediate = 0;
  /// A predicate, or kNoRegister.
  uint32_t guard = kNoRegister, d = kNoRegister;
  std::array<uint32_t, 4> sources = {kNoRegister, kNoRegister, kNoRegister, kNoRegister};
  /// Of a vector or a table: the first in Program::lists.
  uint32_t list = 0;
  uint32_t line = 0;
  bool guardNegated = false;
  /// Of loads: of memory that nothing may write meanwhile. Of loads and stores: among the atomic ones.
  bool noncoherent = false, atomic = false;
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe
};

struct Constant {
  uint32_t at, bytes;
  uint64_t bits;
};

/// A variable in shared or local memory.
struct Array {
  std::string name;
  uint64_t begin, end;
};

/// What a warp holds for a kernel, or for all functions that kernels may call.
struct Frame {
  uint32_t fileBytes = kFirstFreeRegister;
  std::vector<Constant> constants;
  std::vector<std::pair<Special, uint32_t>> specials;
  /// Registers of the text, in the order of their offsets.
  std::vector<std::pair<uint32_t, std::string>> registers;
  std::vector<Array> shared, local;
  uint64_t sharedEnd = kWindowBegin, localEnd = kWindowBegin;
};

/// Of a kernel: `at` is an offset into the window of its parameters. Of a function: a register of `stride` bytes.
struct Argument {
  std::string name;
  int64_t bytes, align;
  uint32_t at, stride;
};

struct Routine {
  std::string name;
  bool isKernel = false, isDefined = false;
  std::vector<Argument> arguments, results;
  int64_t argumentsBytes = 0;
  /// Most threads of a block (.maxntid), or exactly its threads (.reqntid); 0: nothing is said.
  uint64_t mostThreads = 0;
  std::array<uint32_t, 3> requiredThreads = {0, 0, 0};
  uint32_t entry = 0;
  Frame frame;                                  // of kernels
  size_t firstRegister = 0, endOfRegisters = 0; // of functions: in Program::functions.registers
};

/// A .global or .const variable of the module; lives as long as it.
struct GlobalVariable {
  std::string name;
  std::unique_ptr<uint8_t[]> storage;
  uint64_t begin = 0, end = 0;
  bool isConst = false;
};

struct Program {
  std::string text;
  std::vector<absl::string_view> lines;
  std::vector<Inst> code;
  std::vector<uint32_t> lists;
  std::deque<Routine> routines; // whose addresses stay
  std::unordered_map<std::string, Routine *> routineNamed;
  /// Registers of all functions and the module's own shared arrays; kernels' frames continue it.
  Frame functions;
  std::vector<GlobalVariable> globals;
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXPROGRAM_H
