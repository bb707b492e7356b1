//===- Exec.td - The plan: kernels, copies and collectives on byte ranges ------===//
//
// Level     plan, the lowest. What the executor walks, and all it knows.
// Value     none: ops name byte ranges.
// Decided   everything: kernels and their order, streams and events, where each tensor lies.
// Not yet   the addresses that spaces begin at.
//
// A module declares its spaces, and ranges name them. One that is kept is shared by all functions and has the variables;
// another belongs to one run of one function, and the next may overwrite it. The peak is the bytes of all. Ranks of a
// machine may have one copy of a space that is shared.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EXEC_TD
#define SPLITCAST_DIALECTS_EXEC_EXEC_TD

include "dialects/exec/ExecCalls.td"
include "dialects/sbp/SbpInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let summary = "A rank's plan";
  let cppNamespace = "::splitcast::exec";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::splitcast::sbp::SbpDialect"];
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_RangeAttr : AttrDef<Exec_Dialect, "Range"> {
  let mnemonic = "range";
  let summary = "Bytes [offset, offset + bytes) of a space";
  let description = [{
    `#exec.range<arena, 64, 128>`: of the space that the module declares as `@arena`.
    - C1: Offset and bytes are not negative, and their sum at most 2^63 - 1.
  }];
  let parameters = (ins "::mlir::StringAttr":$space, "int64_t":$offset, "int64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getEnd() const { return getOffset() + getBytes(); }
    bool contains(RangeAttr other) const {
      return getSpace() == other.getSpace() && getOffset() <= other.getOffset() && other.getEnd() <= getEnd();
    }
    /// An empty range overlaps none.
    bool overlaps(RangeAttr other) const {
      return getSpace() == other.getSpace() && std::max(getOffset(), other.getOffset()) < std::min(getEnd(), other.getEnd());
    }
  }];
}
def Exec_RangeArray : TypedArrayAttrBase<Exec_RangeAttr, "ranges">;

def Exec_BufferAttr : AttrDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A range of a space, what it is for, of what, and while which ops";
  let description = [{
    `#exec.buffer<gathered "layer3 forward", arena, 0, 512000, during 1 to 5>`. Its owner is what a collective is called, an input's or
    output's name, a storage, or the op that makes what lies there first. Ops are numbered as they stand in the plan, from 0; -1 is before the
    first, when inputs are written, and their number is after the last, when outputs are read.
    - C1: The role is one of `input`, `output`, `activation`, `gathered`, `gradient`, `gradient_shard`, `staging`, `workspace`,
      `accumulator`; it ends no earlier than it begins.
  }];
  let parameters = (ins "::splitcast::exec::Role":$role, "::mlir::StringAttr":$owner, "::splitcast::exec::RangeAttr":$range,
                    "int64_t":$first, "int64_t":$last);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def Exec_BufferArray : TypedArrayAttrBase<Exec_BufferAttr, "buffers">;

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

class Exec_CallAttr<string name, string mnem> : AttrDef<Exec_Dialect, name, [LibraryCallAttrInterface]> {
  let mnemonic = mnem;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  code common = [{
    ::llvm::StringRef getCallName() const;
    ::std::vector<int64_t> getOperandBytes() const;
    double getFlops() const;
  }];
  code noWorkspace = "::std::optional<int64_t> getWorkspace() const { return 0; }";
  let extraClassDeclaration = common;
}

/// Bytes that the plan gives the call besides its operands, as the last buffer; left out where the call's own file in
/// `runtime/host` says how many.
class Exec_OptionalInteger : OptionalParameter<"::std::optional<int64_t>"> {
  let printer = "$_printer << *$_self";
}
def Exec_Workspace : Exec_OptionalInteger;
def Exec_OptionalNumber : Exec_OptionalInteger;

def Exec_F64 : AttrParameter<"::mlir::FloatAttr", "an f64"> {
  let printer = "$_printer.printAttributeWithoutType($_self)";
}

def Exec_MatmulAttr : Exec_CallAttr<"Matmul", "matmul"> {
  let summary = "C [products, m, n] = A [products, m, k] B [products, k, n], product by product";
  let description = [{
    `#exec.matmul<m = 2, n = 6, k = 10, transpose_b = true, type = f32>`. A transposed operand lies as [.., k, m], or [.., n, k].
    - C1: Sizes are at least 0; the type is f16, bf16, f32 or f64; bytes of each operand are at most 2^63 - 1.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "1">:$products, "int64_t":$m, "int64_t":$n, "int64_t":$k,
                    DefaultValuedParameter<"bool", "false">:$transpose_a, DefaultValuedParameter<"bool", "false">:$transpose_b,
                    "::mlir::Type":$type);
  let extraClassDeclaration = common # noWorkspace # [{
    /// The same on elements of another type.
    MatmulAttr withType(::mlir::Type type) const;
  }];
}

