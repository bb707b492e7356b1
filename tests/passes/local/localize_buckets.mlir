// Members of a bucket share one collective and one update over the bucket's range.
// RUN: splitcast-opt %s -sbp-join-buckets -sbp-localize=rank=1 -split-input-file | FileCheck %s
// CHECK: #dp = #ccl.group<"dp", [0, 1], index 1>

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sa = #sbp.nd<#p, [S(@l, 0 of 64)]>
#Sc = #sbp.nd<#p, [S(@l, 48 of 64)]>
// Rank 1 of 2 holds elements 32 to 63: 2 rows of @a's 8 (34 elements) and all of @c.
// CHECK: ccl.storage @bucket.l.parameter : tensor<32xf32> holds [@a, @c] at [0, 16]
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@a, @c] at [0, 48]
sbp.variable @a : tensor<2x17xf32, #B> storage #Sa update #Sa slot #sbp.slot<@l, 0 of 64>
sbp.variable @c : tensor<6xf32, #B> storage #Sc update #Sc slot #sbp.slot<@l, 48 of 64>
sbp.variable @rate : tensor<f32, #B>

// CHECK-LABEL: func.func @gather
// CHECK: %[[R:.*]] = ccl.read @bucket.l.parameter : tensor<32xf32>
// CHECK-NEXT: %[[F:.*]] = sbp.fence %[[R]] in %{{.*}} : tensor<32xf32>
// CHECK-NEXT: %[[G:.*]] = ccl.all_gather "bucket l forward" %[[F]] in #dp blocks 32 {stored} : tensor<32xf32> -> <tensor<64xf32>>
// CHECK-NEXT: %[[W:.*]] = ccl.wait %[[G]]
// CHECK-NEXT: %[[A:.*]] = ccl.view %[[W]] at 0 : tensor<64xf32> -> tensor<2x17xf32>
// CHECK-NEXT: %[[C:.*]] = ccl.view %[[W]] at 48 : tensor<64xf32> -> tensor<6xf32>
// CHECK-NEXT: return %[[A]], %[[C]]
func.func @gather() -> (tensor<2x17xf32, #B>, tensor<6xf32, #B>) {
  %t = sbp.scope "forward" group "l"
  %a = sbp.read @a : tensor<2x17xf32, #Sa>
  %0 = sbp.fence %a in %t : tensor<2x17xf32, #Sa>
  %1 = sbp.boxing %0 : tensor<2x17xf32, #Sa> -> tensor<2x17xf32, #B>
  %c = sbp.read @c : tensor<6xf32, #Sc>
  %2 = sbp.fence %c in %t : tensor<6xf32, #Sc>
  %3 = sbp.boxing %2 : tensor<6xf32, #Sc> -> tensor<6xf32, #B>
  return %1, %3 : tensor<2x17xf32, #B>, tensor<6xf32, #B>
}

// Two phases gather twice.
// CHECK-LABEL: func.func @phases
// CHECK: ccl.all_gather "bucket l forward"
// CHECK: ccl.all_gather "bucket l backward"
func.func @phases() -> (tensor<6xf32, #B>, tensor<6xf32, #B>) {
  %t = sbp.scope "forward" group "l"
  %u = sbp.scope "backward" group "l"
  %c = sbp.read @c : tensor<6xf32, #Sc>
  %0 = sbp.fence %c in %t : tensor<6xf32, #Sc>
  %1 = sbp.boxing %0 : tensor<6xf32, #Sc> -> tensor<6xf32, #B>
  %2 = sbp.fence %c in %u : tensor<6xf32, #Sc>
  %3 = sbp.boxing %2 : tensor<6xf32, #Sc> -> tensor<6xf32, #B>
  return %1, %3 : tensor<6xf32, #B>, tensor<6xf32, #B>
}

