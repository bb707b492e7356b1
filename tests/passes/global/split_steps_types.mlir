// Steps that update one variable have one accumulator, if they add up elements of one type: a reproducible step adds up f64.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-exact-sums -sbp-split-steps | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=0 | FileCheck %s --check-prefix=RUNS
// RUN: splitcast-opt %s -enable-zero=stage=2 | FileCheck %s --check-prefix=RUNS

// RUNS: module
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK-DAG: sbp.variable @w.accumulated : tensor<3x2xf64, {{.*}} state_of @w role "accumulated" carried
// CHECK-DAG: sbp.variable @w.accumulated_f32 : tensor<3x2xf32, {{.*}} state_of @w role "accumulated_f32" carried
sbp.variable @w : tensor<3x2xf32, #B>
// CHECK-DAG: sbp.variable @v.accumulated : tensor<3x2xf32, {{.*}} state_of @v role "accumulated" carried
// CHECK-DAG: sbp.variable @v.accumulated_f64 : tensor<3x2xf64, {{.*}} state_of @v role "accumulated_f64" carried
sbp.variable @v : tensor<3x2xf32, #B>
// CHECK: func.func @a.first(
// CHECK: sbp.assign @w.accumulated, %{{.*}} : tensor<3x2xf64>
func.func @a(%x: tensor<8x3xf32, #S0>) attributes {sbp.micro_batches = 2 : i64, sbp.reproducible = true} {
  %0 = sbp.read @w : tensor<3x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<8x3xf32, #S0>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %2 = nn.tanh %1 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %3 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
// CHECK: func.func @b.first(
// CHECK: sbp.assign @w.accumulated_f32, %{{.*}} : tensor<3x2xf32>
func.func @b(%x: tensor<8x3xf32, #S0>) attributes {sbp.micro_batches = 4 : i64} {
  %0 = sbp.read @w : tensor<3x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<8x3xf32, #S0>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %2 = nn.tanh %1 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %3 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
// CHECK: func.func @c.first(
// CHECK: sbp.assign @v.accumulated, %{{.*}} : tensor<3x2xf32>
func.func @c(%x: tensor<8x3xf32, #S0>) attributes {sbp.micro_batches = 2 : i64} {
  %0 = sbp.read @v : tensor<3x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<8x3xf32, #S0>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %2 = nn.tanh %1 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %3 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
// CHECK: func.func @d.first(
// CHECK: sbp.assign @v.accumulated_f64, %{{.*}} : tensor<3x2xf64>
func.func @d(%x: tensor<8x3xf32, #S0>) attributes {sbp.micro_batches = 2 : i64, sbp.reproducible = true} {
  %0 = sbp.read @v : tensor<3x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<8x3xf32, #S0>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %2 = nn.tanh %1 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %3 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
// Such steps share it.
// CHECK: func.func @e.first(
// CHECK: sbp.assign @w.accumulated_f32, %{{.*}} : tensor<3x2xf32>
func.func @e(%x: tensor<8x3xf32, #S0>) attributes {sbp.micro_batches = 2 : i64} {
  %0 = sbp.read @w : tensor<3x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<8x3xf32, #S0>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %2 = nn.tanh %1 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %3 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
