// What indices name, divided among ranks: where a rank's part begins, ragged, empty, and on two axes.
// RUN: splitcast-opt %s -sbp-localize=rank=2 -split-input-file | FileCheck %s

// Rows of 7 are 3, 2 and 2: this rank has rows 5 and 6.
#p = #sbp.placement<"cpu", [tp = 3]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#P = #sbp.nd<#p, [P]>
#S1 = #sbp.nd<#p, [S(1)]>
// CHECK-LABEL: func.func @table
// CHECK: nn.embedding %arg0, %arg1 {first = 5 : i64, places = 7 : i64} : (tensor<2x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
// CHECK: nn.embedding_grad %arg2, %arg1 {first = 5 : i64, places = 7 : i64} : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<2x4xf32>
func.func @table(%table: tensor<7x4xf32, #S0>, %ids: tensor<6xi64, #B>, %g: tensor<6x4xf32, #B>) -> (tensor<6x4xf32, #B>, tensor<7x4xf32, #S0>) {
  %0 = nn.embedding %table, %ids : (tensor<7x4xf32, #S0>, tensor<6xi64, #B>) -> tensor<6x4xf32, #P>
  %1 = sbp.boxing %0 : tensor<6x4xf32, #P> -> tensor<6x4xf32, #B>
  %2 = nn.embedding_grad %g, %ids : (tensor<6x4xf32, #B>, tensor<6xi64, #B>) -> tensor<7x4xf32, #S0>
  return %1, %2 : tensor<6x4xf32, #B>, tensor<7x4xf32, #S0>
}

// Of 2 rows it has none.
// CHECK-LABEL: func.func @none
// CHECK: nn.embedding %arg0, %arg1 {first = 2 : i64, places = 2 : i64} : (tensor<0x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
func.func @none(%table: tensor<2x4xf32, #S0>, %ids: tensor<6xi64, #B>) -> tensor<6x4xf32, #B> {
  %0 = nn.embedding %table, %ids : (tensor<2x4xf32, #S0>, tensor<6xi64, #B>) -> tensor<6x4xf32, #P>
  %1 = sbp.boxing %0 : tensor<6x4xf32, #P> -> tensor<6x4xf32, #B>
  return %1 : tensor<6x4xf32, #B>
}

// CHECK-LABEL: func.func @whole
// CHECK: nn.embedding %arg0, %arg1 : (tensor<7x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
func.func @whole(%table: tensor<7x4xf32, #B>, %ids: tensor<6xi64, #S0>) -> tensor<6x4xf32, #S0> {
  %0 = nn.embedding %table, %ids : (tensor<7x4xf32, #B>, tensor<6xi64, #S0>) -> tensor<6x4xf32, #S0>
  return %0 : tensor<6x4xf32, #S0>
}

// CHECK-LABEL: func.func @classes
// CHECK: nn.take %arg0, %arg1 {first = 6 : i64, ignored = -1 : i64, places = 9 : i64} : (tensor<6x3xf32>, tensor<6xi64>) -> tensor<6xf32>
// CHECK: nn.softmax_cross_entropy_grad %arg2, %arg0, %arg1, %arg2 {first = 6 : i64, places = 9 : i64}
func.func @classes(%x: tensor<6x9xf32, #S1>, %ids: tensor<6xi64, #B>, %g: tensor<6xf32, #B>) -> (tensor<6xf32, #B>, tensor<6x9xf32, #S1>) {
  %0 = nn.take %x, %ids {ignored = -1 : i64} : (tensor<6x9xf32, #S1>, tensor<6xi64, #B>) -> tensor<6xf32, #P>
  %1 = sbp.boxing %0 : tensor<6xf32, #P> -> tensor<6xf32, #B>
  %2 = nn.softmax_cross_entropy_grad %g, %x, %ids, %g : (tensor<6xf32, #B>, tensor<6x9xf32, #S1>, tensor<6xi64, #B>, tensor<6xf32, #B>) -> tensor<6x9xf32, #S1>
  return %1, %2 : tensor<6xf32, #B>, tensor<6x9xf32, #S1>
}

// -----

// 7 rows over two axes: 4 and 3, and of the latter 2 and 1.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#S0S0 = #sbp.nd<#p, [S(0), S(0)]>
#BB = #sbp.nd<#p, [B, B]>
#PP = #sbp.nd<#p, [P, P]>
// CHECK-LABEL: func.func @nested
// CHECK: nn.embedding %arg0, %arg1 {first = 4 : i64, places = 7 : i64} : (tensor<2x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
func.func @nested(%table: tensor<7x4xf32, #S0S0>, %ids: tensor<6xi64, #BB>) -> tensor<6x4xf32, #BB> {
  %0 = nn.embedding %table, %ids : (tensor<7x4xf32, #S0S0>, tensor<6xi64, #BB>) -> tensor<6x4xf32, #PP>
  %1 = sbp.boxing %0 : tensor<6x4xf32, #PP> -> tensor<6x4xf32, #BB>
  return %1 : tensor<6x4xf32, #BB>
}
