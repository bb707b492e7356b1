// Reshapes move out from between what one kernel can compute.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s

// A product's small floats are extended where they are used, and what goes to the next product is made small first.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT: %[[Y:.*]] = nn.matmul
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[Y]] {{.*}} -> tensor<2x4x6xbf16>
// CHECK-NEXT: %[[F:.*]]:2 = nn.fusion(%[[R]], %arg1, %arg2) {{.*}} -> (tensor<2x4x6xf32>, tensor<2x4x6xbf16>)
// CHECK: nn.cast
// CHECK: nn.add
// CHECK: nn.layer_norm
// CHECK: nn.cast
// CHECK: nn.yield
// CHECK: %[[S:.*]] = nn.reshape %[[F]]#1 {{.*}} -> tensor<8x6xbf16>
// CHECK-NEXT: nn.matmul %[[S]]
func.func @casts(%a: tensor<8x6xbf16>, %x: tensor<2x4x6xf32>, %v: tensor<6xf32>, %w: tensor<6x6xbf16>) -> (tensor<2x4x6xf32>, tensor<8x6xbf16>) {
  %y = nn.matmul %a, %w : (tensor<8x6xbf16>, tensor<6x6xbf16>) -> tensor<8x6xbf16>
  %wide = nn.cast %y : (tensor<8x6xbf16>) -> tensor<8x6xf32>
  %r = nn.reshape %wide : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %s = nn.add %x, %r : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %n = nn.layer_norm %s, %v, %v {epsilon = 1.0e-05 : f64} : (tensor<2x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  %flat = nn.reshape %n : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %small = nn.cast %flat : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  %z = nn.matmul %small, %w : (tensor<8x6xbf16>, tensor<6x6xbf16>) -> tensor<8x6xbf16>
  return %s, %z : tensor<2x4x6xf32>, tensor<8x6xbf16>
}

// A bias, which is along the last dimension in both shapes, and a chain of ops.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[Y:.*]] = nn.matmul
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[Y]]
// CHECK-NEXT: nn.fusion(%[[R]], %arg2, %arg3)
// CHECK-NOT: nn.fusion
// CHECK: return
func.func @chain(%a: tensor<8x6xf32>, %w: tensor<6x6xf32>, %b: tensor<6xf32>, %x: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %y = nn.matmul %a, %w : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %z = nn.add %y, %b : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %t = nn.tanh %z : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %r = nn.reshape %t : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %s = nn.add %r, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %s : tensor<2x4x6xf32>
}

