// What one walk over the rows can make is one kernel, with the sums over the rows.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s

// Layer norm's backward: the input's gradient, the weight's and the bias's.
// CHECK-LABEL: func.func @layer_norm_backward
// CHECK-NEXT: %[[F:.*]]:3 = nn.fusion(%arg0, %arg1, %arg2)
// CHECK-DAG: nn.layer_norm_grad
// CHECK-DAG: nn.row_moments
// CHECK-DAG: nn.reduce_sum
// CHECK: nn.yield
// CHECK-NOT: nn.fusion
// CHECK: return %[[F]]#0, %[[F]]#1, %[[F]]#2
func.func @layer_norm_backward(%g: tensor<6x8xf32>, %x: tensor<6x8xf32>, %w: tensor<8xf32>) -> (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %dx = nn.layer_norm_grad %g, %x, %w {epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %mean, %scale = nn.row_moments %x {epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>) -> (tensor<6xf32>, tensor<6xf32>)
  %m = nn.broadcast %mean {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<6x8xf32>
  %s = nn.broadcast %scale {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<6x8xf32>
  %c = nn.sub %x, %m : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %z = nn.mul %c, %s : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %gz = nn.mul %g, %z : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %dw = nn.reduce_sum %gz {dims = array<i64: 0>} : (tensor<6x8xf32>) -> tensor<8xf32>
  %db = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<6x8xf32>) -> tensor<8xf32>
  return %dx, %dw, %db : tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// What a sum over the rows gives is there only when all rows are done: who needs it is another kernel.
// CHECK-LABEL: func.func @after_the_sum
// CHECK-NEXT: %[[S:.*]] = nn.fusion(%arg0)
// CHECK: nn.reduce_sum
// CHECK: nn.fusion({{.*}}%[[S]]
// CHECK: nn.sub
// CHECK: return
func.func @after_the_sum(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<6x8xf32>) -> tensor<8xf32>
  %1 = nn.broadcast %0 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<6x8xf32>
  %2 = nn.sub %x, %1 : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
