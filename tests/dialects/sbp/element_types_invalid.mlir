// Variables are stored, saved and updated, so their elements are of the types that the runtime knows.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'sbp.variable' op has type 'tensor<4xcomplex<f32>>'; its elements may be f16, bf16, f32, f64, i32 or i64}}
sbp.variable @w : tensor<4xcomplex<f32>>

// -----

// expected-error @below {{'sbp.variable' op has type 'tensor<4xindex>'; its elements may be f16, bf16, f32, f64, i32 or i64}}
sbp.variable @w : tensor<4xindex>

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// As it stands while someone types: the element type is missing, which the parser says and goes on.
// expected-error @below {{expected non-function type}}
func.func @main(%x: tensor<8x6x, #B>) { return }
