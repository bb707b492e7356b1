// What 'ccl-hold-gathers' refuses.
// RUN: splitcast-opt %s -ccl-hold-gathers -split-input-file -verify-diagnostics

ccl.storage @w : tensor<2xf32> holds [] at []
func.func @hold_gathers_c1(%x: tensor<2xf32>) attributes {ccl.hold_gathers} {
  // expected-error @below {{'ccl.assign' op stands in a function with ccl.hold_gathers, whose later runs would not see it; remove the attribute}}
  ccl.assign @w, %x : tensor<2xf32>
  return
}

// -----

ccl.storage @w : tensor<2xf32> holds [] at []
func.func @hold_gathers_c1_legal(%x: tensor<2xf32>) {
  ccl.assign @w, %x : tensor<2xf32>
  return
}
