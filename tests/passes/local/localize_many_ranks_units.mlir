// Pieces of many ranks that keep units together are cut and joined by a transposition per extent, too.
// RUN: splitcast-opt %s -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -sbp-localize=rank=1 | FileCheck %s --check-prefix=SECOND
// RUN: splitcast-opt %s -sbp-localize=rank=7 | FileCheck %s --check-prefix=LATE

// 24 columns are 3 of each of the first 4 ranks and 2 of the others; in pairs, 4 of each of the first 2 and 2 of the others.
#p = #sbp.placement<"cpu", [tp = 10]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#U = #sbp.nd<#p, [S(1 by 2)]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>

// CHECK-LABEL: func.func @gather
// CHECK: ccl.all_gather {{.*}} blocks [16, 16, 8, 8, 8, 8, 8, 8, 8, 8]
// CHECK: ccl.view {{.*}} at 0 : tensor<96xf32> -> tensor<2x4x4xf32>
// CHECK: ccl.view {{.*}} at 32 : tensor<96xf32> -> tensor<8x4x2xf32>
// CHECK: nn.concat {{.*}} (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<4x24xf32>
func.func @gather(%x: tensor<4x24xf32, #U>) -> tensor<4x24xf32, #B> {
  %0 = sbp.boxing %x : tensor<4x24xf32, #U> -> tensor<4x24xf32, #B>
  return %0 : tensor<4x24xf32, #B>
}

// CHECK-LABEL: func.func @scatter
// CHECK: nn.slice %{{.*}} {dim = 1 : i64, start = 0 : i64} : (tensor<4x24xf32>) -> tensor<4x8xf32>
// CHECK: nn.slice %{{.*}} {dim = 1 : i64, start = 8 : i64} : (tensor<4x24xf32>) -> tensor<4x16xf32>
// CHECK: ccl.pack {{.*}} at [0, 32]
// CHECK: ccl.reduce_scatter {{.*}} blocks [16, 16, 8, 8, 8, 8, 8, 8, 8, 8]
func.func @scatter(%g: tensor<10x4x24xf32, #S0>) -> tensor<4x24xf32, #U> {
  %x = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<10x4x24xf32, #S0>) -> tensor<4x24xf32, #P>
  %0 = sbp.boxing %x : tensor<4x24xf32, #P> -> tensor<4x24xf32, #U>
  return %0 : tensor<4x24xf32, #U>
}

// Rank 1 sends a column to its left and receives two from its right; rank 7 keeps what it has.
// CHECK-LABEL: func.func @exchange
// CHECK: ccl.all_to_all {{.*}} blocks [12, 0, 0, 0, 0, 0, 0, 0, 0, 0] received [12, 4, 0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: nn.concat {{.*}} (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
// SECOND-LABEL: func.func @exchange
// SECOND: nn.slice %{{.*}} {dim = 1 : i64, start = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x1xf32>
// SECOND: nn.slice %{{.*}} {dim = 1 : i64, start = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x2xf32>
// SECOND: ccl.all_to_all {{.*}} blocks [4, 8, 0, 0, 0, 0, 0, 0, 0, 0] received [0, 8, 8, 0, 0, 0, 0, 0, 0, 0]
// LATE-LABEL: func.func @exchange
// LATE: ccl.all_to_all {{.*}} blocks [0, 0, 0, 0, 0, 0, 0, 8, 0, 0] received [0, 0, 0, 0, 0, 0, 0, 8, 0, 0]
func.func @exchange(%x: tensor<4x24xf32, #S1>) -> tensor<4x24xf32, #U> {
  %0 = sbp.boxing %x : tensor<4x24xf32, #S1> -> tensor<4x24xf32, #U>
  return %0 : tensor<4x24xf32, #U>
}
