// The example of 'nn-fuse-kernels': two elementwise ops and the sum of what they make, in one kernel.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK-SAME: %[[x:.*]]: tensor<8x4xf32>
func.func @example(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[s:.*]] = nn.fusion(%[[x]]) : (tensor<8x4xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: ^bb0(%[[a:.*]]: tensor<8x4xf32>):
  // CHECK-NEXT: %[[_0:.*]] = nn.tanh %[[a]] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[_1:.*]] = nn.mul %[[_0]], %[[_0]] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[_2:.*]] = nn.reduce_sum %[[_1]] {dims = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  // CHECK-NEXT: nn.yield %[[_2]] : tensor<8xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[s]]
  %0 = nn.tanh %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.mul %0, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = nn.reduce_sum %1 {dims = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}
