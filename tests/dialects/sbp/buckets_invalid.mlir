// What buckets and the ops on their ranges refuse.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @bucket_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op has type 'tensor<64xf32>' and axis "dp"; the type must have a signature, on a placement with this axis}}
sbp.bucket @l : tensor<64xf32> along "dp" holds [] at []

// -----

// @bucket_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{and axis "tp"; the type must have a signature, on a placement with this axis}}
sbp.bucket @l : tensor<64xf32, #B> along "tp" holds [] at []

// -----

// @bucket_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op is S(0) on axis "dp"; along its own axis it must be B, and along another one B, at a coordinate, or split along a leading dimension of the axis's size}}
sbp.bucket @l : tensor<64xf32, #S0> along "dp" holds [] at []

// -----

// @bucket_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op has 2 dimensions, of which its signature splits 0; it must have one dimension more than that}}
sbp.bucket @l : tensor<2x64xf32, #B> along "dp" holds [] at []

// -----

// @bucket_c1
#m = #sbp.placement<"cpu", [dp = 2, tp = 3]>
// expected-error @below {{'sbp.bucket' op is S(0) on axis "tp"; along its own axis it must be B, and along another one B, at a coordinate, or split along a leading dimension of the axis's size}}
sbp.bucket @l : tensor<2x64xf32, #sbp.nd<#m, [B, S(0)]>> along "dp" holds [] at []

// -----

// @bucket_c1: along its own axis it is at no coordinate.
#m = #sbp.placement<"cpu", [dp = 2, pp = 3]>
// expected-error @below {{'sbp.bucket' op is At(1) on axis "dp"; along its own axis it must be B, and}}
sbp.bucket @l : tensor<64xf32, #sbp.nd<#m, [At(1), B]>> along "dp" holds [] at []

// -----

// What lies in a bucket is all at one coordinate.
#m = #sbp.placement<"cpu", [dp = 2, pp = 3]>
#at1 = #sbp.nd<#m, [B, At(1)]>
#at2 = #sbp.nd<#m, [B, At(2)]>
sbp.variable @w : tensor<4xf32, #at2> slot #sbp.slot<@l, 0 of 64>
// expected-error @below {{'sbp.bucket' op is At(1) on axis "pp", where its member @w is At(2); all members of a bucket must be at one coordinate}}
sbp.bucket @l : tensor<64xf32, #at1> along "dp" holds [@w] at [0]

// -----

// @bucket_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'sbp.bucket' op @l has the ends of even pieces; leave them out}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w] at [0] to [32, 64]

// -----

// @bucket_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'sbp.bucket' op @l ends at 48 on the last rank, but its length is 64; give that as the last end}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w] at [0] to [32, 48]

// -----

// @bucket_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op has 65 elements, which axis "dp" of size 2 does not divide; pad it, or say where each rank's chunk ends}}
sbp.bucket @l : tensor<65xf32, #B> along "dp" holds [] at []

// -----

// @bucket_c3
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op has 2 members and 1 offsets; give one for each}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>

// -----

// @bucket_c3
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op holds @l.w at 0, where the member before it has not ended; members must ascend and must not overlap}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.b, @l.w] at [48, 0]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>

// -----

// @bucket_c3
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op holds @l.b at 33, where the member before it has not ended; members must ascend and must not overlap}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 33]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 33 of 64>

// -----

// @bucket_c4
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'sbp.bucket' op holds @w, whose signature is undecided; give its type one}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<6xf32> slot #sbp.slot<@l, 0 of 64>

// -----

// @bucket_c4
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op holds @l.v, but the module has no such sbp.variable}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.v] at [0]

// -----

// @bucket_c4
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op holds @l.b at #sbp.slot<@l, 32 of 64>, but that variable's slot is another; make them agree}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.b] at [32]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>

// -----

// @bucket_c4
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op holds @l.b at #sbp.slot<@l, 48 of 128>, but that variable's slot is another; make them agree}}
sbp.bucket @l : tensor<128xf32, #B> along "dp" holds [@l.b] at [48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>

