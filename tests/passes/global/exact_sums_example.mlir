// The example of 'sbp-exact-sums'.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-exact-sums="reproducible" | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=2 accumulate=3 reproducible=yes" | FileCheck %s --check-prefix=STEPS
// RUN: splitcast-opt %s -enable-zero="stage=2 accumulate=3" | FileCheck %s --check-prefix=ROUNDED

#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32> init #sbp.constant<1.0>
// CHECK-LABEL: func.func @train(
// CHECK-SAME: attributes {sbp.exact_sums = "dp"}
// CHECK: %[[LOSS:.*]] = nn.reduce_sum
// CHECK: %[[L0:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 0 : i64} : (tensor<f32>) -> tensor<f64>
// CHECK: %[[g:.*]] = nn.matmul %{{.*}} {transpose_a}
// CHECK-NEXT: %[[g0:.*]] = nn.exact_part %[[g]] {of = 6 : i64, part = 0 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>
// CHECK-NEXT: %[[g1:.*]] = nn.exact_part %[[g]] {of = 6 : i64, part = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>
// CHECK-NEXT: %[[g2:.*]] = nn.exact_part %[[g]] {of = 6 : i64, part = 2 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>
// CHECK-NEXT: %[[g3:.*]] = nn.exact_part %[[g]] {of = 6 : i64, part = 3 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>
// CHECK-NEXT: %[[g4:.*]] = nn.exact_part %[[g]] {of = 6 : i64, part = 4 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>
// CHECK-NEXT: %[[g5:.*]] = nn.exact_part %[[g]] {of = 6 : i64, part = 5 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>
// CHECK: %[[s:.*]] = sbp.scope "update" of @w
// CHECK: %[[f0:.*]] = sbp.fence %[[g0]] in %[[s]] : tensor<4x2xf64>
// CHECK-NEXT: %[[f1:.*]] = sbp.fence %[[g1]] in %[[s]] : tensor<4x2xf64>
// CHECK-NEXT: %[[f2:.*]] = sbp.fence %[[g2]] in %[[s]] : tensor<4x2xf64>
// CHECK-NEXT: %[[f3:.*]] = sbp.fence %[[g3]] in %[[s]] : tensor<4x2xf64>
// CHECK-NEXT: %[[f4:.*]] = sbp.fence %[[g4]] in %[[s]] : tensor<4x2xf64>
// CHECK-NEXT: %[[f5:.*]] = sbp.fence %[[g5]] in %[[s]] : tensor<4x2xf64>
// CHECK-NEXT: %[[f:.*]] = nn.exact_sum %[[f0]], %[[f1]], %[[f2]], %[[f3]], %[[f4]], %[[f5]] : (tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xf32>
// CHECK: %[[SUM:.*]] = nn.exact_sum %[[L0]],
// CHECK: return %[[SUM]]
// Whatever is added up, over ranks and micro-batches, is of parts.
// STEPS-DAG: sbp.variable @w.accumulated : tensor<4x2xf64, {{.*}} state_of @w role "accumulated" carried
// STEPS-DAG: sbp.variable @w.accumulated1 : tensor<4x2xf64,
// STEPS-DAG: sbp.variable @w.accumulated2 : tensor<4x2xf64,
// STEPS-DAG: sbp.variable @w.accumulated3 : tensor<4x2xf64,
// STEPS-DAG: sbp.variable @w.accumulated4 : tensor<4x2xf64,
// STEPS-DAG: sbp.variable @w.accumulated5 : tensor<4x2xf64,
// STEPS-NOT: tensor<{{.*}}f32, #P> -> tensor
// STEPS: func.func @train.last(
// STEPS: sbp.boxing %{{.*}} : tensor<32xf64, #P> -> tensor<32xf64, #S0_>
// ROUNDED: sbp.boxing %{{.*}} : tensor<32xf32, #P> -> tensor<32xf32, #S0_>
func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0_>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
