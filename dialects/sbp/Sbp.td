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
include "dialects/sbp/SbpInterfaces.td"

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def Sbp_GlobalTensor : Type<AnyRankedTensor.predicate, "a ranked tensor", "::mlir::RankedTensorType">;

class Sbp_Op<string mnemonic, list<Trait> traits = []> : Op<Sbp_Dialect, mnemonic, traits>;

def Sbp_VariableOp : Sbp_Op<"variable", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that outlives a step: a parameter, or a part of the optimizer's state";
  let description = [{
    ```mlir
    sbp.variable @fc.weight : tensor<10x4xf32, #B> storage #S0 update #S0 init #sbp.normal<mean = 0.0, stddev = 0.02>
    ```
    The type's signature is the *logical* one, which the graph reads and the user wrote. `storage` is how it lies at rest,
    `update` how its gradient and its update are computed; both are the logical one when absent. ZeRO rewrites these two and
    nothing else, and neither where the user wrote a `storage`: such a variable lies as it says, in no bucket. `slot` is its
    place in a bucket (sbp.bucket): variables of one bucket and one role lie in one range. `group` names what is used together
    (a layer); when absent, the name up to its last dot. `state_of` marks optimizer state of another
    variable, and `role` says which. `policy` is what is decided about this variable alone (sbp.group: about several);
    'sbp-zero-storage' completes it. A `carried` variable lives for one step, or while the run that assigns it is kept: it passes a value from one
    run of a schedule to a later one, and is neither saved nor loaded. If it is no state, it may be P: addends that a later run sums. With `as_made`, 'sbp-propagate' gives it the signature of what
    the first function of the module that assigns it makes; other assignments must be made alike.
    - C1: It has a name; the type is a statically shaped tensor of at most 2^63 - 1 bytes; its signature, storage and update are on one
      placement.
    - C2: No signature has P, but the type's of what is carried and no state; each fits the shape.
    - C3: An initializer is one of #sbp.constant, #sbp.normal, #sbp.uniform, #sbp.file.
    - C4: `state_of` comes with a `role`, and a role with it. A role is not "parameter", and has no dot.
    - C5: `state_of` names a variable that is no state itself.
    - C6: A type, storage or update that is split as a slot is so as `slot`.
    - C7: The slot has room for the variable's largest piece, and its bucket at most 2^63 - 1 bytes.
    - C8: State that has a slot has the shape of its variable.
    - C9: State has no policy: its variable's holds.
    - C10: A carried variable has no initializer: a schedule assigns it before it reads it.
    - C11: What lies as it is made is carried, no state, and has no signature yet.
    - C12: Integers hold the value of a #sbp.constant exactly, and have no #sbp.normal or #sbp.uniform. The numbers of these are
      finite; `stddev` is not negative, and `low` not above `high`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeAttrOf<AnyRankedTensor>:$type,
                   OptionalAttr<Sbp_NdAttr>:$storage, OptionalAttr<Sbp_NdAttr>:$update,
                   OptionalAttr<Sbp_SlotAttr>:$slot, OptionalAttr<AnyAttr>:$init, OptionalAttr<StrAttr>:$group,
                   OptionalAttr<FlatSymbolRefAttr>:$state_of, OptionalAttr<StrAttr>:$role, UnitAttr:$frozen,
                   UnitAttr:$carried, UnitAttr:$as_made, OptionalAttr<Sbp_PolicyAttr>:$policy);
  let assemblyFormat = [{
    $sym_name `:` $type (`storage` qualified($storage)^)? (`update` qualified($update)^)? (`slot` qualified($slot)^)?
    (`init` $init^)? (`group` $group^)? (`state_of` $state_of^ `role` $role)? (`frozen` $frozen^)?
    (`carried` $carried^)? (`as_made` $as_made^)? (`policy` qualified($policy)^)? attr-dict
  }];
  // The rest is said by setters.
  let builders = [OpBuilder<(ins "::mlir::StringRef":$name, "::mlir::Type":$type,
                                 CArg<"::mlir::Attribute", "{}">:$init, CArg<"::mlir::StringRef", "{}">:$group)>];
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
    /// What is said here; the rest, where 'sbp-zero-storage' has not run, is as by default.
    Policy getPolicyOrDefault();
    /// Whether it may be P.
    bool isCarriedAlone() { return getCarried() && !getStateOf(); }
  }];
}

