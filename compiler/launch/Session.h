//===- Session.h - A compiled module, ready to run on this rank --------------------===//
//
// From a module at the global level to steps: compiles it for this rank (compiler/Pipelines.h), checks with the other
// ranks that all compiled the same, binds it to a device and a communicator, makes or loads the variables, and runs
// functions. Every rank of the placement calls the same methods in the same order.
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
  uint64_t seed = 0;          ///< of the variables' initializers
  std::string objectCacheDir; ///< compiled kernels; empty: none are kept
  int threads = 1;            ///< per rank; part of what ranks must agree on
  bool savesBeside = false;   ///< whether Session::beginSave is called, so that the predicted peak has its copies
  /// Borrowed, or null: called for each op of each plan that runs. With one, nothing is captured.
  runtime::ExecutorObserver *observer = nullptr;
};

/// An argument or result of a function, and this rank's piece of it.
struct TensorInfo {
  std::string name; ///< `sbp.name` of the argument or result; else "arg0", "result0" and so on, as counted by its
                    ///< schedule, if it has one
  runtime::ElementType type;
  sbp::Shape shape; ///< global
  /// Which elements of `shape` the piece has: those of a box, row-major, one box after the other. One, or one for each
  /// micro-batch where these are cut (each rank has a part of every micro-batch); all of one extent.
  std::vector<sbp::Box> boxes;
  int64_t localBytes = 0;

  int64_t localElements() const { return localBytes / runtime::bytesOf(type); }
};

class Session {
public:
  virtual ~Session() = default;

  /// Compiles `global` (left as it is). Device and communicator are borrowed and outlive the session; the communicator
  /// has one rank per position of the placement.
  ///   Errors  InvalidArgument: the module does not verify or compile (with the compiler's diagnostics), the placement
  ///   does
  ///           not fit the communicator. FailedPrecondition: ranks have different programs, options or CPUs; names
  ///           them. ResourceExhausted: whatever is chosen of what the options leave open, a rank exceeds the limit of
  ///           memory.
  static absl::StatusOr<std::unique_ptr<Session>> create(mlir::ModuleOp global, const SessionOptions &options,
                                                         runtime::Device &device, runtime::Communicator &communicator);

  //--- Functions ----------------------------------------------------------------------------------------------------//

  /// What can be run: functions, and schedules, whose own functions are not among them.
  virtual std::vector<std::string> functions() const = 0;
  virtual absl::StatusOr<std::vector<TensorInfo>> inputs(const std::string &function) const = 0;
  virtual absl::StatusOr<std::vector<TensorInfo>> outputs(const std::string &function) const = 0;

  /// Where this rank's piece of an input (localBytes; see TensorInfo::boxes) is to be written; it stays there for all
  /// runs until it is written again. Lives as long as the session.
  virtual absl::StatusOr<absl::Span<std::byte>> inputPiece(const std::string &function, size_t index) = 0;
  /// One step.
  virtual absl::Status run(const std::string &function) = 0;
  /// This rank's piece of a result, as the function's last run left it. Lives as long as the session.
  virtual absl::StatusOr<absl::Span<const std::byte>> outputPiece(const std::string &function, size_t index) = 0;

  /// Copy to and from these pieces.
  absl::Status setInput(const std::string &function, size_t index, const void *piece);
  absl::Status getOutput(const std::string &function, size_t index, void *piece);

  //--- Variables ----------------------------------------------------------------------------------------------------//

  struct Variable {
    std::string name;
    runtime::ElementType type;
    sbp::Shape shape;
    std::vector<sbp::Run> pieces; ///< of this rank
    bool ownsPieces = true;       ///< whether this rank is the one that writes them to a file
  };
  /// All but what is carried from one run of a schedule to the next.
  virtual std::vector<Variable> variables() const = 0;

  /// This rank's pieces, in their local order. Every rank calls writePieces at the same point. NotFound: no such
  /// variable.
  virtual absl::Status readPieces(const std::string &name, void *data) = 0;
  virtual absl::Status writePieces(const std::string &name, const void *data) = 0;
  /// Only these elements of the pieces: who goes through all of them in parts never holds a variable twice.
  ///   Errors  OutOfRange: the pieces have fewer.
  virtual absl::Status readPart(const std::string &name, const sbp::Interval &elements, void *data) = 0;

