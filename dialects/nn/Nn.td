//===- Nn.td - The ops of a training graph ------------------------------------===//
// Level     global (tensors with a signature) and local (a rank's piece, without a signature): an op means the same on
//           both, since its meaning depends only on the types of its operands and results.
// Value     a tensor.
// Decided   what is computed.
// Not yet   how ops are fused into kernels, which run in a vendor library, where tensors lie.
//
// The .cc file of an op's family defines all of the op: its shape rule, its signature rule (loop factors and linear
// sets), its gradient, its FLOPs, and its meaning as linalg.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NN_TD
#define SPLITCAST_DIALECTS_NN_NN_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/NnInterfaces.td"
include "dialects/sbp/SbpInterfaces.td"
include "dialects/sbp/SbpBase.td"

def Nn_Dialect : Dialect {
  let name = "nn";
  let summary = "The ops of a training graph";
  let cppNamespace = "::splitcast::nn";
  let hasOperationInterfaceFallback = 1;
  let dependentDialects = ["::splitcast::exec::ExecDialect", "::splitcast::sbp::SbpDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr, ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

class Nn_TensorOf<string elements, string summary> : Type<And<[AnyRankedTensor.predicate,
  CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).hasStaticShape()">,
  CPred<"::splitcast::nn::" # elements # "(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">]>,
  "a statically shaped tensor of " # summary, "::mlir::RankedTensorType">;
def Nn_Tensor : Nn_TensorOf<"isElement", "f16, bf16, f32, f64, i32 or i64">;
def Nn_FloatTensor : Nn_TensorOf<"isFloatElement", "f16, bf16, f32 or f64">;
def Nn_DoubleTensor : Nn_TensorOf<"isDoubleElement", "f64">;
def Nn_IndexTensor : Nn_TensorOf<"isIndexElement", "i32 or i64">;

/// What a norm adds to a variance.
def Nn_EpsilonAttr : ConfinedAttr<F64Attr, [AttrConstraint<
  CPred<"::llvm::cast<::mlir::FloatAttr>($_self).getValue().isFinite() && ::llvm::cast<::mlir::FloatAttr>($_self).getValueAsDouble() >= 0">,
  "that is finite and at least 0">]>;

class Nn_Op<string mnemonic, list<Trait> traits = []> : Op<Nn_Dialect, mnemonic, traits>;

/// A pure function of tensors. Shapes are verified before signatures, whose rules rely on them. A builder without a
/// result type infers it; the type is undecided.
class Nn_ComputeOp<string mnemonic, list<Trait> traits = []>
    : Nn_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<ComputeOpInterface>,
                                   DeclareOpInterfaceMethods<ShardingOpInterface>], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

defvar Differentiable = DeclareOpInterfaceMethods<GradientOpInterface>;
defvar Library = DeclareOpInterfaceMethods<ComputeOpInterface, ["getLibraryCall"]>;
defvar Indexed = DeclareOpInterfaceMethods<ComputeOpInterface, ["getIndexOperands"]>;
/// The element type of an elementwise op's result differs from that of its operands.
def ConvertsElements : NativeOpTrait<"ConvertsElements"> { let cppNamespace = "::splitcast::nn"; }
/// Differentiation treats the op's results as constants.
def StopsGradient : NativeOpTrait<"StopsGradient"> { let cppNamespace = "::splitcast::nn"; }
// Traits that 'nn-mixed-precision' reads.
def ProductOp : NativeOpTrait<"ProductOp"> { let cppNamespace = "::splitcast::nn"; }
def WideOp : NativeOpTrait<"WideOp"> { let cppNamespace = "::splitcast::nn"; }
def WideResultOp : NativeOpTrait<"WideResultOp"> { let cppNamespace = "::splitcast::nn"; }
defvar IndexedLibrary = DeclareOpInterfaceMethods<ComputeOpInterface, ["getIndexOperands", "getLibraryCall"]>;

// Ops by theme, which use the classes above.
include "dialects/nn/NnElementwise.td"
include "dialects/nn/NnExact.td"
include "dialects/nn/NnShape.td"

//===----------------------------------------------------------------------===//
// Reductions, products and lookups
//===----------------------------------------------------------------------===//

def Nn_ReduceSumOp : Nn_ComputeOp<"reduce_sum", [Differentiable, WideOp]> {
  let summary = "Sum over dimensions, which the result does not have";
  let description = [{
    A mean is a sum followed by nn.scale by 1 / (the *global* count), so that it is correct on every piece.
    ```mlir
    %reduce_sum = nn.reduce_sum %x {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
    ```
    - C1: `dims` are ascending dimensions of the operand.
  }];
  let arguments = (ins Nn_FloatTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims)>];
}

