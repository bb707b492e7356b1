// Chooses how many groups ahead gathers start, where the policy is 'auto'.
//
// In the order of a function, gathers and the computation between them take
// time, which is counted in FLOPs. A gather should start so many groups ahead
// that the computation from there to its use takes as long as everything that
// is gathered meanwhile:
//
//   gather a   compute 8   gather b   compute 2   gather c   compute 9        each gather takes 5
//   b: 8 are computed after the wait for a, and 5 are gathered: one group ahead
//   c: 2 are computed after the wait for b, which is too little. After the wait
//      for a it is 8 + 2, while b and c are gathered, 10: two groups ahead
//
// If no number is enough, ranks wait for one gather after the other, and one
// group ahead is as good as several. No number is chosen that takes more memory
// than one group ahead does anyway: what is gathered ahead has at most the
// bytes of the largest group. A storage that is gathered several times starts
// as far ahead as any of its gathers needs. All numbers come from global
// shapes, so that all ranks choose alike, whatever their pieces are.
#include "dialects/ccl/algebra/TransportModel.h"
#include "dialects/nn/Nn.h"
#include "passes/global/Passes.h"
#include "passes/global/Prologue.h"
#include "passes/global/VariableStorages.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_CHOOSEPREFETCHPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// The most groups ahead that are tried.
constexpr size_t kMostGroups = 8;

/// Returns the number of ranks among which the work of the op is divided.
double ranksSharing(Operation *op) {
  double ranks = 1;
  sbp::PlacementAttr placement;
  llvm::SmallBitVector shared;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())))
    if (sbp::NdAttr signature = sbp::signatureOf(value)) {
      placement = signature.getPlacement();
      const sbp::NdSbp entries = signature.toAlgebra();
      shared.resize(entries.size());
      for (size_t axis = 0; axis < entries.size(); ++axis)
        if (!entries[axis].isBroadcast() && !entries[axis].isAt()) // at a coordinate, one rank does all of it
          shared.set(axis);
    }
  for (unsigned axis : shared.set_bits())
    ranks *= static_cast<double>(placement.toAlgebra().axes[axis].size);
  return ranks;
}

/// The gathers of one function, with the computation between them. `groups`
/// has, by storage, the number of groups ahead.
class GatherTimes {
public:
  GatherTimes(const ccl::TransportModel &model, const SymbolTable &symbols, llvm::StringMap<int64_t> &groups)
      : model(model), symbols(symbols), groups(groups) {}

  void add(Operation &op) {
    if (auto compute = dyn_cast<nn::ComputeOpInterface>(op))
      computed += static_cast<double>(compute.getFlops()) / ranksSharing(&op);
    auto boxing = dyn_cast<sbp::BoxingOp>(op);
    Operation *read = boxing && gathers(boxing) ? readOfGathered(boxing) : nullptr;
    if (!read)
      return;
    RankedTensorType type = boxing.getOutput().getType();
    const sbp::NdAttr signature = sbp::signatureOf(type);
    const int64_t bytes =
        sbp::maxBoxElements(sbp::shapeOf(type), signature.toAlgebra(), signature.getPlacement().toAlgebra()) *
        sbp::elementBytes(type);
    gathered.push_back({storageOf(read, symbols), computed, bytes});
    mostBytes = std::max(mostBytes, bytes);
  }

  /// Raises the groups ahead of each storage to what its gathers need.
  void choose() {
    for (size_t number = 0; number < gathered.size(); ++number) {
      int64_t &known = groups[gathered[number].storage];
      known = std::max(known, groupsAhead(number));
    }
  }

private:
  struct Gather {
    std::string storage;
    double computedBefore;
    int64_t bytes;
  };

  int64_t groupsAhead(size_t number) const {
    const size_t most = std::min(kMostGroups, number);
    int64_t bytes = gathered[number].bytes;
    for (size_t ahead = 1; ahead <= most && bytes <= mostBytes; ++ahead) {
      const Gather &before = gathered[number - ahead];
      const double time =
          static_cast<double>(bytes) * model.flopsPerByte + static_cast<double>(ahead) * model.flopsPerCollective;
      if (gathered[number].computedBefore - before.computedBefore >= time)
        return static_cast<int64_t>(ahead);
      bytes += before.bytes;
    }
    return 1;
  }

  const ccl::TransportModel &model;
  const SymbolTable &symbols;
  llvm::StringMap<int64_t> &groups;
  double computed = 0; ///< the FLOPs of a rank so far
  std::vector<Gather> gathered;
  int64_t mostBytes = 0; ///< of the largest gather
};

struct ChoosePrefetch : splitcast::impl::ChoosePrefetchPassBase<ChoosePrefetch> {
  void runOnOperation() override {
    sbp::PlacementAttr placement = sbp::placementOf(getOperation());
    if (!placement)
      return;
    const SymbolTable symbols(getOperation());
    const ccl::TransportModel model = ccl::TransportModel::of(placement.getDeviceKind().getValue());
    llvm::StringMap<int64_t> groups; ///< by storage: the groups ahead
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      GatherTimes times(model, symbols, groups);
      function.walk([&](Operation *op) { times.add(*op); });
      times.choose();
    }
    for (auto variable : getOperation().getOps<sbp::VariableOp>()) {
      sbp::PolicyAttr said = variable.getPolicyAttr();
      if (!said || said.getPolicy().prefetch() != sbp::kAutomatic)
        continue;
      auto known = groups.find(storageOf(variable));
      sbp::Policy policy = said.getPolicy();
      policy.setPrefetch(known == groups.end() ? 1 : known->second);
      variable.setPolicyAttr(sbp::PolicyAttr::get(&getContext(), policy));
    }
  }
};

} // namespace