// -----

// @bucket_c4
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op has elements of 'bf16', but its member @l.b has 'tensor<6xf32,}}
sbp.bucket @l : tensor<64xbf16, #B> along "dp" holds [@l.b] at [48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>

// -----

// @bucket_c5
#m = #sbp.placement<"cpu", [dp = 2, tp = 3]>
// expected-error @below {{'sbp.bucket' op has no dimension for axis "tp", which splits a member; a bucket must have one leading dimension for each axis that splits a member, and no other}}
sbp.bucket @l : tensor<64xf32, #sbp.nd<#m, [B, B]>> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<6xf32, #sbp.nd<#m, [B, S(0)]>> slot #sbp.slot<@l, 0 of 64>

// -----

// @bucket_c5
#m = #sbp.placement<"cpu", [dp = 2, tp = 3]>
// expected-error @below {{'sbp.bucket' op has a dimension for axis "tp", which splits no member; a bucket must have one leading dimension for each axis that splits a member, and no other}}
sbp.bucket @l : tensor<3x64xf32, #sbp.nd<#m, [B, S(0)]>> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<6xf32, #sbp.nd<#m, [B, B]>> slot #sbp.slot<@l, 0 of 64>

// -----

// @bucket_read_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f() {
  // expected-error @below {{'sbp.bucket_read' op names @k, but the module has no such sbp.bucket}}
  %0 = sbp.bucket_read @k : tensor<64xf32, #B>
  return
}

// -----

// @bucket_read_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<64xf32,}}
  %0 = sbp.bucket_read @l : tensor<64xf32, #P>
  return
}

// -----

// @bucket_read_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<32xf32,}}
  %0 = sbp.bucket_read @l : tensor<32xf32, #B>
  return
}

// -----

// @bucket_assign_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%x: tensor<64xf32, #B>) {
  // expected-error @below {{'sbp.bucket_assign' op names @k, but the module has no such sbp.bucket}}
  sbp.bucket_assign @k, %x : tensor<64xf32, #B>
  return
}

// -----

// @bucket_assign_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%x: tensor<64xf32, #P>) {
  // expected-error @below {{'sbp.bucket_assign' op has type 'tensor<64xf32,}}
  sbp.bucket_assign @l, %x : tensor<64xf32, #P>
  return
}

// -----

// @bucket_assign_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%x: tensor<32xf32, #B>) {
  // expected-error @below {{'sbp.bucket_assign' op has type 'tensor<32xf32,}}
  sbp.bucket_assign @l, %x : tensor<32xf32, #B>
  return
}

// -----

// @bucket_pack_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) {
  // expected-error @below {{'sbp.bucket_pack' op names @k, but the module has no such sbp.bucket}}
  %0 = sbp.bucket_pack %gw, %gb at [0, 48] of @k : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
  return
}

// -----

// @bucket_pack_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) {
  // expected-error @below {{'sbp.bucket_pack' op has a member of type 'tensor<2x17xf32,}}
  %0 = sbp.bucket_pack %gw, %gb at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #B>
  return
}

// -----

// @bucket_pack_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gb: tensor<6xf32, #S0>) {
  // expected-error @below {{'sbp.bucket_pack' op has a member of type 'tensor<6xf32,}}
  %0 = sbp.bucket_pack %gb at [0] of @l : (tensor<6xf32, #S0>) -> tensor<64xf32, #S0>
  return
}

// -----

// @bucket_pack_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sb = #sbp.nd<#p, [S(@l, 48 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gb: tensor<6xf32, #Sb>) {
  // expected-error @below {{'sbp.bucket_pack' op is at 32 of @l, but its member is the slot at 48 of 'l'; they must be the same}}
  %0 = sbp.bucket_pack %gb at [32] of @l : (tensor<6xf32, #Sb>) -> tensor<64xf32, #S0>
  return
}

// -----

// @bucket_pack_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) {
  // expected-error @below {{'sbp.bucket_pack' op has 2 operands and 1 offsets; give one for each}}
  %0 = sbp.bucket_pack %gw, %gb at [0] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
  return
}

