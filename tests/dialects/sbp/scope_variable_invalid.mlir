// The variable that a scope names is looked up by passes, so it exists.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @scope_c2() {
  // expected-error @below {{'sbp.scope' op names @nowhere, but the module has no such sbp.variable}}
  %0 = sbp.scope "update" of @nowhere
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @scope_c2_legal() {
  %0 = sbp.scope "update" of @w
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @scope_c3() {
  // expected-error @below {{'sbp.scope' op names @w in phase "backward"; a variable is updated in phase "update"}}
  %0 = sbp.scope "backward" of @w
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @scope_c3_legal() {
  %0 = sbp.scope "update" of @w
  %1 = sbp.scope "backward" group "w"
  return
}
