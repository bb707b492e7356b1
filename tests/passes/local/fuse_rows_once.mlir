// What reads a tensor along its rows for the last time stands behind what read it so before, if it can.
// RUN: splitcast-opt %s -pass-pipeline="builtin.module(func.func(nn-fuse-kernels))" | FileCheck-19 %s

// A loss and its gradient are one kernel, although the loss is used between: the slope was there before, and the logits
// are read by nobody else.
// CHECK-LABEL: func.func @loss
// CHECK: %[[both:.*]]:2 = nn.fusion(%arg0, %arg1, %arg2) : (tensor<4x6xbf16>, tensor<4xi64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4x6xbf16>) {
// CHECK: nn.softmax_cross_entropy %
// CHECK: nn.softmax_cross_entropy_grad
// CHECK: nn.yield
// CHECK: nn.matmul
// CHECK: nn.matmul %[[both]]#1
func.func @loss(%x: tensor<4x6xbf16>, %y: tensor<4xi64>, %g: tensor<4xf32>, %m: tensor<4x4xf32>, %w: tensor<6x3xbf16>)
    -> (tensor<4x1xf32>, tensor<4x3xbf16>) {
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
func.func @later(%x: tensor<4x6xf32>, %y: tensor<4xi64>, %m: tensor<4x4xf32>) -> tensor<4x6xf32> {
  %e = nn.softmax_cross_entropy %x, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = nn.reshape %e : (tensor<4xf32>) -> tensor<4x1xf32>
  %l = nn.matmul %m, %c : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %g = nn.reshape %l : (tensor<4x1xf32>) -> tensor<4xf32>
  %d = nn.softmax_cross_entropy_grad %g, %x, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

// Another product reads the logits later: they stay, and the gradient would lie beside them for longer.
// CHECK-LABEL: func.func @others
// CHECK: nn.fusion({{.*}}) : {{.*}} -> tensor<4xf32> {
// CHECK: nn.matmul
// CHECK: nn.fusion({{.*}}) : {{.*}} -> tensor<4x6xf32> {
// CHECK: nn.matmul
func.func @others(%x: tensor<4x6xf32>, %y: tensor<4xi64>, %g: tensor<4xf32>, %m: tensor<4x4xf32>, %w: tensor<6x3xf32>)
    -> (tensor<4x1xf32>, tensor<4x6xf32>, tensor<4x3xf32>) {
  %e = nn.softmax_cross_entropy %x, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = nn.reshape %e : (tensor<4xf32>) -> tensor<4x1xf32>
  %l = nn.matmul %m, %c : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %d = nn.softmax_cross_entropy_grad %g, %x, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %r = nn.matmul %x, %w : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return %l, %d, %r : tensor<4x1xf32>, tensor<4x6xf32>, tensor<4x3xf32>
}
