// What micro-batches do to inputs that nothing needs, and to units that are longer than a micro-batch.
// RUN: splitcast-opt %s -split-input-file -nn-differentiate -nn-expand-optimizers -sbp-split-steps="micro-batches=2" | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 3]>
#S0_ = #sbp.nd<#p, [S(0)]>
#B_ = #sbp.nd<#p, [B]>
sbp.variable @w : tensor<4x2xf32>
// The last run takes what the step does, so that callers give what they gave.
// CHECK: func.func @unused.first(%{{.*}}: tensor<6x4xf32, #S0_>) {
// CHECK: func.func @unused.last(%{{.*}}: tensor<3x4xf32, #S0_>, %{{.*}}: tensor<6x4xf32, #S0_>, %{{.*}}: tensor<5xf32, #B>) -> tensor<f32>
// CHECK: sbp.schedule @unused of 2 {
// CHECK-NEXT: sbp.run @unused.first from 0 to 1 takes [1] cut [0]
// CHECK-NEXT: sbp.run @unused.last from 1 to 2 takes [0, 1, 2] cut [0, 0, -1] gives [0] joined [-1]
func.func @unused(%a: tensor<6x4xf32, #S0_>, %x: tensor<12x4xf32, #S0_>, %b: tensor<5xf32, #B_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0_>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// What is longer than a micro-batch keeps the most together that divides it: of 6 in a row, 3 where there are 3.
#q = #sbp.placement<"cpu", [dp = 3]>
#S0by4_ = #sbp.nd<#q, [S(0 by 4)]>
#S0by5_ = #sbp.nd<#q, [S(0 by 5)]>
#S0by6_ = #sbp.nd<#q, [S(0 by 6)]>
sbp.variable @w : tensor<4x2xf32>
// CHECK: func.func @units.last(%{{.*}}: tensor<4x4xf32, #S0by4_>, %{{.*}}: tensor<5x4xf32, #S0by5_>, %{{.*}}: tensor<3x4xf32, #S0by3_>, %{{.*}}: tensor<12x4xf32, #S0by6_>) -> tensor<f32>
func.func @units(%x: tensor<8x4xf32, #S0by4_>, %a: tensor<10x4xf32, #S0by5_>, %b: tensor<6x4xf32, #sbp.nd<#q, [S(0 by 6)]>>, %c: tensor<24x4xf32, #S0by6_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0by4_>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// What is not of the batch is computed for each micro-batch, all of it, and not a part of a dimension that is made of
// nothing (1 has no 2 parts). So is its gradient, which is added behind the last.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
// CHECK: func.func @once.first(
// CHECK-NOT: nn.broadcast {{.*}} -> tensor<1x4x2xf32>
// CHECK: func.func @once.last(
// CHECK: nn.broadcast %{{.*}} : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
// CHECK: sbp.schedule @once of 2
func.func @once(%x: tensor<4x4xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %a = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  %z = nn.broadcast %w {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
  %b = nn.reduce_sum %z {dims = array<i64: 0, 1, 2>} : (tensor<1x4x2xf32>) -> tensor<f32>
  %loss = nn.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// An element of micro-batch m is element 6 m and so many more of the batch: that is what dropout draws by.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x3xf32>
sbp.variable @key : tensor<i64> frozen
// CHECK: func.func @dropped.first(%{{.*}}: tensor<2x4xf32, #S0_>, %[[M:.*]]: tensor<i64>) {
// CHECK: %[[E:.*]] = nn.constant 6.000000e+00 : tensor<i64>
// CHECK-NEXT: %[[FIRST:.*]] = nn.mul %[[M]], %[[E]]
// CHECK-NEXT: nn.dropout %{{.*}}, %{{.*}}, %[[FIRST]] {global_shape = array<i64: 4, 3>, offsets = array<i64: 0, 0>, rate = 5.000000e-01 : f64}
// CHECK: func.func @dropped.last(
// CHECK: sbp.run @dropped.first from 0 to 1 takes [0] cut [0] numbered
// CHECK: sbp.run @dropped.last from 1 to 2 takes [0] cut [0] numbered
func.func @dropped(%x: tensor<4x4xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %k = sbp.read @key : tensor<i64>
  %z = nn.dropout %y, %k {rate = 0.5 : f64} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// The gradient of the product is made from nothing, by more than elementwise ops; it is a part all the same. A user's state of
// role "accumulated" stays the user's.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x3xf32>
sbp.variable @w.accumulated : tensor<4x3xf32> init #sbp.constant<1.0> state_of @w role "accumulated"
// CHECK: sbp.variable @w.accumulated_ : tensor<4x3xf32> group "w" state_of @w role "accumulated_" carried
// CHECK: sbp.variable @w.accumulated : tensor<4x3xf32> init
// CHECK: func.func @seen.first(
// CHECK: nn.matmul %{{.*}}, %{{.*}} {transpose_b} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK: sbp.assign @w.accumulated_,
// CHECK: func.func @also.last(
// CHECK: sbp.read @w.accumulated_ :
// CHECK: sbp.schedule @also of 2
func.func @seen(%x: tensor<4x4xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %t = nn.tanh %y : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %v = nn.constant 0.5 : tensor<3x2xf32>
  %z = nn.matmul %t, %v : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
func.func @also(%x: tensor<4x4xf32, #S0_>) {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// What a user's schedule runs is not split again, and what an update takes beside the gradient is a sum of its own.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x3xf32>
// CHECK: sbp.variable @byHand.sum1 : tensor<f32> group "byHand" frozen carried
// CHECK: func.func @byHand.first(
// CHECK: sbp.assign @byHand.sum1, %{{.*}} : tensor<f32>
// CHECK: func.func @own(%{{.*}}: tensor<4x4xf32, #S0_>) -> tensor<f32>
// CHECK: sbp.schedule @mine of 1 {
func.func @byHand(%x: tensor<4x4xf32, #S0_>) {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %s = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  %g = nn.matmul %x, %y {transpose_a} : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %scope = sbp.scope "update" of @w
  %wf = sbp.fence %w in %scope : tensor<4x3xf32>
  %gf = sbp.fence %g in %scope : tensor<4x3xf32>
  %sf = sbp.fence %s in %scope : tensor<f32>
  %gs = nn.mul %gf, %sf : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %new = nn.sub %wf, %gs : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  sbp.assign @w, %new : tensor<4x3xf32>
  return
}
func.func @own(%x: tensor<4x4xf32, #S0_>) -> tensor<f32> attributes {sbp.micro_batches = 1 : i64} {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
sbp.schedule @mine of 1 {
  sbp.run @own from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// A schedule has the name of its step, and no part of another step gets it.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x3xf32>
// CHECK: sbp.schedule @f.last of 2 {
// CHECK: sbp.run @f.last.last from 1 to 2
// CHECK: func.func @[[LAST:f.last_[0-9]+]](
// CHECK: sbp.schedule @f of 2 {
// CHECK: sbp.run @[[LAST]] from 1 to 2
func.func @f.last(%x: tensor<4x4xf32, #S0_>) {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
func.func @f(%x: tensor<4x4xf32, #S0_>) {
  %w = sbp.read @w : tensor<4x3xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32, #S0_>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
