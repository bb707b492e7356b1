#include "tests/reference/Layout.h"

#include "tests/reference/TreeSum.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace mlir;

namespace splitcast::reference {

int64_t rankAt(const sbp::Placement &placement, int64_t position) {
  return placement.ranks.empty() ? position : placement.ranks[position];
}

absl::Status checkSignature(const sbp::Shape &shape, const sbp::NdSbp &sbp, const sbp::Placement &placement) {
  auto invalid = [&](const std::string &why) {
    return absl::InvalidArgumentError(absl::StrCat("signature ", toString(sbp), " does not fit a tensor of shape [",
                                                   absl::StrJoin(shape, ", "), "]: ", why));
  };
  if (sbp.size() != placement.axes.size())
    return invalid(absl::StrCat("it has ", sbp.size(), " entries on a placement of ", placement.axes.size(), " axes"));
  int64_t flat = 0;
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (sbp[axis].isSplit() && (sbp[axis].dim < 0 || sbp[axis].dim >= static_cast<int64_t>(shape.size())))
      return invalid(absl::StrCat("there is no dimension ", sbp[axis].dim));
    if (sbp[axis].isSplit() && !sbp::grainBefore(axis, sbp[axis].dim, shape, sbp, placement).canSplitBy(sbp[axis].unit))
      return invalid(absl::StrCat("there are no whole units of ", sbp[axis].unit));
    const bool isFlat = sbp[axis].isFlat();
    if (const sbp::Ends &ends = isFlat ? sbp[axis].slot.ends : sbp[axis].ends; !ends.empty())
      if (std::string fault =
              sbp::faultOfEnds(ends, isFlat ? sbp[axis].slot.total : shape[sbp[axis].dim], placement.axes[axis].size);
          !fault.empty())
        return invalid(absl::StrCat("it ", fault));
    if (!isFlat)
      continue;
    const sbp::Slot &slot = sbp[axis].slot;
    if (++flat > 1)
      return invalid("it has two flat splits");
    if (slot.offset < 0 || (slot.ends.empty() && slot.total % placement.axes[axis].size != 0) ||
        sbp::maxBoxElements(shape, sbp, placement) > slot.total - slot.offset)
      return invalid("the bucket has no room for it, or is not a multiple of the axis's size");
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// From global to pieces
//===----------------------------------------------------------------------===//

absl::StatusOr<std::vector<Tensor>> cut(const Tensor &global, const sbp::NdSbp &sbp, const sbp::Placement &placement) {
  if (absl::Status status = checkSignature(global.shape, sbp, placement); !status.ok())
    return status;
  std::vector<Tensor> result;
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    std::vector<int64_t> at = placement.coordinates(position);
    Tensor piece = Tensor::zeros(sbp::localShape(global.shape, sbp, placement, at), global.elementType);
    bool holdsValue = true;
    for (size_t axis = 0; axis < sbp.size(); ++axis)
      holdsValue &= !sbp[axis].isPartial() || at[axis] == 0;
    if (holdsValue)
      for (const sbp::Run &run : sbp::pieces(global.shape, sbp, placement, at))
        copyElements(global, run.logical, run.count, piece, run.local);
    result.push_back(std::move(piece));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// From pieces to global
//===----------------------------------------------------------------------===//

Gather::Gather(std::string name, const sbp::Shape &shape, Type elementType)
    : name(std::move(name)), tensor(Tensor::zeros(shape, elementType)), heldBy(tensor.numElements(), -1) {}

absl::Status Gather::add(int64_t rank, const Tensor &holder, int64_t offset, ArrayRef<sbp::Run> runs) {
  for (const sbp::Run &run : runs)
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t to = run.logical + i, from = offset + run.local + i;
      if (heldBy[to] < 0) {
        heldBy[to] = rank;
        copyElements(holder, from, 1, tensor, to);
      } else if (!sameBits(tensor, to, holder, from)) {
        return absl::DataLossError(absl::StrCat(name, ": element ", to, " is ", elementText(tensor, to), " on rank ",
                                                heldBy[to], " but ", elementText(holder, from), " on rank ", rank,
                                                "; copies must have the same bits"));
      }
    }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Gather::finish() && {
  for (size_t i = 0; i < heldBy.size(); ++i)
    if (heldBy[i] < 0)
      return absl::DataLossError(absl::StrCat(name, ": no rank holds element ", i));
  return std::move(tensor);
}

namespace {

absl::Status checkPieces(ArrayRef<Tensor> pieces, const sbp::Shape &shape, const sbp::NdSbp &sbp,
                         const sbp::Placement &placement) {
  if (static_cast<int64_t>(pieces.size()) != placement.numPositions())
    return absl::InvalidArgumentError(absl::StrCat("there are ", pieces.size(), " pieces for ",
                                                   placement.numPositions(), " positions; give one each"));
  for (auto [position, piece] : llvm::enumerate(pieces)) {
    sbp::Shape local = sbp::localShape(shape, sbp, placement, placement.coordinates(position));
    auto type = RankedTensorType::get(local, pieces.front().elementType);
    if (absl::Status status = checkIs(piece, type, absl::StrCat("the piece of position ", position)); !status.ok())
      return status;
  }
  bool hasPartial = llvm::any_of(sbp, [](const sbp::Sbp &entry) { return entry.isPartial(); });
  if (hasPartial && !pieces.front().isFloat())
    return absl::InvalidArgumentError(
        absl::StrCat("P of ", printed(pieces.front().elementType), "; only floats are summed"));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<Tensor> assemble(std::vector<Tensor> pieces, const sbp::Shape &shape, const sbp::NdSbp &sbp,
                                const sbp::Placement &placement, Precision precision) {
  if (absl::Status status = checkSignature(shape, sbp, placement); !status.ok())
    return status;
  if (absl::Status status = checkPieces(pieces, shape, sbp, placement); !status.ok())
    return status;
  // Coordinate 0 of an axis of P takes the sum; the others have no meaning after that.
  std::vector<bool> isDone(pieces.size(), false);
  for (int64_t axis = static_cast<int64_t>(sbp.size()) - 1; axis >= 0; --axis) {
    if (!sbp[axis].isPartial())
      continue;
    for (int64_t position = 0; position < placement.numPositions(); ++position) {
      isDone[position] = isDone[position] || placement.coordinates(position)[axis] != 0;
      if (isDone[position])
        continue;
      std::vector<Tensor> addends;
      for (int64_t member : placement.groupAlong(axis, position))
        addends.push_back(pieces[member]);
      pieces[position] = treeSum(addends, precision);
    }
  }
  Gather gather("the tensor", shape, pieces.front().elementType);
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    if (isDone[position])
      continue;
    std::vector<sbp::Run> runs = sbp::pieces(shape, sbp, placement, placement.coordinates(position));
    if (absl::Status status = gather.add(rankAt(placement, position), pieces[position], 0, runs); !status.ok())
      return status;
  }
  return std::move(gather).finish();
}

} // namespace splitcast::reference
