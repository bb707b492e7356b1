// What 'sbp-verify-global' lets pass and what not.
// RUN: splitcast-opt %s -sbp-verify-global -split-input-file -verify-diagnostics

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @verify_global_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.relu' op has a tensor of type 'tensor<4xf32>' without a signature; run 'sbp-propagate'}}
  %0 = nn.relu %x : (tensor<4xf32, #B>) -> tensor<4xf32>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [dp = 4]>
func.func @verify_global_c1(%x: tensor<4xf32, #sbp.nd<#p, [B]>>, %y: tensor<4xf32, #sbp.nd<#q, [B]>>) {
  // expected-error @below {{'nn.relu' op has a tensor on another placement than the module's}}
  %0 = nn.relu %y : (tensor<4xf32, #sbp.nd<#q, [B]>>) -> tensor<4xf32, #sbp.nd<#q, [B]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @verify_global_c1_legal(%x: tensor<4xf32, #B>) {
  %0 = nn.relu %x : (tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4xf32, #B> storage #S0
func.func @verify_global_c2() {
  // expected-error @below {{'sbp.read' op has signature [B], which is not the storage of @w; run 'sbp-insert-boxing'}}
  %0 = sbp.read @w : tensor<4xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4xf32, #B> storage #S0
func.func @verify_global_c2(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'sbp.assign' op has signature [B], which is not the storage of @w; run 'sbp-insert-boxing'}}
  sbp.assign @w, %x : tensor<4xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4xf32, #B> storage #S0
func.func @verify_global_c2_legal() {
  %0 = sbp.read @w : tensor<4xf32, #S0>
  sbp.assign @w, %0 : tensor<4xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @verify_global_c3(%x: tensor<f32, #sbp.nd<#p, [B]>>) {
  // expected-error @below {{'nn.minimize' op is left at the end of the global level; run 'nn-differentiate' and 'nn-expand-optimizers' first}}
  nn.minimize %x : tensor<f32, #sbp.nd<#p, [B]>> with #nn.sgd<lr = 0.1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<f32, #sbp.nd<#p, [B]>>
func.func @verify_global_c3(%x: tensor<f32, #sbp.nd<#p, [B]>>) {
  %0 = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op is left at the end of the global level; run 'nn-differentiate' and 'nn-expand-optimizers' first}}
  nn.update @w, %x in %0 : tensor<f32, #sbp.nd<#p, [B]>> with #nn.sgd<lr = 0.1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<f32, #sbp.nd<#p, [B]>>
func.func @verify_global_c3_legal(%x: tensor<f32, #sbp.nd<#p, [B]>>) {
  sbp.assign @w, %x : tensor<f32, #sbp.nd<#p, [B]>>
  return
}

// -----

// @verify_global_c4
// expected-error @below {{'func.func' op must have a body of one block}}
func.func private @external()

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
func.func @verify_global_c4(%x: tensor<f32, #P>) -> tensor<f32, #P> {
  // expected-error @below {{'func.return' op returns a value that is P; box it to B or S}}
  return %x : tensor<f32, #P>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, pp = 2]>
#at = #sbp.nd<#p, [B, At(1)]>
// expected-error @below {{'func.func' op @verify_global_c4 takes or returns 'tensor<f32, #sbp.nd<#sbp.placement<"cpu", [dp = 2, pp = 2]>, [B, At(1)]>>', of which some ranks have nothing; take or return it as B or S}}
func.func @verify_global_c4(%x: tensor<f32, #at>) -> tensor<f32, #at> {
  return %x : tensor<f32, #at>
}

// -----

// Also where nothing uses it.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#B = #sbp.nd<#p, [B, B]>
// expected-error @below {{'func.func' op @verify_global_c4 takes argument 1 as P, but an input is given whole and not as addends of ranks; take it as B or S}}
func.func @verify_global_c4(%x: tensor<f32, #B>, %y: tensor<f32, #sbp.nd<#p, [B, P]>>) -> tensor<f32, #B> {
  return %x : tensor<f32, #B>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
func.func @verify_global_c4_legal(%x: tensor<4xf32, #S0>) -> tensor<4xf32, #S0> {
  return %x : tensor<4xf32, #S0>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 16)]>
func.func @verify_global_c8(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'sbp.boxing' op has a slot of bucket 'l', which only sbp.bucket_member may return and only sbp.bucket_pack, sbp.assign and ops that compute may take; run 'sbp-join-buckets'}}
  %0 = sbp.boxing %x : tensor<4xf32, #B> -> tensor<4xf32, #Sl>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sl = #sbp.nd<#p, [S(@l, 0 of 16)]>
sbp.bucket @l : tensor<16xf32, #B> along "dp" holds [@a] at [0]
sbp.variable @a : tensor<4xf32, #B> storage #Sl slot #sbp.slot<@l, 0 of 16>
func.func @verify_global_c8_legal() {
  %0 = sbp.bucket_read @l : tensor<16xf32, #S0>
  %1 = sbp.bucket_member %0 at 0 of @l : tensor<16xf32, #S0> -> tensor<4xf32, #Sl>
  sbp.assign @a, %1 : tensor<4xf32, #Sl>
  return
}

// -----

// @verify_global_c10
module {
  // expected-error @below {{'builtin.module' op is within another module; move its contents into the outer one}}
  module @inner {
    sbp.group "h" #sbp.policy<stage = 3>
  }
}

// -----

// @verify_global_c10_legal
module {
  sbp.variable @w : tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>
}

// -----

// @verify_global_c11
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module {
  sbp.variable @w : tensor<4xf32, #B>
  func.func @first() {
    %0 = sbp.read @w : tensor<4xf32, #B>
    // expected-error @below {{'sbp.assign' op assigns @w in @first, a kept run, which the next step leaves out; assign carried variables there only}}
    sbp.assign @w, %0 : tensor<4xf32, #B>
    return
  }
  sbp.schedule @s of 1 {
    sbp.run @first from 0 to 1 takes [] cut [] kept
  }
}

// -----

// @verify_global_c11
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module {
  sbp.variable @w : tensor<4xf32, #B>
  sbp.variable @c : tensor<4xf32, #B> carried
  func.func @first() {
    %0 = sbp.read @w : tensor<4xf32, #B>
    sbp.assign @c, %0 : tensor<4xf32, #B>
    return
  }
  func.func @rest() {
    %0 = sbp.read @c : tensor<4xf32, #B>
    // expected-error @below {{'sbp.assign' op assigns @w, which @first, a kept run of @s, reads or assigns; do not keep that run}}
    sbp.assign @w, %0 : tensor<4xf32, #B>
    return
  }
  sbp.schedule @s of 1 {
    sbp.run @first from 0 to 1 takes [] cut [] kept
    sbp.run @rest from 0 to 1 takes [] cut []
  }
}

// -----

// A member of a bucket that the kept run reads.
// @verify_global_c11
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#A = #sbp.nd<#p, [S(@l, 0 of 64)]>
module {
  sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.w] at [0]
  sbp.variable @l.w : tensor<4xf32, #B> storage #A update #A slot #sbp.slot<@l, 0 of 64>
  sbp.variable @c : tensor<64xf32, #B> carried
  func.func @first() {
    %0 = sbp.bucket_read @l : tensor<64xf32, #S0>
    %1 = sbp.boxing %0 : tensor<64xf32, #S0> -> tensor<64xf32, #B> bucket #sbp.slot<@l, 0 of 64>
    sbp.assign @c, %1 : tensor<64xf32, #B>
    return
  }
  func.func @rest() {
    %0 = sbp.bucket_read @l : tensor<64xf32, #S0>
    %1 = sbp.bucket_member %0 at 0 of @l : tensor<64xf32, #S0> -> tensor<4xf32, #A>
    // expected-error @below {{'sbp.assign' op assigns bucket @l parameter, which @first, a kept run of @s, reads or assigns; do not keep that run}}
    sbp.assign @l.w, %1 : tensor<4xf32, #A>
    return
  }
  sbp.schedule @s of 1 {
    sbp.run @first from 0 to 1 takes [] cut [] kept
    sbp.run @rest from 0 to 1 takes [] cut []
  }
}

// -----

// What the kept run assigns is assigned in it alone, and what others assign it does not read.
// @verify_global_c11_legal
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module {
  sbp.variable @w : tensor<4xf32, #B>
  sbp.variable @v : tensor<4xf32, #B>
  sbp.variable @c : tensor<4xf32, #B> carried
  func.func @first() {
    %0 = sbp.read @w : tensor<4xf32, #B>
    sbp.assign @c, %0 : tensor<4xf32, #B>
    return
  }
  func.func @rest() {
    %0 = sbp.read @c : tensor<4xf32, #B>
    sbp.assign @v, %0 : tensor<4xf32, #B>
    return
  }
  sbp.schedule @s of 1 {
    sbp.run @first from 0 to 1 takes [] cut [] kept
    sbp.run @rest from 0 to 1 takes [] cut []
  }
}

// -----

// Recomputed with other signatures, so that ranks would add up what one rank added up before.
#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
func.func @verify_global_c12(%x: tensor<4x6xf32, #B>, %w: tensor<6x2xf32, #B>) {
  %0 = nn.tanh %x : (tensor<4x6xf32, #B>) -> tensor<4x6xf32, #B>
  // expected-note @below {{computed first here}}
  %1 = nn.matmul %0, %w : (tensor<4x6xf32, #B>, tensor<6x2xf32, #B>) -> tensor<4x2xf32, #B>
  %t = sbp.scope "backward"
  %2 = sbp.fence %x in %t : tensor<4x6xf32, #B>
  %3 = nn.tanh %2 : (tensor<4x6xf32, #B>) -> tensor<4x6xf32, #B>
  %4 = sbp.boxing %3 : tensor<4x6xf32, #B> -> tensor<4x6xf32, #S1>
  %5 = sbp.boxing %w : tensor<6x2xf32, #B> -> tensor<6x2xf32, #S0>
  // expected-error @below {{'nn.matmul' op is computed again with operand 0 as [S(1)], but was computed first with [B], so that its sums would be others; box its operands to the signatures of the first}}
  %6 = nn.matmul %4, %5 : (tensor<4x6xf32, #S1>, tensor<6x2xf32, #S0>) -> tensor<4x2xf32, #P>
  %7 = sbp.boxing %6 : tensor<4x2xf32, #P> -> tensor<4x2xf32, #B>
  return
}

// -----

// The same signatures; and other ones of an elementwise op, or of one that a user wrote twice.
#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
func.func @verify_global_c12_legal(%x: tensor<4x6xf32, #B>, %w: tensor<6x2xf32, #B>) {
  %0 = nn.tanh %x : (tensor<4x6xf32, #B>) -> tensor<4x6xf32, #B>
  %1 = nn.matmul %0, %w : (tensor<4x6xf32, #B>, tensor<6x2xf32, #B>) -> tensor<4x2xf32, #B>
  %t = sbp.scope "backward"
  %2 = sbp.fence %x in %t : tensor<4x6xf32, #B>
  %3 = sbp.boxing %2 : tensor<4x6xf32, #B> -> tensor<4x6xf32, #S1>
  %4 = nn.tanh %3 : (tensor<4x6xf32, #S1>) -> tensor<4x6xf32, #S1>
  %5 = sbp.boxing %4 : tensor<4x6xf32, #S1> -> tensor<4x6xf32, #B>
  %6 = nn.matmul %5, %w : (tensor<4x6xf32, #B>, tensor<6x2xf32, #B>) -> tensor<4x2xf32, #B>
  %7 = sbp.boxing %0 : tensor<4x6xf32, #B> -> tensor<4x6xf32, #S1>
  %8 = sbp.boxing %w : tensor<6x2xf32, #B> -> tensor<6x2xf32, #S0>
  %9 = nn.matmul %7, %8 : (tensor<4x6xf32, #S1>, tensor<6x2xf32, #S0>) -> tensor<4x2xf32, #P>
  return
}
