// Which row 'sbp-propagate' takes: the one for which the fewest bytes move.
// RUN: splitcast-opt %s -sbp-propagate -split-input-file | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
sbp.variable @w : tensor<4x2xf32>

// Both operands are split: the smaller one is gathered (64 bytes, not 1024).
// CHECK-LABEL: func.func @gather_the_smaller
// CHECK-SAME: -> tensor<64x4xf32, #S0_>
// CHECK-NEXT: %[[W:.*]] = sbp.boxing %arg1 : tensor<4x4xf32, #S0_> -> tensor<4x4xf32, #B>
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %arg0, %[[W]] : (tensor<64x4xf32, #S0_>, tensor<4x4xf32, #B>) -> tensor<64x4xf32, #S0_>
// CHECK-NEXT: return %[[Y]]
func.func @gather_the_smaller(%x: tensor<64x4xf32, #S0>, %w: tensor<4x4xf32, #S0>) -> tensor<64x4xf32> {
  %0 = nn.matmul %x, %w : (tensor<64x4xf32, #S0>, tensor<4x4xf32, #S0>) -> tensor<64x4xf32>
  return %0 : tensor<64x4xf32>
}

// CHECK-LABEL: func.func @gather_the_other
// CHECK-NEXT: %[[X:.*]] = sbp.boxing %arg0 : tensor<4x64xf32, #S0_> -> tensor<4x64xf32, #B>
// CHECK-NEXT: nn.matmul %[[X]], %arg1 : (tensor<4x64xf32, #B>, tensor<64x64xf32, #S1_>) -> tensor<4x64xf32, #S1_>
func.func @gather_the_other(%x: tensor<4x64xf32, #S0>, %w: tensor<64x64xf32, #S1>) -> tensor<4x64xf32> {
  %0 = nn.matmul %x, %w : (tensor<4x64xf32, #S0>, tensor<64x64xf32, #S1>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// The contracted dimension is split in both: nothing moves, and the sum is left to whom it concerns.
// CHECK-LABEL: func.func @nothing_moves
// CHECK-NEXT: nn.matmul %arg0, %arg1 : (tensor<8x4xf32, #S1_>, tensor<4x4xf32, #S0_>) -> tensor<8x4xf32, #P>
// P stays P through what is linear, and is reduced once, to what the result is anyway: a reduce-scatter, half an all-reduce.
// CHECK-NEXT: nn.scale {{.*}} -> tensor<8x4xf32, #P>
// CHECK-NEXT: %[[SUM:.*]] = nn.add {{.*}} -> tensor<8x4xf32, #P>
// CHECK-NEXT: %[[S:.*]] = sbp.boxing %[[SUM]] : tensor<8x4xf32, #P> -> tensor<8x4xf32, #S0_>
// CHECK-NEXT: nn.relu %[[S]]
// CHECK-NEXT: return
func.func @nothing_moves(%x: tensor<8x4xf32, #S1>, %w: tensor<4x4xf32, #S0>) -> tensor<8x4xf32> {
  %0 = nn.matmul %x, %w : (tensor<8x4xf32, #S1>, tensor<4x4xf32, #S0>) -> tensor<8x4xf32>
  %1 = nn.scale %0 {value = 2.0 : f64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = nn.add %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = nn.relu %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// A result that is returned is no P; the user's choice is kept.
// CHECK-LABEL: func.func @returned
// CHECK-SAME: -> (tensor<4xf32, #B>, tensor<4xf32, #S0_>)
// CHECK: %[[P:.*]] = nn.reduce_sum {{.*}} -> tensor<4xf32, #P>
// CHECK-DAG: sbp.boxing %[[P]] : tensor<4xf32, #P> -> tensor<4xf32, #B>
// CHECK-DAG: sbp.boxing %[[P]] : tensor<4xf32, #P> -> tensor<4xf32, #S0_>
func.func @returned(%x: tensor<8x4xf32, #S0>) -> (tensor<4xf32>, tensor<4xf32, #S0>) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<8x4xf32, #S0>) -> tensor<4xf32>
  %1 = sbp.boxing %0 : tensor<4xf32> -> tensor<4xf32, #S0>
  return %0, %1 : tensor<4xf32>, tensor<4xf32, #S0>
}

// A signature that the user wrote in the middle stays, with a boxing behind the op that cannot make it for less.
// CHECK-LABEL: func.func @user_signature
// CHECK: %[[Y:.*]] = nn.matmul {{.*}} -> tensor<8x2xf32, #S0_>
// CHECK-NEXT: %[[Z:.*]] = sbp.boxing %[[Y]] : tensor<8x2xf32, #S0_> -> tensor<8x2xf32, #S1_>
// CHECK-NEXT: nn.relu %[[Z]] : (tensor<8x2xf32, #S1_>) -> tensor<8x2xf32, #S1_>
func.func @user_signature(%x: tensor<8x4xf32, #S0>, %w: tensor<4x2xf32, #B>) -> tensor<8x2xf32> {
  %0 = nn.relu %x : (tensor<8x4xf32, #S0>) -> tensor<8x4xf32>
  %1 = nn.matmul %0, %w : (tensor<8x4xf32>, tensor<4x2xf32, #B>) -> tensor<8x2xf32, #S1>
  %2 = nn.relu %1 : (tensor<8x2xf32, #S1>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// A boxing is how a user asks for one.
// CHECK-LABEL: func.func @user_boxing
// CHECK: %[[X:.*]] = nn.relu {{.*}} -> tensor<8x4xf32, #S0_>
// CHECK-NEXT: %[[Y:.*]] = sbp.boxing %[[X]] : tensor<8x4xf32, #S0_> -> tensor<8x4xf32, #B>
// CHECK-NEXT: nn.relu %[[Y]] : (tensor<8x4xf32, #B>) -> tensor<8x4xf32, #B>
func.func @user_boxing(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  %0 = nn.relu %x : (tensor<8x4xf32, #S0>) -> tensor<8x4xf32>
  %1 = sbp.boxing %0 : tensor<8x4xf32> -> tensor<8x4xf32, #B>
  %2 = nn.relu %1 : (tensor<8x4xf32, #B>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// What is made from nothing is made where its first user wants it, through all that it is made of.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT: nn.constant 2.000000e+00 : tensor<f32, #B>
// CHECK-NEXT: %[[ROW:.*]] = nn.broadcast {{.*}} -> tensor<4xf32, #B>
// CHECK-NEXT: %[[ALL:.*]] = nn.broadcast %[[ROW]] {{.*}} -> tensor<8x4xf32, #S0_>
// CHECK-NEXT: nn.mul %arg0, %[[ALL]]
// CHECK-NEXT: return
func.func @constants(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  %c = nn.constant 2.0 : tensor<f32>
  %r = nn.broadcast %c {dims = array<i64: 0>} : (tensor<f32>) -> tensor<4xf32>
  %b = nn.broadcast %r {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %0 = nn.mul %x, %b : (tensor<8x4xf32, #S0>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Variables and arguments that nobody decided are B.
// CHECK-LABEL: func.func @defaults
// CHECK-SAME: tensor<8x4xf32, #B>) -> tensor<8x2xf32, #B>
// CHECK-NEXT: sbp.read @w : tensor<4x2xf32, #B>
func.func @defaults(%x: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#SB = #sbp.nd<#p, [S(0), B]>
#BS0 = #sbp.nd<#p, [B, S(0)]>
#BS1 = #sbp.nd<#p, [B, S(1)]>
// Axis by axis: columns and then rows of the weights on tp, whose sum is reduced over tp only.
// CHECK-LABEL: func.func @two_axes
// CHECK-NEXT: %[[H:.*]] = nn.matmul %arg0, %arg1 : {{.*}} -> tensor<8x6xf32, #S0__S1_>
// CHECK-NEXT: %[[A:.*]] = nn.gelu %[[H]] : {{.*}} -> tensor<8x6xf32, #S0__S1_>
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[A]], %arg2 : {{.*}} -> tensor<8x4xf32, #S0__P>
// CHECK-NEXT: %[[Z:.*]] = sbp.boxing %[[Y]] : tensor<8x4xf32, #S0__P> -> tensor<8x4xf32, #S0__{{.*}}>
// CHECK-NEXT: nn.gelu %[[Z]]
func.func @two_axes(%x: tensor<8x4xf32, #SB>, %up: tensor<4x6xf32, #BS1>, %down: tensor<6x4xf32, #BS0>) -> tensor<8x4xf32> {
  %0 = nn.matmul %x, %up : (tensor<8x4xf32, #SB>, tensor<4x6xf32, #BS1>) -> tensor<8x6xf32>
  %1 = nn.gelu %0 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %2 = nn.matmul %1, %down : (tensor<8x6xf32>, tensor<6x4xf32, #BS0>) -> tensor<8x4xf32>
  %3 = nn.gelu %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
// What nobody uses is gone: else the first product would gather %x, and the second take it whole.
// CHECK-LABEL: func.func @nobody_uses_it
// CHECK-NEXT: %[[G:.*]] = sbp.boxing %arg1 : tensor<64x8xf32, #S1_> -> tensor<64x8xf32, #S0_>
// CHECK-NEXT: nn.matmul %arg0, %[[G]] {transpose_a} : {{.*}} -> tensor<8x8xf32, #P>
func.func @nobody_uses_it(%x: tensor<64x8xf32, #S0>, %g: tensor<64x8xf32, #S1>, %b: tensor<8x9999xf32, #S1>) -> tensor<8x8xf32> {
  %dead = nn.matmul %x, %b : (tensor<64x8xf32, #S0>, tensor<8x9999xf32, #S1>) -> tensor<64x9999xf32>
  %0 = nn.matmul %x, %g {transpose_a} : (tensor<64x8xf32, #S0>, tensor<64x8xf32, #S1>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
