// 'sbp-verify-global' looks also at what no op uses, and at what has no tensor at all.
// RUN: splitcast-opt %s -sbp-verify-global -split-input-file -verify-diagnostics

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'func.func' op has a tensor of type 'tensor<4xf32>' without a signature; run 'sbp-propagate'}}
func.func @verify_global_c1(%unused: tensor<4xf32>) {
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'sbp.variable' op has a tensor of type 'tensor<4xf32>' without a signature; run 'sbp-propagate'}}
sbp.variable @verify_global_c1 : tensor<4xf32>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'sbp.variable' op has a tensor on another placement than the module's}}
sbp.variable @verify_global_c1 : tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 4]>, [B]>>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'func.func' op @verify_global_c5 takes 'index' as argument 0; functions of the global level have ranked tensors only}}
func.func @verify_global_c5(%unused: index) {
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'func.func' op @verify_global_c5 returns 'i32' as result 1; functions of the global level have ranked tensors only}}
func.func @verify_global_c5(%x: tensor<4xf32, #B>) -> (tensor<4xf32, #B>, i32) {
  %0 = arith.constant 1 : i32
  return %x, %0 : tensor<4xf32, #B>, i32
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @verify_global_c5_legal(%x: tensor<4xf32, #B>) -> (tensor<4xf32, #B>, tensor<4xf32, #B>) {
  return %x, %x : tensor<4xf32, #B>, tensor<4xf32, #B>
}
