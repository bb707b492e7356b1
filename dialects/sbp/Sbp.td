//===- Sbp.td - Global tensors: placements, signatures, variables ----------===//
// Level     global, above `ccl`. A user's program consists of this dialect and `nn`, and so does what all passes of
//           passes/global rewrite.
// Value     one logical tensor over a placement. Its type says how it lies there: tensor<128x256xf32, #S0>. A tensor
//           type without an encoding has no signature yet: it is undecided.
// Decided   what is computed. At the end of the level also: every signature, and every change of one (`sbp.boxing`).
// Not yet   which collectives a boxing becomes, which rank holds which element, where bytes lie.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_SBP_TD
#define SPLITCAST_DIALECTS_SBP_SBP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
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
  let summary = "A tensor that outlives a step: a parameter, a state of the optimizer, a counter";
  let description = [{
    ```mlir
    sbp.variable @fc.weight : tensor<10x4xf32, #B> storage #S0 update #S0 init #sbp.normal<mean = 0.0, stddev = 0.02>
    ```
    The type's signature is the *logical* one: the user wrote it, and the graph reads the variable in it. `storage` is
    the signature at rest; `update` is the one in which its gradient and its update are computed. Both are the logical
    signature when they are absent. ZeRO rewrites these two and nothing else. It rewrites neither where the user wrote a
    `storage`: such a variable is stored as it says, and is in no bucket. `slot` is the variable's place in a bucket
    (sbp.bucket): variables of one bucket and one role lie in one range. `group` names the variables that are used
    together (a layer); when it is absent, the group is the name up to its last dot. `state_of` marks optimizer state of
    another variable, and `role` says which state it is. `frozen` excludes the variable from training: nn.minimize
    computes no gradient of it and does not update it, although ops may assign it (a learning rate, a counter). Of the
    stages of ZeRO only stage 3 splits a frozen variable, in buckets that hold no others; it has no split master weights
    and never one copy per machine, but its compute type applies. `policy` has the decisions about this variable alone
    (sbp.group decides about several); 'sbp-zero-storage' completes it. A `carried` variable lives for one step, or, if
    the run that assigns it is kept, as long as that run's results are valid: it passes a value from one run of a
    schedule to a later one, and is neither saved nor loaded. A carried variable that is no state may be P: it then
    holds addends that a later run sums. With `as_made`, 'sbp-propagate' gives the variable the signature that the
    assigned value has in the first function of the module that assigns it; all other assignments must have the same
    signature.
    - C1: The variable has a name; the type is a statically shaped tensor of at most 2^63 - 1 bytes; its signature,
      storage and update are on one placement.
    - C2: No signature has P, except the type's if the variable is carried and no state; each signature fits the shape.
    - C3: The initializer is one of #sbp.constant, #sbp.normal, #sbp.uniform, #sbp.file.
    - C4: `state_of` and `role` are given together. A role is not "parameter", and has no dot.
    - C5: `state_of` names a variable that is not itself state.
    - C6: A slot entry in the type, storage or update is that of `slot`.
    - C7: The slot has room for the variable's largest piece, and its bucket has at most 2^63 - 1 bytes.
    - C8: A state that has a slot has the shape of its variable.
    - C9: A state has no policy: that of its variable applies.
    - C10: A carried variable has no initializer: a schedule assigns the variable before it reads it.
    - C11: A variable with `as_made` is carried, is no state, and has no signature yet.
    - C12: An integer variable can hold the value of its #sbp.constant exactly, and has no #sbp.normal or #sbp.uniform.
      The numbers of these two are finite; `stddev` is not negative, and `low` is not above `high`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility,
                   TypeAttrOf<AnyRankedTensor>:$type, OptionalAttr<Sbp_NdAttr>:$storage,
                   OptionalAttr<Sbp_NdAttr>:$update, OptionalAttr<Sbp_SlotAttr>:$slot, OptionalAttr<AnyAttr>:$init,
                   OptionalAttr<StrAttr>:$group, OptionalAttr<FlatSymbolRefAttr>:$state_of, OptionalAttr<StrAttr>:$role,
                   UnitAttr:$frozen, UnitAttr:$carried, UnitAttr:$as_made, OptionalAttr<Sbp_PolicyAttr>:$policy);
  let assemblyFormat = [{
    $sym_name `:` $type (`storage` qualified($storage)^)? (`update` qualified($update)^)? (`slot` qualified($slot)^)?
    (`init` $init^)? (`group` $group^)? (`state_of` $state_of^ `role` $role)? (`frozen` $frozen^)?
    (`carried` $carried^)? (`as_made` $as_made^)? (`policy` qualified($policy)^)? attr-dict
  }];
  // Setters set the rest.
  let builders = [OpBuilder<(ins "::mlir::StringRef":$name, "::mlir::Type":$type,
                                 CArg<"::mlir::Attribute", "{}">:$init, CArg<"::mlir::StringRef", "{}">:$group)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// The logical signature; null while undecided.
    NdAttr getLogical();
    NdAttr getStorageOrLogical() { return getStorage().value_or(getLogical()); }
    NdAttr getUpdateOrLogical() { return getUpdate().value_or(getLogical()); }
    /// The type of the stored tensor.
    ::mlir::RankedTensorType getStorageType();
    /// `group`, or the name up to its last dot.
    ::llvm::StringRef getGroupOrPrefix();
    /// The policy of this op; decisions that it leaves open (before 'sbp-zero-storage') have their defaults.
    Policy getPolicyOrDefault();
    /// Whether the variable may be P.
    bool isCarriedAlone() { return getCarried() && !getStateOf(); }
  }];
}

