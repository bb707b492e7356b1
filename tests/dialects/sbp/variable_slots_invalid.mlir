// What variables may say of slots and of what they are state of.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @variable_c4
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'sbp.variable' op @w.m has role "momentum" but is no state; say of which variable (state_of), or drop the role}}
"sbp.variable"() <{sym_name = "w.m", type = tensor<4xf32>, role = "momentum"}> : () -> ()

// -----

// @variable_c4
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'sbp.variable' op @w.m has role "parameter"; a role must not be "parameter", which stands for the variable itself, and must have no dot}}
sbp.variable @w.m : tensor<4xf32> state_of @w role "parameter"

// -----

// In bucket "a", it would lie where role "y" of bucket "a.x" does: @variable_c4.
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'sbp.variable' op @w.m has role "x.y"; a role must not be "parameter", which stands for the variable itself, and must have no dot}}
sbp.variable @w.m : tensor<4xf32> state_of @w role "x.y"

// -----

// @variable_c5
// expected-error @below {{'sbp.variable' op @w.m is state of @w, but the module has no such sbp.variable}}
sbp.variable @w.m : tensor<4xf32> state_of @w role "momentum"

// -----

// @variable_c5
// expected-error @below {{'sbp.variable' op @w.m is state of @w, but the module has no such sbp.variable}}
sbp.variable @w.m : tensor<4xf32> state_of @w role "momentum"
func.func @w() {
  return
}

// -----

// @variable_c5
sbp.variable @w : tensor<4xf32>
// expected-note @below {{declared here}}
sbp.variable @w.m : tensor<4xf32> state_of @w role "momentum"
// expected-error @below {{'sbp.variable' op @w.m.m is state of @w.m, which is state itself; name the parameter}}
sbp.variable @w.m.m : tensor<4xf32> state_of @w.m role "momentum"

// -----

// @variable_c5_legal: also before what it is state of.
sbp.variable @w.m : tensor<4xf32> state_of @w role "momentum"
sbp.variable @w : tensor<4xf32>

// -----

// @variable_c6
#p = #sbp.placement<"cpu", [dp = 1]>
// expected-error @below {{'sbp.variable' op @w storage [S(@b, 0 of 16)] is split as a slot that is not the variable's; write 'slot #sbp.slot<@b, 0 of 16>', or split by a dimension}}
sbp.variable @w : tensor<16xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(@b, 0 of 16)]>

// -----

// @variable_c6
#p = #sbp.placement<"cpu", [dp = 1]>
// expected-error @below {{'sbp.variable' op @w update [S(@b, 0 of 32)] is split as a slot that is not the variable's; write 'slot #sbp.slot<@b, 0 of 32>', or split by a dimension}}
sbp.variable @w : tensor<16xf32, #sbp.nd<#p, [B]>> update #sbp.nd<#p, [S(@b, 0 of 32)]> slot #sbp.slot<@b, 16 of 32>

// -----

// @variable_c6
#p = #sbp.placement<"cpu", [dp = 1]>
// expected-error @below {{'sbp.variable' op @w type [S(@b, 0 of 16)] is split as a slot that is not the variable's; write 'slot #sbp.slot<@b, 0 of 16>', or split by a dimension}}
sbp.variable @w : tensor<16xf32, #sbp.nd<#p, [S(@b, 0 of 16)]>>

// -----

// @variable_c6_legal
#p = #sbp.placement<"cpu", [dp = 1]>
#B = #sbp.nd<#p, [B]>
#flat = #sbp.nd<#p, [S(@b, 0 of 16)]>
sbp.variable @w : tensor<16xf32, #B> storage #flat update #flat slot #sbp.slot<@b, 0 of 16>
sbp.variable @v : tensor<16xf32, #B> update #sbp.nd<#p, [S(@c, 0 of 16)]> slot #sbp.slot<@c, 0 of 16>

// -----

// @variable_c7
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 1]>, [B]>
// expected-error @below {{'sbp.variable' op @w slot at 13 of 16 in bucket 'b' has no room for 4 elements; enlarge the bucket}}
sbp.variable @w : tensor<4xf32, #B> slot #sbp.slot<@b, 13 of 16>

// -----

// A slot is of the piece that the other axes leave; the first rank of tp has 5 of 9: @variable_c7.
#p = #sbp.placement<"cpu", [dp = 1, tp = 2]>
// expected-error @below {{'sbp.variable' op @w slot at 12 of 16 in bucket 'b' has no room for 5 elements; enlarge the bucket}}
sbp.variable @w : tensor<9xf32, #sbp.nd<#p, [B, S(0)]>> slot #sbp.slot<@b, 12 of 16>

// -----

// Whole while nothing else is decided: @variable_c7.
// expected-error @below {{'sbp.variable' op @w slot at 0 of 3 in bucket 'b' has no room for 4 elements; enlarge the bucket}}
sbp.variable @w : tensor<4xf32> slot #sbp.slot<@b, 0 of 3>

// -----

// @variable_c7
// expected-error @below {{'sbp.variable' op @w bucket 'b' of 2305843009213693952 elements of 'f32' has more than 2^63 - 1 bytes; make it smaller}}
sbp.variable @w : tensor<4xf32> slot #sbp.slot<@b, 0 of 2305843009213693952>

// -----

// @variable_c7_legal
#p = #sbp.placement<"cpu", [dp = 1, tp = 2]>
sbp.variable @a : tensor<4xf32, #sbp.nd<#p, [B, B]>> slot #sbp.slot<@b, 12 of 16>
sbp.variable @c : tensor<9xf32, #sbp.nd<#p, [B, S(0)]>> slot #sbp.slot<@d, 11 of 16>
sbp.variable @e : tensor<4xf32> slot #sbp.slot<@f, 0 of 2305843009213693951>

// -----

// @variable_c8
// expected-note @below {{declared here}}
sbp.variable @w : tensor<4xf32> slot #sbp.slot<@b, 0 of 16>
// expected-error @below {{'sbp.variable' op @w.m has a slot and type 'tensor<8xf32>', but it is state of @w, which is 'tensor<4xf32>'; give it the same shape, or no slot}}
sbp.variable @w.m : tensor<8xf32> slot #sbp.slot<@b, 0 of 16> state_of @w role "wide"

// -----

// @variable_c8_legal: of another element type, it has a range of its own.
sbp.variable @w : tensor<4xf32> slot #sbp.slot<@b, 0 of 16>
sbp.variable @w.m : tensor<4xf64> slot #sbp.slot<@b, 0 of 16> state_of @w role "wide"
sbp.variable @w.n : tensor<8xf32> state_of @w role "long"
