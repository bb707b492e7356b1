// 'exec-lower' on modules that 'ccl-verify-local' refuses: its words, and no crash.
// RUN: splitcast-opt %s -exec-lower -split-input-file -verify-diagnostics

func.func @lower_c1(%x: tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  // expected-error @below {{'ccl.all_gather' op starts a collective that is waited for 0 times; wait for it once}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  return
}

// -----

// @lower_c1
// expected-error @below {{'func.func' op must have a body of one block}}
func.func private @external(tensor<4xf32>)

// -----

// @lower_c1: no global type, which plans keep for those that bind inputs.
// expected-error @below {{'func.func' op has an argument without ccl.global, its global type; run 'sbp-localize'}}
func.func @without_global(%x: tensor<4xf32>) {
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// @lower_c1
func.func @global() {
  // expected-error @below {{'nn.constant' op has a tensor with a signature; run 'sbp-localize'}}
  %0 = nn.constant 1.0 : tensor<4xf32, #B>
  return
}
