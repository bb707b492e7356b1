// Which loops of kernels may be divided among threads: those whose iterations do not need each other.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 1]>
sbp.variable @w : tensor<48xf32, #sbp.nd<#p, [B]>>

// Elements.
// CHECK-LABEL: func.func @k0
// CHECK: scf.for %{{.*}} to %c576
// CHECK: } {splitcast.divisible}
// CHECK-NEXT: return
func.func @elements(%x: tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}) -> (tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}) {
  %0 = nn.tanh %x : (tensor<12x48xf32>) -> tensor<12x48xf32>
  return %0 : tensor<12x48xf32>
}

// Rows, with what is summed along them.
// CHECK-LABEL: func.func @k1
// CHECK: scf.for %{{.*}} to %c12{{(_[0-9]+)?}} step
// CHECK: } {splitcast.divisible}
// CHECK-NEXT: return
func.func @rows(%x: tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}) -> (tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}) {
  %0 = nn.softmax %x : (tensor<12x48xf32>) -> tensor<12x48xf32>
  return %0 : tensor<12x48xf32>
}

// Columns, each of which is summed over the rows.
// CHECK-LABEL: func.func @k2
// CHECK: scf.for %{{.*}} to %c48{{(_[0-9]+)?}} step %c16
// CHECK: } {splitcast.divisible}
// CHECK-NEXT: return
func.func @columns(%x: tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}) -> (tensor<48xf32> {ccl.global = tensor<48xf32>}) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<12x48xf32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}

// Of a width that is no multiple of the lanes: the rest is a loop of one iteration.
// CHECK-LABEL: func.func @k3
// CHECK: scf.for %{{.*}} to %c32{{(_[0-9]+)?}} step %c16
// CHECK: } {splitcast.divisible}
// CHECK: scf.for %{{.*}} to %c1{{(_[0-9]+)?}} step
// CHECK: } {splitcast.divisible}
// CHECK-NEXT: return
func.func @ragged_columns(%x: tensor<12x40xf32> {ccl.global = tensor<12x40xf32>}) -> (tensor<40xf32> {ccl.global = tensor<40xf32>}) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<12x40xf32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// Few rows that are added up in one place have an order.
// CHECK-LABEL: func.func @k4
// CHECK-NOT: splitcast.divisible
// CHECK: return
func.func @rows_and_columns(%y: tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}, %x: tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}, %s: tensor<48xf32> {ccl.global = tensor<48xf32>}) -> (tensor<12x48xf32> {ccl.global = tensor<12x48xf32>}, tensor<48xf32> {ccl.global = tensor<48xf32>}) {
  %0 = nn.layer_norm_grad %y, %x, %s {epsilon = 1.0e-5 : f64} : (tensor<12x48xf32>, tensor<12x48xf32>, tensor<48xf32>) -> tensor<12x48xf32>
  %1 = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<12x48xf32>) -> tensor<48xf32>
  return %0, %1 : tensor<12x48xf32>, tensor<48xf32>
}

// Many rows are added up in blocks, each in its own row of the workspace (17 blocks of 18 rows, the last of 12), and
// then the blocks are.
// CHECK-LABEL: func.func @k5
// CHECK-SAME: %[[SPACE:[a-z0-9]+]]: memref<3264xi8>
// CHECK: %[[SUMS:.*]] = memref.view %[[SPACE]]{{.*}} : memref<3264xi8> to memref<17x48xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to %c17{{(_[0-9]+)?}} step
// CHECK: arith.minsi
// CHECK: memref.store %{{.*}}, %[[SUMS]][%[[BLOCK]], %{{.*}}]
// CHECK: } {splitcast.divisible}
// CHECK: scf.for %{{.*}} to %c48{{(_[0-9]+)?}} step %c16
// CHECK: } {splitcast.divisible}
// CHECK-NEXT: return
func.func @many_rows_and_columns(%y: tensor<300x48xf32> {ccl.global = tensor<300x48xf32>}, %x: tensor<300x48xf32> {ccl.global = tensor<300x48xf32>}, %s: tensor<48xf32> {ccl.global = tensor<48xf32>}) -> (tensor<300x48xf32> {ccl.global = tensor<300x48xf32>}, tensor<48xf32> {ccl.global = tensor<48xf32>}) {
  %0 = nn.layer_norm_grad %y, %x, %s {epsilon = 1.0e-5 : f64} : (tensor<300x48xf32>, tensor<300x48xf32>, tensor<48xf32>) -> tensor<300x48xf32>
  %1 = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<300x48xf32>) -> tensor<48xf32>
  return %0, %1 : tensor<300x48xf32>, tensor<48xf32>
}

// Of no columns there is nothing to add up.
// CHECK-LABEL: func.func @k6
// CHECK-NOT: memref.view
// CHECK: return
func.func @no_columns(%x: tensor<300x0xf32> {ccl.global = tensor<300x0xf32>}) -> (tensor<300x0xf32> {ccl.global = tensor<300x0xf32>}, tensor<0xf32> {ccl.global = tensor<0xf32>}) {
  %0 = nn.relu %x : (tensor<300x0xf32>) -> tensor<300x0xf32>
  %1 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<300x0xf32>) -> tensor<0xf32>
  return %0, %1 : tensor<300x0xf32>, tensor<0xf32>
}