def Sbp_GroupOp : Sbp_Op<"group", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "Decides about all variables of a group";
  let description = [{
    A group is the variables that name it, or whose names begin with it; it is also within the groups whose names, up to a
    dot, it begins with. What a variable's own policy leaves open, its group says, then the group around that one. From
    tests/dialects/sbp/policies.mlir, where "h.0" is split by rows at stage 3:
    ```mlir
    sbp.group "h" #sbp.policy<stage = 3>
    sbp.group "h.0" #sbp.policy<strategy = tensor>
    ```
    - C1: The name is not empty.
    - C2: The policy says something.
    - C3: No other says something of this group, and some variable is in it.
  }];
  let arguments = (ins StrAttr:$name, Sbp_PolicyAttr:$policy);
  let assemblyFormat = "$name qualified($policy) attr-dict";
  let hasVerifier = 1;
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
    - C3: The value's signature, when decided, is the logical or the storage one; any, where the variable lies as it is made.
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
    of that bucket, in one collective ('sbp-join-buckets').
    - C1: Input and output have the same shape and element type.
    - C2: No axis becomes P: only an op that sums makes partial values.
    - C3: Both are on one placement; the output is decided.
    - C4: The slot of `bucket` has room for the output's largest piece.
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
  let arguments = (ins Sbp_PhaseAttr:$phase, OptionalAttr<StrAttr>:$group, OptionalAttr<FlatSymbolRefAttr>:$variable);
  let results = (outs Res<Sbp_TokenType, "", [MemAlloc<Sbp_ScopeResource>]>:$token);
  let assemblyFormat = "custom<Phase>($phase) (`group` $group^)? (`of` $variable^)? attr-dict";
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

def Sbp_ColocateOp : Sbp_Op<"colocate", [Pure, DeclareOpInterfaceMethods<ShardingOpInterface>]> {
  let summary = "The same value, on the stage of a pipeline that has another";
  let description = [{
    Along each axis along which `beside` is at a coordinate, so is the output; along the others it is whatever costs least.
    Of `beside` nothing is used but where it is. 'nn-differentiate' puts each gradient beside its value, and what it is made of beside what was made of that; 'sbp-propagate',
    which knows where values are, moves it there, once for all its uses, and erases the op. What is made from nothing is
    made there, split as `beside` is. From tests/dialects/sbp/ops.mlir:
    ```mlir
    %1 = sbp.colocate %0 with %x : (tensor<10x4xf32, #S0>, tensor<8xf32>) -> tensor<10x4xf32>
    ```
    - C1: Input and output have the same shape and element type.
    - C2: The output has no signature: it is decided with the move.
  }];
  let arguments = (ins Sbp_GlobalTensor:$input, Sbp_GlobalTensor:$beside);
  let results = (outs Sbp_GlobalTensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$beside)>];
  let assemblyFormat = "$input `with` $beside attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

