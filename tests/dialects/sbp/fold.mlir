// What upstream's --canonicalize and --cse may do to the ops, and what not.
// RUN: splitcast-opt %s -canonicalize -cse | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#P = #sbp.nd<#p, [P]>
sbp.variable @w : tensor<8x4xf32, #B>
sbp.variable @v : tensor<8x4xf32, #B>

// CHECK-LABEL: func.func @same_signature
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @same_signature(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32, #S0> {
  %0 = sbp.boxing %x : tensor<8x4xf32, #S0> -> tensor<8x4xf32, #S0>
  return %0 : tensor<8x4xf32, #S0>
}

// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @there_and_back(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32, #S0> {
  %0 = sbp.boxing %x : tensor<8x4xf32, #S0> -> tensor<8x4xf32, #B>
  %1 = sbp.boxing %0 : tensor<8x4xf32, #B> -> tensor<8x4xf32, #S0>
  return %1 : tensor<8x4xf32, #S0>
}

// An all-reduce and then a slice is a reduce-scatter; the bucket that one of them names stays.
// CHECK-LABEL: func.func @composed
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[Y:.*]] = sbp.boxing %[[X]] : tensor<8x4xf32, #P> -> tensor<8x4xf32, #S0_> bucket #sbp.slot<@b, 0 of 64>
// CHECK-NEXT: return %[[Y]]
func.func @composed(%x: tensor<8x4xf32, #P>) -> tensor<8x4xf32, #S0> {
  %0 = sbp.boxing %x : tensor<8x4xf32, #P> -> tensor<8x4xf32, #B> bucket #sbp.slot<@b, 0 of 64>
  %1 = sbp.boxing %0 : tensor<8x4xf32, #B> -> tensor<8x4xf32, #S0>
  return %1 : tensor<8x4xf32, #S0>
}

// The all-reduced value is wanted too, so it is communicated once.
// CHECK-LABEL: func.func @middle_is_used
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[B:.*]] = sbp.boxing %[[X]] : tensor<8x4xf32, #P> -> tensor<8x4xf32, #B>
// CHECK-NEXT: %[[S:.*]] = sbp.boxing %[[B]] : tensor<8x4xf32, #B> -> tensor<8x4xf32, #S0_>
// CHECK-NEXT: return %[[B]], %[[S]]
func.func @middle_is_used(%x: tensor<8x4xf32, #P>) -> (tensor<8x4xf32, #B>, tensor<8x4xf32, #S0>) {
  %0 = sbp.boxing %x : tensor<8x4xf32, #P> -> tensor<8x4xf32, #B>
  %1 = sbp.boxing %0 : tensor<8x4xf32, #B> -> tensor<8x4xf32, #S0>
  return %0, %1 : tensor<8x4xf32, #B>, tensor<8x4xf32, #S0>
}

// What a user asks for is no part of a chain before signatures are decided.
// CHECK-LABEL: func.func @undecided
// CHECK-COUNT-2: sbp.boxing
func.func @undecided(%x: tensor<8x4xf32>) -> tensor<8x4xf32, #S1> {
  %0 = sbp.boxing %x : tensor<8x4xf32> -> tensor<8x4xf32, #S0>
  %1 = sbp.boxing %0 : tensor<8x4xf32, #S0> -> tensor<8x4xf32, #S1>
  return %1 : tensor<8x4xf32, #S1>
}

// Equal gathers in two scopes stay two; in one scope they are one.
// CHECK-LABEL: func.func @fences
// CHECK: %[[F:.*]] = sbp.scope "forward"
// CHECK: %[[G:.*]] = sbp.scope "forward"
// CHECK: %[[A:.*]] = sbp.fence %{{.*}} in %[[F]]
// CHECK-NEXT: %[[C:.*]] = sbp.boxing %[[A]]
// CHECK-NEXT: %[[D:.*]] = sbp.fence %{{.*}} in %[[G]]
// CHECK-NEXT: %[[E:.*]] = sbp.boxing %[[D]]
// CHECK-NEXT: return %[[C]], %[[E]], %[[E]]
func.func @fences(%x: tensor<8x4xf32, #S0>) -> (tensor<8x4xf32, #B>, tensor<8x4xf32, #B>, tensor<8x4xf32, #B>) {
  %f = sbp.scope "forward"
  %g = sbp.scope "forward"
  %0 = sbp.fence %x in %f : tensor<8x4xf32, #S0>
  %1 = sbp.boxing %0 : tensor<8x4xf32, #S0> -> tensor<8x4xf32, #B>
  %2 = sbp.fence %x in %g : tensor<8x4xf32, #S0>
  %3 = sbp.boxing %2 : tensor<8x4xf32, #S0> -> tensor<8x4xf32, #B>
  %4 = sbp.fence %x in %g : tensor<8x4xf32, #S0>
  %5 = sbp.boxing %4 : tensor<8x4xf32, #S0> -> tensor<8x4xf32, #B>
  return %1, %3, %5 : tensor<8x4xf32, #B>, tensor<8x4xf32, #B>, tensor<8x4xf32, #B>
}

// A scope that nothing stands in costs nothing.
// CHECK-LABEL: func.func @unused_scope
// CHECK-NEXT: return
func.func @unused_scope(%x: tensor<8x4xf32, #S0>) {
  %f = sbp.scope "forward"
  %0 = sbp.fence %x in %f : tensor<8x4xf32, #S0>
  return
}

// Reads are merged, but not across an assignment.
// CHECK-LABEL: func.func @reads
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[A:.*]] = sbp.read @w
// CHECK-NEXT: sbp.assign @w, %[[X]]
// CHECK-NEXT: %[[B:.*]] = sbp.read @w
// CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
func.func @reads(%x: tensor<8x4xf32, #B>) -> (tensor<8x4xf32, #B>, tensor<8x4xf32, #B>, tensor<8x4xf32, #B>) {
  %0 = sbp.read @w : tensor<8x4xf32, #B>
  %1 = sbp.read @w : tensor<8x4xf32, #B>
  sbp.assign @w, %x : tensor<8x4xf32, #B>
  %2 = sbp.read @w : tensor<8x4xf32, #B>
  return %0, %1, %2 : tensor<8x4xf32, #B>, tensor<8x4xf32, #B>, tensor<8x4xf32, #B>
}
