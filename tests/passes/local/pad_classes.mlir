// What 'nn-pad-classes' pads, and how what reads it goes on.
// RUN: splitcast-opt %s -split-input-file -nn-pad-classes=least=0 | FileCheck %s
// RUN: splitcast-opt %s -split-input-file -nn-pad-classes | FileCheck %s --check-prefix=SMALL

// Of bf16 in a training step, with the cast that mixed precision puts between: the gradient is padded, too; the other
// operand of a product that contracts the classes gets zeros; of one that keeps them, the first rows count.
// SMALL-LABEL: func.func @step
// SMALL-NEXT: nn.matmul {{.*}} -> tensor<4x13xbf16>
module attributes {ccl.device = "cuda"} {
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[x:.*]]: tensor<4x8xbf16>, %[[w:.*]]: tensor<13x8xbf16>, %[[y:.*]]: tensor<4xi64>, %[[g:.*]]: tensor<4xf32>
  func.func @step(%x: tensor<4x8xbf16>, %w: tensor<13x8xbf16>, %y: tensor<4xi64>, %g: tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4x8xbf16>, tensor<13x8xbf16>) {
    // CHECK: %[[p:.*]] = nn.concat %[[w]], %{{.*}} {dim = 0 : i64} : (tensor<13x8xbf16>, tensor<3x8xbf16>) -> tensor<16x8xbf16>
    // CHECK-NEXT: %[[l:.*]] = nn.matmul %[[x]], %[[p]] {transpose_b} : {{.*}} -> tensor<4x16xbf16>
    // CHECK-NEXT: %[[f:.*]] = nn.cast %[[l]] : (tensor<4x16xbf16>) -> tensor<4x16xf32>
    // CHECK-NEXT: nn.softmax_cross_entropy %[[f]], %[[y]] {classes = 13 : i64}
    // CHECK-NEXT: %[[s:.*]] = nn.softmax_cross_entropy_grad %[[g]], %[[f]], %[[y]] {classes = 13 : i64} : {{.*}} -> tensor<4x16xf32>
    // CHECK-NEXT: %[[c:.*]] = nn.cast %[[s]] : (tensor<4x16xf32>) -> tensor<4x16xbf16>
    // CHECK: %[[q:.*]] = nn.concat %[[w]], %{{.*}} {dim = 0 : i64} : (tensor<13x8xbf16>, tensor<3x8xbf16>) -> tensor<16x8xbf16>
    // CHECK-NEXT: %[[dx:.*]] = nn.matmul %[[c]], %[[q]] : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
    // CHECK-NEXT: %[[rows:.*]] = nn.matmul %[[c]], %[[x]] {transpose_a} : (tensor<4x16xbf16>, tensor<4x8xbf16>) -> tensor<16x8xbf16>
    // CHECK-NEXT: %[[flat:.*]] = nn.reshape %[[rows]] : (tensor<16x8xbf16>) -> tensor<128xbf16>
    // CHECK-NEXT: %[[dw:.*]] = ccl.view %[[flat]] at 0 : tensor<128xbf16> -> tensor<13x8xbf16>
    // CHECK-NEXT: return %{{.*}}, %[[dx]], %[[dw]]
    %l = nn.matmul %x, %w {transpose_b} : (tensor<4x8xbf16>, tensor<13x8xbf16>) -> tensor<4x13xbf16>
    %f = nn.cast %l : (tensor<4x13xbf16>) -> tensor<4x13xf32>
    %e = nn.softmax_cross_entropy %f, %y : (tensor<4x13xf32>, tensor<4xi64>) -> tensor<4xf32>
    %s = nn.softmax_cross_entropy_grad %g, %f, %y : (tensor<4xf32>, tensor<4x13xf32>, tensor<4xi64>) -> tensor<4x13xf32>
    %c = nn.cast %s : (tensor<4x13xf32>) -> tensor<4x13xbf16>
    %dx = nn.matmul %c, %w : (tensor<4x13xbf16>, tensor<13x8xbf16>) -> tensor<4x8xbf16>
    %dw = nn.matmul %c, %x {transpose_a} : (tensor<4x13xbf16>, tensor<4x8xbf16>) -> tensor<13x8xbf16>
    return %e, %dx, %dw : tensor<4xf32>, tensor<4x8xbf16>, tensor<13x8xbf16>
  }
}

// -----

