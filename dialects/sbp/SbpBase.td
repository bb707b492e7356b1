//===- SbpBase.td - The sbp dialect's attributes and types ---------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_SBPBASE_TD
#define SPLITCAST_DIALECTS_SBP_SBPBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"

def Sbp_Dialect : Dialect {
  let name = "sbp";
  let summary = "Global tensors over a mesh of ranks";
  let cppNamespace = "::splitcast::sbp";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
  let hasOperationInterfaceFallback = 1; // names of values
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

class Sbp_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Sbp_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Sbp_PlacementAttr : Sbp_Attr<"Placement", "placement"> {
  let summary = "A mesh of ranks of one kind of device";
  let description = [{
    `#sbp.placement<"cpu", [dp = 4, tp = 2]>` has 8 ranks. Position p of the mesh, in row-major order, is held by rank
    p, or by the p-th of `ranks = [...]` when these are given. An axis whose name is no identifier is written in quotes.
    A placement is not a symbol: so a type can be verified by itself, and replacing attributes moves a module to another
    placement.
    - C1: Axes have distinct names and positive sizes.
    - C2: `ranks`, when present, has one distinct, non-negative rank per position.
    - C3: It has at most 2^20 positions.
    - C4: At most 6 of its axes have more than one rank.
  }];
  let parameters = (ins "::mlir::StringAttr":$deviceKind, ArrayRefParameter<"::mlir::StringAttr">:$axisNames,
                    ArrayRefParameter<"int64_t">:$axisSizes, OptionalArrayRefParameter<"int64_t">:$ranks);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumAxes() const { return getAxisSizes().size(); }
    Placement toAlgebra() const;
    static PlacementAttr fromAlgebra(::mlir::MLIRContext *context, const Placement &placement);
  }];
}

def Sbp_SlotAttr : Sbp_Attr<"Slot", "slot"> {
  let summary = "A variable's place in a bucket";
  let description = [{
    With `#sbp.slot<@layer0, 128 of 4096>` the variable's elements start at element 128 of the 4096 elements of bucket
    `layer0`. Where the bucket is not split evenly, `#sbp.slot<@layer0, 128 of 4096 to [128, 4096]>` says where the
    chunk of each rank ends.
    - C1: 0 <= offset <= total.
    - C2: Ends ascend from 0 to the total; they are not those of even pieces.
  }];
  let parameters = (ins "::mlir::StringAttr":$bucket, "int64_t":$offset, "int64_t":$total,
                    OptionalArrayRefParameter<"int64_t">:$ends);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    Slot toAlgebra() const;
    static SlotAttr fromAlgebra(::mlir::MLIRContext *context, const Slot &slot);
  }];
}

def Sbp_EntryAttr : Sbp_Attr<"Entry", "entry"> {
  let summary = "How a tensor lies along one axis; it is printed only as part of #sbp.nd";
  let parameters = (ins "::splitcast::sbp::Sbp::Kind":$kind, "int64_t":$dim, "int64_t":$unit,
                    OptionalParameter<"::splitcast::sbp::SlotAttr">:$slot, OptionalArrayRefParameter<"int64_t">:$ends);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    Sbp toAlgebra() const;
    static EntryAttr fromAlgebra(::mlir::MLIRContext *context, const Sbp &sbp);
  }];
}

