// As invalid.mlir, for the largest elements of windows, and for comparisons.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @max_pool_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.max_pool' op takes 'tensor<4xf32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @max_pool_c1(%x: tensor<f32>) {
  // expected-error @below {{'nn.max_pool' op takes 'tensor<f32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @max_pool_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.max_pool' op takes 'tensor<4xf32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

func.func @max_pool_c1_legal(%x: tensor<4x4xf32>, %y: tensor<3x4x4xbf16>, %w: tensor<3x4x4xf64>, %z: tensor<2x0x1x4x4xf16>) {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  %1 = nn.max_pool %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xbf16>) -> tensor<3x3x3xbf16>
  %2 = nn.max_pool %w {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xf64>) -> tensor<3x3x3xf64>
  %3 = nn.max_pool %z {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x0x1x4x4xf16>) -> tensor<2x0x1x3x3xf16>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has kernel [0, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 0, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has kernel [1, -1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 1, -1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has kernel [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2147483648, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has kernel [2]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has strides [0, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 0, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has strides [1, 9223372036854775807]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 9223372036854775807>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has strides []; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has padding [-1, 0]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: -1, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has padding [0, 2147483648]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 2147483648>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has padding [0, 0, 0]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has dilation [1, 0]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has dilation [-9223372036854775808, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: -9223372036854775808, 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has dilation [1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<2147483648x1xf32>) {
  // expected-error @below {{'nn.max_pool' op has the last two extents [2147483648, 1]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2147483648x1xf32>) -> tensor<2147483648x1xf32>
  return
}

// -----

func.func @max_pool_c2_legal(%x: tensor<4x4xf32>, %y: tensor<2x2xf32>, %w: tensor<2147483647x1xf32>, %z: tensor<1x2147483647xf32>) {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2147483647, 2147483647>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<1x1xf32>
  // More padding than image: some windows cover none of it.
  %1 = nn.max_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 2147483647, 1>, padding = array<i64: 2147483647, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<3x4xf32>
  %2 = nn.max_pool %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 5, 1>, dilation = array<i64: 1, 1>} : (tensor<2x2xf32>) -> tensor<11x3xf32>
  // Of one tap, dilation makes no difference.
  %3 = nn.max_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483647, 2147483647>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = nn.max_pool %w {kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 2147483647, 1>} : (tensor<2147483647x1xf32>) -> tensor<2x1xf32>
  %5 = nn.max_pool %z {kernel = array<i64: 1, 2147483647>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x2147483647xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @max_pool_c3(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has no window along dimension 0: 2 elements and twice 0 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @max_pool_c3(%x: tensor<1x4x4xf32>) {
  // expected-error @below {{'nn.max_pool' op has no window along dimension 2: 4 elements and twice 0 of padding are fewer than the 5 that a kernel of 3 with dilation 2 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>} : (tensor<1x4x4xf32>) -> tensor<1x2x1xf32>
  return
}

// -----

func.func @max_pool_c3(%x: tensor<0x0xf32>) {
  // expected-error @below {{'nn.max_pool' op has no window along dimension 0: 0 elements and twice 1 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<0x0xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @max_pool_c3_legal(%x: tensor<5x3xf32>, %y: tensor<0x0xf32>, %w: tensor<0x4x4xf32>) {
  // A kernel that just fits, also into padding alone.
  %0 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 1>} : (tensor<5x3xf32>) -> tensor<1x1xf32>
  %1 = nn.max_pool %y {kernel = array<i64: 4, 2>, strides = array<i64: 1, 1>, padding = array<i64: 2, 1>, dilation = array<i64: 1, 1>} : (tensor<0x0xf32>) -> tensor<1x1xf32>
  %2 = nn.max_pool %w {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x4x4xf32>) -> tensor<0x2x2xf32>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<4xf32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool_positions %x, %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<f32>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<f32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool_positions %x, %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<f32>, tensor<f32>) -> tensor<i64>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @max_pool_positions_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<4xf32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool_positions %x, %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xi64, #B>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<3x4x4xf32>, %y: tensor<3x3x2xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<3x3x2xf32>', but the windows of 'tensor<3x4x4xf32>' give 'tensor<3x3x3xf32>'; 'largest' must have this type}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xf32>, tensor<3x3x2xf32>) -> tensor<3x3x2xi64>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<3x4x4xf32>, %y: tensor<2x3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<2x3x3xf32>', but the windows of 'tensor<3x4x4xf32>' give 'tensor<3x3x3xf32>'; 'largest' must have this type}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<3x4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<3x3xf32>', but the windows of 'tensor<3x4x4xf32>' give 'tensor<3x3x3xf32>'; 'largest' must have this type}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<3x4x4xf32>, %y: tensor<3x3x3xf16>) {
  // expected-error @below {{'nn.max_pool_positions' op takes 'tensor<3x3x3xf16>', but the windows of 'tensor<3x4x4xf32>' give 'tensor<3x3x3xf32>'; 'largest' must have this type}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xf32>, tensor<3x3x3xf16>) -> tensor<3x3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op result 0 has type 'tensor<3x3xi32>', but its operands give 'tensor<3x3xi64>'; change the type}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi32>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op result #0 must be a statically shaped tensor of i32 or i64, but got 'tensor<3x3xf32>'}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @max_pool_positions_c1(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op result 0 has type 'tensor<3x2xi64>', but its operands give 'tensor<3x3xi64>'; change the type}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x2xi64>
  return
}

// -----

func.func @max_pool_positions_c1_legal(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>, %w: tensor<3x4x4xbf16>, %z: tensor<3x3x3xbf16>, %u: tensor<3x4x4xf64>, %v: tensor<3x3x3xf64>, %a: tensor<2x0x1x4x4xf16>, %b: tensor<2x0x1x3x3xf16>) {
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi64>
  %1 = nn.max_pool_positions %w, %z {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xbf16>, tensor<3x3x3xbf16>) -> tensor<3x3x3xi64>
  %2 = nn.max_pool_positions %u, %v {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4x4xf64>, tensor<3x3x3xf64>) -> tensor<3x3x3xi64>
  %3 = nn.max_pool_positions %a, %b {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x0x1x4x4xf16>, tensor<2x0x1x3x3xf16>) -> tensor<2x0x1x3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c2(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has kernel [1, 0]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 1, 0>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c2(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has strides [1, 1, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c2(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has padding [0, -1]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, -1>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c2(%x: tensor<4x4xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has dilation [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483648, 1>} : (tensor<4x4xf32>, tensor<3x3xf32>) -> tensor<3x3xi64>
  return
}

// -----

func.func @max_pool_positions_c2(%x: tensor<2147483648x1xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has the last two extents [2147483648, 1]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_positions %x, %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2147483648x1xf32>, tensor<2147483648x1xf32>) -> tensor<2147483648x1xi64>
  return
}

// -----

func.func @max_pool_positions_c2_legal(%x: tensor<4x4xf32>, %y: tensor<1x1xf32>, %w: tensor<3x4xf32>, %z: tensor<2x2xf32>, %u: tensor<11x3xf32>, %v: tensor<2147483647x1xf32>, %a: tensor<2x1xf32>, %b: tensor<1x2147483647xf32>) {
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 2147483647, 2147483647>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<1x1xf32>) -> tensor<1x1xi64>
  // More padding than image: some windows cover none of it.
  %1 = nn.max_pool_positions %x, %w {kernel = array<i64: 1, 1>, strides = array<i64: 2147483647, 1>, padding = array<i64: 2147483647, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi64>
  %2 = nn.max_pool_positions %z, %u {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 5, 1>, dilation = array<i64: 1, 1>} : (tensor<2x2xf32>, tensor<11x3xf32>) -> tensor<11x3xi64>
  // Of one tap, dilation makes no difference.
  %3 = nn.max_pool_positions %x, %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483647, 2147483647>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi64>
  %4 = nn.max_pool_positions %v, %a {kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 2147483647, 1>} : (tensor<2147483647x1xf32>, tensor<2x1xf32>) -> tensor<2x1xi64>
  %5 = nn.max_pool_positions %b, %y {kernel = array<i64: 1, 2147483647>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x2147483647xf32>, tensor<1x1xf32>) -> tensor<1x1xi64>
  return
}

// -----

func.func @max_pool_positions_c3(%x: tensor<2x4xf32>, %y: tensor<1x2xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has no window along dimension 0: 2 elements and twice 0 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x4xf32>, tensor<1x2xf32>) -> tensor<1x2xi64>
  return
}

// -----

func.func @max_pool_positions_c3(%x: tensor<1x4x4xf32>, %y: tensor<1x2x1xf32>) {
  // expected-error @below {{'nn.max_pool_positions' op has no window along dimension 2: 4 elements and twice 0 of padding are fewer than the 5 that a kernel of 3 with dilation 2 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>} : (tensor<1x4x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1xi64>
  return
}

// -----

func.func @max_pool_positions_c3_legal(%x: tensor<5x3xf32>, %y: tensor<1x1xf32>, %w: tensor<0x0xf32>, %z: tensor<0x4x4xf32>, %u: tensor<0x2x2xf32>) {
  // A kernel that just fits, also into padding alone.
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 1>} : (tensor<5x3xf32>, tensor<1x1xf32>) -> tensor<1x1xi64>
  %1 = nn.max_pool_positions %w, %y {kernel = array<i64: 4, 2>, strides = array<i64: 1, 1>, padding = array<i64: 2, 1>, dilation = array<i64: 1, 1>} : (tensor<0x0xf32>, tensor<1x1xf32>) -> tensor<1x1xi64>
  %2 = nn.max_pool_positions %z, %u {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x4x4xf32>, tensor<0x2x2xf32>) -> tensor<0x2x2xi64>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<4xf32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<f32>, %y: tensor<i64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<f32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<f32>, tensor<i64>) -> tensor<f32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @max_pool_grad_c1(%x: tensor<4xf32, #B>, %y: tensor<4xi64, #B>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<4xf32>'; it must have two dimensions or more, the last two for the windows}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4xf32, #B>, tensor<4xi64, #B>) -> tensor<4xf32, #B>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<3x3x3xf32>, %y: tensor<3x3x2xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<3x3x2xi64>' as positions of 'tensor<3x3x3xf32>'; their shapes must be the same}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x3xf32>, tensor<3x3x2xi64>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<3x3x3xf32>, %y: tensor<2x3x3xi32>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<2x3x3xi32>' as positions of 'tensor<3x3x3xf32>'; their shapes must be the same}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x3xf32>, tensor<2x3x3xi32>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<3x3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<3x3xi64>' as positions of 'tensor<3x3x3xf32>'; their shapes must be the same}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x3xf32>, tensor<3x3xi64>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<3x3xf32>) {
  // expected-error @below {{'nn.max_pool_grad' op operand #1 must be a statically shaped tensor of i32 or i64, but got 'tensor<3x3xf32>'}}
  %0 = nn.max_pool_grad %x, %x {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<3x3x3xf32>, %y: tensor<3x3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op result 0 has type 'tensor<2x4x4xf32>', but its operands give 'tensor<3x4x4xf32>'; change the type}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x3xf32>, tensor<3x3x3xi64>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c1(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op result 0 has type 'tensor<4x4xf64>', but its operands give 'tensor<4x4xf32>'; change the type}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf64>
  return
}

// -----

func.func @max_pool_grad_c1_legal(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>, %w: tensor<3x3xi32>, %z: tensor<3x3x3xbf16>, %u: tensor<3x3x3xi64>, %v: tensor<3x3x3xf64>, %a: tensor<3x3x3xi32>, %b: tensor<2x0x1x3x3xf16>, %c: tensor<2x0x1x3x3xi64>) {
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  %1 = nn.max_pool_grad %x, %w {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi32>) -> tensor<4x4xf32>
  %2 = nn.max_pool_grad %z, %u {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x3xbf16>, tensor<3x3x3xi64>) -> tensor<3x4x4xbf16>
  %3 = nn.max_pool_grad %v, %a {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x3xf64>, tensor<3x3x3xi32>) -> tensor<3x4x4xf64>
  %4 = nn.max_pool_grad %b, %c {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x0x1x3x3xf16>, tensor<2x0x1x3x3xi64>) -> tensor<2x0x1x4x4xf16>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has kernel [1, 0]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 1, 0>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has strides [1, 1, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has padding [0, -1]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, -1>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has dilation [2147483648, 1]; give two numbers from 1 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483648, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has extents []; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has extents [4]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has extents [1, 4, 4]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 1, 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<2147483648x1xf32>, %y: tensor<2147483648x1xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has the last two extents [2147483648, 1]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 2147483648, 1>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2147483648x1xf32>, tensor<2147483648x1xi64>) -> tensor<2147483648x1xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has extents [-1, 4]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: -1, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%x: tensor<3x3xf32>, %y: tensor<3x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has extents [4, -9223372036854775808]; give two numbers from 0 to 2147483647}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, -9223372036854775808>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<3x3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c2_legal(%x: tensor<1x1xf32>, %y: tensor<1x1xi64>, %w: tensor<3x4xf32>, %z: tensor<3x4xi64>, %u: tensor<11x3xf32>, %v: tensor<11x3xi64>, %a: tensor<4x4xf32>, %b: tensor<4x4xi64>, %c: tensor<2x1xf32>, %d: tensor<2x1xi64>) {
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 2147483647, 2147483647>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1xf32>, tensor<1x1xi64>) -> tensor<4x4xf32>
  // More padding than image: some windows cover none of it.
  %1 = nn.max_pool_grad %w, %z {extents = array<i64: 4, 4>, kernel = array<i64: 1, 1>, strides = array<i64: 2147483647, 1>, padding = array<i64: 2147483647, 0>, dilation = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x4xi64>) -> tensor<4x4xf32>
  %2 = nn.max_pool_grad %u, %v {extents = array<i64: 2, 2>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 5, 1>, dilation = array<i64: 1, 1>} : (tensor<11x3xf32>, tensor<11x3xi64>) -> tensor<2x2xf32>
  // Of one tap, dilation makes no difference.
  %3 = nn.max_pool_grad %a, %b {extents = array<i64: 4, 4>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2147483647, 2147483647>} : (tensor<4x4xf32>, tensor<4x4xi64>) -> tensor<4x4xf32>
  %4 = nn.max_pool_grad %c, %d {extents = array<i64: 2147483647, 1>, kernel = array<i64: 2, 1>, strides = array<i64: 1, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 2147483647, 1>} : (tensor<2x1xf32>, tensor<2x1xi64>) -> tensor<2147483647x1xf32>
  %5 = nn.max_pool_grad %x, %y {extents = array<i64: 1, 2147483647>, kernel = array<i64: 1, 2147483647>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1xf32>, tensor<1x1xi64>) -> tensor<1x2147483647xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<1x2xf32>, %y: tensor<1x2xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has no window along dimension 0: 2 elements and twice 0 of padding are fewer than the 3 that a kernel of 3 with dilation 1 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 2, 4>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x2xf32>, tensor<1x2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<1x2x1xf32>, %y: tensor<1x2x1xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op has no window along dimension 2: 4 elements and twice 0 of padding are fewer than the 5 that a kernel of 3 with dilation 2 spans; pad more, or take a smaller kernel}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 2>} : (tensor<1x2x1xf32>, tensor<1x2x1xi64>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<3x2x3xf32>, %y: tensor<3x2x3xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<3x2x3xf32>', but 4 elements have 3 windows, not 2; it must be the gradient of nn.max_pool's result}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x2x3xf32>, tensor<3x2x3xi64>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<3x3x2xf32>, %y: tensor<3x3x2xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<3x3x2xf32>', but 4 elements have 3 windows, not 2; it must be the gradient of nn.max_pool's result}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x2xf32>, tensor<3x3x2xi64>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<3x3x4xf32>, %y: tensor<3x3x4xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<3x3x4xf32>', but 4 elements have 3 windows, not 4; it must be the gradient of nn.max_pool's result}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<3x3x4xf32>, tensor<3x3x4xi64>) -> tensor<3x4x4xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<4x4xf32>, %y: tensor<4x4xi64>) {
  // expected-error @below {{'nn.max_pool_grad' op takes 'tensor<4x4xf32>', but 7 elements have 3 windows, not 4; it must be the gradient of nn.max_pool's result}}
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 8, 7>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<4x4xi64>) -> tensor<8x7xf32>
  return
}

