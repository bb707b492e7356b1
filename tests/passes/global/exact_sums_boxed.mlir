// What a user boxed is summed of parts, too, and boxed then: its sum over ranks has no rounding either.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-exact-sums="reproducible" | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=2 reproducible=yes" | FileCheck %s --check-prefix=RANKS
// RUN: splitcast-opt %s -enable-zero="stage=2 reproducible=yes accumulate=2" | FileCheck %s --check-prefix=STEPS

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
sbp.variable @w : tensor<4xf32, #B>
// CHECK-LABEL: func.func @train(
// CHECK: %[[LOSS:.*]] = nn.reduce_sum {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[L0:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 0 : i64}
// CHECK-NEXT: %[[L1:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 1 : i64}
// CHECK-NEXT: %[[L2:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 2 : i64}
// CHECK-NEXT: %[[L3:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 3 : i64}
// CHECK-NEXT: %[[L4:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 4 : i64}
// CHECK-NEXT: %[[L5:.*]] = nn.exact_part %[[LOSS]] {of = 6 : i64, part = 5 : i64}
// CHECK-NOT: sbp.boxing
// CHECK: %[[SUM:.*]] = nn.exact_sum %[[L0]], %[[L1]], %[[L2]], %[[L3]], %[[L4]], %[[L5]] : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f32>
// CHECK-NEXT: %[[BOXED:.*]] = sbp.boxing %[[SUM]] : tensor<f32> -> tensor<f32, #B>
// CHECK-NEXT: return %[[BOXED]] : tensor<f32, #B>
// RANKS: sbp.boxing %{{.*}} : tensor<f64, #P> -> tensor<f64, #B>
// RANKS: nn.exact_sum %{{.*}} -> tensor<f32, #B>
// RANKS-NOT: tensor<f32, #P> -> tensor
// STEPS-NOT: tensor<f32, #P> -> tensor
// STEPS: func.func @train.last(
// STEPS-NOT: tensor<f32, #P> -> tensor
// STEPS: nn.exact_sum
func.func @train(%x: tensor<8x4xf32, #S0>) -> tensor<f32, #B> {
  %w = sbp.read @w : tensor<4xf32>
  %y = nn.mul %x, %w : (tensor<8x4xf32, #S0>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5>
  %r = sbp.boxing %l : tensor<f32> -> tensor<f32, #B>
  return %r : tensor<f32, #B>
}
