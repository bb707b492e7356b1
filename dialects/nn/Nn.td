//===- Nn.td - The ops of a training graph ------------------------------------===//
//
// Level     global (tensors with a signature) and local (a rank's piece, no signature): an op means the same on both, since
//           its meaning depends on its operands' and results' types only.
// Value     a tensor.
// Decided   what is computed.
// Not yet   how ops are fused into kernels, which run in a vendor library, where tensors lie.
//
// Each op says in one place, the .cc file of its family: its shape rule, its signature rule (loop factors and linear sets),
// its gradient, its FLOPs, and its meaning as linalg.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NN_TD
#define SPLITCAST_DIALECTS_NN_NN_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
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

class Nn_Op<string mnemonic, list<Trait> traits = []> : Op<Nn_Dialect, mnemonic, traits>;

/// A pure function of tensors. Shapes are verified before signatures, whose rules rely on them. Without a result type given, the builder infers it, undecided.
class Nn_ComputeOp<string mnemonic, list<Trait> traits = []>
    : Nn_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<ComputeOpInterface>,
                                   DeclareOpInterfaceMethods<ShardingOpInterface>], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

defvar Differentiable = DeclareOpInterfaceMethods<GradientOpInterface>;
defvar Library = DeclareOpInterfaceMethods<ComputeOpInterface, ["getLibraryCall"]>;
defvar Indexed = DeclareOpInterfaceMethods<ComputeOpInterface, ["getIndexOperands"]>;
/// The element type of an elementwise op's result is not its operands'.
def ConvertsElements : NativeOpTrait<"ConvertsElements"> { let cppNamespace = "::splitcast::nn"; }
/// Its results depend on no variable, as far as a loss is differentiated.
def StopsGradient : NativeOpTrait<"StopsGradient"> { let cppNamespace = "::splitcast::nn"; }
// What 'nn-mixed-precision' asks of an op.
def ProductOp : NativeOpTrait<"ProductOp"> { let cppNamespace = "::splitcast::nn"; }
def WideOp : NativeOpTrait<"WideOp"> { let cppNamespace = "::splitcast::nn"; }
def WideResultOp : NativeOpTrait<"WideResultOp"> { let cppNamespace = "::splitcast::nn"; }
defvar IndexedLibrary = DeclareOpInterfaceMethods<ComputeOpInterface, ["getIndexOperands", "getLibraryCall"]>;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// `linearSets` as C++: the sets of operands in which the op is linear, e.g. {{{0, 1}, {}}}. Dimensions of operands are
/// aligned at the right; one that is missing or 1 is broadcast. The .cc file gives buildScalar, which computes one element,
/// and buildGradient.
class Nn_Elementwise<string mnemonic, string linearSets, list<Trait> traits = []> : Nn_ComputeOp<mnemonic, traits> {
  let extraClassDeclaration = [{
    /// One element of the result from one of each operand.
    ::mlir::Value buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange elements);
  }];
  let extraClassDefinition = [{
    ::splitcast::sbp::LoopSpec $cppClass::getLoopSpec() { return elementwiseLoopSpec(*this, }] # linearSets # [{); }
    ::mlir::LogicalResult $cppClass::inferResultTypes(::llvm::SmallVectorImpl<::mlir::RankedTensorType> &types) {
      return inferElementwiseTypes(*this, types);
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::lowerToLinalg(::mlir::OpBuilder &builder, ::mlir::ValueRange operands) {
      auto scalar = [this](::mlir::OpBuilder &b, ::mlir::Location loc, ::mlir::ValueRange elements) {
        return buildScalar(b, loc, elements);
      };
      return {lowerElementwise(*this, builder, operands, scalar)};
    }
    int64_t $cppClass::getFlops() { return ::splitcast::sbp::numElements(::splitcast::sbp::shapeOf(getResult().getType())); }
  }];
  let results = (outs Nn_Tensor:$result);
}

