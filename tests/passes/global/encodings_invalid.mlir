// An encoding that is no signature: an error of each pass that would drop it.
// RUN: splitcast-opt %s -sbp-verify-global -split-input-file -verify-diagnostics
// RUN: splitcast-opt %s -sbp-propagate -split-input-file -verify-diagnostics
// RUN: splitcast-opt %s -sbp-insert-boxing -split-input-file -verify-diagnostics

// @verify_global_c1
// expected-error @below {{'sbp.variable' op has a tensor of type 'tensor<4xf32, "S(0)">', whose encoding "S(0)" is no signature; write one as #sbp.nd, or leave it out}}
sbp.variable @w : tensor<4xf32, "S(0)">

// -----

// @verify_global_c1
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'func.func' op has a tensor of type 'tensor<4xf32, "garbage">', whose encoding "garbage" is no signature; write one as #sbp.nd, or leave it out}}
func.func @f(%x: tensor<4xf32, "garbage">, %y: tensor<4xf32, #B>) {
  return
}

// -----

// @verify_global_c1
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @f(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.tanh' op has a tensor of type 'tensor<4xf32, 3 : i8>', whose encoding 3 : i8 is no signature; write one as #sbp.nd, or leave it out}}
  %0 = nn.tanh %x : (tensor<4xf32, #B>) -> tensor<4xf32, 3 : i8>
  return
}

// -----

// Elements that no rank's memory has.
// @verify_global_c1
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'func.func' op has a tensor of type 'tensor<4xindex, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>'; its elements must be f16, bf16, f32, f64, i1, i8, i32 or i64}}
func.func @f(%x: tensor<4xindex, #B>) {
  return
}
