// Ranges of buckets are read and assigned as their members, or the members' states, lie at rest.
// RUN: splitcast-opt %s -sbp-verify-global -split-input-file -verify-diagnostics

// A range that is whole on each rank is no chunk.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
func.func @verify_global_c2() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<32xf32,}}
  %0 = sbp.bucket_read @l : tensor<32xf32, #S0_>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> storage #Sl slot #sbp.slot<@l, 0 of 32>
func.func @verify_global_c2() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<32xf32,}}
  %0 = sbp.bucket_read @l : tensor<32xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
func.func @verify_global_c2(%x: tensor<32xf32, #S0_>) {
  // expected-error @below {{'sbp.bucket_assign' op has type 'tensor<32xf32,}}
  sbp.bucket_assign @l, %x : tensor<32xf32, #S0_>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> storage #Sl slot #sbp.slot<@l, 0 of 32>
func.func @verify_global_c2(%x: tensor<32xf32, #B>) {
  // expected-error @below {{'sbp.bucket_assign' op has type 'tensor<32xf32,}}
  sbp.bucket_assign @l, %x : tensor<32xf32, #B>
  return
}

// -----

// States lie otherwise than the members.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
sbp.variable @w.m : tensor<32xf32, #B> storage #Sl slot #sbp.slot<@l, 0 of 32> state_of @w role "m"
func.func @verify_global_c2() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<32xf32,}}
  %0 = sbp.bucket_read @l role "m" : tensor<32xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
sbp.variable @w.m : tensor<32xf32, #B> storage #Sl slot #sbp.slot<@l, 0 of 32> state_of @w role "m"
func.func @verify_global_c2() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<32xbf16,}}
  %0 = sbp.bucket_read @l role "m" : tensor<32xbf16, #S0_>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
func.func @verify_global_c2() {
  // expected-error @below {{'sbp.bucket_read' op has role "nosuch", but no variable of that role lies in bucket @l; name the role of a state, or leave it out for the members}}
  %0 = sbp.bucket_read @l role "nosuch" : tensor<32xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
func.func @verify_global_c2(%x: tensor<32xf32, #B>) {
  // expected-error @below {{'sbp.bucket_assign' op has role "nosuch", but no variable of that role lies in bucket @l; name the role of a state, or leave it out for the members}}
  sbp.bucket_assign @l role "nosuch", %x : tensor<32xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 32)]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<32xf32, #B> slot #sbp.slot<@l, 0 of 32>
sbp.variable @w.m : tensor<32xf32, #B> storage #Sl slot #sbp.slot<@l, 0 of 32> state_of @w role "m"
func.func @verify_global_c2_legal(%x: tensor<32xf32, #S0_>) {
  sbp.bucket_assign @l role "m", %x : tensor<32xf32, #S0_>
  %0 = sbp.bucket_read @l : tensor<32xf32, #B>
  return
}
