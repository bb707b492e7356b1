// What is carried from run to run of a schedule.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// @variable_c10
// expected-error @below {{'sbp.variable' op @sum is carried from run to run of a schedule, which assigns it first, but has initializer #sbp.constant<0.000000e+00 : f64>; drop one of the two}}
sbp.variable @sum : tensor<4xf32, #B> init #sbp.constant<0.0> carried

// -----

// @variable_c10_legal
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.variable @sum : tensor<4xf32, #B> carried