// Weights that are not transposed, products with the gradient on the right, classes that were padded by hand already;
// and what else reads the gradient, which gets what it got.
// SMALL-LABEL: func.func @others
// SMALL-NEXT: nn.matmul {{.*}} -> tensor<4x6xf32>
module attributes {ccl.device = "cuda"} {
  // CHECK-LABEL: func.func @others
  // CHECK-SAME: %[[x:.*]]: tensor<4x8xf32>, %[[w:.*]]: tensor<8x6xf32>, %[[y:.*]]: tensor<4xi64>, %[[g:.*]]: tensor<4xf32>
  func.func @others(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %y: tensor<4xi64>, %g: tensor<4xf32>)
      -> (tensor<4xf32>, tensor<8x4xf32>, tensor<8x6xf32>, tensor<6xf32>) {
    // CHECK: %[[p:.*]] = nn.concat %[[w]], %{{.*}} {dim = 1 : i64} : (tensor<8x6xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: %[[l:.*]] = nn.matmul %[[x]], %[[p]] : {{.*}} -> tensor<4x8xf32>
    // CHECK-NEXT: %[[e:.*]] = nn.softmax_cross_entropy %[[l]], %[[y]] {classes = 5 : i64}
    // CHECK-NEXT: %[[s:.*]] = nn.softmax_cross_entropy_grad %[[g]], %[[l]], %[[y]] {classes = 6 : i64, ignored = 3 : i64} : {{.*}} -> tensor<4x8xf32>
    // CHECK-NEXT: %[[rest:.*]] = nn.slice %[[s]] {dim = 1 : i64, start = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x6xf32>
    // CHECK: %[[q:.*]] = nn.concat %[[w]], %{{.*}} {dim = 1 : i64} : (tensor<8x6xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: %[[dx:.*]] = nn.matmul %[[q]], %[[s]] {transpose_b} : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
    // CHECK-NEXT: %[[columns:.*]] = nn.matmul %[[x]], %[[s]] {transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: %[[dw:.*]] = nn.slice %[[columns]] {dim = 1 : i64, start = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x6xf32>
    // CHECK-NEXT: %[[db:.*]] = nn.reduce_sum %[[rest]] {dims = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<6xf32>
    // CHECK-NEXT: return %[[e]], %[[dx]], %[[dw]], %[[db]]
    %l = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %e = nn.softmax_cross_entropy %l, %y {classes = 5 : i64} : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
    %s = nn.softmax_cross_entropy_grad %g, %l, %y {ignored = 3 : i64} : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
    %dx = nn.matmul %w, %s {transpose_b} : (tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<8x4xf32>
    %dw = nn.matmul %x, %s {transpose_a} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %db = nn.reduce_sum %s {dims = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<6xf32>
    return %e, %dx, %dw, %db : tensor<4xf32>, tensor<8x4xf32>, tensor<8x6xf32>, tensor<6xf32>
  }
}

// -----

// A product of the gradient that is another loss's logits is padded for that, too.
// SMALL-LABEL: func.func @twice
// SMALL-NEXT: nn.matmul {{.*}} -> tensor<4x6xf32>
module attributes {ccl.device = "cuda"} {
  // CHECK-LABEL: func.func @twice
  // CHECK: nn.matmul {{.*}} -> tensor<4x8xf32>
  // CHECK: %[[s:.*]] = nn.softmax_cross_entropy_grad {{.*}} {classes = 6 : i64} : {{.*}} -> tensor<4x8xf32>
  // CHECK: %[[m:.*]] = nn.matmul %[[s]], %{{.*}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK-NOT: nn.matmul
  // CHECK: nn.softmax_cross_entropy %[[m]], %{{.*}} {classes = 6 : i64}
  func.func @twice(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %v: tensor<6x6xf32>, %y: tensor<4xi64>, %g: tensor<4xf32>) -> tensor<4xf32> {
    %l = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %s = nn.softmax_cross_entropy_grad %g, %l, %y : (tensor<4xf32>, tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
    %m = nn.matmul %s, %v : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %e = nn.softmax_cross_entropy %m, %y : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %e : tensor<4xf32>
  }
}

// -----

// Rows that begin at 16 bytes as they are, a product that no loss reads, logits that no product makes or that are
// returned, a CPU.
// CHECK-LABEL: module attributes {ccl.device = "cuda"}
// CHECK-NOT: concat
module attributes {ccl.device = "cuda"} {
  func.func @nothing(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x7xf32>, %y: tensor<4xi64>)
      -> (tensor<4xf32>, tensor<4x7xf32>, tensor<4xf32>, tensor<4xf32>) {
    %l = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %e = nn.softmax_cross_entropy %l, %y : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
    %m = nn.matmul %x, %v : (tensor<4x8xf32>, tensor<8x7xf32>) -> tensor<4x7xf32>
    %t = nn.tanh %m : (tensor<4x7xf32>) -> tensor<4x7xf32>
    %d = nn.softmax_cross_entropy %t, %y : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<4xf32>
    %k = nn.softmax_cross_entropy %m, %y : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %e, %m, %d, %k : tensor<4xf32>, tensor<4x7xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: module attributes {ccl.device = "cpu"}
// CHECK-NOT: concat
module attributes {ccl.device = "cpu"} {
  func.func @cpu(%x: tensor<4x8xf32>, %w: tensor<7x8xf32>, %y: tensor<4xi64>) -> tensor<4xf32> {
    %l = nn.matmul %x, %w {transpose_b} : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
    %e = nn.softmax_cross_entropy %l, %y : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %e : tensor<4xf32>
  }
}
