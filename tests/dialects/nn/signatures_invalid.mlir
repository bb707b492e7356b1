// Rows that ops refuse, with all that they take. What they take: signatures.mlir.
// RUN: not splitcast-opt %s -split-input-file 2>&1 | FileCheck-19 %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK: error: 'nn.matmul' op has signatures (S(0), S(0)) -> (S(0)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), B) -> (S(0))
// CHECK-NEXT: (B, S(1)) -> (S(1))
// CHECK-NEXT: (S(1), S(0)) -> (P)
// CHECK-NEXT: (P, B) -> (P)
// CHECK-NEXT: (B, P) -> (P)
// CHECK: note: box an operand with sbp.boxing, or let 'sbp-propagate' choose
func.func @matmul(%x: tensor<5x3xf32, #S0>, %w: tensor<3x7xf32, #S0>) {
  %0 = nn.matmul %x, %w : (tensor<5x3xf32, #S0>, tensor<3x7xf32, #S0>) -> tensor<5x7xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// Linear in either, but a sum of products is no product of sums.
// CHECK: error: 'nn.matmul' op has signatures (P, P) -> (P) on axis "dp", which it cannot have
func.func @matmul_both_partial(%x: tensor<5x3xf32, #P>, %w: tensor<3x7xf32, #P>) {
  %0 = nn.matmul %x, %w : (tensor<5x3xf32, #P>, tensor<3x7xf32, #P>) -> tensor<5x7xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
// Addends are not whole because nobody asks.
// CHECK: error: 'nn.matmul' op has signatures (S(1), S(0)) -> (B) on axis "dp", which it cannot have
func.func @matmul_sum_without_partial(%x: tensor<5x3xf32, #S1>, %w: tensor<3x7xf32, #S0>) {
  %0 = nn.matmul %x, %w : (tensor<5x3xf32, #S1>, tensor<3x7xf32, #S0>) -> tensor<5x7xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#S0_S0 = #sbp.nd<#p, [S(0), S(0)]>
#B_B = #sbp.nd<#p, [B, B]>
#S0_B = #sbp.nd<#p, [S(0), B]>
// CHECK: error: 'nn.matmul' op has signatures (S(0), B) -> (B) on axis "tp", which it cannot have
func.func @matmul_second_axis(%x: tensor<6x4xf32, #S0_S0>, %w: tensor<4x8xf32, #B_B>) {
  %0 = nn.matmul %x, %w : (tensor<6x4xf32, #S0_S0>, tensor<4x8xf32, #B_B>) -> tensor<6x8xf32, #S0_B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// 5 rows of 4 over 2 ranks are 3 and 2 rows, 12 and 8 elements; 20 elements over 2 ranks are 10 and 10.
// CHECK: error: 'nn.reshape' op has signatures (S(0)) -> (S(0)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B) -> (B)
// CHECK-NEXT: (P) -> (P)
func.func @reshape_ragged(%x: tensor<5x4xf32, #S0>) {
  %0 = nn.reshape %x : (tensor<5x4xf32, #S0>) -> tensor<20xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#S0_S0 = #sbp.nd<#p, [S(0), S(0)]>
// The first axis divides 6 rows, the second one not the 3 that are left.
// CHECK: error: 'nn.reshape' op has signatures (S(0)) -> (S(0)) on axis "tp", which it cannot have
func.func @reshape_ragged_second_axis(%x: tensor<6x4xf32, #S0_S0>) {
  %0 = nn.reshape %x : (tensor<6x4xf32, #S0_S0>) -> tensor<24xf32, #S0_S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#S0 = #sbp.nd<#p, [S(0)]>
// An inner dimension cannot be cut out of the one that it becomes a part of.
// CHECK: error: 'nn.reshape' op has signatures (S(1)) -> (S(0)) on axis "dp", which it cannot have
func.func @reshape_inner(%x: tensor<6x4xf32, #S1>) {
  %0 = nn.reshape %x : (tensor<6x4xf32, #S1>) -> tensor<24xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// Several dimensions into several others: none may be split.
// CHECK: error: 'nn.reshape' op has signatures (S(0)) -> (S(0)) on axis "dp", which it cannot have
func.func @reshape_many_to_many(%x: tensor<4x6xf32, #S0>) {
  %0 = nn.reshape %x : (tensor<4x6xf32, #S0>) -> tensor<8x3xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.add' op has signatures (S(0), S(0)) -> (S(0)) on axis "dp", which it cannot have
func.func @broadcast_row_is_whole(%x: tensor<4x3xf32, #S0>, %row: tensor<3xf32, #S0>) {
  %0 = nn.add %x, %row : (tensor<4x3xf32, #S0>, tensor<3xf32, #S0>) -> tensor<4x3xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// The dimension that is sliced or joined is needed whole.
// CHECK: error: 'nn.slice' op has signatures (S(0)) -> (S(0)) on axis "dp", which it cannot have
func.func @slice(%x: tensor<4x3xf32, #S0>) {
  %0 = nn.slice %x {dim = 0 : i64, start = 0 : i64} : (tensor<4x3xf32, #S0>) -> tensor<2x3xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK: error: 'nn.concat' op has signatures (S(0), S(0)) -> (S(0)) on axis "dp", which it cannot have
func.func @concat(%x: tensor<4x3xf32, #S0>) {
  %0 = nn.concat %x, %x {dim = 0 : i64} : (tensor<4x3xf32, #S0>, tensor<4x3xf32, #S0>) -> tensor<8x3xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.embedding' op has signatures (S(0), B) -> (B) on axis "dp", which it cannot have
func.func @embedding_rows(%t: tensor<8x4xf32, #S0>, %i: tensor<6xi64, #B>) {
  %0 = nn.embedding %t, %i : (tensor<8x4xf32, #S0>, tensor<6xi64, #B>) -> tensor<6x4xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.softmax_cross_entropy' op has signatures (S(1), B) -> (B) on axis "dp", which it cannot have
func.func @classes(%l: tensor<6x4xf32, #S1>, %i: tensor<6xi64, #B>) {
  %0 = nn.softmax_cross_entropy %l, %i : (tensor<6x4xf32, #S1>, tensor<6xi64, #B>) -> tensor<6xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// Linear in the gradient, and in nothing else.
// CHECK: error: 'nn.softmax_cross_entropy_grad' op operand 1 is P on axis "dp"; 'nn.softmax_cross_entropy_grad' is not linear in it and takes S or B
// CHECK: note: box it to B or S first, or let 'sbp-propagate' choose
func.func @logits_partial(%g: tensor<6xf32, #B>, %l: tensor<6x4xf32, #P>, %i: tensor<6xi64, #B>) {
  %0 = nn.softmax_cross_entropy_grad %g, %l, %i : (tensor<6xf32, #B>, tensor<6x4xf32, #P>, tensor<6xi64, #B>) -> tensor<6x4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// A constant is the value, not an addend of it.
// CHECK: error: 'nn.constant' op has signatures () -> (P) on axis "dp", which it cannot have
func.func @constant() {
  %0 = nn.constant 1.0 : tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#Sa = #sbp.nd<#p, [S(@b, 0 of 128)]>
#Sb = #sbp.nd<#p, [S(@b, 64 of 128)]>
// CHECK: error: 'nn.add' op has signatures (S(@b, 0 of 128), S(@b, 64 of 128)) -> (S(@b, 0 of 128)) on axis "dp", which it cannot have
func.func @other_slot(%x: tensor<8xf32, #Sa>, %y: tensor<8xf32, #Sb>) {
  %0 = nn.add %x, %y : (tensor<8xf32, #Sa>, tensor<8xf32, #Sb>) -> tensor<8xf32, #Sa>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#Sa = #sbp.nd<#p, [S(@b, 0 of 64)]>
// A bucket is flat: there is no row in it that could be broadcast, and no sum.
// CHECK: error: 'nn.add' op has signatures (S(@b, 0 of 64), B) -> (S(@b, 0 of 64)) on axis "dp", which it cannot have
func.func @flat_row(%x: tensor<4x2xf32, #Sa>, %y: tensor<2xf32, #sbp.nd<#p, [B]>>) {
  %0 = nn.add %x, %y : (tensor<4x2xf32, #Sa>, tensor<2xf32, #sbp.nd<#p, [B]>>) -> tensor<4x2xf32, #Sa>
  return
}
