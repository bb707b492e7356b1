#include "compiler/launch/AgreeOnStorages.h"

#include "dialects/exec/SharedStorages.h"
#include "dialects/sbp/Sbp.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <set>

namespace splitcast {

namespace {

/// Returns a hash of what ranks compare about a storage, or "" if it cannot be
/// shared.
std::string tokenOf(const exec::SharedStorage &storage) {
  return storage.faulty ? "" : absl::StrCat(absl::Hex(llvm::xxh3_64bits(exec::lineOf(storage))));
}

} // namespace

absl::StatusOr<std::vector<std::string>> agreeOnStorages(mlir::ModuleOp plans, runtime::Communicator &communicator) {
  const std::vector<exec::SharedStorage> storages = exec::sharedStoragesOf(plans);
  std::vector<std::string> tokens;
  for (const exec::SharedStorage &storage : storages)
    tokens.push_back(tokenOf(storage));
  SPLITCAST_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      communicator.exchange(absl::StrJoin(tokens, " "), {"comparison of storages before step 1"}));
  std::vector<std::set<std::string>> byRank;
  for (const std::string &text : texts)
    byRank.push_back(absl::StrSplit(text, ' ', absl::SkipEmpty()));
  std::vector<std::string> names;
  for (size_t i = 0; i < storages.size(); ++i) {
    exec::GroupOp group = storages[i].group;
    exec::StorageOp storage = storages[i].storage;
    if (std::all_of(group.getRanks().begin(), group.getRanks().end(),
                    [&](int64_t rank) { return byRank[rank].count(tokens[i]) > 0; }))
      names.push_back(storage.getSymName().str());
  }
  return names;
}

absl::StatusOr<bool> haveMemoryInCommon(runtime::Communicator &communicator) {
  if (communicator.size() == 1)
    return false;
  auto memory = communicator.shareMemory(sbp::kAlignmentBytes, {"search for memory that ranks share"});
  if (absl::IsResourceExhausted(memory.status()))
    return false;
  return memory.ok() ? absl::StatusOr<bool>(*memory != nullptr) : memory.status();
}

/// Returns whether the variable is stored whole although its stage splits
/// parameters.
static bool isWhole(sbp::VariableOp variable) {
  return variable.getPolicyOrDefault().splitsParameters() && variable.getUpdate() && !variable.getStorage();
}

bool hasWhole(mlir::ModuleOp plans) { return llvm::any_of(plans.getOps<sbp::VariableOp>(), isWhole); }

absl::StatusOr<bool> paysToHaveOneCopy(mlir::ModuleOp plans, runtime::Communicator &communicator) {
  const exec::Spaces spaces(plans);
  const mlir::SymbolTable symbols(plans);
  int64_t ownBytes = 0, mostShared = 0;
  for (auto storage : plans.getOps<exec::StorageOp>()) {
    const bool holdsWhole =
        llvm::any_of(storage.getMembers().getAsRange<mlir::FlatSymbolRefAttr>(), [&](mlir::FlatSymbolRefAttr member) {
          auto variable = symbols.lookup<sbp::VariableOp>(member.getValue());
          return variable && isWhole(variable);
        });
    if (!holdsWhole)
      continue;
    exec::SpaceOp space = spaces.of(storage.getRange());
    const int64_t bytes = storage.getRange().getBytes();
    if (space && space.getGroup())
      mostShared = std::max(mostShared, bytes);
    else
      ownBytes += bytes;
  }
  absl::StatusOr<std::vector<std::string>> all = communicator.exchange(
      ownBytes == 0 || ownBytes < mostShared ? "yes" : "no", {"choice of one copy of parameters"});
  return all.ok() ? absl::StatusOr<bool>(llvm::all_of(*all, [](const std::string &each) { return each == "yes"; }))
                  : all.status();
}

} // namespace splitcast