class Nn_Binary<string mnemonic, string linearSets> : Nn_Elementwise<mnemonic, linearSets, [Differentiable]> {
  let arguments = (ins Nn_Tensor:$lhs, Nn_Tensor:$rhs);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, elementwiseResultType({lhs, rhs}), lhs, rhs);
  }]>];
}

class Nn_Unary<string mnemonic, string linearSets, list<Trait> traits = []>
    : Nn_Elementwise<mnemonic, linearSets, !listconcat([Differentiable], traits)> {
  let arguments = (ins Nn_FloatTensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({input}), input);
  }]>];
}

def Nn_AddOp : Nn_Binary<"add", "{{{0, 1}, {}}}"> { let summary = "lhs + rhs"; }
def Nn_SubOp : Nn_Binary<"sub", "{{{0, 1}, {}}}"> { let summary = "lhs - rhs"; }
def Nn_MulOp : Nn_Binary<"mul", "{{{0}, {}}, {{1}, {}}}"> { let summary = "lhs * rhs"; }
def Nn_DivOp : Nn_Binary<"div", "{{{0}, {}}}"> {
  let summary = "lhs / rhs";
  let description = [{
    Integers are rounded towards zero. As in NumPy, what is divided by 0 gives 0, and the least integer by -1 itself.
  }];
}

def Nn_NegOp : Nn_Unary<"neg", "{{{0}, {}}}"> { let summary = "-x"; }
def Nn_ExpOp : Nn_Unary<"exp", "{}", [WideOp]> { let summary = "e to the x"; }
def Nn_LogOp : Nn_Unary<"log", "{}", [WideOp]> { let summary = "natural logarithm"; }
def Nn_SqrtOp : Nn_Unary<"sqrt", "{}", [WideOp]> { let summary = "square root"; }
def Nn_TanhOp : Nn_Unary<"tanh", "{}"> { let summary = "hyperbolic tangent"; }
def Nn_SinOp : Nn_Unary<"sin", "{}", [WideOp]> { let summary = "sine of x radians, right for large x too"; }
def Nn_CosOp : Nn_Unary<"cos", "{}", [WideOp]> { let summary = "cosine of x radians, right for large x too"; }
def Nn_SigmoidOp : Nn_Unary<"sigmoid", "{}"> { let summary = "1 / (1 + exp(-x))"; }
def Nn_ErfOp : Nn_Unary<"erf", "{}"> { let summary = "error function"; }
def Nn_ReluOp : Nn_Unary<"relu", "{}"> { let summary = "max(x, 0); its gradient at 0 is 0"; }

class Nn_ScalarAttrOp<string mnemonic, string linearSets> : Nn_Elementwise<mnemonic, linearSets, [Differentiable]> {
  let arguments = (ins Nn_FloatTensor:$input, F64Attr:$value);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$value), [{
    build($_builder, $_state, elementwiseResultType({input}), input, $_builder.getF64FloatAttr(value));
  }]>];
}
def Nn_ScaleOp : Nn_ScalarAttrOp<"scale", "{{{0}, {}}}"> { let summary = "x * value, the value rounded to x's type, or f32 where that is smaller"; }
def Nn_ShiftOp : Nn_ScalarAttrOp<"shift", "{}"> { let summary = "x + value, the value rounded to x's type, or f32 where that is smaller"; }

def Nn_GeluOp : Nn_Elementwise<"gelu", "{}", [Differentiable]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    x/2 (1 + erf(x/sqrt 2)), or with `tanh` the approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and
    Gimpel 2016, arXiv:1606.08415).
  }];
  let arguments = (ins Nn_FloatTensor:$input, UnitAttr:$tanh);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "bool":$tanh), [{
    build($_builder, $_state, elementwiseResultType({input}), input, tanh);
  }]>];
}

def Nn_ReluGradOp : Nn_Elementwise<"relu_grad", "{{{0}, {}}}"> {
  let summary = "gradient where input > 0, else 0";
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({gradient, input}), gradient, input);
  }]>];
}

