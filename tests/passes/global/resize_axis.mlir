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
