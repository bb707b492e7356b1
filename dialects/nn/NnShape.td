//===- NnShape.td - Ops that make and move elements ------------------------------===//
//
// Nn.td includes this file, which uses its classes.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNSHAPE_TD
#define SPLITCAST_DIALECTS_NN_NNSHAPE_TD

def Nn_ConstantOp : Nn_ComputeOp<"constant"> {
  let summary = "A tensor of which every element has this value";
  let description = [{
    ```mlir
    %constant = nn.constant 1.0 : tensor<4x3xf32, #S0>
    ```
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
    ```mlir
    %iota = nn.iota {dim = 1 : i64} : () -> tensor<4x3xi32, #S0>
    ```
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
    ```mlir
    %reshape = nn.reshape %x : (tensor<4x3xf32>) -> tensor<2x6xf32>
    ```
    - C1: Operand and result have the same number of elements.
  }];
  let arguments = (ins Nn_Tensor:$input);
  let results = (outs Nn_Tensor:$result);
}

def Nn_BroadcastOp : Nn_ComputeOp<"broadcast", [Differentiable]> {
  let summary = "Repeats a tensor along new dimensions";
  let description = [{
    `dims` are the dimensions of the result that are new; the others are the operand's, in order.
    ```mlir
    %broadcast = nn.broadcast %x {dims = array<i64: 0, 2>} : (tensor<4x3xf32>) -> tensor<5x4x6x3xf32>
    ```
    - C1: `dims` are ascending dimensions of the result.
    - C2: Without them, the result has the operand's shape.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_Tensor:$result);
}

def Nn_SliceOp : Nn_ComputeOp<"slice", [Differentiable]> {
  let summary = "The elements from `start` on along one dimension, as many as the result has";
  let description = [{
    ```mlir
    %slice = nn.slice %x {dim = 0 : i64, start = 1 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
    ```
    - C1: `dim` is a dimension of the operand, and the result has the operand's extents elsewhere.
    - C2: 0 <= start and start + the result's extent <= the operand's.
  }];
  let arguments = (ins Nn_Tensor:$input, I64Attr:$dim, I64Attr:$start);
  let results = (outs Nn_Tensor:$result);
}

def Nn_TransposeOp : Nn_ComputeOp<"transpose", [Differentiable]> {
  let summary = "The dimensions in another order: dimension i of the result is dimension permutation[i] of the operand";
  let description = [{
    ```mlir
    %transpose = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
    ```
    - C1: `permutation` names each dimension of the operand once.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Nn_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
}

def Nn_ConcatOp : Nn_ComputeOp<"concat", [Differentiable]> {
  let summary = "Concatenates tensors along one dimension";
  let description = [{
    ```mlir
    %concat = nn.concat %x, %x {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
    ```
    - C1: There is at least one operand; `dim` is a dimension of all, and they have the same extents elsewhere.
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Nn_Tensor:$result);
}

#endif // SPLITCAST_DIALECTS_NN_NNSHAPE_TD
