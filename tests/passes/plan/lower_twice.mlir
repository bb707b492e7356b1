// A value that was assigned, and is needed after another assignment of the same storage, is not made in it.
// RUN: splitcast-opt %s -local-pipeline -exec-lower | FileCheck %s
sbp.variable @w : tensor<8xf32>
ccl.storage @s : tensor<8xf32> holds [@w] at [0]

// CHECK: exec.plan @computed
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, [[N:[0-9]+]], 32>]
// CHECK-NEXT: exec.copy <arena, [[N]], 32> to <persistent, 0, 32>
// CHECK-NEXT: exec.copy <arena, {{[0-9]+}}, 32> to <persistent, 0, 32>
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, [[N]], 32>] {in_place = array<i64: 0>}
func.func @computed(%x: tensor<8xf32> {ccl.global = tensor<8xf32>}) -> (tensor<8xf32> {ccl.global = tensor<8xf32>}) {
  %0 = ccl.read @s : tensor<8xf32>
  %1 = nn.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s, %1 : tensor<8xf32>
  ccl.assign @s, %x : tensor<8xf32>
  %2 = nn.tanh %1 : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK: exec.plan @returned
// CHECK-SAME: outputs = [#exec.range<arena, [[OUT:[0-9]+]], 32>]
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, [[OUT]], 32>]
func.func @returned(%x: tensor<8xf32> {ccl.global = tensor<8xf32>}) -> (tensor<8xf32> {ccl.global = tensor<8xf32>}) {
  %0 = ccl.read @s : tensor<8xf32>
  %1 = nn.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s, %1 : tensor<8xf32>
  ccl.assign @s, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Nothing needs it by then: made in the storage.
// CHECK: exec.plan @forgotten
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<persistent, 0, 32>]
func.func @forgotten(%x: tensor<8xf32> {ccl.global = tensor<8xf32>}) -> (tensor<8xf32> {ccl.global = tensor<8xf32>}) {
  %0 = ccl.read @s : tensor<8xf32>
  %1 = nn.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s, %1 : tensor<8xf32>
  ccl.assign @s, %x : tensor<8xf32>
  return %x : tensor<8xf32>
}
