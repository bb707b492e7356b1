//===- Exec.td - The plan: kernels, copies and collectives on byte ranges ------===//
// Level     plan, the lowest. The executor runs it op by op and reads nothing else.
// Value     none: ops name byte ranges.
// Decided   everything: kernels and their order, streams and events, where each tensor lies.
// Not yet   the addresses that spaces begin at.
//
// A module declares its spaces, and ranges name them. A space that is kept is shared by all functions and holds the
// variables; any other belongs to one run of one function, and the next run may overwrite it. The peak is the sum of
// the bytes of all spaces. The ranks of a machine may have one copy of a space that is shared.
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
  let summary = "The plan of one rank";
  let cppNamespace = "::splitcast::exec";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::splitcast::sbp::SbpDialect"];
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_RangeAttr : AttrDef<Exec_Dialect, "Range"> {
  let mnemonic = "range";
  let summary = "Bytes [offset, offset + bytes) of a space";
  let description = [{
    `#exec.range<arena, 64, 128>` is a range of 128 bytes, from byte 64 on, of the space that the module declares as
    `@arena`.
    - C1: Offset and bytes are not negative, and their sum is at most 2^63 - 1.
  }];
  let parameters = (ins "::mlir::StringAttr":$space, "int64_t":$offset, "int64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getEnd() const { return getOffset() + getBytes(); }
    bool contains(RangeAttr other) const {
      return getSpace() == other.getSpace() && getOffset() <= other.getOffset() && other.getEnd() <= getEnd();
    }
    /// An empty range overlaps no other.
    bool overlaps(RangeAttr other) const {
      return getSpace() == other.getSpace() &&
             std::max(getOffset(), other.getOffset()) < std::min(getEnd(), other.getEnd());
    }
  }];
}
def Exec_RangeArray : TypedArrayAttrBase<Exec_RangeAttr, "ranges">;

def Exec_BufferAttr : AttrDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A range of a space, with its role, its owner and the ops during which it is live";
  let description = [{
    An example is `#exec.buffer<gathered "layer3 forward", arena, 0, 512000, during 1 to 5>`. The owner is the name of a
    collective, of an input or output, or of a storage, or the op that makes the first value in the buffer. Ops are
    numbered in the order of the plan, from 0; -1 is before the first op, when inputs are written, and the number of ops
    is after the last, when outputs are read.
    - C1: The role is one of `input`, `output`, `activation`, `gathered`, `gradient`, `gradient_shard`, `staging`,
      `workspace`, `accumulator`; the last op is not before the first.
  }];
  let parameters = (ins "::splitcast::exec::Role":$role, "::mlir::StringAttr":$owner,
                        "::splitcast::exec::RangeAttr":$range, "int64_t":$first, "int64_t":$last);
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

/// The bytes that the plan gives the call besides its operands, as the last buffer. It is absent where the call's own
/// file in `runtime/host` computes them.
class Exec_OptionalInteger : OptionalParameter<"::std::optional<int64_t>"> {
  let printer = "$_printer << *$_self";
}
def Exec_Workspace : Exec_OptionalInteger;
def Exec_OptionalNumber : Exec_OptionalInteger;

def Exec_F64 : AttrParameter<"::mlir::FloatAttr", "an f64"> {
  let printer = "$_printer.printAttributeWithoutType($_self)";
}

def Exec_MatmulAttr : Exec_CallAttr<"Matmul", "matmul"> {
  let summary = "A batched matrix product, C [products, m, n] = A [products, m, k] B [products, k, n]";
  let description = [{
    An example is `#exec.matmul<m = 2, n = 6, k = 10, transpose_b = true, type = f32>`. A transposed operand has the
    shape [.., k, m], or [.., n, k].
    - C1: Sizes are at least 0; the type is f16, bf16, f32 or f64; bytes of each operand are at most 2^63 - 1.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "1">:$products, "int64_t":$m, "int64_t":$n, "int64_t":$k,
                        DefaultValuedParameter<"bool", "false">:$transpose_a,
                        DefaultValuedParameter<"bool", "false">:$transpose_b, "::mlir::Type":$type);
  let extraClassDeclaration = common # noWorkspace # [{
    /// The same call with another element type.
    MatmulAttr withType(::mlir::Type type) const;
  }];
}

