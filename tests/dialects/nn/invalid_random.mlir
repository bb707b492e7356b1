// As invalid.mlir, for what works on rows, attention and random numbers.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @uniform_c1(%x: tensor<4xf32>, %key: tensor<i32>) {
  // expected-error @below {{'nn.uniform' op has key 'tensor<i32>'; it must be one i64, tensor<i64>}}
  %0 = nn.uniform %x, %key : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @uniform_c1(%x: tensor<4xf32>, %keys: tensor<1xi64>) {
  // expected-error @below {{'nn.uniform' op has key 'tensor<1xi64>'; it must be one i64, tensor<i64>}}
  %0 = nn.uniform %x, %keys : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @uniform_c1_legal(%x: tensor<bf16>, %key: tensor<i64>) {
  %0 = nn.uniform %x, %key : (tensor<bf16>, tensor<i64>) -> tensor<bf16>
  return
}

// -----

func.func @uniform_c2(%x: tensor<4xf32>, %key: tensor<i64>, %from: tensor<i32>) {
  // expected-error @below {{'nn.uniform' op counts from 'tensor<i32>'; it must be one i64, tensor<i64>}}
  %0 = nn.uniform %x, %key, %from : (tensor<4xf32>, tensor<i64>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @uniform_c2(%x: tensor<4xf32>, %key: tensor<i64>, %from: tensor<1xi64>) {
  // expected-error @below {{'nn.uniform' op counts from 'tensor<1xi64>'; it must be one i64, tensor<i64>}}
  %0 = nn.uniform %x, %key, %from : (tensor<4xf32>, tensor<i64>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @uniform_c2_legal(%x: tensor<4xf32>, %key: tensor<i64>) {
  %0 = nn.uniform %x, %key, %key : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @uniform_c3(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.uniform' op has operand 'tensor<4x3xf32>' at [5, 0] of global shape [8, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.uniform %x, %key {offsets = array<i64: 5, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @uniform_c3(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.uniform' op has operand 'tensor<4x3xf32>' at [0, -1] of global shape [8, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.uniform %x, %key {offsets = array<i64: 0, -1>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @uniform_c3(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.uniform' op has operand 'tensor<4x3xf32>' at [0] of global shape [4, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.uniform %x, %key {offsets = array<i64: 0>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @uniform_c3(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.uniform' op has operand 'tensor<4x3xf32>' at [0, 0] of global shape [4, 3, 1]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.uniform %x, %key {global_shape = array<i64: 4, 3, 1>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @uniform_c3_legal(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  %0 = nn.uniform %x, %key {offsets = array<i64: 4, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}
