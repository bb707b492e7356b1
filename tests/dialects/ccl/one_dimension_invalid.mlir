// The buffers that collectives lay blocks in have one dimension: C2 of each, on shapes whose element counts are right.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @all_gather_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op gives 'tensor<2x4xf32>'; its result must have one dimension}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<2x4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<2x4xf32>> -> tensor<2x4xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%x: tensor<2x4xf32>) {
  // expected-error @below {{'ccl.reduce_scatter' op takes 'tensor<2x4xf32>'; its operand must have one dimension}}
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<2x4xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c2(%x: tensor<2x4xf32>) {
  // expected-error @below {{'ccl.all_reduce' op turns 'tensor<2x4xf32>' into 'tensor<8xf32>'; both must have one type}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 8 : tensor<2x4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_to_all_c2(%x: tensor<2x4xf32>) {
  // expected-error @below {{'ccl.all_to_all' op takes 'tensor<2x4xf32>'; its operand must have one dimension}}
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [4, 4] : tensor<2x4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_to_all_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_to_all' op gives 'tensor<2x4xf32>'; its result must have one dimension}}
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<2x4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<2x4xf32>> -> tensor<2x4xf32>
  return
}
