// What 'sbp-resize-axis' refuses.
// RUN: splitcast-opt %s -sbp-resize-axis="axis=tp size=3" -split-input-file -verify-diagnostics

// @resize_axis_c1
// expected-error @below {{'sbp-resize-axis' got axis=tp size=3 for #sbp.placement<"cpu", [dp = 4]>; give one of its axes and a size of at least 1, and a placement that lists no ranks}}
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 4]>} {
}

// -----

// @resize_axis_c1
// expected-error @below {{give one of its axes and a size of at least 1, and a placement that lists no ranks}}
module attributes {sbp.placement = #sbp.placement<"cpu", [tp = 2], ranks = [4, 7]>} {
}

// -----

// @resize_axis_c1_legal
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 4, tp = 2]>} {
}

// -----

// Nothing is placed: nothing to move.
module {
}

// -----

// @resize_axis_c2: 3 times 2^19.
// expected-error @below {{'sbp-resize-axis' got axis=tp size=3: placement has more than 1048576 positions; use fewer ranks}}
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 524288, tp = 1]>} {
}

// -----

// @resize_axis_c2_legal: 3 times 349525 is 2^20 - 1.
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 349525, tp = 2]>} {
}

// -----

// Of a value that is no variable's: @resize_axis_c3.
#p = #sbp.placement<"cpu", [tp = 2]>
module {
  func.func @f(%x: tensor<4xf32, #sbp.nd<#p, [B]>>) {
    // expected-error @below {{'sbp-resize-axis' found 'sbp.boxing' in bucket 'b', which is padded to the old size; run it before 'sbp-zero-storage'}}
    %0 = sbp.boxing %x : tensor<4xf32, #sbp.nd<#p, [B]>> -> tensor<4xf32, #sbp.nd<#p, [S(@b, 0 of 8)]>>
    return
  }
}

// -----

// @resize_axis_c3_legal
#p = #sbp.placement<"cpu", [tp = 2]>
module {
  func.func @f(%x: tensor<4xf32, #sbp.nd<#p, [B]>>) {
    %0 = sbp.boxing %x : tensor<4xf32, #sbp.nd<#p, [B]>> -> tensor<4xf32, #sbp.nd<#p, [S(0)]>>
    return
  }
}

// -----

// @resize_axis_c4: 3 ranks leave 8 rows each, of which no 3 and no 6 stay together.
#p = #sbp.placement<"cpu", [tp = 2, dp = 5]>
module {
  // expected-error @below {{'sbp-resize-axis' found 'tensor<24xf32, #sbp.nd<#sbp.placement<"cpu", [tp = 2, dp = 5]>, [S(0), S(0 by 3)]>>', whose units, ends or coordinates do not fit the new size; give another size}}
  sbp.variable @w : tensor<24xf32, #sbp.nd<#p, [B, B]>> storage #sbp.nd<#p, [S(0), S(0 by 3)]>
}

// -----

#p = #sbp.placement<"cpu", [tp = 2, dp = 5]>
module {
  // expected-error @below {{whose units, ends or coordinates do not fit the new size; give another size}}
  func.func private @resize_axis_c4(tensor<24xf32, #sbp.nd<#p, [S(0), S(0 by 6)]>>)
}

// -----

// @resize_axis_c4_legal
#p = #sbp.placement<"cpu", [tp = 2, dp = 5]>
module {
  sbp.variable @w : tensor<24xf32, #sbp.nd<#p, [B, B]>> storage #sbp.nd<#p, [S(0), S(0 by 4)]>
}

// -----

// Ends are of one number of ranks.
#p = #sbp.placement<"cpu", [tp = 2, dp = 3]>
module {
  // expected-error @below {{whose units, ends or coordinates do not fit the new size; give another size}}
  func.func private @ends(tensor<24xf32, #sbp.nd<#p, [S(0 to [20, 24]), B]>>)
}
