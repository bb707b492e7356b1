// The example of 'sbp-split-steps': 12 rows on 2 ranks, in 3 micro-batches.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-split-steps="micro-batches=3" | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
// CHECK: sbp.variable @w.accumulated : tensor<4x2xf32> group "w" state_of @w role "accumulated" carried
sbp.variable @w : tensor<4x2xf32> init #sbp.constant<1.0>
// The first run assigns its addend.
// CHECK: func.func @train.first(%[[X:.*]]: tensor<4x4xf32, #S0_>) {
// CHECK-NOT: sbp.read @w.accumulated
// CHECK: %[[G:.*]] = nn.matmul %[[X]], %{{.*}} {transpose_a}
// CHECK: %[[U:.*]] = sbp.scope "update" of @w
// CHECK-NEXT: %[[F:.*]] = sbp.fence %[[G]] in %[[U]]
// CHECK-NEXT: sbp.assign @w.accumulated, %[[F]]
// The next ones add theirs.
// CHECK: func.func @train.next(%[[X:.*]]: tensor<4x4xf32, #S0_>) {
// CHECK: %[[U:.*]] = sbp.scope "update" of @w
// CHECK-NEXT: %[[F:.*]] = sbp.fence %{{.*}} in %[[U]]
// CHECK-NEXT: %[[R:.*]] = sbp.read @w.accumulated
// CHECK-NEXT: %[[A:.*]] = sbp.fence %[[R]] in %[[U]]
// CHECK-NEXT: %[[S:.*]] = nn.add %[[A]], %[[F]]
// CHECK-NEXT: sbp.assign @w.accumulated, %[[S]]
// The last has the sum, and what comes behind it.
// CHECK: func.func @train.last(%[[X:.*]]: tensor<4x4xf32, #S0_>) -> tensor<f32> {
// CHECK: %[[LOSS:.*]] = nn.add %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[S:.*]] = nn.add %{{.*}}, %{{.*}} : (tensor<4x2xf32>, tensor<4x2xf32>)
// CHECK-NOT: sbp.assign @w.accumulated
// CHECK: nn.mul %{{.*}}, %[[S]]
// CHECK: sbp.assign @w,
// CHECK: return %[[LOSS]]
// CHECK: sbp.schedule @train of 3 {
// CHECK-NEXT: sbp.run @train.first from 0 to 1 takes [0] cut [0]
// CHECK-NEXT: sbp.run @train.next from 1 to 2 takes [0] cut [0]
// CHECK-NEXT: sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
// CHECK-NEXT: }
func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0_>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
