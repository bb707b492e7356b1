// Rows that ops take: each op is written once per legal row, and parses. What they refuse: signatures_invalid.mlir.
// RUN: splitcast-opt %s | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#S2 = #sbp.nd<#p, [S(2)]>
#S3 = #sbp.nd<#p, [S(3)]>
#Sf = #sbp.nd<#p, [S(@b, 0 of 64)]>
#mesh = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#S0_S1 = #sbp.nd<#mesh, [S(0), S(1)]>
#S1_S0 = #sbp.nd<#mesh, [S(1), S(0)]>
#S0_S2 = #sbp.nd<#mesh, [S(0), S(2)]>
#S0_B = #sbp.nd<#mesh, [S(0), B]>
#S0_P = #sbp.nd<#mesh, [S(0), P]>
#B_S0 = #sbp.nd<#mesh, [B, S(0)]>
#B_S1 = #sbp.nd<#mesh, [B, S(1)]>
#B_B = #sbp.nd<#mesh, [B, B]>
#S0_S0 = #sbp.nd<#mesh, [S(0), S(0)]>
#P_S0 = #sbp.nd<#mesh, [P, S(0)]>
#P_P = #sbp.nd<#mesh, [P, P]>

// The six rows of a matrix product: whole, three factors, linear in either operand.
// CHECK-LABEL: func.func @matmul
// CHECK-COUNT-6: nn.matmul
func.func @matmul(%b: tensor<5x3xf32, #B>, %s0: tensor<5x3xf32, #S0>, %s1: tensor<5x3xf32, #S1>, %p: tensor<5x3xf32, #P>,
                  %wb: tensor<3x7xf32, #B>, %ws0: tensor<3x7xf32, #S0>, %ws1: tensor<3x7xf32, #S1>, %wp: tensor<3x7xf32, #P>) {
  %0 = nn.matmul %b, %wb : (tensor<5x3xf32, #B>, tensor<3x7xf32, #B>) -> tensor<5x7xf32, #B>
  %1 = nn.matmul %s0, %wb : (tensor<5x3xf32, #S0>, tensor<3x7xf32, #B>) -> tensor<5x7xf32, #S0>
  %2 = nn.matmul %b, %ws1 : (tensor<5x3xf32, #B>, tensor<3x7xf32, #S1>) -> tensor<5x7xf32, #S1>
  %3 = nn.matmul %s1, %ws0 : (tensor<5x3xf32, #S1>, tensor<3x7xf32, #S0>) -> tensor<5x7xf32, #P>
  %4 = nn.matmul %p, %wb : (tensor<5x3xf32, #P>, tensor<3x7xf32, #B>) -> tensor<5x7xf32, #P>
  %5 = nn.matmul %b, %wp : (tensor<5x3xf32, #B>, tensor<3x7xf32, #P>) -> tensor<5x7xf32, #P>
  return
}

// CHECK-LABEL: func.func @transposed
// CHECK-COUNT-2: nn.matmul
func.func @transposed(%s0: tensor<3x5xf32, #S0>, %s1: tensor<3x5xf32, #S1>, %w: tensor<3x7xf32, #S0>, %wb: tensor<3x7xf32, #B>) {
  %0 = nn.matmul %s0, %w {transpose_a} : (tensor<3x5xf32, #S0>, tensor<3x7xf32, #S0>) -> tensor<5x7xf32, #P>
  %1 = nn.matmul %s1, %wb {transpose_a} : (tensor<3x5xf32, #S1>, tensor<3x7xf32, #B>) -> tensor<5x7xf32, #S0>
  return
}

// Axis by axis: rows on dp, and columns or the contracted dimension on tp.
// CHECK-LABEL: func.func @two_axes
// CHECK-COUNT-3: nn.matmul
func.func @two_axes(%x: tensor<6x4xf32, #S0_B>, %w1: tensor<4x8xf32, #B_S1>, %w2: tensor<8x4xf32, #B_S0>, %k: tensor<6x4xf32, #S0_S0>,
                    %wb: tensor<4x8xf32, #B_B>) {
  %0 = nn.matmul %x, %w1 : (tensor<6x4xf32, #S0_B>, tensor<4x8xf32, #B_S1>) -> tensor<6x8xf32, #S0_S1>
  %1 = nn.matmul %0, %w2 : (tensor<6x8xf32, #S0_S1>, tensor<8x4xf32, #B_S0>) -> tensor<6x4xf32, #S0_P>
  // Rows split by both axes, one inside the other.
  %2 = nn.matmul %k, %wb : (tensor<6x4xf32, #S0_S0>, tensor<4x8xf32, #B_B>) -> tensor<6x8xf32, #S0_S0>
  return
}

// Elementwise ops take the split of any dimension; what is broadcast stays B; P passes where the op is linear.
// CHECK-LABEL: func.func @elementwise
// CHECK-COUNT-12: = nn.
func.func @elementwise(%s: tensor<5x3xf32, #S1>, %row: tensor<3xf32, #S0>, %column: tensor<5x1xf32, #B>, %p: tensor<5x3xf32, #P>,
                       %b: tensor<5x3xf32, #B>, %flat: tensor<5x3xf32, #Sf>, %scalar: tensor<f32, #B>) {
  %0 = nn.add %s, %row : (tensor<5x3xf32, #S1>, tensor<3xf32, #S0>) -> tensor<5x3xf32, #S1>
  %1 = nn.mul %s, %column : (tensor<5x3xf32, #S1>, tensor<5x1xf32, #B>) -> tensor<5x3xf32, #S1>
  %2 = nn.add %p, %p : (tensor<5x3xf32, #P>, tensor<5x3xf32, #P>) -> tensor<5x3xf32, #P>
  %3 = nn.sub %p, %p : (tensor<5x3xf32, #P>, tensor<5x3xf32, #P>) -> tensor<5x3xf32, #P>
  %4 = nn.mul %p, %b : (tensor<5x3xf32, #P>, tensor<5x3xf32, #B>) -> tensor<5x3xf32, #P>
  %5 = nn.mul %b, %p : (tensor<5x3xf32, #B>, tensor<5x3xf32, #P>) -> tensor<5x3xf32, #P>
  %6 = nn.div %p, %b : (tensor<5x3xf32, #P>, tensor<5x3xf32, #B>) -> tensor<5x3xf32, #P>
  %7 = nn.neg %p : (tensor<5x3xf32, #P>) -> tensor<5x3xf32, #P>
  %8 = nn.scale %p {value = 2.0 : f64} : (tensor<5x3xf32, #P>) -> tensor<5x3xf32, #P>
  %9 = nn.relu_grad %p, %b : (tensor<5x3xf32, #P>, tensor<5x3xf32, #B>) -> tensor<5x3xf32, #P>
  // Slots of a bucket are elementwise too, when all operands share the slot or are scalars.
  %10 = nn.mul %flat, %flat : (tensor<5x3xf32, #Sf>, tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  %11 = nn.mul %scalar, %flat : (tensor<f32, #B>, tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  return
}

// A dimension that is made of several can be split along its outermost one, as here, where the axis divides that.
// CHECK-LABEL: func.func @reshape
// CHECK-COUNT-6: nn.reshape
func.func @reshape(%x: tensor<6x5xf32, #S0>, %y: tensor<30xf32, #S0>, %p: tensor<6x5xf32, #P>, %z: tensor<3x1x4xf32, #S2>, %u: tensor<5x4xf32, #S0>,
                   %one: tensor<1x4xf32, #S1>) {
  %0 = nn.reshape %x : (tensor<6x5xf32, #S0>) -> tensor<30xf32, #S0>
  %1 = nn.reshape %y : (tensor<30xf32, #S0>) -> tensor<6x5xf32, #S0>
  %2 = nn.reshape %p : (tensor<6x5xf32, #P>) -> tensor<3x10xf32, #P>
  %3 = nn.reshape %z : (tensor<3x1x4xf32, #S2>) -> tensor<3x4xf32, #S1>
  // A dimension of its own may be ragged.
  %4 = nn.reshape %u : (tensor<5x4xf32, #S0>) -> tensor<5x2x2xf32, #S0>
  // Behind ones, an inner dimension is the outermost.
  %5 = nn.reshape %one : (tensor<1x4xf32, #S1>) -> tensor<4xf32, #S0>
  return
}

#three = #sbp.placement<"cpu", [dp = 3]>
#T0 = #sbp.nd<#three, [S(0)]>
#T0by5 = #sbp.nd<#three, [S(0 by 5)]>
#T0by10 = #sbp.nd<#three, [S(0 by 10)]>
#T0by15 = #sbp.nd<#three, [S(0 by 15)]>
#TP = #sbp.nd<#three, [P]>
#TB = #sbp.nd<#three, [B]>
// When it does not, the dimension is split in whole units of the inner ones; any op that may be split may be so.
// CHECK-LABEL: func.func @units
// CHECK-COUNT-5: = nn.
func.func @units(%x: tensor<4x5xf32, #T0>, %y: tensor<20xf32, #T0by10>, %z: tensor<20x3xf32, #T0by5>) {
  %0 = nn.reshape %x : (tensor<4x5xf32, #T0>) -> tensor<20xf32, #T0by5>
  // Samples by twos: a unit of the outer dimension itself.
  %1 = nn.reshape %y : (tensor<20xf32, #T0by10>) -> tensor<4x5xf32, #sbp.nd<#three, [S(0 by 2)]>>
  %2 = nn.reshape %z : (tensor<20x3xf32, #T0by5>) -> tensor<60xf32, #T0by15>
  %3 = nn.matmul %z, %z {transpose_a} : (tensor<20x3xf32, #T0by5>, tensor<20x3xf32, #T0by5>) -> tensor<3x3xf32, #TP>
  %4 = nn.add %0, %0 : (tensor<20xf32, #T0by5>, tensor<20xf32, #T0by5>) -> tensor<20xf32, #T0by5>
  return
}

// CHECK-LABEL: func.func @moves
// CHECK-COUNT-9: = nn.
func.func @moves(%x: tensor<5x3xf32, #S0>, %p: tensor<5x3xf32, #P>, %b: tensor<3xf32, #B>) {
  %0 = nn.broadcast %x {dims = array<i64: 0>} : (tensor<5x3xf32, #S0>) -> tensor<2x5x3xf32, #S1>
  %1 = nn.broadcast %b {dims = array<i64: 0>} : (tensor<3xf32, #B>) -> tensor<2x3xf32, #S0>
  %2 = nn.slice %x {dim = 1 : i64, start = 1 : i64} : (tensor<5x3xf32, #S0>) -> tensor<5x2xf32, #S0>
  %3 = nn.concat %x, %x {dim = 1 : i64} : (tensor<5x3xf32, #S0>, tensor<5x3xf32, #S0>) -> tensor<5x6xf32, #S0>
  %4 = nn.concat %p, %p {dim = 0 : i64} : (tensor<5x3xf32, #P>, tensor<5x3xf32, #P>) -> tensor<10x3xf32, #P>
  %5 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<5x3xf32, #S0>) -> tensor<3xf32, #P>
  %6 = nn.reduce_sum %x {dims = array<i64: 1>} : (tensor<5x3xf32, #S0>) -> tensor<5xf32, #S0>
  %7 = nn.constant 0.0 : tensor<5x3xf32, #S1>
  %8 = nn.iota {dim = 0 : i64} : () -> tensor<5x3xf32, #S1>
  return
}

// Places that indices name, divided: who has not what an index names gives 0, and the gradient of what one has is its own.
// CHECK-LABEL: func.func @divided_places
// CHECK-COUNT-5: = nn.
func.func @divided_places(%table: tensor<8x4xf32, #S0>, %ids: tensor<6xi64, #B>, %g: tensor<6x4xf32, #B>, %logits: tensor<6x8xf32, #S1>,
                          %rows: tensor<6xf32, #B>) {
  %0 = nn.embedding %table, %ids : (tensor<8x4xf32, #S0>, tensor<6xi64, #B>) -> tensor<6x4xf32, #P>
  %1 = nn.embedding_grad %g, %ids : (tensor<6x4xf32, #B>, tensor<6xi64, #B>) -> tensor<8x4xf32, #S0>
  %2 = nn.take %logits, %ids : (tensor<6x8xf32, #S1>, tensor<6xi64, #B>) -> tensor<6xf32, #P>
  %3 = nn.softmax_cross_entropy_grad %rows, %logits, %ids, %rows : (tensor<6xf32, #B>, tensor<6x8xf32, #S1>, tensor<6xi64, #B>, tensor<6xf32, #B>) -> tensor<6x8xf32, #S1>
  %4 = nn.log_sum_exp %g : (tensor<6x4xf32, #B>) -> tensor<6xf32, #B>
  return
}

// Rows of a table: by index or by column; its gradient sums over indices.
// CHECK-LABEL: func.func @lookups
// CHECK-COUNT-7: = nn.
func.func @lookups(%tb: tensor<8x4xf32, #B>, %tc: tensor<8x4xf32, #S1>, %tp: tensor<8x4xf32, #P>, %is: tensor<6xi64, #S0>, %ib: tensor<6xi64, #B>,
                   %g: tensor<6x4xf32, #S0>, %gb: tensor<6xf32, #P>, %logits: tensor<6x3xf32, #S0>, %lb: tensor<6x3xf32, #B>) {
  %0 = nn.embedding %tb, %is : (tensor<8x4xf32, #B>, tensor<6xi64, #S0>) -> tensor<6x4xf32, #S0>
  %1 = nn.embedding %tc, %ib : (tensor<8x4xf32, #S1>, tensor<6xi64, #B>) -> tensor<6x4xf32, #S1>
  %2 = nn.embedding %tp, %ib : (tensor<8x4xf32, #P>, tensor<6xi64, #B>) -> tensor<6x4xf32, #P>
  %3 = nn.embedding_grad %g, %is : (tensor<6x4xf32, #S0>, tensor<6xi64, #S0>) -> tensor<8x4xf32, #P>
  %4 = nn.embedding_grad %1, %ib : (tensor<6x4xf32, #S1>, tensor<6xi64, #B>) -> tensor<8x4xf32, #S1>
  %5 = nn.softmax_cross_entropy %logits, %is : (tensor<6x3xf32, #S0>, tensor<6xi64, #S0>) -> tensor<6xf32, #S0>
  %6 = nn.softmax_cross_entropy_grad %gb, %lb, %ib : (tensor<6xf32, #P>, tensor<6x3xf32, #B>, tensor<6xi64, #B>) -> tensor<6x3xf32, #P>
  return
}

// Each product of several stands alone, so they can be split among ranks, besides all that one product allows.
// CHECK-LABEL: func.func @products
// CHECK-COUNT-7: nn.matmul
func.func @products(%b: tensor<5x2x4x3xf32, #B>, %s0: tensor<5x2x4x3xf32, #S0>, %s1: tensor<5x2x4x3xf32, #S1>, %s2: tensor<5x2x4x3xf32, #S2>,
                    %s3: tensor<5x2x4x3xf32, #S3>, %p: tensor<5x2x4x3xf32, #P>) {
  %0 = nn.matmul %b, %b {transpose_b} : (tensor<5x2x4x3xf32, #B>, tensor<5x2x4x3xf32, #B>) -> tensor<5x2x4x4xf32, #B>
  %1 = nn.matmul %s0, %s0 {transpose_b} : (tensor<5x2x4x3xf32, #S0>, tensor<5x2x4x3xf32, #S0>) -> tensor<5x2x4x4xf32, #S0>
  %2 = nn.matmul %s1, %s1 {transpose_a} : (tensor<5x2x4x3xf32, #S1>, tensor<5x2x4x3xf32, #S1>) -> tensor<5x2x3x3xf32, #S1>
  %3 = nn.matmul %s2, %b {transpose_b} : (tensor<5x2x4x3xf32, #S2>, tensor<5x2x4x3xf32, #B>) -> tensor<5x2x4x4xf32, #S2>
  %4 = nn.matmul %b, %s2 {transpose_b} : (tensor<5x2x4x3xf32, #B>, tensor<5x2x4x3xf32, #S2>) -> tensor<5x2x4x4xf32, #S3>
  %5 = nn.matmul %s3, %s3 {transpose_b} : (tensor<5x2x4x3xf32, #S3>, tensor<5x2x4x3xf32, #S3>) -> tensor<5x2x4x4xf32, #P>
  %6 = nn.matmul %b, %p {transpose_b} : (tensor<5x2x4x3xf32, #B>, tensor<5x2x4x3xf32, #P>) -> tensor<5x2x4x4xf32, #P>
  return
}

// CHECK-LABEL: func.func @functions
// CHECK-COUNT-14: = nn.
func.func @functions(%s: tensor<5x3xf32, #S1>, %p: tensor<5x3xf32, #P>, %flat: tensor<5x3xf32, #Sf>, %i: tensor<5x3xi64, #S0>, %two: tensor<5x3xi64, #S0_S1>,
                     %flat_i: tensor<5x3xi64, #Sf>, %b: tensor<5x3xf32, #B>) {
  %0 = nn.sin %s : (tensor<5x3xf32, #S1>) -> tensor<5x3xf32, #S1>
  %1 = nn.cos %flat : (tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  %2 = nn.not_equal %i {value = 3 : i64} : (tensor<5x3xi64, #S0>) -> tensor<5x3xf32, #S0>
  %3 = nn.not_equal %two {value = 3 : i64} : (tensor<5x3xi64, #S0_S1>) -> tensor<5x3xf64, #S0_S1>
  %4 = nn.not_equal %flat_i {value = 3 : i64} : (tensor<5x3xi64, #Sf>) -> tensor<5x3xi64, #Sf>
  %5 = nn.exact_part %p {of = 6 : i64, part = 0 : i64} : (tensor<5x3xf32, #P>) -> tensor<5x3xf64, #P>
  %6 = nn.exact_part %flat {of = 6 : i64, part = 1 : i64} : (tensor<5x3xf32, #Sf>) -> tensor<5x3xf64, #Sf>
  %7 = nn.clamp %flat {least = -1.0, most = 1.0} : (tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  // Of any piece, since no order of its sums changes a bit.
  %8 = nn.square_parts %flat : (tensor<5x3xf32, #Sf>) -> tensor<28xf64, #P>
  %9 = nn.square_parts %s : (tensor<5x3xf32, #S1>) -> tensor<28xf64, #P>
  %10 = nn.square_parts %b : (tensor<5x3xf32, #B>) -> tensor<28xf64, #B>
  %11 = nn.sum_parts %8, %9 : (tensor<28xf64, #P>, tensor<28xf64, #P>) -> tensor<28xf64, #P>
  %12 = nn.sum_parts %10, %10 : (tensor<28xf64, #B>, tensor<28xf64, #B>) -> tensor<28xf64, #B>
  %13 = nn.total_of_parts %12 : (tensor<28xf64, #B>) -> tensor<f64, #B>
  return
}

// A split moves with its dimension.
// CHECK-LABEL: func.func @transpose
// CHECK-COUNT-4: nn.transpose
func.func @transpose(%s0: tensor<5x3x4xf32, #S0>, %s2: tensor<5x3x4xf32, #S2>, %p: tensor<5x3x4xf32, #P>, %two: tensor<6x4xf32, #S0_S1>) {
  %0 = nn.transpose %s0 {permutation = array<i64: 2, 0, 1>} : (tensor<5x3x4xf32, #S0>) -> tensor<4x5x3xf32, #S1>
  %1 = nn.transpose %s2 {permutation = array<i64: 2, 0, 1>} : (tensor<5x3x4xf32, #S2>) -> tensor<4x5x3xf32, #S0>
  %2 = nn.transpose %p {permutation = array<i64: 1, 0, 2>} : (tensor<5x3x4xf32, #P>) -> tensor<3x5x4xf32, #P>
  %3 = nn.transpose %two {permutation = array<i64: 1, 0>} : (tensor<6x4xf32, #S0_S1>) -> tensor<4x6xf32, #S1_S0>
  return
}

// What works on rows takes all that leaves them whole; what is linear, addends of that operand.
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-12: = nn.
func.func @rows(%s: tensor<5x2x3xf32, #S1>, %b: tensor<5x2x3xf32, #B>, %p: tensor<5x2x3xf32, #P>, %w: tensor<3xf32, #B>, %wp: tensor<3xf32, #P>,
                %two: tensor<5x2x3xf32, #S0_S1>, %wb: tensor<3xf32, #B_B>, %labels: tensor<5x2xi32, #S1>) {
  %0 = nn.softmax %s : (tensor<5x2x3xf32, #S1>) -> tensor<5x2x3xf32, #S1>
  %1 = nn.softmax %two : (tensor<5x2x3xf32, #S0_S1>) -> tensor<5x2x3xf32, #S0_S1>
  %2 = nn.softmax_grad %s, %s : (tensor<5x2x3xf32, #S1>, tensor<5x2x3xf32, #S1>) -> tensor<5x2x3xf32, #S1>
  %3 = nn.softmax_grad %p, %b : (tensor<5x2x3xf32, #P>, tensor<5x2x3xf32, #B>) -> tensor<5x2x3xf32, #P>
  %4 = nn.layer_norm %s, %w, %w {epsilon = 0.5 : f64} : (tensor<5x2x3xf32, #S1>, tensor<3xf32, #B>, tensor<3xf32, #B>) -> tensor<5x2x3xf32, #S1>
  %5 = nn.layer_norm %two, %wb, %wb {epsilon = 0.5 : f64} : (tensor<5x2x3xf32, #S0_S1>, tensor<3xf32, #B_B>, tensor<3xf32, #B_B>) -> tensor<5x2x3xf32, #S0_S1>
  %6 = nn.layer_norm_grad %s, %s, %w {epsilon = 0.5 : f64} : (tensor<5x2x3xf32, #S1>, tensor<5x2x3xf32, #S1>, tensor<3xf32, #B>) -> tensor<5x2x3xf32, #S1>
  %7 = nn.layer_norm_grad %p, %b, %w {epsilon = 0.5 : f64} : (tensor<5x2x3xf32, #P>, tensor<5x2x3xf32, #B>, tensor<3xf32, #B>) -> tensor<5x2x3xf32, #P>
  %8 = nn.layer_norm_grad %b, %b, %wp {epsilon = 0.5 : f64} : (tensor<5x2x3xf32, #B>, tensor<5x2x3xf32, #B>, tensor<3xf32, #P>) -> tensor<5x2x3xf32, #P>
  %9:2 = nn.row_moments %s {epsilon = 0.5 : f64} : (tensor<5x2x3xf32, #S1>) -> (tensor<5x2xf32, #S1>, tensor<5x2xf32, #S1>)
  %10 = nn.softmax_cross_entropy %s, %labels {ignored = 0 : i64} : (tensor<5x2x3xf32, #S1>, tensor<5x2xi32, #S1>) -> tensor<5x2xf32, #S1>
  %11 = nn.softmax_cross_entropy_grad %10, %s, %labels {ignored = 0 : i64} : (tensor<5x2xf32, #S1>, tensor<5x2x3xf32, #S1>, tensor<5x2xi32, #S1>) -> tensor<5x2x3xf32, #S1>
  return
}

// Samples and heads stand alone; positions too when each sees all keys; the result is linear in the values.
// CHECK-LABEL: func.func @attention
// CHECK-COUNT-10: nn.attention
func.func @attention(%s0: tensor<5x4x3x2xf32, #S0>, %s1: tensor<5x4x3x2xf32, #S1>, %s2: tensor<5x4x3x2xf32, #S2>, %b: tensor<5x4x3x2xf32, #B>,
                     %p: tensor<5x4x3x2xf32, #P>, %ms: tensor<5x4xi64, #S0>, %mb: tensor<5x4xi64, #B>) {
  %0 = nn.attention %s0, %s0, %s0 {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>) -> tensor<5x4x3x2xf32, #S0>
  %1 = nn.attention %s0, %s0, %s0, %ms {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4xi64, #S0>) -> tensor<5x4x3x2xf32, #S0>
  %2 = nn.attention %s1, %b, %b {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>) -> tensor<5x4x3x2xf32, #S1>
  %3 = nn.attention %s2, %s2, %s2, %mb {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4xi64, #B>) -> tensor<5x4x3x2xf32, #S2>
  %4 = nn.attention %b, %b, %p {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #P>) -> tensor<5x4x3x2xf32, #P>
  %5 = nn.attention %b, %b, %p, %mb {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #P>, tensor<5x4xi64, #B>) -> tensor<5x4x3x2xf32, #P>
  // Statistics go with the rows, and do not depend on the values.
  %6:2 = nn.attention %s0, %s0, %s0 {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>) -> (tensor<5x4x3x2xf32, #S0>, tensor<5x3x4xf32, #S0>)
  %7:2 = nn.attention %s1, %b, %b {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S1>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>) -> (tensor<5x4x3x2xf32, #S1>, tensor<5x3x4xf32, #S2>)
  %8:2 = nn.attention %s2, %s2, %s2 {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>) -> (tensor<5x4x3x2xf32, #S2>, tensor<5x3x4xf32, #S1>)
  %9:2 = nn.attention %b, %b, %p {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #P>) -> (tensor<5x4x3x2xf32, #P>, tensor<5x3x4xf32, #B>)
  return
}

// CHECK-LABEL: func.func @attention_grad
// CHECK-COUNT-8: nn.attention_grad
func.func @attention_grad(%s0: tensor<5x4x3x2xf32, #S0>, %s2: tensor<5x4x3x2xf32, #S2>, %b: tensor<5x4x3x2xf32, #B>, %p: tensor<5x4x3x2xf32, #P>,
                          %ms: tensor<5x4xi32, #S0>, %two: tensor<5x4x3x2xf32, #S0_S2>, %mtwo: tensor<5x4xi32, #S0_B>,
                          %t0: tensor<5x3x4xf32, #S0>, %t1: tensor<5x3x4xf32, #S1>, %tb: tensor<5x3x4xf32, #B>) {
  %0:3 = nn.attention_grad %s0, %s0, %s0, %s0, %ms {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4xi32, #S0>) -> (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>)
  %1:3 = nn.attention_grad %s2, %s2, %s2, %s2 {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>) -> (tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>)
  %2:3 = nn.attention_grad %p, %b, %b, %b {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>) -> (tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #P>)
  // Samples on one axis, heads on the other.
  %3:3 = nn.attention_grad %two, %two, %two, %two, %mtwo {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0_S2>, tensor<5x4x3x2xf32, #S0_S2>, tensor<5x4x3x2xf32, #S0_S2>, tensor<5x4x3x2xf32, #S0_S2>, tensor<5x4xi32, #S0_B>) -> (tensor<5x4x3x2xf32, #S0_S2>, tensor<5x4x3x2xf32, #S0_S2>, tensor<5x4x3x2xf32, #S0_S2>)
  %4:3 = nn.attention_grad %s0, %s0, %s0, %s0, %s0, %t0 {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x3x4xf32, #S0>) -> (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>)
  %5:3 = nn.attention_grad %s0, %s0, %s0, %s0, %ms, %s0, %t0 {scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4xi32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x3x4xf32, #S0>) -> (tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>, tensor<5x4x3x2xf32, #S0>)
  %6:3 = nn.attention_grad %s2, %s2, %s2, %s2, %s2, %t1 {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x3x4xf32, #S1>) -> (tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>, tensor<5x4x3x2xf32, #S2>)
  // Of a gradient that is addends, also with what is kept: that is the same for all.
  %7:3 = nn.attention_grad %p, %b, %b, %b, %b, %tb {causal, scale = 0.5 : f64} : (tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x4x3x2xf32, #B>, tensor<5x3x4xf32, #B>) -> (tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #P>, tensor<5x4x3x2xf32, #P>)
  return
}

// CHECK-LABEL: func.func @uniform
// CHECK-COUNT-3: nn.uniform
func.func @uniform(%s0: tensor<5x3xf32, #S0>, %s1: tensor<5x3xf32, #S1>, %key: tensor<i64, #B>,
                   %two: tensor<5x3xf32, #S0_S0>, %key_two: tensor<i64, #B_B>) {
  %0 = nn.uniform %s0, %key : (tensor<5x3xf32, #S0>, tensor<i64, #B>) -> tensor<5x3xf32, #S0>
  %1 = nn.uniform %s1, %key : (tensor<5x3xf32, #S1>, tensor<i64, #B>) -> tensor<5x3xf32, #S1>
  %2 = nn.uniform %two, %key_two : (tensor<5x3xf32, #S0_S0>, tensor<i64, #B_B>) -> tensor<5x3xf32, #S0_S0>
  return
}

// CHECK-LABEL: func.func @dropout
// CHECK-COUNT-4: nn.dropout
func.func @dropout(%s0: tensor<5x3xf32, #S0>, %s1: tensor<5x3xf32, #S1>, %p: tensor<5x3xf32, #P>, %key: tensor<i64, #B>,
                   %two: tensor<5x3xf32, #S0_S0>, %key_two: tensor<i64, #B_B>) {
  %0 = nn.dropout %s0, %key {rate = 0.5 : f64} : (tensor<5x3xf32, #S0>, tensor<i64, #B>) -> tensor<5x3xf32, #S0>
  %1 = nn.dropout %s1, %key {rate = 0.5 : f64} : (tensor<5x3xf32, #S1>, tensor<i64, #B>) -> tensor<5x3xf32, #S1>
  // The same element is dropped of every addend.
  %2 = nn.dropout %p, %key {rate = 0.5 : f64} : (tensor<5x3xf32, #P>, tensor<i64, #B>) -> tensor<5x3xf32, #P>
  %3 = nn.dropout %two, %key_two {rate = 0.5 : f64} : (tensor<5x3xf32, #S0_S0>, tensor<i64, #B_B>) -> tensor<5x3xf32, #S0_S0>
  return
}

// Samples, outputs and channels of one group: what is summed over gives addends. The image is whole.
// CHECK-LABEL: func.func @convolution
// CHECK-COUNT-8: nn.convolution %
func.func @convolution(%xb: tensor<5x4x7x7xf32, #B>, %wb: tensor<6x4x3x3xf32, #B>, %xs0: tensor<5x4x7x7xf32, #S0>, %ws0: tensor<6x4x3x3xf32, #S0>,
                       %xs1: tensor<5x4x7x7xf32, #S1>, %ws1: tensor<6x4x3x3xf32, #S1>, %xp: tensor<5x4x7x7xf32, #P>, %wp: tensor<6x4x3x3xf32, #P>,
                       %xs0_s1: tensor<5x4x7x7xf32, #S0_S1>, %wb_s1: tensor<6x4x3x3xf32, #B_S1>, %xs0_b: tensor<5x4x7x7xf32, #S0_B>,
                       %wb_s0: tensor<6x4x3x3xf32, #B_S0>) {
  %0 = nn.convolution %xb, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>, tensor<6x4x3x3xf32, #B>) -> tensor<5x6x7x7xf32, #B>
  %1 = nn.convolution %xs0, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0>, tensor<6x4x3x3xf32, #B>) -> tensor<5x6x7x7xf32, #S0>
  %2 = nn.convolution %xb, %ws0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>, tensor<6x4x3x3xf32, #S0>) -> tensor<5x6x7x7xf32, #S1>
  %3 = nn.convolution %xs1, %ws1 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S1>, tensor<6x4x3x3xf32, #S1>) -> tensor<5x6x7x7xf32, #P>
  %4 = nn.convolution %xp, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #P>, tensor<6x4x3x3xf32, #B>) -> tensor<5x6x7x7xf32, #P>
  %5 = nn.convolution %xb, %wp {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>, tensor<6x4x3x3xf32, #P>) -> tensor<5x6x7x7xf32, #P>
  // Samples on one axis, channels on the other.
  %6 = nn.convolution %xs0_s1, %wb_s1 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0_S1>, tensor<6x4x3x3xf32, #B_S1>) -> tensor<5x6x7x7xf32, #S0_P>
  %7 = nn.convolution %xs0_b, %wb_s0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0_B>, tensor<6x4x3x3xf32, #B_S0>) -> tensor<5x6x7x7xf32, #S0_S1>
  return
}

// Of the gradients, what is summed over are the outputs, and the samples.
// CHECK-LABEL: func.func @convolution_grads
// CHECK-COUNT-12: nn.convolution_
func.func @convolution_grads(%yb: tensor<5x6x7x7xf32, #B>, %wb: tensor<6x4x3x3xf32, #B>, %ys0: tensor<5x6x7x7xf32, #S0>,
                             %ys1: tensor<5x6x7x7xf32, #S1>, %ws0: tensor<6x4x3x3xf32, #S0>, %ws1: tensor<6x4x3x3xf32, #S1>,
                             %yp: tensor<5x6x7x7xf32, #P>, %wp: tensor<6x4x3x3xf32, #P>, %xb: tensor<5x4x7x7xf32, #B>,
                             %xs0: tensor<5x4x7x7xf32, #S0>, %xs1: tensor<5x4x7x7xf32, #S1>, %xp: tensor<5x4x7x7xf32, #P>) {
  %0 = nn.convolution_data_grad %yb, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #B>, tensor<6x4x3x3xf32, #B>) -> tensor<5x4x7x7xf32, #B>
  %1 = nn.convolution_data_grad %ys0, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S0>, tensor<6x4x3x3xf32, #B>) -> tensor<5x4x7x7xf32, #S0>
  %2 = nn.convolution_data_grad %ys1, %ws0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S1>, tensor<6x4x3x3xf32, #S0>) -> tensor<5x4x7x7xf32, #P>
  %3 = nn.convolution_data_grad %yb, %ws1 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #B>, tensor<6x4x3x3xf32, #S1>) -> tensor<5x4x7x7xf32, #S1>
  %4 = nn.convolution_data_grad %yp, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #P>, tensor<6x4x3x3xf32, #B>) -> tensor<5x4x7x7xf32, #P>
  %5 = nn.convolution_data_grad %yb, %wp {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #B>, tensor<6x4x3x3xf32, #P>) -> tensor<5x4x7x7xf32, #P>
  %6 = nn.convolution_weight_grad %yb, %xb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #B>, tensor<5x4x7x7xf32, #B>) -> tensor<6x4x3x3xf32, #B>
  %7 = nn.convolution_weight_grad %ys0, %xs0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S0>, tensor<5x4x7x7xf32, #S0>) -> tensor<6x4x3x3xf32, #P>
  %8 = nn.convolution_weight_grad %ys1, %xb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S1>, tensor<5x4x7x7xf32, #B>) -> tensor<6x4x3x3xf32, #S0>
  %9 = nn.convolution_weight_grad %yb, %xs1 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #B>, tensor<5x4x7x7xf32, #S1>) -> tensor<6x4x3x3xf32, #S1>
  %10 = nn.convolution_weight_grad %yp, %xb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #P>, tensor<5x4x7x7xf32, #B>) -> tensor<6x4x3x3xf32, #P>
  %11 = nn.convolution_weight_grad %yb, %xp {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #B>, tensor<5x4x7x7xf32, #P>) -> tensor<6x4x3x3xf32, #P>
  return
}

// Several groups stand alone, and are split whole: two of two channels and three outputs each.
// CHECK-LABEL: func.func @convolution_of_groups
// CHECK-COUNT-8: nn.convolution
func.func @convolution_of_groups(%xb: tensor<5x4x7x7xf32, #B>, %wb: tensor<6x2x3x3xf32, #B>, %xs0: tensor<5x4x7x7xf32, #S0>,
                                 %xs1: tensor<5x4x7x7xf32, #S1>, %ws0: tensor<6x2x3x3xf32, #S0>, %xp: tensor<5x4x7x7xf32, #P>,
                                 %wp: tensor<6x2x3x3xf32, #P>, %ys1: tensor<5x6x7x7xf32, #S1>, %ys0: tensor<5x6x7x7xf32, #S0>) {
  %0 = nn.convolution %xb, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>, tensor<6x2x3x3xf32, #B>) -> tensor<5x6x7x7xf32, #B>
  %1 = nn.convolution %xs0, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0>, tensor<6x2x3x3xf32, #B>) -> tensor<5x6x7x7xf32, #S0>
  %2 = nn.convolution %xs1, %ws0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S1>, tensor<6x2x3x3xf32, #S0>) -> tensor<5x6x7x7xf32, #S1>
  %3 = nn.convolution %xp, %wb {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #P>, tensor<6x2x3x3xf32, #B>) -> tensor<5x6x7x7xf32, #P>
  %4 = nn.convolution %xb, %wp {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>, tensor<6x2x3x3xf32, #P>) -> tensor<5x6x7x7xf32, #P>
  %5 = nn.convolution_data_grad %ys1, %ws0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S1>, tensor<6x2x3x3xf32, #S0>) -> tensor<5x4x7x7xf32, #S1>
  %6 = nn.convolution_weight_grad %ys1, %xs1 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S1>, tensor<5x4x7x7xf32, #S1>) -> tensor<6x2x3x3xf32, #S0>
  %7 = nn.convolution_weight_grad %ys0, %xs0 {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x6x7x7xf32, #S0>, tensor<5x4x7x7xf32, #S0>) -> tensor<6x2x3x3xf32, #P>
  return
}

#T1 = #sbp.nd<#three, [S(1)]>
#T1by2 = #sbp.nd<#three, [S(1 by 2)]>
#T0by2 = #sbp.nd<#three, [S(0 by 2)]>
// A group for each channel, of two outputs, which stay together.
// CHECK-LABEL: func.func @convolution_of_channels
// CHECK-COUNT-4: nn.convolution
func.func @convolution_of_channels(%x: tensor<5x4x7x7xf32, #T1>, %w: tensor<8x1x3x3xf32, #T0by2>, %y: tensor<5x8x7x7xf32, #T1by2>,
                                   %two: tensor<5x2x7x7xf32, #T1>, %v: tensor<2x1x3x3xf32, #T0>) {
  %0 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #T1>, tensor<8x1x3x3xf32, #T0by2>) -> tensor<5x8x7x7xf32, #T1by2>
  %1 = nn.convolution_data_grad %y, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x8x7x7xf32, #T1by2>, tensor<8x1x3x3xf32, #T0by2>) -> tensor<5x4x7x7xf32, #T1>
  %2 = nn.convolution_weight_grad %y, %x {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x8x7x7xf32, #T1by2>, tensor<5x4x7x7xf32, #T1>) -> tensor<8x1x3x3xf32, #T0by2>
  // Two groups: the third rank has none, and no output.
  %3 = nn.convolution %two, %v {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x2x7x7xf32, #T1>, tensor<2x1x3x3xf32, #T0>) -> tensor<5x2x7x7xf32, #T1>
  return
}

// All but the image: samples, channels, or none; a sum of largest elements is not the largest of sums.
// CHECK-LABEL: func.func @max_pool
// CHECK-COUNT-5: nn.max_pool %
func.func @max_pool(%xb: tensor<5x4x7x7xf32, #B>, %xs0: tensor<5x4x7x7xf32, #S0>, %xs1: tensor<5x4x7x7xf32, #S1>,
                    %xs0_s1: tensor<5x4x7x7xf32, #S0_S1>, %image: tensor<7x7xf32, #B>) {
  %0 = nn.max_pool %xb {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>) -> tensor<5x4x4x4xf32, #B>
  %1 = nn.max_pool %xs0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0>) -> tensor<5x4x4x4xf32, #S0>
  %2 = nn.max_pool %xs1 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S1>) -> tensor<5x4x4x4xf32, #S1>
  %3 = nn.max_pool %xs0_s1 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0_S1>) -> tensor<5x4x4x4xf32, #S0_S1>
  %4 = nn.max_pool %image {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<7x7xf32, #B>) -> tensor<4x4xf32, #B>
  return
}

// CHECK-LABEL: func.func @max_pool_positions
// CHECK-COUNT-5: = nn.max_pool_positions
func.func @max_pool_positions(%xb: tensor<5x4x7x7xf32, #B>, %yb: tensor<5x4x4x4xf32, #B>, %xs0: tensor<5x4x7x7xf32, #S0>, %ys0: tensor<5x4x4x4xf32, #S0>,
                              %xs1: tensor<5x4x7x7xf32, #S1>, %ys1: tensor<5x4x4x4xf32, #S1>, %xs0_s1: tensor<5x4x7x7xf32, #S0_S1>,
                              %ys0_s1: tensor<5x4x4x4xf32, #S0_S1>, %image: tensor<7x7xf32, #B>, %largest: tensor<4x4xf32, #B>) {
  %0 = nn.max_pool_positions %xb, %yb {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #B>, tensor<5x4x4x4xf32, #B>) -> tensor<5x4x4x4xi64, #B>
  %1 = nn.max_pool_positions %xs0, %ys0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0>, tensor<5x4x4x4xf32, #S0>) -> tensor<5x4x4x4xi64, #S0>
  %2 = nn.max_pool_positions %xs1, %ys1 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S1>, tensor<5x4x4x4xf32, #S1>) -> tensor<5x4x4x4xi64, #S1>
  %3 = nn.max_pool_positions %xs0_s1, %ys0_s1 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x7x7xf32, #S0_S1>, tensor<5x4x4x4xf32, #S0_S1>) -> tensor<5x4x4x4xi64, #S0_S1>
  %4 = nn.max_pool_positions %image, %largest {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<7x7xf32, #B>, tensor<4x4xf32, #B>) -> tensor<4x4xi64, #B>
  return
}

// Of addends of the gradient alone.
// CHECK-LABEL: func.func @max_pool_grad
// CHECK-COUNT-6: = nn.max_pool_grad
func.func @max_pool_grad(%gb: tensor<5x4x4x4xf32, #B>, %pb: tensor<5x4x4x4xi64, #B>, %gs0: tensor<5x4x4x4xf32, #S0>, %ps0: tensor<5x4x4x4xi64, #S0>,
                         %gs1: tensor<5x4x4x4xf32, #S1>, %ps1: tensor<5x4x4x4xi32, #S1>, %gp: tensor<5x4x4x4xf32, #P>, %gs0_s1: tensor<5x4x4x4xf32, #S0_S1>,
                         %ps0_s1: tensor<5x4x4x4xi64, #S0_S1>, %gs0_p: tensor<5x4x4x4xf32, #S0_P>, %ps0_b: tensor<5x4x4x4xi64, #S0_B>) {
  %0 = nn.max_pool_grad %gb, %pb {extents = array<i64: 7, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #B>, tensor<5x4x4x4xi64, #B>) -> tensor<5x4x7x7xf32, #B>
  %1 = nn.max_pool_grad %gs0, %ps0 {extents = array<i64: 7, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #S0>, tensor<5x4x4x4xi64, #S0>) -> tensor<5x4x7x7xf32, #S0>
  %2 = nn.max_pool_grad %gs1, %ps1 {extents = array<i64: 7, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #S1>, tensor<5x4x4x4xi32, #S1>) -> tensor<5x4x7x7xf32, #S1>
  %3 = nn.max_pool_grad %gp, %pb {extents = array<i64: 7, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #P>, tensor<5x4x4x4xi64, #B>) -> tensor<5x4x7x7xf32, #P>
  %4 = nn.max_pool_grad %gs0_s1, %ps0_s1 {extents = array<i64: 7, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #S0_S1>, tensor<5x4x4x4xi64, #S0_S1>) -> tensor<5x4x7x7xf32, #S0_S1>
  %5 = nn.max_pool_grad %gs0_p, %ps0_b {extents = array<i64: 7, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<5x4x4x4xf32, #S0_P>, tensor<5x4x4x4xi64, #S0_B>) -> tensor<5x4x7x7xf32, #S0_P>
  return
}

// Comparisons are of any piece, as are erf and nn.stop_gradient, which lets addends pass, too: it changes no value.
// CHECK-LABEL: func.func @without_gradient
// CHECK-COUNT-8: = nn.
func.func @without_gradient(%s: tensor<5x3xf32, #S1>, %flat: tensor<5x3xf32, #Sf>, %row: tensor<3xf32, #S0>, %column: tensor<5x1xf32, #B>,
                            %p: tensor<5x3xf32, #P>) {
  %0 = nn.erf %s : (tensor<5x3xf32, #S1>) -> tensor<5x3xf32, #S1>
  %1 = nn.erf %flat : (tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  %2 = nn.compare %s, %row {predicate = "lt"} : (tensor<5x3xf32, #S1>, tensor<3xf32, #S0>) -> tensor<5x3xi32, #S1>
  %3 = nn.compare %s, %column {predicate = "ne"} : (tensor<5x3xf32, #S1>, tensor<5x1xf32, #B>) -> tensor<5x3xf32, #S1>
  %4 = nn.compare %flat, %flat {predicate = "ge"} : (tensor<5x3xf32, #Sf>, tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  %5 = nn.stop_gradient %s : (tensor<5x3xf32, #S1>) -> tensor<5x3xf32, #S1>
  %6 = nn.stop_gradient %flat : (tensor<5x3xf32, #Sf>) -> tensor<5x3xf32, #Sf>
  %7 = nn.stop_gradient %p : (tensor<5x3xf32, #P>) -> tensor<5x3xf32, #P>
  return
}
