// The example of 'ccl-update-as-reduced': while %y is computed, the gradient is needed no more.
// RUN: splitcast-opt %s -ccl-update-as-reduced | FileCheck %s

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B> policy #sbp.policy<stage = 2>
ccl.storage @s : tensor<4xf32> holds [@w] at [0]

// CHECK-LABEL: func.func @example
// CHECK: %[[w:.*]] = ccl.read @s
// CHECK: %[[one:.*]] = ccl.wait %[[p:.*]] : {{.*}}
// CHECK-NEXT: %[[u:.*]] = sbp.scope "update" group "w"
// CHECK-NEXT: %[[_1:.*]] = sbp.fence %[[one]] in %[[u]] : {{.*}}
// CHECK-NEXT: %[[_2:.*]] = nn.sub %[[w]], %[[_1]] : {{.*}}
// CHECK-NEXT: ccl.assign @s, %[[_2]] : {{.*}}
// CHECK-NEXT: %[[y:.*]] = nn.relu %[[arg0:.*]] : {{.*}}
func.func @example(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %w = ccl.read @s : tensor<4xf32>
  %p = ccl.all_reduce "gradient" %arg0 in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %one = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %y = nn.relu %arg0 : (tensor<4xf32>) -> tensor<4xf32>
  %u = sbp.scope "update" group "w"
  %1 = sbp.fence %one in %u : tensor<4xf32>
  %2 = nn.sub %w, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s, %2 : tensor<4xf32>
  return %y : tensor<4xf32>
}
