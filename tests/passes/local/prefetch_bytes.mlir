// Gathers that are ahead of their use take no more bytes than the policy says, whatever the number of groups.
// RUN: splitcast-opt %s -ccl-prefetch | FileCheck %s
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w1 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 3>
sbp.variable @w2 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 3>
sbp.variable @w3 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 3>
sbp.variable @w4 : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 3, prefetch_bytes = 64>
ccl.storage @s1 : tensor<4xf32> holds [@w1] at [0]
ccl.storage @s2 : tensor<4xf32> holds [@w2] at [0]
ccl.storage @s3 : tensor<4xf32> holds [@w3] at [0]
ccl.storage @s4 : tensor<4xf32> holds [@w4] at [0]

// Two have 64 bytes: "four" goes ahead of "three", and not of "two".
// CHECK: ccl.all_gather "one"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: ccl.all_gather "two"
// CHECK-NEXT: ccl.all_gather "three"
// CHECK-NEXT: nn.relu
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: ccl.all_gather "four"
// CHECK-NEXT: nn.tanh
func.func @gathers() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %1 = ccl.read @s2 : tensor<4xf32>
  %2 = ccl.read @s3 : tensor<4xf32>
  %3 = ccl.read @s4 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %4 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %4 : (tensor<8xf32>) -> tensor<8xf32>
  %b = ccl.all_gather "two" %1 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %5 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.tanh %5 : (tensor<8xf32>) -> tensor<8xf32>
  %c = ccl.all_gather "three" %2 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %6 = ccl.wait %c : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %z = nn.exp %6 : (tensor<8xf32>) -> tensor<8xf32>
  %d = ccl.all_gather "four" %3 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %7 = ccl.wait %d : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return %x, %y, %z, %7 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
