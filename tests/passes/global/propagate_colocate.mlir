// A gradient is moved to the stage of its value, once, and what is made of it is made there.
// RUN: splitcast-opt %s -nn-differentiate | FileCheck %s --check-prefix=BESIDE
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-propagate | FileCheck %s
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-propagate=look-ahead | FileCheck %s
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-propagate | FileCheck %s --check-prefix=LAST
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-propagate -mlir-print-debuginfo | FileCheck %s --check-prefix=REASON

#p = #sbp.placement<"cpu", [dp = 2, pp = 2]>
#S = #sbp.nd<#p, [S(0), B]>
#at0 = #sbp.nd<#p, [B, At(0)]>
#at1 = #sbp.nd<#p, [B, At(1)]>
sbp.variable @first : tensor<4x4xf32, #at0>
sbp.variable @bias : tensor<4xf32, #at0>
sbp.variable @second : tensor<4x2xf32, #at1>

// BESIDE: %[[H:.*]] = nn.add
// BESIDE: %[[R:.*]] = nn.relu %[[H]]
// No scalar is beside anything: the loss's gradient is wherever something needs it.
// BESIDE-NOT: sbp.colocate {{.*}} (tensor<f32>
// BESIDE: %[[DR:.*]] = nn.matmul %{{.*}}, %{{.*}} {transpose_b} : {{.*}} -> tensor<8x4xf32>
// BESIDE: sbp.colocate %[[DR]] with %[[R]] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
// BESIDE: sbp.colocate %{{.*}} with %[[H]]

// CHECK-LABEL: func.func @train
// CHECK: %[[R:.*]] = nn.relu
// CHECK: sbp.boxing %[[R]] : tensor<8x4xf32, #S0__At0_> -> tensor<8x4xf32, #S0__At1_>
// CHECK: %[[DR:.*]] = nn.matmul {{.*}} {transpose_b} : {{.*}} -> tensor<8x4xf32, #S0__At1_>
// CHECK-NOT: sbp.colocate
// CHECK: %[[AT0:.*]] = sbp.boxing %[[DR]] : tensor<8x4xf32, #S0__At1_> -> tensor<8x4xf32, #S0__At0_>
// CHECK: %[[DH:.*]] = nn.relu_grad %[[AT0]], {{.*}} -> tensor<8x4xf32, #S0__At0_>
// CHECK-NOT: sbp.boxing {{.*}}At1
// CHECK: nn.reduce_sum %[[DH]] {{.*}} -> tensor<4xf32, #P_At0_>
// CHECK: nn.matmul %{{.*}}, %[[DH]] {transpose_a} : {{.*}} -> tensor<4x4xf32, #P_At0_>
// The last stage's, too, which is made of the loss's alone. Nothing returns the loss: its product only says where.
// LAST: %[[R:.*]] = sbp.boxing {{.*}} -> tensor<8x4xf32, #S0__At1_>
// LAST-NOT: nn.matmul {{.*}} -> tensor<8x2xf32
// LAST: %[[DY:.*]] = nn.broadcast {{.*}} -> tensor<8x2xf32, #S0__At1_>
// LAST-NOT: nn.broadcast {{.*}} tensor<8x2xf32
// LAST: nn.matmul %[[R]], %[[DY]] {transpose_a} : {{.*}} -> tensor<4x2xf32, #P_At1_>
// REASON: #sbp.wanted<operand 0 of "sbp.colocate">
func.func @train(%x: tensor<8x4xf32, #S>) {
  %first = sbp.read @first : tensor<4x4xf32>
  %bias = sbp.read @bias : tensor<4xf32>
  %second = sbp.read @second : tensor<4x2xf32>
  %0 = nn.matmul %x, %first : (tensor<8x4xf32, #S>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.add %0, %bias : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = nn.relu %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = nn.matmul %2, %second : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %loss = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
