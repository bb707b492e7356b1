//===- Ccl.td - Collectives on the pieces of one rank -------------------------===//
//
// Level     local, below `sbp` and above `exec`. A module is the program of one rank.
// Value     a rank's piece, tensor<32x256xf32>, in its own memory.
// Decided   which rank holds which elements, which collectives are called, in which order, on which buckets.
// Not yet   how ops are fused into kernels, where pieces lie in memory, on which stream an op runs.
//
// A collective op only *starts* the collective: its result is a !ccl.pending, and only ccl.wait turns that into a
// tensor. Views and packs state where members lie in a bucket; they cost nothing when the plan places the members
// there.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_CCL_TD
#define SPLITCAST_DIALECTS_CCL_CCL_TD

include "dialects/ccl/CclInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ccl_Dialect : Dialect {
  let name = "ccl";
  let summary = "Collectives on the pieces of one rank";
  let description = [{
    An argument or result of a function has the attribute `ccl.global`: the type of the global tensor that it is a piece
    of. Code that binds inputs and outputs reads it.
    - C1: The piece has the element type of that tensor, and as many dimensions.
    - C2: Where the tensor has a signature, the shape is that of the piece of the module's rank (`ccl.rank`), or, if the
      module names none, of any rank.
  }];
  let cppNamespace = "::splitcast::ccl";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::splitcast::sbp::SbpDialect"];
  let hasRegionArgAttrVerify = 1;
  let hasOperationInterfaceFallback = 1; // names of values
  let hasRegionResultAttrVerify = 1;
}

def Ccl_GroupAttr : AttrDef<Ccl_Dialect, "Group"> {
  let mnemonic = "group";
  let summary = "Ranks that call collectives together, and this rank's place among them";
  let description = [{
    An example is `#ccl.group<"dp", [0, 2], index 1>`, which is printed by its name, `#dp`. The blocks of a collective
    are in the order of the ranks.
    - C1: `index` is this rank's position in the list; ranks are distinct and not negative.
  }];
  let parameters = (ins StringRefParameter<"">:$name, ArrayRefParameter<"int64_t">:$ranks, "int64_t":$index);
  let assemblyFormat = "`<` $name `,` `[` $ranks `]` `,` `index` $index `>`";
  let genVerifyDecl = 1;
}

def Ccl_PendingType : TypeDef<Ccl_Dialect, "Pending"> {
  let summary = "The future result of a collective that has started";
  let mnemonic = "pending";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
  let genVerifyDecl = 1;
}

def Ccl_Tensor : Type<And<[AnyRankedTensor.predicate,
  CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).hasStaticShape()">,
  CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isIntOrFloat()">,
  CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementTypeBitWidth() % 8 == 0">]>,
  "a statically shaped tensor of numbers that are whole bytes", "::mlir::RankedTensorType">;

