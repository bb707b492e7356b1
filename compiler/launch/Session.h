//===- Session.h - A compiled module, ready to run on this rank --------------------===//
//
// A session compiles a module at the global level for this rank (compiler/Pipelines.h) and checks with the other ranks
// that all compiled the same. It binds the plan to a device and a communicator, initializes or loads the variables, and
// runs functions. Every rank of the placement calls the same methods in the same order, except those that only read
// what this rank has (pieces, names, reports).
//
// Threads    Only one thread at a time may use a session, its device and its communicator; on CUDA it is the thread
//            that made the device.
// Errors     After an error of run(), or of the device or the communicator in any method, only destroy the session.
//            (After NotFound for a name it still works.) A rank that fails alone does not tell the others, which wait
//            for it until their timeout: Launch.h ends such a job. Methods on variables say where all ranks fail
//            together.
// Lifetime   The session works in the MLIR context of its module: the context (a Graph, say) outlives it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_SESSION_H
#define SPLITCAST_COMPILER_LAUNCH_SESSION_H

#include "compiler/Compile.h"
#include "dialects/sbp/algebra/Signature.h"
#include "passes/plan/Reports.h"
#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"
#include "runtime/executor/LoadedVariables.h"
#include "runtime/executor/SaveVariables.h"
#include "runtime/io/Renaming.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace splitcast {

namespace runtime {
struct ExecutorObserver;
} // namespace runtime

struct SessionOptions {
  CompileOptions compile;
  uint64_t seed = 0;                   ///< of the variables' initializers; all ranks must have the same
  int threads = 1;                     ///< the device's; only compared, since all ranks must have the same number
  std::vector<std::string> notInFiles; ///< variables that are neither saved nor loaded; unknown names are ignored
  bool savesBeside = false; ///< whether beginSave will be called; if so, the predicted peak includes its copies
  /// Called for each op of each plan that runs. Borrowed; may be null. With an observer, no work is captured for
  /// replay.
  runtime::ExecutorObserver *observer = nullptr;
};

/// An argument or result of a function, and this rank's piece of it.
struct TensorInfo {
  /// `sbp.name` of the argument or result. If it has none, "arg0", "result0" and so on, as its schedule counts them, if
  /// it has one.
  std::string name;
  runtime::ElementType type;
  sbp::Shape shape; ///< global
  /// Which elements of `shape` the piece has: those of each box, row-major, one box after the other. There is one box,
  /// or one per micro-batch if the tensor is cut into micro-batches (each rank has a part of each). All boxes have the
  /// same extents.
  std::vector<sbp::Box> boxes;
  int64_t localBytes = 0;

  int64_t localElements() const { return localBytes / runtime::bytesOf(type); }
};

class Session {
public:
  virtual ~Session() = default;

  /// Compiles `global`, which it does not change. Device and communicator are borrowed and outlive the session; the
  /// communicator has one rank per position of the placement.
  ///   Errors  InvalidArgument: the module does not verify or compile (with the compiler's diagnostics), or the
  ///           placement does not fit the communicator. FailedPrecondition: ranks have different programs, options or
  ///           CPUs; the message names them. ResourceExhausted: a rank exceeds the memory limit with every policy that
  ///           the options allow.
  static absl::StatusOr<std::unique_ptr<Session>> create(mlir::ModuleOp global, const SessionOptions &options,
                                                         runtime::Device &device, runtime::Communicator &communicator);

  //--- Functions ----------------------------------------------------------------------------------------------------//

  /// The names that run() takes: functions and schedules. Functions that belong to a schedule are not among them.
  virtual std::vector<std::string> functions() const = 0;
  virtual absl::StatusOr<std::vector<TensorInfo>> inputs(const std::string &function) const = 0;
  virtual absl::StatusOr<std::vector<TensorInfo>> outputs(const std::string &function) const = 0;

