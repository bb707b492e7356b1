// Rows that ops refuse, with all that they take. What they take: signatures.mlir.
// RUN: not splitcast-opt %s -split-input-file 2>&1 | FileCheck %s

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
// CHECK-NEXT: (S(0)) -> (S(0 by 4))
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

#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
#S0by2 = #sbp.nd<#p, [S(0 by 2)]>
// Rows meet pairs of rows: 3, 3 and 2 of the former, 4, 2 and 2 of the latter.
// CHECK: error: 'nn.add' op has signatures (S(0), S(0 by 2)) -> (S(0)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), S(0)) -> (S(0))
// CHECK-NEXT: (S(0 by 2), S(0 by 2)) -> (S(0 by 2))
// CHECK-NEXT: (P, P) -> (P)
func.func @units_differ(%x: tensor<8xf32, #S0>, %y: tensor<8xf32, #S0by2>) {
  %0 = nn.add %x, %y : (tensor<8xf32, #S0>, tensor<8xf32, #S0by2>) -> tensor<8xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
#S0by2 = #sbp.nd<#p, [S(0 by 2)]>
// A unit that cuts the inner dimension: 2 of 4.
// CHECK: error: 'nn.reshape' op has signatures (S(0 by 2)) -> (S(0)) on axis "dp", which it cannot have
func.func @reshape_unit_within(%x: tensor<20xf32, #S0by2>) {
  %0 = nn.reshape %x : (tensor<20xf32, #S0by2>) -> tensor<5x4xf32, #sbp.nd<#p, [S(0)]>>
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

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.matmul' op has signatures (S(0), B) -> (S(0)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(1), B) -> (S(1))
// CHECK-NEXT: (B, S(2)) -> (S(2))
// CHECK-NEXT: (S(2), S(1)) -> (P)
// CHECK-NEXT: (S(0), S(0)) -> (S(0))
// CHECK-NEXT: (P, B) -> (P)
// CHECK-NEXT: (B, P) -> (P)
// CHECK-NEXT: note: box an operand
func.func @products_of_one_side(%x: tensor<6x5x3xf32, #S0>, %w: tensor<6x3x7xf32, #B>) {
  %0 = nn.matmul %x, %w : (tensor<6x5x3xf32, #S0>, tensor<6x3x7xf32, #B>) -> tensor<6x5x7xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK: error: 'nn.transpose' op has signatures (S(0)) -> (S(0)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B) -> (B)
// CHECK-NEXT: (S(0)) -> (S(1))
// CHECK-NEXT: (S(1)) -> (S(2))
// CHECK-NEXT: (S(2)) -> (S(0))
// CHECK-NEXT: (P) -> (P)
// CHECK-NEXT: note: box an operand
func.func @transpose(%x: tensor<5x3x4xf32, #S0>) {
  %0 = nn.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<5x3x4xf32, #S0>) -> tensor<4x5x3xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#Sa = #sbp.nd<#p, [S(@b, 0 of 64)]>
// In a bucket elements lie in the tensor's order, which is another one after it.
// CHECK: error: 'nn.transpose' op has signatures (S(@b, 0 of 64)) -> (S(@b, 0 of 64)) on axis "dp", which it cannot have
func.func @transpose_slot(%x: tensor<4x2xf32, #Sa>) {
  %0 = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x2xf32, #Sa>) -> tensor<2x4xf32, #Sa>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// CHECK: error: 'nn.sin' op operand 0 is P on axis "dp"; 'nn.sin' is not linear in it and takes S or B
func.func @sin(%x: tensor<4xf32, #P>) {
  %0 = nn.sin %x : (tensor<4xf32, #P>) -> tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// CHECK: error: 'nn.cos' op operand 0 is P on axis "dp"; 'nn.cos' is not linear in it and takes S or B
func.func @cos(%x: tensor<4xf32, #P>) {
  %0 = nn.cos %x : (tensor<4xf32, #P>) -> tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// CHECK: error: 'nn.exact_sum' op operand 0 is P on axis "dp"; 'nn.exact_sum' is not linear in it and takes S or B
func.func @exact_sum(%x: tensor<4xf64, #P>) {
  %0 = nn.exact_sum %x, %x, %x, %x, %x, %x : (tensor<4xf64, #P>, tensor<4xf64, #P>, tensor<4xf64, #P>, tensor<4xf64, #P>, tensor<4xf64, #P>, tensor<4xf64, #P>) -> tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// CHECK: error: 'nn.not_equal' op operand 0 is P on axis "dp"; 'nn.not_equal' is not linear in it and takes S or B
func.func @not_equal(%x: tensor<4xi64, #P>) {
  %0 = nn.not_equal %x {value = 0 : i64} : (tensor<4xi64, #P>) -> tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
// A row is needed whole.
// CHECK: error: 'nn.softmax' op has signatures (S(1)) -> (S(1)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B) -> (B)
// CHECK-NEXT: (S(0)) -> (S(0))
// CHECK-NEXT: note: box an operand
func.func @softmax(%x: tensor<4x6xf32, #S1>) {
  %0 = nn.softmax %x : (tensor<4x6xf32, #S1>) -> tensor<4x6xf32, #S1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#Sa = #sbp.nd<#p, [S(@b, 0 of 64)]>
// CHECK: error: 'nn.softmax' op has signatures (S(@b, 0 of 64)) -> (S(@b, 0 of 64)) on axis "dp", which it cannot have
func.func @softmax_slot(%x: tensor<4x2xf32, #Sa>) {
  %0 = nn.softmax %x : (tensor<4x2xf32, #Sa>) -> tensor<4x2xf32, #Sa>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.softmax_grad' op operand 1 is P on axis "dp"; 'nn.softmax_grad' is not linear in it and takes S or B
func.func @softmax_grad(%g: tensor<4x6xf32, #B>, %y: tensor<4x6xf32, #P>) {
  %0 = nn.softmax_grad %g, %y : (tensor<4x6xf32, #B>, tensor<4x6xf32, #P>) -> tensor<4x6xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK: error: 'nn.layer_norm' op has signatures (S(1), S(0), S(0)) -> (S(1)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B, B) -> (B)
// CHECK-NEXT: (S(0), B, B) -> (S(0))
// CHECK-NEXT: note: box an operand
func.func @layer_norm(%x: tensor<4x6xf32, #S1>, %w: tensor<6xf32, #S0>) {
  %0 = nn.layer_norm %x, %w, %w {epsilon = 0.5 : f64} : (tensor<4x6xf32, #S1>, tensor<6xf32, #S0>, tensor<6xf32, #S0>) -> tensor<4x6xf32, #S1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#P = #sbp.nd<#p, [P]>
// Moments of a piece of a row are no addends of the row's.
// CHECK: error: 'nn.row_moments' op has signatures (S(1)) -> (P, P) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B) -> (B, B)
// CHECK-NEXT: (S(0)) -> (S(0), S(0))
// CHECK-NEXT: note: box an operand
func.func @row_moments(%x: tensor<4x6xf32, #S1>) {
  %0:2 = nn.row_moments %x {epsilon = 0.5 : f64} : (tensor<4x6xf32, #S1>) -> (tensor<4xf32, #P>, tensor<4xf32, #P>)
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.layer_norm_grad' op operand 1 is P on axis "dp"; 'nn.layer_norm_grad' is not linear in it and takes S or B
func.func @layer_norm_grad(%x: tensor<4x6xf32, #B>, %y: tensor<4x6xf32, #P>, %w: tensor<6xf32, #B>) {
  %0 = nn.layer_norm_grad %x, %y, %w {epsilon = 0.5 : f64} : (tensor<4x6xf32, #B>, tensor<4x6xf32, #P>, tensor<6xf32, #B>) -> tensor<4x6xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#B = #sbp.nd<#p, [B]>
// What a position sees depends on its number in the whole sequence.
// CHECK: error: 'nn.attention' op has signatures (S(1), B, B) -> (S(1)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B, B) -> (B)
// CHECK-NEXT: (S(0), S(0), S(0)) -> (S(0))
// CHECK-NEXT: (S(2), S(2), S(2)) -> (S(2))
// CHECK-NEXT: (B, B, P) -> (P)
// CHECK-NEXT: note: box an operand
func.func @attention_causal(%q: tensor<5x4x3x2xf32, #S1>, %k: tensor<5x4x3x2xf32, #B>) {
  %0 = nn.attention %q, %k, %k {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>) -> tensor<5x4x3x2xf32, #S1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.attention' op has signatures (S(1), S(1), S(1), S(1)) -> (S(1)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B, B, B) -> (B)
// CHECK-NEXT: (S(0), S(0), S(0), S(0)) -> (S(0))
// CHECK-NEXT: (S(1), B, B, B) -> (S(1))
// CHECK-NEXT: (S(2), S(2), S(2), B) -> (S(2))
// CHECK-NEXT: (B, B, P, B) -> (P)
// CHECK-NEXT: note: box an operand
func.func @attention_keys(%q: tensor<5x4x3x2xf32, #S1>, %m: tensor<5x4xi64, #S1>) {
  %0 = nn.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #S1>, tensor<5x4xi64, #S1>) -> tensor<5x4x3x2xf32, #S1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S3 = #sbp.nd<#p, [S(3)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.attention' op has signatures (B, B, S(3)) -> (S(3)) on axis "dp", which it cannot have
func.func @attention_width(%q: tensor<5x4x3x2xf32, #B>, %v: tensor<5x4x3x2xf32, #S3>) {
  %0 = nn.attention %q, %q, %v {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #S3>) -> tensor<5x4x3x2xf32, #S3>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.attention' op operand 0 is P on axis "dp"; 'nn.attention' is not linear in it and takes S or B
func.func @attention_partial(%q: tensor<5x4x3x2xf32, #P>, %k: tensor<5x4x3x2xf32, #B>) {
  %0 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>) -> tensor<5x4x3x2xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.attention_grad' op has signatures (S(1), S(1), B, B) -> (S(1), P, P) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B, B, B) -> (B, B, B)
// CHECK-NEXT: (S(0), S(0), S(0), S(0)) -> (S(0), S(0), S(0))
// CHECK-NEXT: (S(2), S(2), S(2), S(2)) -> (S(2), S(2), S(2))
// CHECK-NEXT: (P, B, B, B) -> (P, P, P)
// CHECK-NEXT: note: box an operand
func.func @attention_grad(%q: tensor<5x4x3x2xf32, #S1>, %k: tensor<5x4x3x2xf32, #B>) {
  %0:3 = nn.attention_grad %q, %q, %k, %k {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>) -> (tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #P>)
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#Sa = #sbp.nd<#p, [S(@b, 0 of 64)]>
#B = #sbp.nd<#p, [B]>
// A piece of a bucket has no place in the tensor.
// CHECK: error: 'nn.dropout' op has signatures (S(@b, 0 of 64), B) -> (S(@b, 0 of 64)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), B) -> (S(0))
// CHECK-NEXT: (S(1), B) -> (S(1))
// CHECK-NEXT: (P, B) -> (P)
// CHECK-NEXT: note: box an operand
func.func @dropout_slot(%x: tensor<4x2xf32, #Sa>, %key: tensor<i64, #B>) {
  %0 = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<4x2xf32, #Sa>, tensor<i64, #B>) -> tensor<4x2xf32, #Sa>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.uniform' op operand 0 is P on axis "dp"; 'nn.uniform' is not linear in it and takes S or B
func.func @uniform_of_addends(%x: tensor<4x2xf32, #P>, %key: tensor<i64, #B>) {
  %0 = nn.uniform %x, %key : (tensor<4x2xf32, #P>, tensor<i64, #B>) -> tensor<4x2xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.dropout' op operand 1 is P on axis "dp"; 'nn.dropout' is not linear in it and takes S or B
func.func @dropout_key(%x: tensor<4x2xf32, #B>, %key: tensor<i64, #P>) {
  %0 = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<4x2xf32, #B>, tensor<i64, #P>) -> tensor<4x2xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S2 = #sbp.nd<#p, [S(2)]>
#B = #sbp.nd<#p, [B]>
// A window may cover rows of two pieces.
// CHECK: error: 'nn.convolution' op has signatures (S(2), B) -> (S(2)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), B) -> (S(0))
// CHECK-NEXT: (B, S(0)) -> (S(1))
// CHECK-NEXT: (S(1), S(1)) -> (P)
// CHECK-NEXT: (P, B) -> (P)
// CHECK-NEXT: (B, P) -> (P)
// CHECK-NEXT: note: box an operand
func.func @convolution_rows(%x: tensor<5x4x8x8xf32, #S2>, %w: tensor<6x4x3x3xf32, #B>) {
  %0 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x8x8xf32, #S2>, tensor<6x4x3x3xf32, #B>) -> tensor<5x6x8x8xf32, #S2>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
#S1 = #sbp.nd<#p, [S(1)]>
#S0 = #sbp.nd<#p, [S(0)]>
// Two groups of two channels and three outputs, none of which is divided.
// CHECK: error: 'nn.convolution' op has signatures (S(1), S(0)) -> (S(1)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), B) -> (S(0))
// CHECK-NEXT: (S(1 by 2), S(0 by 3)) -> (S(1 by 3))
// CHECK-NEXT: (P, B) -> (P)
// CHECK-NEXT: (B, P) -> (P)
// CHECK-NEXT: note: box an operand
func.func @convolution_group(%x: tensor<5x4x8x8xf32, #S1>, %w: tensor<6x2x3x3xf32, #S0>) {
  %0 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x8x8xf32, #S1>, tensor<6x2x3x3xf32, #S0>) -> tensor<5x6x8x8xf32, #S1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S1 = #sbp.nd<#p, [S(1)]>
#B = #sbp.nd<#p, [B]>
// The channels of the input are divided; those that an output is of lie elsewhere.
// CHECK: error: 'nn.convolution' op has signatures (S(1), B) -> (B) on axis "dp", which it cannot have
func.func @convolution_channels(%x: tensor<5x4x8x8xf32, #S1>, %w: tensor<6x4x3x3xf32, #B>) {
  %0 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x8x8xf32, #S1>, tensor<6x4x3x3xf32, #B>) -> tensor<5x6x8x8xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S3 = #sbp.nd<#p, [S(3)]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.convolution_data_grad' op has signatures (S(3), B) -> (S(3)) on axis "dp", which it cannot have
func.func @convolution_data_grad(%g: tensor<5x6x8x8xf32, #S3>, %w: tensor<6x4x3x3xf32, #B>) {
  %0 = nn.convolution_data_grad %g, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x8x8xf32, #S3>, tensor<6x4x3x3xf32, #B>) -> tensor<5x4x8x8xf32, #S3>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S2 = #sbp.nd<#p, [S(2)]>
#P = #sbp.nd<#p, [P]>
// Windows are summed over, but each is of a whole image.
// CHECK: error: 'nn.convolution_weight_grad' op has signatures (S(2), S(2)) -> (P) on axis "dp", which it cannot have
func.func @convolution_weight_grad(%g: tensor<5x6x8x8xf32, #S2>, %x: tensor<5x4x8x8xf32, #S2>) {
  %0 = nn.convolution_weight_grad %g, %x {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x8x8xf32, #S2>, tensor<5x4x8x8xf32, #S2>) -> tensor<6x4x3x3xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S2 = #sbp.nd<#p, [S(2)]>
// CHECK: error: 'nn.max_pool' op has signatures (S(2)) -> (S(2)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B) -> (B)
// CHECK-NEXT: (S(0)) -> (S(0))
// CHECK-NEXT: (S(1)) -> (S(1))
// CHECK-NEXT: note: box an operand
func.func @max_pool(%x: tensor<5x4x8x8xf32, #S2>) {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<5x4x8x8xf32, #S2>) -> tensor<5x4x4x4xf32, #S2>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// CHECK: error: 'nn.max_pool' op operand 0 is P on axis "dp"; 'nn.max_pool' is not linear in it and takes S or B
func.func @max_pool_partial(%x: tensor<5x4x8x8xf32, #P>) {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<5x4x8x8xf32, #P>) -> tensor<5x4x4x4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S2 = #sbp.nd<#p, [S(2)]>
// CHECK: error: 'nn.max_pool_positions' op has signatures (S(2), S(2)) -> (S(2)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), S(0)) -> (S(0))
// CHECK-NEXT: (S(1), S(1)) -> (S(1))
// CHECK-NEXT: note: box an operand
func.func @max_pool_positions(%x: tensor<5x4x8x8xf32, #S2>, %y: tensor<5x4x4x4xf32, #S2>) {
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<5x4x8x8xf32, #S2>, tensor<5x4x4x4xf32, #S2>) -> tensor<5x4x4x4xi64, #S2>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.max_pool_positions' op operand 0 is P on axis "dp"; 'nn.max_pool_positions' is not linear in it and takes S or B
func.func @max_pool_positions_input(%x: tensor<4x4xf32, #P>, %y: tensor<2x2xf32, #B>) {
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32, #P>, tensor<2x2xf32, #B>) -> tensor<2x2xi64, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.max_pool_positions' op operand 1 is P on axis "dp"; 'nn.max_pool_positions' is not linear in it and takes S or B
func.func @max_pool_positions_largest(%x: tensor<4x4xf32, #B>, %y: tensor<2x2xf32, #P>) {
  %0 = nn.max_pool_positions %x, %y {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x4xf32, #B>, tensor<2x2xf32, #P>) -> tensor<2x2xi64, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S3 = #sbp.nd<#p, [S(3)]>
// CHECK: error: 'nn.max_pool_grad' op has signatures (S(3), S(3)) -> (S(3)) on axis "dp", which it cannot have
// CHECK: note: it may have
// CHECK-NEXT: (B, B) -> (B)
// CHECK-NEXT: (S(0), S(0)) -> (S(0))
// CHECK-NEXT: (S(1), S(1)) -> (S(1))
// CHECK-NEXT: (P, B) -> (P)
// CHECK-NEXT: note: box an operand
func.func @max_pool_grad(%g: tensor<5x4x4x4xf32, #S3>, %positions: tensor<5x4x4x4xi64, #S3>) {
  %0 = nn.max_pool_grad %g, %positions {extents = array<i64: 8, 8>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #S3>, tensor<5x4x4x4xi64, #S3>) -> tensor<5x4x8x8xf32, #S3>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.max_pool_grad' op operand 1 is P on axis "dp"; 'nn.max_pool_grad' is not linear in it and takes S or B
func.func @max_pool_grad_partial(%g: tensor<2x2xf32, #B>, %positions: tensor<2x2xi64, #P>) {
  %0 = nn.max_pool_grad %g, %positions {extents = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x2xf32, #B>, tensor<2x2xi64, #P>) -> tensor<4x4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// CHECK: error: 'nn.erf' op operand 0 is P on axis "dp"; 'nn.erf' is not linear in it and takes S or B
func.func @erf(%x: tensor<4xf32, #P>) {
  %0 = nn.erf %x : (tensor<4xf32, #P>) -> tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// CHECK: error: 'nn.compare' op operand 1 is P on axis "dp"; 'nn.compare' is not linear in it and takes S or B
func.func @compare(%x: tensor<4xf32, #B>, %y: tensor<4xf32, #P>) {
  %0 = nn.compare %x, %y {predicate = "lt"} : (tensor<4xf32, #B>, tensor<4xf32, #P>) -> tensor<4xf32, #P>
  return
}
