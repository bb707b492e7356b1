//===- Variables.h - Variables of a bound plan -------------------------------------------===//
//
// The variables of a bound plan lie in its kept spaces, each rank's pieces in its own. Here they are initialized, read,
// written, saved and loaded. No rank ever holds a whole variable, unless the caller asks for one by name.
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
  int64_t position = 0;         ///< this rank's position in the placement
  std::vector<sbp::Run> pieces; ///< this rank's pieces; `local` counts from the first element of what it holds
  bool ownsPieces = true;       ///< whether this rank is the one that writes them to a file
  Buffer place;                 ///< from this rank's first element to the end of the storage
  bool isSet = true;            ///< whether this rank sets them; if not, another rank sets the copy that both share
  mlir::Attribute init;         ///< null: the variable begins as zero
  bool isCarried = false;       ///< its value lives for one step: it is neither saved nor loaded
  bool isLeftOut = false;       ///< by leaveOutOfFiles: it is neither saved nor loaded, either
  bool isState = false;         ///< whether it is the state that an optimizer keeps for one variable
  bool isWeight = true;         ///< whether it is neither such state nor a count or rate (a frozen scalar)

  /// Returns how many elements this rank holds.
  int64_t pieceElements() const;
};

class Variables {
public:
  /// Initializing, saving and loading move a rank's pieces in parts of at most this size, so that the process never
  /// holds a second copy of them.
  static constexpr int64_t kPartBytes = int64_t{1} << 20;

  /// Finds the variables of `plans`, to which `executor` is bound. The device and the communicator are borrowed, and so
  /// is the executor's memory.
  static absl::StatusOr<std::unique_ptr<Variables>> create(mlir::ModuleOp plans, Device &device,
                                                           Communicator &communicator, const Executor &executor);

  const std::vector<VariableInfo> &all() const { return variables; }
  /// Leaves these variables out of files from now on. Every rank names the same; unknown names are ignored.
  void leaveOutOfFiles(const std::vector<std::string> &names);
  ///   Errors  NotFound: the module has no such variable.
  absl::StatusOr<const VariableInfo *> find(const std::string &name) const;

  /// Sets every variable from its initializer; those without one stay zero, as bind() left them. Every rank calls it.
  ///   Errors  those of reading the file of an #sbp.file; InvalidArgument: the file or the initializer does not fit the
  ///           variable.
  absl::Status initialize(uint64_t seed);

  /// Copies this rank's pieces, in their local order, to host memory.
  absl::Status readPieces(const VariableInfo &variable, void *data);
  /// Copies only these elements of this rank's pieces.
  ///   Errors  OutOfRange: the pieces have fewer elements.
  absl::Status readPart(const VariableInfo &variable, const sbp::Interval &elements, void *data);
  /// Sets this rank's pieces. For this method and all that follow and set variables: every rank calls them with the
  /// same values. If ranks have one copy, the caller makes them meet (in a barrier, say) between the last run of a
  /// plan, which reads the variables, and this call, and once more before any rank reads the new values.
  absl::Status writePieces(const VariableInfo &variable, const void *data);
  /// Returns the variables that a source has (`isThere`) and that are to be taken from it. Counts and rates are among
  /// them only if the source has some state of an optimizer. The names of all other variables are added to `kept`.
  std::vector<const VariableInfo *> known(absl::FunctionRef<bool(const std::string &)> isThere,
                                          std::vector<std::string> &kept) const;
  /// Returns the variables with the pieces of another rank; see Session::variablesOf.
  std::vector<VariableInfo> of(int64_t rank) const;
  /// These read and set whole variables; see Session::streamVariable, readVariable and writeVariable.
  using Visitor = absl::FunctionRef<absl::Status(const sbp::Interval &elements, const void *data)>;
  absl::Status stream(const VariableInfo &variable, std::optional<int64_t> to, Visitor visit);
  absl::Status readWhole(const VariableInfo &variable, void *data);
  absl::Status writeWhole(const VariableInfo &variable, const void *data);
  /// Sets these elements of the whole variable; this rank keeps those that its pieces have.
  ///   Errors  OutOfRange: the variable has fewer elements.
  absl::Status writeElements(const VariableInfo &variable, const sbp::Interval &elements, const void *data);

