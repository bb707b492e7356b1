// What 'nn-fuse-kernels' joins, and what it keeps apart.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s

ccl.storage @s : tensor<8xf32> holds [] at []

// Several results: what is used outside too leaves the kernel, and the state of an optimizer is one kernel.
// CHECK-LABEL: func.func @several_results
// CHECK-NEXT: %[[F:.*]]:2 = nn.fusion(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK: nn.yield
// CHECK: return %[[F]]#0, %[[F]]#1
func.func @several_results(%m: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nn.scale %m {value = 0.5 : f64} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.add %0, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.sub %g, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// Two ops on one operand join, though neither uses the other; ops on different ones do not, nor do other shapes.
// CHECK-LABEL: func.func @siblings
// CHECK: nn.fusion(%arg0)
// CHECK: nn.exp
// CHECK: nn.tanh
// CHECK: nn.fusion(%arg1)
// CHECK: nn.fusion(%arg2)
// CHECK-NOT: nn.fusion
// CHECK: return
func.func @siblings(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
  %0 = nn.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.exp %y : (tensor<8xf32>) -> tensor<8xf32>
  %3 = nn.exp %z : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

// A library call between needs the first op's result, and the last op needs the call's: no one kernel.
// CHECK-LABEL: func.func @not_across
// CHECK-NEXT: %[[A:.*]] = nn.fusion(%arg0)
// CHECK: nn.relu
// CHECK: %[[B:.*]] = nn.matmul %[[A]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = nn.fusion(%[[A]], %[[B]])
// CHECK: nn.add
// CHECK: return %[[C]]
func.func @not_across(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// What reads a storage does not move behind its assignment.
// CHECK-LABEL: func.func @not_past_an_assignment
// CHECK-NEXT: %[[R:.*]] = ccl.read @s
// CHECK-NEXT: %[[A:.*]] = nn.fusion(%[[R]])
// CHECK: nn.exp
// CHECK: ccl.assign @s
// CHECK-NEXT: nn.fusion(%[[A]], %arg0)
// CHECK: nn.mul
func.func @not_past_an_assignment(%v: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ccl.read @s : tensor<8xf32>
  %1 = nn.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s, %v : tensor<8xf32>
  %2 = nn.mul %1, %v : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// What reads another one may.
// CHECK-LABEL: func.func @past_another_assignment
// CHECK: ccl.assign @s
// CHECK-NEXT: nn.fusion
// CHECK: nn.exp
// CHECK: nn.mul
// CHECK-NOT: nn.fusion
// CHECK: return
func.func @past_another_assignment(%u: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<8xf32> {
  %1 = nn.exp %u : (tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s, %v : tensor<8xf32>
  %2 = nn.mul %1, %v : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// A reduction ends a kernel: what uses its result is another one. Reshapes and views are none.
// CHECK-LABEL: func.func @reduction_ends
// CHECK-NEXT: %[[S:.*]] = nn.fusion(%arg0) : (tensor<8x4xf32>) -> tensor<8xf32>
// CHECK: nn.reduce_sum
// CHECK: %[[V:.*]] = nn.reshape %[[S]]
// CHECK-NEXT: nn.fusion(%[[V]])
// CHECK: nn.exp
func.func @reduction_ends(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.reduce_sum %x {dims = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %1 = nn.reshape %0 : (tensor<8xf32>) -> tensor<2x4xf32>
  %2 = nn.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
