#include "dialects/ccl/algebra/TransportModel.h"

#include <algorithm>

namespace splitcast::ccl {

TransportModel TransportModel::of(std::string_view device) {
  TransportModel model;
  if (device == "cuda") { // assumed: 50 TFLOP/s, 200 GB/s, and 20 us per collective
    model.flopsPerByte = 250;
    model.flopsPerCollective = 1e9;
  }
  return model;
}

int64_t TransportModel::stepBytes(const sbp::BoxingStep &step, const sbp::Shape &shape, int64_t elementBytes,
                                  const sbp::Placement &placement) const {
  if (step.collective != sbp::Collective::AllReduce)
    return sbp::stepVolume(step, shape, elementBytes, placement);
  // A small all-reduce may send more bytes than a larger one, so pieces of any
  // size may be those of the busiest rank.
  const int64_t ranks = placement.axes[step.axis].size;
  int64_t most = 0;
  for (int64_t elements : sbp::boxSizes(shape, step.from, placement))
    most = std::max(most, allReduceTraffic(elements, elementBytes, ranks, 0, smallAllReduceBytes).bytes);
  return most;
}

int64_t TransportModel::stepCost(const sbp::BoxingStep &step, const sbp::Shape &shape, int64_t elementBytes,
                                 const sbp::Placement &placement) const {
  const int64_t bytes = stepBytes(step, shape, elementBytes, placement);
  if (bytes == 0)
    return 0;
  const bool hasTwoRounds = step.collective == sbp::Collective::AllReduce &&
                            sbp::maxBoxElements(shape, step.from, placement) * elementBytes > smallAllReduceBytes;
  return bytes + (hasTwoRounds ? 2 : 1) * roundBytes;
}

sbp::BoxingCost TransportModel::boxingCost() const {
  return [model = *this](const sbp::Shape &shape, int64_t elementBytes, const sbp::NdSbp &from, const sbp::NdSbp &to,
                         const sbp::Placement &placement) {
    int64_t cost = 0;
    for (const sbp::BoxingStep &step : sbp::planBoxing(shape, from, to, placement))
      cost += model.stepCost(step, shape, elementBytes, placement);
    return cost;
  };
}

} // namespace splitcast::ccl
