#include "dialects/exec/EntryPoints.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

namespace {

/// The inputs, or the outputs, of a plan: arrays of equal length.
struct PlanTensors {
  ArrayAttr types, names, ranges;
};

PlanTensors inputsOf(PlanOp plan) { return {plan.getInputTypes(), plan.getInputNames(), plan.getInputs()}; }
PlanTensors outputsOf(PlanOp plan) { return {plan.getOutputTypes(), plan.getOutputNames(), plan.getOutputs()}; }

/// Notes what a run says of the tensors of an entry point: tensor i of the plan
/// is number `numbers[i]` of the entry point, in parts along `dims[i]`.
void note(const PlanTensors &of, ArrayRef<int64_t> numbers, ArrayRef<int64_t> dims, int64_t microBatches,
          std::vector<EntryTensor> &tensors) {
  for (auto [index, number] : llvm::enumerate(numbers)) {
    if (number >= static_cast<int64_t>(tensors.size()))
      tensors.resize(number + 1);
    const auto range = cast<RangeAttr>(of.ranges[index]);
    tensors[number] = {cast<StringAttr>(of.names[index]),
                       cast<RankedTensorType>(cast<TypeAttr>(of.types[index]).getValue()), dims[index],
                       dims[index] < 0 ? 1 : microBatches, range.getBytes()};
  }
}

EntryPoint entryPointOf(PlanOp plan) {
  const auto inputs = llvm::to_vector(llvm::seq<int64_t>(0, plan.getInputs().size()));
  const auto outputs = llvm::to_vector(llvm::seq<int64_t>(0, plan.getOutputs().size()));
  EntryPoint point{plan.getSymName(), {{plan, 0, 1, inputs, outputs}}, {}, {}};
  note(inputsOf(plan), inputs, SmallVector<int64_t>(inputs.size(), -1), 1, point.inputs);
  note(outputsOf(plan), outputs, SmallVector<int64_t>(outputs.size(), -1), 1, point.outputs);
  return point;
}

EntryPoint entryPointOf(sbp::ScheduleOp schedule, const SymbolTable &symbols) {
  EntryPoint point{schedule.getSymName(), {}, {}, {}};
  const auto microBatches = static_cast<int64_t>(schedule.getMicroBatches());
  for (auto run : schedule.getBody().front().getOps<sbp::RunOp>()) {
    auto plan = symbols.lookup<PlanOp>(run.getFunction());
    point.runs.push_back({plan, static_cast<int64_t>(run.getBegin()), static_cast<int64_t>(run.getEnd()),
                          SmallVector<int64_t>(run.getTakes()), SmallVector<int64_t>(run.getGives()),
                          SmallVector<int64_t>(run.getTakesAhead()), SmallVector<int64_t>(run.getGivesAhead()),
                          run.getNumbered(), run.getKept()});
    note(inputsOf(plan), run.getTakes(), run.getCuts(), microBatches, point.inputs);
    note(outputsOf(plan), run.getGives(), run.getJoins(), microBatches, point.outputs);
  }
  return point;
}

} // namespace

int64_t EntryPoint::numbersBytes() const {
  int64_t numbers = 0;
  for (const EntryRun &run : runs)
    numbers = run.numbered ? std::max(numbers, run.end) : numbers;
  return numbers * static_cast<int64_t>(sizeof(int64_t));
}

std::vector<EntryPoint> splitcast::exec::entryPointsOf(ModuleOp plans) {
  const SymbolTable symbols(plans);
  DenseSet<StringAttr> scheduled;
  for (auto schedule : plans.getOps<sbp::ScheduleOp>())
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
      scheduled.insert(run.getFunctionAttr().getAttr());
  std::vector<EntryPoint> points;
  for (auto plan : plans.getOps<PlanOp>())
    if (!scheduled.contains(plan.getSymNameAttr()))
      points.push_back(entryPointOf(plan));
  for (auto schedule : plans.getOps<sbp::ScheduleOp>())
    points.push_back(entryPointOf(schedule, symbols));
  return points;
}
