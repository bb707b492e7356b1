// The example of 'nn-differentiate': a product with the data, summed.
// RUN: splitcast-opt %s -nn-differentiate | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
sbp.variable @w : tensor<4x2xf32, #B>

// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[x:.*]]: tensor<8x4xf32>
func.func @train(%x: tensor<8x4xf32>) {
  // CHECK: sbp.read @w
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.reduce_sum
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  // CHECK-NEXT: %[[backward:.*]] = sbp.scope "backward"
  // CHECK-NEXT: %[[one:.*]] = nn.constant 1.000000e+00 : tensor<f32>
  // CHECK-NEXT: %[[seed:.*]] = sbp.fence %[[one]] in %[[backward]] : tensor<f32>
  // CHECK-NEXT: %[[dy:.*]] = nn.broadcast %[[seed]] {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<8x2xf32>
  // CHECK-NEXT: %[[dw:.*]] = nn.matmul %[[x]], %[[dy]] {transpose_a} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: %[[scope:.*]] = sbp.scope "update" of @w
  // CHECK-NEXT: nn.update @w, %[[dw]] in %[[scope]] : tensor<4x2xf32> with #nn.sgd<lr = 5.000000e-01>
  // CHECK-NEXT: return
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
