// What 'ccl-verify-local' lets pass and what not.
// RUN: splitcast-opt %s -ccl-verify-local -split-input-file -verify-diagnostics

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @verify_local_c1() {
  // expected-error @below {{'nn.constant' op has a tensor with a signature; run 'sbp-localize'}}
  %0 = nn.constant 1.0 : tensor<4xf32, #B>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @verify_local_c1_legal(%x: tensor<4xf32> {ccl.global = tensor<4xf32, #B>}) {
  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @verify_local_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op starts a collective that is waited for 0 times; wait for it once}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  return
}

// -----

func.func @verify_local_c2_legal(%x: tensor<4xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @verify_local_c3(%x: tensor<4xf32>) {
  // expected-error @below {{'arith.negf' op does not say what it computes on one rank; replace it by ops with ComputeOpInterface}}
  %0 = arith.negf %x : tensor<4xf32>
  return
}

// -----

// Scopes and fences are of this level, too.
func.func @verify_local_c3_legal(%x: tensor<4xf32>) {
  %0 = sbp.scope "forward"
  %1 = sbp.fence %x in %0 : tensor<4xf32>
  return
}

// -----

func.func @verify_local_c3_legal(%x: tensor<4xf32>) {
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// expected-error @below {{'func.func' op takes or returns '!sbp.token'; take and return tensors}}
func.func @verify_local_tokens(%t: !sbp.token) {
  return
}
