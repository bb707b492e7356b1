// What belongs together, and what does not.
// RUN: splitcast-opt %s -sbp-join-buckets -split-input-file | FileCheck %s

// @join_buckets_c1_legal, @join_buckets_c2_legal
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#Sa = #sbp.nd<#p, [S(@l, 0 of 64)]>
#Sb = #sbp.nd<#p, [S(@l, 32 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@a, @b] at [0, 32]
sbp.variable @a : tensor<6xf32, #B> storage #Sa slot #sbp.slot<@l, 0 of 64>
sbp.variable @b : tensor<6xf32, #B> storage #Sb slot #sbp.slot<@l, 32 of 64>

// The second gradient is made from the first one's update: they are reduced one after the other.
// CHECK-LABEL: func.func @one_depends_on_the_other
// CHECK: sbp.bucket_pack %{{.*}} at [0] of @l
// CHECK: %[[A:.*]] = sbp.bucket_member %{{.*}} at 0 of @l : tensor<64xf32, #B>
// CHECK: %[[G:.*]] = nn.mul %{{.*}}, %[[A]]
// CHECK: sbp.bucket_pack %[[G]] at [32] of @l
func.func @one_depends_on_the_other(%ga: tensor<6xf32, #P>) {
  %0 = sbp.boxing %ga : tensor<6xf32, #P> -> tensor<6xf32, #Sa>
  sbp.assign @a, %0 : tensor<6xf32, #Sa>
  %1 = sbp.boxing %0 : tensor<6xf32, #Sa> -> tensor<6xf32, #B>
  %2 = nn.mul %ga, %1 : (tensor<6xf32, #P>, tensor<6xf32, #B>) -> tensor<6xf32, #P>
  %3 = sbp.boxing %2 : tensor<6xf32, #P> -> tensor<6xf32, #Sb>
  sbp.assign @b, %3 : tensor<6xf32, #Sb>
  return
}

// By way of a variable, likewise: what is read after the assignment of @a goes into the gradient of @b.
// CHECK-LABEL: func.func @by_way_of_a_variable
// CHECK: sbp.bucket_pack %{{.*}} at [0] of @l
// CHECK: sbp.assign @a,
// CHECK: sbp.bucket_read @l
// CHECK: sbp.bucket_pack %{{.*}} at [32] of @l
// CHECK: sbp.assign @b,
func.func @by_way_of_a_variable(%ga: tensor<6xf32, #P>) {
  %0 = sbp.boxing %ga : tensor<6xf32, #P> -> tensor<6xf32, #Sa>
  sbp.assign @a, %0 : tensor<6xf32, #Sa>
  %a = sbp.read @a : tensor<6xf32, #Sa>
  %1 = sbp.boxing %a : tensor<6xf32, #Sa> -> tensor<6xf32, #B>
  %2 = nn.mul %ga, %1 : (tensor<6xf32, #P>, tensor<6xf32, #B>) -> tensor<6xf32, #P>
  %3 = sbp.boxing %2 : tensor<6xf32, #P> -> tensor<6xf32, #Sb>
  sbp.assign @b, %3 : tensor<6xf32, #Sb>
  return
}

// A slot that is reduced twice: the first time with the other member, the second time alone.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[X:.*]]: tensor<6xf32, #P>, %[[Y:.*]]: tensor<6xf32, #P>
// CHECK: sbp.bucket_pack %[[Y]] at [0] of @l
// CHECK: sbp.bucket_pack %[[X]], %[[Y]] at [0, 32] of @l
// CHECK-NOT: sbp.bucket_pack
// CHECK: return
func.func @twice(%x: tensor<6xf32, #P>, %y: tensor<6xf32, #P>) {
  %0 = sbp.boxing %x : tensor<6xf32, #P> -> tensor<6xf32, #Sa>
  %1 = sbp.boxing %y : tensor<6xf32, #P> -> tensor<6xf32, #Sa>
  %2 = nn.add %0, %1 : (tensor<6xf32, #Sa>, tensor<6xf32, #Sa>) -> tensor<6xf32, #Sa>
  %3 = sbp.boxing %y : tensor<6xf32, #P> -> tensor<6xf32, #Sb>
  sbp.assign @a, %2 : tensor<6xf32, #Sa>
  sbp.assign @b, %3 : tensor<6xf32, #Sb>
  return
}

// Fences of two updates are one of the bucket's.
// CHECK-LABEL: func.func @fences
// CHECK: %[[R:.*]] = sbp.bucket_read @l : tensor<64xf32, #S0_>
// CHECK-NEXT: %[[T:.*]] = sbp.scope "update" group "l"
// CHECK-NEXT: %[[F:.*]] = sbp.fence %[[R]] in %[[T]] : tensor<64xf32, #S0_>
// CHECK-NEXT: %[[N:.*]] = nn.neg %[[F]]
// CHECK-NEXT: sbp.bucket_assign @l, %[[N]]
func.func @fences() {
  %t = sbp.scope "update" of @a
  %u = sbp.scope "update" of @b
  %a = sbp.read @a : tensor<6xf32, #Sa>
  %b = sbp.read @b : tensor<6xf32, #Sb>
  %0 = sbp.fence %a in %t : tensor<6xf32, #Sa>
  %1 = sbp.fence %b in %u : tensor<6xf32, #Sb>
  %2 = nn.neg %0 : (tensor<6xf32, #Sa>) -> tensor<6xf32, #Sa>
  %3 = nn.neg %1 : (tensor<6xf32, #Sb>) -> tensor<6xf32, #Sb>
  sbp.assign @a, %2 : tensor<6xf32, #Sa>
  sbp.assign @b, %3 : tensor<6xf32, #Sb>
  return
}

// Of one member there is a moving average, of the other none: what lies beside it is nobody's, and stays zero.
sbp.variable @a.m : tensor<6xf32, #B> storage #Sa slot #sbp.slot<@l, 0 of 64> state_of @a role "m"
// CHECK-LABEL: func.func @of_one_member
// CHECK: %[[R:.*]] = sbp.bucket_read @l : tensor<64xf32, #S0_>
// CHECK: %[[A:.*]] = sbp.bucket_member %[[R]] at 0 of @l : tensor<64xf32, #S0_> -> tensor<6xf32, #S_l_0_>
// CHECK: sbp.assign @a.m, %[[A]]
func.func @of_one_member() {
  %a = sbp.read @a : tensor<6xf32, #Sa>
  sbp.assign @a.m, %a : tensor<6xf32, #Sa>
  return
}

// What is fenced lies where it lay: its slice is one of the range.
// CHECK-LABEL: func.func @fenced_member
// CHECK: %[[R:.*]] = sbp.bucket_read @l : tensor<64xf32, #S0_>
// CHECK: %[[W:.*]] = sbp.boxing %[[R]] : tensor<64xf32, #S0_> -> tensor<64xf32, #B>
// CHECK: sbp.fence %{{.*}} in %{{.*}} : tensor<6xf32, #B>
// CHECK-NOT: sbp.bucket_pack
// CHECK: sbp.boxing %[[W]] : tensor<64xf32, #B> -> tensor<64xf32, #S0_>
func.func @fenced_member() {
  %t = sbp.scope "backward"
  %a = sbp.read @a : tensor<6xf32, #Sa>
  %0 = sbp.boxing %a : tensor<6xf32, #Sa> -> tensor<6xf32, #B>
  %1 = sbp.fence %0 in %t : tensor<6xf32, #B>
  %2 = sbp.boxing %1 : tensor<6xf32, #B> -> tensor<6xf32, #Sa>
  sbp.assign @a, %2 : tensor<6xf32, #Sa>
  return
}

// -----

// A member of one bucket is copied to one of another: what lies at its offset there is not it.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#Sa = #sbp.nd<#p, [S(@k, 0 of 64)]>
#Sb = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @k : tensor<64xf32, #B> along "dp" holds [@a] at [0]
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@b] at [0]
sbp.variable @a : tensor<6xf32, #B> storage #Sa slot #sbp.slot<@k, 0 of 64>
sbp.variable @b : tensor<6xf32, #B> storage #Sb slot #sbp.slot<@l, 0 of 32>
// CHECK-LABEL: func.func @copy
// CHECK: %[[K:.*]] = sbp.bucket_read @k
// CHECK-NEXT: %[[W:.*]] = sbp.boxing %[[K]] : tensor<64xf32, #S0_> -> tensor<64xf32, #B>
// CHECK-NEXT: %[[A:.*]] = sbp.bucket_member %[[W]] at 0 of @k
// CHECK-NEXT: %[[P:.*]] = sbp.bucket_pack %[[A]] at [0] of @l : (tensor<6xf32, #B>) -> tensor<32xf32, #B>
// CHECK-NEXT: %[[S:.*]] = sbp.boxing %[[P]] : tensor<32xf32, #B> -> tensor<32xf32, #S0_>
// CHECK-NEXT: sbp.bucket_assign @l, %[[S]]
func.func @copy() {
  %0 = sbp.read @a : tensor<6xf32, #Sa>
  %1 = sbp.boxing %0 : tensor<6xf32, #Sa> -> tensor<6xf32, #B>
  %2 = sbp.boxing %1 : tensor<6xf32, #B> -> tensor<6xf32, #Sb>
  sbp.assign @b, %2 : tensor<6xf32, #Sb>
  return
}