// -----

func.func @max_pool_grad_c3_legal(%x: tensor<1x1xf32>, %y: tensor<1x1xi64>, %w: tensor<0x2x2xf32>, %z: tensor<0x2x2xi64>, %u: tensor<4x4xf32>, %v: tensor<4x4xi64>) {
  // A kernel that just fits, also into padding alone.
  %0 = nn.max_pool_grad %x, %y {extents = array<i64: 5, 3>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 1>} : (tensor<1x1xf32>, tensor<1x1xi64>) -> tensor<5x3xf32>
  %1 = nn.max_pool_grad %x, %y {extents = array<i64: 0, 0>, kernel = array<i64: 4, 2>, strides = array<i64: 1, 1>, padding = array<i64: 2, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1xf32>, tensor<1x1xi64>) -> tensor<0x0xf32>
  %2 = nn.max_pool_grad %w, %z {extents = array<i64: 4, 4>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<0x2x2xf32>, tensor<0x2x2xi64>) -> tensor<0x4x4xf32>
  // Of several extents, as many windows.
  %3 = nn.max_pool_grad %u, %v {extents = array<i64: 8, 9>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<4x4xi64>) -> tensor<8x9xf32>
  %4 = nn.max_pool_grad %u, %v {extents = array<i64: 9, 8>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<4x4xi64>) -> tensor<9x8xf32>
  return
}

