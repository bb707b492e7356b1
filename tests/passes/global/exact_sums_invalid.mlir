// What cannot be summed without rounding.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null -sbp-exact-sums="reproducible micro-batches=65536" -sbp-propagate

// @exact_sums_c2: 65,536 micro-batches on 8 ranks.
#p = #sbp.placement<"cpu", [dp = 4, tp = 2]>
#S = #sbp.nd<#p, [S(0), B]>
sbp.variable @w : tensor<262144x4xf32>
// expected-error @below {{'func.func' op @train is to be reproducible in 65536 micro-batches on 8 ranks, but sums are exact up to 524287 addends only; make micro-batches larger}}
func.func @train(%g: tensor<262144x4xf32, #S>) {
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<262144x4xf32, #S>
  return
}

// -----

// @exact_sums_c1_legal, @exact_sums_c2_legal, @exact_sums_c3_legal, @exact_sums_c4_legal, @exact_sums_c5_legal: on 4. What says that it is not reproducible may be anything.
#p = #sbp.placement<"cpu", [dp = 4]>
#S = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
sbp.variable @w : tensor<4xf32>
func.func @train(%x: tensor<262144x4xf32, #S>) {
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<262144x4xf32, #S>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  sbp.assign @w, %f : tensor<4xf32>
  return
}
func.func @softmax(%x: tensor<4x262144xf32, #S1>) attributes {sbp.reproducible = false} {
  %y = nn.softmax %x : (tensor<4x262144xf32, #S1>) -> tensor<4x262144xf32>
  %g = nn.reduce_sum %y {dims = array<i64: 1>} : (tensor<4x262144xf32>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  return
}

// -----

// @exact_sums_c4: of all rows at once.
#p = #sbp.placement<"cpu", [dp = 4]>
#S1 = #sbp.nd<#p, [S(1)]>
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'func.func' op @train is to be reproducible, so each value of its batch must belong to one micro-batch, or be a sum over all of them; change that, or leave 'reproducible' out}}
func.func @train(%x: tensor<4x262144xf32, #S1>) {
  // expected-error @below {{'nn.softmax' op needs operand 0 of all micro-batches at once}}
  %y = nn.softmax %x : (tensor<4x262144xf32, #S1>) -> tensor<4x262144xf32>
  %g = nn.reduce_sum %y {dims = array<i64: 1>} : (tensor<4x262144xf32>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'func.func' op @predict has sbp.reproducible = true; it must be true or false, and only a function that updates by a gradient may have it}}
func.func @predict(%x: tensor<4xf32, #sbp.nd<#p, [S(0)]>>) attributes {sbp.reproducible = true} {
  return
}

// -----

// Ranks add up what a user boxed, each time rounded.
#p = #sbp.placement<"cpu", [dp = 4]>
#S = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
sbp.variable @w : tensor<4xf32>
func.func @train(%x: tensor<262144x4xf32, #S>) {
  // expected-error @below {{'nn.reduce_sum' op is summed over the ranks of axis "dp" and rounded, in a function that is to be reproducible, though it is no sum over the batch; let ranks have its operands whole (B), or leave 'reproducible' out}}
  %s = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<262144x4xf32, #S>) -> tensor<4xf32>
  %b = sbp.boxing %s : tensor<4xf32> -> tensor<4xf32, #B>
  %t = nn.mul %b, %b : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %t in %scope : tensor<4xf32>
  sbp.assign @w, %f : tensor<4xf32>
  return
}

// -----

// Likewise of an argument, which no op makes.
#p = #sbp.placement<"cpu", [dp = 4]>
#S = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
sbp.variable @w : tensor<4xf32>
func.func @train(%x: tensor<262144x4xf32, #S>, %q: tensor<4xf32, #P>) {
  // expected-error @below {{'sbp.boxing' op is summed over the ranks of axis "dp" and rounded, in a function that is to be reproducible, though it is no sum over the batch; let ranks have its operands whole (B), or leave 'reproducible' out}}
  %b = sbp.boxing %q : tensor<4xf32, #P> -> tensor<4xf32, #B>
  %y = nn.mul %x, %b : (tensor<262144x4xf32, #S>, tensor<4xf32, #B>) -> tensor<262144x4xf32>
  %g = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<262144x4xf32>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  sbp.assign @w, %f : tensor<4xf32>
  return
}

// -----

// @exact_sums_c3: 65,536 micro-batches on 3 ranks.
#p = #sbp.placement<"cpu", [dp = 3]>
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'func.func' op @train is to be reproducible, but argument 0 has 262144 elements along dimension 0, which 196608 addends (micro-batches times the ranks that split it) do not divide; choose a divisor of 262144}}
func.func @train(%x: tensor<262144x4xf32, #sbp.nd<#p, [S(0)]>>) {
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<262144x4xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  return
}

