#include "passes/local/SumsInPlace.h"

#include "dialects/sbp/Phases.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/Aliases.h"

using namespace mlir;

namespace splitcast {

namespace {

bool isKernel(Operation *op) { return isa<nn::FusionOp, nn::ComputeOpInterface>(op) && !aliasedBy(op); }

/// An optimizer's numbers, which depend on no gradient, may be computed between updates.
bool makesScalars(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 1;
  });
}

/// The ops that use a value, by any of its names.
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

} // namespace

SumsInPlace::SumsInPlace(Block &block) {
  const DenseMap<Operation *, sbp::Phase> phases = sbp::phasesOf(block);
  DenseMap<Operation *, int64_t> before; // kernels of no update
  int64_t count = 0;
  for (Operation &op : block) {
    before[&op] = count;
    count += isKernel(&op) && phases.lookup(&op) != sbp::Phase::Update && !makesScalars(&op);
  }
  for (auto collective : block.getOps<ccl::CollectiveOpInterface>()) {
    if (ruleOf(collective.getKind()).memory != ccl::Memory::InOperand ||
        callOf(collective).bytesBefore() % sbp::kAlignmentBytes != 0)
      continue;
    ccl::WaitOp wait = waitOf(collective);
    if (llvm::all_of(usersOf(wait.getResult()),
                     [&](Operation *user) { return isKernel(user) && before[user] == before[wait]; }))
      found.insert(collective);
  }
}

} // namespace splitcast
