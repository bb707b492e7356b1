//===- NnExact.td - Ops that sum without rounding --------------------------------===//
//
// Nn.td includes this file, which uses its classes. The ops cut numbers into parts and put parts together again. Sums
// of parts are exact, and so they are the same in every order, over ranks and over micro-batches.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNEXACT_TD
#define SPLITCAST_DIALECTS_NN_NNEXACT_TD

def Nn_ExactPartOp : Nn_Elementwise<"exact_part", "{{{0}, {}}}", [ConvertsElements]> {
  let summary = "One of the parts of x, which is cut into `of` parts whose sums are exact";
  let description = [{
    Part k is x, rounded to a multiple of q_k, minus x rounded to a multiple of q_(k-1) (ties to even). With b = 47, 40
    or 35 bits for 6, 7 or 8 parts, q_k is 2^(129 - b (k + 1)). So the parts make x if x is a multiple of the last unit,
    2^-153 or 2^-151, as all numbers of f32, bf16 and f16 are, and all of f64 from 2^-99 on. What an f64 has below that
    unit is rounded; nn.exact_rest says where. From 2^128 on, an f64 becomes infinite, as in f32.

    Part 0 is at most 2^(b - 1) multiples of its q, and so is each later part, since the earlier ones leave at most half
    of their q. An f64 holds all integers up to 2^53, so 127, 16,383 or 524,287 parts are added up without rounding
    (dialects/nn/ExactGrid.h), and their sum is the same in every order: over ranks, over micro-batches and by every
    library. (Pre-rounding: Rump, Ogita and Oishi 2008, "Accurate floating-point summation"; Demmel and Nguyen 2013,
    "Fast reproducible floating-point summation".) An infinity is in part 0 alone. A NaN stays a NaN in all parts, but
    its bits are not specified.

    So the op counts as linear, although the parts of a sum are not the sums of the parts of its addends: only
    nn.exact_sum makes a number of parts, and needs only their sums.
    ```mlir
    %part0 = nn.exact_part %x {of = 6 : i64, part = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
    ```
    - C1: `part` is less than `of`.
  }];
  let arguments = (ins Nn_FloatTensor:$input, ConfinedAttr<I64Attr, [IntMinValue<0>]>:$part,
                       ConfinedAttr<I64Attr, [IntMinValue<6>, IntMaxValue<8>]>:$of);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$part, "int64_t":$of), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType({input})).clone($_builder.getF64Type()),
          input, $_builder.getI64IntegerAttr(part), $_builder.getI64IntegerAttr(of));
  }]>];
  let hasVerifier = 1;
}

def Nn_ExactSumOp : Nn_Elementwise<"exact_sum", "{}", [ConvertsElements]> {
  let summary = "The number that results of nn.exact_part, or sums of them, make: the sum of all parts, rounded";
  let description = [{
    What exceeds half a unit of the part before is carried there first, without rounding, so that large parts that
    cancel leave the small ones. The sum is rounded to f64, then to f32, and then to bf16 or f16. (To the nearest f64,
    unless what is rounded off differs from half a unit by less than 2^-50 units.) Parts that are all -0 make 0. Numbers
    that are no multiples of their part's unit, or exceed it by 2^53, make an unspecified sum.
    ```mlir
    %exact_sum = nn.exact_sum %part0, %part1, %part2, %part3, %part4, %part5 : (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf32>
    ```
    - C1: There are 6 to 8 parts, as many as nn.exact_part was told.
  }];
  let arguments = (ins Variadic<Nn_DoubleTensor>:$parts);
  let results = (outs Nn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<::mlir::RankedTensorType>(elementwiseResultType(parts)).clone(elementType), parts);
  }]>];
  let hasVerifier = 1;
}

def Nn_ExactRestOp : Nn_Elementwise<"exact_rest", "{{{0}, {}}}"> {
  let summary = "Infinity where x has digits below the last unit of its parts (nn.exact_part), else 0";
  let description = [{
    It is 0 where x is not finite, or counts as infinite. The op counts as linear, as nn.exact_part does: a sum over
    ranks and micro-batches is infinite where something was rounded away of an addend, and nn.nonfinite counts such
    elements.
    ```mlir
    %exact_rest = nn.exact_rest %part0 {of = 6 : i64} : (tensor<4x3xf64>) -> tensor<4x3xf64>
    ```
  }];
  let arguments = (ins Nn_DoubleTensor:$input, ConfinedAttr<I64Attr, [IntMinValue<6>, IntMaxValue<8>]>:$of);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$of), [{
    build($_builder, $_state, elementwiseResultType({input}), input, $_builder.getI64IntegerAttr(of));
  }]>];
}

def Nn_SquarePartsOp : Nn_ComputeOp<"square_parts"> {
  let summary = "The sum of all elements' squares, as numbers of f64 whose sums are exact";
  let description = [{
    Part k of a square s is s minus the earlier parts, rounded to a multiple of q_k = 2^(237 - 20 k), and the result has
    the sum of each of the 28 parts. All squares of f32 are below 2^256, and a part after the first is at most
    q_(k-1) / 2; so sums of up to 2^34 elements have no rounding, and are the same in every order, over any pieces. The
    last unit is 2^-303, and the square of every f32 is a multiple of 2^-298, so nothing is dropped.

    An f64 has 103 parts, with q_k = 2^(970 - 20 k). Its square is rounded to f64 first, and counts as infinite from
    2^989 on; what it has below 2^-1070 is dropped. So elements from 2^-508 (1e-153) to 2^494 (5e148) lose nothing else.
    (Demmel and Nguyen 2013, "Fast reproducible floating-point summation".) An infinite square is infinite in part 0; a
    NaN is a NaN in all parts.

    So the tensor may lie in any pieces that ZeRO chooses, slots of buckets included: the result is then P, and no row
    of signatures changes a bit. nn.sum_parts adds up the parts of several tensors, and nn.total_of_parts makes the
    number.
    ```mlir
    %square_parts = nn.square_parts %x : (tensor<4x3xf32>) -> tensor<28xf64>
    ```
    - C1: The result is `tensor<28xf64>`, and of an f64, `tensor<103xf64>`.
  }];
  let arguments = (ins Nn_FloatTensor:$input);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let extraClassDeclaration = [{
    static constexpr int64_t kNumParts = 28, kNumPartsOfDouble = 103, kMostElements = int64_t{1} << 34;
    int64_t numParts() { return getInput().getType().getElementType().isF64() ? kNumPartsOfDouble : kNumParts; }
  }];
}

def Nn_TotalOfPartsOp : Nn_ComputeOp<"total_of_parts"> {
  let summary = "The sum of the parts of nn.square_parts, or of sums of them, rounded to one number";
  let description = [{
    Unlike a sum, the op is not linear: parts are added up over ranks first, without rounding.
    ```mlir
    %total_of_parts = nn.total_of_parts %sum_parts : (tensor<28xf64>) -> tensor<f64>
    ```
    - C1: The operand is `tensor<28xf64>` or `tensor<103xf64>`, and the result `tensor<f64>`.
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
    %sum_parts = nn.sum_parts %square_parts, %square_parts : (tensor<28xf64>, tensor<28xf64>) -> tensor<28xf64>
    ```
    - C1: There is at least one operand, and all have the type of the result.
  }];
  let arguments = (ins Variadic<Nn_DoubleTensor>:$parts);
  let results = (outs Nn_DoubleTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
}

#endif // SPLITCAST_DIALECTS_NN_NNEXACT_TD
