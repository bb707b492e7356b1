// The example of 'nn-expand-optimizers': the learning rate is a variable, and what the update reads stands in its scope.
// RUN: splitcast-opt %s -nn-expand-optimizers | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// CHECK: sbp.variable @optimizer.learning_rate : tensor<f32, #B> init #sbp.constant<5.000000e-01 : f64> group "optimizer" frozen
sbp.variable @w : tensor<4xf32, #B>

// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[g:.*]]: tensor<4xf32>
func.func @train(%g: tensor<4xf32>) {
  // CHECK-NEXT: %[[scope:.*]] = sbp.scope "update" of @w
  %scope = sbp.scope "update" of @w
  // CHECK-NEXT: %[[read:.*]] = sbp.read @w : tensor<4xf32>
  // CHECK-NEXT: %[[w:.*]] = sbp.fence %[[read]] in %[[scope]] : tensor<4xf32>
  // CHECK-NEXT: %[[gradient:.*]] = sbp.fence %[[g]] in %[[scope]] : tensor<4xf32>
  // CHECK-NEXT: %[[lr:.*]] = sbp.read @optimizer.learning_rate : tensor<f32>
  // CHECK-NEXT: %[[step:.*]] = nn.mul %[[lr]], %[[gradient]] : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[new:.*]] = nn.sub %[[w]], %[[step]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: sbp.assign @w, %[[new]] : tensor<4xf32>
  // CHECK-NEXT: return
  nn.update @w, %g in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}