def Nn_GeluGradOp : Nn_Elementwise<"gelu_grad", "{{{0}, {}}}"> {
  let summary = "gradient times the derivative of gelu at input";
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input, UnitAttr:$tanh);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$input, "bool":$tanh), [{
    build($_builder, $_state, elementwiseResultType({gradient, input}), gradient, input, tanh);
  }]>];
}

def Nn_ClampOp : Nn_Elementwise<"clamp", "{}"> {
  let summary = "x, or `least` where it is less, or `most` where it is more; a NaN stays one";
  let description = [{
    - C1: least <= most, and neither is a NaN.
  }];
  let arguments = (ins Nn_FloatTensor:$input, F64Attr:$least, F64Attr:$most);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$least, "double":$most), [{
    build($_builder, $_state, elementwiseResultType({input}), input, $_builder.getF64FloatAttr(least), $_builder.getF64FloatAttr(most));
  }]>];
  let hasVerifier = 1;
}

def Nn_SelectOp : Nn_Elementwise<"select", "{{{1, 2}, {}}}", [Differentiable]> {
  let summary = "`chosen` where the condition is not 0, else `other`; a NaN is not 0";
  let description = [{
    What is not chosen has no influence, whatever it is: infinities and NaNs in it are left out.
  }];
  let arguments = (ins Nn_Tensor:$condition, Nn_Tensor:$chosen, Nn_Tensor:$other);
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$chosen, "::mlir::Value":$other), [{
    build($_builder, $_state, elementwiseResultType({condition, chosen, other}), condition, chosen, other);
  }]>];
}

def Nn_CompareOp : Nn_Elementwise<"compare", "{}", [StopsGradient, ConvertsElements]> {
  let summary = "1 where lhs `predicate` rhs holds, else 0; in the result's element type";
  let description = [{
    A NaN is unequal to all, and neither less nor greater. No gradient flows back.
    - C1: The predicate is one of eq, ne, lt, le, gt, ge.
    - C2: Both operands have one element type.
  }];
  let arguments = (ins Nn_Tensor:$lhs, Nn_Tensor:$rhs, StrAttr:$predicate);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::StringRef":$predicate, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({lhs, rhs})).clone(elementType), lhs, rhs, predicate);
  }]>];
  let hasVerifier = 1;
}

def Nn_StopGradientOp : Nn_Elementwise<"stop_gradient", "{{{0}, {}}}", [StopsGradient]> {
  let summary = "x, through which no gradient flows back";
  let description = "'nn-differentiate' takes it out, where no signature was asked for.";
  let arguments = (ins Nn_Tensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({input}), input);
  }]>];
}

def Nn_NotEqualOp : Nn_Elementwise<"not_equal", "{}", [ConvertsElements]> {
  let summary = "1 where an integer is another than `value`, else 0; in the result's element type";
  let arguments = (ins Nn_IndexTensor:$input, I64Attr:$value);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType, "int64_t":$value), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone(elementType), input,
          $_builder.getI64IntegerAttr(value));
  }]>];
}

def Nn_CastOp : Nn_Elementwise<"cast", "linearIfExtending(*this)", [Differentiable, ConvertsElements]> {
  let summary = "The same numbers in another element type, rounded to nearest even";
  let description = [{
    P passes where a float is extended: addends are then added up in the wider type. Else it is not linear: rounding a sum is not the sum of
    what was rounded.
  }];
  let arguments = (ins Nn_Tensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone(elementType), input);
  }]>];
}

