#include "tests/differential/Schedules.h"

#include "tests/reference/Layout.h"

#include "absl/strings/str_cat.h"

#include <map>

using namespace mlir;

namespace splitcast::differential {

namespace {

/// Equal parts along a dimension, as micro-batches are.
absl::StatusOr<std::vector<Tensor>> partsOf(const Tensor &whole, int64_t dim, int64_t count) {
  if (dim >= static_cast<int64_t>(whole.shape.size()) || whole.shape[dim] % count != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("an input is to be cut into ", count, " parts along dimension ", dim, ", which do not divide it"));
  return reference::cut(whole, {sbp::Sbp::split(dim)}, {"", {{"part", count}}, {}});
}

absl::StatusOr<Tensor> joined(std::vector<Tensor> parts, int64_t dim) {
  sbp::Shape shape = parts.front().shape;
  const auto count = static_cast<int64_t>(parts.size());
  shape[dim] *= count;
  return reference::assemble(std::move(parts), shape, {sbp::Sbp::split(dim)}, {"", {{"part", count}}, {}},
                             reference::Precision::F64);
}

Tensor numberOf(int64_t microBatch, MLIRContext *context) {
  Tensor number = Tensor::zeros({}, IntegerType::get(context, 64));
  number.integers.front() = microBatch;
  return number;
}

} // namespace

absl::StatusOr<ScheduledCalls> ScheduledCalls::of(ModuleOp module, const Experiment &experiment) {
  ScheduledCalls made;
  made.experiment.initial = experiment.initial;
  for (auto [index, call] : llvm::enumerate(experiment.calls)) {
    auto schedule = module.lookupSymbol<sbp::ScheduleOp>(call.function);
    if (!schedule) {
      made.experiment.calls.push_back(call);
      made.parts.push_back({index, {}, {}, false});
      continue;
    }
    bool isFirst = true;
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
      for (auto m = static_cast<int64_t>(run.getBegin()); m < static_cast<int64_t>(run.getEnd()); ++m) {
        Call part{run.getFunction().str(), {}, call.function, isFirst, run.getKept()};
        isFirst = false;
        for (auto [index, number, dim] : llvm::enumerate(run.getTakes(), run.getCuts())) {
          if (dim < 0) {
            part.inputs.push_back(call.inputs.at(number));
            continue;
          }
          absl::StatusOr<std::vector<Tensor>> cut = partsOf(call.inputs.at(number), dim, schedule.getMicroBatches());
          if (!cut.ok())
            return cut.status();
          part.inputs.push_back(std::move((*cut)[m + (run.getTakesAhead().empty() ? 0 : run.getTakesAhead()[index])]));
        }
        if (run.getNumbered())
          part.inputs.push_back(numberOf(m, module.getContext()));
        made.experiment.calls.push_back(std::move(part));
        std::vector<int64_t> microBatches(run.getGives().size(), m);
        for (auto [result, ahead] : llvm::enumerate(run.getGivesAhead()))
          microBatches[result] += ahead;
        made.parts.push_back({index, run.getGives().vec(), run.getJoins().vec(), true, std::move(microBatches)});
      }
  }
  return made;
}

absl::StatusOr<std::vector<std::vector<Tensor>>> ScheduledCalls::join(std::vector<std::vector<Tensor>> results) const {
  struct Given {
    int64_t dim = -1;
    std::map<int64_t, Tensor> parts; ///< by micro-batch
  };
  std::vector<std::vector<Tensor>> all(parts.empty() ? 0 : parts.back().call + 1);
  std::vector<std::map<int64_t, Given>> given(all.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Part &part = parts.at(i);
    if (!part.isScheduled)
      all[part.call] = std::move(results[i]);
    for (size_t result = 0; result < part.gives.size(); ++result) {
      Given &to = given[part.call][part.gives[result]];
      to.dim = part.joins[result];
      to.parts[part.microBatches[result]] = std::move(results[i][result]);
    }
  }
  for (size_t call = 0; call < all.size(); ++call)
    for (auto &[number, of] : given[call]) {
      std::vector<Tensor> parts;
      for (auto &[microBatch, tensor] : of.parts)
        parts.push_back(std::move(tensor));
      absl::StatusOr<Tensor> whole = of.dim < 0 ? std::move(parts.front()) : joined(std::move(parts), of.dim);
      if (!whole.ok())
        return whole.status();
      all[call].push_back(*std::move(whole));
    }
  return all;
}

} // namespace splitcast::differential
