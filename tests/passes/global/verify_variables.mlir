// What variables owe each other: states of one variable, and members of one bucket. And names that are the plan's.
// RUN: splitcast-opt %s -sbp-verify-global -split-input-file -verify-diagnostics

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<4xf32, #B> state_of @w role "ema"
// expected-error @below {{'sbp.variable' op @verify_global_c6 is state of @w with role "ema", as @a is; give each a role of its own}}
sbp.variable @verify_global_c6 : tensor<4xf32, #B> state_of @w role "ema"

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
sbp.variable @v : tensor<4xf32, #B>
sbp.variable @a : tensor<4xf32, #B> state_of @w role "ema"
sbp.variable @verify_global_c6_legal : tensor<4xf32, #B> state_of @w role "slow"
sbp.variable @b : tensor<4xf32, #B> state_of @v role "ema"

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64>
// expected-error @below {{'sbp.variable' op @verify_global_c7 lies in bucket 'b' of 128 elements, which has 64 for @a; a bucket has one size}}
sbp.variable @verify_global_c7 : tensor<4xf32, #B> slot #sbp.slot<@b, 16 of 128>

// -----

// Also of different roles.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64>
// expected-error @below {{'sbp.variable' op @verify_global_c7 lies in bucket 'b' of 128 elements, which has 64 for @a; a bucket has one size}}
sbp.variable @verify_global_c7 : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 128> state_of @a role "m"

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64>
// expected-error @below {{'sbp.variable' op @verify_global_c7 lies in bucket 'b' with @a, whose elements are of another type; put it into a bucket of its own}}
sbp.variable @verify_global_c7 : tensor<4xf64, #B> slot #sbp.slot<@b, 16 of 64>

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64>
// expected-error @below {{'sbp.variable' op @verify_global_c7 lies in bucket 'b' with @a, which is not split along the same axis; store both alike}}
sbp.variable @verify_global_c7 : tensor<4xf32, #B> storage #sbp.nd<#p, [S(@b, 16 of 64)]> slot #sbp.slot<@b, 16 of 64>

// -----

// Not neighbours in the module, but in the bucket.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'sbp.variable' op @verify_global_c7 lies in bucket 'b' from element 7 on, where @a lies up to element 8; give it another slot}}
sbp.variable @verify_global_c7 : tensor<4xf32, #B> slot #sbp.slot<@b, 7 of 64>
sbp.variable @c : tensor<4xf32, #B> slot #sbp.slot<@b, 16 of 64>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 4 of 64>

// -----

// Within a larger one, and behind an empty one.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-note @below {{@a is declared here}}
sbp.variable @a : tensor<32xf32, #B> slot #sbp.slot<@b, 0 of 64>
sbp.variable @empty : tensor<0xf32, #B> slot #sbp.slot<@b, 8 of 64>
// expected-error @below {{'sbp.variable' op @verify_global_c7 lies in bucket 'b' from element 8 on, where @a lies up to element 32; give it another slot}}
sbp.variable @verify_global_c7 : tensor<4xf32, #B> slot #sbp.slot<@b, 8 of 64>

// -----

// Roles have ranges of their own, of their own types, and stored otherwise; pieces end where the next begin.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#BB = #sbp.nd<#p, [B, B]>
#BS0 = #sbp.nd<#p, [B, S(0)]>
sbp.variable @verify_global_c7_legal : tensor<9xf32, #BS0> slot #sbp.slot<@b, 0 of 64>
sbp.variable @a : tensor<4xf32, #BB> slot #sbp.slot<@b, 5 of 64>
sbp.variable @a.m : tensor<4xf64, #BB> storage #sbp.nd<#p, [S(@b, 5 of 64), B]> slot #sbp.slot<@b, 5 of 64> state_of @a role "m"

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'sbp.variable' op @kernels has a name that the compiler gives to a part of the plan; rename it}}
sbp.variable @kernels : tensor<4xf32, #B>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'sbp.variable' op @persistent has a name that the compiler gives to a part of the plan; rename it}}
sbp.variable @persistent : tensor<4xf32, #B>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'func.func' op @arena has a name that the compiler gives to a part of the plan; rename it}}
func.func @arena() {
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B>
// expected-error @below {{'sbp.variable' op @storage.w has a name that the compiler gives to a storage of variables; rename it}}
sbp.variable @storage.w : tensor<4xf32, #B>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64>
sbp.variable @a.m : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64> state_of @a role "m"
// expected-error @below {{'sbp.variable' op @bucket.b.m has a name that the compiler gives to a storage of variables; rename it}}
sbp.variable @bucket.b.m : tensor<4xf32, #B>

// -----

// No variable or bucket has these storages.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@b, 0 of 64>
sbp.variable @storage.w : tensor<4xf32, #B>
sbp.variable @bucket.b.m : tensor<4xf32, #B>
sbp.variable @arena.kernels : tensor<4xf32, #B>
