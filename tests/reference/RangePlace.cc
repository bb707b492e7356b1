#include "tests/reference/RangePlace.h"

using namespace mlir;

namespace splitcast::reference {

RangePlace::RangePlace(RankedTensorType range, RankedTensorType member, int64_t offset) {
  sbp::NdAttr signature = sbp::signatureOf(member);
  sbp::Placement placement = signature.getPlacement().toAlgebra();
  sbp::NdSbp ofRange = sbp::signatureOf(range).toAlgebra(), ofMember = signature.toAlgebra();
  std::vector<size_t> leading; // axes that have a dimension of their own
  for (size_t axis = 0; axis < ofRange.size(); ++axis) {
    bool hasDimension = ofRange[axis].isSplit() && ofRange[axis].dim + 1 < range.getRank();
    if (hasDimension)
      leading.push_back(axis);
    else
      ofMember[axis] = sbp::Sbp::broadcast();
  }
  std::vector<int64_t> at(placement.axes.size(), 0);
  int64_t elements = range.getShape().back(), rows = elements ? range.getNumElements() / elements : 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t rest = row, i = leading.size() - 1; i >= 0; --i) {
      at[leading[i]] = rest % placement.axes[leading[i]].size;
      rest /= placement.axes[leading[i]].size;
    }
    for (const sbp::Run &run : sbp::pieces(sbp::shapeOf(member), ofMember, placement, at))
      runs.push_back({run.logical, row * elements + offset + run.local, run.count});
  }
}

void RangePlace::copyIn(const Tensor &member, Tensor &range) const {
  for (const sbp::Run &run : runs)
    copyElements(member, run.logical, run.count, range, run.local);
}

void RangePlace::copyOut(const Tensor &range, Tensor &member) const {
  for (const sbp::Run &run : runs)
    copyElements(range, run.local, run.count, member, run.logical);
}

} // namespace splitcast::reference