class Ccl_Op<string mnemonic, list<Trait> traits = []> : Op<Ccl_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def Ccl_StorageOp : Ccl_Op<"storage", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, Symbol]> {
  let summary = "What this rank stores of variables: its part of a bucket, or one variable's piece";
  let description = [{
    ```mlir
    ccl.storage @layer0 : tensor<1024xf32> holds [@layer0.weight, @layer0.bias] at [0, 896]
    ```
    Element `at[i]` is the first of member i's piece; the member's sbp.variable says which elements the piece has.
    Elements that belong to no member are padding, and zero.
    - C1: There are as many offsets as members, each within the tensor, which is statically shaped.
    - C2: Members are variables of the module; none is there twice, or in another storage.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility,
                       TypeAttrOf<AnyRankedTensor>:$type, ArrayAttr:$members, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = "$sym_name `:` $type `holds` $members `at` $offsets attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def Ccl_ReadOp : Ccl_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                 DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The value of a storage";
  let description = [{
    ```mlir
    %0 = ccl.read @layer0 : tensor<1024xf32>
    ```
    - C1: The storage exists and has this type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$storage);
  let results = (outs Ccl_Tensor:$result);
  let assemblyFormat = "$storage attr-dict `:` type($result)";
}

def Ccl_AssignOp : Ccl_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Replaces the value of a storage, or its elements from `offset` on";
  let description = [{
    ```mlir
    ccl.assign @layer0, %0 : tensor<1024xf32>
    ccl.assign @layer0, %1 {offset = 896 : i64} : tensor<128xf32>
    ```
    - C1: The storage exists and has the value's element type.
    - C2: The value's elements, in row-major order from `offset` on, lie within the storage.
  }];
  let arguments = (ins FlatSymbolRefAttr:$storage, Ccl_Tensor:$value, DefaultValuedAttr<I64Attr, "0">:$offset);
  let assemblyFormat = "$storage `,` $value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Views and packs
//===----------------------------------------------------------------------===//

def Ccl_ViewOp : Ccl_Op<"view", [Pure]> {
  let summary = "Consecutive elements of a tensor, from `offset` on, as another shape";
  let description = [{
    ```mlir
    %1 = ccl.view %0 at 896 : tensor<1024xf32> -> tensor<128xf32>
    ```
    - C1: The result's elements lie within the operand; element types agree.
  }];
  let arguments = (ins Ccl_Tensor:$input, I64Attr:$offset);
  let results = (outs Ccl_Tensor:$result);
  let assemblyFormat = "$input `at` $offset attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Ccl_PackOp : Ccl_Op<"pack", [Pure]> {
  let summary = "One flat range that holds each operand from its offset on, and zeros elsewhere";
  let description = [{
    ```mlir
    %3 = ccl.pack %2, %1 at [0, 896] : (tensor<32x28xf32>, tensor<128xf32>) -> tensor<1024xf32>
    ```
    - C1: The result has one dimension and the operands' element type.
    - C2: There are as many offsets as operands; they ascend, and operands do not overlap and lie within the result.
  }];
  let arguments = (ins Variadic<Ccl_Tensor>:$inputs, DenseI64ArrayAttr:$offsets);
  let results = (outs Ccl_Tensor:$result);
  let assemblyFormat = "$inputs `at` $offsets attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def Ccl_Resource : Resource<"::splitcast::ccl::WireResource">;

/// `blocks` are the numbers of elements that each rank of the group holds (or keeps): a list, or one number for every
/// rank. `what` names the collective in messages and reports. All ranks of a group must call its collectives in the
/// same order: hence the effects.
class Ccl_Collective<string mnemonic, string kind>
    : Ccl_Op<mnemonic, [CollectiveOpInterface, MemoryEffects<[MemRead<Ccl_Resource>, MemWrite<Ccl_Resource>]>]> {
  let arguments = (ins Ccl_Tensor:$input, Ccl_GroupAttr:$group, DenseI64ArrayAttr:$blocks,
                   OptionalAttr<DenseI64ArrayAttr>:$received, StrAttr:$what);
  let results = (outs Ccl_PendingType:$pending);
  let assemblyFormat = [{
    $what $input `in` $group `blocks` custom<Blocks>($blocks) (`received` custom<Blocks>($received)^)? attr-dict
    `:` type($input) `->` type($pending)
  }];
  let extraClassDeclaration = "static CollectiveKind getKind() { return CollectiveKind::" # kind # "; }";
}

def Ccl_AllGatherOp : Ccl_Collective<"all_gather", "AllGather"> {
  let summary = "The blocks of all ranks, one after the other";
  let description = [{
    `stored` says that the operand is, on every rank, the value of a variable or bucket, possibly with its elements in
    another order or in another type, and that the variable may have another name on each rank. Such a gather can start
    anywhere after the last assignment of that variable or bucket. 'sbp-localize' sets `stored`. No verifier checks it,
    but 'ccl-prefetch' refuses a gather that it may move, if the operand is not made of one ccl.read.
    ```mlir
    %0 = ccl.all_gather "w" %piece in <"dp", [0, 1], index 0> blocks [12, 8] : tensor<3x4xf32> -> !ccl.pending<tensor<20xf32>>
    ```
    - C1: There is one block per rank, of at least 0 elements; `received` is absent.
    - C2: The operand has blocks[index] elements, and the result has one dimension with all blocks.
  }];
  let arguments = (ins Ccl_Tensor:$input, Ccl_GroupAttr:$group, DenseI64ArrayAttr:$blocks,
                   OptionalAttr<DenseI64ArrayAttr>:$received, StrAttr:$what, UnitAttr:$stored);
}

def Ccl_ReduceScatterOp : Ccl_Collective<"reduce_scatter", "ReduceScatter"> {
  let summary = "This rank's block of the sum of all ranks' operands";
  let description = [{
    ```mlir
    %2 = ccl.reduce_scatter "gradient of w" %whole in <"tp", [4, 2], index 1> blocks [12, 8] : tensor<20xf32> -> !ccl.pending<tensor<8xf32>>
    ```
    - C1: There is one block per rank, of at least 0 elements; `received` is absent.
    - C2: The operand has one dimension with all blocks, and the result has blocks[index] elements.
    - C3: Elements are floats.
  }];
}

def Ccl_AllReduceOp : Ccl_Collective<"all_reduce", "AllReduce"> {
  let summary = "The sum of all ranks' operands";
  let description = [{
    ```mlir
    %4 = ccl.all_reduce "loss" %piece in <"dp", [0, 1], index 0> blocks 12 : tensor<3x4xf32> -> !ccl.pending<tensor<3x4xf32>>
    ```
    - C1: There is one number of elements, at least 0, for every rank; `received` is absent.
    - C2: Operand and result have the same type.
    - C3: Elements are floats.
  }];
}

def Ccl_AllToAllOp : Ccl_Collective<"all_to_all", "AllToAll"> {
  let summary = "Block s of the operand goes to rank s; block r of the result comes from rank r";
  let description = [{
    `blocks[s]` is the number of elements that this rank sends to rank s, and `received[r]` the number that it receives
    from rank r: on rank s, `received[r]` is `blocks[s]` of rank r.
    ```mlir
    %6 = ccl.all_to_all "x" %whole in #group blocks [20, 0] received [4, 5] : tensor<20xf32> -> !ccl.pending<tensor<9xf32>>
    ```
    - C1: `blocks` and `received` have one block per rank each, of at least 0 elements.
    - C2: Operand and result have one dimension, with all their blocks.
  }];
}

def Ccl_WaitOp : Ccl_Op<"wait", [MemoryEffects<[MemRead<Ccl_Resource>, MemWrite<Ccl_Resource>]>]> {
  let summary = "Waits for the result of a collective";
  let description = [{
    ```mlir
    %1 = ccl.wait %0 : !ccl.pending<tensor<20xf32>> -> tensor<20xf32>
    ```
    - C1: The result has the type of the pending tensor.
    - C2: A collective is waited for once.
  }];
  let arguments = (ins Ccl_PendingType:$pending);
  let results = (outs Ccl_Tensor:$result);
  let assemblyFormat = "$pending attr-dict `:` type($pending) `->` type($result)";
  let hasVerifier = 1;
}

#endif // SPLITCAST_DIALECTS_CCL_CCL_TD
