// Two axes: groups, boxings of several steps, axes of size 1, and ranks that are not 0 and up.
// RUN: splitcast-opt %s -sbp-join-buckets -sbp-localize=rank=11 -split-input-file | FileCheck %s

// CHECK: #dp = #ccl.group<"dp", [11, 13], index 0>
// CHECK: #tp = #ccl.group<"tp", [10, 11], index 1>

// Positions (dp, tp) of ranks: 10 is (0, 0), 11 (0, 1), 12 (1, 0), 13 (1, 1).
#p = #sbp.placement<"cpu", [dp = 2, tp = 2], ranks = [10, 11, 12, 13]>
#S0B = #sbp.nd<#p, [S(0), B]>
#BS0 = #sbp.nd<#p, [B, S(0)]>
#S0S0 = #sbp.nd<#p, [S(0), S(0)]>
#BS1 = #sbp.nd<#p, [B, S(1)]>
#BB = #sbp.nd<#p, [B, B]>
#PB = #sbp.nd<#p, [P, B]>
#BP = #sbp.nd<#p, [B, P]>

// CHECK-LABEL: func.func @along_dp
// CHECK: ccl.all_gather "argument 0" %{{.*}} in #dp blocks 6
func.func @along_dp(%x: tensor<6x2xf32, #S0B>) -> tensor<6x2xf32, #BB> {
  %0 = sbp.boxing %x : tensor<6x2xf32, #S0B> -> tensor<6x2xf32, #BB>
  return %0 : tensor<6x2xf32, #BB>
}

// CHECK-LABEL: func.func @along_tp
// CHECK: ccl.all_reduce "result of nn.reduce_sum" %{{.*}} in #tp blocks 12
func.func @along_tp(%g: tensor<2x6x2xf32, #BS0>) -> tensor<6x2xf32, #BB> {
  %x = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<2x6x2xf32, #BS0>) -> tensor<6x2xf32, #BP>
  %0 = sbp.boxing %x : tensor<6x2xf32, #BP> -> tensor<6x2xf32, #BB>
  return %0 : tensor<6x2xf32, #BB>
}

// Rows over dp and within these over tp: 5 rows are 3 and 2, and then 2 and 1, 1 and 1. Gathered inside out.
// CHECK-LABEL: func.func @nested
// CHECK-SAME: %[[X:.*]]: tensor<1x2xf32>
// CHECK: ccl.all_gather "argument 0" %[[X]] in #tp blocks [4, 2] : tensor<1x2xf32> -> <tensor<6xf32>>
// CHECK: ccl.all_gather "argument 0" %{{.*}} in #dp blocks [6, 4] : tensor<3x2xf32> -> <tensor<10xf32>>
func.func @nested(%x: tensor<5x2xf32, #S0S0>) -> tensor<5x2xf32, #BB> {
  %0 = sbp.boxing %x : tensor<5x2xf32, #S0S0> -> tensor<5x2xf32, #BB>
  return %0 : tensor<5x2xf32, #BB>
}

// Slices first, which cost nothing, so that less is gathered.
// CHECK-LABEL: func.func @rows_to_columns
// CHECK: nn.slice
// CHECK: ccl.all_gather {{.*}} in #dp blocks 6 : tensor<3x2xf32>
func.func @rows_to_columns(%x: tensor<6x4xf32, #S0B>) -> tensor<6x4xf32, #BS1> {
  %0 = sbp.boxing %x : tensor<6x4xf32, #S0B> -> tensor<6x4xf32, #BS1>
  return %0 : tensor<6x4xf32, #BS1>
}

// Addends whose rows tp splits become rows over dp and within these over tp, and are never whole: each rank of tp sums
// its rows over dp, and (0, 1) and (1, 0) give each other what the nesting has at the other's place.
// CHECK-LABEL: func.func @scatter_below
// CHECK: ccl.reduce_scatter "result of nn.reduce_sum" %{{.*}} in #dp blocks 4 : tensor<8xf32>
// CHECK: ccl.all_to_all "result of nn.reduce_sum" %{{.*}} in #dp_tp blocks [0, 0, 4, 0] received [0, 0, 4, 0]
func.func @scatter_below(%g: tensor<2x8x2xf32, #sbp.nd<#p, [S(0), S(1)]>>) -> tensor<8x2xf32, #S0S0> {
  %x = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<2x8x2xf32, #sbp.nd<#p, [S(0), S(1)]>>) -> tensor<8x2xf32, #sbp.nd<#p, [P, S(0)]>>
  %0 = sbp.boxing %x : tensor<8x2xf32, #sbp.nd<#p, [P, S(0)]>> -> tensor<8x2xf32, #S0S0>
  return %0 : tensor<8x2xf32, #S0S0>
}