def Sbp_BucketOp : Sbp_Op<"bucket", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A flat range in which variables that are used together lie, so that one collective moves them all";
  let description = [{
    From tests/dialects/sbp/buckets.mlir, with `#p = #sbp.placement<"cpu", [dp = 2]>`:
    ```mlir
    sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48] group "l"
    ```
    Member i's elements start at element `offsets[i]` of the range. The type is that of the *whole* range. Its last dimension
    is the bucket's elements, padding included; along the bucket's axis the range is B when it is whole, S of that dimension
    when each rank holds a chunk, and P when it holds addends. Chunks are equal, unless
    `ends` says where each rank's ends: so a bucket may hold members that are not divided.
    Where another axis splits a member, ranges of ranks along that axis differ: the type has one leading dimension for each
    such axis, in the order of the axes, which that axis splits. States of the members lie in ranges of the same layout, one
    for each role.
    - C1: The type has a signature, in which each other axis is B or splits its own leading dimension, and the axis is B.
    - C2: Without ends, the elements are a multiple of the axis's size. Ends are one per rank of it and ascend from 0 on to the
      elements; they are not those of equal chunks.
    - C3: As many offsets as members, of which there is one at least; members ascend and do not overlap. (That they lie
      within, their slots say.)
    - C4: Each member is a variable with a signature, whose slot is its place here, and its element type the bucket's.
    - C5: The leading dimensions are of the axes that split a member.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeAttrOf<AnyRankedTensor>:$type,
                   StrAttr:$axis, TypedArrayAttrBase<FlatSymbolRefAttr, "variables">:$members,
                   DenseI64ArrayAttr:$offsets, OptionalAttr<DenseI64ArrayAttr>:$ends, OptionalAttr<StrAttr>:$group);
  let assemblyFormat = [{
    $sym_name `:` $type `along` $axis `holds` $members `at` $offsets (`to` $ends^)? (`group` $group^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// Elements of the range, padding included.
    int64_t getElements() { return getTensorType().getShape().back(); }
    /// The index of the bucket's axis in its placement.
    int64_t getAxisIndex();
    /// The slot of what begins at element `offset`.
    Slot getSlotAt(int64_t offset);
    /// Of a range, the last dimension split as the ranks' chunks.
    Sbp getChunks();
    /// The range in which a tensor with elements of `element` and the signature `member` is a member: along the bucket's
    /// axis B, P, or for a slot S of the last dimension; along each other axis P if `member` is, else as in getType(). Null
    /// when no range has such a member: another axis splits it for which the range has no dimension, or the axis itself.
    ::mlir::RankedTensorType getRangeType(::mlir::Type element, NdAttr member);
  }];
}

class Sbp_BucketAccess<string mnemonic> : Sbp_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                                            DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

def Sbp_BucketReadOp : Sbp_BucketAccess<"bucket_read"> {
  let summary = "What the members of a bucket, or their states of one role, are now";
  let description = [{
    The whole range, as it lies at rest; what belongs to no variable is zero. From tests/dialects/sbp/buckets.mlir:
    ```mlir
    %m = sbp.bucket_read @l role "m" : tensor<64xf32, #S0_>
    ```
    `role` is that of the states; "parameter" are the members themselves.
    - C1: The bucket exists, and the type is that of a range of it, without P; of the members themselves, it has the bucket's
      elements. (That it is what lies at rest, 'sbp-verify-global' says.)
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, DefaultValuedStrAttr<StrAttr, "parameter">:$role);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$bucket (`role` $role^)? attr-dict `:` type($result)";
}

def Sbp_BucketAssignOp : Sbp_BucketAccess<"bucket_assign"> {
  let summary = "Gives the members of a bucket, or their states of one role, new values";
  let description = [{
    - C1: The bucket exists, and the type is that of a range of it, without P; of the members themselves, it has the bucket's
      elements. (That it is what lies at rest, 'sbp-verify-global' says.)
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Sbp_GlobalTensor:$value,
                   DefaultValuedStrAttr<StrAttr, "parameter">:$role);
  let assemblyFormat = "$bucket (`role` $role^)? `,` $value attr-dict `:` type($value)";
}

def Sbp_BucketPackOp : Sbp_Op<"bucket_pack", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Tensors of members laid into one range, each from its offset on; zero elsewhere";
  let description = [{
    From tests/dialects/sbp/buckets.mlir:
    ```mlir
    %0 = sbp.bucket_pack %gw, %gb at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
    ```
    Of slots, each rank's chunk of the range is made of its parts of the members.
    - C1: The bucket exists, and the result is the range of it in which each operand is a member; one that is a slot is the one at its offset.
    - C2: There is an operand, and there are as many offsets as operands, ascending; operands do not overlap and lie within the
      range.
  }];
  let arguments = (ins Variadic<Sbp_GlobalTensor>:$inputs, DenseI64ArrayAttr:$offsets, FlatSymbolRefAttr:$bucket);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$inputs `at` $offsets `of` $bucket attr-dict `:` functional-type($inputs, $result)";
}

def Sbp_BucketMemberOp : Sbp_Op<"bucket_member", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The tensor that lies from an offset on in a range of a bucket";
  let description = [{
    From tests/dialects/sbp/buckets.mlir:
    ```mlir
    %1 = sbp.bucket_member %range at 48 of @l : tensor<64xf32, #B> -> tensor<6xf32, #B>
    ```
    Of a range that is split, the result is the member's part of each rank's chunk: S(@l, 48 of 64).
    - C1: The bucket exists, and the operand is the range of it in which the result is a member.
    - C2: The result lies within the range; where it is a slot, it is the one at this offset.
  }];
  let arguments = (ins Sbp_GlobalTensor:$range, I64Attr:$offset, FlatSymbolRefAttr:$bucket);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$range `at` $offset `of` $bucket attr-dict `:` type($range) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def Sbp_ScheduleOp : Sbp_Op<"schedule", [Symbol, HasParent<"::mlir::ModuleOp">, SingleBlock, NoTerminator,
                                         DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A step of several runs of functions, each with a part of the step's inputs";
  let description = [{
    Functions stay straight; a schedule says in which order they run, and how often. Between its runs, values are variables. From
    tests/dialects/sbp/schedules.mlir, where @train takes and gives what a function would, in three micro-batches of 4 rows:
    ```mlir
    sbp.schedule @train of 3 {
      sbp.run @train.micro from 0 to 2 takes [0] cut [0]
      sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
    }
    ```
    Its input and result number i are those that its runs take and give as i.
    - C1: There are 1 to 2^20 micro-batches and at least one run, and nothing else in it.
    - C2: Inputs are numbered from 0 without a gap, and so are results.
    - C3: All runs take an input alike: of the same type, and cut along the same dimension or not at all.
    - C4: A result that is joined is given by runs of one type, one of them for each micro-batch; any other by one run, which runs
      once.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, I64Attr:$micro_batches);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `of` $micro_batches $body attr-dict";
}

def Sbp_RunOp : Sbp_Op<"run", [HasParent<"ScheduleOp">]> {
  let summary = "Runs a function for the micro-batches from `begin` to before `end`";
  let description = [{
    Argument i of the function is input `takes[i]` of the schedule: of an input that is cut along a dimension, as `cuts[i]` says, micro-batch m
    is part m of as many equal ones; one with -1 is whole. A function that is `numbered` takes m as its last argument. Result i is result `gives[i]` of the
    schedule; what is joined along a dimension, as `joins[i]` says, is part m of it. A function of several micro-batches has arguments and results
    that are of micro-batch m + `takes_ahead[i]` and m + `gives_ahead[i]`. What a run that is `kept` makes is good for the next step,
    too: this leaves the run out, if no other schedule or function ran since, and no variable was set. From
    tests/dialects/sbp/schedules_kept.mlir:
    ```mlir
    sbp.schedule @predict of 1 {
      sbp.run @predict.prologue from 0 to 1 takes [] cut [] kept
      sbp.run @predict.main from 0 to 1 takes [0] cut [0] gives [0] joined [0]
    }
    ```
    - C1: The function exists.
    - C2: begin is at least 0 and less than end, which is at most the schedule's micro-batches.
    - C3: `takes` and `cuts` have an entry for each argument, but for the number, an i64 scalar; `gives` and `joins` for each result.
    - C4: What is cut or joined has the dimension, and in all micro-batches together at most 2^63 - 1 bytes.
    - C5: What is kept takes nothing, not even the number, gives nothing, and runs once.
    - C6: `takes_ahead` and `gives_ahead`, where they are there, have an entry for each of `takes` and `gives`: how many micro-batches
      ahead of the run's the part is, which is one of the schedule's; 0 of what is whole.
  }];
  let arguments = (ins FlatSymbolRefAttr:$function, I64Attr:$begin, I64Attr:$end, DenseI64ArrayAttr:$takes,
                   DenseI64ArrayAttr:$cuts, UnitAttr:$numbered, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gives,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$joins, UnitAttr:$kept,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$takes_ahead,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gives_ahead);
  let assemblyFormat = [{
    $function `from` $begin `to` $end `takes` $takes `cut` $cuts (`numbered` $numbered^)? (`gives` $gives^ `joined` $joins)?
    (`kept` $kept^)? attr-dict
  }];
}

#endif // SPLITCAST_DIALECTS_SBP_SBP_TD
