// Units belong to a number of ranks: one that makes no difference on the new number is left out.
// RUN: splitcast-opt %s -sbp-resize-axis="axis=dp size=4" | FileCheck %s --check-prefix=FOUR
// RUN: splitcast-opt %s -sbp-resize-axis="axis=dp size=5" | FileCheck %s --check-prefix=FIVE

#p = #sbp.placement<"cpu", [dp = 3]>
#U = #sbp.nd<#p, [S(0 by 5)]>
// FOUR: sbp.variable @w : tensor<40xf32, #S0_>
// FIVE: sbp.variable @w : tensor<40xf32, #S0by5_>
sbp.variable @w : tensor<40xf32, #U>
// FOUR: sbp.variable @stored : tensor<40xf32, #B> storage #S0_ update #S0_
// FIVE: sbp.variable @stored : tensor<40xf32, #B> storage #S0by5_ update #S0by5_
sbp.variable @stored : tensor<40xf32, #sbp.nd<#p, [B]>> storage #U update #U
// FOUR: func.func @f(%arg0: tensor<40xf32, #S0_>) -> tensor<40xf32, #S0_>
// FOUR-NEXT: nn.tanh %arg0 : (tensor<40xf32, #S0_>) -> tensor<40xf32, #S0_>
// FIVE: func.func @f(%arg0: tensor<40xf32, #S0by5_>) -> tensor<40xf32, #S0by5_>
// FIVE-NEXT: nn.tanh %arg0 : (tensor<40xf32, #S0by5_>) -> tensor<40xf32, #S0by5_>
func.func @f(%x: tensor<40xf32, #U>) -> tensor<40xf32, #U> {
  %0 = nn.tanh %x : (tensor<40xf32, #U>) -> tensor<40xf32, #U>
  return %0 : tensor<40xf32, #U>
}
