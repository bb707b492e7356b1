//===- PtxProgram.h - Decoded PTX -----------------------------------------------------------===//
//
// A warp has one register file. In it, each register has a header of 32 bytes, whose last four are the mask of lanes
// that have been written, and then 32 values of the register's size. An instruction refers to a register by the offset
// of its values. Immediates, special registers and temporaries of the decoder are registers, too, so that there is only
// one kind of operand.
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
/// The register that stands for a missing destination or source. All its lanes count as written.
constexpr uint32_t kNoRegister = kRegisterHeaderBytes;
constexpr uint32_t kFirstFreeRegister = kNoRegister + kWarpSize * 8;

/// The first address in the windows of shared memory, local memory and parameters, so that 0 is never valid.
constexpr uint64_t kWindowBegin = 1024;
/// The generic addresses of these windows. No host address has these upper bits.
constexpr uint64_t kSharedWindow = uint64_t{0xFF51} << 48, kLocalWindow = uint64_t{0xFF52} << 48,
                   kParamWindow = uint64_t{0xFF53} << 48, kWindowMask = uint64_t{0xFFFF} << 48;

enum class Space : uint8_t { Generic, Global, Const, Shared, Local, Param };

/// What follows an instruction: the next one (Step), the one at which the warp's program counters are (Flow), or
/// nothing because of an error (Fault).
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
  /// For a vector or a table, the index of its first element in Program::lists.
  uint32_t list = 0;
  uint32_t line = 0;
  bool guardNegated = false;
  /// For loads, whether nothing may write the memory meanwhile (.nc); for loads and stores, whether they are atomic.
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

/// The registers and arrays of a kernel, or of all functions that kernels may call.
struct Frame {
  uint32_t fileBytes = kFirstFreeRegister;
  std::vector<Constant> constants;
  std::vector<std::pair<Special, uint32_t>> specials;
  /// The registers that the text declares, in the order of their offsets.
  std::vector<std::pair<uint32_t, std::string>> registers;
  std::vector<Array> shared, local;
  uint64_t sharedEnd = kWindowBegin, localEnd = kWindowBegin;
};

/// An argument. For a kernel, `at` is an offset in the window of parameters; for a function, it is a register with
/// `stride` bytes per lane.
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
  /// The largest number of threads of a block (.maxntid), and the exact ones (.reqntid); 0 if the text does not say.
  uint64_t mostThreads = 0;
  std::array<uint32_t, 3> requiredThreads = {0, 0, 0};
  uint32_t entry = 0;
  Frame frame;                                  // for kernels only
  size_t firstRegister = 0, endOfRegisters = 0; // for functions only: a range of Program::functions.registers
};

/// A .global or .const variable of the module. It lives as long as the module.
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
  std::deque<Routine> routines; // a deque, because its elements keep their addresses
  std::unordered_map<std::string, Routine *> routineNamed;
  /// The registers of all functions, and the module's own shared arrays. The frames of kernels continue it.
  Frame functions;
  std::vector<GlobalVariable> globals;
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXPROGRAM_H
