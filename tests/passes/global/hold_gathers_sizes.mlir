// A function that gathers more than 2^63 - 1 bytes in all holds nothing, whatever the limit.
// RUN: splitcast-opt %s -sbp-hold-gathers=limit-bytes=9223372036854775807 | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @a : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @b : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @c : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @d : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @e : tensor<1152921504606846976xf32, #B> storage #S0

// 5 times 2^62 bytes, which wrap to 2^62.
// CHECK: func.func @all(
func.func @all() -> (tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>) {
  %a = sbp.read @a : tensor<1152921504606846976xf32, #S0>
  %a_ = sbp.boxing %a : tensor<1152921504606846976xf32, #S0> -> tensor<1152921504606846976xf32, #B>
  %b = sbp.read @b : tensor<1152921504606846976xf32, #S0>
  %b_ = sbp.boxing %b : tensor<1152921504606846976xf32, #S0> -> tensor<1152921504606846976xf32, #B>
  %c = sbp.read @c : tensor<1152921504606846976xf32, #S0>
  %c_ = sbp.boxing %c : tensor<1152921504606846976xf32, #S0> -> tensor<1152921504606846976xf32, #B>
  %d = sbp.read @d : tensor<1152921504606846976xf32, #S0>
  %d_ = sbp.boxing %d : tensor<1152921504606846976xf32, #S0> -> tensor<1152921504606846976xf32, #B>
  %e = sbp.read @e : tensor<1152921504606846976xf32, #S0>
  %e_ = sbp.boxing %e : tensor<1152921504606846976xf32, #S0> -> tensor<1152921504606846976xf32, #B>
  return %a_, %b_, %c_, %d_, %e_ : tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>, tensor<1152921504606846976xf32, #B>
}

// CHECK: func.func @one.prologue()
func.func @one() -> tensor<1152921504606846976xf32, #B> {
  %a = sbp.read @a : tensor<1152921504606846976xf32, #S0>
  %a_ = sbp.boxing %a : tensor<1152921504606846976xf32, #S0> -> tensor<1152921504606846976xf32, #B>
  return %a_ : tensor<1152921504606846976xf32, #B>
}
