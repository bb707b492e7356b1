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

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// `linearSets` are the sets of operands in which the op is linear, as C++, e.g. {{{0, 1}, {}}}. Dimensions of operands
/// are aligned at the right; a dimension that is missing or 1 is broadcast. The .cc file defines buildScalar, which
/// computes one element, and buildGradient.
class Nn_Elementwise<string mnemonic, string linearSets, list<Trait> traits = []> : Nn_ComputeOp<mnemonic, traits> {
  let extraClassDeclaration = [{
    /// Builds one element of the result from one element of each operand.
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
    Quotients of integers are rounded towards zero. As in NumPy, division by 0 gives 0, and the least integer divided by
    -1 gives itself.
  }];
}

def Nn_NegOp : Nn_Unary<"neg", "{{{0}, {}}}"> { let summary = "-x"; }
def Nn_ExpOp : Nn_Unary<"exp", "{}", [WideOp]> { let summary = "e to the x"; }
def Nn_LogOp : Nn_Unary<"log", "{}", [WideOp]> { let summary = "natural logarithm"; }
def Nn_SqrtOp : Nn_Unary<"sqrt", "{}", [WideOp]> { let summary = "square root"; }
def Nn_TanhOp : Nn_Unary<"tanh", "{}"> { let summary = "hyperbolic tangent"; }
def Nn_SinOp : Nn_Unary<"sin", "{}", [WideOp]> { let summary = "sine of x radians, accurate for large x, too"; }
def Nn_CosOp : Nn_Unary<"cos", "{}", [WideOp]> { let summary = "cosine of x radians, accurate for large x, too"; }
def Nn_SigmoidOp : Nn_Unary<"sigmoid", "{}"> { let summary = "1 / (1 + exp(-x))"; }
def Nn_ErfOp : Nn_Unary<"erf", "{}"> { let summary = "error function"; }
def Nn_ReluOp : Nn_Unary<"relu", "{}"> { let summary = "max(x, 0); its gradient at 0 is 0"; }

class Nn_ScalarAttrOp<string mnemonic, string linearSets> : Nn_Elementwise<mnemonic, linearSets, [Differentiable]> {
  let arguments = (ins Nn_FloatTensor:$input, F64Attr:$value);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$value), [{
    build($_builder, $_state, elementwiseResultType({input}), input, $_builder.getF64FloatAttr(value));
  }]>];
}
def Nn_ScaleOp : Nn_ScalarAttrOp<"scale", "{{{0}, {}}}"> {
  let summary = "x * value; the value is rounded to x's type, or to f32 if x's type is smaller";
}
def Nn_ShiftOp : Nn_ScalarAttrOp<"shift", "{}"> {
  let summary = "x + value; the value is rounded to x's type, or to f32 if x's type is smaller";
}

def Nn_GeluOp : Nn_Elementwise<"gelu", "{}", [Differentiable]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    The result is x/2 (1 + erf(x/sqrt 2)), or with `tanh` the approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715
    x^3))) (Hendrycks and Gimpel 2016, arXiv:1606.08415).
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
  let summary = "x, or `least` where x is less, or `most` where x is greater; a NaN stays a NaN";
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
    Elements that are not chosen have no influence, not even infinities and NaNs.
  }];
  let arguments = (ins Nn_Tensor:$condition, Nn_Tensor:$chosen, Nn_Tensor:$other);
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$chosen, "::mlir::Value":$other), [{
    build($_builder, $_state, elementwiseResultType({condition, chosen, other}), condition, chosen, other);
  }]>];
}

def Nn_CompareOp : Nn_Elementwise<"compare", "{}", [StopsGradient, ConvertsElements]> {
  let summary = "1 where lhs `predicate` rhs holds, else 0, in the result's element type";
  let description = [{
    A NaN is unequal to every number, and neither less nor greater. No gradient flows back.
    - C1: The predicate is one of eq, ne, lt, le, gt, ge.
    - C2: Both operands have the same element type.
  }];
  let arguments = (ins Nn_Tensor:$lhs, Nn_Tensor:$rhs, StrAttr:$predicate);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::StringRef":$predicate, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({lhs, rhs})).clone(elementType), lhs, rhs, predicate);
  }]>];
  let hasVerifier = 1;
}

def Nn_StopGradientOp : Nn_Elementwise<"stop_gradient", "{{{0}, {}}}", [StopsGradient]> {
  let summary = "x, but no gradient flows back through it";
  let description = "'nn-differentiate' removes it, unless it changes the signature that its result has.";
  let arguments = (ins Nn_Tensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({input}), input);
  }]>];
}

def Nn_NotEqualOp : Nn_Elementwise<"not_equal", "{}", [ConvertsElements]> {
  let summary = "1 where an integer is not `value`, else 0, in the result's element type";
  let arguments = (ins Nn_IndexTensor:$input, I64Attr:$value);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType, "int64_t":$value), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone(elementType), input,
          $_builder.getI64IntegerAttr(value));
  }]>];
}

