// As invalid.mlir, for what makes tensors and gives them other shapes.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @constant_c1() {
  // expected-error @below {{'nn.constant' op has value 5.000000e-01; a constant of 'i64' must be an integer from -2^53 to before 2^53, all of which an f64 holds}}
  %0 = nn.constant 0.5 : tensor<4xi64>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @below {{; a constant of 'i32' must be an integer from -2^31 to before 2^31}}
  %0 = nn.constant 2147483648.0 : tensor<4xi32>
  return
}

// -----

func.func @constant_c1_legal() {
  %0 = nn.constant -2147483648.0 : tensor<4xi32>
  %1 = nn.constant 2147483647.0 : tensor<4xi32>
  %2 = nn.constant 0.5 : tensor<4xf16>
  return
}

// -----

func.func @iota_c1() {
  // expected-error @below {{'nn.iota' op counts along dimension 2 of 'tensor<4x3xf32>'; it has 2}}
  %0 = nn.iota {dim = 2 : i64} : () -> tensor<4x3xf32>
  return
}

// -----

func.func @iota_c1() {
  // expected-error @below {{'nn.iota' op counts along dimension 0 of 'tensor<f32>'; it has 0}}
  %0 = nn.iota {dim = 0 : i64} : () -> tensor<f32>
  return
}

// -----

func.func @iota_c1_legal() {
  %0 = nn.iota {dim = 1 : i64} : () -> tensor<4x3xf32>
  return
}

// -----

