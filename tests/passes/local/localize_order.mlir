// Assignments of a bucket wait for its last member, but not past a read: what a function reads after it assigned is new.
// RUN: splitcast-opt %s -sbp-join-buckets -sbp-localize=rank=0 -split-input-file | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#Sa = #sbp.nd<#p, [S(@l, 0 of 64)]>
#Sc = #sbp.nd<#p, [S(@l, 16 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@a, @c] at [0, 16]
sbp.variable @a : tensor<6xf32, #B> storage #Sa slot #sbp.slot<@l, 0 of 64>
sbp.variable @c : tensor<6xf32, #B> storage #Sc slot #sbp.slot<@l, 16 of 64>

// CHECK-LABEL: func.func @read_between
// CHECK: %[[NEG:.*]] = nn.neg
// CHECK: ccl.assign @bucket.l.parameter,
// CHECK: ccl.assign @bucket.l.parameter,
// CHECK: %[[NEW:.*]] = ccl.read @bucket.l.parameter
// CHECK: ccl.all_gather "bucket l" %[[NEW]]
func.func @read_between() -> tensor<6xf32, #B> {
  %0 = sbp.read @a : tensor<6xf32, #Sa>
  %1 = nn.neg %0 : (tensor<6xf32, #Sa>) -> tensor<6xf32, #Sa>
  sbp.assign @a, %1 : tensor<6xf32, #Sa>
  %2 = sbp.read @a : tensor<6xf32, #Sa>
  %3 = sbp.read @c : tensor<6xf32, #Sc>
  %4 = nn.exp %3 : (tensor<6xf32, #Sc>) -> tensor<6xf32, #Sc>
  sbp.assign @c, %4 : tensor<6xf32, #Sc>
  %5 = sbp.boxing %2 : tensor<6xf32, #Sa> -> tensor<6xf32, #B>
  return %5 : tensor<6xf32, #B>
}

// One member that is assigned twice is not two members: the other one keeps its value.
// CHECK-LABEL: func.func @assigned_twice
// CHECK: %[[NEG:.*]] = nn.neg {{.*}} : (tensor<6xf32>) -> tensor<6xf32>
// CHECK-NEXT: ccl.assign @bucket.l.parameter, %[[NEG]] : tensor<6xf32>
// CHECK-NEXT: ccl.assign @bucket.l.parameter, %[[NEG]] : tensor<6xf32>
// CHECK-NEXT: return
func.func @assigned_twice() {
  %0 = sbp.read @a : tensor<6xf32, #Sa>
  %1 = nn.neg %0 : (tensor<6xf32, #Sa>) -> tensor<6xf32, #Sa>
  sbp.assign @a, %1 : tensor<6xf32, #Sa>
  sbp.assign @a, %1 : tensor<6xf32, #Sa>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sa = #sbp.nd<#p, [S(@l, 0 of 64)]>
#Sc = #sbp.nd<#p, [S(@l, 16 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@a, @c] at [0, 16]
sbp.variable @a : tensor<6xf32, #B> storage #Sa slot #sbp.slot<@l, 0 of 64>
sbp.variable @c : tensor<6xf32, #B> storage #Sc slot #sbp.slot<@l, 16 of 64>

// The assignment waits for the bucket's second gradient, and so does the read behind it.
// CHECK-LABEL: func.func @read_behind_one_that_waits
// CHECK: ccl.reduce_scatter "bucket l"
// CHECK: ccl.assign @bucket.l.parameter,
// CHECK: %[[NEW:.*]] = ccl.read @bucket.l.parameter
// CHECK: ccl.all_gather "bucket l" %[[NEW]]
func.func @read_behind_one_that_waits(%sa: tensor<2x6xf32, #S0>, %sc: tensor<2x6xf32, #S0>) -> tensor<6xf32, #B> {
  %ga = nn.reduce_sum %sa {dims = array<i64: 0>} : (tensor<2x6xf32, #S0>) -> tensor<6xf32, #P>
  %gc = nn.reduce_sum %sc {dims = array<i64: 0>} : (tensor<2x6xf32, #S0>) -> tensor<6xf32, #P>
  %0 = sbp.boxing %ga : tensor<6xf32, #P> -> tensor<6xf32, #Sa>
  %1 = nn.neg %0 : (tensor<6xf32, #Sa>) -> tensor<6xf32, #Sa>
  sbp.assign @a, %1 : tensor<6xf32, #Sa>
  %2 = sbp.read @a : tensor<6xf32, #Sa>
  %3 = sbp.boxing %2 : tensor<6xf32, #Sa> -> tensor<6xf32, #B>
  %4 = sbp.boxing %gc : tensor<6xf32, #P> -> tensor<6xf32, #Sc>
  sbp.assign @c, %4 : tensor<6xf32, #Sc>
  return %3 : tensor<6xf32, #B>
}
