//===- NnIndexed.td - Ops whose operands are indices into others ----------------------------------------------===//
//
// Nn.td includes this file, which uses its classes. Where the indexed dimension is divided among ranks, each op has the
// index at which its part begins, `first`, and the extent of the whole dimension, `places`: 'sbp-localize' sets both.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNINDEXED_TD
#define SPLITCAST_DIALECTS_NN_NNINDEXED_TD

/// The tensor whose place in the global tensor the op must know is an operand.
defvar PlacedOperand = DeclareOpInterfaceMethods<PlacedOpInterface, ["getPlaced", "isPlacedAlong", "canBePart"]>;
defvar PlacedResult = DeclareOpInterfaceMethods<PlacedOpInterface, ["isPlacedAlong", "canBePart"]>;

def Nn_EmbeddingOp : Nn_ComputeOp<"embedding", [Differentiable, Indexed, WideResultOp, PlacedOperand]> {
  let summary = "Looks up rows of a table";
  let description = [{
    ```mlir
    %y = nn.embedding %table, %ids : (tensor<256x64xf32>, tensor<32x8xi64>) -> tensor<32x8x64xf32>
    ```
    The rows of the table may be divided among ranks: each rank looks up those that it has, and takes 0 for the others;
    the sum over ranks is the result, in which -0 may be 0. An index outside of the whole table is an error when the
    step runs. Rows that are not looked up have no influence, even if they are infinite or NaN.
    - C1: The table has two dimensions; the result has those of the indices and then the table's second.
    - C2: Either both `first` and `places` are present or neither; the table's rows from `first` on lie within 0 to
      `places`.
  }];
  let arguments = (ins Nn_FloatTensor:$table, Nn_IndexTensor:$ids, OptionalAttr<I64Attr>:$first,
                       OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$table, "::mlir::Value":$ids)>];
}

def Nn_EmbeddingGradOp : Nn_ComputeOp<"embedding_grad", [IndexedLibrary, PlacedResult]> {
  let summary = "Sums each row of the gradient into the row of the table that it came from";
  let description = [{
    For a part of the table, it sums only the rows that came from there.
    ```mlir
    %g = nn.embedding_grad %rows, %ids : (tensor<32x8x64xf32>, tensor<32x8xi64>) -> tensor<256x64xf32>
    ```
    - C1: The gradient has the dimensions of the indices and then the table's second.
    - C2: Either both `first` and `places` are present or neither; the table's rows from `first` on lie within 0 to
      `places`.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_IndexTensor:$ids, OptionalAttr<I64Attr>:$first,
                       OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$table, "::mlir::Value":$gradient, "::mlir::Value":$ids), [{
    build($_builder, $_state, table, gradient, ids, ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
  }]>];
}

def Nn_TakeOp : Nn_ComputeOp<"take", [Indexed, PlacedOperand]> {
  let summary = "Takes, per row, the element that an index names";
  let description = [{
    ```mlir
    %y = nn.take %x, %ids : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<8xf32>
    ```
    A row whose index is `ignored` gives 0. The last dimension may be divided among ranks: each rank takes the elements
    that it has, and 0 for the others; the sum over ranks is the result, in which -0 may be 0. Any other index outside
    of the whole dimension is an error when the step runs. Elements that are not taken have no influence, whatever they
    are.
    - C1: The indices have the operand's dimensions except the last.
    - C2: Either both `first` and `places` are present or neither; the last dimension's elements from `first` on lie
      within 0 to `places`.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_IndexTensor:$ids, OptionalAttr<I64Attr>:$ignored,
                       OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$ids, "::mlir::IntegerAttr":$ignored)>];
}

def Nn_SoftmaxCrossEntropyOp : Nn_ComputeOp<"softmax_cross_entropy", [Differentiable, Indexed, WideOp]> {
  let summary = "Per row: log(sum over classes of exp(logit)) - logit of the label";
  let description = [{
    ```mlir
    %l = nn.softmax_cross_entropy %logits, %labels : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
    ```
    The row's largest logit is subtracted first, so nothing overflows. A row whose label is `ignored` gives 0, and so
    does its gradient; for a mean over the other rows, divide the sum by that of nn.not_equal, the global count. Where
    there are fewer `classes` than the last dimension has elements, the rest of the dimension is padding: it is not
    used, and its gradient is 0. Any other label outside of the classes is an error when the step runs.
    - C1: The last dimension of the logits has the classes; labels and result have the other dimensions.
    - C2: `classes`, if present, is at least 1 and at most the extent of that dimension.
  }];
  let arguments = (ins Nn_FloatTensor:$logits, Nn_IndexTensor:$labels, OptionalAttr<I64Attr>:$ignored,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$logits, "::mlir::Value":$labels,
                             CArg<"::mlir::IntegerAttr", "{}">:$ignored)>];
}

def Nn_SoftmaxCrossEntropyGradOp : Nn_ComputeOp<"softmax_cross_entropy_grad", [Indexed, WideOp, PlacedResult]> {
  let summary = "(softmax(logits) - one-hot of the label) times the row's gradient; 0 where the label is `ignored` and "
                "in the padding after `classes`";
  let description = [{
    With `log_sum`, the logarithm of the row's sum of exponentials, no rank needs a whole row, and the classes may be
    divided among ranks.
    ```mlir
    %h = nn.softmax_cross_entropy_grad %l, %logits, %labels : (tensor<32xf32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
    ```
    - C1: Gradient, labels and `log_sum` have the logits' dimensions except the last, which has the classes.
    - C2: `classes`, if present, is at least 1 and at most the extent of that dimension, and there is no `log_sum`.
    - C3: Either both `first` and `places` are present, and `log_sum` with them, or neither; the classes from `first` on
      lie within 0 to `places`.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$logits, Nn_IndexTensor:$labels,
                       Optional<Nn_FloatTensor>:$log_sum, OptionalAttr<I64Attr>:$ignored,
                       OptionalAttr<I64Attr>:$classes, OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$logits, "::mlir::Value":$labels,
                             "::mlir::IntegerAttr":$ignored, "::mlir::IntegerAttr":$classes)>];
}

#endif // SPLITCAST_DIALECTS_NN_NNINDEXED_TD
