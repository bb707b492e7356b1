// The example of 'sbp-hoist-gathers': micro-batches that gather what a prologue can.
// RUN: splitcast-opt %s -split-input-file -sbp-hoist-gathers -sbp-verify-global | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#keep = #sbp.policy<stage = 3, strategy = tensor, keep = step>
sbp.variable @w : tensor<10x4xf32, #B> storage #S0_ update #S0_ policy #keep
// CHECK: sbp.variable @w.gathered : tensor<10x4xf32, #B> group "train" frozen carried
// CHECK: func.func @train.prologue() {
// CHECK-NEXT: %[[read:.*]] = sbp.read @w : tensor<10x4xf32, #S0_>
// CHECK-NEXT: %[[whole:.*]] = sbp.boxing %[[read]] : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
// CHECK-NEXT: sbp.assign @w.gathered, %[[whole]] : tensor<10x4xf32, #B>
// CHECK-NEXT: return
// Forward and backward gather, and read the same.
// CHECK: func.func @train.first(%[[x:.*]]: tensor<8x10xf32, #S0_>) {
// CHECK-NEXT: %[[w:.*]] = sbp.read @w.gathered : tensor<10x4xf32, #B>
// CHECK-NEXT: sbp.scope "backward"
// CHECK-NEXT: nn.matmul %[[x]], %[[w]]
// CHECK-NEXT: %[[w:.*]] = sbp.read @w.gathered : tensor<10x4xf32, #B>
// CHECK-NOT: sbp.read @w :
func.func @train.first(%x: tensor<8x10xf32, #S0_>) {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %s = sbp.scope "backward"
  %f = sbp.fence %0 in %s : tensor<10x4xf32, #S0_>
  %2 = nn.matmul %x, %1 : (tensor<8x10xf32, #S0_>, tensor<10x4xf32, #B>) -> tensor<8x4xf32, #S0_>
  %3 = sbp.boxing %f : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %4 = nn.matmul %2, %3 {transpose_b} : (tensor<8x4xf32, #S0_>, tensor<10x4xf32, #B>) -> tensor<8x10xf32, #S0_>
  sbp.assign @sum, %4 : tensor<8x10xf32, #S0_>
  return
}
sbp.variable @sum : tensor<8x10xf32, #S0_> carried
// What the step has assigned is gathered again.
// CHECK: func.func @train.last(
// CHECK: sbp.read @w.gathered
// CHECK: sbp.assign @w,
// CHECK-NEXT: %[[new:.*]] = sbp.read @w : tensor<10x4xf32, #S0_>
// CHECK-NEXT: sbp.boxing %[[new]] : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
// CHECK: sbp.schedule @train of 2 {
// CHECK-NEXT: sbp.run @train.prologue from 0 to 1 takes [] cut []
// CHECK-NEXT: sbp.run @train.first from 0 to 1 takes [0] cut [0]
// CHECK-NEXT: sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [-1]
func.func @train.last(%x: tensor<8x10xf32, #S0_>) -> tensor<10x4xf32, #B> {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %2 = sbp.boxing %1 : tensor<10x4xf32, #B> -> tensor<10x4xf32, #S0_>
  sbp.assign @w, %2 : tensor<10x4xf32, #S0_>
  %3 = sbp.read @w : tensor<10x4xf32, #S0_>
  %4 = sbp.boxing %3 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  return %4 : tensor<10x4xf32, #B>
}
sbp.schedule @train of 2 {
  sbp.run @train.first from 0 to 1 takes [0] cut [0]
  sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [-1]
}

// -----

// A run that assigns what it gathers runs again; a variable whose policy does not say so; what is gathered once.
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#keep = #sbp.policy<stage = 3, strategy = tensor, keep = step>
sbp.variable @assigned : tensor<8xf32, #B> storage #S0_ policy #keep
sbp.variable @always : tensor<8xf32, #B> storage #S0_ policy #sbp.policy<keep = always>
sbp.variable @once : tensor<8xf32, #B> storage #S0_ policy #keep
// CHECK-NOT: prologue
// CHECK: sbp.schedule @all of 3 {
// CHECK-NEXT: sbp.run @each
func.func @each() {
  %0 = sbp.read @assigned : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  %2 = sbp.read @always : tensor<8xf32, #S0_>
  %3 = sbp.boxing %2 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  %4 = nn.add %1, %3 : (tensor<8xf32, #B>, tensor<8xf32, #B>) -> tensor<8xf32, #B>
  %5 = sbp.boxing %4 : tensor<8xf32, #B> -> tensor<8xf32, #S0_>
  sbp.assign @assigned, %5 : tensor<8xf32, #S0_>
  return
}
func.func @end() -> tensor<8xf32, #B> {
  %0 = sbp.read @once : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  return %1 : tensor<8xf32, #B>
}
sbp.schedule @all of 3 {
  sbp.run @each from 0 to 2 takes [] cut []
  sbp.run @end from 2 to 3 takes [] cut [] gives [0] joined [-1]
}

// -----

// What is kept for the next step does not read what each step gathers; nothing is known of what another function does.
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#keep = #sbp.policy<stage = 3, strategy = tensor, keep = step>
sbp.variable @w : tensor<8xf32, #B> storage #S0_ policy #keep
sbp.variable @own : tensor<8xf32, #S0_> policy #keep
sbp.variable @held : tensor<8xf32, #B> carried
// CHECK: func.func @kept()
// CHECK-NEXT: sbp.read @w :
func.func @kept() {
  %0 = sbp.read @w : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  sbp.assign @held, %1 : tensor<8xf32, #B>
  return
}
// CHECK: func.func @uses(
// CHECK-NEXT: sbp.read @w.gathered :
// CHECK-NEXT: sbp.read @own :
func.func @uses() -> (tensor<8xf32, #B>, tensor<8xf32, #B>) {
  %0 = sbp.read @w : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  %2 = sbp.read @own : tensor<8xf32, #S0_>
  %3 = sbp.boxing %2 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  return %1, %3 : tensor<8xf32, #B>, tensor<8xf32, #B>
}
sbp.schedule @all of 2 {
  sbp.run @kept from 0 to 1 takes [] cut [] kept
  sbp.run @uses from 0 to 2 takes [] cut [] gives [0, 1] joined [0, 0]
}
