// A matrix that its user has split is multiplied as it lies, though it has fewer bytes than the rows that are gathered
// for it; so is a table that is looked up in. A vector that is added to rows is gathered.
// RUN: splitcast-opt %s -sbp-propagate -split-input-file | FileCheck %s
#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
sbp.variable @up : tensor<8x16xf32, #S1>
sbp.variable @down : tensor<16x8xf32, #S0>
// CHECK-LABEL: func.func @matrices
// CHECK: %[[X:.*]] = sbp.boxing %arg0 : tensor<4096x8xf32, #S0_> -> tensor<4096x8xf32, #B>
// CHECK: nn.matmul %[[X]], %{{.*}} : (tensor<4096x8xf32, #B>, tensor<8x16xf32, #S1_>) -> tensor<4096x16xf32, #S1_>
// CHECK: nn.matmul {{.*}} : (tensor<4096x16xf32, #S1_>, tensor<16x8xf32, #S0_>) -> tensor<4096x8xf32, #P>
func.func @matrices(%x: tensor<4096x8xf32, #S0>) -> tensor<4096x8xf32> {
  %up = sbp.read @up : tensor<8x16xf32>
  %down = sbp.read @down : tensor<16x8xf32>
  %0 = nn.matmul %x, %up : (tensor<4096x8xf32, #S0>, tensor<8x16xf32>) -> tensor<4096x16xf32>
  %1 = nn.relu %0 : (tensor<4096x16xf32>) -> tensor<4096x16xf32>
  %2 = nn.matmul %1, %down : (tensor<4096x16xf32>, tensor<16x8xf32>) -> tensor<4096x8xf32>
  return %2 : tensor<4096x8xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @bias : tensor<8xf32, #S0>
// CHECK-LABEL: func.func @vector
// CHECK: sbp.boxing %{{.*}} : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
// CHECK: nn.add %arg0, {{.*}} -> tensor<4096x8xf32, #S0_>
func.func @vector(%x: tensor<4096x8xf32, #S0>) -> tensor<4096x8xf32> {
  %bias = sbp.read @bias : tensor<8xf32>
  %0 = nn.add %x, %bias : (tensor<4096x8xf32, #S0>, tensor<8xf32>) -> tensor<4096x8xf32>
  return %0 : tensor<4096x8xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @table : tensor<64x8xf32, #S0>
// Rows of a table that a rank has not are zeros of a sum: it stays as its user has split it, too.
// CHECK-LABEL: func.func @table_that_is_multiplied_too
// CHECK: nn.embedding {{.*}} : (tensor<64x8xf32, #S0_>, tensor<4096xi64, #B>) -> tensor<4096x8xf32, #P>
// CHECK: nn.matmul {{.*}} {transpose_b} : (tensor<4096x8xf32, #B>, tensor<64x8xf32, #S0_>) -> tensor<4096x64xf32, #S1_>
func.func @table_that_is_multiplied_too(%ids: tensor<4096xi64, #S0>) -> tensor<4096x64xf32> {
  %table = sbp.read @table : tensor<64x8xf32>
  %0 = nn.embedding %table, %ids : (tensor<64x8xf32>, tensor<4096xi64, #S0>) -> tensor<4096x8xf32>
  %1 = nn.matmul %0, %table {transpose_b} : (tensor<4096x8xf32>, tensor<64x8xf32>) -> tensor<4096x64xf32>
  return %1 : tensor<4096x64xf32>
}

// -----

// What is made again for backward has the elements of what forward made: it is used as that would be, gathered, and not
// as it would be cheapest for a tensor of its own.
#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
sbp.variable @w : tensor<8x8xf32, #S1>
// CHECK-LABEL: func.func @made_again
// CHECK: nn.matmul {{.*}} {transpose_a} : (tensor<4096x8xf32, #B>, tensor<4096x8xf32, #S1_>) -> tensor<8x8xf32, #S1_>
func.func @made_again(%x: tensor<4096x8xf32, #S0>, %g: tensor<4096x8xf32, #S1>) -> (tensor<4096x8xf32>, tensor<8x8xf32>) {
  %w = sbp.read @w : tensor<8x8xf32>
  %0 = nn.relu %x : (tensor<4096x8xf32, #S0>) -> tensor<4096x8xf32>
  %1 = nn.matmul %0, %w : (tensor<4096x8xf32>, tensor<8x8xf32>) -> tensor<4096x8xf32>
  %scope = sbp.scope "backward" group "w"
  %2 = sbp.fence %x in %scope : tensor<4096x8xf32, #S0>
  %3 = nn.relu %2 : (tensor<4096x8xf32, #S0>) -> tensor<4096x8xf32>
  %4 = nn.matmul %3, %g {transpose_a} : (tensor<4096x8xf32>, tensor<4096x8xf32, #S1>) -> tensor<8x8xf32>
  return %1, %4 : tensor<4096x8xf32>, tensor<8x8xf32>
}