  /// The memory to which the caller writes this rank's piece of an input (localBytes; see TensorInfo::boxes). It is
  /// zero at first, and aligned to at least 16 bytes. All runs use what was written last. It lives as long as the
  /// session, at the same address.
  ///   Errors  NotFound: there is no such function. InvalidArgument: it has fewer inputs.
  virtual absl::StatusOr<absl::Span<std::byte>> inputPiece(const std::string &function, size_t index) = 0;
  /// Runs one step, and waits for its end. Every rank calls it.
  ///   Errors  NotFound: there is no such function. InvalidArgument: an index into a table, or a label, is out of
  ///           range. Those of the device and of Communicator.h.
  virtual absl::Status run(const std::string &function) = 0;
  /// This rank's piece of a result, as the function's last run left it; zero before the first. It lives as long as the
  /// session, at the same address. Errors are those of inputPiece.
  virtual absl::StatusOr<absl::Span<const std::byte>> outputPiece(const std::string &function, size_t index) = 0;

  /// Copies to and from these pieces; `piece` has localBytes bytes.
  absl::Status setInput(const std::string &function, size_t index, const void *piece);
  absl::Status getOutput(const std::string &function, size_t index, void *piece);

  //--- Variables ----------------------------------------------------------------------------------------------------//

  struct Variable {
    std::string name;
    runtime::ElementType type;
    sbp::Shape shape;
    std::vector<sbp::Run> pieces; ///< those that this rank holds
    bool ownsPieces = true;       ///< whether this rank is the one that writes them to a file
  };
  /// All variables, except those that only carry values from one run of a schedule to the next.
  virtual std::vector<Variable> variables() const = 0;

  /// Read and write this rank's pieces, in their local order: `data` has as many elements as all pieces together. Every
  /// rank calls writePieces at the same point; reading needs no other rank.
  ///   Errors  NotFound: the module has no such variable.
  virtual absl::Status readPieces(const std::string &name, void *data) = 0;
  virtual absl::Status writePieces(const std::string &name, const void *data) = 0;
  /// Reads only these elements of the pieces, so that a caller who reads in parts never holds a second copy of a
  /// variable.
  ///   Errors  OutOfRange: the pieces have fewer elements.
  virtual absl::Status readPart(const std::string &name, const sbp::Interval &elements, void *data) = 0;

  /// The variables with the pieces of rank `rank` of the communicator: so every rank knows which rank has which part.
  virtual std::vector<Variable> variablesOf(int64_t rank) const = 0;

  /// Goes through the whole variable in the order of its elements, in parts of at most 1 MiB: calls `visit` for each
  /// part on rank `to`, or on all ranks. No rank holds more than one such part from each rank. Every rank calls it with
  /// the same name and `to`. If it fails on one rank, it fails on all. `data` is valid until `visit` returns; after an
  /// error of `visit` it is not called again on that rank.
  ///   Errors  NotFound: the module has no such variable. InvalidArgument: there is no rank `to`. Those of `visit`.
  using PartVisitor = absl::FunctionRef<absl::Status(const sbp::Interval &elements, const void *data)>;
  virtual absl::Status streamVariable(const std::string &name, std::optional<int64_t> to, PartVisitor visit) = 0;
  /// Sets elements of the whole variable. Every rank passes the same ones at the same point; so a PartVisitor must not
  /// call it. To set all variables from another session, takeVariables waits less for other ranks.
  ///   Errors  NotFound: the module has no such variable. OutOfRange: it has fewer elements.
  virtual absl::Status writeElements(const std::string &name, const sbp::Interval &elements, const void *data) = 0;

  /// Reads the whole variable to `data`, which has room for all its elements. Every rank calls it, and every rank gets
  /// all of them: it is for small variables and tests.
  virtual absl::Status readVariable(const std::string &name, void *data) = 0;
  /// Sets the whole variable. Every rank passes the same data at the same point.
  virtual absl::Status writeVariable(const std::string &name, const void *data) = 0;

