// The example of 'sbp-join-buckets': gradients are laid into the range when the last is there, and reduced once.
// RUN: splitcast-opt %s -sbp-join-buckets | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S_l_0_ = #sbp.nd<#p, [S(@l, 0 of 64)]>
#S_l_48_ = #sbp.nd<#p, [S(@l, 48 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> storage #S_l_0_ slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> storage #S_l_48_ slot #sbp.slot<@l, 48 of 64>

// CHECK-LABEL: func.func @example
// CHECK-SAME: %[[gw:.*]]: tensor<2x17xf32, #P>, %[[gb:.*]]: tensor<6xf32, #P>
// CHECK-NEXT: %[[_1:.*]] = sbp.bucket_pack %[[gw]], %[[gb]] at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
// CHECK-NEXT: %[[_2:.*]] = sbp.boxing %[[_1]] : tensor<64xf32, #P> -> tensor<64xf32, #S0_> bucket #sbp.slot<@l, 0 of 64>
// CHECK-NEXT: %[[_3:.*]] = nn.neg %[[_2]] : (tensor<64xf32, #S0_>) -> tensor<64xf32, #S0_>
// CHECK-NEXT: sbp.bucket_assign @l, %[[_3]] : tensor<64xf32, #S0_>
// CHECK-NEXT: return
func.func @example(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) {
  %1 = sbp.boxing %gw : tensor<2x17xf32, #P> -> tensor<2x17xf32, #S_l_0_>
  %2 = nn.neg %1 : (tensor<2x17xf32, #S_l_0_>) -> tensor<2x17xf32, #S_l_0_>
  sbp.assign @l.w, %2 : tensor<2x17xf32, #S_l_0_>
  %3 = sbp.boxing %gb : tensor<6xf32, #P> -> tensor<6xf32, #S_l_48_>
  %4 = nn.neg %3 : (tensor<6xf32, #S_l_48_>) -> tensor<6xf32, #S_l_48_>
  sbp.assign @l.b, %4 : tensor<6xf32, #S_l_48_>
  return
}
