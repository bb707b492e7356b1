//===- NnRows.td - Ops over whole rows of the last dimension, and attention ------===//
//
// Nn.td includes this file, which uses its classes.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNROWS_TD
#define SPLITCAST_DIALECTS_NN_NNROWS_TD

def Nn_SoftmaxOp : Nn_ComputeOp<"softmax", [Differentiable, WideOp]> {
  let summary = "Along the last dimension: exp(x - the largest x), divided by its sum";
  let description = [{
    A row with a NaN or +inf is NaN. An element of -inf gives 0, and a row that has no others is NaN, as in PyTorch.
    ```mlir
    %softmax = nn.softmax %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ```
    - C1: The operand has at least one dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_LogSumExpOp : Nn_ComputeOp<"log_sum_exp", [Differentiable, WideOp]> {
  let summary = "Per row: log(sum over the last dimension of exp(x))";
  let description = [{
    The row's largest element is subtracted first, so nothing overflows. Where all elements are -inf, so is the result;
    where one is +inf and none a NaN, it is +inf. Beside a large element the result has few digits behind the point: what
    needs them subtracts it first, and adds the log_sum_exp of the differences.
    For a row that is cut into parts, the result is the log_sum_exp of the results of the parts.
    ```mlir
    %l = nn.log_sum_exp %x : (tensor<8x10xf32>) -> tensor<8xf32>
    ```
    - C1: The operand has at least one dimension; the result has all but the last.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_SoftmaxGradOp : Nn_ComputeOp<"softmax_grad", [WideOp]> {
  let summary = "y (g - sum over the last dimension of g y), with the softmax y and its gradient g";
  let description = [{
    ```mlir
    %softmax_grad = nn.softmax_grad %g, %softmax : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    ```
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
    dimension; the variance divides by its extent (Ba, Kiros and Hinton 2016, arXiv:1607.06450). A row gives NaN
    where its sum is not finite, and else the bias where its sum of squares is not. (PyTorch gives NaN there, too, on
    CPUs.) So does the gradient: NaN, and else 0.
    ```mlir
    %y = nn.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
    - C1: Weight and bias have the operand's last dimension and its element type.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$weight, Nn_FloatTensor:$bias, Nn_EpsilonAttr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias, "double":$epsilon)>];
}

def Nn_RowMomentsOp : Nn_ComputeOp<"row_moments", [WideOp]> {
  let summary = "Per row along the last dimension: its mean, and 1 / sqrt(variance + epsilon)";
  let description = [{
    Where the sum of a row's squares is not finite, though its mean is, the second result is 0.
    ```mlir
    %mean, %scale = nn.row_moments %x {epsilon = 0.125 : f64} : (tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    ```
    - C1: The operand has at least one dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_EpsilonAttr:$epsilon);
  let results = (outs Nn_FloatTensor:$mean, Nn_FloatTensor:$scale);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$epsilon)>];
}

def Nn_LayerNormGradOp : Nn_ComputeOp<"layer_norm_grad", [WideOp]> {
  let summary = "The gradient of a layer norm's operand";
  let description = [{
    It is s (h - mean(h) - z mean(h z)) with h = gradient * weight, z = (x - mean) s, s = 1 / sqrt(variance + epsilon).
    ```mlir
    %layer_norm_grad = nn.layer_norm_grad %g, %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```
    - C1: Gradient and operand have the same shape; the weight has its last dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input, Nn_FloatTensor:$weight, Nn_EpsilonAttr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$input, "::mlir::Value":$weight,
                             "double":$epsilon)>];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Nn_AttentionOp : Nn_ComputeOp<"attention", [Differentiable, Library, ProductOp,
                                                DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Scaled dot-product attention, per sample and head";
  let description = [{
    The result is softmax(scale query key^T) value, with query [samples, positions, heads, width] and with key and value
    [samples, keys, heads, width] (Vaswani et al. 2017, arXiv:1706.03762). With `causal`, position i attends to the keys
    0 to i; with a mask [samples, keys], only to keys whose entry is not 0. A position without a key gives 0, and so does
    one that sees but scores of -inf; one that sees a score of NaN or +inf gives NaN. The score of a key that is not seen
    has no influence, whatever it is. Its weight is 0, so that a NaN or infinity in its value may still give NaN, as it
    does in PyTorch. On GPUs, products of attention are made of two parts of each number, and the second part of an
    infinity is a NaN: an infinite operand may give NaN where it gives an infinity or a number on CPUs.
    ```mlir
    %y = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>) -> tensor<4x32x2x64xf32>
    ```
    No tensor of size positions x keys is kept for the gradient, which recomputes it. If there is a second result, it is
    log(sum over the keys that a position sees of exp(scale query key^T)), and 0 for a position without a key: with it,
    nn.attention_grad need not sum again, but has only the digits that the logarithm has beside a large score. It is
    written at the local level, and differentiation treats it as a constant.
    ```mlir
    %kept, %statistics = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x2x32xf32>)
    ```
    - C1: All have four dimensions and one element type; key and value have one shape, the query their samples, heads,
      width.
    - C2: The scale is finite, and a mask has the samples and keys of the key.
    - C3: The memory for the scores [samples, heads, positions, keys], on any device and in the gradient, is at most
      2^63 - 1 bytes.
    - C4: Statistics have the query's samples, heads and positions, in this order; they are f64 if the query is, and
      else f32.
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
                       Optional<Nn_IndexTensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Nn_FloatTensor:$result, Optional<Nn_FloatTensor>:$statistics);
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$mask,
                             "double":$scale, "bool":$causal)>];
  let extraClassDeclaration = [{
    /// Returns the type of the statistics of a query of this type.
    static ::mlir::RankedTensorType statisticsTypeOf(::mlir::RankedTensorType query);
  }];
}

def Nn_AttentionGradOp : Nn_ComputeOp<"attention_grad", [Library, ProductOp]> {
  let summary = "The gradients of query, key and value";
  let description = [{
    With p = softmax(scale q k^T) and dp = g v^T: dv = p^T g, ds = p (dp - sum over keys of p dp) scale, dq = ds k, dk =
    ds^T q. Infinities are as nn.attention says. A NaN or an infinity at a key that is not seen, times its weight of 0,
    may count as NaN or as 0.
    ```mlir
    %dq, %dk, %dv = nn.attention_grad %g, %q, %k, %k {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>)
    ```
    After the mask, if there is one, there may be both results of nn.attention, the output and the statistics. Then p =
    exp(scale q k^T - statistics), and the sum over keys of p dp is the sum over the width of g output.
    ```mlir
    %kq, %kk, %kv = nn.attention_grad %g, %q, %k, %v, %kept, %statistics {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x2x32xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>)
    ```
    - C1: The same as for nn.attention; the gradient has the query's shape.
    - C2: The same as for nn.attention.
    - C3: The same as for nn.attention.
    - C4: After query, key and value come at most a mask of i32 or i64 and both results of nn.attention: an output of
      the query's type, and statistics as nn.attention gives them.
  }];
  // How many there are of `kept` says which they are, so that the text needs no attribute that counts them.
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
                       Variadic<Nn_Tensor>:$kept, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Nn_FloatTensor:$query_grad, Nn_FloatTensor:$key_grad, Nn_FloatTensor:$value_grad);
  let extraClassDeclaration = [{
    /// Null where the op has no such operand.
    ::mlir::Value getMask() { return getKept().size() % 2 == 1 ? getKept().front() : ::mlir::Value(); }
    ::mlir::Value getOutput() { return getKept().size() < 2 ? ::mlir::Value() : getKept().drop_back().back(); }
    ::mlir::Value getStatistics() { return getKept().size() < 2 ? ::mlir::Value() : getKept().back(); }
  }];
}

#endif // SPLITCAST_DIALECTS_NN_NNROWS_TD
