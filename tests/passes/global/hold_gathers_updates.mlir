// What is run before updates are written out is not kept: nothing says what such an op changes.
// RUN: splitcast-opt %s -sbp-hold-gathers | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<10x4xf32, #B> storage #S0_

// CHECK: func.func @minimizes(
func.func @minimizes(%x: tensor<10x4xf32, #S0_>) {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %2 = sbp.boxing %1 : tensor<10x4xf32, #B> -> tensor<10x4xf32, #S0_>
  %3 = nn.mul %x, %2 : (tensor<10x4xf32, #S0_>, tensor<10x4xf32, #S0_>) -> tensor<10x4xf32, #S0_>
  %4 = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<10x4xf32, #S0_>) -> tensor<f32, #sbp.nd<#p, [P]>>
  nn.minimize %4 : tensor<f32, #sbp.nd<#p, [P]>> with #nn.sgd<lr = 0.5>
  return
}