def Nn_CastOp : Nn_Elementwise<"cast", "linearIfExtending(*this)", [Differentiable, ConvertsElements]> {
  let summary = "The same numbers in another element type, rounded to nearest even";
  let description = [{
    The op is linear (P gives P) if it extends floats: addends are then added up in the wider type. Else it is not
    linear: a rounded sum is not the sum of rounded addends.
  }];
  let arguments = (ins Nn_Tensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone(elementType), input);
  }]>];
}

def Nn_ExactPartOp : Nn_Elementwise<"exact_part", "{{{0}, {}}}", [ConvertsElements]> {
  let summary = "Part 0, 1 or 2 of x, which is cut into three parts whose sums are exact";
  let description = [{
    Part k is x minus the earlier parts, rounded to a multiple of q_k, where q is 2^8, 2^-32 and 2^-72. The rest after
    the last part, at most 2^-73, is dropped; it is 0 for an f32 from 2^-49 on, and for an f64 from 2^-20 on. Up to 2^14
    multiples of one q are added up in f64 without rounding, so that their sum is the same in every order: over ranks,
    over micro-batches and by every library. (Pre-rounding: Rump, Ogita and Oishi 2008, "Accurate floating-point
    summation"; Demmel and Nguyen 2013, "Fast reproducible floating-point summation".) From 2^47 on, x becomes infinite,
    as a number that is too large for f16 does. (A NaN stays a NaN, but its bits are not specified.)

    So the op counts as linear, although the parts of a sum are not the sums of the parts of its addends: only
    nn.exact_sum makes a number of parts, and needs only their sums.
  }];
  let arguments = (ins Nn_FloatTensor:$input, ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$part);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$part), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone($_builder.getF64Type()),
          input, $_builder.getI64IntegerAttr(part));
  }]>];
}

def Nn_ExactSumOp : Nn_Elementwise<"exact_sum", "{}", [ConvertsElements]> {
  let summary = "The number that results of nn.exact_part, or sums of them, make: part0 + part1 + part2, rounded";
  let description = [{
    It is rounded to f64 (from part0 + part1 and the error of that sum), then to f32, and then to bf16 or f16.
  }];
  let arguments = (ins Nn_DoubleTensor:$part0, Nn_DoubleTensor:$part1, Nn_DoubleTensor:$part2);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType(parts)).clone(elementType), parts[0],
          parts[1], parts[2]);
  }]>];
}

def Nn_SquarePartsOp : Nn_ComputeOp<"square_parts"> {
  let summary = "The sum of all elements' squares, as 24 numbers of f64 whose sums are exact";
  let description = [{
    Part k of a square s is s minus the earlier parts, rounded to a multiple of q_k = 2^(237 - 20 k), and the result has
    the sum of each part. All squares of f32 are below 2^256, and a part after the first is at most q_(k-1) / 2; so sums
    of up to 2^34 elements have no rounding, and are the same in every order, over any pieces. The rest after the last
    part, at most 2^-224, is dropped. The square of an f64 is rounded to f64 first, and counts as infinite from 2^256
    on. (Demmel and Nguyen 2013, "Fast reproducible floating-point summation".) An infinite square is infinite in part
    0; a NaN is a NaN in all parts.

    So the tensor may lie in any pieces that ZeRO chooses, slots of buckets included: the result is then P, and no row
    of signatures changes a bit. nn.sum_parts adds up the parts of several tensors, and nn.total_of_parts makes the
    number.
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
  let summary = "The sum of the parts of nn.square_parts, or of sums of them, rounded to one number";
  let description = [{
    Unlike a sum, the op is not linear: parts are added up over ranks first, without rounding.
    - C1: The operand is tensor<24xf64>, and the result tensor<f64>.
  }];
  let arguments = (ins Nn_DoubleTensor:$parts);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$parts)>];
}