def Exec_AttentionAttr : Exec_CallAttr<"Attention", "attention"> {
  let summary = "Scaled dot-product attention, or its gradient";
  let description = [{
    `#exec.attention<samples = 2, positions = 8, keys = 8, heads = 4, width = 16, scale = 0.25, causal = true, type = f32>`. Operands are
    query, key and value, before them for the gradient that of the output, behind them a mask [samples, keys] if there is one; results
    are the output, or the gradients of query, key and value.
    - C1: Sizes are at least 0, and so is a workspace; the scale is an f64; the type is f16, bf16, f32 or f64, that of a mask i32 or
      i64; bytes of each operand are at most 2^63 - 1.
    - C2: So is all that a device needs for the scores [samples, heads, positions, keys] (`AttentionWorkspace.h`).
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$gradient, "int64_t":$samples, "int64_t":$positions, "int64_t":$keys,
                    "int64_t":$heads, "int64_t":$width, Exec_F64:$scale, DefaultValuedParameter<"bool", "false">:$causal,
                    "::mlir::Type":$type, OptionalParameter<"::mlir::Type">:$mask_type, Exec_Workspace:$workspace);
  let extraClassDeclaration = common # [{
    AttentionExtents getExtents() const;
    AttentionAttr withWorkspace(int64_t bytes) const;
    /// The same on elements of another type, with no workspace.
    AttentionAttr withType(::mlir::Type type) const;
  }];
}

def Exec_ConvolutionAttr : Exec_CallAttr<"Convolution", "convolution"> {
  let summary = "A convolution, or the gradient of its input or of its weight";
  let description = [{
    `#exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>`.
    `convolution` makes the output of input and weight, `convolution_data_grad` the input of output and weight, `convolution_weight_grad` the
    weight of output and input: these are its operands, in this order. The weight's channels are those of a group.
    - C1: The call is one of these; the type is f16, bf16 or f32.
    - C2: Shapes have four extents of at least 1, strides, padding and dilation two numbers of at least 1, 0 and 1, all at most 2^31 - 1; bytes of
      each operand are at most 2^63 - 1.
    - C3: The output has the input's samples, the weight's outputs, and as many windows as there are; the weight's channels divide the input's into
      groups, whose number divides the outputs.
  }];
  let parameters = (ins StringRefParameter<"">:$call, "::mlir::DenseI64ArrayAttr":$input, "::mlir::DenseI64ArrayAttr":$weight,
                    "::mlir::DenseI64ArrayAttr":$output, "::mlir::DenseI64ArrayAttr":$strides, "::mlir::DenseI64ArrayAttr":$padding,
                    "::mlir::DenseI64ArrayAttr":$dilation, "::mlir::Type":$type);
  let extraClassDeclaration = common # noWorkspace # [{
    static constexpr ::llvm::StringLiteral kOutput = "convolution", kInput = "convolution_data_grad", kWeight = "convolution_weight_grad";
    int64_t getGroups() const { return getInput()[1] / getWeight()[1]; }
  }];
}

