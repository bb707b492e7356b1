//===- NnTraining.td - The training step: optimizers, schedules, updates ---------===//
//
// Nn.td includes this file, which uses its classes.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNTRAINING_TD
#define SPLITCAST_DIALECTS_NN_NNTRAINING_TD

/// A name and numbers, printed as #nn.NAME<number = 0.5, ...>; model() returns the class that has the formula.
class Nn_Named<string name, string model, string held> : AttrDef<Nn_Dialect, name> {
  let attrName = "nn." # name; // the name is the mnemonic
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::DenseF64ArrayAttr":$values);
  let genVerifyDecl = 1;
  let extraClassDeclaration = "static " # name # "Attr get(::mlir::MLIRContext *context, const " # held # " &named);\n" #
                              "std::unique_ptr<" # model # "> model() const;";
}

def Nn_OptimizerAttr : Nn_Named<"Optimizer", "OptimizerModel", "::splitcast::Optimizer"> {
  let summary = "An optimizer; dialects/nn/Optimizers.h lists them";
}

def Nn_RateScheduleAttr : Nn_Named<"RateSchedule", "RateModel", "::splitcast::RateSchedule"> {
  let summary = "A schedule of the learning rate; dialects/nn/RateSchedules.h lists them";
}

def Nn_LossScaleAttr : Nn_Named<"LossScale", "LossScaleModel", "::splitcast::LossScale"> {
  let summary = "The loss scale, by which a loss is multiplied for backward; see dialects/nn/LossScale.h";
}

def Nn_ParametersAttr : AttrDef<Nn_Dialect, "Parameters"> {
  let summary = "Variables with an optimizer of their own";
  let description = [{
    An example is `#nn.parameters<"no_decay" of ["*.bias"] with #nn.adamw<lr = 0.001, weight_decay = 0.0>>`. A pattern
    matches whole names of variables; a star stands for any number of characters, or none.
    - C1: The name consists of letters, digits and underscores, and is not empty.
    - C2: There is at least one pattern, and each is a string of at least one character.
  }];
  let attrName = "nn.parameters";
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::ArrayAttr":$patterns, "OptimizerAttr":$optimizer);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kKeyword = "parameters";
    /// Parses the text after the keyword; returns null after an error.
    static ::mlir::Attribute parse(::mlir::DialectAsmParser &parser);
    void print(::mlir::DialectAsmPrinter &printer) const;
    bool matches(::llvm::StringRef variable) const;
  }];
}

def Nn_ParametersArray : TypedArrayAttrBase<Nn_ParametersAttr, "groups of variables, each #nn.parameters">;

def Nn_MinimizeOp : Nn_Op<"minimize"> {
  let summary = "One training step: differentiates a loss and updates the variables that it depends on";
  let description = [{
    ```mlir
    nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.001>
    ```
    'nn-differentiate' replaces it by the backward ops and one nn.update per trainable variable. With a schedule,
    `schedule #nn.cosine<steps = 1000.0, end = 0.1, warmup = 100.0>`, the learning rate is the optimizer's times the
    schedule's factor. With `{clip_norm = 1.0}`, gradients are multiplied by clip_norm / (norm + 10^-6) if their global
    norm exceeds clip_norm; with `{clip_value = 0.5}`, their elements are clamped to -0.5 .. 0.5. With `{loss_scale =
    #nn.loss_scale<initial = 65536.0, ...>}`, backward begins with that scale instead of 1, and gradients are divided by
    it before anything else. A step in which a gradient is not finite then updates only the scale; the function's own
    assignments still happen. With `{groups = [#nn.parameters<"no_decay" of ["*.bias"] with #nn.adamw<lr = 0.001,
    weight_decay = 0.0>>]}`, that optimizer updates the variables with matching names; its learning rate is the variable
    `optimizer.no_decay.learning_rate`. With `{variables = ["generator.*"]}`, it trains only the variables with such
    names; the others are constants to this loss. With `{gradient_norm}`, the norm of all gradients together, as they
    are before they are clipped, is kept in the f64 variable `optimizer.gradient_norm`.
    - C1: The loss is a scalar.
    - C2: The optimizer and the schedule are known.
    - C3: clip_norm and clip_value are finite numbers above 0, and at most one of them is present.
    - C4: A loss with a loss_scale is f32 or f64.
    - C5: Groups have distinct names.
    - C6: If there are `variables`, they are names, with stars for any characters.
  }];
  let arguments = (ins Nn_FloatTensor:$loss, AnyAttr:$optimizer, OptionalAttr<AnyAttr>:$schedule,
                       OptionalAttr<F64Attr>:$clip_norm, OptionalAttr<F64Attr>:$clip_value,
                       OptionalAttr<Nn_LossScaleAttr>:$loss_scale, OptionalAttr<Nn_ParametersArray>:$groups,
                       OptionalAttr<ArrayAttr>:$variables, UnitAttr:$gradient_norm);
  let assemblyFormat = "$loss attr-dict `:` type($loss) `with` $optimizer (`schedule` $schedule^)?";
  let hasVerifier = 1;
}

def Nn_UpdateOp : Nn_Op<"update", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Updates one variable with its gradient";
  let description = [{
    'nn-differentiate' makes it, and 'nn-expand-optimizers' replaces it by elementwise ops and assignments. First,
    'nn-scale-losses' divides gradients by the number that they are `scaled by`. Then 'nn-clip-gradients' clips them, as
    nn.minimize says; updates of a function with the same `clip_set` share a norm. 'nn-differentiate' gives each loss
    with a norm a number of its own: 0, or one more than the largest clip_set in the function so far. If the number
    after `unless` is not 0, the update changes neither the variable nor any state. `group` is the variable's group of
    nn.minimize.
    ```mlir
    %t = sbp.scope "update" of @w
    nn.update @w, %g in %t : tensor<4x3xf32> with #nn.sgd<lr = 0.001>
    ```
    - C1: The variable exists and has the gradient's shape and element type.
    - C2: The optimizer and the schedule are known.
    - C3: clip_norm and clip_value are as nn.minimize allows, and there is a clip_set where there is a clip_norm or a
      gradient_norm.
    - C4: The number after `scaled by` is a scalar of f32 or f64, and there is a loss_scale with it.
    - C5: The number after `unless` is a scalar of f64.
    - C6: The optimizer can update variables of this shape.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Nn_FloatTensor:$gradient, Optional<Nn_FloatTensor>:$scale,
                       Optional<Nn_DoubleTensor>:$unless, Sbp_TokenType:$scope, AnyAttr:$optimizer,
                       OptionalAttr<AnyAttr>:$schedule, OptionalAttr<F64Attr>:$clip_norm,
                       OptionalAttr<F64Attr>:$clip_value, OptionalAttr<I64Attr>:$clip_set,
                       OptionalAttr<Nn_LossScaleAttr>:$loss_scale, OptionalAttr<StrAttr>:$group,
                       UnitAttr:$gradient_norm);
  let assemblyFormat = "$variable `,` $gradient (`scaled` `by` $scale^ `:` type($scale))? (`unless` $unless^ `:` type($unless))? `in` $scope attr-dict `:` type($gradient) `with` $optimizer (`schedule` $schedule^)?";
}

#endif // SPLITCAST_DIALECTS_NN_NNTRAINING_TD
