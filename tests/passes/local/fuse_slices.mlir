// Slices along rows of vectors are read in the kernels of those who use them.
// RUN: splitcast-opt %s -nn-fuse-kernels | FileCheck %s

// The gates of a cell: the sums are computed in the kernel of the gates. Of the bias, which is smaller, there is one slice
// for each gate.
// CHECK-LABEL: func.func @gates
// CHECK-COUNT-3: nn.fusion
// CHECK-SAME: tensor<4x64xf32>
// CHECK-DAG: nn.slice {{.*}} start = 0 {{.*}} : (tensor<4x64xf32>) -> tensor<4x32xf32>
// CHECK-DAG: nn.slice {{.*}} start = 32 {{.*}} : (tensor<4x64xf32>) -> tensor<4x32xf32>
// CHECK-DAG: nn.sigmoid
// CHECK-DAG: nn.tanh
// CHECK: nn.yield
// CHECK-NOT: nn.fusion
// CHECK: return
func.func @gates(%x: tensor<4x8xf32>, %w: tensor<8x64xf32>, %b: tensor<64xf32>) -> tensor<4x32xf32> {
  %p = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %s = nn.add %p, %b : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  %0 = nn.slice %s {dim = 1 : i64, start = 0 : i64} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %1 = nn.slice %s {dim = 1 : i64, start = 32 : i64} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %2 = nn.sigmoid %0 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = nn.tanh %1 : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %4 = nn.mul %2, %3 : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  return %4 : tensor<4x32xf32>
}

// Slices that have elements in common would compute these twice.
// CHECK-LABEL: func.func @overlap
// CHECK: nn.tanh {{.*}} -> tensor<4x64xf32>
// CHECK-NOT: nn.tanh
// CHECK: return
func.func @overlap(%x: tensor<4x64xf32>) -> (tensor<4x32xf32>, tensor<4x33xf32>) {
  %s = nn.tanh %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %0 = nn.slice %s {dim = 1 : i64, start = 0 : i64} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  %1 = nn.slice %s {dim = 1 : i64, start = 31 : i64} : (tensor<4x64xf32>) -> tensor<4x33xf32>
  return %0, %1 : tensor<4x32xf32>, tensor<4x33xf32>
}

// Another user needs the whole result.
// CHECK-LABEL: func.func @whole
// CHECK: nn.tanh {{.*}} -> tensor<4x64xf32>
// CHECK-NOT: nn.tanh
// CHECK: return
func.func @whole(%x: tensor<4x64xf32>) -> (tensor<4x32xf32>, tensor<4x64xf32>) {
  %s = nn.tanh %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %0 = nn.slice %s {dim = 1 : i64, start = 32 : i64} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  return %0, %s : tensor<4x32xf32>, tensor<4x64xf32>
}

// Short rows are not read in vectors: the slice stays a kernel of its own.
// CHECK-LABEL: func.func @short
// CHECK: nn.tanh {{.*}} -> tensor<64x4xf32>
// CHECK: nn.fusion
// CHECK: nn.slice
func.func @short(%x: tensor<64x4xf32>) -> tensor<64x2xf32> {
  %s = nn.tanh %x : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %0 = nn.slice %s {dim = 1 : i64, start = 1 : i64} : (tensor<64x4xf32>) -> tensor<64x2xf32>
  return %0 : tensor<64x2xf32>
}
