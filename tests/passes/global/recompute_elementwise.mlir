// Only what elementwise ops make of what backward uses anyway is made again: the gelu's result, whose operand the gelu's gradient needs;
// not the sum, of a product that nobody needs any more, and no product.
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute=recompute=elementwise | FileCheck %s

sbp.variable @up.w : tensor<4x4xf32>
sbp.variable @up.b : tensor<4xf32>
sbp.variable @down.w : tensor<4x4xf32>
// CHECK: %[[PRODUCT:.*]] = nn.matmul
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[PRODUCT]]
// CHECK-NEXT: %[[GELU:.*]] = nn.gelu %[[SUM]]
// CHECK-NEXT: nn.matmul %[[GELU]], %{{.*}} :
// CHECK: %[[S:.*]] = sbp.scope "backward" group "up"
// CHECK: %[[KEPT:.*]] = sbp.fence %[[SUM]] in %[[S]]
// CHECK-NEXT: %[[AGAIN:.*]] = nn.gelu %[[KEPT]]
// CHECK-NEXT: nn.matmul %[[AGAIN]], %{{.*}} {transpose_a}
// CHECK: nn.gelu_grad %{{.*}}, %[[SUM]]
// CHECK-NOT: sbp.fence
// CHECK-NOT: nn.gelu %
func.func @train(%x: tensor<8x4xf32>) -> tensor<f32> {
  %u = sbp.read @up.w : tensor<4x4xf32>
  %b = sbp.read @up.b : tensor<4xf32>
  %d = sbp.read @down.w : tensor<4x4xf32>
  %0 = nn.matmul %x, %u : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.add %0, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = nn.gelu %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = nn.matmul %2, %d : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