def Sbp_GroupOp : Sbp_Op<"group", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "A policy for all variables of a group";
  let description = [{
    A variable is in the group that it names, or, if it names none, in that of its own name up to the last dot. Group
    "h.0" lies within group "h": a variable's group makes the decisions that the variable's own policy leaves open, then
    the group around that one does. From tests/dialects/sbp/policies.mlir, where "h.0" is split by rows at stage 3:
    ```mlir
    sbp.group "h" #sbp.policy<stage = 3>
    sbp.group "h.0" #sbp.policy<strategy = tensor>
    ```
    - C1: The name is not empty.
    - C2: The policy makes at least one decision.
    - C3: No other sbp.group has this name, and at least one variable is in the group.
  }];
  let arguments = (ins StrAttr:$name, Sbp_PolicyAttr:$policy);
  let assemblyFormat = "$name qualified($policy) attr-dict";
  let hasVerifier = 1;
}

def Sbp_ReadOp : Sbp_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                 DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
                                 DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The value of a variable";
  let description = [{
    ```mlir
    %0 = sbp.read @fc.weight : tensor<10x4xf32>
    ```
    - C1: The variable exists.
    - C2: The result has the variable's shape and element type.
    - C3: The result's signature, when decided, is the variable's logical or storage signature.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Sbp_AssignOp : Sbp_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Gives a variable a new value";
  let description = [{
    ```mlir
    sbp.assign @fc.weight, %0 : tensor<10x4xf32>
    ```
    - C1: The variable exists.
    - C2: The value has the variable's shape and element type.
    - C3: The value's signature, when decided, is the variable's logical or storage signature; with `as_made` it may be
      any.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Sbp_GlobalTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Sbp_BoxingOp : Sbp_Op<"boxing", [Pure]> {
  let summary = "Changes the signature of a tensor and keeps its value";
  let description = [{
    This is the only op that may change a signature. From tests/dialects/sbp/boxing_example.mlir, with
    `#p = #sbp.placement<"cpu", [dp = 4]>`, `#S0 = #sbp.nd<#p, [S(0)]>`, `#B = #sbp.nd<#p, [B]>`:
    ```mlir
    %1 = sbp.boxing %0 : tensor<10x4xf32, #S0> -> tensor<10x4xf32, #B>
    ```
    A user asks for a signature with a boxing whose input is undecided. `bucket` says that this boxing and the others of
    that bucket are done in one collective ('sbp-join-buckets').
    - C1: Input and output have the same shape and element type.
    - C2: No axis becomes P: only an op that sums makes addends.
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
    Two scopes are never the same, whatever their names: an op in one scope is never merged with an op in another. A
    scope costs nothing. `of @w` names the variable that is updated in the scope: 'sbp-propagate' gives values that are
    fenced there the update signature of @w, and 'ccl-prefetch' takes its policy. The scope in which 'sbp-join-buckets'
    joins the updates of a bucket has the bucket's name as its group, and no `of`.
    - C1: The phase is "forward", "backward" or "update".
    - C2: The variable that it names exists.
    - C3: A scope that names a variable has phase "update".
  }];
  let arguments = (ins Sbp_PhaseAttr:$phase, OptionalAttr<StrAttr>:$group, OptionalAttr<FlatSymbolRefAttr>:$variable);
  let results = (outs Res<Sbp_TokenType, "", [MemAlloc<Sbp_ScopeResource>]>:$token);
  let assemblyFormat = "custom<Phase>($phase) (`group` $group^)? (`of` $variable^)? attr-dict";
}

def Sbp_FenceOp : Sbp_Op<"fence", [Pure, AllTypesMatch<["input", "output"]>,
                                   DeclareOpInterfaceMethods<ShardingOpInterface>]> {
  let summary = "The same value, in a scope";
  let description = [{
    A fence is a pure identity that is never folded and costs nothing. Users of fenced values belong to the fence's
    scope.
    ```mlir
    %1 = sbp.fence %0 in %t : tensor<10x4xf32, #S0>
    ```
  }];
  let arguments = (ins Sbp_GlobalTensor:$input, Sbp_TokenType:$scope);
  let results = (outs Sbp_GlobalTensor:$output);
  let assemblyFormat = "$input `in` $scope attr-dict `:` type($output)";
}

def Sbp_ColocateOp : Sbp_Op<"colocate", [Pure, DeclareOpInterfaceMethods<ShardingOpInterface>]> {
  let summary = "The same value, on the pipeline stage that has another value";
  let description = [{
    Along each axis along which `beside` is at a coordinate, the output is at the same coordinate; along the others its
    entry is the one that costs least. The op reads only the signature of `beside`, not its elements. 'nn-differentiate'
    puts each gradient beside the value that it is the gradient of, and forward values that the gradient's computation
    takes beside the forward result that was made of them. 'sbp-propagate', which knows where values are, boxes the
    input once for all uses and erases the op. Constants and broadcasts of scalars are made there, split as `beside` is.
    From tests/dialects/sbp/ops.mlir:
    ```mlir
    %1 = sbp.colocate %0 with %x : (tensor<10x4xf32, #S0>, tensor<8xf32>) -> tensor<10x4xf32>
    ```
    - C1: Input and output have the same shape and element type.
    - C2: The output has no signature: 'sbp-propagate' decides it.
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
  let summary = "A flat range that holds variables that are used together, so that one collective moves them all";
  let description = [{
    From tests/dialects/sbp/buckets.mlir, with `#p = #sbp.placement<"cpu", [dp = 2]>`:
    ```mlir
    sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48] group "l"
    ```
    The elements of member i start at element `offsets[i]` of the range. The type is that of the *whole* range. Its last
    dimension counts the bucket's elements, padding included. Along the bucket's axis the range is B when it is whole, S
    of the last dimension when each rank holds a chunk, and P when it holds addends. Chunks are equal, unless `ends`
    says where the chunk of each rank ends: with ends, a bucket may hold members that are not divided. Where another
    axis splits a member, the ranks along that axis have different ranges: the type has one leading dimension for each
    such axis, in the order of the axes, and that axis splits it. States of the members lie in ranges of the same
    layout, one range for each role. `group` is the group of the first member, as `sbp-zero-storage` writes it; members
    may have other groups (`bucket_bytes`). It is for readers: no pass depends on it.
    - C1: The type has a signature, in which the bucket's axis is B and each other axis is B or splits its own leading
      dimension.
    - C2: Without ends, the number of elements is a multiple of the axis's size. There is one end per rank of the axis;
      ends ascend from 0 to the number of elements, and are not those of equal chunks.
    - C3: There are as many offsets as members, and at least one member; members ascend, begin within the
      bucket, and do not overlap. (Their slots ensure that they end there, too.)
    - C4: Each member is a variable with a signature; its slot is its place here, and its element type is the bucket's.
    - C5: The leading dimensions are those of the axes that split a member.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility,
                   TypeAttrOf<AnyRankedTensor>:$type, StrAttr:$axis,
                   TypedArrayAttrBase<FlatSymbolRefAttr, "variables">:$members, DenseI64ArrayAttr:$offsets,
                   OptionalAttr<DenseI64ArrayAttr>:$ends, OptionalAttr<StrAttr>:$group);
  let assemblyFormat = [{
    $sym_name `:` $type `along` $axis `holds` $members `at` $offsets (`to` $ends^)? (`group` $group^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// The number of elements of the range, padding included.
    int64_t getElements() { return getTensorType().getShape().back(); }
    /// The index of the bucket's axis in its placement.
    int64_t getAxisIndex();
    /// The slot that begins at element `offset`.
    Slot getSlotAt(int64_t offset);
    /// The entry that splits the last dimension of a range into the ranks' chunks.
    Sbp getChunks();
    /// The type of the range in which a tensor with elements of `element` and the signature `member` is a member. Along
    /// the bucket's axis the range is B or P as the member is, or S of the last dimension where the member is a slot;
    /// along each other axis it is P if `member` is, else as in getType(). Null when no range has such a member: an
    /// axis without a dimension of the range splits it, or the bucket's axis does.
    ::mlir::RankedTensorType getRangeType(::mlir::Type element, NdAttr member);
  }];
}

class Sbp_BucketAccess<string mnemonic> : Sbp_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                                            DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

def Sbp_BucketReadOp : Sbp_BucketAccess<"bucket_read"> {
  let summary = "The values of a bucket's members, or of their states of one role";
  let description = [{
    The result is the whole range, as it is stored; elements that belong to no variable are zero. From
    tests/dialects/sbp/buckets.mlir:
    ```mlir
    %m = sbp.bucket_read @l role "m" : tensor<64xf32, #S0_>
    ```
    `role` is the role of the states; "parameter" means the members themselves.
    - C1: The bucket exists, and the type is that of a range of it, without P; for the members themselves, it has the
      bucket's number of elements. ('sbp-verify-global' verifies that it is the stored type.)
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, DefaultValuedStrAttr<StrAttr, "parameter">:$role);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$bucket (`role` $role^)? attr-dict `:` type($result)";
}

def Sbp_BucketAssignOp : Sbp_BucketAccess<"bucket_assign"> {
  let summary = "Gives the members of a bucket, or their states of one role, new values";
  let description = [{
    ```mlir
    sbp.bucket_assign @l role "m", %m : tensor<64xf32, #S0_>
    ```
    - C1: The bucket exists, and the type is that of a range of it, without P; for the members themselves, it has the
      bucket's number of elements. ('sbp-verify-global' verifies that it is the stored type.)
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Sbp_GlobalTensor:$value,
                   DefaultValuedStrAttr<StrAttr, "parameter">:$role);
  let assemblyFormat = "$bucket (`role` $role^)? `,` $value attr-dict `:` type($value)";
}

def Sbp_BucketPackOp : Sbp_Op<"bucket_pack", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One range that holds each member's tensor from its offset on, and zeros elsewhere";
  let description = [{
    From tests/dialects/sbp/buckets.mlir:
    ```mlir
    %0 = sbp.bucket_pack %gw, %gb at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
    ```
    Where the operands are slots, each rank's chunk of the range is made of its parts of the members.
    - C1: The bucket exists, and the result is the range of it in which each operand is a member; an operand that is a
      slot is the slot at its offset.
    - C2: There is at least one operand, and there are as many offsets as operands; offsets ascend, and operands do not
      overlap and lie within the range.
  }];
  let arguments = (ins Variadic<Sbp_GlobalTensor>:$inputs, DenseI64ArrayAttr:$offsets, FlatSymbolRefAttr:$bucket);
  let results = (outs Sbp_GlobalTensor:$result);
  let assemblyFormat = "$inputs `at` $offsets `of` $bucket attr-dict `:` functional-type($inputs, $result)";
}

def Sbp_BucketMemberOp : Sbp_Op<"bucket_member", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The member that begins at an offset in a range of a bucket";
  let description = [{
    From tests/dialects/sbp/buckets.mlir:
    ```mlir
    %1 = sbp.bucket_member %range at 48 of @l : tensor<64xf32, #B> -> tensor<6xf32, #B>
    ```
    Where the range is split, the result is the member's part of each rank's chunk: S(@l, 48 of 64).
    - C1: The bucket exists, and the operand is the range of it in which the result is a member.
    - C2: The result lies within the range; where it is a slot, it is the slot at this offset.
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
  let summary = "A step that runs several functions, each on a part of the step's inputs";
  let description = [{
    Functions have no control flow; a schedule says in which order they run, and how often. Values pass from one run to
    another in variables. From tests/dialects/sbp/schedules.mlir, where @train has the inputs and results of a function,
    and runs in three micro-batches of 4 rows:
    ```mlir
    sbp.schedule @train of 3 {
      sbp.run @train.micro from 0 to 2 takes [0] cut [0]
      sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
    }
    ```
    Input i and result i of the schedule are those that its runs take and give under number i.
    - C1: There are 1 to 2^20 micro-batches; the body has at least one run, and nothing else.
    - C2: Inputs are numbered from 0 without a gap, and so are results.
    - C3: All runs take an input in the same way: with the same type, and cut along the same dimension or not at all.
    - C4: A joined result is given by runs of one type, exactly one for each micro-batch; any other result is given by
      one run, which runs once.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, I64Attr:$micro_batches);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `of` $micro_batches $body attr-dict";
}

def Sbp_RunOp : Sbp_Op<"run", [HasParent<"ScheduleOp">]> {
  let summary = "Runs a function for the micro-batches from `begin` to before `end`";
  let description = [{
    Argument i of the function is input `takes[i]` of the schedule. `cuts[i]` is the dimension along which this input is
    cut into as many equal parts as there are micro-batches, of which micro-batch m takes part m; with -1 the function
    takes the whole input. A `numbered` function takes m as its last argument. Result i is result `gives[i]` of the
    schedule; `joins[i]` is the dimension along which the parts of all micro-batches are joined, of which result i is
    part m. A function may work on several micro-batches, as those do that 'sbp-interleave-runs' merges. Argument i is
    then part m + `takes_ahead[i]` of its input, and result i part m + `gives_ahead[i]`; without these attributes all
    entries are 0. The results of a `kept` run are valid in the next step, too: that step leaves the run out, if no
    other schedule or function ran in between and no variable was set. From tests/dialects/sbp/schedules_kept.mlir:
    ```mlir
    sbp.schedule @predict of 1 {
      sbp.run @predict.prologue from 0 to 1 takes [] cut [] kept
      sbp.run @predict.main from 0 to 1 takes [0] cut [0] gives [0] joined [0]
    }
    ```
    - C1: The function exists.
    - C2: `begin` is at least 0 and less than `end`, which is at most the schedule's number of micro-batches.
    - C3: `takes` and `cuts` have an entry for each argument, except for the number, which is an i64 scalar; `gives` and
      `joins` have one for each result.
    - C4: A tensor that is cut or joined has the dimension, and has at most 2^63 - 1 bytes in all micro-batches
      together.
    - C5: A kept run takes no input, not even the number, gives no result, and runs once.
    - C6: `takes_ahead` and `gives_ahead`, where they are present, have an entry for each entry of `takes` and `gives`:
      the number of micro-batches that the part is ahead of the run's. The part is one of the schedule's micro-batches;
      the entry of a whole input or result is 0.
  }];
  let arguments = (ins FlatSymbolRefAttr:$function, I64Attr:$begin, I64Attr:$end, DenseI64ArrayAttr:$takes,
                   DenseI64ArrayAttr:$cuts, UnitAttr:$numbered, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gives,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$joins, UnitAttr:$kept,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$takes_ahead,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gives_ahead);
  let assemblyFormat = [{
    $function `from` $begin `to` $end `takes` $takes `cut` $cuts (`numbered` $numbered^)? (`gives` $gives^ `joined`
    $joins)? (`kept` $kept^)? attr-dict
  }];
}

#endif // SPLITCAST_DIALECTS_SBP_SBP_TD
