// A function that gathers more than 2^63 - 1 bytes in all holds nothing, whatever the limit.
// RUN: splitcast-opt %s -sbp-hold-gathers=limit-bytes=9223372036854775807 | FileCheck-19 %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @a : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @b : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @c : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @d : tensor<1152921504606846976xf32, #B> storage #S0
sbp.variable @e : tensor<1152921504606846976xf32, #B> storage #S0

// 5 times 2^62 bytes, which wrap to 2^62.
// CHECK: func.func @all() {
func.func @all() {
  %a = sbp.read @a : tensor<1152921504606846976xf32, #S0>
  %b = sbp.read @b : tensor<1152921504606846976xf32, #S0>
  %c = sbp.read @c : tensor<1152921504606846976xf32, #S0>
  %d = sbp.read @d : tensor<1152921504606846976xf32, #S0>
  %e = sbp.read @e : tensor<1152921504606846976xf32, #S0>
  return
}

// CHECK: func.func @one() attributes {sbp.hold_gathers}
func.func @one() {
  %a = sbp.read @a : tensor<1152921504606846976xf32, #S0>
  return
}
