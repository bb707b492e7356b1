// The example of 'exec-lower': a matrix product becomes a call on byte ranges, 64 bytes apart.
// RUN: splitcast-opt %s -exec-lower | FileCheck %s

// CHECK: exec.space @arena 448 bytes
// CHECK: exec.plan @example
func.func @example(%a: tensor<2x10xf32> {ccl.global = tensor<2x10xf32>}, %b: tensor<10x6xf32> {ccl.global = tensor<10x6xf32>}) -> (tensor<2x6xf32> {ccl.global = tensor<2x6xf32>}) {
  // CHECK-NEXT: exec.library #exec.matmul<m = 2, n = 6, k = 10, type = f32> reads [{{.*}}] writes [{{.*}}]
  %0 = nn.matmul %a, %b : (tensor<2x10xf32>, tensor<10x6xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}
