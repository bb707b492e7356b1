// A fence is another name: kernels reach across it, and what only members use through it stays inside.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s
// RUN: splitcast-opt %s -nn-fuse-kernels -cse | FileCheck %s

// CHECK-LABEL: func.func @across
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK: %[[Y:.*]] = nn.fusion(%[[X]]) : (tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[A:.*]] = nn.tanh %[[I]]
// CHECK-NEXT: %[[B:.*]] = nn.exp %[[A]]
// CHECK-NEXT: %[[C:.*]] = nn.mul %[[B]], %[[A]]
// CHECK-NEXT: nn.yield %[[C]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[Y]]
func.func @across(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = sbp.scope "update"
  %0 = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sbp.fence %0 in %t : tensor<8xf32>
  %2 = nn.exp %1 : (tensor<8xf32>) -> tensor<8xf32>
  %3 = sbp.fence %2 in %t : tensor<8xf32>
  %4 = nn.mul %3, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// What is used behind a fence outside, too, is given by the fusion, and fenced behind it.
// CHECK-LABEL: func.func @outside
// CHECK: %[[T:.*]] = sbp.scope "update"
// CHECK: %[[R:.*]]:2 = nn.fusion
// CHECK: %[[F:.*]] = sbp.fence %[[R]]#0 in %[[T]]
// CHECK: nn.matmul %[[F]], %[[R]]#1
func.func @outside(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %t = sbp.scope "update"
  %0 = nn.tanh %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sbp.fence %0 in %t : tensor<8x8xf32>
  %2 = nn.exp %1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = nn.matmul %1, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// One value by two names is read once; equal kernels of two scopes stay two, also for -cse.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[X:.*]]: tensor<8x8xf32>
// CHECK: %[[A:.*]] = nn.fusion(%[[X]])
// CHECK: nn.matmul %[[A]], %[[A]]
// CHECK: %[[F:.*]] = sbp.fence %[[X]]
// CHECK: %[[B:.*]] = nn.fusion(%[[F]]) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: %[[H:.*]] = nn.tanh %[[I]]
// CHECK-NEXT: nn.add %[[H]], %[[I]]
// CHECK: nn.matmul %{{.*}}, %[[B]]
func.func @twice(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.tanh %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = nn.add %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.matmul %1, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = sbp.scope "backward"
  %f = sbp.fence %x in %t : tensor<8x8xf32>
  %3 = nn.tanh %f : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = nn.add %3, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = nn.matmul %2, %4 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}
