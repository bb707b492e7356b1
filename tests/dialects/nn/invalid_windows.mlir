// As invalid.mlir, for convolutions and their gradients.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @convolution_c1(%x: tensor<1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<1x4x4xf32>' and weight 'tensor<3x1x3x3xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c1(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3x1xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<2x1x4x4xf32>' and weight 'tensor<3x1x3x3x1xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3x1xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c1(%x: tensor<f32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<f32>' and weight 'tensor<f32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @convolution_c1(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf16>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<2x1x4x4xf32>' and weight 'tensor<3x1x3x3xf16>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf16>) -> tensor<2x3x2x2xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @convolution_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<4xf32>' and weight 'tensor<4xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

func.func @convolution_c1_legal(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>, %w: tensor<2x1x4x4xf16>, %z: tensor<3x1x3x3xf16>, %u: tensor<2x1x4x4xbf16>, %v: tensor<3x1x3x3xbf16>, %a: tensor<2x1x4x4xf64>, %b: tensor<3x1x3x3xf64>) {
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  %1 = nn.convolution %w, %z {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf16>, tensor<3x1x3x3xf16>) -> tensor<2x3x2x2xf16>
  %2 = nn.convolution %u, %v {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xbf16>, tensor<3x1x3x3xbf16>) -> tensor<2x3x2x2xbf16>
  %3 = nn.convolution %a, %b {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf64>, tensor<3x1x3x3xf64>) -> tensor<2x3x2x2xf64>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has strides [0, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 0, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has strides [1, -1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, -1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has strides [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 2147483648, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has strides [1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has padding [-1, 0]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: -1, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has padding [0, 9223372036854775807]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 9223372036854775807>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has padding [0, 0, 0]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has dilation [1, 0]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 0>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has dilation [-9223372036854775808, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: -9223372036854775808, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<2x1x4x4xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has dilation []; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64>} : (tensor<2x1x4x4xf32>, tensor<3x1x3x3xf32>) -> tensor<2x3x2x2xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<1x1x2147483648x1xf32>, %y: tensor<1x1x1x1xf32>) {
  // expected-error @below {{'nn.convolution' op has the last two extents [2147483648, 1]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2147483648x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2147483648x1xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<1x1x2147483648x1xf32>) {
  // expected-error @below {{'nn.convolution' op has kernel [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2147483648x1xf32>, tensor<1x1x2147483648x1xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

// An image of no sample has a size, too.
func.func @convolution_c2(%x: tensor<0x1x1x2305843009213693951xf32>, %y: tensor<1x1x1x1xf32>) {
  // expected-error @below {{'nn.convolution' op has the last two extents [1, 2305843009213693951]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x1x1x2305843009213693951xf32>, tensor<1x1x1x1xf32>) -> tensor<0x1x1x2305843009213693951xf32>
  return
}

// -----

func.func @convolution_c2_legal(%x: tensor<1x1x4x4xf32>, %y: tensor<1x1x3x3xf32>, %w: tensor<1x1x1x1xf32>, %z: tensor<1x1x2x2xf32>, %u: tensor<1x1x2147483647x1xf32>, %v: tensor<1x1x2x1xf32>, %a: tensor<1x1x1x2147483647xf32>) {
  %0 = nn.convolution %x, %y {strides = array<i64: 2147483647, 2147483647>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  // More padding than image.
  %1 = nn.convolution %x, %w {strides = array<i64: 2147483647, 1>, padding = array<i64: 2147483647, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x3x4xf32>
  %2 = nn.convolution %z, %y {strides = array<i64: 1, 1>, padding = array<i64: 5, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x10x2xf32>
  // Of one tap, dilation makes no difference.
  %3 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483647, 2147483647>} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %4 = nn.convolution %u, %v {strides = array<i64: 1, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 2147483647, 1>} : (tensor<1x1x2147483647x1xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32>
  %5 = nn.convolution %a, %a {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x2147483647xf32>, tensor<1x1x1x2147483647xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<1x4x4x4xf32>, %y: tensor<6x3x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<6x3x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x2x2xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<1x4x4x4xf32>, %y: tensor<5x2x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<5x2x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<5x2x3x3xf32>) -> tensor<1x5x2x2xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<1x4x4x4xf32>, %y: tensor<4x8x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<4x8x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<1x4x4x4xf32>, %y: tensor<4x0x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<4x0x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<4x0x3x3xf32>) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<1x0x4x4xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op takes input 'tensor<1x0x4x4xf32>' and weight 'tensor<4x2x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x4x4xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @convolution_c3_legal(%x: tensor<1x4x4x4xf32>, %y: tensor<6x2x3x3xf32>, %w: tensor<4x1x3x3xf32>, %z: tensor<8x1x3x3xf32>, %u: tensor<1x0x4x4xf32>, %v: tensor<6x0x3x3xf32>, %a: tensor<0x2x3x3xf32>, %b: tensor<0x1x3x3xf32>) {
  // Two groups, and one for each channel.
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x2x2xf32>
  %1 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x2x2xf32>
  %2 = nn.convolution %x, %z {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x2x2xf32>
  // One group of no channel, none of two, and no outputs.
  %3 = nn.convolution %u, %v {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x4x4xf32>, tensor<6x0x3x3xf32>) -> tensor<1x6x2x2xf32>
  %4 = nn.convolution %u, %a {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x4x4xf32>, tensor<0x2x3x3xf32>) -> tensor<1x0x2x2xf32>
  %5 = nn.convolution %x, %b {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<0x1x3x3xf32>) -> tensor<1x0x2x2xf32>
  return
}

// -----

func.func @convolution_c4(%x: tensor<1x1x4x4xf32>, %y: tensor<1x1x0x3xf32>) {
  // expected-error @below {{'nn.convolution' op has kernel [0, 3]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x4x4xf32>, tensor<1x1x0x3xf32>) -> tensor<1x1x5x2xf32>
  return
}

// -----

func.func @convolution_c4(%x: tensor<1x1x2x4xf32>, %y: tensor<1x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has no window along dimension 2: 2 elements and twice 0 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x2xf32>
  return
}

// -----

func.func @convolution_c4(%x: tensor<1x1x4x4xf32>, %y: tensor<1x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has no window along dimension 3: 4 elements and twice 0 of padding are fewer than the 5 that a kernel of 3 with dilation 2 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>} : (tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x1xf32>
  return
}

// -----

func.func @convolution_c4(%x: tensor<1x1x0x0xf32>, %y: tensor<1x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution' op has no window along dimension 2: 0 elements and twice 1 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x0x0xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

func.func @convolution_c4_legal(%x: tensor<1x1x5x3xf32>, %y: tensor<1x1x3x3xf32>, %w: tensor<1x1x0x0xf32>, %z: tensor<1x1x4x2xf32>, %u: tensor<0x1x4x4xf32>) {
  // A kernel that just fits, also into padding alone.
  %0 = nn.convolution %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 1>} : (tensor<1x1x5x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  %1 = nn.convolution %w, %z {strides = array<i64: 1, 1>, padding = array<i64: 2, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x0x0xf32>, tensor<1x1x4x2xf32>) -> tensor<1x1x1x1xf32>
  // No sample.
  %2 = nn.convolution %u, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<0x1x2x2xf32>
  return
}

// -----

func.func @convolution_data_grad_c1(%x: tensor<2x3x2x2xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<1x4x4xf32>' and weight 'tensor<3x1x3x3xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x1x3x3xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c1(%x: tensor<2x3x2x2xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<2x1x4x4xf32>' and weight 'tensor<3x3xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c1(%x: tensor<2x3x2x2xf32>, %y: tensor<3x1x3x3xf16>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<2x1x4x4xf32>' and weight 'tensor<3x1x3x3xf16>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x1x3x3xf16>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c1(%x: tensor<2x3x2x3xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes gradient 'tensor<2x3x2x3xf32>', but the convolution of 'tensor<2x1x4x4xf32>' and 'tensor<3x1x3x3xf32>' gives 'tensor<2x3x2x2xf32>'; change the types}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x3xf32>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c1(%x: tensor<2x6x2xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes gradient 'tensor<2x6x2xf32>', but the convolution of 'tensor<2x1x4x4xf32>' and 'tensor<3x1x3x3xf32>' gives 'tensor<2x3x2x2xf32>'; change the types}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x6x2xf32>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c1(%x: tensor<2x3x2x2xbf16>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes gradient 'tensor<2x3x2x2xbf16>', but the convolution of 'tensor<2x1x4x4xf32>' and 'tensor<3x1x3x3xf32>' gives 'tensor<2x3x2x2xf32>'; change the types}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xbf16>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @convolution_data_grad_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<4xf32>' and weight 'tensor<4xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_data_grad %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

func.func @convolution_data_grad_c1_legal(%x: tensor<2x3x2x2xf32>, %y: tensor<3x1x3x3xf32>, %w: tensor<2x3x2x2xbf16>, %z: tensor<3x1x3x3xbf16>, %u: tensor<1x1x2x2xf32>, %v: tensor<1x1x3x3xf32>) {
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  %1 = nn.convolution_data_grad %w, %z {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xbf16>, tensor<3x1x3x3xbf16>) -> tensor<2x1x4x4xbf16>
  // Heights and widths that have two windows.
  %2 = nn.convolution_data_grad %u, %v {strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x5x5xf32>
  %3 = nn.convolution_data_grad %u, %v {strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x6x5xf32>
  return
}

// -----

func.func @convolution_data_grad_c2(%x: tensor<2x3x2x2xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has strides [1, 0]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 0>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c2(%x: tensor<2x3x2x2xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has padding [0, 2147483648]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 2147483648>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c2(%x: tensor<2x3x2x2xf32>, %y: tensor<3x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has dilation [1, 1, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1, 1>} : (tensor<2x3x2x2xf32>, tensor<3x1x3x3xf32>) -> tensor<2x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c2(%x: tensor<1x1x2147483648x1xf32>, %y: tensor<1x1x1x1xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has the last two extents [2147483648, 1]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2147483648x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2147483648x1xf32>
  return
}

// -----

func.func @convolution_data_grad_c2(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x2147483648x1xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has kernel [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x2147483648x1xf32>) -> tensor<1x1x2147483648x1xf32>
  return
}

// -----

func.func @convolution_data_grad_c2_legal(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x3x3xf32>, %w: tensor<1x1x3x4xf32>, %z: tensor<1x1x10x2xf32>, %u: tensor<1x1x4x4xf32>, %v: tensor<1x1x2x1xf32>, %a: tensor<1x1x1x2147483647xf32>) {
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 2147483647, 2147483647>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  // More padding than image.
  %1 = nn.convolution_data_grad %w, %x {strides = array<i64: 2147483647, 1>, padding = array<i64: 2147483647, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x3x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %2 = nn.convolution_data_grad %z, %y {strides = array<i64: 1, 1>, padding = array<i64: 5, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x10x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  // Of one tap, dilation makes no difference.
  %3 = nn.convolution_data_grad %u, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483647, 2147483647>} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %4 = nn.convolution_data_grad %v, %v {strides = array<i64: 1, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 2147483647, 1>} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2147483647x1xf32>
  %5 = nn.convolution_data_grad %x, %a {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x1x2147483647xf32>) -> tensor<1x1x1x2147483647xf32>
  return
}

// -----

func.func @convolution_data_grad_c3(%x: tensor<1x6x2x2xf32>, %y: tensor<6x3x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<6x3x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x6x2x2xf32>, tensor<6x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c3(%x: tensor<1x5x2x2xf32>, %y: tensor<5x2x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<5x2x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x5x2x2xf32>, tensor<5x2x3x3xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c3(%x: tensor<1x4x2x2xf32>, %y: tensor<4x0x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<4x0x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x2x2xf32>, tensor<4x0x3x3xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c3(%x: tensor<1x4x2x2xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op takes input 'tensor<1x0x4x4xf32>' and weight 'tensor<4x2x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x2x2xf32>, tensor<4x2x3x3xf32>) -> tensor<1x0x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c3_legal(%x: tensor<1x6x2x2xf32>, %y: tensor<6x2x3x3xf32>, %w: tensor<1x4x2x2xf32>, %z: tensor<4x1x3x3xf32>, %u: tensor<1x8x2x2xf32>, %v: tensor<8x1x3x3xf32>, %a: tensor<6x0x3x3xf32>, %b: tensor<1x0x2x2xf32>, %c: tensor<0x2x3x3xf32>, %d: tensor<0x1x3x3xf32>) {
  // Two groups, and one for each channel.
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x6x2x2xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x4x4xf32>
  %1 = nn.convolution_data_grad %w, %z {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x2x2xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x4x4xf32>
  %2 = nn.convolution_data_grad %u, %v {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x8x2x2xf32>, tensor<8x1x3x3xf32>) -> tensor<1x4x4x4xf32>
  // One group of no channel, none of two, and no outputs.
  %3 = nn.convolution_data_grad %x, %a {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x6x2x2xf32>, tensor<6x0x3x3xf32>) -> tensor<1x0x4x4xf32>
  %4 = nn.convolution_data_grad %b, %c {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x2x2xf32>, tensor<0x2x3x3xf32>) -> tensor<1x0x4x4xf32>
  %5 = nn.convolution_data_grad %b, %d {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x2x2xf32>, tensor<0x1x3x3xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c4(%x: tensor<1x1x5x2xf32>, %y: tensor<1x1x0x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has kernel [0, 3]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x5x2xf32>, tensor<1x1x0x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c4(%x: tensor<1x1x1x2xf32>, %y: tensor<1x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has no window along dimension 2: 2 elements and twice 0 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c4(%x: tensor<1x1x2x1xf32>, %y: tensor<1x1x3x3xf32>) {
  // expected-error @below {{'nn.convolution_data_grad' op has no window along dimension 3: 4 elements and twice 0 of padding are fewer than the 5 that a kernel of 3 with dilation 2 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>} : (tensor<1x1x2x1xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_data_grad_c4_legal(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x3x3xf32>, %w: tensor<1x1x4x2xf32>, %z: tensor<0x1x2x2xf32>) {
  // A kernel that just fits, also into padding alone.
  %0 = nn.convolution_data_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x5x3xf32>
  %1 = nn.convolution_data_grad %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 2, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x4x2xf32>) -> tensor<1x1x0x0xf32>
  // No sample.
  %2 = nn.convolution_data_grad %z, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<0x1x4x4xf32>
  return
}

// -----

func.func @convolution_weight_grad_c1(%x: tensor<2x3x2x2xf32>, %y: tensor<1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<1x4x4xf32>' and weight 'tensor<3x1x3x3xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c1(%x: tensor<2x3x2x2xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<2x1x4x4xf32>' and weight 'tensor<3x3xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c1(%x: tensor<2x3x2x2xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<2x1x4x4xf32>' and weight 'tensor<3x1x3x3xf16>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf16>
  return
}

// -----

func.func @convolution_weight_grad_c1(%x: tensor<2x3x2x3xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes gradient 'tensor<2x3x2x3xf32>', but the convolution of 'tensor<2x1x4x4xf32>' and 'tensor<3x1x3x3xf32>' gives 'tensor<2x3x2x2xf32>'; change the types}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x3xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c1(%x: tensor<2x6x2xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes gradient 'tensor<2x6x2xf32>', but the convolution of 'tensor<2x1x4x4xf32>' and 'tensor<3x1x3x3xf32>' gives 'tensor<2x3x2x2xf32>'; change the types}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x6x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c1(%x: tensor<2x3x2x2xbf16>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes gradient 'tensor<2x3x2x2xbf16>', but the convolution of 'tensor<2x1x4x4xf32>' and 'tensor<3x1x3x3xf32>' gives 'tensor<2x3x2x2xf32>'; change the types}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xbf16>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @convolution_weight_grad_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<4xf32>' and weight 'tensor<4xf32>'; the input must have the dimensions samples, channels, height and width, the weight outputs, channels, rows and columns, and both one element type}}
  %0 = nn.convolution_weight_grad %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

func.func @convolution_weight_grad_c1_legal(%x: tensor<2x3x2x2xf32>, %y: tensor<2x1x4x4xf32>, %w: tensor<2x3x2x2xbf16>, %z: tensor<2x1x4x4xbf16>, %u: tensor<1x1x2x2xf32>, %v: tensor<1x1x5x5xf32>) {
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  %1 = nn.convolution_weight_grad %w, %z {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xbf16>, tensor<2x1x4x4xbf16>) -> tensor<3x1x3x3xbf16>
  // Rows that two windows have.
  %2 = nn.convolution_weight_grad %u, %v {strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2x2xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x2x3xf32>
  %3 = nn.convolution_weight_grad %u, %v {strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2x2xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2(%x: tensor<2x3x2x2xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has strides [1, 0]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 0>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2(%x: tensor<2x3x2x2xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has padding [0, 2147483648]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 2147483648>, dilation = array<i64: 1, 1>} : (tensor<2x3x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2(%x: tensor<2x3x2x2xf32>, %y: tensor<2x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has dilation [1, 1, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1, 1>} : (tensor<2x3x2x2xf32>, tensor<2x1x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2(%x: tensor<1x1x2147483648x1xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has the last two extents [2147483648, 1]; give two numbers from 0 to 2147483647}}
  %0 = nn.convolution_weight_grad %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x2147483648x1xf32>, tensor<1x1x2147483648x1xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x2147483648x1xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has kernel [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x2147483648x1xf32>) -> tensor<1x1x2147483648x1xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2_legal(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x4xf32>, %z: tensor<1x1x10x2xf32>, %u: tensor<1x1x2x2xf32>, %v: tensor<1x1x2x1xf32>, %a: tensor<1x1x2147483647x1xf32>, %b: tensor<1x1x1x2147483647xf32>) {
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 2147483647, 2147483647>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32>
  // More padding than image.
  %1 = nn.convolution_weight_grad %w, %y {strides = array<i64: 2147483647, 1>, padding = array<i64: 2147483647, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x3x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
  %2 = nn.convolution_weight_grad %z, %u {strides = array<i64: 1, 1>, padding = array<i64: 5, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x10x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32>
  // Of one tap, dilation makes no difference.
  %3 = nn.convolution_weight_grad %y, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483647, 2147483647>} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
  %4 = nn.convolution_weight_grad %v, %a {strides = array<i64: 1, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 2147483647, 1>} : (tensor<1x1x2x1xf32>, tensor<1x1x2147483647x1xf32>) -> tensor<1x1x2x1xf32>
  %5 = nn.convolution_weight_grad %x, %b {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x1x2147483647xf32>) -> tensor<1x1x1x2147483647xf32>
  return
}

// -----

func.func @convolution_weight_grad_c3(%x: tensor<1x6x2x2xf32>, %y: tensor<1x4x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<6x3x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x6x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<6x3x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c3(%x: tensor<1x5x2x2xf32>, %y: tensor<1x4x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<5x2x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x5x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<5x2x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c3(%x: tensor<1x4x2x2xf32>, %y: tensor<1x4x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<1x4x4x4xf32>' and weight 'tensor<4x0x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<4x0x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c3(%x: tensor<1x4x2x2xf32>, %y: tensor<1x0x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op takes input 'tensor<1x0x4x4xf32>' and weight 'tensor<4x2x3x3xf32>'; the weight's channels must divide the input's into groups, and the number of groups must divide the outputs}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x2x2xf32>, tensor<1x0x4x4xf32>) -> tensor<4x2x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c3_legal(%x: tensor<1x6x2x2xf32>, %y: tensor<1x4x4x4xf32>, %w: tensor<1x4x2x2xf32>, %z: tensor<1x8x2x2xf32>, %u: tensor<1x0x4x4xf32>, %v: tensor<1x0x2x2xf32>) {
  // Two groups, and one for each channel.
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x6x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<6x2x3x3xf32>
  %1 = nn.convolution_weight_grad %w, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x4x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<4x1x3x3xf32>
  %2 = nn.convolution_weight_grad %z, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x8x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<8x1x3x3xf32>
  // One group of no channel, none of two, and no outputs.
  %3 = nn.convolution_weight_grad %x, %u {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x6x2x2xf32>, tensor<1x0x4x4xf32>) -> tensor<6x0x3x3xf32>
  %4 = nn.convolution_weight_grad %v, %u {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x2x2xf32>, tensor<1x0x4x4xf32>) -> tensor<0x2x3x3xf32>
  %5 = nn.convolution_weight_grad %v, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x2x2xf32>, tensor<1x4x4x4xf32>) -> tensor<0x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c4(%x: tensor<1x1x5x2xf32>, %y: tensor<1x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has kernel [0, 3]; give two numbers from 1 to 2147483647}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x5x2xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x0x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c4(%x: tensor<1x1x1x2xf32>, %y: tensor<1x1x2x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has no window along dimension 2: 2 elements and twice 0 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x2xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c4(%x: tensor<1x1x2x1xf32>, %y: tensor<1x1x4x4xf32>) {
  // expected-error @below {{'nn.convolution_weight_grad' op has no window along dimension 3: 4 elements and twice 0 of padding are fewer than the 5 that a kernel of 3 with dilation 2 spans; pad more, or take a smaller kernel}}
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>} : (tensor<1x1x2x1xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_c4_legal(%x: tensor<1x1x1x1xf32>, %y: tensor<1x1x5x3xf32>, %w: tensor<1x1x0x0xf32>, %z: tensor<0x1x2x2xf32>, %u: tensor<0x1x4x4xf32>) {
  // A kernel that just fits, also into padding alone.
  %0 = nn.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x5x3xf32>) -> tensor<1x1x3x3xf32>
  %1 = nn.convolution_weight_grad %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 2, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x1x0x0xf32>) -> tensor<1x1x4x2xf32>
  // No sample.
  %2 = nn.convolution_weight_grad %z, %u {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x1x2x2xf32>, tensor<0x1x4x4xf32>) -> tensor<1x1x3x3xf32>
  return
}
