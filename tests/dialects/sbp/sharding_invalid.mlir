// What ops that state their signatures (ShardingOpInterface) refuse, with the way out.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [dp = 4]>
func.func @sharding_c1(%a: tensor<4xf32, #sbp.nd<#p, [B]>>, %b: tensor<4xf32, #sbp.nd<#q, [B]>>) {
  // expected-error @below {{'nn.add' op has tensors on two placements; put all of them on one}}
  %0 = nn.add %a, %b : (tensor<4xf32, #sbp.nd<#p, [B]>>, tensor<4xf32, #sbp.nd<#q, [B]>>) -> tensor<4xf32, #sbp.nd<#p, [B]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @sharding_c1_legal(%a: tensor<4xf32, #sbp.nd<#p, [S(0)]>>) {
  %0 = nn.add %a, %a : (tensor<4xf32, #sbp.nd<#p, [S(0)]>>, tensor<4xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<4xf32, #sbp.nd<#p, [S(0)]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
func.func @sharding_c2(%a: tensor<4xf32, #S0>, %b: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.add' op has signatures (S(0), B) -> (S(0)) on axis "dp", which it cannot have}}
  // expected-note @below {{it may have}}
  // expected-note @below {{box an operand with sbp.boxing, or let 'sbp-propagate' choose}}
  %0 = nn.add %a, %b : (tensor<4xf32, #S0>, tensor<4xf32, #B>) -> tensor<4xf32, #S0>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
// What is not decided yet is not judged.
func.func @sharding_c2_legal(%a: tensor<4xf32, #S0>, %b: tensor<4xf32>) {
  %0 = nn.add %a, %b : (tensor<4xf32, #S0>, tensor<4xf32>) -> tensor<4xf32, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#P = #sbp.nd<#p, [P]>
// Back to where the P was made, each op that handed it on named.
func.func @partial_into_gelu(%x: tensor<4x8xf32, #S1>, %w: tensor<8x6xf32, #S0>) {
  // expected-note @below {{it became P here: 'nn.matmul' sums over a dimension that is split along this axis}}
  %0 = nn.matmul %x, %w : (tensor<4x8xf32, #S1>, tensor<8x6xf32, #S0>) -> tensor<4x6xf32, #P>
  // expected-note @below {{P passes through 'nn.scale' here}}
  %1 = nn.scale %0 {value = 2.0 : f64} : (tensor<4x6xf32, #P>) -> tensor<4x6xf32, #P>
  // expected-note @below {{P passes through 'nn.add' here}}
  %2 = nn.add %1, %1 : (tensor<4x6xf32, #P>, tensor<4x6xf32, #P>) -> tensor<4x6xf32, #P>
  // expected-error @below {{'nn.gelu' op operand 0 is P on axis "dp"; 'nn.gelu' is not linear in it and takes S or B}}
  // expected-note @below {{box it to B or S first, or let 'sbp-propagate' choose}}
  %3 = nn.gelu %2 : (tensor<4x6xf32, #P>) -> tensor<4x6xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
// An argument has no op to name.
func.func @partial_argument(%x: tensor<4xf32, #P>) {
  // expected-error @below {{'nn.cast' op operand 0 is P on axis "dp"; 'nn.cast' is not linear in it and takes S or B}}
  // expected-note @below {{box it to B or S first, or let 'sbp-propagate' choose}}
  %0 = nn.cast %x : (tensor<4xf32, #P>) -> tensor<4xf16, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#S0P = #sbp.nd<#p, [S(0), P]>
#S0B = #sbp.nd<#p, [S(0), B]>
// The axis is named, also when it is not the first.
func.func @second_axis(%x: tensor<4xf32, #S0P>, %y: tensor<4xf32, #S0B>) {
  // expected-error @below {{'nn.div' op operand 1 is P on axis "tp"; 'nn.div' is not linear in it and takes S or B}}
  // expected-note @below {{box it to B or S first, or let 'sbp-propagate' choose}}
  %0 = nn.div %y, %x : (tensor<4xf32, #S0B>, tensor<4xf32, #S0P>) -> tensor<4xf32, #S0P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#P = #sbp.nd<#p, [P]>
#B = #sbp.nd<#p, [B]>
// Linear in both together only: an addend plus a whole value, on every rank, is not a sum of addends.
func.func @add_partial_and_whole(%x: tensor<4xf32, #P>, %y: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.add' op has signatures (P, B) -> (P) on axis "dp", which it cannot have}}
  // expected-note @below {{it may have}}
  // expected-note @below {{box an operand with sbp.boxing, or let 'sbp-propagate' choose}}
  %0 = nn.add %x, %y : (tensor<4xf32, #P>, tensor<4xf32, #B>) -> tensor<4xf32, #P>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
// A fence is an identity: it changes no signature.
func.func @fence(%x: tensor<4xf32, #S0>) {
  %t = sbp.scope "forward"
  // expected-error @below {{op failed to verify that all of {input, output} have same type}}
  %0 = "sbp.fence"(%x, %t) : (tensor<4xf32, #S0>, !sbp.token) -> tensor<4xf32, #B>
  return
}
