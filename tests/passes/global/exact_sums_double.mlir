// An f64 has digits that no part holds: a step counts the elements of sums that lose some. An f32 has none.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-exact-sums="reproducible" | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=2 accumulate=3 reproducible=yes" | FileCheck %s --check-prefix=STEPS

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
// CHECK: sbp.variable @optimizer.inexact_sums : tensor<f64, #B> init #sbp.constant<0.000000e+00 : f64> group "optimizer" frozen
sbp.variable @v : tensor<2xf32, #B>
sbp.variable @w : tensor<2xf64, #B>
// CHECK-LABEL: func.func @train(
// CHECK: %[[REST:.*]] = nn.exact_rest %{{.*}} {of = 6 : i64} : (tensor<2xf64>) -> tensor<2xf64>
// CHECK-NOT: nn.exact_rest
// CHECK: %[[F:.*]] = sbp.fence %[[REST]] in %{{.*}} : tensor<2xf64>
// CHECK-NEXT: %[[COUNT:.*]] = nn.nonfinite %[[F]] : (tensor<2xf64>) -> tensor<f64>
// CHECK: %[[TOTAL:.*]] = nn.sum_parts %[[COUNT]] : (tensor<f64>) -> tensor<f64>
// CHECK-NEXT: %[[BEFORE:.*]] = sbp.read @optimizer.inexact_sums : tensor<f64>
// CHECK-NEXT: %[[AFTER:.*]] = nn.add %[[BEFORE]], %[[TOTAL]] : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK-NEXT: sbp.assign @optimizer.inexact_sums, %[[AFTER]] : tensor<f64>
// The marks are accumulated as the parts are, and counted in the last run, where each rank has some.
// STEPS-DAG: sbp.variable @w.accumulated6 : tensor<2xf64, {{.*}} state_of @w role "accumulated6" carried
// STEPS-LABEL: func.func @train.first(
// STEPS-NOT: nn.nonfinite
// STEPS-LABEL: func.func @train.last(
// STEPS: nn.nonfinite %{{.*}} -> tensor<f64, #P>
// STEPS: sbp.assign @optimizer.inexact_sums
func.func @train(%x: tensor<12x2xf64, #S0>, %y: tensor<12x2xf32, #S0>) {
  %w = sbp.read @w : tensor<2xf64>
  %v = sbp.read @v : tensor<2xf32>
  %a = nn.mul %x, %w : (tensor<12x2xf64, #S0>, tensor<2xf64>) -> tensor<12x2xf64>
  %s = nn.reduce_sum %a {dims = array<i64: 0, 1>} : (tensor<12x2xf64>) -> tensor<f64>
  %b = nn.mul %y, %v : (tensor<12x2xf32, #S0>, tensor<2xf32>) -> tensor<12x2xf32>
  %t = nn.reduce_sum %b {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %u = nn.cast %t : (tensor<f32>) -> tensor<f64>
  %l = nn.add %s, %u : (tensor<f64>, tensor<f64>) -> tensor<f64>
  nn.minimize %l : tensor<f64> with #nn.sgd<lr = 0.5>
  return
}