// -----

func.func @compare_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.compare' op has predicate 'equal'; it is one of eq, ne, lt, le, gt, ge}}
  %0 = nn.compare %x, %x {predicate = "equal"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @compare_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.compare' op has predicate ''; it is one of eq, ne, lt, le, gt, ge}}
  %0 = nn.compare %x, %x {predicate = ""} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @compare_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.compare' op has predicate 'LT'; it is one of eq, ne, lt, le, gt, ge}}
  %0 = nn.compare %x, %x {predicate = "LT"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @compare_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.compare' op has predicate 'lt '; it is one of eq, ne, lt, le, gt, ge}}
  %0 = nn.compare %x, %x {predicate = "lt "} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @compare_c1_legal(%x: tensor<4x3xf32>) {
  %0 = nn.compare %x, %x {predicate = "eq"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = nn.compare %x, %x {predicate = "ne"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = nn.compare %x, %x {predicate = "lt"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %3 = nn.compare %x, %x {predicate = "le"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = nn.compare %x, %x {predicate = "gt"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %5 = nn.compare %x, %x {predicate = "ge"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @compare_c2(%x: tensor<4x3xf32>, %y: tensor<4x3xf64>) {
  // expected-error @below {{'nn.compare' op operands have element types 'f32' and 'f64'; use nn.cast to make them equal}}
  %0 = nn.compare %x, %y {predicate = "lt"} : (tensor<4x3xf32>, tensor<4x3xf64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @compare_c2(%x: tensor<4x3xi32>, %y: tensor<4x3xi64>) {
  // expected-error @below {{'nn.compare' op operands have element types 'i32' and 'i64'; use nn.cast to make them equal}}
  %0 = nn.compare %x, %y {predicate = "lt"} : (tensor<4x3xi32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

// What the result is of says nothing of the operands.
func.func @compare_c2(%x: tensor<4x3xi64>, %y: tensor<4x3xf32>) {
  // expected-error @below {{'nn.compare' op operands have element types 'i64' and 'f32'; use nn.cast to make them equal}}
  %0 = nn.compare %x, %y {predicate = "eq"} : (tensor<4x3xi64>, tensor<4x3xf32>) -> tensor<4x3xi64>
  return
}

// -----

func.func @compare_c2_legal(%x: tensor<4x3xf16>, %y: tensor<4x3xi64>, %w: tensor<3xi64>, %z: tensor<i32>, %u: tensor<4x3xi32>, %v: tensor<0x1xf64>, %a: tensor<1x3xf64>) {
  %0 = nn.compare %x, %x {predicate = "ge"} : (tensor<4x3xf16>, tensor<4x3xf16>) -> tensor<4x3xf32>
  %1 = nn.compare %y, %w {predicate = "ge"} : (tensor<4x3xi64>, tensor<3xi64>) -> tensor<4x3xi32>
  %2 = nn.compare %z, %u {predicate = "ge"} : (tensor<i32>, tensor<4x3xi32>) -> tensor<4x3xbf16>
  %3 = nn.compare %v, %a {predicate = "ge"} : (tensor<0x1xf64>, tensor<1x3xf64>) -> tensor<0x3xf64>
  return
}
