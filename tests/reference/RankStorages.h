//===- RankStorages.h - The storages of the simulated ranks --------------------===//
//
// The ccl.storages of a rank hold pieces of global variables. The storage signature of a member's sbp.variable and
// sbp::pieces say which elements a piece has, and the storage's offsets say where it begins.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_RANKSTORAGES_H
#define SPLITCAST_TESTS_REFERENCE_RANKSTORAGES_H

#include "tests/reference/Variables.h"

#include "dialects/ccl/Ccl.h"
#include "mlir/IR/BuiltinOps.h"

namespace splitcast::reference {

class RankStorages {
public:
  /// Creates storages of zeros. Borrows the modules, one per rank.
  ///   Errors  InvalidArgument: the oracle cannot represent the type of a storage; or a member has another element
  ///           type, is not on this rank, or does not fit into the storage.
  static absl::StatusOr<RankStorages> create(std::vector<mlir::ModuleOp> modules);

  /// The tensor of a storage, or null if the rank has no storage of this name.
  Tensor *find(int64_t rank, llvm::StringRef storage);

  /// Writes the pieces of global tensors to the storages. Other variables keep their values.
  ///   Errors  NotFound: no rank stores a variable of this name. InvalidArgument: it has another shape or type.
  absl::Status setVariables(const Variables &globals, Precision precision);

  /// Returns all variables that any storage holds.
  ///   Errors  DataLoss: copies differ (the message names the variable, the element and the ranks), or no rank has an
  ///           element.
  absl::StatusOr<Variables> getVariables() const;

  /// Checks that elements which belong to no member are zero.
  ///   Errors  DataLoss, with the rank, the storage and the element.
  absl::Status checkPadding() const;

private:
  /// A variable's piece on a rank.
  struct Member {
    int64_t rank;
    std::string storage;
    sbp::VariableOp variable;
    int64_t offset; ///< elements
    int64_t count;  ///< elements
    std::vector<sbp::Run> runs;
  };

  absl::Status addStorage(int64_t rank, mlir::ModuleOp module, ccl::StorageOp storage);
  absl::StatusOr<Member> memberOf(int64_t rank, ccl::StorageOp storage, sbp::VariableOp variable, int64_t offset) const;

  std::vector<std::map<std::string, Tensor>> storages; ///< those of each rank
  std::vector<Member> members;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_RANKSTORAGES_H