// -----

// @bucket_pack_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) {
  // expected-error @below {{'sbp.bucket_pack' op packs an operand at 33, where the one before it ends at 34; operands must ascend and must not overlap}}
  %0 = sbp.bucket_pack %gw, %gb at [0, 33] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
  return
}

// -----

// @bucket_pack_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%gw: tensor<2x17xf32, #P>, %gb: tensor<6xf32, #P>) {
  // expected-error @below {{'sbp.bucket_pack' op has operands that end at 65 in a range of 64 elements; they must lie within it}}
  %0 = sbp.bucket_pack %gw, %gb at [0, 59] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>
  return
}

// -----

// @bucket_member_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%r: tensor<64xf32, #B>) {
  // expected-error @below {{'sbp.bucket_member' op names @k, but the module has no such sbp.bucket}}
  %0 = sbp.bucket_member %r at 48 of @k : tensor<64xf32, #B> -> tensor<6xf32, #B>
  return
}

// -----

// @bucket_member_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%r: tensor<64xf32, #B>) {
  // expected-error @below {{'sbp.bucket_member' op has a member of type 'tensor<6xf32,}}
  %0 = sbp.bucket_member %r at 48 of @l : tensor<64xf32, #B> -> tensor<6xf32, #P>
  return
}

// -----

// @bucket_member_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%r: tensor<64xf32, #B>) {
  // expected-error @below {{'sbp.bucket_member' op takes 6 elements from 59 on, of 64; they must lie within the range}}
  %0 = sbp.bucket_member %r at 59 of @l : tensor<64xf32, #B> -> tensor<6xf32, #B>
  return
}

// -----

// @bucket_member_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%r: tensor<64xf32, #B>) {
  // expected-error @below {{'sbp.bucket_member' op takes 6 elements from -1 on, of 64; they must lie within the range}}
  %0 = sbp.bucket_member %r at -1 of @l : tensor<64xf32, #B> -> tensor<6xf32, #B>
  return
}

// -----

// @bucket_member_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sb = #sbp.nd<#p, [S(@l, 48 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%r: tensor<64xf32, #S0>) {
  // expected-error @below {{'sbp.bucket_member' op is at 32 of @l, but its member is the slot at 48 of 'l'; they must be the same}}
  %0 = sbp.bucket_member %r at 32 of @l : tensor<64xf32, #S0> -> tensor<6xf32, #Sb>
  return
}

// -----

// @bucket_c3
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'sbp.bucket' op @l holds no variable; name the variables that lie in it, or remove the bucket}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [] at []

// -----

// @bucket_read_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f() {
  // expected-error @below {{'sbp.bucket_read' op has type 'tensor<64xf64,}}
  %0 = sbp.bucket_read @l : tensor<64xf64, #B>
  return
}

// -----

// @bucket_assign_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f(%x: tensor<64xbf16, #B>) {
  // expected-error @below {{'sbp.bucket_assign' op has type 'tensor<64xbf16,}}
  sbp.bucket_assign @l, %x : tensor<64xbf16, #B>
  return
}

// -----

// @bucket_pack_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w, @l.b] at [0, 48]
sbp.variable @l.w : tensor<2x17xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.b : tensor<6xf32, #B> slot #sbp.slot<@l, 48 of 64>
func.func @f() {
  // expected-error @below {{'sbp.bucket_pack' op has no operand for a range of @l; give it the members that lie there}}
  %0 = sbp.bucket_pack at [] of @l : () -> tensor<64xf32, #P>
  return
}

// -----

// @bucket_c3
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'sbp.bucket' op @l holds a variable at 65, but has 64 elements; offsets lie within}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@w] at [65]
sbp.variable @w : tensor<4xf32, #B> slot #sbp.slot<@l, 0 of 64>

// -----

// @bucket_c3
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'sbp.bucket' op @l holds a variable at -1, but has 64 elements; offsets lie within}}
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@w] at [-1]
sbp.variable @w : tensor<4xf32, #B> slot #sbp.slot<@l, 0 of 64>
