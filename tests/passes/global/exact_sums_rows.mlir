// In a step whose sums are exact each rank computes its own rows of the batch, whatever costs least and wherever a user has
// put operands: with another number of ranks, micro-batches have the same addends.
// RUN: splitcast-opt %s -split-input-file -sbp-exact-sums=reproducible -sbp-propagate | FileCheck %s

// The rows of all ranks, as a user boxed them.
// @propagate_c8_legal
// CHECK-LABEL: func.func @boxed
// CHECK: %[[B:.*]] = sbp.boxing {{.*}} -> tensor<12x4xf32, #B>
// CHECK: %[[OWN:.*]] = sbp.boxing %[[B]] : tensor<12x4xf32, #B> -> tensor<12x4xf32, #S0_>
// CHECK: nn.reduce_sum %[[OWN]] {{.*}} : (tensor<12x4xf32, #S0_>) -> tensor<4xf32, #P>
#p = #sbp.placement<"cpu", [dp = 4]>
#S = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
sbp.variable @w : tensor<4xf32>
func.func @boxed(%x: tensor<12x4xf32, #S>) {
  %b = sbp.boxing %x : tensor<12x4xf32, #S> -> tensor<12x4xf32, #B>
  %g = nn.reduce_sum %b {dims = array<i64: 0>} : (tensor<12x4xf32, #B>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  sbp.assign @w, %f : tensor<4xf32>
  return
}

// -----

// A variable whose columns lie on the ranks of the batch is gathered, though the batch has fewer bytes.
// CHECK-LABEL: func.func @columns
// CHECK: %[[V:.*]] = sbp.boxing {{.*}} : tensor<4x512xf32, #S1_> -> tensor<4x512xf32, #B>
// CHECK: nn.matmul %{{.*}}, %[[V]] : (tensor<12x4xf32, #S0_>, tensor<4x512xf32, #B>) -> tensor<12x512xf32, #S0_>
#p = #sbp.placement<"cpu", [dp = 4]>
#S = #sbp.nd<#p, [S(0)]>
sbp.variable @v : tensor<4x512xf32, #sbp.nd<#p, [S(1)]>>
sbp.variable @w : tensor<512xf32>
func.func @columns(%x: tensor<12x4xf32, #S>) {
  %v = sbp.read @v : tensor<4x512xf32>
  %y = nn.matmul %x, %v : (tensor<12x4xf32, #S>, tensor<4x512xf32>) -> tensor<12x512xf32>
  %g = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<12x512xf32>) -> tensor<512xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<512xf32>
  sbp.assign @w, %f : tensor<512xf32>
  return
}
