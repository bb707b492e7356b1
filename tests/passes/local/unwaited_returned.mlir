// What a collective has not made yet is for ccl.wait alone; a function that returns it is an error, and no crash.
// RUN: not splitcast-opt %s -ccl-prefetch -ccl-verify-local 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -ccl-order-for-memory 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -local-pipeline 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -exec-lower 2>&1 | FileCheck %s

// CHECK: error: 'ccl.reduce_scatter' op starts a collective whose pending result 'func.return' takes; give that op the result of ccl.wait
func.func @f(%x: tensor<8xf32>) -> !ccl.pending<tensor<4xf32>> {
  %a = ccl.reduce_scatter "one" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  return %a : !ccl.pending<tensor<4xf32>>
}