def Nn_MatmulOp : Nn_ComputeOp<"matmul", [Differentiable, Library, ProductOp]> {
  let summary = "Matrix products, of which either operand may be transposed";
  let description = [{
    ```mlir
    %c = nn.matmul %a, %b {transpose_b} : (tensor<32x64xf32>, tensor<128x64xf32>) -> tensor<32x128xf32>
    ```
    Dimensions before the last two are batch dimensions: there is one product for each of their indices. All products
    count, 0 times infinity as NaN. A sum of large numbers that is infinite in one order may be finite in another.
    - C1: Both have one element type, equally many dimensions (at least two), and equal extents before the last two.
    - C2: The contracted extents agree.
  }];
  let arguments = (ins Nn_FloatTensor:$lhs, Nn_FloatTensor:$rhs, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, CArg<"bool", "false">:$transposeA,
                             CArg<"bool", "false">:$transposeB)>];
}

include "dialects/nn/NnIndexed.td"
include "dialects/nn/NnWindows.td"
include "dialects/nn/NnRows.td"

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def Nn_DropoutOp : Nn_ComputeOp<"dropout", [Differentiable, DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "0 with probability `rate`, else x / (1 - rate)";
  let description = [{
    What is dropped is multiplied by 0, as in PyTorch: a NaN or an infinity gives NaN, and a negative number -0.
    Whether an element is dropped depends only on the key and on the element's index in the *global* tensor. So the
    result is the same however the tensor is split, and when the op is computed twice; its gradient uses the same op.
    The key is an operand that must differ for each step and each op. The Graph API makes it of the variables
    random.seed and random.step and the number of the op: seed * 2^36 + step * 2^16 + number, modulo 2^64
    (compiler/graph/GraphRandom.cc); in a program written as IR, the author provides it. All micro-batches of a step
    have the same key; `from` distinguishes them. 'sbp-localize' sets `offsets` and `global_shape`: where the rank's
    piece begins, and the shape of the tensor that it is a piece of. `from`, which 'sbp-split-steps' sets, is added to
    the index: it is the number of elements that are before the micro-batch in the batch.
    ```mlir
    %dropout = nn.dropout %x, %key {rate = 0.125 : f64} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
    ```
    - C1: 0 <= rate < 1.
    - C2: The key is one i64.
    - C3: `from`, if present, is one i64.
    - C4: `offsets` and `global_shape`, if present, have an entry per dimension, and the operand lies within that shape.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_IndexTensor:$key, Optional<Nn_IndexTensor>:$from, F64Attr:$rate,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets, OptionalAttr<DenseI64ArrayAttr>:$global_shape);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$key, "double":$rate)>];
}

def Nn_UniformOp : Nn_ComputeOp<"uniform", [StopsGradient, DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "Random numbers, evenly distributed from 0 up to, but not including, 1";
  let description = [{
    The result has the operand's shape, type and signature; the values of the operand are not read. A number has 24
    random bits, and 32 in f64. (In bf16 and f16 it is rounded, so that there may be a 1.) It depends only on the key
    and on the element's index in the *global* tensor, as nn.dropout says, which also describes `key`, `from`, `offsets`
    and `global_shape`.
    ```mlir
    %uniform = nn.uniform %x, %key : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
    ```
    - C1: The key is one i64.
    - C2: `from`, if present, is one i64.
    - C3: `offsets` and `global_shape`, if present, have an entry per dimension, and the operand lies within that shape.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_IndexTensor:$key, Optional<Nn_IndexTensor>:$from,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets, OptionalAttr<DenseI64ArrayAttr>:$global_shape);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$key)>];
}

include "dialects/nn/NnTraining.td"

//===----------------------------------------------------------------------===//
// Fusions
//===----------------------------------------------------------------------===//

def Nn_FusionOp : Nn_Op<"fusion", [SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "A group of ops that one kernel computes";
  let description = [{
    A fusion exists only at the local level. The region's arguments are the operands, and the values that it yields are
    the results. Intermediate values are never stored.
    ```mlir
    %y, %sums = nn.fusion(%x) : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
    ^bb0(%a: tensor<4x3xf32>):
      %r = nn.relu %a : (tensor<4x3xf32>) -> tensor<4x3xf32>
      %s = nn.reduce_sum %r {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
      nn.yield %r, %s : tensor<4x3xf32>, tensor<4xf32>
    }
    ```
    - C1: The region has one block; its arguments have the operands' types, and it ends in nn.yield of the results'
      types.
    - C2: It contains only ops with ComputeOpInterface.
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs);
  let results = (outs Variadic<Nn_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
}

def Nn_YieldOp : Nn_Op<"yield", [Pure, Terminator, ParentOneOf<["FusionOp"]>]> {
  let summary = "The results of a fusion";
  let description = [{
    ```mlir
    nn.yield %r, %s : tensor<4x3xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // SPLITCAST_DIALECTS_NN_NN_TD
