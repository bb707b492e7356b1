// The example of 'nn-pad-classes': seven classes of f32 are padded to two vectors of 16 bytes.
// RUN: splitcast-opt %s -nn-pad-classes=least=0 | FileCheck %s

module attributes {ccl.device = "cuda"} {
  // CHECK-LABEL: func.func @example
  // CHECK-SAME: %[[x:.*]]: tensor<4x8xf32>, %[[w:.*]]: tensor<7x8xf32>, %[[y:.*]]: tensor<4xi64>
  func.func @example(%x: tensor<4x8xf32>, %w: tensor<7x8xf32>, %y: tensor<4xi64>) -> tensor<4xf32> {
    // CHECK-NEXT: %[[z:.*]] = nn.constant 0.000000e+00 : tensor<1x8xf32>
    // CHECK-NEXT: %[[p:.*]] = nn.concat %[[w]], %[[z]] {dim = 0 : i64} : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: %[[l:.*]] = nn.matmul %[[x]], %[[p]] {transpose_b} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // CHECK-NEXT: %[[e:.*]] = nn.softmax_cross_entropy %[[l]], %[[y]] {classes = 7 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
    // CHECK-NEXT: return %[[e]]
    %l = nn.matmul %x, %w {transpose_b} : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
    %e = nn.softmax_cross_entropy %l, %y : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %e : tensor<4xf32>
  }
}
