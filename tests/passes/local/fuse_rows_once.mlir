// What reads a tensor along its rows for the last time stands behind what read it so before, if it can.
// RUN: splitcast-opt %s -pass-pipeline="builtin.module(func.func(nn-fuse-kernels))" | FileCheck %s

// A loss and its gradient are one kernel, although the loss is used between: the slope was there before, and the logits
// are read by nobody else.
// CHECK-LABEL: func.func @loss
// CHECK: %[[x:.*]] = nn.matmul
// CHECK-NEXT: %[[both:.*]]:2 = nn.fusion(%[[x]], %arg1, %arg2) : (tensor<4x6xbf16>, tensor<4xi64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4x6xbf16>) {
// CHECK: nn.softmax_cross_entropy %
// CHECK: nn.softmax_cross_entropy_grad
// CHECK: nn.yield
// CHECK: nn.matmul
// CHECK: nn.matmul %[[both]]#1
func.func @loss(%z: tensor<4x6xbf16>, %y: tensor<4xi64>, %g: tensor<4xf32>, %m: tensor<4x4xf32>, %w: tensor<6x3xbf16>, %v: tensor<6x6xbf16>)
    -> (tensor<4x1xf32>, tensor<4x3xbf16>) {
  %x = nn.matmul %z, %v : (tensor<4x6xbf16>, tensor<6x6xbf16>) -> tensor<4x6xbf16>
  %f = nn.cast %x : (tensor<4x6xbf16>) -> tensor<4x6xf32>
  %e = nn.softmax_cross_entropy %f, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = nn.reshape %e : (tensor<4xf32>) -> tensor<4x1xf32>
  %l = nn.matmul %m, %c : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %h = nn.cast %x : (tensor<4x6xbf16>) -> tensor<4x6xf32>
  %d = nn.softmax_cross_entropy_grad %g, %h, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %b = nn.cast %d : (tensor<4x6xf32>) -> tensor<4x6xbf16>
  %r = nn.matmul %b, %w : (tensor<4x6xbf16>, tensor<6x3xbf16>) -> tensor<4x3xbf16>
  return %l, %r : tensor<4x1xf32>, tensor<4x3xbf16>
}

// The slope comes from the loss: it is not there before.
// CHECK-LABEL: func.func @later
// CHECK: nn.fusion({{.*}}) : {{.*}} -> tensor<4xf32> {
// CHECK: nn.matmul
// CHECK: nn.fusion({{.*}}) : {{.*}} -> tensor<4x6xf32> {
func.func @later(%z: tensor<4x6xf32>, %y: tensor<4xi64>, %m: tensor<4x4xf32>, %v: tensor<6x6xf32>) -> tensor<4x6xf32> {
  %x = nn.matmul %z, %v : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %e = nn.softmax_cross_entropy %x, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = nn.reshape %e : (tensor<4xf32>) -> tensor<4x1xf32>
  %l = nn.matmul %m, %c : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %g = nn.reshape %l : (tensor<4x1xf32>) -> tensor<4xf32>
  %d = nn.softmax_cross_entropy_grad %g, %x, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

// Another product reads the logits later, or in between, or by another name, or they are an argument: the gradient would
// not take their place, and lie there for longer.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: nn.fusion({{.*}}) : {{.*}} -> tensor<4xf32> {
// CHECK-COUNT-4: nn.fusion({{.*}}) : {{.*}} -> tensor<4x6xf32> {
func.func @others(%z: tensor<4x6xf32>, %y: tensor<4xi64>, %g: tensor<4xf32>, %m: tensor<4x4xf32>, %w: tensor<6x3xf32>, %v: tensor<6x6xf32>)
    -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %x0 = nn.matmul %z, %v : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %e0 = nn.softmax_cross_entropy %x0, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c0 = nn.reshape %e0 : (tensor<4xf32>) -> tensor<4x1xf32>
  %l0 = nn.matmul %m, %c0 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %x1 = nn.matmul %z, %v {transpose_b} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %e1 = nn.softmax_cross_entropy %x1, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c1 = nn.reshape %e1 : (tensor<4xf32>) -> tensor<4x1xf32>
  %l1 = nn.matmul %m, %c1 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %r1 = nn.matmul %x1, %w : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %x2 = nn.matmul %l1, %z {transpose_a} : (tensor<4x1xf32>, tensor<4x6xf32>) -> tensor<1x6xf32>
  %x3 = nn.matmul %l1, %x2 : (tensor<4x1xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  %n3 = nn.reshape %x3 : (tensor<4x6xf32>) -> tensor<24xf32>
  %o3 = nn.reshape %n3 : (tensor<24xf32>) -> tensor<4x6xf32>
  %e3 = nn.softmax_cross_entropy %x3, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c3 = nn.reshape %e3 : (tensor<4xf32>) -> tensor<4x1xf32>
  %l3 = nn.matmul %m, %c3 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %e4 = nn.softmax_cross_entropy %z, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c4 = nn.reshape %e4 : (tensor<4xf32>) -> tensor<4x1xf32>
  %l4 = nn.matmul %m, %c4 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %d0 = nn.softmax_cross_entropy_grad %g, %x0, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %r0 = nn.matmul %x0, %w : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %d1 = nn.softmax_cross_entropy_grad %g, %x1, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %d3 = nn.softmax_cross_entropy_grad %g, %x3, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %r3 = nn.matmul %o3, %w : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %d4 = nn.softmax_cross_entropy_grad %g, %z, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  return %l0, %l1, %l3, %l4, %d0, %d1, %d3, %d4, %r0, %r1, %r3 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// The slope is one divided by how many labels count, and the logits come by way of two reshapes.
// CHECK-LABEL: func.func @mean_of_counted
// CHECK: nn.fusion({{.*}}) : {{.*}} -> (tensor<4xf32>, tensor<4x6xf32>) {
// CHECK: nn.softmax_cross_entropy %
// CHECK: nn.softmax_cross_entropy_grad
// CHECK: nn.yield
func.func @mean_of_counted(%z: tensor<4x6xf32>, %y: tensor<4xi64>, %one: tensor<f32>, %v: tensor<6x6xf32>) -> (tensor<f32>, tensor<4x6xf32>) {
  %w = nn.matmul %z, %v : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %u = nn.reshape %w : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %x = nn.reshape %u : (tensor<2x2x6xf32>) -> tensor<4x6xf32>
  %e = nn.softmax_cross_entropy %x, %y {ignored = -1 : i64} : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = nn.not_equal %y {value = -1 : i64} : (tensor<4xi64>) -> tensor<4xf32>
  %s = nn.reduce_sum %e {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %n = nn.reduce_sum %c {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %l = nn.div %s, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = nn.div %one, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %g = nn.broadcast %d {dims = array<i64: 0>} : (tensor<f32>) -> tensor<4xf32>
  %r = nn.softmax_cross_entropy_grad %g, %x, %y {ignored = -1 : i64} : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  return %l, %r : tensor<f32>, tensor<4x6xf32>
}
