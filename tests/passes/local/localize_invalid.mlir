// What 'sbp-localize' refuses.
// RUN: splitcast-opt %s -sbp-localize=rank=4 -split-input-file -verify-diagnostics

// @localize_c2
#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'sbp-localize' got rank 4, but the placement has 4 ranks, counted from 0}}
module attributes {sbp.placement = #p} {
}

// -----

// @localize_c2
#p = #sbp.placement<"cpu", [dp = 2], ranks = [3, 5]>
// expected-error @below {{'sbp-localize' got rank 4, but the placement has 2 ranks, and that is none of them}}
module attributes {sbp.placement = #p} {
}

// -----

// @localize_c2_legal
#p = #sbp.placement<"cpu", [dp = 2], ranks = [3, 4]>
module attributes {sbp.placement = #p} {
}

// -----

// expected-error @below {{'sbp-localize' found no placement in the module; run 'sbp-propagate' first}}
module {
}

// -----

#p = #sbp.placement<"cpu", [dp = 5]>
#B = #sbp.nd<#p, [B]>
module attributes {sbp.placement = #p} {
  func.func @unknown(%x: tensor<4xf32, #B>) {
    // expected-error @below {{'arith.negf' op has no meaning on one rank's piece; 'sbp-localize' takes ops that compute, boxings, reads and assigns}}
    %0 = arith.negf %x : tensor<4xf32, #B>
    return
  }
}

// -----

#p = #sbp.placement<"cpu", [dp = 5]>
#Sf = #sbp.nd<#p, [S(@b, 0 of 5)]>
module attributes {sbp.placement = #p} {
  // expected-error @below {{'func.func' op takes or returns a slot of a bucket; use S(dim) or B there}}
  func.func @slot(%x: tensor<4xf32, #Sf>) {
    return
  }
}
