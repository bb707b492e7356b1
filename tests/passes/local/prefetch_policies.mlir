// A gather starts as far ahead, and a reduction is waited for as late, as the policy of its variables says, whatever the option is.
// RUN: splitcast-opt %s -ccl-prefetch | FileCheck %s
// RUN: splitcast-opt %s -ccl-prefetch=depth=0 | FileCheck %s
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
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %3 : (tensor<8xf32>) -> tensor<8xf32>
  %b = ccl.all_gather "two" %1 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %4 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %c = ccl.all_gather "three" %2 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %5 = ccl.wait %c : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %z = nn.exp %5 : (tensor<8xf32>) -> tensor<8xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// The result of a reduction is waited for behind what comes next, or at once, as the policy says of what it is an update of: where
// the result is fenced in it (@w1, @w3), and where what is added is (@w2).
// CHECK-LABEL: func.func @reductions
// CHECK: ccl.reduce_scatter "one"
// CHECK-NOT: ccl.wait
// CHECK: nn.exp
// CHECK: ccl.wait
// CHECK: ccl.reduce_scatter "two"
// CHECK-NOT: ccl.wait
// CHECK: nn.tanh
// CHECK: ccl.wait
// CHECK: ccl.reduce_scatter "three"
// CHECK-NEXT: ccl.wait
// CHECK: nn.relu
func.func @reductions(%g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %t1 = sbp.scope "update" of @w1
  %t2 = sbp.scope "update" of @w2
  %t3 = sbp.scope "update" of @w3
  %a = ccl.reduce_scatter "one" %g in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  %0 = ccl.wait %a : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %f1 = sbp.fence %0 in %t1 : tensor<4xf32>
  %x = nn.exp %g : (tensor<8xf32>) -> tensor<8xf32>
  %f2 = sbp.fence %g in %t2 : tensor<8xf32>
  %b = ccl.reduce_scatter "two" %f2 in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %b : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %y = nn.tanh %g : (tensor<8xf32>) -> tensor<8xf32>
  %c = ccl.reduce_scatter "three" %g in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  %2 = ccl.wait %c : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %f3 = sbp.fence %2 in %t3 : tensor<4xf32>
  %z = nn.relu %g : (tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s1, %f1 : tensor<4xf32>
  ccl.assign @s2, %1 : tensor<4xf32>
  ccl.assign @s3, %f3 : tensor<4xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
