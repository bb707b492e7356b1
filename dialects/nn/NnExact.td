//===- NnExact.td - Ops that sum without rounding --------------------------------===//
//
// Nn.td includes this file, which uses its classes. The ops cut numbers into parts and put parts together again. Sums
// of parts are exact, and so they are the same in every order, over ranks and over micro-batches.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNEXACT_TD
#define SPLITCAST_DIALECTS_NN_NNEXACT_TD

def Nn_ExactPartOp : Nn_Elementwise<"exact_part", "{{{0}, {}}}", [ConvertsElements]> {
  let summary = "Part 0, 1 or 2 of x, which is cut into three parts whose sums are exact";
  let description = [{
    Part k is x minus the earlier parts, rounded to a multiple of q_k, where q is 2^8, 2^-32 and 2^-72. The rest after
    the last part, at most 2^-73, is dropped; it is 0 for an f32 from 2^-49 on, and for an f64 from 2^-20 on. Part 0 is
    below 2^47, which is 2^39 multiples of its q, and so is each later part, since the earlier ones leave at most half
    of their q. An f64 holds all integers up to 2^53, so 2^14 = 2^53 / 2^39 multiples of one q are added up without
    rounding, and their sum is the same in every order: over ranks, over micro-batches and by every library.
    (Pre-rounding: Rump, Ogita and Oishi 2008, "Accurate floating-point summation"; Demmel and Nguyen 2013, "Fast
    reproducible floating-point summation".) From 2^47 on, x becomes infinite, as a number that is too large for f16
    does. (A NaN stays a NaN, but its bits are not specified.)

    So the op counts as linear, although the parts of a sum are not the sums of the parts of its addends: only
    nn.exact_sum makes a number of parts, and needs only their sums.
    ```mlir
    %part0 = nn.exact_part %x {part = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
    ```
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
    ```mlir
    %exact_sum = nn.exact_sum %part0, %part1, %part2 : (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf32>
    ```
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
    ```mlir
    %square_parts = nn.square_parts %x : (tensor<4x3xf32>) -> tensor<24xf64>
    ```
    - C1: The result is `tensor<24xf64>`.
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
    ```mlir
    %total_of_parts = nn.total_of_parts %sum_parts : (tensor<24xf64>) -> tensor<f64>
    ```
    - C1: The operand is `tensor<24xf64>`, and the result `tensor<f64>`.
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
    ```mlir
    %nonfinite = nn.nonfinite %g : (tensor<4x3xf32>) -> tensor<f64>
    ```
    - C1: The result is `tensor<f64>`.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Nn_SumPartsOp : Nn_ComputeOp<"sum_parts"> {
  let summary = "The sum of tensors whose sums are exact: of results of nn.square_parts, or of nn.nonfinite";
  let description = [{
    ```mlir
    %sum_parts = nn.sum_parts %square_parts, %square_parts : (tensor<24xf64>, tensor<24xf64>) -> tensor<24xf64>
    ```
    - C1: There is at least one operand, and all have the type of the result.
  }];
  let arguments = (ins Variadic<Nn_DoubleTensor>:$parts);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
}

#endif // SPLITCAST_DIALECTS_NN_NNEXACT_TD
