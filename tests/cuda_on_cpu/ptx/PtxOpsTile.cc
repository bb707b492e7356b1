// Products of a warp's tiles: mma.sync.m16n8k8 of tf32 (PTX ISA, "Matrix Fragments for mma.m16n8k8").
#include "tests/cuda_on_cpu/ptx/PtxBuilder.h"
#include "tests/cuda_on_cpu/ptx/PtxWarp.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr uint32_t kSums = 4, kLeft = 4, kRight = 2, kDepth = 8;

/// Returns the value of an operand: the upper 19 bits of its register.
double tf32(uint32_t bits) {
  bits &= ~uint32_t{0x1fff};
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Tensor cores do not round sums to the nearest number, but toward 0 (Fasi et al. 2021, doi:10.7717/peerj-cs.330).
float cutOff(double sum) {
  const auto nearest = static_cast<float>(sum);
  return std::abs(static_cast<double>(nearest)) > std::abs(sum) ? std::nextafter(nearest, 0.0F) : nearest;
}

/// Program::lists has the registers of the result, of both operands, and of the addend.
Next multiplyTiles(Warp &warp, const Inst &inst, uint32_t lanes) {
  const uint32_t *registers = &warp.launch.program.lists[inst.list];
  static const std::array<uint32_t, kWarpSize> everyone = [] {
    std::array<uint32_t, kWarpSize> members;
    members.fill(kAllLanes);
    return members;
  }();
  return warp.meet(inst, lanes, everyone.data(), [&](uint32_t group) {
    if (group != kAllLanes)
      return warp.fail(inst, 0, absl::StrCat("only the lanes 0x", absl::Hex(group), " take part"));
    for (uint32_t source = kSums; source != kSums + kLeft + kRight + kSums; ++source)
      if (!warp.isWritten(registers[source], group))
        return Next::Fault;
    auto left = [&](uint32_t row, uint32_t depth) {
      const uint32_t nth = row / 8 + 2 * (depth / 4);
      return tf32(warp.lanes<uint32_t>(registers[kSums + nth])[row % 8 * 4 + depth % 4]);
    };
    auto right = [&](uint32_t depth, uint32_t column) {
      return tf32(warp.lanes<uint32_t>(registers[kSums + kLeft + depth / 4])[column * 4 + depth % 4]);
    };
    std::array<std::array<float, kWarpSize>, kSums> sums;
    for (uint32_t element = 0; element != kSums; ++element)
      for (uint32_t lane = 0; lane != kWarpSize; ++lane) {
        const uint32_t row = lane / 4 + element / 2 * 8, column = lane % 4 * 2 + element % 2;
        double sum = warp.lanes<float>(registers[kSums + kLeft + kRight + element])[lane];
        for (uint32_t depth = 0; depth != kDepth; ++depth)
          sum += left(row, depth) * right(depth, column);
        sums[element][lane] = cutOff(sum);
      }
    for (uint32_t element = 0; element != kSums; ++element) {
      std::copy_n(sums[element].begin(), kWarpSize, warp.lanes<float>(registers[element]));
      warp.written(registers[element]) = kAllLanes;
    }
    return Next::Step;
  });
}

void lowerProduct(Builder &builder, Statement &statement) {
  for (const char *part : {"sync", "aligned", "m16n8k8", "row", "col", "f32", "tf32", "tf32", "f32"})
    if (!statement.take(part))
      return builder.fail("this product of tiles is not supported; m16n8k8 of tf32 is");
  if (!builder.expect(statement, 4))
    return;
  std::vector<uint32_t> registers;
  std::vector<uint32_t> sources;
  for (const auto &[index, count] : {std::pair<size_t, size_t>{1, kLeft}, {2, kRight}, {3, kSums}}) {
    const Operand &operand = statement.operands[index];
    if (operand.kind != Operand::Kind::Vector || operand.elements.size() != count)
      return builder.fail(absl::StrCat("operand ", index, " must have ", count, " registers"));
    for (const Operand &element : operand.elements)
      sources.push_back(builder.source(element, Type::B32));
  }
  const Operand &result = statement.operands[0];
  if (result.kind != Operand::Kind::Vector || result.elements.size() != kSums)
    return builder.fail("the result must have 4 registers");
  for (const Operand &element : result.elements)
    registers.push_back(builder.target(element, Type::B32));
  registers.insert(registers.end(), sources.begin(), sources.end());
  builder.emit(multiplyTiles, kNoRegister, {}).list = static_cast<uint32_t>(builder.program.lists.size());
  builder.program.lists.insert(builder.program.lists.end(), registers.begin(), registers.end());
}

} // namespace

Lowerings tileLowerings() { return {{"mma", lowerProduct}}; }

} // namespace splitcast::cuda_on_cpu
