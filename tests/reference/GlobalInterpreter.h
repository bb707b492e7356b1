//===- GlobalInterpreter.h - Runs a global module as if there were one rank ---===//
//
// One process, no ranks, no sharding: signatures are ignored, sbp.boxing and sbp.fence are the identity, sbp.scope is
// nothing. What a pass of the global level makes must give what its input gave.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_GLOBALINTERPRETER_H
#define SPLITCAST_TESTS_REFERENCE_GLOBALINTERPRETER_H

#include "tests/reference/LinalgEvaluator.h"
#include "tests/reference/Variables.h"

#include "mlir/IR/BuiltinOps.h"

namespace splitcast::nn {
class UpdateOp;
}

namespace splitcast::reference {

/// What a value is, of those that have been computed.
using ValueOf = llvm::function_ref<const Tensor &(mlir::Value)>;

struct InterpreterOptions {
  Precision precision = Precision::F32;
  /// Of sbp.variables; a seed, where there is one, is the initializer's own.
  Initializer initializer = initializeConstants;
  /// What nn.update does with its variable. Without one it is an op that a pass must replace first.
  std::function<void(nn::UpdateOp update, ValueOf valueOf, Tensor &variable)> update;
};

class GlobalInterpreter {
public:
  using Options = InterpreterOptions;

  /// Borrows the module, which must not change while the interpreter lives.
  ///   Errors  InvalidArgument: the module does not verify; those of the initializer.
  static absl::StatusOr<GlobalInterpreter> create(mlir::ModuleOp module, const Options &options = Options());

  /// Global values; may be read and replaced between runs.
  Variables &variables() { return values; }
  const Variables &variables() const { return values; }

  /// Runs a func.func once.
  ///   Shapes  inputs as the function's types say; they are rounded to these types on entry.
  ///   Errors  NotFound: no such function, or it has no body. InvalidArgument: inputs, or variables replaced by the
  ///   caller,
  ///           of other types. Unimplemented: ops of other levels, and nn.minimize and nn.update, which a pass must
  ///           replace first. Those of LinalgEvaluator. Variables assigned before an error keep their new values.
  absl::StatusOr<std::vector<Tensor>> run(const std::string &function, std::vector<Tensor> inputs);

private:
  GlobalInterpreter(mlir::ModuleOp module, const Options &options, Variables values)
      : module(module), precision(options.precision), update(options.update), values(std::move(values)),
        evaluator(precision) {}

  mlir::ModuleOp module;
  Precision precision;
  std::function<void(nn::UpdateOp, ValueOf, Tensor &)> update;
  Variables values;
  LinalgEvaluator evaluator;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_GLOBALINTERPRETER_H
