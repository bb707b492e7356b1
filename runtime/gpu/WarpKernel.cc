#include "runtime/gpu/WarpKernel.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace splitcast::runtime {

static constexpr int64_t kWarpsPerBlock = 4;

std::string warpKernel(const std::string &name, const std::string &arguments, int64_t rows, const std::string &body) {
  return absl::Substitute(R"(func.func @$0($1) {
  %launch_one = arith.constant 1 : index
  %launch_width = arith.constant $2 : index
  %launch_height = arith.constant $3 : index
  %launch_blocks = arith.constant $4 : index
  gpu.launch blocks(%block, %by, %bz) in (%gx = %launch_blocks, %gy = %launch_one, %gz = %launch_one)
             threads(%lane, %warp, %tz) in (%sx = %launch_width, %sy = %launch_height, %sz = %launch_one) {
    %lanes = arith.constant $2 : index
    %launch_warps = arith.constant $3 : index
    %launch_rows = arith.constant $5 : index
    %launch_first = arith.muli %block, %launch_warps : index
    %row = arith.addi %launch_first, %warp : index
    %isInside = arith.cmpi ult, %row, %launch_rows : index
    scf.if %isInside {
$6    }
    gpu.terminator
  }
  return
}
)",
                          name, arguments, kWarpLanes, kWarpsPerBlock, (rows + kWarpsPerBlock - 1) / kWarpsPerBlock,
                          rows, body);
}

std::string acrossLanes(const std::string &name, const std::string &op, const std::string &type) {
  std::string text = absl::StrCat("%", name, "_width = arith.constant ", kWarpLanes, " : i32\n"),
              value = name + "_lane";
  for (int64_t offset = kWarpLanes / 2; offset > 0; offset /= 2) {
    const std::string step = absl::StrCat(name, "_", offset);
    absl::StrAppend(&text, "%", step, "_offset = arith.constant ", offset, " : i32\n%", step, "_other, %", step,
                    "_valid = gpu.shuffle xor %", value, ", %", step, "_offset, %", name, "_width : ", type, "\n%",
                    offset == 1 ? name : step, " = ", op, " %", value, ", %", step, "_other : ", type, "\n");
    value = step;
  }
  return text;
}

} // namespace splitcast::runtime
