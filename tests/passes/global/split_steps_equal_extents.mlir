// A hidden dimension may have as many elements as the batch has rows. A broadcast along it, beside one that repeats a sum
// over the batch for its rows, may then be taken for one along the rows. That changes no value: of what is repeated, each
// micro-batch has an equal part, and what is computed of the parts is added up, or is refused (split_steps_invalid.mlir).
// RUN: splitcast-opt %s -split-input-file -nn-differentiate -nn-expand-optimizers -sbp-split-steps="micro-batches=3" | FileCheck %s

// 12 rows of 12: only the rows are cut, into 4 rows of 12.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x12xf32>
// CHECK: func.func @square.sums0.first(
// CHECK: %[[Y:.*]] = nn.matmul %{{.*}} -> tensor<4x12xf32>
// CHECK: nn.reduce_sum %[[Y]] {dims = array<i64: 0>} : (tensor<4x12xf32>) -> tensor<12xf32>
// CHECK: func.func @square.last(
// CHECK: %[[Y:.*]] = nn.matmul %{{.*}} -> tensor<4x12xf32>
// CHECK: %[[S:.*]] = sbp.read @square.sum0 : tensor<12xf32>
// CHECK: %[[B:.*]] = nn.broadcast %[[S]] {dims = array<i64: 0>} : (tensor<12xf32>) -> tensor<4x12xf32>
// CHECK: nn.mul %[[Y]], %[[B]] : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
// CHECK-NOT: tensor<12x4xf32>
// CHECK: sbp.schedule @square of 3
func.func @square(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x12xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x12xf32>) -> tensor<12x12xf32>
  %s = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<12x12xf32>) -> tensor<12xf32>
  %b = nn.broadcast %s {dims = array<i64: 0>} : (tensor<12xf32>) -> tensor<12x12xf32>
  %z = nn.mul %y, %b : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
  %loss = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x12xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

// The 12 rows of %h are of no batch. Each micro-batch has 4 of them, and their sums are added up: to that of 12.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32>
sbp.variable @v : tensor<2xf32>
// CHECK: func.func @hidden.sums0.next(
// CHECK: %[[GRAD:v_grad.*]] = nn.reduce_sum %{{.*}} {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<2xf32>
// CHECK: %[[ADDEND:.*]] = sbp.fence %[[GRAD]] in
// CHECK: %[[BEFORE:.*]] = sbp.fence %{{.*}}accumulated in
// CHECK: %[[SUM:.*]] = nn.add %[[BEFORE]], %[[ADDEND]] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: sbp.assign @v.accumulated, %[[SUM]]
// CHECK: func.func @hidden.last(
// CHECK: %[[L:.*]] = nn.reduce_sum %{{.*}} : (tensor<4x2xf32>) -> tensor<f32>
// CHECK: %[[V:.*]] = sbp.read @v : tensor<2xf32>
// CHECK: %[[H:.*]] = nn.broadcast %[[V]] {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<4x2xf32>
// CHECK: %[[K:.*]] = nn.tanh %[[H]]
// CHECK: %[[M:.*]] = nn.reduce_sum %[[K]] {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
// CHECK: %[[PART:.*]] = nn.add %[[L]], %[[M]]
// CHECK: %[[BEFORE:.*]] = sbp.read @hidden.sum{{[0-9]+}} : tensor<f32>
// CHECK: %[[ALL:.*]] = nn.add %[[BEFORE]], %[[PART]]
// CHECK: return %[[ALL]] : tensor<f32>
func.func @hidden(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %s = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<12x2xf32>) -> tensor<2xf32>
  %b = nn.broadcast %s {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<12x2xf32>
  %z = nn.mul %y, %b : (tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x2xf32>
  %l = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %v = sbp.read @v : tensor<2xf32>
  %h = nn.broadcast %v {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<12x2xf32>
  %k = nn.tanh %h : (tensor<12x2xf32>) -> tensor<12x2xf32>
  %m = nn.reduce_sum %k {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %loss = nn.add %l, %m : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