  /// As rank `rank` of the communicator has them: so all know which part of a variable is whose.
  virtual std::vector<Variable> variablesOf(int64_t rank) const = 0;

  /// The whole variable in the order of its elements, by parts of at most 1 MiB: `visit` is called for each on rank
  /// `to`, or on all ranks. No rank holds more than such a part of each rank's. Every rank calls it with the same name
  /// and `to`; it ends with an error on all of them where it does on one.
  using PartVisitor = absl::FunctionRef<absl::Status(const sbp::Interval &elements, const void *data)>;
  virtual absl::Status streamVariable(const std::string &name, std::optional<int64_t> to, PartVisitor visit) = 0;
  /// Sets elements of the whole variable; every rank gives the same, at the same point, and so not where another of
  /// these functions visits. For all of a variable takeVariables waits less.
  virtual absl::Status writeElements(const std::string &name, const sbp::Interval &elements, const void *data) = 0;

  /// The whole variable (every rank gets it; every rank calls this). For small variables and tests: a rank holds it
  /// all.
  virtual absl::Status readVariable(const std::string &name, void *data) = 0;
  /// Sets the whole variable; every rank gives the same data, at the same point.
  virtual absl::Status writeVariable(const std::string &name, const void *data) = 0;

  /// Whole variables to and from one safetensors file; each rank moves only its own pieces. Saving writes a new file
  /// and renames it. Loading fails, with nothing changed, when a variable is missing or differs in shape or type, or
  /// when ranks were given different files, as far as their sizes and a sample tell.
  virtual absl::Status saveVariables(const std::string &path) = 0;
  /// Saving likewise, of copies that each rank makes of its pieces now and a thread writes while the session goes on.
  /// Needs SessionOptions::savesBeside; the session outlives what is returned.
  virtual absl::StatusOr<std::unique_ptr<runtime::PendingSave>> beginSave(const std::string &path) = 0;
  virtual absl::Status loadVariables(const std::string &path) = 0;
  /// Likewise, but for state of optimizers and frozen scalars (counts, rates), which stay as they are; the file may
  /// have more, whose names are given back. Names of the file count as they are renamed.
  virtual absl::StatusOr<std::vector<std::string>> loadWeights(const std::string &path,
                                                               const std::vector<runtime::Renaming> &renamings) = 0;

  /// What the file and the module both have, state of optimizers included; the rest stays as it is. For a model of
  /// which other variables are trained than when the file was saved. Counts and rates are the file's where any state
  /// is; where none is, they begin anew, too.
  ///   Errors  InvalidArgument: what both have differs in shape or type, or they have nothing in common.
  virtual absl::StatusOr<runtime::LoadedVariables> loadKnown(const std::string &path) = 0;
  /// Likewise from a session of the same ranks, which has compiled another module or otherwise: by parts, whatever
  /// either divides. Every rank calls it.
  virtual absl::StatusOr<runtime::LoadedVariables> takeVariables(Session &other) = 0;

  //--- What is known before anything runs ---------------------------------------------------------------------------//

  /// What create() spent on this rank, in order. `ranks` is waiting for the other ranks' programs, to compare them.
  struct CompileSeconds {
    double global = 0, plan = 0, ranks = 0, kernels = 0, variables = 0;
  };
  virtual CompileSeconds compileSeconds() const = 0;

  /// Bytes of what is persistent that all ranks of a group have one copy of; each counts its blocks of it.
  virtual int64_t sharedBytes() const = 0;
  /// Why ranks have a copy each of what they could have one of, for a person; empty: they do not, or have no memory in
  /// common.
  virtual std::string whyNotShared() const = 0;
  /// With a limit of memory, what was chosen for variables that say nothing, and whose groups do not.
  virtual std::optional<sbp::Policy> chosenPolicy() const = 0;
  virtual MemoryReport memoryReport(const std::string &function) const = 0;
  virtual CommunicationReport communicationReport(const std::string &function) const = 0;
  /// Beside the predicted peak, of all functions: Device::scratchBytes.
  virtual int64_t scratchBytes() const = 0;
  /// The plan of this rank.
  virtual mlir::ModuleOp plan() = 0;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_SESSION_H
