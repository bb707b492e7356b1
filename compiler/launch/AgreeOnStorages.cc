#include "compiler/launch/AgreeOnStorages.h"

#include "dialects/exec/SharedStorages.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <set>

namespace splitcast {

namespace {

/// What stands for all that ranks compare of a storage; empty: it is not to be shared.
std::string tokenOf(const exec::SharedStorage &storage) {
  return storage.faulty ? "" : absl::StrCat(absl::Hex(llvm::xxh3_64bits(exec::lineOf(storage))));
}

} // namespace

absl::StatusOr<std::vector<std::string>> agreeOnStorages(mlir::ModuleOp plans, runtime::Communicator &communicator) {
  const std::vector<exec::SharedStorage> storages = exec::sharedStoragesOf(plans);
  std::vector<std::string> tokens;
  for (const exec::SharedStorage &storage : storages)
    tokens.push_back(tokenOf(storage));
  auto texts = communicator.exchange(absl::StrJoin(tokens, " "), {"comparison of storages before step 1"});
  if (!texts.ok())
    return texts.status();
  std::vector<std::set<std::string>> byRank;
  for (const std::string &text : *texts)
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

} // namespace splitcast
