// 'sbp-localize' on modules that 'sbp-verify-global' would refuse: an error of the same words, and no crash.
// RUN: splitcast-opt %s -sbp-localize=rank=0 -split-input-file -verify-diagnostics

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @localize_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.relu' op has a tensor of type 'tensor<4xf32>' without a signature; run 'sbp-propagate'}}
  %0 = nn.relu %x : (tensor<4xf32, #B>) -> tensor<4xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// @localize_c1
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'func.func' op must have a body of one block}}
func.func private @external()

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
func.func @localize_c1(%x: tensor<f32, #P>) -> tensor<f32, #P> {
  // expected-error @below {{'func.return' op returns a value that is P; box it to B or S}}
  return %x : tensor<f32, #P>
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @localize_c1_legal(%x: tensor<4xf32, #B>) -> tensor<4xf32, #B> {
  return %x : tensor<4xf32, #B>
}
