//===- Variables.h - Variables of a bound plan -------------------------------------------===//
//
// Where a rank's pieces of the variables lie in the spaces that are kept; initializing, reading, writing, saving and
// loading them. No rank ever holds a whole variable, unless asked for one by name.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_VARIABLES_H
#define SPLITCAST_RUNTIME_EXECUTOR_VARIABLES_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/LoadedVariables.h"
#include "runtime/executor/SaveVariables.h"
#include "runtime/io/Renaming.h"

#include "absl/functional/function_ref.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace splitcast::runtime {

struct VariableInfo {
  std::string name;
  ElementType type = ElementType::F32;
  sbp::Shape shape;
  sbp::Placement placement;
  sbp::NdSbp storage;
  int64_t position = 0;         ///< of this rank in the placement
  std::vector<sbp::Run> pieces; ///< of this rank; `local` counts from the first element of its piece
  bool ownsPieces = true;
  Buffer place;      ///< from this rank's piece to the end of its storage
  bool isSet = true; ///< by this rank; else another sets it, of which this one has the same copy
  mlir::Attribute init;
  bool isCarried = false; ///< its value lives for one step: neither saved nor loaded
  bool isState = false;   ///< of an optimizer, for one variable
  bool isWeight = true;   ///< no such state, and no count or rate (a frozen scalar)

  int64_t pieceElements() const;
};

class Variables {
public:
  /// Initializing, saving and loading move a rank's pieces in parts of at most this, so that the process never holds
  /// them twice.
  static constexpr int64_t kPartBytes = int64_t{1} << 20;

  /// Borrows all; `executor` is bound to `plans`.
  static absl::StatusOr<std::unique_ptr<Variables>> create(mlir::ModuleOp plans, Device &device,
                                                           Communicator &communicator, const Executor &executor);

  const std::vector<VariableInfo> &all() const { return variables; }
  absl::StatusOr<const VariableInfo *> find(const std::string &name) const;

  /// Every variable from its initializer; those without one are zero.
  ///   Errors  those of reading the file of an #sbp.file, and InvalidArgument: it does not fit the variable.
  absl::Status initialize(uint64_t seed);

  absl::Status readPieces(const VariableInfo &variable, void *data);
  /// Only these elements of the rank's pieces, in their local order.
  absl::Status readPart(const VariableInfo &variable, const sbp::Interval &elements, void *data);
  /// This and what follows sets variables, on all ranks the same. Ranks that have one copy have met since any of them
  /// ran a plan, which reads there, and meet once more before any reads what is new.
  absl::Status writePieces(const VariableInfo &variable, const void *data);
  /// Those that are there, by name, where others come from; but counts and rates only if some state is there that they
  /// belong to. The names of all others are `kept`.
  std::vector<const VariableInfo *> known(absl::FunctionRef<bool(const std::string &)> isThere,
                                          std::vector<std::string> &kept) const;
  /// As another rank has them; see Session.
  std::vector<VariableInfo> of(int64_t rank) const;
  /// Whole variables; see Session.
  using Visitor = absl::FunctionRef<absl::Status(const sbp::Interval &elements, const void *data)>;
  absl::Status stream(const VariableInfo &variable, std::optional<int64_t> to, Visitor visit);
  absl::Status readWhole(const VariableInfo &variable, void *data);
  absl::Status writeWhole(const VariableInfo &variable, const void *data);
  /// Of the whole variable's; this rank keeps those of its pieces.
  absl::Status writeElements(const VariableInfo &variable, const sbp::Interval &elements, const void *data);

  /// All but what is carried.
  absl::Status save(const std::string &path);
  /// Likewise, of copies, while what is called next changes the variables.
  absl::StatusOr<std::unique_ptr<PendingSave>> beginSave(const std::string &path);
  /// What these copies take, from the first on.
  int64_t snapshotBytes() const;
  absl::Status load(const std::string &path);
  /// Weights alone; the names of tensors of the file that are none.
  absl::StatusOr<std::vector<std::string>> loadWeights(const std::string &path, const std::vector<Renaming> &renamings);
  /// What the file and the module both have, as `known` says.
  absl::StatusOr<LoadedVariables> loadKnown(const std::string &path);

private:
  Variables(Device &device, Communicator &communicator) : device(device), communicator(communicator) {}

  /// A variable, and what a file calls it.
  struct Stored {
    const VariableInfo *variable;
    std::string tensor;
  };
  /// Whether the file has all of them, with their types and shapes.
  static absl::Status checkAll(const SafetensorsFile &file, const std::vector<Stored> &all);
  /// `status` is what is known to be wrong on this rank.
  absl::Status loadAll(const absl::StatusOr<SafetensorsFile> &file, absl::Status status,
                       const std::vector<Stored> &all);

  /// Consecutive elements of this rank's pieces.
  struct Part {
    int64_t begin = 0, count = 0; ///< elements of the piece
    std::vector<sbp::Run> runs;   ///< `local` counts from `begin`
  };
  /// Calls `visit` for all of this rank's pieces, in order, until an error.
  static absl::Status forEachPart(const VariableInfo &variable, absl::FunctionRef<absl::Status(const Part &)> visit);
  /// Sets this rank's pieces from parts that `fill` makes.
  absl::Status writeParts(const VariableInfo &variable,
                          absl::FunctionRef<absl::Status(const Part &, std::vector<char> &)> fill);
  std::vector<const VariableInfo *> stored() const;
  friend class PendingSave;
  /// Rank 0 makes the file under another name, and the others open it.
  absl::StatusOr<SafetensorsWriter> openWriter(const std::string &path);
  /// Once all ranks have written, or failed with `mine`, rank 0 gives the file its name.
  absl::Status commit(SafetensorsWriter &writer, const absl::Status &mine);
  absl::Status savePieces(const VariableInfo &variable, SafetensorsWriter &writer);

  absl::Status initialize(const VariableInfo &variable, uint64_t seed);
  static Buffer pieceOf(const VariableInfo &variable);
  /// The same status on every rank: the first rank's error, if any has one.
  absl::Status agree(const absl::Status &mine, const std::string &what);

  Device &device;
  Communicator &communicator;
  std::vector<VariableInfo> variables;
  std::unique_ptr<char[]> snapshot; ///< of beginSave; null before the first
  bool isSaving = false;            ///< a PendingSave is there
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_VARIABLES_H
