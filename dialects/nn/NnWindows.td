//===- NnWindows.td - Ops over windows of the last two dimensions --------------===//
//
// Part of Nn.td, which includes it. Along a dimension of `extent` elements, tap k of window i covers element
// i stride + k dilation - padding, which is there if it lies in [0, extent). There are
// (extent + 2 padding - dilation (kernel - 1) - 1) / stride + 1 windows, rounded down.
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
    Input [samples, channels, height, width], weight [outputs, channels / groups, rows, columns]; the result is [samples, outputs, windows down,
    windows across]. An output's element is the sum over its group's channels and over the taps of weight times the covered element; what
    a window covers beside the image counts as 0. (LeCun et al. 1998, "Gradient-based learning applied to document recognition"; as all
    frameworks do, the weight is not mirrored.)
    ```mlir
    %y = nn.convolution %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<4x16x5x5xf32>
    ```
    There are as many groups as the weight's channels go into the input's; where both have none, one.
    - C1: Input and weight have four dimensions and one element type.
    - C2: Strides, padding and dilation have two numbers each: at least 1, 0 and 1, and at most 2^31 - 1, as are the extents of the last
      two dimensions.
    - C3: The weight's channels divide the input's, and the quotient, the groups, divides the outputs.
    - C4: There is a tap, and a window along each dimension.
  }];
  let arguments = !con((ins Nn_FloatTensor:$input, Nn_FloatTensor:$weight), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

def Nn_ConvolutionDataGradOp : Nn_ComputeOp<"convolution_data_grad", [Differentiable, Library, ProductOp]> {
  let summary = "The gradient of a convolution's input; also what is called a transposed convolution";
  let description = [{
    An element is the sum, over the windows that cover it and the outputs of its group, of gradient times weight. The result's height and
    width are the convolution's input's: several have one number of windows.
    - C1: As nn.convolution's, of the result and the weight; the gradient has the type that the convolution gives.
    - C2: As nn.convolution's.
    - C3: As nn.convolution's.
    - C4: As nn.convolution's.
  }];
  let arguments = !con((ins Nn_FloatTensor:$gradient, Nn_FloatTensor:$weight), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

def Nn_ConvolutionWeightGradOp : Nn_ComputeOp<"convolution_weight_grad", [Differentiable, Library, ProductOp]> {
  let summary = "The gradient of a convolution's weight";
  let description = [{
    An element is the sum, over samples and windows, of gradient times the element that the tap covers.
    - C1: As nn.convolution's, of the input and the result; the gradient has the type that the convolution gives.
    - C2: As nn.convolution's.
    - C3: As nn.convolution's.
    - C4: As nn.convolution's.
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
    A NaN is larger than all else; a window that covers none gives -infinity. The gradient goes to the first of the largest, in row-major
    order.
    - C1: The input has two dimensions or more.
    - C2: `kernel`, strides, padding and dilation have two numbers each: at least 1, 1, 0 and 1, and at most 2^31 - 1, as are the extents of the
      last two dimensions.
    - C3: There is a window along each dimension.
  }];
  let arguments = !con((ins Nn_FloatTensor:$input, DenseI64ArrayAttr:$kernel), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

def Nn_MaxPoolPositionsOp : Nn_ComputeOp<"max_pool_positions"> {
  let summary = "Where in its window nn.max_pool found the largest element";
  let description = [{
    Per window the number of the first tap, in row-major order, that covers an element equal to `largest`, what nn.max_pool gives; of a window that
    has none, as one whose largest is a NaN, the number of its taps.
    - C1: As nn.max_pool's; `largest` has the type that nn.max_pool gives; the result is i64.
    - C2: As nn.max_pool's.
    - C3: As nn.max_pool's.
  }];
  let arguments = !con((ins Nn_FloatTensor:$input, Nn_FloatTensor:$largest, DenseI64ArrayAttr:$kernel), WindowArguments);
  let results = (outs Nn_IndexTensor:$result);
}

def Nn_MaxPoolGradOp : Nn_ComputeOp<"max_pool_grad"> {
  let summary = "The gradient of nn.max_pool's input";
  let description = [{
    The sum of the gradients of the windows of which an element is at the position. `extents` are the input's last two. A position that is no
    tap's number has no element.
    - C1: The gradient has two dimensions or more; positions have its shape.
    - C2: As nn.max_pool's; `extents` has two numbers, from 0 to 2^31 - 1.
    - C3: There is a window along each dimension, and there are as many as the gradient's last two extents say.
  }];
  let arguments = !con((ins Nn_FloatTensor:$gradient, Nn_IndexTensor:$positions, DenseI64ArrayAttr:$extents,
                        DenseI64ArrayAttr:$kernel), WindowArguments);
  let results = (outs Nn_FloatTensor:$result);
}

#endif // SPLITCAST_DIALECTS_NN_NNWINDOWS_TD