def Sbp_NdAttr : Sbp_Attr<"Nd", "nd", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "The signature of a tensor: one entry per axis of its placement";
  let description = [{
    An example is `#sbp.nd<#placement, [S(0), B]>`. An entry says how the tensor lies along its axis:
    - B: every rank of the axis holds the same.
    - S(d): the tensor is cut along dimension d into nearly equal pieces, which may be ragged or empty.
    - S(d by u): the same, but blocks of u elements of d stay together, as the positions of a sample do where a batch
      lies as rows.
    - S(d to [e0, e1, ...]): the piece of rank r ends at element er of d.
    - S(@bucket, offset of total): the tensor is cut as a slot of a flat bucket, which may also say where its chunks
      end.
    - P: every rank holds an addend.
    - At(k): the ranks at coordinate k of the axis hold the tensor, and the others hold nothing.

    Splits apply in the order of the axes, a flat one last: it cuts the piece that the others leave. An At entry cuts
    nothing. It selects the ranks that hold the tensor, or a piece of it, so its place in the order makes no difference.
    - C1: There is one entry per axis.
    - C2: The tensor has every dimension that an entry splits.
    - C3: At most one entry is a flat split (a slot), and the slot has room for the piece that the other axes leave.
    - C4: The total of a flat split without ends is a multiple of the axis's size.
    - C5: The tensor has a static shape and at most 2^63 - 1 bytes, and so has the bucket of a flat split.
    - C6: A unit is at least 2 and divides, on every rank, the length that the earlier axes leave of the dimension.
    - C7: A unit makes a difference: where all pieces are equal without the unit, the entry is S(d).
    - C8: There is one end per rank of the axis; ends ascend from 0 to the dimension's length and are not those of even
      pieces, and no other axis splits the dimension.
    - C9: A coordinate is at least 0 and below the size of its axis.
  }];
  let parameters = (ins "::splitcast::sbp::PlacementAttr":$placement,
                    ArrayRefParameter<"::splitcast::sbp::EntryAttr">:$entries);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    NdSbp toAlgebra() const;
    static NdAttr get(PlacementAttr placement, const NdSbp &sbp);
    /// The signature that is B along every axis.
    static NdAttr broadcast(PlacementAttr placement);
    bool isBroadcast() const;
    bool hasPartial() const;
    /// Whether any entry is an At: the tensor belongs to one stage of a pipeline.
    bool hasAt() const;
    /// The slot of the flat split, if there is one.
    std::optional<Slot> getFlatSlot() const;
  }];
}

// Initializers hold no data: each rank computes or reads only its own pieces.

def Sbp_PhaseAttr : Sbp_Attr<"Phase", "phase"> {
  let summary = "A phase of the step; sbp.scope prints its name";
  let parameters = (ins "::splitcast::sbp::Phase":$value);
  let hasCustomAssemblyFormat = 1;
}

def Sbp_ConstantInitAttr : Sbp_Attr<"ConstantInit", "constant"> {
  let summary = "Every element has this value";
  let parameters = (ins "::mlir::FloatAttr":$value);
  let assemblyFormat = "`<` $value `>`";
}

def Sbp_NormalInitAttr : Sbp_Attr<"NormalInit", "normal"> {
  let summary = "Normally distributed; element i depends only on the seed, the variable's name and i";
  let parameters = (ins "::mlir::FloatAttr":$mean, "::mlir::FloatAttr":$stddev);
  let assemblyFormat = "`<` `mean` `=` $mean `,` `stddev` `=` $stddev `>`";
}

def Sbp_UniformInitAttr : Sbp_Attr<"UniformInit", "uniform"> {
  let summary = "Uniform in [low, high); element i depends only on the seed, the variable's name and i";
  let parameters = (ins "::mlir::FloatAttr":$low, "::mlir::FloatAttr":$high);
  let assemblyFormat = "`<` $low `,` $high `>`";
}

def Sbp_FileInitAttr : Sbp_Attr<"FileInit", "file"> {
  let summary = "A tensor of a safetensors file";
  let parameters = (ins "::mlir::StringAttr":$path, "::mlir::StringAttr":$tensor);
  let assemblyFormat = "`<` $path `,` $tensor `>`";
}

def Sbp_PolicyParameter : AttrOrTypeParameter<"::splitcast::sbp::Policy", "the decisions that are made"> {
  let cppStorageType = "::splitcast::sbp::Policy";
}

