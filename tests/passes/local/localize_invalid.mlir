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

// -----

#p = #sbp.placement<"cpu", [dp = 5]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#P = #sbp.nd<#p, [P]>
module attributes {sbp.placement = #p} {
  // The second member is made from the first, which waits for it.
  func.func @circle(%x: tensor<4x5xf32, #P>, %y: tensor<5x5xf32, #S0>) -> tensor<4x5xf32, #B> {
    %0 = sbp.boxing %x : tensor<4x5xf32, #P> -> tensor<4x5xf32, #B> bucket #sbp.slot<@b, 0 of 160>
    // expected-error @below {{'sbp.boxing' op waits for a member of its bucket that depends on it; put its variable into a bucket of its own}}
    %s = sbp.boxing %0 : tensor<4x5xf32, #B> -> tensor<4x5xf32, #S1>
    %1 = nn.matmul %s, %y : (tensor<4x5xf32, #S1>, tensor<5x5xf32, #S0>) -> tensor<4x5xf32, #P>
    %2 = sbp.boxing %1 : tensor<4x5xf32, #P> -> tensor<4x5xf32, #B> bucket #sbp.slot<@b, 80 of 160>
    return %2 : tensor<4x5xf32, #B>
  }
}