def Exec_AttentionAttr : Exec_CallAttr<"Attention", "attention"> {
  let summary = "Scaled dot-product attention, or its gradient";
  let description = [{
    An example is
    `#exec.attention<samples = 2, positions = 8, keys = 8, heads = 4, width = 16, scale = 0.25, causal = true, type =
    f32>`. The operands are query, key and value. For the gradient, that of the output comes before them; if there is a
    mask [samples, keys], it comes after them. The result is the output; the results of the gradient are the gradients
    of query, key and value. With `statistics`, attention has a second result, the logarithms of the sums of exp(scaled
    score) [samples, heads, positions], in f64 if the type is f64, else in f32; the gradient has the output and these as
    its last operands.
    - C1: Sizes and the workspace are at least 0; the scale is an f64; the type is f16, bf16, f32 or f64, and that of a
      mask is i32 or i64; each operand has at most 2^63 - 1 bytes.
    - C2: All memory that a device needs for the scores [samples, heads, positions, keys] has at most 2^63 - 1 bytes
      (`AttentionWorkspace.h`).
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$gradient, "int64_t":$samples, "int64_t":$positions,
                        "int64_t":$keys, "int64_t":$heads, "int64_t":$width, Exec_F64:$scale,
                        DefaultValuedParameter<"bool", "false">:$causal, "::mlir::Type":$type,
                        OptionalParameter<"::mlir::Type">:$mask_type,
                        DefaultValuedParameter<"bool", "false">:$statistics, Exec_Workspace:$workspace);
  let extraClassDeclaration = common # [{
    AttentionExtents getExtents() const;
    AttentionAttr withWorkspace(int64_t bytes) const;
    /// The same call with another element type, and without a workspace.
    AttentionAttr withType(::mlir::Type type) const;
  }];
}

def Exec_ConvolutionAttr : Exec_CallAttr<"Convolution", "convolution"> {
  let summary = "A convolution, or the gradient of its input or of its weight";
  let description = [{
    An example is
    `#exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5],
    strides = [2, 2], padding = [1, 1], dilation = [1, 1], type =
    f32>`. `convolution` computes the output from input and weight, `convolution_data_grad` the input's gradient from
    output and weight, and `convolution_weight_grad` the weight's gradient from output and input; the operands are in
    this order. The weight's channels are those of one group.
    - C1: The call is one of these three; the type is f16, bf16 or f32; the workspace is at least 0.
    - C2: Shapes have four extents of at least 1; strides, padding and dilation have two numbers each, of at least 1, 0
      and 1; all are at most 2^31 - 1. Each operand has at most 2^63 - 1 bytes.
    - C3: The output has the number of samples of the input, the number of outputs of the weight, and the number of
      windows along each dimension; the weight's channels divide the input's into groups, whose number divides the
      outputs.
  }];
  let parameters = (ins StringRefParameter<"">:$call, "::mlir::DenseI64ArrayAttr":$input,
                        "::mlir::DenseI64ArrayAttr":$weight, "::mlir::DenseI64ArrayAttr":$output,
                        "::mlir::DenseI64ArrayAttr":$strides, "::mlir::DenseI64ArrayAttr":$padding,
                        "::mlir::DenseI64ArrayAttr":$dilation, "::mlir::Type":$type, Exec_Workspace:$workspace);
  let extraClassDeclaration = common # [{
    ConvolutionAttr withWorkspace(std::optional<int64_t> bytes) const;
    static constexpr ::llvm::StringLiteral kOutput = "convolution", kInput = "convolution_data_grad",
                                           kWeight = "convolution_weight_grad";
    int64_t getGroups() const { return getInput()[1] / getWeight()[1]; }
  }];
}

