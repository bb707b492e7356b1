#include "runtime/gpu/DeviceTreeSum.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <utility>
#include <vector>

namespace splitcast::runtime {
namespace {

/// Appends the additions of the fixed tree (Communicator.h), and returns the
/// name of the sum.
std::string addTree(std::string &text, int64_t count, const std::string &element) {
  std::vector<std::pair<int64_t, std::string>> partial; // height and name of each partial sum, oldest first
  int64_t sums = 0;
  auto merge = [&] {
    auto [height, right] = partial.back();
    partial.pop_back();
    std::string name = absl::StrCat("%s", sums++);
    absl::StrAppend(&text, name, " = arith.addf ", partial.back().second, ", ", right, " : ", element, "\n");
    partial.back() = {height + 1, name};
  };
  for (int64_t addend = 0; addend < count; ++addend) {
    partial.emplace_back(0, absl::StrCat("%v", addend));
    while (partial.size() > 1 && partial.back().first == partial[partial.size() - 2].first)
      merge();
  }
  while (partial.size() > 1)
    merge();
  return partial.front().second;
}

/// Returns the kernel as MLIR text. bf16 and f16 are added in f32 and rounded
/// once.
std::string sourceOf(int64_t count, ElementType type, int64_t most) {
  const std::string element = nameOf(type), wide = bytesOf(type) == 2 ? "f32" : element;
  const bool isSmall = wide != element;
  const std::string memref = absl::StrCat("memref<", most, "x", element, ">");
  std::string text = "gpu.module @functions {\ngpu.func @tree_sum(";
  for (int64_t addend = 0; addend < count; ++addend)
    absl::StrAppend(&text, "%a", addend, ": ", memref, ", ");
  absl::StrAppend(&text, "%sum: ", memref, ", %count: i64) kernel {\n");
  absl::StrAppend(&text, "%block = gpu.block_id x\n%thread = gpu.thread_id x\n%threads = arith.constant ",
                  kTreeSumThreads, " : index\n%first = arith.muli %block, %threads : index\n",
                  "%i = arith.addi %first, %thread : index\n%end = arith.index_cast %count : i64 to index\n",
                  "%inside = arith.cmpi slt, %i, %end : index\nscf.if %inside {\n");
  for (int64_t addend = 0; addend < count; ++addend) {
    const std::string loaded = absl::StrCat(isSmall ? "%l" : "%v", addend);
    absl::StrAppend(&text, loaded, " = memref.load %a", addend, "[%i] : ", memref, "\n");
    if (isSmall)
      absl::StrAppend(&text, "%v", addend, " = arith.extf ", loaded, " : ", element, " to ", wide, "\n");
  }
  std::string sum = addTree(text, count, wide);
  if (isSmall)
    absl::StrAppend(&text, "%rounded = arith.truncf ", sum, " : ", wide, " to ", element, "\n");
  if (isSmall)
    sum = "%rounded";
  absl::StrAppend(&text, "memref.store ", sum, ", %sum[%i] : ", memref, "\n}\ngpu.return\n}\n}\n");
  return text;
}

} // namespace

absl::StatusOr<GpuProgram> deviceTreeSum(int64_t count, ElementType type, mlir::MLIRContext &context, int64_t most) {
  if (count < 1 || count > kMostAddends || !isFloat(type))
    return absl::InvalidArgumentError(absl::StrCat("cannot sum ", count, " addends of type ", nameOf(type),
                                                   "; a tree sum takes 1 to ", kMostAddends, " floats"));
  mlir::DialectRegistry registry;
  registerGpuKernelDialects(registry);
  context.appendDialectRegistry(registry);
  GpuProgram program;
  program.module = mlir::parseSourceString<mlir::ModuleOp>(sourceOf(count, type, most), &context);
  if (!program.module)
    return absl::InternalError("the tree sum's source does not parse");
  program.mayAlias = true;
  return program;
}

} // namespace splitcast::runtime