def Nn_NonfiniteOp : Nn_ComputeOp<"nonfinite"> {
  let summary = "The number of elements that are infinite or NaN, as an f64";
  let description = [{
    As with nn.square_parts, the tensor may lie in any pieces: numbers below 2^53 are added up without rounding.
    nn.sum_parts adds up the numbers of several tensors.
    - C1: The result is tensor<f64>.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_SumPartsOp : Nn_ComputeOp<"sum_parts"> {
  let summary = "The sum of tensors whose sums are exact: of results of nn.square_parts, or of nn.nonfinite";
  let description = [{
    - C1: There is at least one operand, and all have the type of the result.
  }];
  let arguments = (ins Variadic<Nn_DoubleTensor>:$parts);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Nn_ConstantOp : Nn_ComputeOp<"constant"> {
  let summary = "A tensor of which every element has this value";
  let description = [{
    - C1: An integer result holds the value exactly.
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Nn_IotaOp : Nn_ComputeOp<"iota", [DeclareOpInterfaceMethods<PlacedOpInterface>]> {
  let summary = "Each element is its index along one dimension of the global tensor, counted from 0";
  let description = [{
    It makes positions, and values that depend on them (the angles of a rotary embedding, say). Two numbers are added to
    the index: `offset`, at which the rank's piece begins ('sbp-localize' sets it), and `from`, at which the part of a
    micro-batch begins ('sbp-split-steps' sets it).
    - C1: `dim` is a dimension of the result.
    - C2: `from`, if present, is one i64.
    - C3: `offset` is not negative, and the result's type can hold each number, without `from`, exactly.
  }];
  let arguments = (ins Optional<Nn_IndexTensor>:$from, I64Attr:$dim, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Nn_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "int64_t":$dim)>];
}

def Nn_ReshapeOp : Nn_ComputeOp<"reshape", [Differentiable]> {
  let summary = "The same elements, in row-major order, as another shape";
  let description = [{
    A dimension that is made of several can be split along the outermost of these, with a unit of the inner ones, S(0 by
    256), when the axis's size does not divide the outermost.
    - C1: Operand and result have the same number of elements.
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
  let summary = "The dimensions in another order: dimension i of the result is dimension permutation[i] of the operand";
  let description = [{
    - C1: `permutation` names each dimension of the operand once.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Nn_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
}

def Nn_ConcatOp : Nn_ComputeOp<"concat", [Differentiable]> {
  let summary = "Concatenates tensors along one dimension";
  let description = [{
    - C1: There is at least one operand; `dim` is a dimension of all, and they have the same extents elsewhere.
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Nn_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Reductions, products and lookups
//===----------------------------------------------------------------------===//

def Nn_ReduceSumOp : Nn_ComputeOp<"reduce_sum", [Differentiable, WideOp]> {
  let summary = "Sum over dimensions, which the result does not have";
  let description = [{
    A mean is a sum followed by nn.scale by 1 / (the *global* count), so that it is correct on every piece.
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
    Dimensions before the last two are batch dimensions: there is one product for each of their indices.
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

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Nn_SoftmaxOp : Nn_ComputeOp<"softmax", [Differentiable, WideOp]> {
  let summary = "Along the last dimension: exp(x - the largest x), divided by its sum";
  let description = [{
    - C1: The operand has at least one dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_LogSumExpOp : Nn_ComputeOp<"log_sum_exp", [Differentiable, WideOp]> {
  let summary = "Per row: log(sum over the last dimension of exp(x))";
  let description = [{
    The row's largest element is subtracted first, so nothing overflows; where all elements are -inf, so is the result.
    For a row that is cut into parts, the result is the log_sum_exp of the results of the parts.
    - C1: The operand has at least one dimension; the result has all but the last.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_SoftmaxGradOp : Nn_ComputeOp<"softmax_grad", [WideOp]> {
  let summary = "y (g - sum over the last dimension of g y), with the softmax y and its gradient g";
  let description = [{
    - C1: Gradient and softmax have the same shape, of at least one dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$softmax);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$softmax)>];
}

def Nn_LayerNormOp : Nn_ComputeOp<"layer_norm", [Differentiable, WideOp]> {
  let summary = "Layer normalization: rows with mean 0 and variance 1, times weight, plus bias";
  let description = [{
    The result is (x - mean) / sqrt(variance + epsilon) weight + bias, where mean and variance are over the last
    dimension; the variance divides by its extent (Ba, Kiros and Hinton 2016, arXiv:1607.06450).
    ```mlir
    %y = nn.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
    - C1: Weight and bias have the operand's last dimension and its element type.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$weight, Nn_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias, "double":$epsilon)>];
}

def Nn_RowMomentsOp : Nn_ComputeOp<"row_moments", [WideOp]> {
  let summary = "Per row along the last dimension: its mean, and 1 / sqrt(variance + epsilon)";
  let description = [{
    - C1: The operand has at least one dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$input, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$mean, Nn_FloatTensor:$scale);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$epsilon)>];
}

def Nn_LayerNormGradOp : Nn_ComputeOp<"layer_norm_grad", [WideOp]> {
  let summary = "The gradient of a layer norm's operand";
  let description = [{
    It is s (h - mean(h) - z mean(h z)) with h = gradient * weight, z = (x - mean) s, s = 1 / sqrt(variance + epsilon).
    - C1: Gradient and operand have the same shape; the weight has its last dimension.
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
    The result is softmax(scale query key^T) value, with query [samples, positions, heads, width] and with key and value
    [samples, keys, heads, width] (Vaswani et al. 2017, arXiv:1706.03762). With `causal`, position i attends to the keys
    0 to i; with a mask [samples, keys], only to keys whose entry is not 0. A position without a key gives 0.
    ```mlir
    %y = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>) -> tensor<4x32x2x64xf32>
    ```
    No tensor of size positions x keys is kept for the gradient, which recomputes it.
    - C1: All have four dimensions and one element type; key and value have one shape, the query their samples, heads,
      width.
    - C2: A mask has the samples and keys of the key.
    - C3: The memory for the scores [samples, heads, positions, keys], on any device and in the gradient, is at most
      2^63 - 1 bytes.
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
                       Optional<Nn_IndexTensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$mask,
                             "double":$scale, "bool":$causal)>];
}

def Nn_AttentionGradOp : Nn_ComputeOp<"attention_grad", [Library, ProductOp]> {
  let summary = "The gradients of query, key and value";
  let description = [{
    With p = softmax(scale q k^T) and dp = g v^T: dv = p^T g, ds = p (dp - sum over keys of p dp) scale, dq = ds k, dk =
    ds^T q.
    - C1: The same as for nn.attention; the gradient has the query's shape.
    - C2: The same as for nn.attention.
    - C3: The same as for nn.attention.
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
    Whether an element is dropped depends only on the key and on the element's index in the *global* tensor. So the
    result is the same however the tensor is split, and when the op is computed twice; its gradient uses the same op.
    The key is an operand that differs for each step and each op. 'sbp-localize' sets `offsets` and `global_shape`:
    where the rank's piece begins, and the shape of the tensor that it is a piece of. `from`, which 'sbp-split-steps'
    sets, is added to the index: it is the number of elements that are before the micro-batch in the batch.
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

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

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
    `optimizer.no_decay.learning_rate`.
    - C1: The loss is a scalar.
    - C2: The optimizer and the schedule are known.
    - C3: clip_norm and clip_value are finite numbers above 0, and at most one of them is present.
    - C4: A loss with a loss_scale is f32 or f64.
    - C5: Groups have distinct names.
  }];
  let arguments = (ins Nn_FloatTensor:$loss, AnyAttr:$optimizer, OptionalAttr<AnyAttr>:$schedule,
                       OptionalAttr<F64Attr>:$clip_norm, OptionalAttr<F64Attr>:$clip_value,
                       OptionalAttr<Nn_LossScaleAttr>:$loss_scale, OptionalAttr<Nn_ParametersArray>:$groups);
  let assemblyFormat = "$loss attr-dict `:` type($loss) `with` $optimizer (`schedule` $schedule^)?";
  let hasVerifier = 1;
}

def Nn_UpdateOp : Nn_Op<"update", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Updates one variable with its gradient";
  let description = [{
    'nn-differentiate' makes it, and 'nn-expand-optimizers' replaces it by elementwise ops and assignments. First,
    'nn-scale-losses' divides gradients by the number that they are `scaled by`. Then 'nn-clip-gradients' clips them, as
    nn.minimize says; updates of a function with the same `clip_set` share a norm. If the number after `unless` is not
    0, the update changes neither the variable nor any state. `group` is the variable's group of nn.minimize.
    - C1: The variable exists and has the gradient's shape and element type.
    - C2: The optimizer and the schedule are known.
    - C3: clip_norm and clip_value are as nn.minimize allows, and there is a clip_set where there is a clip_norm.
    - C4: The number after `scaled by` is a scalar of f32 or f64, and there is a loss_scale with it.
    - C5: The number after `unless` is a scalar of f64.
    - C6: The optimizer can update variables of this shape.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, Nn_FloatTensor:$gradient, Optional<Nn_FloatTensor>:$scale,
                       Optional<Nn_DoubleTensor>:$unless, Sbp_TokenType:$scope, AnyAttr:$optimizer,
                       OptionalAttr<AnyAttr>:$schedule, OptionalAttr<F64Attr>:$clip_norm,
                       OptionalAttr<F64Attr>:$clip_value, OptionalAttr<I64Attr>:$clip_set,
                       OptionalAttr<Nn_LossScaleAttr>:$loss_scale, OptionalAttr<StrAttr>:$group);
  let assemblyFormat = "$variable `,` $gradient (`scaled` `by` $scale^ `:` type($scale))? (`unless` $unless^ `:` type($unless))? `in` $scope attr-dict `:` type($gradient) `with` $optimizer (`schedule` $schedule^)?";
}

def Nn_FusionOp : Nn_Op<"fusion", [SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "A group of ops that one kernel computes";
  let description = [{
    A fusion exists only at the local level. The region's arguments are the operands, and the values that it yields are
    the results. Intermediate values are never stored.
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
  let arguments = (ins Variadic<Nn_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // SPLITCAST_DIALECTS_NN_NN_TD
