// Buckets and the ops on their ranges: what is printed reads back as it was.
// RUN: splitcast-opt %s -split-input-file | splitcast-opt -split-input-file | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sb = #sbp.nd<#p, [S(@l, 48 of 64)]>
// CHECK: sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48] group "l"
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48] group "l"
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
sbp.variable @l.b.m : tensor<6xf32, #B> storage #Sb slot #sbp.slot<@l, 48 of 64> state_of @l.b role "m"

// CHECK-LABEL: func.func @ranges
// @bucket_c1_legal, @bucket_c2_legal, @bucket_c3_legal, @bucket_c4_legal, @bucket_c5_legal
// @bucket_read_c1_legal, @bucket_assign_c1_legal, @bucket_pack_c1_legal, @bucket_pack_c2_legal
// @bucket_member_c1_legal, @bucket_member_c2_legal
func.func @ranges(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) -> tensor<6xf32, #B> {
  // CHECK: %[[P:.*]] = sbp.bucket_pack %{{.*}}, %{{.*}} at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
  %0 = sbp.bucket_pack %gw, %gb at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
  // CHECK: %[[M:.*]] = sbp.bucket_read @l role "m" : tensor<64xf32, #S0_>
  %m = sbp.bucket_read @l role "m" : tensor<64xf32, #S0_>
  // CHECK: sbp.bucket_assign @l role "m", %[[M]] : tensor<64xf32, #S0_>
  sbp.bucket_assign @l role "m", %m : tensor<64xf32, #S0_>
  // CHECK: %[[W:.*]] = sbp.bucket_read @l : tensor<64xf32, #B>
  %range = sbp.bucket_read @l : tensor<64xf32, #B>
  // CHECK: sbp.bucket_assign @l, %[[W]] : tensor<64xf32, #B>
  sbp.bucket_assign @l, %range : tensor<64xf32, #B>
  // CHECK: sbp.bucket_member %[[W]] at 48 of @l : tensor<64xf32, #B> -> tensor<6xf32, #B>
  %1 = sbp.bucket_member %range at 48 of @l : tensor<64xf32, #B> -> tensor<6xf32, #B>
  // CHECK: sbp.bucket_member %[[M]] at 48 of @l : tensor<64xf32, #S0_> -> tensor<6xf32, #S_l_48_>
  %2 = sbp.bucket_member %m at 48 of @l : tensor<64xf32, #S0_> -> tensor<6xf32, #Sb>
  sbp.assign @l.b.m, %2 : tensor<6xf32, #Sb>
  return %1 : tensor<6xf32, #B>
}

// -----

// Along tp, ranks have other columns of @g.w: ranges have a dimension for it. Addends along tp are all there is.
#p = #sbp.placement<"cpu", [dp = 2, tp = 3]>
#BB = #sbp.nd<#p, [B, B]>
#BS1 = #sbp.nd<#p, [B, S(1)]>
#BS0 = #sbp.nd<#p, [B, S(0)]>
#PS0 = #sbp.nd<#p, [P, S(0)]>
#PS1 = #sbp.nd<#p, [P, S(1)]>
#PB = #sbp.nd<#p, [P, B]>
#PP = #sbp.nd<#p, [P, P]>
// CHECK: sbp.bucket @g : tensor<3x32xf32, #B_S0_> along "dp" holds [@g.w, @g.b] at [0, 16]
sbp.bucket @g : tensor<3x32xf32, #BS0> along "dp" holds [@g.w, @g.b] at [0, 16]
sbp.variable @g.w : tensor<4x7xf32, #BS1> slot #sbp.slot<@g, 0 of 32>
sbp.variable @g.b : tensor<7xf32, #BB> slot #sbp.slot<@g, 16 of 32>
// CHECK-LABEL: func.func @of_a_mesh
func.func @of_a_mesh(%gw: tensor<4x7xf32, #PS1>, %gb: tensor<7xf32, #PB>, %gp: tensor<7xf32, #PP>) {
  // CHECK: sbp.bucket_pack {{.*}} -> tensor<3x32xf32, #P_S0_>
  %0 = sbp.bucket_pack %gw, %gb at [0, 16] of @g : (tensor<4x7xf32, #PS1>, tensor<7xf32, #PB>) -> tensor<3x32xf32, #PS0>
  // CHECK: sbp.bucket_pack {{.*}} -> tensor<32xf32, #P_P>
  %1 = sbp.bucket_pack %gp at [16] of @g : (tensor<7xf32, #PP>) -> tensor<32xf32, #PP>
  return
}
