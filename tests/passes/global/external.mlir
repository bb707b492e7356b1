// A function without a body: an error of each pass that walks bodies, and no crash.
// RUN: not splitcast-opt %s -sbp-insert-boxing 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-propagate 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -enable-zero 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-localize 2>&1 | FileCheck %s

// CHECK: error: 'func.func' op must have a body of one block
func.func private @external(tensor<8xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>)
