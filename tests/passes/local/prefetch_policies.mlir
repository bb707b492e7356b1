// A gather starts as far ahead as the policy of its variables says, whatever the option is.
// RUN: splitcast-opt %s -ccl-prefetch | FileCheck-19 %s
// RUN: splitcast-opt %s -ccl-prefetch=depth=0 | FileCheck-19 %s
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w1 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 1>
sbp.variable @w2 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 1>
sbp.variable @w3 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 0>
ccl.storage @s1 : tensor<4xf32> holds [@w1] at [0]
ccl.storage @s2 : tensor<4xf32> holds [@w2] at [0]
ccl.storage @s3 : tensor<4xf32> holds [@w3] at [0]

// CHECK: ccl.all_gather "one"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: ccl.all_gather "two"
// CHECK-NEXT: nn.relu
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: ccl.all_gather "three"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: nn.exp
func.func @gathers() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %1 = ccl.read @s2 : tensor<4xf32>
  %2 = ccl.read @s3 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %3 : (tensor<8xf32>) -> tensor<8xf32>
  %b = ccl.all_gather "two" %1 in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %4 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %c = ccl.all_gather "three" %2 in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %5 = ccl.wait %c : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %z = nn.exp %5 : (tensor<8xf32>) -> tensor<8xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