// What is broadcast along a dimension that the reshape takes apart.
// CHECK-LABEL: func.func @other_broadcasts
// CHECK-NEXT: %[[F:.*]] = nn.fusion(%arg0, %arg1) {{.*}} -> tensor<4x6xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[F]]
// CHECK-NEXT: nn.fusion(%[[R]])
func.func @other_broadcasts(%x: tensor<4x6xf32>, %c: tensor<4x1xf32>) -> tensor<2x2x6xf32> {
  %y = nn.mul %x, %c : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %r = nn.reshape %y : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %z = nn.exp %r : (tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  return %z : tensor<2x2x6xf32>
}

// The last dimension is not the last of both.
// CHECK-LABEL: func.func @other_rows
// CHECK-NEXT: %[[F:.*]] = nn.fusion(%arg0, %arg1) {{.*}} -> tensor<4x6xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[F]]
// CHECK-NEXT: nn.fusion(%[[R]])
func.func @other_rows(%x: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<8x3xf32> {
  %y = nn.add %x, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %r = nn.reshape %y : (tensor<4x6xf32>) -> tensor<8x3xf32>
  %z = nn.exp %r : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %z : tensor<8x3xf32>
}

// What depends on its place.
// CHECK-LABEL: func.func @places
// CHECK-NEXT: %[[F:.*]] = nn.fusion(%arg0, %arg1) {{.*}} -> tensor<4x6xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[F]]
// CHECK-NEXT: nn.fusion(%[[R]])
func.func @places(%x: tensor<4x6xf32>, %key: tensor<i64>) -> tensor<2x2x6xf32> {
  %y = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<4x6xf32>, tensor<i64>) -> tensor<4x6xf32>
  %r = nn.reshape %y : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %z = nn.exp %r : (tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  return %z : tensor<2x2x6xf32>
}

// What somebody else uses, too.
// CHECK-LABEL: func.func @other_uses
// CHECK-NEXT: %[[F:.*]] = nn.fusion(%arg0) {{.*}} -> tensor<4x6xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[F]]
// CHECK-NEXT: nn.fusion(%[[R]])
func.func @other_uses(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<2x2x6xf32>) {
  %y = nn.tanh %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = nn.reshape %y : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %z = nn.exp %r : (tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  return %y, %z : tensor<4x6xf32>, tensor<2x2x6xf32>
}

// What a library takes is left in its shape.
// CHECK-LABEL: func.func @library
// CHECK-NEXT: %[[F:.*]] = nn.fusion(%arg0) {{.*}} -> tensor<2x4x6xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[F]]
// CHECK-NEXT: nn.matmul %[[R]]
func.func @library(%x: tensor<2x4x6xf32>, %w: tensor<6x6xf32>) -> tensor<8x6xf32> {
  %y = nn.tanh %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = nn.reshape %y : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %z = nn.matmul %r, %w : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  return %z : tensor<8x6xf32>
}

// So is what a library takes as well as a kernel: it would be made for each.
// CHECK-LABEL: func.func @library_and_kernel
// CHECK-NEXT: %[[F:.*]]:2 = nn.fusion(%arg0)
// CHECK: nn.tanh
// CHECK: nn.exp
// CHECK: %[[R:.*]] = nn.reshape %[[F]]#1
// CHECK-NEXT: nn.matmul %[[R]], %[[R]]
// CHECK-NEXT: nn.fusion(%[[R]])
func.func @library_and_kernel(%x: tensor<2x4x6xf32>) -> (tensor<2x4x6xf32>, tensor<8x8xf32>, tensor<8x6xf32>) {
  %t = nn.tanh %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y = nn.exp %t : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = nn.reshape %y : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %m = nn.matmul %r, %r {transpose_b} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x8xf32>
  %z = nn.neg %r : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %t, %m, %z : tensor<2x4x6xf32>, tensor<8x8xf32>, tensor<8x6xf32>
}

// What is used twice is one operand, in one shape; what comes back to its shape is itself.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[Y:.*]] = nn.matmul
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[Y]]
// CHECK-NEXT: nn.fusion(%[[R]], %arg2) : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK-NOT: nn.reshape
// CHECK: return
func.func @twice(%a: tensor<8x6xf32>, %w: tensor<6x6xf32>, %x: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %y = nn.matmul %a, %w : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %n = nn.neg %y : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %e = nn.exp %n : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %m = nn.mul %y, %e : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %r = nn.reshape %m : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %s = nn.add %r, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %s : tensor<2x4x6xf32>
}

// A cast of what others need as it is would only take more memory, for longer.
// CHECK-LABEL: func.func @cast_later
// CHECK-NEXT: %[[F:.*]] = nn.fusion(%arg0) {{.*}} -> tensor<2x4x6xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[F]]
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.fusion(%[[R]]) {{.*}} -> tensor<8x6xbf16>
func.func @cast_later(%x: tensor<2x4x6xf32>) -> (tensor<8x8xf32>, tensor<8x6xbf16>) {
  %t = nn.tanh %x : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %r = nn.reshape %t : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %m = nn.matmul %r, %r {transpose_b} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x8xf32>
  %c = nn.cast %r : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  return %m, %c : tensor<8x8xf32>, tensor<8x6xbf16>
}

// A reshape of reshapes is one, and what comes back to its shape is itself.
// CHECK-LABEL: func.func @chain_of_reshapes
// CHECK-NEXT: %[[R:.*]] = nn.reshape %arg0 : (tensor<8x6xf32>) -> tensor<48xf32>
// CHECK-NEXT: nn.matmul %arg0, %arg0 {transpose_b}
// CHECK-NEXT: return %{{.*}}, %[[R]], %arg0
func.func @chain_of_reshapes(%x: tensor<8x6xf32>) -> (tensor<8x8xf32>, tensor<48xf32>, tensor<8x6xf32>) {
  %a = nn.reshape %x : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %b = nn.reshape %a : (tensor<2x4x6xf32>) -> tensor<4x2x6xf32>
  %c = nn.reshape %b : (tensor<4x2x6xf32>) -> tensor<8x6xf32>
  %d = nn.reshape %b : (tensor<4x2x6xf32>) -> tensor<48xf32>
  %m = nn.matmul %c, %x {transpose_b} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x8xf32>
  return %m, %d, %c : tensor<8x8xf32>, tensor<48xf32>, tensor<8x6xf32>
}
