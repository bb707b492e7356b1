// Gradients that each rank adds up itself, and all ranks once: only the last run reduces, and what is carried is P.
// RUN: splitcast-opt %s -enable-zero="stage=2 accumulate=3 accumulate-order=per-step" | FileCheck %s
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-split-steps="micro-batches=3 order=per-step" | FileCheck %s --check-prefix=PASS

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#S0_B_ = #sbp.nd<#p, [S(0), B]>
#B_S1_ = #sbp.nd<#p, [B, S(1)]>
// The accumulator lies as its gradient is made: split as the variable is along "tp", addends along "dp".
// CHECK-DAG: sbp.variable @w.accumulated : tensor<4x2xf32, #P_S1_> group "w" frozen carried
// CHECK-DAG: sbp.variable @train.sum{{[0-9]}} : tensor<f32, #P_P> group "train" frozen carried
// CHECK: func.func @train.first(
// CHECK: sbp.assign @w.accumulated, %{{.*}} : tensor<4x2xf32, #P_S1_>
// CHECK: func.func @train.next(
// CHECK: %[[OLD:.*]] = sbp.read @w.accumulated : tensor<4x2xf32, #P_S1_>
// CHECK: %[[NEW:.*]] = nn.add %[[OLD]], %{{.*}} : (tensor<4x2xf32, #P_S1_>, tensor<4x2xf32, #P_S1_>) -> tensor<4x2xf32, #P_S1_>
// CHECK: sbp.assign @w.accumulated, %[[NEW]]
// CHECK: func.func @train.last(
// CHECK: %[[OLD:.*]] = sbp.read @w.accumulated : tensor<4x2xf32, #P_S1_>
// CHECK: %[[SUM:.*]] = nn.add %[[OLD]], %{{.*}} -> tensor<4x2xf32, #P_S1_>
// CHECK: %[[PACK:.*]] = sbp.bucket_pack %[[SUM]]
// CHECK: sbp.boxing %[[PACK]]
// CHECK-NOT: sbp.assign @w.accumulated
// PASS: func.func @train.last(
// PASS: %[[ADDEND:.*]] = nn.matmul %{{.*}} {transpose_a}
// PASS: %[[OLD:.*]] = sbp.read @w.accumulated : tensor<4x2xf32>
// PASS: %[[SUM:.*]] = nn.add %[[OLD]], %[[ADDEND]]
// PASS: %[[UPDATE:.*]] = sbp.scope "update" of @w
// PASS: sbp.fence %[[SUM]] in %[[UPDATE]]
sbp.variable @w : tensor<4x2xf32, #B_S1_> init #sbp.constant<1.0>
func.func @train(%x: tensor<12x4xf32, #S0_B_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0_B_>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %t = nn.tanh %y : (tensor<12x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %t {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// A sum whose signature a user has said is carried in that.
// CHECK: func.func @said.first(
// CHECK: sbp.assign @said.sum{{[0-9]}}, %{{.*}} : tensor<f32, #B_B>
func.func @said(%x: tensor<12x4xf32, #S0_B_>) -> tensor<f32, #sbp.nd<#p, [B, B]>> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0_B_>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32, #sbp.nd<#p, [B, B]>>
  nn.minimize %loss : tensor<f32, #sbp.nd<#p, [B, B]>> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32, #sbp.nd<#p, [B, B]>>
}
