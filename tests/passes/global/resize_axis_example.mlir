// The example of 'sbp-resize-axis': what a model costs on 1,024 ranks can be asked on one.
// RUN: splitcast-opt %s -sbp-resize-axis="axis=dp size=1024" | FileCheck %s

#cpu_dp4_ = #sbp.placement<"cpu", [dp = 4]>
// CHECK: #cpu_dp1024_ = #sbp.placement<"cpu", [dp = 1024]>
// CHECK: #B = #sbp.nd<#cpu_dp1024_, [B]>
// CHECK: #S0_ = #sbp.nd<#cpu_dp1024_, [S(0)]>
#B = #sbp.nd<#cpu_dp4_, [B]>
#S0 = #sbp.nd<#cpu_dp4_, [S(0)]>

// Attributes of ops, types of values, of arguments and of functions; shapes are global, so they stay.
// CHECK: module attributes {sbp.placement = #cpu_dp1024_}
module attributes {sbp.placement = #cpu_dp4_} {
  // CHECK: sbp.variable @w : tensor<10x4xf32, #B> storage #S0_ update #S0_
  sbp.variable @w : tensor<10x4xf32, #B> storage #S0 update #S0
  // CHECK: func.func @f(%[[X:.*]]: tensor<8x10xf32, #S0_>) -> tensor<8x10xf32, #B>
  func.func @f(%x: tensor<8x10xf32, #S0>) -> tensor<8x10xf32, #B> {
    // CHECK: sbp.boxing %[[X]] : tensor<8x10xf32, #S0_> -> tensor<8x10xf32, #B>
    %0 = sbp.boxing %x : tensor<8x10xf32, #S0> -> tensor<8x10xf32, #B>
    return %0 : tensor<8x10xf32, #B>
  }
}
