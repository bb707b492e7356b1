// 'ccl-verify-local' looks also at arguments that no op uses.
// RUN: splitcast-opt %s -ccl-verify-local -split-input-file -verify-diagnostics

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'func.func' op has a tensor with a signature; run 'sbp-localize'}}
func.func @verify_local_c1(%x: tensor<4xf32, #B>) {
  return
}
