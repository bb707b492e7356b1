// A convolution is a call with a workspace of its tensors, with 8 channels at least, and 8 MiB; in f64, and where there are
// no elements, it is a kernel.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
// CHECK-LABEL: exec.plan @weight_of_bf16
// CHECK: exec.library #exec.convolution<call = "convolution_weight_grad", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = bf16, workspace = 8399296>
// CHECK-SAME: writes [#exec.range<{{.*}}, 2304>, #exec.range<{{.*}}, 8399296>]
func.func @weight_of_bf16(%y: tensor<4x16x5x5xbf16> {ccl.global = tensor<4x16x5x5xbf16>}, %x: tensor<4x8x9x9xbf16> {ccl.global = tensor<4x8x9x9xbf16>}) -> (tensor<16x8x3x3xbf16> {ccl.global = tensor<16x8x3x3xbf16>}) {
  %0 = nn.convolution_weight_grad %y, %x {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x16x5x5xbf16>, tensor<4x8x9x9xbf16>) -> tensor<16x8x3x3xbf16>
  return %0 : tensor<16x8x3x3xbf16>
}
// CHECK-LABEL: exec.plan @of_f64
// CHECK-NOT: exec.library
// CHECK: exec.launch
func.func @of_f64(%x: tensor<1x1x3x3xf64> {ccl.global = tensor<1x1x3x3xf64>}, %w: tensor<1x1x3x3xf64> {ccl.global = tensor<1x1x3x3xf64>}) -> (tensor<1x1x1x1xf64> {ccl.global = tensor<1x1x1x1xf64>}) {
  %0 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x1x3x3xf64>, tensor<1x1x3x3xf64>) -> tensor<1x1x1x1xf64>
  return %0 : tensor<1x1x1x1xf64>
}
// CHECK-LABEL: exec.plan @of_no_channels
// CHECK-NOT: exec.library
func.func @of_no_channels(%x: tensor<1x0x3x3xf32> {ccl.global = tensor<1x0x3x3xf32>}, %w: tensor<2x0x3x3xf32> {ccl.global = tensor<2x0x3x3xf32>}) -> (tensor<1x2x1x1xf32> {ccl.global = tensor<1x2x1x1xf32>}) {
  %0 = nn.convolution %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<1x0x3x3xf32>, tensor<2x0x3x3xf32>) -> tensor<1x2x1x1xf32>
  return %0 : tensor<1x2x1x1xf32>
}
}
