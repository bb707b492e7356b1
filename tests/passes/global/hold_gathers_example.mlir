// The example of 'sbp-hold-gathers': a function that assigns nothing and gathers little keeps what it gathers.
// RUN: splitcast-opt %s -sbp-hold-gathers -sbp-verify-global | FileCheck %s
// RUN: splitcast-opt %s -sbp-hold-gathers=limit-bytes=159 | FileCheck %s --check-prefix=LIMIT
// RUN: not splitcast-opt %s -sbp-hold-gathers=limit-bytes=-1 2>&1 | FileCheck %s --check-prefix=BAD

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<10x4xf32, #B> storage #S0_
sbp.variable @n : tensor<4xf32, #B>

// BAD: error: 'sbp-hold-gathers' got limit-bytes=-1; it must be at least 0
// LIMIT-NOT: carried
// LIMIT: func.func @predict(%{{.*}}: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {
// CHECK: sbp.variable @w.gathered : tensor<10x4xf32, #B> group "predict" frozen carried
// CHECK: func.func @predict.prologue() {
// CHECK-NEXT: %[[read:.*]] = sbp.read @w : tensor<10x4xf32, #S0_>
// CHECK-NEXT: %[[whole:.*]] = sbp.boxing %[[read]] : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
// CHECK-NEXT: sbp.assign @w.gathered, %[[whole]] : tensor<10x4xf32, #B>
// CHECK-NEXT: return
// CHECK: func.func @predict.main(%[[x:.*]]: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {
// CHECK-NEXT: %[[held:.*]] = sbp.read @w.gathered : tensor<10x4xf32, #B>
// CHECK-NEXT: %[[n:.*]] = sbp.read @n
// CHECK-NEXT: %[[y:.*]] = nn.matmul %[[x]], %[[held]]
// CHECK: sbp.schedule @predict of 1 {
// CHECK-NEXT: sbp.run @predict.prologue from 0 to 1 takes [] cut [] kept
// CHECK-NEXT: sbp.run @predict.main from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
// CHECK-NEXT: }
func.func @predict(%x: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %n = sbp.read @n : tensor<4xf32, #B>
  %2 = nn.matmul %x, %1 : (tensor<8x10xf32, #S0_>, tensor<10x4xf32, #B>) -> tensor<8x4xf32, #S0_>
  return %2 : tensor<8x4xf32, #S0_>
}

// Assigns, so the next run reads other values.
// CHECK: func.func @train() -> tensor<10x4xf32, #B> {
func.func @train() -> tensor<10x4xf32, #B> {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  sbp.assign @w, %0 : tensor<10x4xf32, #S0_>
  return %1 : tensor<10x4xf32, #B>
}

// Reads what is whole already.
// CHECK: func.func @plain() -> tensor<4xf32, #B> {
func.func @plain() -> tensor<4xf32, #B> {
  %0 = sbp.read @n : tensor<4xf32, #B>
  return %0 : tensor<4xf32, #B>
}

// Gathers what is computed of an input.
// CHECK: func.func @computed(
func.func @computed(%x: tensor<8xf32, #S0_>) -> tensor<8xf32, #B> {
  %0 = nn.relu %x : (tensor<8xf32, #S0_>) -> tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  return %1 : tensor<8xf32, #B>
}

// What is gathered again after something is computed of it needs the first gather, which nothing else uses; what is
// computed of what is gathered stays; a cut communicates nothing.
// CHECK: func.func @again.prologue() {
// CHECK: %[[one:.*]] = sbp.boxing
// CHECK-NEXT: %[[relu:.*]] = nn.relu %[[one]]
// CHECK-NEXT: %[[cut:.*]] = sbp.boxing %[[relu]] : tensor<10x4xf32, #B> -> tensor<10x4xf32, #S0_>
// CHECK-NEXT: %[[two:.*]] = sbp.boxing %[[cut]] : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
// CHECK-NEXT: sbp.assign @again.gathered, %[[two]]
// CHECK-NEXT: return
// CHECK: func.func @again.main() -> (tensor<10x4xf32, #B>, tensor<10x4xf32, #B>) {
// CHECK-NEXT: %[[held:.*]] = sbp.read @again.gathered
// CHECK-NEXT: %[[tanh:.*]] = nn.tanh %[[held]]
// CHECK-NEXT: return %[[held]], %[[tanh]]
func.func @again() -> (tensor<10x4xf32, #B>, tensor<10x4xf32, #B>) {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %2 = nn.relu %1 : (tensor<10x4xf32, #B>) -> tensor<10x4xf32, #B>
  %3 = sbp.boxing %2 : tensor<10x4xf32, #B> -> tensor<10x4xf32, #S0_>
  %4 = sbp.boxing %3 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %5 = nn.tanh %4 : (tensor<10x4xf32, #B>) -> tensor<10x4xf32, #B>
  return %4, %5 : tensor<10x4xf32, #B>, tensor<10x4xf32, #B>
}

// What its user split is gathered where it is used; what ranks add up is, too; and nothing is no reason for a prologue.
sbp.variable @own : tensor<8xf32, #S0_>
sbp.variable @none : tensor<0x4xf32, #B> storage #S0_
// CHECK: func.func @split() -> tensor<8xf32, #B> {
func.func @split() -> tensor<8xf32, #B> {
  %0 = sbp.read @own : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  return %1 : tensor<8xf32, #B>
}
// CHECK: func.func @sums() -> tensor<4x4xf32, #B> {
func.func @sums() -> tensor<4x4xf32, #B> {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = nn.matmul %0, %0 {transpose_a} : (tensor<10x4xf32, #S0_>, tensor<10x4xf32, #S0_>) -> tensor<4x4xf32, #sbp.nd<#p, [P]>>
  %2 = sbp.boxing %1 : tensor<4x4xf32, #sbp.nd<#p, [P]>> -> tensor<4x4xf32, #B>
  return %2 : tensor<4x4xf32, #B>
}
// CHECK: func.func @empty() -> tensor<0x4xf32, #B> {
func.func @empty() -> tensor<0x4xf32, #B> {
  %0 = sbp.read @none : tensor<0x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<0x4xf32, #S0_> -> tensor<0x4xf32, #B>
  return %1 : tensor<0x4xf32, #B>
}
