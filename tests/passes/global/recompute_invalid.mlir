// Groups that are to be recomputed.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null -nn-recompute="groups=h.1,other"

// @recompute_c1_legal
sbp.variable @h.1.w : tensor<4xf32>
sbp.variable @w : tensor<4xf32> group "other.2"

// -----

// @recompute_c1
// expected-error @below {{'nn-recompute' is to recompute group 'other', which has no variable; a variable's group is what it names, or its own name up to the last dot}}
module {
  sbp.variable @h.1.w : tensor<4xf32>
  sbp.variable @w : tensor<4xf32> group "others.2"
}