// Gradients of both are packed when the last is there, reduced once, and applied by one multiply and one subtraction.
// CHECK-LABEL: func.func @update
// CHECK-NEXT: %[[GA:.*]] = nn.reduce_sum {{.*}} -> tensor<2x17xf32>
// CHECK-NEXT: %[[GC:.*]] = nn.reduce_sum {{.*}} -> tensor<6xf32>
// CHECK-NEXT: %[[PACK:.*]] = ccl.pack %[[GA]], %[[GC]] at [0, 48] : (tensor<2x17xf32>, tensor<6xf32>) -> tensor<64xf32>
// CHECK-NEXT: %[[RS:.*]] = ccl.reduce_scatter "bucket l" %[[PACK]] in #dp blocks 32 : tensor<64xf32> -> <tensor<32xf32>>
// CHECK-NEXT: %[[G:.*]] = ccl.wait %[[RS]]
// CHECK-NEXT: %[[LR:.*]] = ccl.read @storage.rate
// CHECK-NEXT: %[[W:.*]] = ccl.read @bucket.l.parameter
// CHECK-NEXT: %[[STEP:.*]] = nn.mul %[[LR]], %[[G]] : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32>
// CHECK-NEXT: %[[NEW:.*]] = nn.sub %[[W]], %[[STEP]] : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
// CHECK-NEXT: ccl.assign @bucket.l.parameter, %[[NEW]] : tensor<32xf32>
// CHECK-NEXT: return
func.func @update(%sa: tensor<2x2x17xf32, #S0>, %sc: tensor<2x6xf32, #S0>) {
  %ga = nn.reduce_sum %sa {dims = array<i64: 0>} : (tensor<2x2x17xf32, #S0>) -> tensor<2x17xf32, #P>
  %gc = nn.reduce_sum %sc {dims = array<i64: 0>} : (tensor<2x6xf32, #S0>) -> tensor<6xf32, #P>
  %0 = sbp.boxing %gc : tensor<6xf32, #P> -> tensor<6xf32, #Sc>
  %1 = sbp.boxing %ga : tensor<2x17xf32, #P> -> tensor<2x17xf32, #Sa>
  %r = sbp.read @rate : tensor<f32, #B>
  %a = sbp.read @a : tensor<2x17xf32, #Sa>
  %2 = nn.mul %r, %1 : (tensor<f32, #B>, tensor<2x17xf32, #Sa>) -> tensor<2x17xf32, #Sa>
  %3 = nn.sub %a, %2 : (tensor<2x17xf32, #Sa>, tensor<2x17xf32, #Sa>) -> tensor<2x17xf32, #Sa>
  sbp.assign @a, %3 : tensor<2x17xf32, #Sa>
  %c = sbp.read @c : tensor<6xf32, #Sc>
  %4 = nn.mul %r, %0 : (tensor<f32, #B>, tensor<6xf32, #Sc>) -> tensor<6xf32, #Sc>
  %5 = nn.sub %c, %4 : (tensor<6xf32, #Sc>, tensor<6xf32, #Sc>) -> tensor<6xf32, #Sc>
  sbp.assign @c, %5 : tensor<6xf32, #Sc>
  return
}

// Only one member is updated: its part of the range, 2 of @a's 34 elements, and the other keeps its own.
// CHECK-LABEL: func.func @partial
// CHECK: %[[PART:.*]] = ccl.view {{.*}} at 0 : tensor<32xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[NEW:.*]] = nn.neg %[[PART]] : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: ccl.assign @bucket.l.parameter, %[[NEW]] : tensor<2xf32>
// CHECK-NEXT: return
func.func @partial() {
  %a = sbp.read @a : tensor<2x17xf32, #Sa>
  %0 = nn.neg %a : (tensor<2x17xf32, #Sa>) -> tensor<2x17xf32, #Sa>
  sbp.assign @a, %0 : tensor<2x17xf32, #Sa>
  return
}

// Both are updated, but not alike: each its own part.
// CHECK-LABEL: func.func @unlike
// CHECK-DAG: %[[A:.*]] = ccl.view {{.*}} at 0 : tensor<32xf32> -> tensor<2xf32>
// CHECK-DAG: %[[N:.*]] = nn.neg %[[A]] : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-DAG: %[[C:.*]] = ccl.view {{.*}} at 16 : tensor<32xf32> -> tensor<6xf32>
// CHECK-DAG: %[[E:.*]] = nn.exp %[[C]] : (tensor<6xf32>) -> tensor<6xf32>
// CHECK: ccl.assign @bucket.l.parameter, %[[N]] : tensor<2xf32>
// CHECK: ccl.assign @bucket.l.parameter, %[[E]] {offset = 16 : i64} : tensor<6xf32>
func.func @unlike() {
  %a = sbp.read @a : tensor<2x17xf32, #Sa>
  %c = sbp.read @c : tensor<6xf32, #Sc>
  %0 = nn.neg %a : (tensor<2x17xf32, #Sa>) -> tensor<2x17xf32, #Sa>
  %1 = nn.exp %c : (tensor<6xf32, #Sc>) -> tensor<6xf32, #Sc>
  sbp.assign @a, %0 : tensor<2x17xf32, #Sa>
  sbp.assign @c, %1 : tensor<6xf32, #Sc>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sa = #sbp.nd<#p, [S(@l, 0 of 64)]>
#Sc = #sbp.nd<#p, [S(@l, 32 of 64)]>
// Stages 1 and 2: whole at rest, in the bucket's order; updated as shards, which are gathered into it.
// CHECK: ccl.storage @bucket.l.parameter : tensor<64xf32> holds [@a, @c] at [0, 32]
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@a, @c] at [0, 32]
sbp.variable @a : tensor<17xf32, #B> update #Sa slot #sbp.slot<@l, 0 of 64>
sbp.variable @c : tensor<6xf32, #B> update #Sc slot #sbp.slot<@l, 32 of 64>
// CHECK-LABEL: func.func @shards
// CHECK-NEXT: %[[W:.*]] = ccl.read @bucket.l.parameter : tensor<64xf32>
// CHECK-NEXT: %[[S:.*]] = ccl.view %[[W]] at 32 : tensor<64xf32> -> tensor<32xf32>
// CHECK-NEXT: %[[N:.*]] = nn.neg %[[S]] : (tensor<32xf32>) -> tensor<32xf32>
// CHECK-NEXT: %[[G:.*]] = ccl.all_gather "bucket l" %[[N]] in #dp blocks 32
// CHECK-NEXT: %[[ALL:.*]] = ccl.wait %[[G]]
// CHECK-NEXT: ccl.assign @bucket.l.parameter, %[[ALL]] : tensor<64xf32>
func.func @shards() {
  %a = sbp.read @a : tensor<17xf32, #B>
  %c = sbp.read @c : tensor<6xf32, #B>
  %0 = sbp.boxing %a : tensor<17xf32, #B> -> tensor<17xf32, #Sa>
  %1 = nn.neg %0 : (tensor<17xf32, #Sa>) -> tensor<17xf32, #Sa>
  %2 = sbp.boxing %1 : tensor<17xf32, #Sa> -> tensor<17xf32, #B>
  sbp.assign @a, %2 : tensor<17xf32, #B>
  %3 = sbp.boxing %c : tensor<6xf32, #B> -> tensor<6xf32, #Sc>
  %4 = nn.neg %3 : (tensor<6xf32, #Sc>) -> tensor<6xf32, #Sc>
  %5 = sbp.boxing %4 : tensor<6xf32, #Sc> -> tensor<6xf32, #B>
  sbp.assign @c, %5 : tensor<6xf32, #B>
  return
}

// Stage 0: one all-reduce for the bucket.
// CHECK-LABEL: func.func @all_reduce
// CHECK: %[[PACK:.*]] = ccl.pack %{{.*}}, %{{.*}} at [0, 32]
// CHECK-NEXT: ccl.all_reduce "bucket l" %[[PACK]] in #dp blocks 64 : tensor<64xf32> -> <tensor<64xf32>>
// CHECK-NOT: ccl.all_reduce
// CHECK: return
func.func @all_reduce(%sa: tensor<2x17xf32, #S0>, %sc: tensor<2x6xf32, #S0>) -> (tensor<17xf32, #B>, tensor<6xf32, #B>) {
  %ga = nn.reduce_sum %sa {dims = array<i64: 0>} : (tensor<2x17xf32, #S0>) -> tensor<17xf32, #P>
  %gc = nn.reduce_sum %sc {dims = array<i64: 0>} : (tensor<2x6xf32, #S0>) -> tensor<6xf32, #P>
  %0 = sbp.boxing %gc : tensor<6xf32, #P> -> tensor<6xf32, #B> bucket #sbp.slot<@l, 32 of 64>
  %1 = sbp.boxing %ga : tensor<17xf32, #P> -> tensor<17xf32, #B> bucket #sbp.slot<@l, 0 of 64>
  return %1, %0 : tensor<17xf32, #B>, tensor<6xf32, #B>
}
