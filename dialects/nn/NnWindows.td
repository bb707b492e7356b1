//===- NnWindows.td - Ops over windows of the last two dimensions --------------===//
//
// This file is a part of Nn.td, which includes it. Along a dimension of `extent` elements, tap k of window i covers
// element i * stride + k * dilation - padding, which exists if it lies in [0, extent). There are (extent + 2 * padding
// - dilation * (kernel - 1) - 1) / stride + 1 windows, rounded down.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NNWINDOWS_TD
#define SPLITCAST_DIALECTS_NN_NNWINDOWS_TD

defvar WindowArguments = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation);

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

def Nn_ConvolutionOp : Nn_ComputeOp<"convolution", [Differentiable, Library, ProductOp]> {
  let summary = "Convolution of images, by groups of channels";
  let description = [{
    The input is [samples, channels, height, width], the weight [outputs, channels / groups, rows, columns], and the
    result [samples, outputs, windows down, windows across]. An element of an output is the sum, over the channels of
    its group and over the taps, of weight times the covered element; elements that a window covers outside of the image
    count as 0. (LeCun et al. 1998, "Gradient-based learning applied to document recognition"; as in all frameworks, the
    weight is not mirrored.)
    ```mlir
    %y = nn.convolution %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<4x16x5x5xf32>
    ```
    The number of groups is the number of the input's channels divided by that of the weight's; where both are 0, it is
    1.
    An infinity or a NaN of the weight times an element outside of the image may count as 0 or as NaN: libraries differ,
    as in PyTorch, and so it is for nn.convolution_weight_grad. All other products count, 0 times infinity as NaN.
    - C1: Input and weight have four dimensions and the same element type.
    - C2: Strides, padding and dilation have two numbers each, of at least 1, 0 and 1; these and the extents of the last
      two dimensions are at most 2^31 - 1.
    - C3: The weight's channels divide the input's, and the quotient, the groups, divides the outputs.
    - C4: There is at least one tap and one window along each dimension.
  }];
  let arguments = !con((ins Nn_FloatTensor:$input, Nn_FloatTensor:$weight), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

def Nn_ConvolutionDataGradOp : Nn_ComputeOp<"convolution_data_grad", [Differentiable, Library, ProductOp]> {
  let summary = "The gradient of a convolution's input; also known as a transposed convolution";
  let description = [{
    An element is the sum, over the windows that cover it and the outputs of its group, of gradient times weight. The
    result type gives the height and width of the convolution's input, since several of them have the same number of
    windows.
    ```mlir
    %convolution_data_grad = nn.convolution_data_grad %y, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x16x5x5xf32>, tensor<16x8x3x3xf32>) -> tensor<4x8x9x9xf32>
    ```
    - C1: The same as for nn.convolution, for the result and the weight; the gradient has the type of its result.
    - C2: The same as for nn.convolution.
    - C3: The same as for nn.convolution.
    - C4: The same as for nn.convolution.
  }];
  let arguments = !con((ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$weight), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

def Nn_ConvolutionWeightGradOp : Nn_ComputeOp<"convolution_weight_grad", [Differentiable, Library, ProductOp]> {
  let summary = "The gradient of a convolution's weight";
  let description = [{
    An element is the sum, over samples and windows, of the gradient times the element that the tap covers.
    ```mlir
    %convolution_weight_grad = nn.convolution_weight_grad %y, %x {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x16x5x5xf32>, tensor<4x8x9x9xf32>) -> tensor<16x8x3x3xf32>
    ```
    - C1: The same as for nn.convolution, for the input and the result; the gradient has the type of its result.
    - C2: The same as for nn.convolution.
    - C3: The same as for nn.convolution.
    - C4: The same as for nn.convolution.
  }];
  let arguments = !con((ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$input), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

def Nn_MaxPoolOp : Nn_ComputeOp<"max_pool", [Differentiable]> {
  let summary = "The largest element that each window of the last two dimensions covers";
  let description = [{
    A NaN counts as larger than every number; a window that covers no element gives -infinity. The gradient goes to the
    first of the largest elements, in row-major order, and of NaNs to the last, as in PyTorch. Of 0 and -0, either may
    be the largest.
    ```mlir
    %max_pool = nn.max_pool %x {kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 2>} : (tensor<4x8x9x9xf32>) -> tensor<4x8x5x7xf32>
    ```
    - C1: The input has two dimensions or more.
    - C2: `kernel`, strides, padding and dilation have two numbers each, of at least 1, 1, 0 and 1; these and the
      extents of the last two dimensions are at most 2^31 - 1.
    - C3: There is at least one window along each dimension.
  }];
  let arguments = !con((ins Nn_FloatTensor:$input, DenseI64ArrayAttr:$kernel), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

def Nn_MaxPoolPositionsOp : Nn_ComputeOp<"max_pool_positions"> {
  let summary = "The position in its window at which nn.max_pool found the largest element";
  let description = [{
    The result has, per window, the number of the first tap, in row-major order, that covers an element equal to
    `largest`, the result of nn.max_pool, or that of the last tap that covers a NaN. For a window without such a tap it
    is the number of taps.
    ```mlir
    %max_pool_positions = nn.max_pool_positions %x, %max_pool {kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 2>} : (tensor<4x8x9x9xf32>, tensor<4x8x5x7xf32>) -> tensor<4x8x5x7xi64>
    ```
    - C1: The same as for nn.max_pool; `largest` has the type of its result; the result is i64.
    - C2: The same as for nn.max_pool.
    - C3: The same as for nn.max_pool.
  }];
  let arguments = !con((ins Nn_FloatTensor:$input, Nn_FloatTensor:$largest, DenseI64ArrayAttr:$kernel),
                       WindowArguments);
  let results = (outs Nn_IndexTensor:$result);
}

def Nn_MaxPoolGradOp : Nn_ComputeOp<"max_pool_grad"> {
  let summary = "The gradient of nn.max_pool's input";
  let description = [{
    An element of the result is the sum of the gradients of the windows whose position it is. `extents` are the last two
    extents of the input. A position that is not the number of a tap has no element. A gradient counts at its position
    alone, even if it is infinite or a NaN.
    ```mlir
    %max_pool_grad = nn.max_pool_grad %max_pool, %max_pool_positions {extents = array<i64: 9, 9>, kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 2>} : (tensor<4x8x5x7xf32>, tensor<4x8x5x7xi64>) -> tensor<4x8x9x9xf32>
    ```
    - C1: The gradient has two dimensions or more; positions have its shape.
    - C2: The same as for nn.max_pool; `extents` has two numbers, from 0 to 2^31 - 1.
    - C3: There is at least one window along each dimension, and their number is that of the gradient's last two
      extents.
  }];
  let arguments = !con((ins Nn_FloatTensor:$gradient, Nn_IndexTensor:$positions, DenseI64ArrayAttr:$extents,
                        DenseI64ArrayAttr:$kernel), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

#endif // SPLITCAST_DIALECTS_NN_NNWINDOWS_TD
