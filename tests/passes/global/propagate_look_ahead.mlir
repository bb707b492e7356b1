// The example at the head of dialects/sbp/algebra/Solver.h: the rows of a softmax over all samples. Op by op, the product is
// made where the samples are, and all of it is moved; with a look ahead, the few columns of the samples are gathered.
// RUN: splitcast-opt %s -sbp-propagate | FileCheck %s --check-prefix=WALK
// RUN: splitcast-opt %s -sbp-propagate=look-ahead | FileCheck %s --check-prefix=AHEAD
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>

// WALK: %[[H:.*]] = nn.matmul %arg0, %arg1 : (tensor<64x8xf32, #S0_>, tensor<8x4096xf32, #B>) -> tensor<64x4096xf32, #S0_>
// WALK-NEXT: %[[T:.*]] = nn.transpose %[[H]]
// WALK-NEXT: sbp.boxing %[[T]] : tensor<4096x64xf32, #S1_> -> tensor<4096x64xf32, #S0_>
// AHEAD-DAG: %[[X:.*]] = sbp.boxing %arg0 : tensor<64x8xf32, #S0_> -> tensor<64x8xf32, #B>
// AHEAD-DAG: %[[W:.*]] = sbp.boxing %arg1 : tensor<8x4096xf32, #B> -> tensor<8x4096xf32, #S1_>
// AHEAD: nn.matmul %[[X]], %[[W]] : (tensor<64x8xf32, #B>, tensor<8x4096xf32, #S1_>) -> tensor<64x4096xf32, #S1_>
// AHEAD-NOT: sbp.boxing
// AHEAD: return
func.func @samples(%x: tensor<64x8xf32, #S0_>, %w: tensor<8x4096xf32, #B>) -> tensor<4096x64xf32> {
  %h = nn.matmul %x, %w : (tensor<64x8xf32, #S0_>, tensor<8x4096xf32, #B>) -> tensor<64x4096xf32>
  %t = nn.transpose %h {permutation = array<i64: 1, 0>} : (tensor<64x4096xf32>) -> tensor<4096x64xf32>
  %s = nn.softmax %t : (tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %s : tensor<4096x64xf32>
}
