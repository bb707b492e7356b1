// A variable without a signature is gathered by nobody.
// RUN: splitcast-opt %s -sbp-hold-gathers | FileCheck %s

// CHECK: sbp.variable @w : tensor<4xf32>
// CHECK-NOT: sbp.schedule
sbp.variable @w : tensor<4xf32>
func.func @f() {
  %0 = sbp.read @w : tensor<4xf32>
  return
}
