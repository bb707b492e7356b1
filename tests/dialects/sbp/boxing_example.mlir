// The example of sbp.boxing: rows that are split, on all ranks.
// RUN: splitcast-opt %s | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>

func.func @example(%0: tensor<10x4xf32, #S0>) -> tensor<10x4xf32, #B> {
  // CHECK: sbp.boxing %{{.*}} : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0> -> tensor<10x4xf32, #B>
  return %1 : tensor<10x4xf32, #B>
}
