// A batch that the ranks do not divide moves no activations: 8 samples of 5 positions on 3 ranks, as 40 rows and back.
// RUN: splitcast-opt %s -sbp-propagate -split-input-file | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S0by5 = #sbp.nd<#p, [S(0 by 5)]>

// CHECK-LABEL: func.func @layer
// CHECK-NOT: sbp.boxing
// CHECK: nn.reshape %arg0 : (tensor<8x5x4xf32, #S0_>) -> tensor<40x4xf32, #S0by5_>
// CHECK-NEXT: nn.matmul {{.*}} -> tensor<40x6xf32, #S0by5_>
// CHECK-NEXT: nn.gelu {{.*}} -> tensor<40x6xf32, #S0by5_>
// CHECK-NEXT: nn.reshape {{.*}} -> tensor<8x5x2x3xf32, #S0_>
// What is made from nothing is made as its user wants it.
// CHECK-NEXT: nn.constant
// CHECK-NEXT: nn.broadcast {{.*}} -> tensor<40x6xf32, #S0by5_>
// CHECK-NEXT: nn.add
// The sum over samples and positions is reduced, as ever.
// CHECK-NEXT: %[[SUM:.*]] = nn.reduce_sum {{.*}} -> tensor<6xf32, #P>
// CHECK-NEXT: sbp.boxing %[[SUM]] : tensor<6xf32, #P> -> tensor<6xf32, #B>
// CHECK-NOT: sbp.boxing
func.func @layer(%x: tensor<8x5x4xf32, #S0>, %w: tensor<4x6xf32, #B>) -> (tensor<8x5x2x3xf32>, tensor<6xf32>) {
  %0 = nn.reshape %x : (tensor<8x5x4xf32, #S0>) -> tensor<40x4xf32>
  %1 = nn.matmul %0, %w : (tensor<40x4xf32>, tensor<4x6xf32, #B>) -> tensor<40x6xf32>
  %2 = nn.gelu %1 : (tensor<40x6xf32>) -> tensor<40x6xf32>
  %3 = nn.reshape %2 : (tensor<40x6xf32>) -> tensor<8x5x2x3xf32>
  %4 = nn.constant 2.0 : tensor<f32>
  %5 = nn.broadcast %4 {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<40x6xf32>
  %6 = nn.add %2, %5 : (tensor<40x6xf32>, tensor<40x6xf32>) -> tensor<40x6xf32>
  %7 = nn.reduce_sum %6 {dims = array<i64: 0>} : (tensor<40x6xf32>) -> tensor<6xf32>
  return %3, %7 : tensor<8x5x2x3xf32>, tensor<6xf32>
}

// A result that the user wants as whole samples is made so, whatever the operand.
// CHECK-LABEL: func.func @wanted
// CHECK-NEXT: %[[Y:.*]] = nn.relu %arg0 : (tensor<40xf32, #B>) -> tensor<40xf32, #B>
// CHECK-NEXT: %[[S:.*]] = sbp.boxing %[[Y]] : tensor<40xf32, #B> -> tensor<40xf32, #S0by5_>
// CHECK-NEXT: nn.tanh %[[S]] : (tensor<40xf32, #S0by5_>) -> tensor<40xf32, #S0by5_>
// CHECK-NEXT: return
func.func @wanted(%x: tensor<40xf32, #B>) -> tensor<40xf32, #S0by5> {
  %0 = nn.relu %x : (tensor<40xf32, #B>) -> tensor<40xf32>
  %1 = nn.tanh %0 : (tensor<40xf32>) -> tensor<40xf32, #S0by5>
  return %1 : tensor<40xf32, #S0by5>
}

// -----

// Where the ranks divide the batch, no signature has a unit.
#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK-LABEL: func.func @even
// CHECK-NEXT: nn.reshape %arg0 : (tensor<8x5xf32, #S0_>) -> tensor<40xf32, #S0_>
func.func @even(%x: tensor<8x5xf32, #S0>) -> tensor<40xf32> {
  %0 = nn.reshape %x : (tensor<8x5xf32, #S0>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// -----

// %y as it lies along dp would take from %x what keeps its rows together along tp, and so gather 8 of them; %y has 6.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#x = #sbp.nd<#p, [B, S(0 by 4)]>
#y = #sbp.nd<#p, [S(0), B]>
// CHECK-LABEL: func.func @gather_the_smaller
// CHECK-NEXT: %[[Y:.*]] = sbp.boxing %arg1 : tensor<12xf32, #S0__B> -> tensor<12xf32, #B_S0by4_>
// CHECK-NEXT: nn.add %arg0, %[[Y]] : (tensor<12xf32, #B_S0by4_>, tensor<12xf32, #B_S0by4_>) -> tensor<12xf32, #B_S0by4_>
func.func @gather_the_smaller(%x: tensor<12xf32, #x>, %y: tensor<12xf32, #y>) -> tensor<12xf32> {
  %0 = nn.add %x, %y : (tensor<12xf32, #x>, tensor<12xf32, #y>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
