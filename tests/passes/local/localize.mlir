// Each step of boxing on ragged pieces, at the first and the last rank: 10 rows over 4 ranks are 3, 3, 2 and 2; 6 columns
// 2, 2, 1 and 1.
// RUN: splitcast-opt %s -sbp-localize=rank=0 | FileCheck %s --check-prefixes=ALL,FIRST
// RUN: splitcast-opt %s -sbp-localize=rank=3 | FileCheck %s --check-prefixes=ALL,LAST
// RUN: splitcast-opt %s -sbp-localize=rank=3 -ccl-verify-local | FileCheck %s --check-prefix=LAST

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#P = #sbp.nd<#p, [P]>
#U = #sbp.nd<#p, [S(0 by 2)]>
// FIRST: #dp = #ccl.group<"dp", [0, 1, 2, 3], index 0>
// LAST: #dp = #ccl.group<"dp", [0, 1, 2, 3], index 3>
// Variables stay, for those that initialize, save and load them.
// FIRST: module attributes {ccl.device = "cpu", ccl.rank = 0 : i64, ccl.ranks = 4 : i64}
// LAST: module attributes {ccl.device = "cpu", ccl.rank = 3 : i64, ccl.ranks = 4 : i64}
// ALL: sbp.variable @w : tensor<10x4xf32, #B> storage #S0_
// FIRST: ccl.storage @storage.w : tensor<3x4xf32> holds [@w] at [0]
// LAST: ccl.storage @storage.w : tensor<2x4xf32> holds [@w] at [0]
sbp.variable @w : tensor<10x4xf32, #B> storage #S0

// Columns do not lie one after the other: they are put side by side.
// ALL-LABEL: func.func @gather_columns
// FIRST-SAME: %[[X:.*]]: tensor<3x2xf32> {ccl.global = tensor<3x6xf32, #S1_>}) -> (tensor<3x6xf32> {ccl.global = tensor<3x6xf32, #B>})
// FIRST: ccl.all_gather "argument 0" %[[X]] in #dp blocks [6, 6, 3, 3] : tensor<3x2xf32> -> <tensor<18xf32>>
// LAST: ccl.all_gather "argument 0" %{{.*}} in #dp blocks [6, 6, 3, 3] : tensor<3x1xf32> -> <tensor<18xf32>>
// ALL: %[[V0:.*]] = ccl.view %{{.*}} at 0 : tensor<18xf32> -> tensor<3x2xf32>
// ALL: %[[V1:.*]] = ccl.view %{{.*}} at 6 : tensor<18xf32> -> tensor<3x2xf32>
// ALL: %[[V2:.*]] = ccl.view %{{.*}} at 12 : tensor<18xf32> -> tensor<3x1xf32>
// ALL: %[[V3:.*]] = ccl.view %{{.*}} at 15 : tensor<18xf32> -> tensor<3x1xf32>
// ALL: nn.concat %[[V0]], %[[V1]], %[[V2]], %[[V3]] {dim = 1 : i64} : {{.*}} -> tensor<3x6xf32>
func.func @gather_columns(%x: tensor<3x6xf32, #S1>) -> tensor<3x6xf32, #B> {
  %0 = sbp.boxing %x : tensor<3x6xf32, #S1> -> tensor<3x6xf32, #B>
  return %0 : tensor<3x6xf32, #B>
}

// Nothing moves: rows are seen where they lie, columns are cut out.
// ALL-LABEL: func.func @slice
// FIRST: ccl.view %{{.*}} at 0 : tensor<10x6xf32> -> tensor<3x6xf32>
// FIRST: nn.slice %{{.*}} {dim = 1 : i64, start = 0 : i64} : (tensor<10x6xf32>) -> tensor<10x2xf32>
// LAST: ccl.view %{{.*}} at 48 : tensor<10x6xf32> -> tensor<2x6xf32>
// LAST: nn.slice %{{.*}} {dim = 1 : i64, start = 5 : i64} : (tensor<10x6xf32>) -> tensor<10x1xf32>
func.func @slice(%x: tensor<10x6xf32, #B>) -> (tensor<10x6xf32, #S0>, tensor<10x6xf32, #S1>) {
  %0 = sbp.boxing %x : tensor<10x6xf32, #B> -> tensor<10x6xf32, #S0>
  %1 = sbp.boxing %x : tensor<10x6xf32, #B> -> tensor<10x6xf32, #S1>
  return %0, %1 : tensor<10x6xf32, #S0>, tensor<10x6xf32, #S1>
}

