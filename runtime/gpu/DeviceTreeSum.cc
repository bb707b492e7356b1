#include "runtime/gpu/DeviceTreeSum.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <utility>
#include <vector>

namespace splitcast::runtime {
namespace {

/// Writes one kernel as MLIR text. A thread adds `lanes` elements of each
/// addend; bf16 and f16 are added in f32 and rounded once.
class TreeSumWriter {
public:
  TreeSumWriter(int64_t count, ElementType type, int64_t lanes, int64_t most)
      : count(count), lanes(lanes), isSmall(bytesOf(type) == 2),
        memref(absl::StrCat("memref<", most, "x", nameOf(type), ">")), element(typeOf(nameOf(type))),
        wide(isSmall ? typeOf("f32") : element) {}

  std::string write(const std::string &name) {
    const char *aligned = lanes > 1 ? " {llvm.align = 16 : i64}" : "";
    absl::StrAppend(&text, "gpu.func @", name, "(");
    for (int64_t addend = 0; addend < count; ++addend)
      absl::StrAppend(&text, "%a", addend, ": ", memref, aligned, ", ");
    absl::StrAppend(&text, "%sum: ", memref, aligned, ", %count: i64) kernel {\n");
    absl::StrAppend(&text, "%block = gpu.block_id x\n%thread = gpu.thread_id x\n%threads = arith.constant ",
                    kTreeSumThreads, " : index\n%lanes = arith.constant ", lanes, " : index\n",
                    "%first = arith.muli %block, %threads : index\n%number = arith.addi %first, %thread : index\n",
                    "%i = arith.muli %number, %lanes : index\n%end = arith.index_cast %count : i64 to index\n",
                    "%inside = arith.cmpi slt, %i, %end : index\nscf.if %inside {\n");
    std::string sum = addTree();
    if (isSmall)
      absl::StrAppend(&text, "%rounded = arith.truncf ", sum, " : ", wide, " to ", element, "\n");
    access("store", absl::StrCat(isSmall ? "%rounded" : sum, ", %sum"));
    return absl::StrCat(text, "}\ngpu.return\n}\n");
  }

private:
  std::string typeOf(absl::string_view scalar) const {
    return lanes > 1 ? absl::StrCat("vector<", lanes, "x", scalar, ">") : std::string(scalar);
  }

  /// Appends a load or a store at this thread's elements of a buffer.
  void access(const char *what, const std::string &operands) {
    absl::StrAppend(&text, lanes > 1 ? "vector." : "memref.", what, " ", operands, "[%i] : ", memref);
    absl::StrAppend(&text, lanes > 1 ? absl::StrCat(", ", element) : "", "\n");
  }

  /// Appends the additions of the fixed tree (Communicator.h), each addend
  /// loaded where it is added, and returns the name of the sum.
  std::string addTree() {
    std::vector<std::pair<int64_t, std::string>> partial; // height and name of each partial sum, oldest first
    int64_t sums = 0;
    auto merge = [&] {
      auto [height, right] = partial.back();
      partial.pop_back();
      std::string name = absl::StrCat("%s", sums++);
      absl::StrAppend(&text, name, " = arith.addf ", partial.back().second, ", ", right, " : ", wide, "\n");
      partial.back() = {height + 1, name};
    };
    for (int64_t addend = 0; addend < count; ++addend) {
      partial.emplace_back(0, load(addend));
      while (partial.size() > 1 && partial.back().first == partial[partial.size() - 2].first)
        merge();
    }
    while (partial.size() > 1)
      merge();
    return partial.front().second;
  }

  std::string load(int64_t addend) {
    const std::string loaded = absl::StrCat(isSmall ? "%l" : "%v", addend);
    absl::StrAppend(&text, loaded, " = ");
    access("load", absl::StrCat("%a", addend));
    if (isSmall)
      absl::StrAppend(&text, "%v", addend, " = arith.extf ", loaded, " : ", element, " to ", wide, "\n");
    return absl::StrCat("%v", addend);
  }

  const int64_t count, lanes;
  const bool isSmall;
  const std::string memref, element, wide;
  std::string text;
};

std::string sourceOf(int64_t count, ElementType type, int64_t most) {
  const int64_t lanes = kTreeSumBytes / bytesOf(type);
  return absl::StrCat("gpu.module @functions {\n", TreeSumWriter(count, type, 1, most).write("tree_sum"),
                      TreeSumWriter(count, type, lanes, most).write("tree_sum_wide"), "}\n");
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