def Nn_ExactPartOp : Nn_Elementwise<"exact_part", "{{{0}, {}}}", [ConvertsElements]> {
  let summary = "An addend of x of which sums have no rounding: part 0, 1 or 2 of three";
  let description = [{
    Part k is what the parts before it leave of x, rounded to a multiple of q_k, where q is 2^8, 2^-32 and 2^-72. What the last leaves, at most
    2^-73, is dropped: nothing of an f32 from 2^-49 on, or of an f64 from 2^-20 on. As up to 2^14 multiples of one q are added up in f64 without rounding, their sum
    is the same in every order: over ranks, micro-batches and by every library. (Pre-rounding: Rump, Ogita and Oishi 2008, "Accurate
    floating-point summation"; Demmel and Nguyen 2013, "Fast reproducible floating-point summation".) From 2^47 on x is infinite, as
    a number too large for f16 is. (A NaN stays one; which of them is not said.)

    So it counts as linear, though the parts of a sum are not the sums of the parts of its addends: only nn.exact_sum makes a number of parts,
    and it needs the sum of each.
  }];
  let arguments = (ins Nn_FloatTensor:$input, ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$part);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$part), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone($_builder.getF64Type()),
          input, $_builder.getI64IntegerAttr(part));
  }]>];
}

def Nn_ExactSumOp : Nn_Elementwise<"exact_sum", "{}", [ConvertsElements]> {
  let summary = "The number that parts of nn.exact_part, or sums of them, make: part0 + part1 + part2, rounded";
  let description = [{
    To f64, from the sum of part0 and part1 and what that has lost; then to f32, and from there to bf16 or f16.
  }];
  let arguments = (ins Nn_DoubleTensor:$part0, Nn_DoubleTensor:$part1, Nn_DoubleTensor:$part2);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType(parts)).clone(elementType), parts[0],
          parts[1], parts[2]);
  }]>];
}

def Nn_SquarePartsOp : Nn_ComputeOp<"square_parts"> {
  let summary = "The sum of all elements' squares, as 24 numbers of f64 whose sums have no rounding";
  let description = [{
    Part k of a square s is what the parts before it leave of s, rounded to a multiple of q_k = 2^(237 - 20 k), and the result has the sum of each part. All
    squares of f32 are below 2^256, and a part after the first is at most q_(k-1) / 2, so sums of up to 2^34 elements have no rounding, and are the same in
    every order, over whatever pieces. What the last part leaves, at most 2^-224, is dropped. The square of an f64 is rounded to f64 first, and counts as infinite from 2^256 on. (Demmel and Nguyen
    2013, "Fast reproducible floating-point summation".) What is infinite is so in part 0; a NaN is one in all.

    So a tensor may lie in whatever pieces ZeRO wants it in, slots of buckets included: the result is then P, and no row of it changes a bit.
    nn.sum_parts adds up those of several tensors, and nn.total_of_parts makes the number.
    - C1: The result is tensor<24xf64>.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let extraClassDeclaration = [{
    static constexpr int64_t kNumParts = 24, kMostElements = int64_t{1} << 34;
  }];
}

def Nn_TotalOfPartsOp : Nn_ComputeOp<"total_of_parts"> {
  let summary = "The number whose parts these are, or sums of them: their sum, rounded";
  let description = [{
    Not linear, unlike a sum: parts are added up over ranks before, where nothing is rounded.
    - C1: The operand is tensor<24xf64>, the result tensor<f64>.
  }];
  let arguments = (ins Nn_DoubleTensor:$parts);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$parts)>];
}