def Sbp_PolicyAttr : Sbp_Attr<"Policy", "policy"> {
  let summary = "Decisions about variables: how ZeRO stores, gathers and reduces them";
  let description = [{
    An example is `#sbp.policy<stage = 3, strategy = tensor>`. 'sbp-zero-storage' describes each decision, with its
    values and its default; there names have hyphens. The variable's group makes the decisions that a policy leaves
    open, then the options of `enable-zero` do. From tests/dialects/sbp/policies.mlir:
    ```mlir
    sbp.variable @h.1.w : tensor<4xf32, #B> policy #sbp.policy<bucket_bytes = 4096>
    ```
    - C1: The decisions are `stage` (0, 1, 2 or 3), `strategy` (`bucket`, `tensor` or `whole`), `keep` (`never`, `last`,
      `always` or `step`), `prefetch` (`auto` or a number), `prefetch_bytes`, `bucket_bytes` and `whole_bytes`
      (numbers), `recompute` (`no`, `yes` or `elementwise`), `update` (`last` or `reduced`) and `compute_type` (`own`,
      `bf16` or `f16`), each at most once. No number is negative.
  }];
  let parameters = (ins Sbp_PolicyParameter:$policy);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Reasons: what a pass chose and why, as metadata in locations
//===----------------------------------------------------------------------===//

def Sbp_RowAttr : Sbp_Attr<"Row", "row"> {
  let summary = "The row of signatures that was chosen for an op along each axis";
  let description = [{
    This attribute says why an op has its signatures. 'sbp-propagate' writes it into the location of the op;
    --mlir-print-debuginfo shows it. From tests/dialects/sbp/reasons.mlir:
    ```mlir
    %y = nn.relu %x : (tensor<8x4xf32, #S0_>) -> tensor<8x4xf32, #S0_> loc(fused<#sbp.row<dp = splits result 0 at 0>>["x"])
    ```
    - `splits result 0 at 1`: the loop that runs over dimension 1 of result 0 is split.
    - `sums operand 0 at 1`: the loop that runs over dimension 1 of operand 0 is split; no result has this loop, so
      results are P.
    - `replicated`: no loop is split. `at`: no loop is split, and only the ranks at one coordinate compute. `linear`:
      operands are P, and so are the results.
    - `slot`: operands and results lie as slots of a bucket.

    `by 6` says that 6 iterations of the loop stay together. Operands and results count tensors only.
    - C1: It names at least one axis, and no axis twice.
    - C2: The numbers of operands, results and dimensions are not negative; a unit is at least 2.
  }];
  let parameters = (ins ArrayRefParameter<"::splitcast::sbp::RowAxis">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sbp_WantedParameter : AttrOrTypeParameter<"::splitcast::sbp::Wanted", "the use that needs it"> {
  let cppStorageType = "::splitcast::sbp::Wanted";
}

def Sbp_WantedAttr : Sbp_Attr<"Wanted", "wanted"> {
  let summary = "Why a boxing exists: which use needed its signature";
  let description = [{
    'sbp-propagate' and 'sbp-insert-boxing' write it into the location of the boxing. Where several uses need one
    boxing, it names the first. From tests/dialects/sbp/reasons.mlir:
    ```mlir
    %b = sbp.boxing %x : tensor<8x4xf32, #S0_> -> tensor<8x4xf32, #B> loc(fused<#sbp.wanted<operand 1 of "nn.matmul">>["x"])
    ```
    - `operand 1 of "nn.matmul"`: that op's row needs it, or, where the op is a return, the declared type does.
    - `result 0 of "nn.matmul"`: a user wrote the signature of that result.
    - `forward of @w`, `backward of @w`: the graph reads the variable, which is stored in another signature.
    - `update of @w`: the update of the variable computes with it. `assign of @w`: the variable is assigned it.
    - C1: It names an op by its name or a variable by its symbol. Neither is empty.
    - C2: The number of an operand or result is not negative.
  }];
  let parameters = (ins Sbp_WantedParameter:$wanted);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sbp_TokenType : TypeDef<Sbp_Dialect, "Token"> {
  let summary = "The type of a scope as an operand";
  let mnemonic = "token";
}

#endif // SPLITCAST_DIALECTS_SBP_SBPBASE_TD