// ALL-LABEL: func.func @reduce
// FIRST: ccl.all_reduce "result of nn.reduce_sum" %{{.*}} in #dp blocks 60 : tensor<10x6xf32> -> <tensor<10x6xf32>>
// FIRST: %[[ROWS:.*]] = ccl.view %{{.*}} at 0 : tensor<10x6xf32> -> tensor<60xf32>
// FIRST: ccl.reduce_scatter "result of nn.reduce_sum" %[[ROWS]] in #dp blocks [18, 18, 12, 12] : tensor<60xf32> -> <tensor<18xf32>>
// FIRST: %[[COLUMNS:.*]] = ccl.pack {{.*}} at [0, 20, 40, 50] : (tensor<10x2xf32>, tensor<10x2xf32>, tensor<10x1xf32>, tensor<10x1xf32>) -> tensor<60xf32>
// FIRST: ccl.reduce_scatter "result of nn.reduce_sum" %[[COLUMNS]] in #dp blocks [20, 20, 10, 10] : tensor<60xf32> -> <tensor<20xf32>>
// LAST: ccl.reduce_scatter {{.*}} blocks [18, 18, 12, 12] : tensor<60xf32> -> <tensor<12xf32>>
// LAST: ccl.reduce_scatter {{.*}} blocks [20, 20, 10, 10] : tensor<60xf32> -> <tensor<10xf32>>
// LAST: ccl.view %{{.*}} at 0 : tensor<10xf32> -> tensor<10x1xf32>
func.func @reduce(%g: tensor<4x10x6xf32, #S0>) -> (tensor<10x6xf32, #B>, tensor<10x6xf32, #S0>, tensor<10x6xf32, #S1>) {
  %x = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<4x10x6xf32, #S0>) -> tensor<10x6xf32, #P>
  %0 = sbp.boxing %x : tensor<10x6xf32, #P> -> tensor<10x6xf32, #B>
  %1 = sbp.boxing %x : tensor<10x6xf32, #P> -> tensor<10x6xf32, #S0>
  %2 = sbp.boxing %x : tensor<10x6xf32, #P> -> tensor<10x6xf32, #S1>
  return %0, %1, %2 : tensor<10x6xf32, #B>, tensor<10x6xf32, #S0>, tensor<10x6xf32, #S1>
}

// What rank 0 sends to rank 3 (3 rows of 1 column) is not what it receives from it (2 rows of 2 columns).
// ALL-LABEL: func.func @exchange
// FIRST: ccl.pack {{.*}} at [0, 6, 12, 15]
// FIRST: ccl.all_to_all "argument 0" %{{.*}} in #dp blocks [6, 6, 3, 3] received [6, 6, 4, 4] : tensor<18xf32> -> <tensor<20xf32>>
// FIRST: nn.concat {{.*}} {dim = 0 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<10x2xf32>
// LAST: ccl.all_to_all "argument 0" %{{.*}} in #dp blocks [4, 4, 2, 2] received [3, 3, 2, 2] : tensor<12xf32> -> <tensor<10xf32>>
func.func @exchange(%x: tensor<10x6xf32, #S0>) -> tensor<10x6xf32, #S1> {
  %0 = sbp.boxing %x : tensor<10x6xf32, #S0> -> tensor<10x6xf32, #S1>
  return %0 : tensor<10x6xf32, #S1>
}

