// Storages and values that outlive an assignment: what a value was, it stays.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower -split-input-file | FileCheck %s

ccl.storage @s : tensor<4x4xf32> holds [] at []

// The new value is made before the old one is read: it cannot be made in the storage.
// CHECK: exec.plan @read_after_made
// CHECK-SAME: outputs = [#exec.range<arena, [[OLD:[0-9]+]], 64>]
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[NEW:[0-9]+]], 64>]
// CHECK-NEXT: exec.copy <persistent, 0, 64> to <arena, [[OLD]], 64>
// CHECK-NEXT: exec.copy <arena, [[NEW]], 64> to <persistent, 0, 64>
func.func @read_after_made(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ccl.read @s : tensor<4x4xf32>
  ccl.assign @s, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

ccl.storage @s : tensor<4x4xf32> holds [] at []

// Two assignments: the first value is returned, so it does not lie where the second one is put.
// CHECK: exec.plan @two_assignments
// CHECK-SAME: outputs = [#exec.range<arena, [[FIRST:[0-9]+]], 64>]
// CHECK: exec.library #exec.matmul<m = 4, n = 4, k = 4, type = f32> {{.*}} writes [#exec.range<arena, [[FIRST]], 64>]
// CHECK: transpose_a = true
func.func @two_assignments(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %0 : tensor<4x4xf32>
  %1 = nn.matmul %x, %x {transpose_a} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %1 : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

ccl.storage @s : tensor<4x4xf32> holds [] at []

// The second value is made of the first one.
// CHECK: exec.plan @chain
// CHECK: exec.library #exec.matmul<{{.*}} writes [#exec.range<[[A:[a-z]+, [0-9]+]], 64>]
// CHECK: exec.library #exec.matmul<{{.*}}> reads [{{.*}}, #exec.range<[[A]], 64>]
func.func @chain(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %0 : tensor<4x4xf32>
  %1 = nn.matmul %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %1 : tensor<4x4xf32>
  return
}

// -----

ccl.storage @s : tensor<8xf32> holds [] at []

// Two members of a storage, each made in its place, whatever is assigned to the other's in between.
// CHECK: exec.plan @members
// CHECK: exec.launch {{.*}} writes [#exec.range<persistent, 0, 16>] {in_place = array<i64: 0>}
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<persistent, 16, 16>] {in_place = array<i64: 0>}
// CHECK-NOT: exec.copy
func.func @members() {
  %0 = ccl.read @s : tensor<8xf32>
  %1 = ccl.view %0 at 0 : tensor<8xf32> -> tensor<4xf32>
  %2 = ccl.view %0 at 4 : tensor<8xf32> -> tensor<4xf32>
  %3 = nn.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.tanh %2 : (tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s, %4 {offset = 4 : i64} : tensor<4xf32>
  ccl.assign @s, %3 : tensor<4xf32>
  return
}

// -----

ccl.storage @s : tensor<8xf32> holds [] at []

// An element that both are assigned: the first is what stays beside it, so that it is not made before.
// CHECK: exec.plan @overlapping_members
// CHECK: exec.copy <arena, {{[0-9]+}}, 16> to <persistent, 0, 16>
func.func @overlapping_members(%x: tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s, %1 {offset = 3 : i64} : tensor<4xf32>
  ccl.assign @s, %0 : tensor<4xf32>
  return
}