def Exec_EmbeddingGradAttr : Exec_CallAttr<"EmbeddingGrad", "embedding_grad"> {
  let summary = "Adds rows [rows, width] into the rows of a table [vocabulary, width] that indices name, in order";
  let description = [{
    `#exec.embedding_grad<rows = 8, vocabulary = 100, width = 16, type = f32, index_type = i64>`. Operands are the rows and their indices.
    With `first`, the table is a part of a larger one, from that row on; rows that indices elsewhere name are left out.
    - C1: Sizes are at least 0, and so are a workspace and `first`; the type is f16, bf16, f32 or f64, that of indices i32 or i64; bytes of each operand
      are at most 2^63 - 1.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$vocabulary, "int64_t":$width, "::mlir::Type":$type, "::mlir::Type":$index_type,
                    Exec_OptionalNumber:$first, Exec_Workspace:$workspace);
  let extraClassDeclaration = common # "EmbeddingGradAttr withWorkspace(int64_t bytes) const;";
}

def Exec_CheckIndicesAttr : Exec_CallAttr<"CheckIndices", "check_indices"> {
  let summary = "Refuses indices outside of [0, places) that are not `ignored`";
  let description = [{
    `#exec.check_indices<count = 8, places = 100, type = i64, what = "nn.embedding">`. `what` is the op that they are for, in the error.
    - C1: Sizes are at least 0; the type is i32 or i64; bytes of the indices are at most 2^63 - 1.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$places, "::mlir::Type":$type, Exec_OptionalNumber:$ignored, StringRefParameter<"">:$what);
  let extraClassDeclaration = common # noWorkspace;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

def Exec_SpaceOp : Exec_Op<"space", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Memory of the device that plans work in";
  let description = [{
    ```mlir
    exec.space @persistent 256 bytes kept
    exec.space @arena 1024 bytes
    exec.space @shared_dp 128 bytes kept shared by @dp
    ```
    What lies in a space that is `kept` outlives a step: variables, which all functions of the module share. Any other belongs to one step,
    a run of a plan or of a schedule of several; it is as large as the one that needs most of it.
    Ranks of a group that have memory in common may have one copy of a space `shared by` it: storages that they gather. Each writes
    its own block there, and an all-gather moves nothing: it is over when all ranks have begun it. Ranks that have none in common have a copy each.
    - C1: The bytes are not negative.
    - C2: What is shared is kept, and the module has the group.
    - C3: In a shared space lie storages that all-gathers of its group, on one stream, fill as a whole, each with the same blocks; no other
      collective uses them.
    - C4: Nothing is written there but this rank's blocks, by no input either; and a plan that writes one gathers it behind that.
    - C5: Between the write and the end of the gather nothing but this rank's block is read.
    - C6: Ranks meet between the last read and the write: in a collective of the group of which each has a block that is not empty, so that none has
      ended it before all have started it. The first that starts behind the last read has been waited for when this rank writes, and when
      the gather starts. So no rank overwrites what another still reads.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, I64Attr:$bytes, UnitAttr:$kept,
                   OptionalAttr<FlatSymbolRefAttr>:$group);
  let assemblyFormat = "$sym_name $bytes `bytes` (`kept` $kept^)? (`shared` `by` $group^)? attr-dict";
  let hasVerifier = 1;
}

def Exec_StorageOp : Exec_Op<"storage", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Where variables lie at rest";
  let description = [{
    As ccl.storage, with its place: element `offsets[i]` of the range is the first of member i's piece.
    - C1: The range is as large as the tensor, and begins at a multiple of the bytes of its elements.
    - C2: As many offsets as members, each within the tensor; no member twice.
    - C3: It lies within a space; in one that is not kept lies what is carried, and nothing else.
    - C4: Where the module has a member's variable, and says which rank it is for (`ccl.rank`), that rank's piece has the storage's elements
      and lies within it, on none of another member's elements.
    - C5: No other storage of the module has one of its members.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeAttr:$type, Exec_RangeAttr:$range,
                   FlatSymbolRefArrayAttr:$members, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = "$sym_name `:` $type `in` $range `holds` $members `at` $offsets attr-dict";
  let hasVerifier = 1;
}

def Exec_GroupOp : Exec_Op<"group", [Symbol]> {
  let summary = "Ranks that call collectives together, and this rank's place among them";
  let description = [{
    ```mlir
    exec.group @dp ranks [0, 2] index 1
    ```
    Blocks of a collective are in the order of the ranks. An executor makes the communicators of all groups when it binds the plans of
    a module, in an order that is the same on all ranks.
    - C1: `index` is this rank's place; ranks are distinct, and counted from 0.
    - C2: Where the module says which rank it is for (`ccl.rank`), that rank is at `index`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, DenseI64ArrayAttr:$ranks, I64Attr:$index);
  let assemblyFormat = "$sym_name `ranks` $ranks `index` $index attr-dict";
  let hasVerifier = 1;
}

def Exec_PlanOp : Exec_Op<"plan", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
                                  DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                  DeclareOpInterfaceMethods<RunnableOpInterface>]> {
  let summary = "The plan of one function";
  let description = [{
    Inputs and outputs are ranges too, with their global types, which are ranked tensors, and their names.
    - C1: Every range lies within its space, which the module declares; inputs have a type and a name each, and so have outputs. Where the
      module says which rank it is for (`ccl.rank`), and the type where elements lie, the range has that rank's piece.
    - C2: Every collective is waited for once, after it starts, and until then nothing touches its ranges but reads of its
      input.
    - C3: A buffer that is a storage's (its owner) is of role `gathered` or `accumulator`, has the storage's range and lives from -1 to
      the number of ops; what shares bytes with a storage and has its name is that, unless it is an input or output. Every plan of a
      schedule has the storages' buffers that one of them has. So what is carried from run to run lies where no other run writes. Where
      storages lie in spaces that are not kept, the plans of a schedule of several say what their `buffers` are.
    - C4: Where the plan says what its `buffers` are: they lie within spaces that are not kept; no two share a byte at the same op; and
      all that an op uses of these, a collective until its wait, lies in one buffer, which is live then. So no byte is read after another buffer
      took its place.
    - C5: A plan that a schedule runs as `kept` (sbp.run) writes into no space that is kept, but within storages of what is carried: it
      may be left out.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeArrayAttr:$input_types, StrArrayAttr:$input_names, Exec_RangeArray:$inputs,
                   TypeArrayAttr:$output_types, StrArrayAttr:$output_names, Exec_RangeArray:$outputs,
                   OptionalAttr<Exec_BufferArray>:$buffers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Exec_LaunchOp : Exec_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a generated kernel";
  let description = [{
    Ranges in the order of the kernel's arguments: what it only reads, then what it writes. `in_place` has the numbers of
    the written ranges that it reads too, ascending.
    - C1: A written range overlaps no other.
    - C2: `in_place` numbers written ranges, ascending.
    - C3: Where the module of kernels is there, it holds this one.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Exec_RangeArray:$reads, Exec_RangeArray:$writes,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$in_place,
                   DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$kernel `reads` $reads `writes` $writes attr-dict";
  let hasVerifier = 1;
}

def Exec_LibraryOp : Exec_Op<"library"> {
  let summary = "Calls a vendor library";
  let description = [{
    `call` says which, and how: an attribute such as `#exec.matmul<...>`. Its operands are read, its results written, and behind these a
    workspace, if it has one.
    - C1: A written range overlaps no other.
    - C2: Ranges have the bytes that the call says, one for each operand and result; behind them lies a workspace, where the call says how
      large one is, and may lie one, where it does not say.
  }];
  let arguments = (ins LibraryCallAttrInterface:$call, Exec_RangeArray:$reads, Exec_RangeArray:$writes,
                   DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$call `reads` $reads `writes` $writes attr-dict";
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "Copies bytes";
  let description = [{
    - C1: Both ranges have as many bytes, and do not overlap.
  }];
  let arguments = (ins Exec_RangeAttr:$from, Exec_RangeAttr:$to, DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$from `to` $to attr-dict";
  let hasVerifier = 1;
}

def Exec_ClearOp : Exec_Op<"clear"> {
  let summary = "Sets bytes to zero";
  let arguments = (ins Exec_RangeAttr:$range, DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$range attr-dict";
}

def Exec_CollectiveKindAttr : AttrDef<Exec_Dialect, "CollectiveKind"> {
  let mnemonic = "collective_kind";
  let summary = "Which collective it is, a keyword";
  let description = [{
    - C1: The kind is one of `all_gather`, `reduce_scatter`, `all_reduce`, `all_to_all`.
  }];
  let parameters = (ins "::splitcast::ccl::CollectiveKind":$value);
  let hasCustomAssemblyFormat = 1;
}

def Exec_CollectiveOp : Exec_Op<"collective", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Starts a collective; exec.wait with its ticket ends it";
  let description = [{
    All_gather and all_reduce work in place on `data`; reduce_scatter leaves this rank's block of the sum in `output`, outside of `data`
    or where that block is there, and the rest of `data` holds no meaning after; all_to_all goes from `data` to `output`. `blocks` are
    elements: a list by rank of the group, or one number that is every rank's. It starts when what was enqueued before it on the stream
    `compute` has been done.
    - C1: `output` belongs to reduce_scatter and all_to_all, `received` to the latter; a written range overlaps no other; what is added
      are floats.
    - C2: The module has the group; there is one block per rank, on either side; an all_reduce has one number.
    - C3: `data` and `output` hold the blocks; an output within `data` is this rank's block of it.
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, StrAttr:$what, Exec_RangeAttr:$data, OptionalAttr<Exec_RangeAttr>:$output,
                   OptionalAttr<Exec_RangeAttr>:$workspace, FlatSymbolRefAttr:$group, DenseI64ArrayAttr:$blocks,
                   OptionalAttr<DenseI64ArrayAttr>:$received, TypeAttr:$type, I64Attr:$ticket,
                   DefaultValuedStrAttr<StrAttr, "communication">:$stream);
  let assemblyFormat = "custom<Kind>($kind) $what `in` $group `ticket` $ticket attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    const ::splitcast::ccl::CollectiveRule &getRule() { return ::splitcast::ccl::ruleOf(getKind().getValue()); }
    /// Whether `output` is this rank's block of `data`.
    bool isInPlace();
  }];
}

def Exec_WaitOp : Exec_Op<"wait"> {
  let summary = "Later work of the stream `compute` runs after the collective with this ticket";
  let arguments = (ins I64Attr:$ticket, DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$ticket attr-dict";
}

#endif // SPLITCAST_DIALECTS_EXEC_EXEC_TD