// Pieces of the same rows, cut otherwise: 3, 3, 2 and 2 rows become 4, 2, 2 and 2. Rank 3 keeps what it has.
// ALL-LABEL: func.func @units
// FIRST: ccl.all_to_all "argument 0" %{{.*}} in #dp blocks [18, 0, 0, 0] received [18, 6, 0, 0] : tensor<18xf32> -> <tensor<24xf32>>
// FIRST: nn.concat {{.*}} {dim = 0 : i64} : (tensor<3x6xf32>, tensor<1x6xf32>, tensor<0x6xf32>, tensor<0x6xf32>) -> tensor<4x6xf32>
// FIRST: ccl.reduce_scatter "result of nn.reduce_sum" %{{.*}} in #dp blocks [24, 12, 12, 12] : tensor<60xf32> -> <tensor<24xf32>>
// FIRST: ccl.all_gather {{.*}} blocks [24, 12, 12, 12]
// FIRST: ccl.view %{{.*}} at 0 : tensor<10x6xf32> -> tensor<4x6xf32>
// LAST: ccl.all_to_all "argument 0" %{{.*}} in #dp blocks [0, 0, 0, 12] received [0, 0, 0, 12] : tensor<12xf32> -> <tensor<12xf32>>
// LAST: ccl.reduce_scatter {{.*}} blocks [24, 12, 12, 12] : tensor<60xf32> -> <tensor<12xf32>>
// LAST: ccl.all_gather {{.*}} blocks [24, 12, 12, 12]
// LAST: ccl.view %{{.*}} at 48 : tensor<10x6xf32> -> tensor<2x6xf32>
func.func @units(%x: tensor<10x6xf32, #S0>, %g: tensor<4x10x6xf32, #S0>) -> (tensor<10x6xf32, #U>, tensor<10x6xf32, #B>, tensor<10x6xf32, #U>) {
  %0 = sbp.boxing %x : tensor<10x6xf32, #S0> -> tensor<10x6xf32, #U>
  %y = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<4x10x6xf32, #S0>) -> tensor<10x6xf32, #P>
  %1 = sbp.boxing %y : tensor<10x6xf32, #P> -> tensor<10x6xf32, #U>
  %2 = sbp.boxing %1 : tensor<10x6xf32, #U> -> tensor<10x6xf32, #B>
  %3 = sbp.boxing %2 : tensor<10x6xf32, #B> -> tensor<10x6xf32, #U>
  return %0, %2, %3 : tensor<10x6xf32, #U>, tensor<10x6xf32, #B>, tensor<10x6xf32, #U>
}

// Two rows over 4 ranks: two pieces are empty, and take part.
// ALL-LABEL: func.func @empty
// FIRST: %[[Y:.*]] = nn.relu %{{.*}} : (tensor<1x2xf32>) -> tensor<1x2xf32>
// LAST: %[[Y:.*]] = nn.relu %{{.*}} : (tensor<0x2xf32>) -> tensor<0x2xf32>
// ALL: ccl.all_gather "result of nn.relu" %[[Y]] in #dp blocks [2, 2, 0, 0] : {{.*}} -> <tensor<4xf32>>
func.func @empty(%x: tensor<2x2xf32, #S0>) -> tensor<2x2xf32, #B> {
  %0 = nn.relu %x : (tensor<2x2xf32, #S0>) -> tensor<2x2xf32, #S0>
  %1 = sbp.boxing %0 : tensor<2x2xf32, #S0> -> tensor<2x2xf32, #B>
  return %1 : tensor<2x2xf32, #B>
}

// Scopes, fences and names of arguments stay.
// ALL-LABEL: func.func @names
// ALL-SAME: %[[X:.*]]: {{.*}}sbp.name = "x"
// ALL-NEXT: %[[T:.*]] = sbp.scope "forward"
// ALL-NEXT: %[[F:.*]] = sbp.fence %[[X]] in %[[T]] : tensor<2xf32>
// ALL-NEXT: return %[[F]]
func.func @names(%x: tensor<8xf32, #S0> {sbp.name = "x"}) -> tensor<8xf32, #S0> {
  %t = sbp.scope "forward"
  %0 = sbp.fence %x in %t : tensor<8xf32, #S0>
  return %0 : tensor<8xf32, #S0>
}
