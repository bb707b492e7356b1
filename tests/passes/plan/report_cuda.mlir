// On a GPU the peak is that of its own memory; the session's pieces of inputs and outputs are the host's.
// RUN: splitcast-opt %s -sbp-localize=rank=0 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null \
// RUN:   | FileCheck %s --match-full-lines

// CHECK: arena in all 4.000 MB
// CHECK-NEXT: live at once 4.000 MB
// CHECK-NEXT: memory per rank, shared by all functions:
// CHECK-NEXT: largest arena 4.000 MB
// CHECK-NEXT: inputs, outputs 4.000 MB
// CHECK-NEXT: memory per rank, in all, without the host's inputs and outputs:
// CHECK-NEXT: peak 4.000 MB
#B = #sbp.nd<#sbp.placement<"cuda", [dp = 1]>, [B]>
func.func @f(%x: tensor<1000000xf32, #B>) -> tensor<f32, #B> {
  %s = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<1000000xf32, #B>) -> tensor<f32, #B>
  return %s : tensor<f32, #B>
}