def Nn_NonfiniteOp : Nn_ComputeOp<"nonfinite"> {
  let summary = "How many elements are infinite or a NaN, as an f64";
  let description = [{
    As with nn.square_parts, the tensor may lie in whatever pieces: numbers below 2^53 are added up without rounding. nn.sum_parts adds up those of several
    tensors.
    - C1: The result is tensor<f64>.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_SumPartsOp : Nn_ComputeOp<"sum_parts"> {
  let summary = "The sum of tensors whose sums have no rounding: of results of nn.square_parts, or nn.nonfinite";
  let description = [{
    - C1: There is an operand, and all are of one type, which is the result's.
  }];
  let arguments = (ins Variadic<Nn_DoubleTensor>:$parts);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Nn_ConstantOp : Nn_ComputeOp<"constant"> {
  let summary = "Every element has this value";
  let description = [{
    - C1: An integer result holds the value exactly.
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Nn_IotaOp : Nn_ComputeOp<"iota", [DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "Each element is its index along one dimension of the global tensor, from 0 on";
  let description = [{
    For positions, and what is computed of them (the angles of a rotary embedding, say). `offset`, which 'sbp-localize' sets, and
    `from`, which 'sbp-split-steps' sets, are added: the index at which the piece, or the part of a micro-batch, begins.
    - C1: `dim` is a dimension of the result.
    - C2: `from`, if there, is one i64.
    - C3: `offset` is not negative, and the result's type holds each number, without `from`, exactly.
  }];
  let arguments = (ins Optional<Nn_IndexTensor>:$from, I64Attr:$dim, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Nn_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "int64_t":$dim)>];
}

def Nn_ReshapeOp : Nn_ComputeOp<"reshape", [Differentiable]> {
  let summary = "The same elements, in row-major order, as another shape";
  let description = [{
    Where a dimension is made of several, it can be split along its outermost one: by a unit of the inner ones, S(0 by 256), when
    the axis does not divide that.
    - C1: Operand and result have as many elements.
  }];
  let arguments = (ins Nn_Tensor:$input);
  let results = (outs Nn_Tensor:$result);
}

def Nn_BroadcastOp : Nn_ComputeOp<"broadcast", [Differentiable]> {
  let summary = "Repeats a tensor along new dimensions";
  let description = [{
    `dims` are the dimensions of the result that are new; the others are the operand's, in order.
    - C1: `dims` are ascending dimensions of the result.
    - C2: Without them, the result has the operand's shape.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_Tensor:$result);
}

def Nn_SliceOp : Nn_ComputeOp<"slice", [Differentiable]> {
  let summary = "The elements from `start` on along one dimension, as many as the result has";
  let description = [{
    - C1: `dim` is a dimension of the operand, and the result has the operand's extents elsewhere.
    - C2: 0 <= start and start + the result's extent <= the operand's.
  }];
  let arguments = (ins Nn_Tensor:$input, I64Attr:$dim, I64Attr:$start);
  let results = (outs Nn_Tensor:$result);
}

def Nn_TransposeOp : Nn_ComputeOp<"transpose", [Differentiable]> {
  let summary = "The dimensions in another order: the result's dimension i is the operand's permutation[i]";
  let description = [{
    - C1: `permutation` names each dimension of the operand once.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Nn_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
}

def Nn_ConcatOp : Nn_ComputeOp<"concat", [Differentiable]> {
  let summary = "Tensors one after the other along one dimension";
  let description = [{
    - C1: At least one operand; `dim` is a dimension of all, and they agree elsewhere.
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Nn_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Reductions, products and lookups
//===----------------------------------------------------------------------===//

def Nn_ReduceSumOp : Nn_ComputeOp<"reduce_sum", [Differentiable, WideOp]> {
  let summary = "Sum over dimensions, which the result lacks";
  let description = [{
    A mean is a sum followed by nn.scale with one over the *global* count, so that it is right on every piece.
    - C1: `dims` are ascending dimensions of the operand.
  }];
  let arguments = (ins Nn_FloatTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims)>];
}

def Nn_MatmulOp : Nn_ComputeOp<"matmul", [Differentiable, Library, ProductOp]> {
  let summary = "Matrix products, either operand transposed if asked for";
  let description = [{
    ```mlir
    %c = nn.matmul %a, %b {transpose_b} : (tensor<32x64xf32>, tensor<128x64xf32>) -> tensor<32x128xf32>
    ```
    Dimensions before the last two count products: one for each of their indices.
    - C1: Both operands have one element type, as many dimensions, two or more, and equal extents before the last two.
    - C2: The contracted extents agree.
  }];
  let arguments = (ins Nn_FloatTensor:$lhs, Nn_FloatTensor:$rhs, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, CArg<"bool", "false">:$transposeA,
                             CArg<"bool", "false">:$transposeB)>];
}

include "dialects/nn/NnIndexed.td"
include "dialects/nn/NnWindows.td"

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Nn_SoftmaxOp : Nn_ComputeOp<"softmax", [Differentiable, WideOp]> {
  let summary = "Along the last dimension: exp(x - the largest) over its sum";
  let description = [{
    - C1: The operand has a dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_LogSumExpOp : Nn_ComputeOp<"log_sum_exp", [Differentiable, WideOp]> {
  let summary = "Per row: log(sum over the last dimension of exp(x))";
  let description = [{
    The row's largest element is subtracted first, so nothing overflows; where all are -inf, so is the result. Of a row that is cut into
    parts it is that of the parts' own.
    - C1: The operand has a dimension; the result has the others.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_SoftmaxGradOp : Nn_ComputeOp<"softmax_grad", [WideOp]> {
  let summary = "y (g - sum over the last dimension of g y), with the softmax y and its gradient g";
  let description = [{
    - C1: Gradient and softmax have one shape, of a dimension or more.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$softmax);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$softmax)>];
}

def Nn_LayerNormOp : Nn_ComputeOp<"layer_norm", [Differentiable, WideOp]> {
  let summary = "Rows with mean 0 and variance 1, times weight, plus bias";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) weight + bias, over the last dimension; the variance divides by its extent (Ba, Kiros and
    Hinton 2016, arXiv:1607.06450).
    ```mlir
    %y = nn.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
    - C1: Weight and bias have the operand's last dimension, and its element type.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$weight, Nn_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias, "double":$epsilon)>];
}

def Nn_RowMomentsOp : Nn_ComputeOp<"row_moments", [WideOp]> {
  let summary = "Per row along the last dimension: its mean, and 1 / sqrt(variance + epsilon)";
  let description = [{
    - C1: The operand has a dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$input, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$mean, Nn_FloatTensor:$scale);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$epsilon)>];
}

def Nn_LayerNormGradOp : Nn_ComputeOp<"layer_norm_grad", [WideOp]> {
  let summary = "The gradient of a layer norm's operand";
  let description = [{
    s (h - mean(h) - z mean(h z)) with h = gradient * weight, z = (x - mean) s and s = 1 / sqrt(variance + epsilon) of the row.
    - C1: Gradient and operand have one shape; the weight has its last dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input, Nn_FloatTensor:$weight, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$input, "::mlir::Value":$weight,
                             "double":$epsilon)>];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Nn_AttentionOp : Nn_ComputeOp<"attention", [Differentiable, Library, ProductOp]> {
  let summary = "Scaled dot-product attention, per sample and head";
  let description = [{
    softmax(scale query key^T) value, where query [samples, positions, heads, width] and key and value [samples, keys, heads, width]
    (Vaswani et al. 2017, arXiv:1706.03762). With `causal`, position i sees the keys 0 to i; with a mask [samples, keys], only keys
    whose entry is not 0. A position that sees no key gives 0.
    ```mlir
    %y = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>) -> tensor<4x32x2x64xf32>
    ```
    Nothing of size positions x keys is kept for the gradient, which computes it again.
    - C1: Query, key and value have four dimensions and one element type; key and value have one shape; the query has their
      samples, heads and width.
    - C2: A mask has the key's samples and keys.
    - C3: All that a device needs for the scores [samples, heads, positions, keys], in the gradient too, is at most 2^63 - 1 bytes.
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value, Optional<Nn_IndexTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$mask,
                             "double":$scale, "bool":$causal)>];
}

def Nn_AttentionGradOp : Nn_ComputeOp<"attention_grad", [Library, ProductOp]> {
  let summary = "The gradients of query, key and value";
  let description = [{
    With p = softmax(scale q k^T) and dp = g v^T: dv = p^T g, ds = p (dp - sum over keys of p dp) scale, dq = ds k, dk = ds^T q.
    - C1: As nn.attention's; the gradient has the query's shape.
    - C2: As nn.attention's.
    - C3: As nn.attention's.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
                       Optional<Nn_IndexTensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Nn_FloatTensor:$query_grad, Nn_FloatTensor:$key_grad, Nn_FloatTensor:$value_grad);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def Nn_DropoutOp : Nn_ComputeOp<"dropout", [Differentiable, DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "0 with probability `rate`, else x / (1 - rate)";
  let description = [{
    Which elements are dropped depends on the key and on the element's index in the *global* tensor only (its gradient uses the
    same op), so it is the same however the tensor is split, and whether or not the op is computed twice. The key is an operand
    that differs for each step and each op.
    `offsets` and `global_shape` are set by 'sbp-localize': where the piece begins, and in which shape. `from`, which
    'sbp-split-steps' sets, is added to the index: of a micro-batch, what is before it in the batch.
    - C1: 0 <= rate < 1.
    - C2: The key is one i64.
    - C3: `from`, if there, is one i64.
    - C4: `offsets` and `global_shape`, if there, have an entry per dimension, and the operand lies within.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_IndexTensor:$key, Optional<Nn_IndexTensor>:$from, F64Attr:$rate, OptionalAttr<DenseI64ArrayAttr>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$key, "double":$rate)>];
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// A name and numbers, printed as #nn.NAME<number = 0.5, ...>; `model` makes what has the formula.
class Nn_Named<string name, string model, string held> : AttrDef<Nn_Dialect, name> {
  let attrName = "nn." # name; // each has the mnemonic of its own name
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::DenseF64ArrayAttr":$values);
  let genVerifyDecl = 1;
  let extraClassDeclaration = "static " # name # "Attr get(::mlir::MLIRContext *context, const " # held # " &named);\n" #
                              "std::unique_ptr<" # model # "> model() const;";
}
def Nn_OptimizerAttr : Nn_Named<"Optimizer", "OptimizerModel", "::splitcast::Optimizer"> {
  let summary = "An optimizer: dialects/nn/Optimizers.h has them";
}
def Nn_RateScheduleAttr : Nn_Named<"RateSchedule", "RateModel", "::splitcast::RateSchedule"> {
  let summary = "A schedule of the learning rate: dialects/nn/RateSchedules.h has them";
}

def Nn_LossScaleAttr : Nn_Named<"LossScale", "LossScaleModel", "::splitcast::LossScale"> {
  let summary = "By what a loss is multiplied for backward: dialects/nn/LossScale.h";
}

def Nn_ParametersAttr : AttrDef<Nn_Dialect, "Parameters"> {
  let summary = "Variables with an optimizer of their own";
  let description = [{
    `#nn.parameters<"no_decay" of ["*.bias"] with #nn.adamw<lr = 0.001, weight_decay = 0.0>>`. Patterns are of whole names of variables: a star stands
    for any characters, also none.
    - C1: The name is letters, digits and underscores, and not empty.
    - C2: There is a pattern, and each is a string of at least one character.
  }];
  let attrName = "nn.parameters";
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::ArrayAttr":$patterns, "OptimizerAttr":$optimizer);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kKeyword = "parameters";
    /// What stands behind the keyword; null after an error.
    static ::mlir::Attribute parse(::mlir::DialectAsmParser &parser);
    void print(::mlir::DialectAsmPrinter &printer) const;
    bool matches(::llvm::StringRef variable) const;
  }];
}
def Nn_ParametersArray : TypedArrayAttrBase<Nn_ParametersAttr, "groups of variables, each #nn.parameters">;

def Nn_MinimizeOp : Nn_Op<"minimize"> {
  let summary = "One step of training: differentiate the loss and update the variables that it depends on";
  let description = [{
    ```mlir
    nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.001>
    ```
    'nn-differentiate' replaces it by the backward ops and one nn.update per trainable variable. With a schedule, `schedule
    #nn.cosine<steps = 1000.0, end = 0.1, warmup = 100.0>`, the learning rate is the optimizer's times what that says.
    With `{clip_norm = 1.0}`, gradients whose norm, that of all of them together, is more are multiplied by clip_norm / (norm + 10^-6); with `{clip_value =
    0.5}`, elements are brought to -0.5 .. 0.5. With `{loss_scale = #nn.loss_scale<initial = 65536.0, ...>}` backward begins with that instead of 1, its
    gradients are divided by it before all else, and a step in which one is not finite updates nothing but the scale; what the function assigns by hand, it assigns.
    With `{groups = [#nn.parameters<"no_decay" of ["*.bias"] with #nn.adamw<lr = 0.001, weight_decay = 0.0>>]}`, variables of these names are updated by
    that optimizer, whose learning rate is another variable, `optimizer.no_decay.learning_rate`.
    - C1: The loss is a scalar.
    - C2: The optimizer is one that is known, and so is the schedule.
    - C3: clip_norm and clip_value are finite numbers above 0, and there is one of them at most.
    - C4: A loss with a loss_scale is f32 or f64.
    - C5: Groups have distinct names.
  }];
  let arguments = (ins Nn_FloatTensor:$loss, AnyAttr:$optimizer, OptionalAttr<AnyAttr>:$schedule, OptionalAttr<F64Attr>:$clip_norm,
                       OptionalAttr<F64Attr>:$clip_value, OptionalAttr<Nn_LossScaleAttr>:$loss_scale, OptionalAttr<Nn_ParametersArray>:$groups);
  let assemblyFormat = "$loss attr-dict `:` type($loss) `with` $optimizer (`schedule` $schedule^)?";
  let hasVerifier = 1;
}

def Nn_UpdateOp : Nn_Op<"update", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Updates one variable with its gradient";
  let description = [{
    Made by 'nn-differentiate'; 'nn-expand-optimizers' replaces it by elementwise ops and assignments. Gradients are clipped before by 'nn-clip-gradients', as
    nn.minimize says; updates of a function with the same `clip_set` share a norm. Before that, 'nn-scale-losses' divides those that are `scaled by` something.
    `unless` a number is 0, the update changes neither the variable nor any state. The `group` is that of nn.minimize which the variable is in.
    - C1: The variable exists and has the gradient's shape and element type.
    - C2: The optimizer is one that is known, and so is the schedule.
    - C3: clip_norm and clip_value are as nn.minimize's, and there is a clip_set where there is a clip_norm.
    - C4: What the gradient is scaled by is a scalar of f32 or f64, and there is a loss_scale with it.
    - C5: The number behind `unless` is a scalar of f64.
    - C6: The optimizer updates variables of this shape.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Nn_FloatTensor:$gradient, Optional<Nn_FloatTensor>:$scale, Optional<Nn_DoubleTensor>:$unless,
                       Sbp_TokenType:$scope, AnyAttr:$optimizer,
                       OptionalAttr<AnyAttr>:$schedule, OptionalAttr<F64Attr>:$clip_norm, OptionalAttr<F64Attr>:$clip_value,
                       OptionalAttr<I64Attr>:$clip_set, OptionalAttr<Nn_LossScaleAttr>:$loss_scale, OptionalAttr<StrAttr>:$group);
  let assemblyFormat = "$variable `,` $gradient (`scaled` `by` $scale^ `:` type($scale))? (`unless` $unless^ `:` type($unless))? `in` $scope attr-dict `:` type($gradient) `with` $optimizer (`schedule` $schedule^)?";
}

def Nn_FusionOp : Nn_Op<"fusion", [SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "Ops that one kernel computes";
  let description = [{
    Local level only. The region's arguments are the operands; what it yields are the results. Intermediate values are never
    stored.
    - C1: The region has one block, whose arguments have the operands' types, and which ends in nn.yield of the results'.
    - C2: It holds only ops that say what they compute.
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs);
  let results = (outs Variadic<Nn_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
}

def Nn_YieldOp : Nn_Op<"yield", [Pure, Terminator, ParentOneOf<["FusionOp"]>]> {
  let summary = "The results of a fusion";
  let arguments = (ins Variadic<Nn_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // SPLITCAST_DIALECTS_NN_NN_TD
