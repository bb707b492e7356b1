// A mean that is computed again for backward is cut into parts again, but what it rounds away is counted once: the saved
// count is the same, whatever is recomputed.
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute="recompute=no" -nn-expand-optimizers -sbp-exact-sums="reproducible micro-batches=3" | FileCheck %s
// RUN: splitcast-opt %s -nn-differentiate -nn-recompute="recompute=yes" -nn-expand-optimizers -sbp-exact-sums="reproducible micro-batches=3" | FileCheck %s --check-prefixes=CHECK,AGAIN

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @a.w : tensor<4x3xf64>
// CHECK: %[[S:.*]] = nn.reduce_sum %{{.*}} : (tensor<12x3xf64>) -> tensor<3xf64>
// CHECK: nn.exact_rest {{.*}}tensor<3xf64>
// CHECK: nn.exact_rest {{.*}}tensor<f64>
// AGAIN: sbp.scope "backward" group "a"
// AGAIN: %[[T:.*]] = nn.reduce_sum %{{.*}} : (tensor<12x3xf64>) -> tensor<3xf64>
// AGAIN: %[[M:.*]] = nn.scale %[[T]]
// AGAIN: nn.exact_part %[[M]] {of = 6 : i64, part = 0 : i64}
// CHECK: nn.neg
// CHECK: nn.exact_rest {{.*}}tensor<3xf64>
// CHECK: nn.exact_rest {{.*}}tensor<4x3xf64>
// CHECK-NOT: nn.exact_rest
// CHECK: nn.sum_parts %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} :
// CHECK: sbp.assign @optimizer.inexact_sums
func.func @train(%x: tensor<12x4xf64, #S0>) -> tensor<f64> {
  %w = sbp.read @a.w : tensor<4x3xf64>
  %y = nn.matmul %x, %w : (tensor<12x4xf64, #S0>, tensor<4x3xf64>) -> tensor<12x3xf64>
  %s = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<12x3xf64>) -> tensor<3xf64>
  %m = nn.scale %s {value = 0.125} : (tensor<3xf64>) -> tensor<3xf64>
  %b = nn.broadcast %m {dims = array<i64: 0>} : (tensor<3xf64>) -> tensor<12x3xf64>
  %d = nn.sub %y, %b : (tensor<12x3xf64>, tensor<12x3xf64>) -> tensor<12x3xf64>
  %t = nn.tanh %d : (tensor<12x3xf64>) -> tensor<12x3xf64>
  %z = nn.mul %t, %t : (tensor<12x3xf64>, tensor<12x3xf64>) -> tensor<12x3xf64>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x3xf64>) -> tensor<f64>
  nn.minimize %loss : tensor<f64> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f64>
}
