// What comes out of an update: elementwise ops stay in its signature, others get the one of stage 0. And what is made from
// nothing: each user gets one of its own.
// RUN: splitcast-opt %s -sbp-propagate | FileCheck %s
// @propagate_c4_legal

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<8x6xf32, #B> update #S0_

// The sum runs over all rows on each rank, as it would without ZeRO: S(0) into it would give addends, P.
// CHECK-LABEL: func.func @sum
// CHECK: %[[F:.*]] = sbp.fence %{{.*}} in %{{.*}} : tensor<8x6xf32, #S0_>
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[F]] : (tensor<8x6xf32, #S0_>) -> tensor<8x6xf32, #S0_>
// CHECK-NEXT: %[[W:.*]] = sbp.boxing %[[R]] : tensor<8x6xf32, #S0_> -> tensor<8x6xf32, #B>
// CHECK-NEXT: %[[T:.*]] = nn.reduce_sum %[[W]] {{.*}} : (tensor<8x6xf32, #B>) -> tensor<6xf32, #B>
// CHECK-NEXT: return %[[T]], %[[W]] : tensor<6xf32, #B>, tensor<8x6xf32, #B>
func.func @sum() -> (tensor<6xf32>, tensor<8x6xf32>) {
  %scope = sbp.scope "update" of @w
  %w = sbp.read @w : tensor<8x6xf32>
  %f = sbp.fence %w in %scope : tensor<8x6xf32>
  %r = nn.relu %f : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %t = nn.reduce_sum %r {dims = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<6xf32>
  return %t, %r : tensor<6xf32>, tensor<8x6xf32>
}

// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[SPLIT:.*]] = nn.constant 1.000000e+00 : tensor<8x6xf32, #S0_>
// CHECK-DAG: %[[WHOLE:.*]] = nn.constant 1.000000e+00 : tensor<8x6xf32, #B>
// CHECK-NOT: sbp.boxing
// CHECK: nn.add %{{.*}}, %[[SPLIT]] : (tensor<8x6xf32, #S0_>, tensor<8x6xf32, #S0_>)
// CHECK: nn.add %{{.*}}, %[[WHOLE]] : (tensor<8x6xf32, #B>, tensor<8x6xf32, #B>)
func.func @constants(%x: tensor<8x6xf32, #S0_>, %y: tensor<8x6xf32, #B>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %c = nn.constant 1.0 : tensor<8x6xf32>
  %a = nn.add %x, %c : (tensor<8x6xf32, #S0_>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %b = nn.add %y, %c : (tensor<8x6xf32, #B>, tensor<8x6xf32>) -> tensor<8x6xf32>
  return %a, %b : tensor<8x6xf32>, tensor<8x6xf32>
}

// An update is computed with values, whatever lies beside it: the addends of %g are summed before they meet @w's update.
// Where @w is B at stage 0, they are scattered likewise, so that the sum over all of it runs over the same terms.
// CHECK-LABEL: func.func @addends
// CHECK: %[[G:.*]] = nn.reduce_sum %{{.*}} -> tensor<8x6xf32, #P>
// CHECK: %[[SHARD:.*]] = sbp.boxing %[[G]] : tensor<8x6xf32, #P> -> tensor<8x6xf32, #S0_>
// CHECK: %[[M:.*]] = nn.mul %{{.*}}, %[[SHARD]] : (tensor<8x6xf32, #S0_>, tensor<8x6xf32, #S0_>) -> tensor<8x6xf32, #S0_>
// CHECK: nn.reduce_sum %[[M]] {{.*}} : (tensor<8x6xf32, #S0_>) -> tensor<f32, #P>
func.func @addends(%x: tensor<4x8x6xf32, #S0_>) -> tensor<f32> {
  %scope = sbp.scope "update" of @w
  %w = sbp.read @w : tensor<8x6xf32>
  %f = sbp.fence %w in %scope : tensor<8x6xf32>
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<4x8x6xf32, #S0_>) -> tensor<8x6xf32>
  %m = nn.mul %f, %g : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %n = nn.reduce_sum %m {dims = array<i64: 0, 1>} : (tensor<8x6xf32>) -> tensor<f32>
  return %n : tensor<f32>
}

// Made once for each signature, not once for each use: one constant and three sums, though eight ways lead to the constant.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: nn.constant
// CHECK-COUNT-4: nn.add
// CHECK-NOT: nn.add
// CHECK: return
func.func @shared(%x: tensor<8x6xf32, #S0_>) -> tensor<8x6xf32> {
  %c = nn.constant 1.0 : tensor<8x6xf32>
  %d = nn.add %c, %c : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %e = nn.add %d, %d : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %f = nn.add %e, %e : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = nn.add %x, %f : (tensor<8x6xf32, #S0_>, tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