  /// Save and load whole variables in one safetensors file; each rank writes or reads only its own pieces. Saving
  /// writes a new file next to `path` and renames it; rank 0's `path` counts, and all ranks must see its directory.
  /// Loading takes a file with exactly these variables, which each rank reads at its own `path`. It fails, with nothing
  /// changed, if a variable is missing, too many, or differs in shape or type, or if ranks were given different files,
  /// as far as their sizes and a sample tell. If a file cannot be read to its end, some variables may be changed. An
  /// error is one on all ranks.
  virtual absl::Status saveVariables(const std::string &path) = 0;
  /// Starts a save like saveVariables: each rank copies its pieces now, and a thread writes the copies while the
  /// session continues, and may change the variables. The session must outlive the result.
  ///   Errors  FailedPrecondition: SessionOptions::savesBeside is not set, or another save is pending.
  ///           ResourceExhausted: there is no memory for the copies. Those of saveVariables.
  virtual absl::StatusOr<std::unique_ptr<runtime::PendingSave>> beginSave(const std::string &path) = 0;
  virtual absl::Status loadVariables(const std::string &path) = 0;
  /// Like loadVariables, but leaves state of optimizers and frozen scalars (counts, rates) as they are. The file may
  /// have further tensors; their names in the file are returned. Names in the file are matched after renaming, which
  /// may not make two of them equal (InvalidArgument).
  virtual absl::StatusOr<std::vector<std::string>> loadWeights(const std::string &path,
                                                               const std::vector<runtime::Renaming> &renamings) = 0;

  /// Loads the variables that the file and the module both have, state of optimizers included; the others stay as they
  /// are. It is meant for a model in which other variables are trained than when the file was saved. Counts and rates
  /// are loaded if the file has any state of this module's optimizers; otherwise they stay as they are, too.
  ///   Errors  InvalidArgument: a variable of both differs in shape or type, or they have none in common.
  virtual absl::StatusOr<runtime::LoadedVariables> loadKnown(const std::string &path) = 0;
  /// Like loadKnown, but takes the variables from another session of the same ranks, which may have compiled another
  /// module or with other options. Variables are moved in parts, however either session splits them. Every rank calls
  /// it.
  virtual absl::StatusOr<runtime::LoadedVariables> takeVariables(Session &other) = 0;

  //--- Reports before anything runs ---------------------------------------------------------------------------------//

  /// The seconds that create() took on this rank, by phase. `ranks` is the time in which it waited for other ranks'
  /// programs, to compare them.
  struct CompileSeconds {
    double global = 0, plan = 0, ranks = 0, kernels = 0, variables = 0;
  };
  virtual CompileSeconds compileSeconds() const = 0;

  /// The session's ranks, for what the caller of a session exchanges about it: messages of two sessions then never
  /// meet. It lives as long as the session.
  virtual runtime::Communicator &ranksOfSession() = 0;

  /// Bytes of persistent storage that all ranks of a group share; each rank counts its blocks of it.
  virtual int64_t sharedBytes() const = 0;
  /// A message for the user: why each rank has its own copy of storage that the ranks could share. It is empty if they
  /// share it, or if they have no memory in common.
  virtual std::string whyNotShared() const = 0;
  /// With a memory limit, the policy that was chosen for what variables and their groups leave open.
  virtual std::optional<sbp::Policy> chosenPolicy() const = 0;
  /// Of a function or schedule of functions(), in bytes and calls per run on this rank; empty reports for another name.
  virtual MemoryReport memoryReport(const std::string &function) const = 0;
  virtual CommunicationReport communicationReport(const std::string &function) const = 0;
  /// Memory of all functions that the predicted peak does not include: Device::scratchBytes.
  virtual int64_t scratchBytes() const = 0;
  /// The plan of this rank, which the session owns and the caller does not change.
  virtual mlir::ModuleOp plan() = 0;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_SESSION_H
