//===- NnElementwise.td - Ops on single elements ---------------------------------===//
//
// Nn.td includes this file, which uses its classes.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNELEMENTWISE_TD
#define SPLITCAST_DIALECTS_NN_NNELEMENTWISE_TD

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

/// MLIR's trait Elementwise says so to the tests, which take such an op from the registry where it has no attribute.
class Nn_Unary<string mnemonic, string linearSets, list<Trait> traits = []>
    : Nn_Elementwise<mnemonic, linearSets, !listconcat([Differentiable, Elementwise], traits)> {
  let arguments = (ins Nn_FloatTensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({input}), input);
  }]>];
}

def Nn_AddOp : Nn_Binary<"add", "{{{0, 1}, {}}}"> {
  let summary = "lhs + rhs";
  let description = [{
    ```mlir
    %add = nn.add %x, %row : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_SubOp : Nn_Binary<"sub", "{{{0, 1}, {}}}"> {
  let summary = "lhs - rhs";
  let description = [{
    ```mlir
    %sub = nn.sub %row, %x : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_MulOp : Nn_Binary<"mul", "{{{0}, {}}, {{1}, {}}}"> {
  let summary = "lhs * rhs";
  let description = [{
    ```mlir
    %mul = nn.mul %i, %i : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
    ```
  }];
}

def Nn_DivOp : Nn_Binary<"div", "{{{0}, {}}}"> {
  let summary = "lhs / rhs";
  let description = [{
    Quotients of integers are rounded towards zero. As in NumPy, division by 0 gives 0, and the least integer divided by
    -1 gives itself.
    ```mlir
    %div = nn.div %x, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_NegOp : Nn_Unary<"neg", "{{{0}, {}}}"> {
  let summary = "-x";
  let description = [{
    ```mlir
    %neg = nn.neg %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_ExpOp : Nn_Unary<"exp", "{}", [WideOp]> {
  let summary = "e to the x";
  let description = [{
    Computed in f32, it is 0 below -87.7 on CPUs and -86.6 on GPUs, from where results are about 2^-126 and smaller.
    ```mlir
    %exp = nn.exp %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_LogOp : Nn_Unary<"log", "{}", [WideOp]> {
  let summary = "natural logarithm";
  let description = [{
    Computed in f32, that of a denormal number is that of 2^-126, about -87.3; PyTorch gives its own.
    ```mlir
    %log = nn.log %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_SqrtOp : Nn_Unary<"sqrt", "{}", [WideOp]> {
  let summary = "square root";
  let description = [{
    ```mlir
    %sqrt = nn.sqrt %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_TanhOp : Nn_Unary<"tanh", "{}"> {
  let summary = "hyperbolic tangent";
  let description = [{
    ```mlir
    %tanh = nn.tanh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_SinOp : Nn_Unary<"sin", "{}", [WideOp]> {
  let summary = "sine of x radians, accurate for large x, too";
  let description = [{
    ```mlir
    %sin = nn.sin %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_CosOp : Nn_Unary<"cos", "{}", [WideOp]> {
  let summary = "cosine of x radians, accurate for large x, too";
  let description = [{
    ```mlir
    %cos = nn.cos %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_SigmoidOp : Nn_Unary<"sigmoid", "{}"> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    ```mlir
    %sigmoid = nn.sigmoid %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_ErfOp : Nn_Unary<"erf", "{}"> {
  let summary = "error function";
  let description = [{
    ```mlir
    %erf = nn.erf %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_ReluOp : Nn_Unary<"relu", "{}"> {
  let summary = "max(x, 0); its gradient at 0 is 0";
  let description = [{
    ```mlir
    %relu = nn.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

class Nn_ScalarAttrOp<string mnemonic, string linearSets> : Nn_Elementwise<mnemonic, linearSets, [Differentiable]> {
  let arguments = (ins Nn_FloatTensor:$input, F64Attr:$value);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$value), [{
    build($_builder, $_state, elementwiseResultType({input}), input, $_builder.getF64FloatAttr(value));
  }]>];
}

def Nn_ScaleOp : Nn_ScalarAttrOp<"scale", "{{{0}, {}}}"> {
  let summary = "x * value; the value is rounded to x's type, or to f32 if x's type is smaller";
  let description = [{
    ```mlir
    %scale = nn.scale %x {value = 0.25 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_ShiftOp : Nn_ScalarAttrOp<"shift", "{}"> {
  let summary = "x + value; the value is rounded to x's type, or to f32 if x's type is smaller";
  let description = [{
    ```mlir
    %shift = nn.shift %x {value = -1.0 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
}

def Nn_GeluOp : Nn_Elementwise<"gelu", "{}", [Differentiable]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    The result is x/2 (1 + erf(x/sqrt 2)), or with `tanh` the approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715
    x^3))) (Hendrycks and Gimpel 2016, arXiv:1606.08415). As in PyTorch, -inf gives NaN, and so do the gradients at both
    infinities and, with `tanh`, where x^2 is not finite.
    ```mlir
    %gelu = nn.gelu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$input, UnitAttr:$tanh);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "bool":$tanh), [{
    build($_builder, $_state, elementwiseResultType({input}), input, tanh);
  }]>];
}

def Nn_ReluGradOp : Nn_Elementwise<"relu_grad", "{{{0}, {}}}"> {
  let summary = "0 where input <= 0, else gradient";
  let description = [{
    At a NaN it is the gradient, as in PyTorch.
    ```mlir
    %relu_grad = nn.relu_grad %g, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({gradient, input}), gradient, input);
  }]>];
}

def Nn_GeluGradOp : Nn_Elementwise<"gelu_grad", "{{{0}, {}}}"> {
  let summary = "gradient times the derivative of gelu at input";
  let description = [{
    Where nn.gelu says that the gradient is NaN, it is so for every gradient, even 0.
    ```mlir
    %gelu_grad = nn.gelu_grad %g, %x {tanh} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input, UnitAttr:$tanh);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$input, "bool":$tanh), [{
    build($_builder, $_state, elementwiseResultType({gradient, input}), gradient, input, tanh);
  }]>];
}

def Nn_ClampOp : Nn_Elementwise<"clamp", "{}"> {
  let summary = "x, or `least` where x is less, or `most` where x is greater; a NaN stays a NaN";
  let description = [{
    ```mlir
    %clamp = nn.clamp %x {least = -1.0, most = 0.5} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    ```
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
    Elements that are not chosen have no influence on the result, not even infinities and NaNs, and a gradient of 0.
    ```mlir
    %select = nn.select %g, %x, %row : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    ```
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
    ```mlir
    %compare = nn.compare %x, %row {predicate = "lt"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi32>
    ```
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
  let description = [{
    'nn-differentiate' removes it, unless it changes the signature that its result has.
    ```mlir
    %stop_gradient = nn.stop_gradient %i : (tensor<4x3xi64>) -> tensor<4x3xi64>
    ```
  }];
  let arguments = (ins Nn_Tensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, elementwiseResultType({input}), input);
  }]>];
}

def Nn_NotEqualOp : Nn_Elementwise<"not_equal", "{}", [ConvertsElements]> {
  let summary = "1 where an integer is not `value`, else 0, in the result's element type";
  let description = [{
    ```mlir
    %not_equal = nn.not_equal %i {value = -100 : i64} : (tensor<4x3xi64>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Nn_IndexTensor:$input, I64Attr:$value);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType, "int64_t":$value), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone(elementType), input,
          $_builder.getI64IntegerAttr(value));
  }]>];
}

def Nn_CastOp : Nn_Elementwise<"cast", "linearIfExtending(*this)", [Differentiable, ConvertsElements]> {
  let summary = "The same numbers in another element type: to floats, rounded to nearest even; to integers, towards 0";
  let description = [{
    The op is linear (P gives P) if it extends floats: addends are then added up in the wider type. Else it is not
    linear: a rounded sum is not the sum of rounded addends. A float that an integer type does not hold becomes
    an unspecified number of that type.
    ```mlir
    %cast = nn.cast %i : (tensor<4x3xi64>) -> tensor<4x3xbf16>
    ```
  }];
  let arguments = (ins Nn_Tensor:$input);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone(elementType), input);
  }]>];
}

#endif // SPLITCAST_DIALECTS_NN_NNELEMENTWISE_TD