// Both axes at once: (0, 1) has columns 0 and 1 of rows 4 to 7, and wants all columns of rows 2 and 3.
// CHECK-LABEL: func.func @exchange
// CHECK: ccl.all_to_all "argument 0" %{{.*}} in #dp_tp blocks [0, 0, 4, 4] received [4, 0, 4, 0] : tensor<8xf32>
// CHECK: nn.concat {{.*}} {dim = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
func.func @exchange(%x: tensor<8x4xf32, #sbp.nd<#p, [S(1), S(0)]>>) -> tensor<8x4xf32, #S0S0> {
  %0 = sbp.boxing %x : tensor<8x4xf32, #sbp.nd<#p, [S(1), S(0)]>> -> tensor<8x4xf32, #S0S0>
  return %0 : tensor<8x4xf32, #S0S0>
}

// -----

// An axis of size 1 costs nothing: S, B and P of it are the same bytes.
#p = #sbp.placement<"cpu", [dp = 1, tp = 1], ranks = [11]>
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: %[[X:.*]] = nn.reduce_sum
// CHECK-NEXT: return %[[X]]
func.func @alone(%g: tensor<1x6x2xf32, #sbp.nd<#p, [S(0), S(2)]>>) -> tensor<6x2xf32, #sbp.nd<#p, [S(0), B]>> {
  %x = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<1x6x2xf32, #sbp.nd<#p, [S(0), S(2)]>>) -> tensor<6x2xf32, #sbp.nd<#p, [P, S(1)]>>
  %0 = sbp.boxing %x : tensor<6x2xf32, #sbp.nd<#p, [P, S(1)]>> -> tensor<6x2xf32, #sbp.nd<#p, [S(0), B]>>
  return %0 : tensor<6x2xf32, #sbp.nd<#p, [S(0), B]>>
}

// -----

// Alone on two axes: addends are B along the one before they lie in the bucket along the other, which knows them apart.
#p = #sbp.placement<"cpu", [dp = 1, tp = 1], ranks = [11]>
#PP = #sbp.nd<#p, [P, P]>
#S0S1 = #sbp.nd<#p, [S(0), S(1)]>
#BB = #sbp.nd<#p, [B, B]>
#A = #sbp.nd<#p, [S(@l, 0 of 32), B]>
#C = #sbp.nd<#p, [S(@l, 16 of 32), B]>
sbp.bucket @l : tensor<32xf32, #BB> along "dp" holds [@a, @c] at [0, 16]
sbp.variable @a : tensor<2xf32, #BB> storage #A slot #sbp.slot<@l, 0 of 32>
sbp.variable @c : tensor<2xf32, #BB> storage #C slot #sbp.slot<@l, 16 of 32>
// CHECK-LABEL: func.func @alone_in_a_bucket
// CHECK-NEXT: %[[X:.*]] = nn.reduce_sum
// CHECK-NEXT: %[[Y:.*]] = nn.reduce_sum
// CHECK-NEXT: %[[PACK:.*]] = ccl.pack %[[X]], %[[Y]] at [0, 16]
// CHECK-NEXT: ccl.assign @bucket.l.parameter, %[[PACK]] : tensor<32xf32>
// CHECK-NEXT: return
func.func @alone_in_a_bucket(%g: tensor<1x1x2xf32, #S0S1>, %h: tensor<1x1x2xf32, #S0S1>) {
  %x = nn.reduce_sum %g {dims = array<i64: 0, 1>} : (tensor<1x1x2xf32, #S0S1>) -> tensor<2xf32, #PP>
  %y = nn.reduce_sum %h {dims = array<i64: 0, 1>} : (tensor<1x1x2xf32, #S0S1>) -> tensor<2xf32, #PP>
  %0 = sbp.boxing %x : tensor<2xf32, #PP> -> tensor<2xf32, #A> bucket #sbp.slot<@l, 0 of 32>
  sbp.assign @a, %0 : tensor<2xf32, #A>
  %1 = sbp.boxing %y : tensor<2xf32, #PP> -> tensor<2xf32, #C> bucket #sbp.slot<@l, 16 of 32>
  sbp.assign @c, %1 : tensor<2xf32, #C>
  return
}
