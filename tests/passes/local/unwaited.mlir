// A collective that nobody waits for is an error of each pass of the level, and no crash.
// RUN: not splitcast-opt %s -ccl-prefetch -ccl-verify-local 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -local-pipeline 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -exec-lower 2>&1 | FileCheck %s

// CHECK: error: 'ccl.reduce_scatter' op starts a collective that is waited for 0 times; wait for it once
func.func @f(%x: tensor<8xf32>) {
  %a = ccl.reduce_scatter "one" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  return
}
