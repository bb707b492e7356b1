#include "runtime/gpu/DeviceIndexCheck.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <limits>

namespace splitcast::runtime {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();

/// Returns the kernel as MLIR text. Each wrong index gives a 64-bit word: its
/// position, and below that its value, clamped to 32 bits. The kernel keeps the
/// least word, which is that of the first wrong index.
std::string sourceOf(const IndexCheck &check) {
  const bool isWide = check.type == ElementType::I64;
  const std::string memref = absl::StrCat("memref<", check.count, "x", nameOf(check.type), ">");
  auto constant = [](const char *name, int64_t value) {
    return absl::StrCat(name, " = arith.constant ", value, " : i64\n");
  };
  std::string text =
      absl::StrCat("gpu.module @functions {\ngpu.func @check_indices(%indices: ", memref,
                   ", %found: memref<1xi64>) kernel {\n%block = gpu.block_id x\n%thread = gpu.thread_id x\n",
                   "%threads = arith.constant ", kIndexCheckThreads, " : index\n%first = arith.muli %block, %threads ",
                   ": index\n%i = arith.addi %first, %thread : index\n%end = arith.constant ", check.count,
                   " : index\n%zero = arith.constant 0 : index\n%inside = arith.cmpi slt, %i, %end : index\n");
  absl::StrAppend(
      &text, constant("%places", check.places), constant("%ignored", check.ignored.value_or(0)),
      constant("%least", kLeast), constant("%most", kMost), constant("%below", 0xffffffff), constant("%half", 32),
      "scf.if %inside {\n%", isWide ? "index" : "narrow", " = memref.load %indices[%i] : ", memref, "\n",
      isWide ? "" : "%index = arith.extsi %narrow : i32 to i64\n",
      "%isOutside = arith.cmpi uge, %index, %places : i64\n"); // an unsigned comparison also finds negative indices
  if (check.ignored)
    absl::StrAppend(&text, "%counts = arith.cmpi ne, %index, %ignored : i64\n",
                    "%isWrong = arith.andi %isOutside, %counts : i1\n");
  absl::StrAppend(&text, "scf.if %", check.ignored ? "isWrong" : "isOutside",
                  " {\n%lower = arith.maxsi %index, %least : i64\n%upper = arith.minsi %lower, %most : i64\n",
                  "%low = arith.andi %upper, %below : i64\n%number = arith.index_cast %i : index to i64\n",
                  "%high = arith.shli %number, %half : i64\n%word = arith.ori %high, %low : i64\n",
                  "%before = memref.atomic_rmw minu %word, %found[%zero] : (i64, memref<1xi64>) -> i64\n",
                  "}\n}\ngpu.return\n}\n}\n");
  return text;
}

} // namespace

absl::StatusOr<GpuProgram> deviceIndexCheck(const IndexCheck &check, mlir::MLIRContext &context) {
  if (check.count > kMost)
    return absl::InvalidArgumentError(
        absl::StrCat("library call '", IndexCheck::kName, "' has ", check.count, " indices; it takes at most ", kMost));
  mlir::DialectRegistry registry;
  registerGpuKernelDialects(registry);
  context.appendDialectRegistry(registry);
  GpuProgram program;
  program.module = mlir::parseSourceString<mlir::ModuleOp>(sourceOf(check), &context);
  if (!program.module)
    return absl::InternalError("the index check's source does not parse");
  return program;
}

absl::Status statusOfFound(const IndexCheck &check, uint64_t found) {
  if (found == kNothingFound)
    return absl::OkStatus();
  const auto index = static_cast<int32_t>(found & 0xffffffff);
  const char *bound = check.type != ElementType::I64 ? ""
                      : index == kMost               ? " or more"
                      : index == kLeast              ? " or less"
                                                     : "";
  return check.refuse(static_cast<int64_t>(found >> 32), absl::StrCat(index, bound));
}

} // namespace splitcast::runtime
