// Ops whose results nobody uses: 'nn-fuse-kernels' drops them, however long their chain, so that nothing is left that no
// kernel computes; and it does not move what reads a storage through a view behind its assignment.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s

ccl.storage @s : tensor<8xf32> holds [] at []

// CHECK-LABEL: func.func @unused
// CHECK-NEXT: return
func.func @unused(%x: tensor<4xf32>) {
  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @view
// CHECK: %[[V:.*]] = ccl.view
// CHECK-NEXT: %[[A:.*]] = nn.fusion(%[[V]])
// CHECK: nn.exp
// CHECK: ccl.assign @s
// CHECK-NEXT: nn.fusion(%[[A]], %arg1)
func.func @view(%v: tensor<8xf32>, %u: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ccl.read @s : tensor<8xf32>
  %1 = ccl.view %0 at 4 : tensor<8xf32> -> tensor<4xf32>
  %2 = nn.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s, %v : tensor<8xf32>
  %3 = nn.mul %2, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// What only extends is made again in each kernel, so that the small tensor is kept; for a library's call it is made once.
// CHECK-LABEL: func.func @extended
// CHECK: nn.fusion(%arg0) : (tensor<4x8xbf16>) -> (tensor<4x8xf32>, tensor<4xf32>)
// CHECK: %[[R:.*]] = nn.matmul
// CHECK: nn.fusion(%arg0, %[[R]]) : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: nn.cast
func.func @extended(%s: tensor<4x8xbf16>, %w: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %0 = nn.cast %s : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = nn.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = nn.mul %0, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %3 : tensor<4xf32>, tensor<4x8xf32>
}
