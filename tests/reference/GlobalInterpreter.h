//===- GlobalInterpreter.h - Runs a global module on whole tensors ------------===//
//
// It runs in one process, as if there were one rank: signatures are ignored, sbp.boxing and sbp.fence are the identity,
// and sbp.scope has no effect. The result of a pass of the global level must have the same outcome as its input.
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

/// Returns the tensor of a value that has been computed.
using ValueOf = llvm::function_ref<const Tensor &(mlir::Value)>;

struct InterpreterOptions {
  Precision precision = Precision::F32;
  /// Computes the initial values of sbp.variables. A seed, if it needs one, is part of the initializer.
  Initializer initializer = initializeConstants;
  /// Does what nn.update does with its variable. Without it, nn.update is an error: a pass must replace it first.
  std::function<void(nn::UpdateOp update, ValueOf valueOf, Tensor &variable)> update;
};

class GlobalInterpreter {
public:
  using Options = InterpreterOptions;

  /// Borrows the module, which must not change while the interpreter lives.
  ///   Errors  InvalidArgument: the module does not verify. Those of the initializer.
  static absl::StatusOr<GlobalInterpreter> create(mlir::ModuleOp module, const Options &options = Options());

  /// The whole values of variables. They may be read and replaced between runs.
  Variables &variables() { return values; }
  const Variables &variables() const { return values; }

  /// Runs a func.func once.
  ///   Shapes  Inputs must have the function's types. They are rounded to these types.
  ///   Errors  NotFound: there is no such function, or it has no body. InvalidArgument: an input, or a variable that
  ///           the caller has replaced, has another type. Unimplemented: ops of other levels, and nn.minimize and
  ///           nn.update, which a pass must replace first. Those of LinalgEvaluator. Variables that were assigned
  ///           before an error keep their new values.
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
