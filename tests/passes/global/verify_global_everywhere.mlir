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
// expected-error @below {{'func.func' op takes or returns 'index'; functions of the global level have tensors only}}
func.func @not_a_tensor(%unused: index) {
  return
}