func.func @iota_c2(%from: tensor<1xi64>) {
  // expected-error @below {{'nn.iota' op counts from 'tensor<1xi64>'; it must be one i64, tensor<i64>}}
  %0 = nn.iota %from {dim = 0 : i64} : (tensor<1xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @iota_c2(%from: tensor<i32>) {
  // expected-error @below {{'nn.iota' op counts from 'tensor<i32>'; it must be one i64, tensor<i64>}}
  %0 = nn.iota %from {dim = 0 : i64} : (tensor<i32>) -> tensor<4xi64>
  return
}

// -----

func.func @iota_c2_legal(%from: tensor<i64>) {
  %0 = nn.iota %from {dim = 0 : i64} : (tensor<i64>) -> tensor<4xi64>
  return
}

// -----

func.func @iota_c3() {
  // expected-error @below {{'nn.iota' op begins at offset -1; it must not be negative}}
  %0 = nn.iota {dim = 0 : i64, offset = -1 : i64} : () -> tensor<4xi64>
  return
}

// -----

func.func @iota_c3() {
  // expected-error @below {{'nn.iota' op counts from 0 over 258 numbers, and 'bf16' holds all integers up to 256 only; count in a larger type, and cast}}
  %0 = nn.iota {dim = 0 : i64} : () -> tensor<258xbf16>
  return
}

// -----

func.func @iota_c3() {
  // expected-error @below {{'nn.iota' op counts from 9223372036854775804 over 5 numbers, and 'i64' holds all integers up to 9223372036854775807 only}}
  %0 = nn.iota {dim = 0 : i64, offset = 9223372036854775804 : i64} : () -> tensor<5xi64>
  return
}

// -----

func.func @iota_c3_legal() {
  %0 = nn.iota {dim = 0 : i64} : () -> tensor<257xbf16>
  %1 = nn.iota {dim = 0 : i64, offset = 3 : i64} : () -> tensor<2046xf16>
  %2 = nn.iota {dim = 1 : i64, offset = 9223372036854775807 : i64} : () -> tensor<2x0xi32>
  %3 = nn.iota {dim = 0 : i64, offset = 9223372036854775804 : i64} : () -> tensor<4xi64>
  return
}

// -----

func.func @reshape_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.reshape' op turns 'tensor<4x3xf32>' into 'tensor<11xf32>'; both must have as many elements, of one type}}
  %0 = nn.reshape %x : (tensor<4x3xf32>) -> tensor<11xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.reshape' op turns 'tensor<4x3xf32>' into 'tensor<12xf16>'; both must have as many elements, of one type}}
  %0 = nn.reshape %x : (tensor<4x3xf32>) -> tensor<12xf16>
  return
}

// -----

func.func @reshape_c1_legal(%x: tensor<4x3xf32>, %y: tensor<1x1xf32>, %z: tensor<0x3xf32>) {
  %0 = nn.reshape %x : (tensor<4x3xf32>) -> tensor<2x3x2xf32>
  %1 = nn.reshape %y : (tensor<1x1xf32>) -> tensor<f32>
  %2 = nn.reshape %z : (tensor<0x3xf32>) -> tensor<5x0xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.broadcast' op has new dimensions [1, 0] in 'tensor<2x3x4xf32>'; they must be its own, ascending}}
  %0 = nn.broadcast %x {dims = array<i64: 1, 0>} : (tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.broadcast' op has new dimensions [1] in 'tensor<4xf32>'; they must be its own, ascending}}
  %0 = nn.broadcast %x {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_c1_legal(%x: tensor<4xf32>) {
  %0 = nn.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4xf32>) -> tensor<2x3x4xf32>
  %1 = nn.broadcast %x {dims = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.broadcast' op turns 'tensor<4xf32>' into 'tensor<2x3xf32>' with new dimensions [0]; without these the result must have the operand's shape}}
  %0 = nn.broadcast %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_c2_legal(%x: tensor<f32>) {
  %0 = nn.broadcast %x {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.slice' op slices 'tensor<4x3xf32>' to 'tensor<2xf32>'; both must have equally many dimensions}}
  %0 = nn.slice %x {dim = 0, start = 0} : (tensor<4x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.slice' op slices dimension 2 of 'tensor<4x3xf32>'; it has 2}}
  %0 = nn.slice %x {dim = 2 : i64, start = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.slice' op result 0 has type 'tensor<2x2xf32>', but its operands give 'tensor<2x3xf32>'; change the type}}
  %0 = nn.slice %x {dim = 0 : i64, start = 0 : i64} : (tensor<4x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_c1_legal(%x: tensor<4x3xf32>) {
  %0 = nn.slice %x {dim = 1 : i64, start = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.slice' op takes 2 from 3 on, of 4 along dimension 0; they must lie within}}
  %0 = nn.slice %x {dim = 0 : i64, start = 3 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.slice' op takes 2 from -1 on, of 4 along dimension 0; they must lie within}}
  %0 = nn.slice %x {dim = 0 : i64, start = -1 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.slice' op takes 2 from 9223372036854775807 on, of 4 along dimension 0; they must lie within}}
  %0 = nn.slice %x {dim = 0 : i64, start = 9223372036854775807 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c2_legal(%x: tensor<4x3xf32>) {
  %0 = nn.slice %x {dim = 0 : i64, start = 2 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = nn.slice %x {dim = 0 : i64, start = 4 : i64} : (tensor<4x3xf32>) -> tensor<0x3xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.transpose' op orders the dimensions of 'tensor<4x3xf32>' as [0]; each must be named once}}
  %0 = nn.transpose %x {permutation = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.transpose' op orders the dimensions of 'tensor<4x3xf32>' as [1, 1]; each must be named once}}
  %0 = nn.transpose %x {permutation = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.transpose' op orders the dimensions of 'tensor<4x3xf32>' as [0, 1, 2]; each must be named once}}
  %0 = nn.transpose %x {permutation = array<i64: 0, 1, 2>} : (tensor<4x3xf32>) -> tensor<4x3x1xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.transpose' op orders the dimensions of 'tensor<4x3xf32>' as [-1, 0]; each must be named once}}
  %0 = nn.transpose %x {permutation = array<i64: -1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @transpose_c1(%x: tensor<4x3xf32, #B>) {
  // expected-error @below {{'nn.transpose' op orders the dimensions of 'tensor<4x3xf32>' as [2, 0]; each must be named once}}
  %0 = nn.transpose %x {permutation = array<i64: 2, 0>} : (tensor<4x3xf32, #B>) -> tensor<3x4xf32, #B>
  return
}

// -----

func.func @transpose_c1_legal(%x: tensor<4x3xf32>, %y: tensor<f32>, %z: tensor<2x0x3x1xi64>) {
  %0 = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = nn.transpose %y {permutation = array<i64>} : (tensor<f32>) -> tensor<f32>
  %2 = nn.transpose %z {permutation = array<i64: 2, 0, 3, 1>} : (tensor<2x0x3x1xi64>) -> tensor<3x2x1x0xi64>
  return
}

// -----

func.func @transpose_result(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.transpose' op result 0 has type 'tensor<4x3xf32>', but its operands give 'tensor<3x4xf32>'; change the type}}
  %0 = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concat_c1() {
  // expected-error @below {{'nn.concat' op has no operand; give at least one}}
  %0 = nn.concat {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.concat' op joins dimension 1 of 'tensor<4xf32>'; it has 1}}
  %0 = nn.concat %x, %x {dim = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<4x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @below {{'nn.concat' op joins 'tensor<4x3xf32>' and 'tensor<4x2xf32>' along dimension 0; the other extents must agree}}
  %0 = nn.concat %x, %y {dim = 0 : i64} : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @below {{'nn.concat' op joins 'tensor<4xf32>' and 'tensor<4xf16>'; ranks and types must agree}}
  %0 = nn.concat %x, %y {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf16>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_c1_legal(%x: tensor<4x3xf32>, %y: tensor<4x0xf32>) {
  %0 = nn.concat %x, %y, %x {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x0xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}
