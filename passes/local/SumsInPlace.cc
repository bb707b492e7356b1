#include "passes/local/SumsInPlace.h"

#include "dialects/sbp/Phases.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/Aliases.h"

using namespace mlir;

namespace splitcast {

namespace {

bool isKernel(Operation *op) { return isa<nn::FusionOp, nn::ComputeOpInterface>(op) && !aliasedBy(op); }

/// Whether the op makes scalars only, as an optimizer does: these depend on no
/// gradient, and may be computed between updates.
bool makesScalars(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 1;
  });
}

/// Returns the ops that use a value, by any of its names.
SmallVector<Operation *> usersOf(Value value) {
  SmallVector<Operation *> users;
  SmallVector<Value> names = {value};
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers())
      if (aliasedBy(user))
        names.push_back(user->getResult(0));
      else
        users.push_back(user);
  return users;
}

/// Whether the block of every rank begins at an aligned byte. All blocks are
/// checked, so that all ranks decide alike.
bool areBlocksAligned(const ccl::CollectiveCall &call) {
  int64_t begin = 0;
  return llvm::all_of(call.blockBytes(), [&](int64_t bytes) {
    const bool isAligned = begin % sbp::kAlignmentBytes == 0;
    begin += bytes;
    return isAligned;
  });
}

} // namespace

SumsInPlace::SumsInPlace(Block &block) {
  const DenseMap<Operation *, sbp::Phase> phases = sbp::phasesOf(block);
  auto isUpdate = [&](Operation *op) {
    return isKernel(op) && (phases.lookup(op) == sbp::Phase::Update || makesScalars(op));
  };
  DenseMap<Operation *, std::pair<int64_t, int64_t>> before; // kernels of no update, and sums started
  std::pair<int64_t, int64_t> counts;
  for (Operation &op : block) {
    before[&op] = counts;
    counts.first += isKernel(&op) && !isUpdate(&op);
    auto collective = dyn_cast<ccl::CollectiveOpInterface>(op);
    counts.second += collective && ruleOf(collective.getKind()).adds;
  }
  for (auto collective : block.getOps<ccl::CollectiveOpInterface>()) {
    if (ruleOf(collective.getKind()).memory != ccl::Memory::InOperand || !areBlocksAligned(callOf(collective)))
      continue;
    ccl::WaitOp wait = waitOf(collective);
    const auto [kernels, sums] = before[wait];
    if (llvm::all_of(usersOf(wait.getResult()), [&](Operation *user) {
          return isUpdate(user) && before[user].first == kernels && before[user].second <= sums + 1;
        }))
      found.insert(collective);
  }
}

} // namespace splitcast