  /// Saves all variables, except those that are carried or left out. Every rank calls this and the following methods.
  absl::Status save(const std::string &path);
  /// Like save, but copies the variables now and writes the copies in the background, so that later calls may change
  /// the variables.
  ///   Errors  FailedPrecondition: another save is pending. ResourceExhausted: there is no memory for the copies.
  absl::StatusOr<std::unique_ptr<PendingSave>> beginSave(const std::string &path);
  /// Returns the bytes of these copies on this rank; they stay allocated from the first beginSave on.
  int64_t snapshotBytes() const;
  /// Loads the variables that save() saves. The file has exactly these. Nothing is changed if a rank finds an error in
  /// the file's header.
  absl::Status load(const std::string &path);
  /// Loads the weights alone, whose names are matched after renaming. Returns the names of the file's tensors that are
  /// no weights.
  absl::StatusOr<std::vector<std::string>> loadWeights(const std::string &path, const std::vector<Renaming> &renamings);
  /// Loads the variables that the file and the module both have, chosen by `known`.
  absl::StatusOr<LoadedVariables> loadKnown(const std::string &path);

private:
  Variables(Device &device, Communicator &communicator) : device(device), communicator(communicator) {}

  /// A variable, and its name in a file.
  struct Stored {
    const VariableInfo *variable;
    std::string tensor;
  };
  /// Checks that the file has all of them, with their types and shapes.
  static absl::Status checkAll(const SafetensorsFile &file, const std::vector<Stored> &all);
  /// Loads `all`, unless a rank has an error: `status` is the one that this rank has found so far.
  absl::Status loadAll(const absl::StatusOr<SafetensorsFile> &file, absl::Status status,
                       const std::vector<Stored> &all);

  /// Consecutive elements of this rank's pieces.
  struct Part {
    int64_t begin = 0, count = 0; ///< elements of the piece
    std::vector<sbp::Run> runs;   ///< `local` counts from `begin`
  };
  /// Calls `visit` for all of this rank's pieces, in order, until an error.
  static absl::Status forEachPart(const VariableInfo &variable, absl::FunctionRef<absl::Status(const Part &)> visit);
  /// Sets this rank's pieces, part by part, to the data that `fill` makes.
  absl::Status writeParts(const VariableInfo &variable,
                          absl::FunctionRef<absl::Status(const Part &, std::vector<char> &)> fill);
  std::vector<const VariableInfo *> stored() const; ///< those that save() saves
  friend class PendingSave;
  /// Rank 0 creates the file under a temporary name, and the other ranks open it.
  absl::StatusOr<SafetensorsWriter> openWriter(const std::string &path);
  /// Waits until all ranks have written their pieces; `mine` is this rank's status. If all succeeded, rank 0 gives the
  /// file its name.
  absl::Status commit(SafetensorsWriter &writer, const absl::Status &mine);
  absl::Status savePieces(const VariableInfo &variable, SafetensorsWriter &writer);

  absl::Status initialize(const VariableInfo &variable, uint64_t seed);
  static Buffer pieceOf(const VariableInfo &variable);
  /// Returns OK if `mine` is OK on all ranks, and otherwise an error on all: a rank's own, or that of the first rank
  /// that has one.
  absl::Status agree(const absl::Status &mine, const CallSite &what);

  Device &device;
  Communicator &communicator;
  std::vector<VariableInfo> variables;
  std::unique_ptr<char[]> snapshot; ///< the copies of beginSave; null before its first call
  bool isSaving = false;            ///< whether a PendingSave exists
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_VARIABLES_H
