// Is the oracle one? Bugs are planted in what a pass made; each must be reported, after that pass.
#include "tests/differential/EveryPass.h"

#include "dialects/ccl/Ccl.h"
#include "dialects/exec/Exec.h"
#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;

namespace splitcast::differential {
namespace {

/// Small integers on 3 ranks: x [5, 4] is ragged; w is read twice, so that its gradient has two contributions.
constexpr const char *kModel = R"(
#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @a.w : tensor<4x4xf32, #B>
sbp.variable @a.v : tensor<4x4xf32, #B>
sbp.variable @b.u : tensor<4x3xf32, #B>
func.func @train(%x: tensor<5x4xf32, #S0>, %y: tensor<5x3xf32, #S0>) -> (tensor<f32>, tensor<2x3xf32>, tensor<4x4xf32>) {
  %w = sbp.read @a.w : tensor<4x4xf32>
  %v = sbp.read @a.v : tensor<4x4xf32>
  %u = sbp.read @b.u : tensor<4x3xf32>
  %0 = nn.matmul %x, %w : (tensor<5x4xf32, #S0>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %1 = nn.relu %0 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %2 = nn.matmul %1, %w {transpose_b} : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %3 = nn.matmul %2, %v : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %4 = nn.matmul %3, %u : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %5 = nn.sub %4, %y : (tensor<5x3xf32>, tensor<5x3xf32, #S0>) -> tensor<5x3xf32>
  %6 = nn.mul %5, %y : (tensor<5x3xf32>, tensor<5x3xf32, #S0>) -> tensor<5x3xf32>
  %7 = nn.reduce_sum %6 {dims = array<i64: 0, 1>} : (tensor<5x3xf32>) -> tensor<f32>
  %8 = nn.scale %7 {value = 0.5 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %8 : tensor<f32> with #nn.momentum<lr = 0.5, momentum = 0.5>
  %9 = nn.slice %5 {dim = 0 : i64, start = 2 : i64} : (tensor<5x3xf32>) -> tensor<2x3xf32>
  %10 = nn.sub %w, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %8, %9, %10 : tensor<f32>, tensor<2x3xf32>, tensor<4x4xf32>
})";

constexpr sbp::Strategy kBucket = sbp::Strategy::Bucket, kTensor = sbp::Strategy::Tensor;

/// A way to change the modules of all ranks (or the global one); whether it found what it changes.
using Plant = std::function<bool(ArrayRef<ModuleOp>)>;

struct Bug {
  std::string name;
  int stage;
  sbp::Strategy strategy;
  std::string pass; ///< in whose output it is planted
  Plant plant;
};

void PrintTo(const Bug &bug, std::ostream *os) { *os << bug.name; }

template <typename OpT> std::vector<OpT> opsIn(ModuleOp module) {
  std::vector<OpT> ops;
  module.walk([&](OpT op) { ops.push_back(op); });
  return ops;
}

/// A plant that changes each module by itself; it has worked when it did in any.
Plant inEach(std::function<bool(ModuleOp)> change) {
  return [change](ArrayRef<ModuleOp> modules) {
    bool found = false;
    for (ModuleOp module : modules)
      found |= change(module);
    return found;
  };
}

//===----------------------------------------------------------------------===//
// Global
//===----------------------------------------------------------------------===//

bool dropContribution(ModuleOp module) {
  for (auto update : opsIn<nn::UpdateOp>(module))
    if (auto sum = update.getGradient().getDefiningOp<nn::AddOp>()) {
      update.getGradientMutable().assign(sum.getLhs());
      return true;
    }
  return false;
}

bool forgetAssign(ModuleOp module) {
  for (auto assign : opsIn<sbp::AssignOp>(module))
    if (assign.getVariable() == "a.v") {
      assign.erase();
      return true;
    }
  return false;
}

bool swapOperands(ModuleOp module) {
  std::vector<nn::SubOp> ops = opsIn<nn::SubOp>(module);
  ops.back()->setOperands({ops.back().getRhs(), ops.back().getLhs()});
  return true;
}

//===----------------------------------------------------------------------===//
// Local
//===----------------------------------------------------------------------===//

bool dropReduction(ModuleOp module) {
  for (auto reduce : opsIn<ccl::AllReduceOp>(module)) {
    Operation *wait = *reduce.getPending().getUsers().begin();
    wait->getResult(0).replaceAllUsesWith(reduce.getInput());
    wait->erase();
    reduce.erase();
    return true;
  }
  return false;
}

bool moveSlice(ModuleOp module) {
  for (auto view : opsIn<ccl::ViewOp>(module)) {
    int64_t room = cast<RankedTensorType>(view.getInput().getType()).getNumElements() -
                   cast<RankedTensorType>(view.getResult().getType()).getNumElements();
    if (static_cast<int64_t>(view.getOffset()) >= room)
      continue;
    view.setOffset(view.getOffset() + 1);
    return true;
  }
  return false;
}

/// All ranks of the group in the opposite order: each finds the blocks of the others in the wrong places.
template <typename OpT> bool reverseGroup(ModuleOp module) {
  for (auto op : opsIn<OpT>(module)) {
    ccl::GroupAttr group = op.getGroup();
    std::vector<int64_t> ranks = group.getRanks().vec();
    std::reverse(ranks.begin(), ranks.end());
    const int64_t index = static_cast<int64_t>(ranks.size()) - 1 - group.getIndex();
    op.setGroupAttr(ccl::GroupAttr::get(module.getContext(), group.getName(), ranks, index));
  }
  return !opsIn<OpT>(module).empty();
}

bool moveInBucket(ModuleOp module) {
  for (auto pack : opsIn<ccl::PackOp>(module)) {
    std::vector<int64_t> offsets = pack.getOffsets().vec();
    int64_t last = cast<RankedTensorType>(pack.getInputs().back().getType()).getNumElements();
    if (offsets.back() + last >= cast<RankedTensorType>(pack.getResult().getType()).getNumElements())
      continue;
    ++offsets.back();
    pack.setOffsets(offsets);
    return true;
  }
  return false;
}

bool forgetLocalAssign(ModuleOp module) {
  std::vector<ccl::AssignOp> assigns = opsIn<ccl::AssignOp>(module);
  assigns.back().erase();
  return true;
}

bool swapMembers(ModuleOp module) {
  for (auto storage : opsIn<ccl::StorageOp>(module))
    if (storage.getMembers().size() > 1) {
      SmallVector<Attribute> members(storage.getMembers().getValue());
      std::swap(members[0], members[1]);
      storage.setMembersAttr(ArrayAttr::get(module.getContext(), members));
      return true;
    }
  return false;
}

/// One rank calls its last two collectives in the other order, which for real would hang.
bool swapCollectives(ArrayRef<ModuleOp> modules) {
  std::vector<ccl::ReduceScatterOp> calls = opsIn<ccl::ReduceScatterOp>(modules[1]);
  if (calls.size() < 2)
    return false;
  std::string last = calls.back().getWhat().str();
  calls.back().setWhat(calls.front().getWhat());
  calls.front().setWhat(last);
  return true;
}

bool swapYields(ModuleOp module) {
  for (auto yield : opsIn<nn::YieldOp>(module))
    for (unsigned i = 1; i < yield->getNumOperands(); ++i)
      if (yield->getOperand(0).getType() == yield->getOperand(i).getType() &&
          yield->getOperand(0) != yield->getOperand(i)) {
        Value first = yield->getOperand(0);
        yield->setOperand(0, yield->getOperand(i));
        yield->setOperand(i, first);
        return true;
      }
  return false;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

struct Access {
  SmallVector<exec::RangeAttr> reads, writes;
  explicit Access(Operation *op) {
    exec::rangesOf(op, reads, writes);
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      for (int64_t number : launch.getInPlace())
        reads.push_back(writes[number]);
  }
  bool readsOf(exec::RangeAttr range) const {
    return llvm::any_of(reads, [&](exec::RangeAttr r) { return r.overlaps(range); });
  }
  bool writesOf(exec::RangeAttr range) const {
    return llvm::any_of(writes, [&](exec::RangeAttr r) { return r.overlaps(range); });
  }
};

/// Whether something after `op` reads the range before it is written again.
bool isNeededAfter(Operation *op, exec::RangeAttr range) {
  for (op = op->getNextNode(); op; op = op->getNextNode()) {
    Access access(op);
    if (access.readsOf(range))
      return true;
    if (access.writesOf(range))
      return false;
  }
  return false;
}

bool missWait(ModuleOp module) {
  std::vector<exec::WaitOp> waits = opsIn<exec::WaitOp>(module);
  if (waits.empty())
    return false;
  waits.front().erase();
  return true;
}

/// A copy runs after the op that wants it.
bool copyLate(ModuleOp module) {
  for (auto copy : opsIn<exec::CopyOp>(module))
    for (Operation *next = copy->getNextNode(); next; next = next->getNextNode())
      if (Access(next).readsOf(copy.getTo()) && isa<exec::LaunchOp, exec::LibraryOp>(next)) {
        copy->moveAfter(next);
        return true;
      }
  return false;
}

/// A call leaves its result where an operand lies that is still needed, as if it were computed in place.
bool computeInPlace(ModuleOp module) {
  for (auto library : opsIn<exec::LibraryOp>(module)) {
    auto write = cast<exec::RangeAttr>(library.getWrites()[0]);
    for (auto read : library.getReads().getAsRange<exec::RangeAttr>())
      if (read.getBytes() == write.getBytes() && read.getBytes() > 0 && isNeededAfter(library, read)) {
        OpBuilder b(library->getContext());
        b.setInsertionPointAfter(library);
        b.create<exec::CopyOp>(library.getLoc(), write, read);
        return true;
      }
  }
  return false;
}

/// A kernel's result lies over something that is needed later.
bool overlapArena(ModuleOp module) {
  for (auto library : opsIn<exec::LibraryOp>(module)) {
    auto own = cast<exec::RangeAttr>(library.getWrites()[0]);
    for (auto other : opsIn<exec::LibraryOp>(module)) {
      auto range = cast<exec::RangeAttr>(other.getWrites()[0]);
      if (!other->isBeforeInBlock(library) || range.overlaps(own) || Access(library).readsOf(range) ||
          range.getBytes() < own.getBytes() || !isNeededAfter(library, range))
        continue;
      auto moved = exec::RangeAttr::get(module.getContext(), range.getSpace(), range.getOffset(), own.getBytes());
      AttrTypeReplacer replacer;
      replacer.addReplacement([&](exec::RangeAttr r) { return r == own ? moved : r; });
      for (Operation *op = library; op; op = op->getNextNode())
        replacer.replaceElementsIn(op);
      return true;
    }
  }
  return false;
}

bool forgetClear(ModuleOp module) {
  for (auto clear : opsIn<exec::ClearOp>(module))
    clear.erase();
  return true;
}

std::vector<Bug> bugs() {
  const std::string local = "sbp-localize";
  return {
      {"DroppedContribution", 0, kBucket, "nn-differentiate", inEach(dropContribution)},
      {"ForgottenUpdate", 0, kBucket, "nn-expand-optimizers", inEach(forgetAssign)},
      {"SwappedOperands", 2, kTensor, "sbp-insert-boxing", inEach(swapOperands)},
      {"DroppedReduction", 0, kTensor, local, inEach(dropReduction)},
      {"WrongSliceOffset", 3, kBucket, local, inEach(moveSlice)},
      {"WrongGatherOrder", 3, kBucket, local, inEach(reverseGroup<ccl::AllGatherOp>)},
      {"SwappedBlocks", 2, kBucket, local, inEach(reverseGroup<ccl::ReduceScatterOp>)},
      {"WrongBucketOffset", 2, kBucket, local, inEach(moveInBucket)},
      {"ForgottenAssign", 2, kBucket, "ccl-prefetch", inEach(forgetLocalAssign)},
      {"SwappedMembers", 0, kBucket, local, inEach(swapMembers)},
      {"SwappedCollectives", 2, kBucket, local, swapCollectives},
      {"SwappedResults", 0, kBucket, "nn-fuse-kernels", inEach(swapYields)},
      {"MissingWait", 2, kBucket, "exec-lower", inEach(missWait)},
      {"LateCopy", 2, kBucket, "exec-lower", inEach(copyLate)},
      {"InPlaceOnNeeded", 0, kTensor, "exec-lower", inEach(computeInPlace)},
      {"OverlappingArena", 0, kTensor, "exec-lower", inEach(overlapArena)},
      {"ForgottenClear", 2, kBucket, "exec-lower", inEach(forgetClear)},
  };
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

/// -1 to 2, no two pieces alike.
Tensor integers(MLIRContext &context, const sbp::Shape &shape, uint32_t seed) {
  Tensor tensor = Tensor::zeros(shape, Float32Type::get(&context));
  std::mt19937 random(seed);
  for (double &value : tensor.floats)
    value = static_cast<double>(random() % 4) - 1;
  return tensor;
}

class PlantedBugsTest : public testing::TestWithParam<Bug> {
protected:
  PlantedBugsTest() : context(createContext()), module(parseSourceString<ModuleOp>(kModel, context.get())) {
    experiment.initial = {{"a.w", integers(*context, {4, 4}, 1)},
                          {"a.v", integers(*context, {4, 4}, 2)},
                          {"b.u", integers(*context, {4, 3}, 5)}};
    for (uint32_t step : {10, 20})
      experiment.calls.push_back({"train", {integers(*context, {5, 4}, step), integers(*context, {5, 3}, step + 3)}});
    options.isExact = true;
    options.checksGradients = options.checksUpdates = true;
    options.objectCacheDir = testing::TempDir() + "/objects";
    configuration.stage = GetParam().stage;
    configuration.strategy = GetParam().strategy;
  }

  absl::Status check() {
    absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, configuration, options);
    if (outcomes.ok())
      for (const auto &[name, before] : experiment.initial)
        EXPECT_NE(outcomes->global.variables.at(name).floats, before.floats) << name << " is not trained";
    return outcomes.status();
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  Experiment experiment;
  Configuration configuration;
  EveryPassOptions options;
};

TEST_P(PlantedBugsTest, IsReportedAfterItsPass) {
  const Bug &bug = GetParam();
  absl::Status sound = check();
  ASSERT_TRUE(sound.ok()) << sound;
  bool isPlanted = false;
  options.afterPass = [&](const std::string &pass, ArrayRef<ModuleOp> modules) {
    if (pass.find(bug.pass) != std::string::npos)
      isPlanted = bug.plant(modules);
  };
  absl::Status status = check();
  ASSERT_TRUE(isPlanted) << "the model has no place for it";
  ASSERT_FALSE(status.ok()) << "not noticed";
  std::string first = std::string(status.message().substr(0, status.message().find("(stage")));
  EXPECT_THAT(first, testing::HasSubstr(bug.pass)) << status;
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugsTest, testing::ValuesIn(bugs()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace splitcast::differential
