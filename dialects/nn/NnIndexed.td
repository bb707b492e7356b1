//===- NnIndexed.td - Ops whose operands name places in others ----------------------------------------------===//
//
// Included by Nn.td, whose classes it uses. Where the places are divided among ranks, each op knows of its part where it
// begins, `first`, and how many places there are in all, `places`: 'sbp-localize' sets both.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNINDEXED_TD
#define SPLITCAST_DIALECTS_NN_NNINDEXED_TD

/// The tensor whose place the op must know is an operand.
defvar PlacedOperand = DeclareOpInterfaceMethods<PlacedOpInterface, ["getPlaced", "isPlacedAlong", "canBePart"]>;
defvar PlacedResult = DeclareOpInterfaceMethods<PlacedOpInterface, ["isPlacedAlong", "canBePart"]>;

def Nn_EmbeddingOp : Nn_ComputeOp<"embedding", [Differentiable, Indexed, WideResultOp, PlacedOperand]> {
  let summary = "Rows of a table";
  let description = [{
    ```mlir
    %y = nn.embedding %table, %ids : (tensor<256x64xf32>, tensor<32x8xi64>) -> tensor<32x8x64xf32>
    ```
    The rows of the table may be divided among ranks: each looks up those that it has, 0 for the others, and the sum is the result.
    - C1: The table has two dimensions; the result has those of the indices and then the table's second.
    - C2: `first` and `places` are both there or neither; the table's rows from `first` on lie within 0 to `places`.
    An index outside of the whole table is an error when the step runs.
  }];
  let arguments = (ins Nn_FloatTensor:$table, Nn_IndexTensor:$ids, OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$table, "::mlir::Value":$ids)>];
}

def Nn_EmbeddingGradOp : Nn_ComputeOp<"embedding_grad", [IndexedLibrary, PlacedResult]> {
  let summary = "Adds each row of the gradient to the row of the table that it came from";
  let description = [{
    Of a part of the table those that came from there.
    - C1: The gradient has the dimensions of the indices and then the table's second.
    - C2: `first` and `places` are both there or neither; the table's rows from `first` on lie within 0 to `places`.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_IndexTensor:$ids, OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$table, "::mlir::Value":$gradient, "::mlir::Value":$ids), [{
    build($_builder, $_state, table, gradient, ids, ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
  }]>];
}

def Nn_TakeOp : Nn_ComputeOp<"take", [Indexed, PlacedOperand]> {
  let summary = "Per row: the element that an index names";
  let description = [{
    ```mlir
    %y = nn.take %x, %ids : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<8xf32>
    ```
    A row whose index is `ignored` gives 0. The last dimension may be divided among ranks: each takes what it has, 0 for the others, and the
    sum is the result.
    - C1: The indices have the operand's dimensions but the last.
    - C2: `first` and `places` are both there or neither; the last dimension's elements from `first` on lie within 0 to `places`.
    Any other index outside of the whole dimension is an error when the step runs.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_IndexTensor:$ids, OptionalAttr<I64Attr>:$ignored, OptionalAttr<I64Attr>:$first,
                       OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$ids, "::mlir::IntegerAttr":$ignored)>];
}

def Nn_SoftmaxCrossEntropyOp : Nn_ComputeOp<"softmax_cross_entropy", [Differentiable, Indexed, WideOp]> {
  let summary = "Per row: log(sum over classes of exp(logit)) - logit of the label";
  let description = [{
    ```mlir
    %l = nn.softmax_cross_entropy %logits, %labels : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
    ```
    The row's largest logit is subtracted first, so nothing overflows. A row whose label is `ignored` gives 0, and so does
    its gradient; divide the sum by nn.not_equal's, the global count, for a mean over the others.
    Where there are fewer `classes` than the last dimension has elements, the rest of it is padding: it takes no part, and its
    gradient is 0.
    - C1: The last dimension of the logits is the classes; labels and result have the others.
    - C2: `classes`, if there, is at least 1 and at most that dimension.
    Any other label outside of the classes is an error when the step runs.
  }];
  let arguments = (ins Nn_FloatTensor:$logits, Nn_IndexTensor:$labels, OptionalAttr<I64Attr>:$ignored,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$logits, "::mlir::Value":$labels,
                             CArg<"::mlir::IntegerAttr", "{}">:$ignored)>];
}

def Nn_SoftmaxCrossEntropyGradOp : Nn_ComputeOp<"softmax_cross_entropy_grad", [Indexed, WideOp, PlacedResult]> {
  let summary = "(softmax(logits) - one-hot of the label) times the row's gradient; 0 where the label is `ignored`, and beyond `classes`";
  let description = [{
    With `log_sum`, the logarithm of the row's sum of exponentials, no row is needed whole, and the classes may be divided among ranks.
    - C1: Gradient, labels and `log_sum` have the logits' dimensions but the last, the classes.
    - C2: `classes`, if there, is at least 1 and at most that dimension, and there is no `log_sum`.
    - C3: `first` and `places` are both there or neither, and with them `log_sum`; the classes from `first` on lie within 0 to `places`.
  }];
  let arguments = (ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$logits, Nn_IndexTensor:$labels, Optional<Nn_FloatTensor>:$log_sum,
                       OptionalAttr<I64Attr>:$ignored, OptionalAttr<I64Attr>:$classes, OptionalAttr<I64Attr>:$first,
                       OptionalAttr<I64Attr>:$places);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$gradient, "::mlir::Value":$logits, "::mlir::Value":$labels,
                             "::mlir::IntegerAttr":$ignored, "::mlir::IntegerAttr":$classes)>];
}

#endif // SPLITCAST_DIALECTS_NN_NNINDEXED_TD
