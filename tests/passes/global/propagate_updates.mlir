// What comes out of an update: elementwise ops stay in its signature, others get the one of stage 0. And what is made from
// nothing: each user gets one of its own.
// RUN: splitcast-opt %s -sbp-propagate | FileCheck-19 %s

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
