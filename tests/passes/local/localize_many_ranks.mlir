// Pieces of many ranks are cut and joined by a transposition per extent: no op per rank.
// RUN: splitcast-opt %s -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -sbp-localize=rank=7 | FileCheck %s --check-prefix=LAST

// 23 columns are 3 of each of the first 3 ranks and 2 of each of the other 7.
#p = #sbp.placement<"cpu", [tp = 10]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>

// CHECK-LABEL: func.func @gather
// CHECK: ccl.all_gather {{.*}} blocks [12, 12, 12, 8, 8, 8, 8, 8, 8, 8]
// CHECK-NEXT: %[[all:.*]] = ccl.wait
// CHECK-NEXT: %[[long:.*]] = ccl.view %[[all]] at 0 : tensor<92xf32> -> tensor<3x4x3xf32>
// CHECK-NEXT: %[[longRows:.*]] = nn.transpose %[[long]] {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: %[[left:.*]] = ccl.view %[[longRows]] at 0 : tensor<4x3x3xf32> -> tensor<4x9xf32>
// CHECK-NEXT: %[[short:.*]] = ccl.view %[[all]] at 36 : tensor<92xf32> -> tensor<7x4x2xf32>
// CHECK-NEXT: %[[shortRows:.*]] = nn.transpose %[[short]] {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: %[[right:.*]] = ccl.view %[[shortRows]] at 0 : tensor<4x7x2xf32> -> tensor<4x14xf32>
// CHECK-NEXT: nn.concat %[[left]], %[[right]] {dim = 1 : i64}
func.func @gather(%x: tensor<4x23xf32, #S1>) -> tensor<4x23xf32, #B> {
  %0 = sbp.boxing %x : tensor<4x23xf32, #S1> -> tensor<4x23xf32, #B>
  return %0 : tensor<4x23xf32, #B>
}

// CHECK-LABEL: func.func @scatter
// CHECK-NEXT: nn.reduce_sum
// CHECK-NEXT: %[[left:.*]] = nn.slice %{{.*}} {dim = 1 : i64, start = 0 : i64} : (tensor<4x23xf32>) -> tensor<4x9xf32>
// CHECK-NEXT: %[[view:.*]] = ccl.view %[[left]] at 0 : tensor<4x9xf32> -> tensor<4x3x3xf32>
// CHECK-NEXT: %[[long:.*]] = nn.transpose %[[view]] {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: %[[right:.*]] = nn.slice %{{.*}} {dim = 1 : i64, start = 9 : i64} : (tensor<4x23xf32>) -> tensor<4x14xf32>
// CHECK-NEXT: %[[view:.*]] = ccl.view %[[right]] at 0 : tensor<4x14xf32> -> tensor<4x7x2xf32>
// CHECK-NEXT: %[[short:.*]] = nn.transpose %[[view]] {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: ccl.pack %[[long]], %[[short]] at [0, 36]
// CHECK-NEXT: ccl.reduce_scatter {{.*}} blocks [12, 12, 12, 8, 8, 8, 8, 8, 8, 8]
func.func @scatter(%g: tensor<10x4x23xf32, #S0>) -> tensor<4x23xf32, #S1> {
  %x = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<10x4x23xf32, #S0>) -> tensor<4x23xf32, #P>
  %0 = sbp.boxing %x : tensor<4x23xf32, #P> -> tensor<4x23xf32, #S1>
  return %0 : tensor<4x23xf32, #S1>
}

// Where all pieces have one extent nothing is sliced or concatenated, and a single row is in order as it lies. The last
// ranks have no row, and send nothing.
// CHECK-LABEL: func.func @exchange
// CHECK-NOT: nn.
// CHECK: ccl.all_to_all {{.*}} blocks 2 received [2, 2, 2, 2, 0, 0, 0, 0, 0, 0]
// CHECK-NOT: nn.
// LAST-LABEL: func.func @exchange
// LAST: ccl.all_to_all {{.*}} blocks 0 received [2, 2, 2, 2, 0, 0, 0, 0, 0, 0]
func.func @exchange(%x: tensor<4x20xf32, #S0>) -> tensor<4x20xf32, #S1> {
  %0 = sbp.boxing %x : tensor<4x20xf32, #S0> -> tensor<4x20xf32, #S1>
  return %0 : tensor<4x20xf32, #S1>
}
