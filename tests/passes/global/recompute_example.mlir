// The example of 'nn-recompute': the second block makes its product again for the gradient of relu; what the first hands on is kept.
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute=recompute=yes | FileCheck %s
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute=groups=b | FileCheck %s
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute | FileCheck %s --check-prefix=NONE
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute=groups=a | FileCheck %s --check-prefix=FIRST

sbp.variable @a.w : tensor<4x4xf32>
sbp.variable @b.w : tensor<4x4xf32>
// CHECK: %[[X:.*]] = nn.matmul %{{.*}}, %{{.*}} :
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[X]], %[[W:.*]] :
// CHECK-NEXT: %[[Z:.*]] = nn.relu %[[Y]]
// CHECK: sbp.scope "backward"
// CHECK: %[[S:.*]] = sbp.scope "backward" group "b"
// CHECK-NEXT: %[[XF:.*]] = sbp.fence %[[X]] in %[[S]]
// CHECK-NEXT: %[[WF:.*]] = sbp.fence %{{.*}} in %[[S]]
// CHECK-NEXT: %[[AGAIN:.*]] = nn.matmul %[[XF]], %[[WF]]
// CHECK-NEXT: nn.relu_grad %{{.*}}, %[[AGAIN]]
// CHECK-NOT: group "a"
// NONE-COUNT-1: sbp.scope "backward"
// NONE-NOT: sbp.scope "backward"
// FIRST-COUNT-1: sbp.scope "backward"
// FIRST-NOT: sbp.scope "backward"
func.func @train(%x: tensor<8x4xf32>) -> tensor<f32> {
  %a = sbp.read @a.w : tensor<4x4xf32>
  %b = sbp.read @b.w : tensor<4x4xf32>
  %0 = nn.matmul %x, %a : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.matmul %0, %b : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = nn.relu %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
