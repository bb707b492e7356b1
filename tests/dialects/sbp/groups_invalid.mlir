// What no op can see alone: 'sbp-zero-storage' looks at all groups and variables.
// RUN: splitcast-opt %s -sbp-zero-storage -split-input-file -verify-diagnostics

// @group_c3
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
  // expected-note @below {{first here}}
  sbp.group "h" #sbp.policy<stage = 3>
  // expected-error @below {{'sbp.group' op "h" has two sbp.group ops; write one}}
  sbp.group "h" #sbp.policy<keep = never>
  sbp.variable @h.w : tensor<4xf32>
}

// -----

// @group_c3: "h" is no group of @head.w.
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
  // expected-error @below {{'sbp.group' op "h" has no variable; a variable's group is what it names, or its own name up to the last dot}}
  sbp.group "h" #sbp.policy<stage = 3>
  sbp.variable @head.w : tensor<4xf32>
}
