// The example of 'sbp-insert-boxing': a variable that is stored split is gathered before the graph reads it.
// RUN: splitcast-opt %s -sbp-insert-boxing | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<10x4xf32, #B> storage #S0_

// CHECK-LABEL: func.func @example
// CHECK-NEXT: %[[scope:.*]] = sbp.scope "forward" group "w"
// CHECK-NEXT: %[[_0:.*]] = sbp.read @w : tensor<10x4xf32, #S0_>
// CHECK-NEXT: %[[_1:.*]] = sbp.fence %[[_0]] in %[[scope]] : tensor<10x4xf32, #S0_>
// CHECK-NEXT: %[[w:.*]] = sbp.boxing %[[_1]] : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
// CHECK-NEXT: nn.relu %[[w]]
func.func @example() -> tensor<10x4xf32, #B> {
  %w = sbp.read @w : tensor<10x4xf32, #B>
  %y = nn.relu %w : (tensor<10x4xf32, #B>) -> tensor<10x4xf32, #B>
  return %y : tensor<10x4xf32, #B>
}
