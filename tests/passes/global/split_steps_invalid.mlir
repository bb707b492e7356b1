// What a step cannot be split for, and what is just legal.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null -nn-differentiate -nn-expand-optimizers -sbp-split-steps="micro-batches=3"

// @split_steps_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
// expected-error @below {{'func.func' op @train takes argument 0 with 10 elements along dimension 0, which 3 micro-batches do not divide; choose a divisor of 10}}
func.func @train(%x: tensor<10x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<10x4xf32, #S0>, tensor<4x2xf32>) -> tensor<10x2xf32>
  %z = nn.relu %y : (tensor<10x2xf32>) -> tensor<10x2xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<10x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c1_legal, @split_steps_c2_legal, @split_steps_c3_legal
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %z = nn.relu %y : (tensor<12x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c2: of all rows at once.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %yt = nn.transpose %y {permutation = array<i64: 1, 0>} : (tensor<12x2xf32>) -> tensor<2x12xf32>
  // expected-error @below {{'nn.softmax' op needs operand 0 of all micro-batches at once, but these are computed one after the other (it is S(1) along micro-batches, and wanted as B); compute the step in one micro-batch, or split the input that it comes from in another way}}
  %st = nn.softmax %yt : (tensor<2x12xf32>) -> tensor<2x12xf32>
  %z = nn.transpose %st {permutation = array<i64: 1, 0>} : (tensor<2x12xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c2: a row of a variable for each row of the batch.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
sbp.variable @b : tensor<12x2xf32> frozen
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %b = sbp.read @b : tensor<12x2xf32>
  // expected-error @below {{'nn.add' op takes a part of operand 1 for each micro-batch, but the operand is whole (it is B along micro-batches, and wanted as S(0)); compute the step in one micro-batch, or split the input that it comes from in another way}}
  %z = nn.add %y, %b : (tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c2: where a hidden dimension has as many elements as the batch has rows, a broadcast along it is not taken for
// one along the rows where that would be wrong: it meets a whole variable. (The error is that of the strictest analysis.)
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
sbp.variable @v : tensor<2xf32>
sbp.variable @u : tensor<12x2xf32>
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %s = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<12x2xf32>) -> tensor<2xf32>
  %b = nn.broadcast %s {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<12x2xf32>
  // expected-error @below {{'nn.mul' op needs operand 1 of all micro-batches at once, but these are computed one after the other (it is P along micro-batches, and wanted as S(0)); compute the step in one micro-batch, or split the input that it comes from in another way}}
  %z = nn.mul %y, %b : (tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x2xf32>
  %l = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %v = sbp.read @v : tensor<2xf32>
  %h = nn.broadcast %v {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<12x2xf32>
  %u = sbp.read @u : tensor<12x2xf32>
  %k = nn.mul %h, %u : (tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x2xf32>
  %m = nn.reduce_sum %k {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %loss = nn.add %l, %m : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c3: what a row gives when the step has been made.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<12x2xf32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %z = nn.relu %y : (tensor<12x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  // expected-note @below {{assigned here}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  // expected-error @below {{'sbp.read' op reads @w after its assignment, for each micro-batch, but the last micro-batch assigns it; read it before, or compute the step in one micro-batch}}
  %v = sbp.read @w : tensor<4x2xf32>
  %after = nn.matmul %x, %v : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  return %after : tensor<12x2xf32>
}

// -----

// @split_steps_c1: what the function says counts more than the option.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
// expected-error @below {{'func.func' op @train takes argument 0 with 12 elements along dimension 0, which 5 micro-batches do not divide; choose a divisor of 12}}
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> attributes {sbp.micro_batches = 5 : i64} {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'func.func' op @evaluate has sbp.micro_batches = 3 : i64; it must be an i64, and only a function that updates by a gradient may have it}}
func.func @evaluate(%x: tensor<12x4xf32, #S0>) -> tensor<12x4xf32, #S0> attributes {sbp.micro_batches = 3 : i64} {
  return %x : tensor<12x4xf32, #S0>
}

// -----

// @split_steps_c2: nothing is split.
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4x2xf32>
// expected-error @below {{'func.func' op @train is to be computed in 3 micro-batches, but ranks split none of its arguments along axis "dp"; compute it in one, or name the axis that splits the batch}}
func.func @train(%x: tensor<12x4xf32, #sbp.nd<#p, [B]>>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %loss = nn.reduce_sum %w {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// @split_steps_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
// expected-error @below {{'func.func' op @train is to be computed in 3 micro-batches, but a schedule already says how it runs; leave the schedule out, or compute the function in one (sbp.micro_batches = 1)}}
func.func @train(%x: tensor<12x4xf32, #S0>) {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
sbp.schedule @twice of 2 {
  sbp.run @train from 0 to 2 takes [0] cut [-1]
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
// expected-error @below {{'func.func' op @train has sbp.micro_batches = 18446744073709551619 : i128; it must be an i64, and only a function that updates by a gradient may have it}}
func.func @train(%x: tensor<12x4xf32, #S0>) attributes {sbp.micro_batches = 18446744073709551619 : i128} {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
