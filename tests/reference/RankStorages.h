//===- RankStorages.h - What lies at rest on the simulated ranks ---------------===//
//
// A rank's ccl.storages hold pieces of global variables: which elements, the member's sbp.variable says (its storage
// signature) together with sbp::pieces; where, the storage's offsets.
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
  /// All zeros. Borrows the modules, one per rank.
  ///   Errors  InvalidArgument: a storage of a type that the oracle cannot hold, or whose member has another element
  ///   type,
  ///           does not lie on this rank, or leaves the storage.
  static absl::StatusOr<RankStorages> create(std::vector<mlir::ModuleOp> modules);

  /// The tensor of one storage, or null when the rank has none of that name.
  Tensor *find(int64_t rank, llvm::StringRef storage);

  /// Puts the pieces of global tensors to where they lie; other variables stay.
  ///   Errors  NotFound: no rank stores a variable of that name. InvalidArgument: another shape or type.
  absl::Status setVariables(const Variables &globals, Precision precision);

  /// All variables that some storage holds.
  ///   Errors  DataLoss: copies differ in a bit (variable, element and ranks are named), or an element is on no rank.
  absl::StatusOr<Variables> getVariables() const;

  /// DataLoss when an element that belongs to no member is not zero: names rank, storage and element.
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

  std::vector<std::map<std::string, Tensor>> storages; ///< by rank
  std::vector<Member> members;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_RANKSTORAGES_H
