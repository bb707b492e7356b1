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

// -----

// @variable_c2: state is an update's, which is computed with values.
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>>
// expected-error @below {{'sbp.variable' op type [P] has P; a stored variable must be S or B; only the type of a carried variable that is no state may be P}}
sbp.variable @w.sum : tensor<4xf32, #sbp.nd<#p, [P]>> state_of @w role "sum" carried

// -----

// @variable_c2
#p = #sbp.placement<"cpu", [dp = 2]>
// expected-error @below {{'sbp.variable' op storage [P] has P}}
sbp.variable @sum : tensor<4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [P]> carried

// -----

// @variable_c2_legal: addends that a later run sums.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.variable @sum : tensor<4xf32, #sbp.nd<#p, [P, S(0)]>> carried

// -----

// @variable_c11
// expected-error @below {{'sbp.variable' op @sum has 'as_made', but has a signature; only a carried variable without a signature that is no state may have it}}
sbp.variable @sum : tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>> carried as_made

// -----

// @variable_c11
// expected-error @below {{'sbp.variable' op @sum has 'as_made', but is not carried; only a carried variable without a signature that is no state may have it}}
sbp.variable @sum : tensor<4xf32> as_made

// -----

// @variable_c11
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'sbp.variable' op @w.sum has 'as_made', but is state; only a carried variable without a signature that is no state may have it}}
sbp.variable @w.sum : tensor<4xf32> state_of @w role "sum" carried as_made

// -----

// @variable_c11_legal
sbp.variable @sum : tensor<4xf32> carried as_made
