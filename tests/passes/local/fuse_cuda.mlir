// On a GPU sums over the rows are kernels of their own, and what no library does is a kernel too.
// RUN: splitcast-opt %s -pass-pipeline="builtin.module(func.func(nn-fuse-kernels))" | FileCheck %s

module attributes {ccl.device = "cuda"} {
  // CHECK-LABEL: func.func @rows_and_columns
  // CHECK: nn.fusion
  // CHECK: nn.layer_norm_grad
  // CHECK: nn.fusion
  // CHECK: nn.reduce_sum
  // CHECK: return
  func.func @rows_and_columns(%g: tensor<6x8xf32>, %x: tensor<6x8xf32>, %w: tensor<8xf32>) -> (tensor<6x8xf32>, tensor<8xf32>) {
    %dx = nn.layer_norm_grad %g, %x, %w {epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
    %db = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<6x8xf32>) -> tensor<8xf32>
    return %dx, %db : tensor<6x8xf32>, tensor<8xf32>
  }

  // What only the sums use is part of their kernel, and does not keep the sum with the residual's gradient from being
  // made with the rows.
  // CHECK-LABEL: func.func @addends_of_sums
  // CHECK-NEXT: %[[A:.*]]:3 = nn.fusion({{.*}} -> (tensor<6xf32>, tensor<6xf32>, tensor<6x8xf32>)
  // CHECK: nn.layer_norm_grad
  // CHECK: nn.row_moments
  // CHECK: nn.add
  // CHECK: %[[B:.*]]:2 = nn.fusion(%[[A]]#0, {{.*}} -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK-NOT: nn.fusion
  // CHECK: nn.matmul
  // CHECK: return %[[A]]#2, %[[B]]#0, %[[B]]#1
  func.func @addends_of_sums(%g: tensor<6x8xf32>, %x: tensor<6x8xf32>, %w: tensor<8xf32>, %r: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<6x6xf32>) {
    %dx = nn.layer_norm_grad %g, %x, %w {epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
    %mean, %scale = nn.row_moments %x {epsilon = 1.0e-05 : f64} : (tensor<6x8xf32>) -> (tensor<6xf32>, tensor<6xf32>)
    %m = nn.broadcast %mean {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<6x8xf32>
    %s = nn.broadcast %scale {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<6x8xf32>
    %c = nn.sub %x, %m : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %z = nn.mul %c, %s : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %gz = nn.mul %g, %z : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %dw = nn.reduce_sum %gz {dims = array<i64: 0>} : (tensor<6x8xf32>) -> tensor<8xf32>
    %db = nn.reduce_sum %g {dims = array<i64: 0>} : (tensor<6x8xf32>) -> tensor<8xf32>
    %sum = nn.add %r, %dx : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %p = nn.matmul %sum, %sum {transpose_b} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
    return %sum, %dw, %db, %p : tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<6x6xf32>
  }

  // CHECK-LABEL: func.func @library
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.embedding_grad
  // CHECK-NEXT: return
  func.func @library(%x: tensor<6x6xf32>, %ids: tensor<6xi32>) -> tensor<9x6xf32> {
    %y = nn.matmul %x, %x : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %t = nn.embedding_grad %y, %ids : (tensor<6x6xf32>, tensor<6xi32>) -> tensor<9x6xf32>
    return %t : tensor<9x6xf32>
  }

  // CHECK-LABEL: func.func @library_of_small_floats
  // CHECK-NEXT: nn.embedding_grad
  // CHECK-NEXT: return
  func.func @library_of_small_floats(%x: tensor<6x6xbf16>, %ids: tensor<6xi32>) -> tensor<9x6xbf16> {
    %t = nn.embedding_grad %x, %ids : (tensor<6x6xbf16>, tensor<6xi32>) -> tensor<9x6xbf16>
    return %t : tensor<9x6xbf16>
  }

  // CHECK-LABEL: func.func @narrow_attention
  // CHECK-NEXT: nn.attention
  // CHECK-NEXT: return
  func.func @narrow_attention(%q: tensor<1x6x1x6xbf16>, %m: tensor<1x6xi32>) -> tensor<1x6x1x6xbf16> {
    %t = nn.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<1x6x1x6xbf16>, tensor<1x6x1x6xbf16>, tensor<1x6x1x6xbf16>, tensor<1x6xi32>) -> tensor<1x6x1x6xbf16>
    return %t : tensor<1x6x1x6xbf16>
  }

  // CHECK-LABEL: func.func @wide_attention
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.attention
  // CHECK-NEXT: return
  func.func @wide_attention(%x: tensor<6x6xbf16>, %w: tensor<6x65xbf16>, %m: tensor<1x6xi32>) -> tensor<1x6x1x65xbf16> {
    %y = nn.matmul %x, %w : (tensor<6x6xbf16>, tensor<6x65xbf16>) -> tensor<6x65xbf16>
    %q = nn.reshape %y : (tensor<6x65xbf16>) -> tensor<1x6x1x65xbf16>
    %t = nn.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<1x6x1x65xbf16>, tensor<1x6x1x65xbf16>, tensor<1x6x1x65xbf16>, tensor<1x6xi32>) -> tensor<1x6x1x65xbf16>
    return %t : tensor<1x6x1x65xbf16>
  }

  // CHECK-LABEL: func.func @convolution
  // CHECK-NEXT: nn.convolution
  // CHECK-NEXT: return
  func.func @convolution(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32> {
    %t = nn.convolution %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
    return %t : tensor<1x1x1x1xf32>
  }

  // CHECK-LABEL: func.func @no_library
  // CHECK-NEXT: nn.fusion
  // CHECK: nn.convolution
  // CHECK: return
  func.func @no_library(%x: tensor<1x1x3x3xf64>) -> tensor<1x1x1x1xf64> {
    %t = nn.convolution %x, %x {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x3x3xf64>, tensor<1x1x3x3xf64>) -> tensor<1x1x1x1xf64>
    return %t : tensor<1x1x1x1xf64>
  }
}