def Exec_EmbeddingGradAttr : Exec_CallAttr<"EmbeddingGrad", "embedding_grad"> {
  let summary = "Sums rows [rows, width] into those rows of a table [vocabulary, width] that indices name, in order";
  let description = [{
    An example is `#exec.embedding_grad<rows = 8, vocabulary = 100, width = 16, type = f32, index_type = i64>`. The
    operands are the rows and their indices. With `first`, the table is a part of a larger one and begins at that row;
    rows whose index lies outside of the part are left out.
    - C1: Sizes, the workspace and `first` are at least 0; the type is f16, bf16, f32 or f64, and that of the indices is
      i32 or i64; each operand has at most 2^63 - 1 bytes.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$vocabulary, "int64_t":$width, "::mlir::Type":$type,
                        "::mlir::Type":$index_type, Exec_OptionalNumber:$first, Exec_Workspace:$workspace);
  let extraClassDeclaration = common # "EmbeddingGradAttr withWorkspace(int64_t bytes) const;";
}

def Exec_CheckIndicesAttr : Exec_CallAttr<"CheckIndices", "check_indices"> {
  let summary = "Fails on an index outside of [0, places) that is not `ignored`";
  let description = [{
    An example is `#exec.check_indices<count = 8, places = 100, type = i64, what = "nn.embedding">`. The error names the
    op `what` that uses the indices.
    - C1: Sizes are at least 0; the type is i32 or i64; the indices have at most 2^63 - 1 bytes.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$places, "::mlir::Type":$type, Exec_OptionalNumber:$ignored,
                        StringRefParameter<"">:$what);
  let extraClassDeclaration = common # noWorkspace;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

def Exec_SpaceOp : Exec_Op<"space", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Memory of the device that plans use";
  let description = [{
    ```mlir
    exec.space @persistent 256 bytes kept
    exec.space @arena 1024 bytes
    exec.space @shared_dp 128 bytes kept shared by @dp
    ```
    The contents of a `kept` space outlive a step: they are variables, which all functions of the module share. Any
    other space belongs to one step, which is a run of a plan or of a schedule of several plans; it is as large as the
    step that needs most of it. Ranks of a group that have memory in common may have one copy of a space `shared by` the
    group; it has storages that they gather. Each rank writes its own block there, and an all-gather moves nothing: it
    ends when all ranks have begun it. Ranks that have no memory in common have a copy each.
    - C1: The number of bytes is not negative.
    - C2: A shared space is kept, and the module has the group.
    - C3: A shared space holds storages that all-gathers of its group, on one stream, fill as a whole, each with the
      same blocks; no other collective uses them.
    - C4: Only this rank's blocks are written there, and not by an input; a plan that writes one gathers it after the
      write.
    - C5: Between the write and the end of the gather, only this rank's block is read.
    - C6: Ranks meet between the last read and the write. They meet in a collective of the group, of any kind but
      all_to_all, in which every rank has a block that is not empty: no rank ends it before all have started it. The
      first such collective that starts after the last read has been waited for before this rank writes, and before the
      gather starts. So no rank overwrites bytes that another still reads.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, I64Attr:$bytes, UnitAttr:$kept,
                   OptionalAttr<FlatSymbolRefAttr>:$group);
  let assemblyFormat = "$sym_name $bytes `bytes` (`kept` $kept^)? (`shared` `by` $group^)? attr-dict";
  let hasVerifier = 1;
}

def Exec_StorageOp : Exec_Op<"storage", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Where variables are stored";
  let description = [{
    It is a ccl.storage with its place in memory: element `offsets[i]` of the range is the first of member i's piece.
    ```mlir
    exec.storage @layer0 : tensor<32xf32> in #exec.range<persistent, 64, 128> holds [@w, @b] at [0, 24]
    ```
    - C1: The range is as large as the tensor, and begins at a multiple of the bytes of its elements.
    - C2: There are as many offsets as members, each within the tensor; no member is there twice.
    - C3: The range lies within a space; a space that is not kept holds carried variables, and no others.
    - C4: Where the module has a member's variable, and says which rank it is for (`ccl.rank`), that rank's piece has
      the storage's element type, lies within the storage, and overlaps no other member.
    - C5: No other storage of the module has one of its members.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeAttr:$type,
                       Exec_RangeAttr:$range, FlatSymbolRefArrayAttr:$members, DenseI64ArrayAttr:$offsets);
  let assemblyFormat = "$sym_name `:` $type `in` $range `holds` $members `at` $offsets attr-dict";
  let hasVerifier = 1;
}

def Exec_GroupOp : Exec_Op<"group", [Symbol]> {
  let summary = "Ranks that call collectives together, and this rank's place among them";
  let description = [{
    ```mlir
    exec.group @dp ranks [0, 2] index 1
    ```
    The blocks of a collective are in the order of the ranks. An executor creates the communicators of all groups when
    it binds the plans of a module, in an order that is the same on all ranks.
    - C1: `index` is this rank's position in the list; ranks are distinct and not negative.
    - C2: Where the module says which rank it is for (`ccl.rank`), that rank is at `index`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, DenseI64ArrayAttr:$ranks,
                       I64Attr:$index);
  let assemblyFormat = "$sym_name `ranks` $ranks `index` $index attr-dict";
  let hasVerifier = 1;
}

def Exec_PlanOp : Exec_Op<"plan", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
                                  DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                  DeclareOpInterfaceMethods<RunnableOpInterface>]> {
  let summary = "The plan of one function";
  let description = [{
    Inputs and outputs are ranges, too, with their global types, which are ranked tensors, and their names.
    ```mlir
    exec.plan @train attributes {
      input_types = [tensor<4xf32>], input_names = ["x"], inputs = [#exec.range<arena, 0, 16>],
      output_types = [tensor<4xf32>], output_names = ["y"], outputs = [#exec.range<arena, 64, 16>]} {
      exec.clear <arena, 128, 64>
      exec.copy <persistent, 64, 64> to <arena, 128, 64>
    }
    ```
    - C1: Every range lies within its space, which the module declares; each input and output has a type and a name.
      Where the module says which rank it is for (`ccl.rank`), and the type has a signature, the range has the bytes of
      that rank's piece.
    - C2: Every collective is waited for once, after it starts; until then no op uses its ranges, except to read its
      input.
    - C3: A buffer that has the name of a storage as its owner, and bytes of it, is the storage's: it has the storage's
      range and the role `gathered` or `accumulator`, and is live from -1 to the number of ops. (Inputs and outputs are
      excepted, since users choose their names.) If one plan of a schedule has a storage's buffer, all its plans have
      it, so that no run overwrites a value that is carried from run to run. Where storages lie in spaces that are not
      kept, the plans of a schedule of several plans therefore list their `buffers`.
    - C4: Where the plan lists its `buffers`, they lie within spaces that are not kept; no two share a byte at the same
      op; and each range of these spaces that an op uses (a collective uses its ranges until its wait) lies in one
      buffer, which is live then. So no byte is read after another buffer has taken its place.
    - C5: A plan that a schedule runs as `kept` (sbp.run) writes into no space that is kept, except within storages of
      carried variables: so it may be left out.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$sym_visibility, TypeArrayAttr:$input_types,
                       StrArrayAttr:$input_names, Exec_RangeArray:$inputs, TypeArrayAttr:$output_types,
                       StrArrayAttr:$output_names, Exec_RangeArray:$outputs, OptionalAttr<Exec_BufferArray>:$buffers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Exec_LaunchOp : Exec_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a generated kernel";
  let description = [{
    The ranges are in the order of the kernel's arguments: first those that it only reads, then those that it writes;
    the last written range is the workspace, if the kernel has one.
    `in_place` has the numbers of the written ranges that it also reads, ascending. The `stream` of this op, as of
    library, copy, clear and wait, is `compute`: the executor runs them there whatever the attribute says.
    ```mlir
    exec.launch @kernels::@k0 reads [#exec.range<arena, 0, 16>] writes [#exec.range<arena, 64, 16>]
    ```
    - C1: A written range overlaps no other.
    - C2: `in_place` has numbers of written ranges, ascending.
    - C3: Where the plan has a module of kernels, it contains this kernel.
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
    `call` says which function is called, and how: it is an attribute such as `#exec.matmul<...>`. The call reads its
    operands and writes its results; the last written range is the workspace, if it has one.
    ```mlir
    exec.library #exec.matmul<m = 2, n = 2, k = 2, transpose_b = true, type = f32> reads [#exec.range<persistent, 0, 16>, #exec.range<persistent, 0, 16>] writes [#exec.range<arena, 64, 16>]
    ```
    - C1: A written range overlaps no other.
    - C2: There is one range for each operand and result, with the bytes that the call gives; after them comes a
      workspace, where the call gives its size, and one may come, where the call does not.
  }];
  let arguments = (ins LibraryCallAttrInterface:$call, Exec_RangeArray:$reads, Exec_RangeArray:$writes,
                   DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$call `reads` $reads `writes` $writes attr-dict";
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "Copies bytes";
  let description = [{
    ```mlir
    exec.copy <persistent, 64, 64> to <arena, 128, 64>
    ```
    - C1: Both ranges have the same number of bytes, and do not overlap.
  }];
  let arguments = (ins Exec_RangeAttr:$from, Exec_RangeAttr:$to, DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$from `to` $to attr-dict";
  let hasVerifier = 1;
}

def Exec_ClearOp : Exec_Op<"clear"> {
  let summary = "Sets bytes to zero";
  let description = [{
    ```mlir
    exec.clear <arena, 128, 64>
    ```
  }];
  let arguments = (ins Exec_RangeAttr:$range, DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$range attr-dict";
}

def Exec_CollectiveKindAttr : AttrDef<Exec_Dialect, "CollectiveKind"> {
  let mnemonic = "collective_kind";
  let summary = "The kind of a collective, a keyword";
  let description = [{
    - C1: The kind is the name of a collective of `ccl`, such as `all_gather`.
  }];
  let parameters = (ins "::splitcast::ccl::CollectiveKind":$value);
  let hasCustomAssemblyFormat = 1;
}

def Exec_CollectiveOp : Exec_Op<"collective", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Starts a collective; exec.wait with its ticket ends it";
  let description = [{
    A reduce_scatter leaves this rank's block of the sum in `output`, which lies outside of `data` or is this rank's
    block of it; the rest of `data` is undefined afterwards. An all_to_all reads `data` and writes `output`. Others work
    in place on `data`. `blocks` are numbers of elements: a list with one per rank of the group, or one number for every
    rank. The collective starts when all earlier work on the stream `compute` is done.
    `ticket` names it until its exec.wait: no two collectives of a plan that are under way at the same time have the
    same ticket, and each plan counts its own. `stream` may be any name; collectives of one group and stream run in
    order, on a communicator of their own. 'exec-lower' writes `communication` on CPUs; on GPUs `reduce_scatter` for
    sums and `all_gather` for the others, so that a gather need not wait for sums.
    ```mlir
    exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 64>, type = f32}
    exec.wait 0
    ```
    - C1: Only reduce_scatter and all_to_all have `output`, and only the latter has `received`; a written range overlaps
      no other; elements that are summed are floats.
    - C2: The module has the group; `blocks` and `received` have one block per rank; whole tensors have one number.
    - C3: `data` and `output` have the bytes of the blocks; an output within `data` is this rank's block of it.
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, StrAttr:$what, Exec_RangeAttr:$data,
                       OptionalAttr<Exec_RangeAttr>:$output, OptionalAttr<Exec_RangeAttr>:$workspace,
                       FlatSymbolRefAttr:$group, DenseI64ArrayAttr:$blocks, OptionalAttr<DenseI64ArrayAttr>:$received,
                       TypeAttr:$type, I64Attr:$ticket, DefaultValuedStrAttr<StrAttr, "communication">:$stream);
  let assemblyFormat = "custom<Kind>($kind) $what `in` $group `ticket` $ticket attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    const ::splitcast::ccl::CollectiveRule &getRule() { return ::splitcast::ccl::ruleOf(getKind().getValue()); }
    /// Whether `output` is this rank's block of `data`.
    bool isInPlace();
  }];
}

def Exec_WaitOp : Exec_Op<"wait"> {
  let summary = "Makes later work of the stream `compute` run after the collective with this ticket";
  let description = [{
    ```mlir
    exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 64>, type = f32}
    exec.wait 0
    ```
  }];
  let arguments = (ins I64Attr:$ticket, DefaultValuedStrAttr<StrAttr, "compute">:$stream);
  let assemblyFormat = "$ticket attr-dict";
}

#endif // SPLITCAST_DIALECTS_EXEC_EXEC_TD
