//===- Sbp.td - Global tensors: placements, signatures, variables ----------===//
//
// Level     global, above `ccl`. Together with `nn` it is what a user writes and what all passes of passes/global rewrite.
// Value     one logical tensor over a placement. Its type says how it lies there: tensor<128x256xf32, #S0>. A tensor type
//           without an encoding is one whose signature has not been decided yet.
// Decided   what is computed. By the end of the level also: every signature, and every change of one (`sbp.boxing`).
// Not yet   which collective a boxing becomes, which rank holds which element, where bytes lie.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_SBP_TD
#define SPLITCAST_DIALECTS_SBP_SBP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/sbp/SbpBase.td"
include "dialects/sbp/ShardingInterface.td"

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def Sbp_GlobalTensor : Type<AnyRankedTensor.predicate, "a ranked tensor", "::mlir::RankedTensorType">;

class Sbp_Op<string mnemonic, list<Trait> traits = []> : Op<Sbp_Dialect, mnemonic, traits>;

def Sbp_VariableOp : Sbp_Op<"variable", [Symbol]> {
  let summary = "A tensor that outlives a step: a parameter, or a part of the optimizer's state";
  let description = [{
    ```mlir
    sbp.variable @fc.weight : tensor<10x4xf32, #B> storage #S0 update #S0 init #sbp.normal<mean = 0.0, stddev = 0.02>
    ```
    The type's signature is the *logical* one, which the graph reads and the user wrote. `storage` is how it lies at rest,
    `update` how its gradient and its update are computed; both are the logical one when absent. ZeRO rewrites these two and
    nothing else. `slot` is its place in a bucket: variables of one bucket lie in one range. `group` names what is used
    together (a layer); when absent, the name up to its last dot. `state_of` marks optimizer state of another variable.
    - C1: The type is a statically shaped tensor; its signature, storage and update are on one placement.
    - C2: No signature has P, and each fits the shape.
    - C3: An initializer is one of #sbp.constant, #sbp.normal, #sbp.uniform, #sbp.file.
    - C4: `state_of` comes with a `role`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeAttrOf<AnyRankedTensor>:$type,
                   OptionalAttr<Sbp_NdAttr>:$storage, OptionalAttr<Sbp_NdAttr>:$update,
                   OptionalAttr<Sbp_SlotAttr>:$slot, OptionalAttr<AnyAttr>:$init, OptionalAttr<StrAttr>:$group,
                   OptionalAttr<FlatSymbolRefAttr>:$state_of, OptionalAttr<StrAttr>:$role, UnitAttr:$frozen);
  let assemblyFormat = [{
    $sym_name `:` $type (`storage` qualified($storage)^)? (`update` qualified($update)^)? (`slot` qualified($slot)^)?
    (`init` $init^)? (`group` $group^)? (`state_of` $state_of^ `role` $role)? (`frozen` $frozen^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// The logical signature; null while undecided.
    NdAttr getLogical();
    NdAttr getStorageOrLogical() { return getStorage().value_or(getLogical()); }
    NdAttr getUpdateOrLogical() { return getUpdate().value_or(getLogical()); }
    /// Type of what lies at rest.
    ::mlir::RankedTensorType getStorageType();
    /// `group`, or the name up to its last dot.
    ::llvm::StringRef getGroupOrPrefix();
  }];
}

def Sbp_ReadOp : Sbp_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                 DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The value of a variable";
  let description = [{
    - C1: The variable exists.
    - C2: The result has its shape and element type.
    - C3: The result's signature, when decided, is the logical or the storage one.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Sbp_AssignOp : Sbp_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Gives a variable a new value";
  let description = [{
    - C1: The variable exists.
    - C2: The value has its shape and element type.
    - C3: The value's signature, when decided, is the logical or the storage one.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Sbp_GlobalTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Sbp_BoxingOp : Sbp_Op<"boxing", [Pure]> {
  let summary = "Moves a tensor to another signature; its value stays";
  let description = [{
    The only op that may change a signature. From tests/dialects/sbp/boxing_example.mlir, with
    `#p = #sbp.placement<"cpu", [dp = 4]>`, `#S0 = #sbp.nd<#p, [S(0)]>`, `#B = #sbp.nd<#p, [B]>`:
    ```mlir
    %1 = sbp.boxing %0 : tensor<10x4xf32, #S0> -> tensor<10x4xf32, #B>
    ```
    With an undecided input it is how a user asks for a signature. `bucket` says that it is done together with the others
    of that bucket, in one collective.
    - C1: Input and output have the same shape and element type.
    - C2: No axis becomes P: only an op that sums makes partial values.
    - C3: Both are on one placement; the output is decided.
  }];
  let arguments = (ins Sbp_GlobalTensor:$input, OptionalAttr<Sbp_SlotAttr>:$bucket);
  let results = (outs Sbp_GlobalTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output) (`bucket` qualified($bucket)^)?";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Sbp_ScopeResource : Resource<"::splitcast::sbp::ScopeResource">;

def Sbp_ScopeOp : Sbp_Op<"scope", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Names a phase of the step, so that equal work in two phases stays apart";
  let description = [{
    ```mlir
    %t = sbp.scope "backward" group "layer3"
    ```
    Two scopes are never the same, whatever their names: nothing that stands in one is merged with what stands in another.
    Costs nothing. A scope of phase "update" names the variable whose update stands in it, `of @w`: what is fenced there has
    that variable's update signature.
    - C1: The phase is "forward", "backward" or "update".
    - C2: A variable that is named exists.
  }];
  let arguments = (ins StrAttr:$phase, OptionalAttr<StrAttr>:$group, OptionalAttr<FlatSymbolRefAttr>:$variable);
  let results = (outs Res<Sbp_TokenType, "", [MemAlloc<Sbp_ScopeResource>]>:$token);
  let assemblyFormat = "$phase (`group` $group^)? (`of` $variable^)? attr-dict";
  let hasVerifier = 1;
}

def Sbp_FenceOp : Sbp_Op<"fence", [Pure, AllTypesMatch<["input", "output"]>,
                                   DeclareOpInterfaceMethods<ShardingOpInterface>]> {
  let summary = "The same value, in a scope";
  let description = [{
    A pure identity that is never folded and costs nothing. What consumes fenced values belongs to the fence's scope.
    ```mlir
    %1 = sbp.fence %0 in %t : tensor<10x4xf32, #S0>
    ```
  }];
  let arguments = (ins Sbp_GlobalTensor:$input, Sbp_TokenType:$scope);
  let results = (outs Sbp_GlobalTensor:$output);
  let assemblyFormat = "$input `in` $scope attr-dict `:` type($output)";
}

#endif // SPLITCAST_DIALECTS_SBP_SBP_TD