// -----

// @exact_sums_c3: units.
#p = #sbp.placement<"cpu", [dp = 3]>
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'func.func' op @train is to be reproducible, but argument 0 has 262144 elements along dimension 0, which 196608 addends (micro-batches times the ranks that split it) do not divide into units of 4; choose a divisor of 65536}}
func.func @train(%x: tensor<262144x4xf32, #sbp.nd<#p, [S(0 by 4)]>>) {
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<262144x4xf32, #sbp.nd<#p, [S(0 by 4)]>>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  return
}

// -----

// @exact_sums_c3: ends.
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'func.func' op @train is to be reproducible, but argument 0 is [S(0 to [2, 262144])], so that ranks have unequally many of its 262144 elements along dimension 0; split it evenly}}
func.func @train(%x: tensor<262144x4xf32, #sbp.nd<#p, [S(0 to [2, 262144])]>>) {
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<262144x4xf32, #sbp.nd<#p, [S(0 to [2, 262144])]>>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  return
}

// -----

// @exact_sums_c3: no batch.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'func.func' op @train is to be reproducible, but ranks split none of its arguments along axis "dp"; name the axis that splits the batch, or leave 'reproducible' out}}
func.func @train(%x: tensor<262144x4xf32, #sbp.nd<#p, [B, S(0)]>>) {
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<262144x4xf32, #sbp.nd<#p, [B, S(0)]>>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  return
}

// -----

// @exact_sums_c1
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'func.func' op @part is to be reproducible, but schedule @train runs it, and sums from run to run are rounded there; set sbp.reproducible = false on it, or leave the schedule to the compiler}}
func.func @part(%x: tensor<8192x4xf32, #sbp.nd<#p, [S(0)]>>) {
  %g = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<8192x4xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  sbp.assign @w, %f : tensor<4xf32>
  return
}
sbp.schedule @train of 2 {
  sbp.run @part from 0 to 2 takes [0] cut [0]
}

// -----

// @propagate_c8: a statement of rows that the op does not have: its sum would be over other rows than those of its rank.
#p = #sbp.placement<"cpu", [dp = 2]>
#S = #sbp.nd<#p, [S(0)]>
#M0 = #sbp.nd<#sbp.placement<"turns", [micro_batches = 2]>, [S(0)]>
#M1 = #sbp.nd<#sbp.placement<"turns", [micro_batches = 2]>, [S(1)]>
func.func @train(%x: tensor<4x6xf32, #S> {sbp.batch_rows = [#M1]}) -> tensor<6xf32> attributes {sbp.exact_sums = "dp", sbp.batch_rows} {
  // expected-error @below {{'nn.reduce_sum' op has an operand that is S(0) along axis "dp", in a function that is to be reproducible, but S(1) along the batch, so that its addends would differ with the number of ranks; let ranks have variables whole (B) and no others' rows, or leave 'reproducible' out}}
  %g = nn.reduce_sum %x {dims = array<i64: 0>, sbp.batch_rows = [#M0, #M0]} : (tensor<4x6xf32, #S>) -> tensor<6xf32>
  return %g : tensor<6xf32>
}

// -----

// 'sbp-exact-sums' says which axis.
#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'func.func' op @train has sbp.exact_sums = "batch", which must be an axis of #sbp.placement<"cpu", [dp = 4]>; 'sbp-exact-sums' writes it}}
func.func @train(%x: tensor<4xf32, #sbp.nd<#p, [S(0)]>>) attributes {sbp.exact_sums = "batch"} {
  return
}

// -----

// @exact_sums_c5
#p = #sbp.placement<"cpu", [dp = 4]>
#S = #sbp.nd<#p, [S(0)]>
sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
func.func @train(%x: tensor<262144x4xf32, #S>) {
  // expected-error @below {{'sbp.read' op of @train, which is to be reproducible, reads a scale of the loss, which could move gradients out of the range of exact sums; leave out 'loss_scale', which f32 does not need, or 'reproducible'}}
  %s = sbp.read @optimizer.loss_scale : tensor<f32>
  %y = nn.mul %x, %s : (tensor<262144x4xf32, #S>, tensor<f32>) -> tensor<262144x4xf32>
  %g = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<262144x4xf32>) -> tensor<4xf32>
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32>
  sbp.assign @w, %f : tensor<4xf32>
  return
}
