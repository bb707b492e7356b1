// What a user computes again in another scope, a product and a kernel, so as not to keep it, stays two: also with -cse here, and
// between any two passes ('cleanups_test').
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=0 -cse -sbp-localize=rank=1 -cse -local-pipeline -cse -exec-lower | FileCheck %s
// CHECK: exec.plan @recomputed
// CHECK-NEXT: #exec.matmul<m = 16, n = 256, k = 2, type = f32>
// CHECK-NEXT: exec.launch
// CHECK-NEXT: #exec.matmul<m = 16, n = 256, k = 2, type = f32>
// CHECK-NEXT: exec.launch
// CHECK-NEXT: #exec.matmul<m = 16, n = 256, k = 2, type = f32>
// CHECK-NEXT: exec.launch
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<2x256xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @v : tensor<2x256xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
func.func @recomputed(%x: tensor<64x2xf32, #S0>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %w = sbp.read @w : tensor<2x256xf32>
  %v = sbp.read @v : tensor<2x256xf32>
  %0 = nn.matmul %x, %w : (tensor<64x2xf32, #S0>, tensor<2x256xf32>) -> tensor<64x256xf32>
  %1 = nn.tanh %0 : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %2 = nn.reduce_sum %1 {dims = array<i64: 1>} : (tensor<64x256xf32>) -> tensor<64xf32>
  %3 = nn.matmul %x, %v : (tensor<64x2xf32, #S0>, tensor<2x256xf32>) -> tensor<64x256xf32>
  %4 = nn.tanh %3 : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %5 = nn.reduce_sum %4 {dims = array<i64: 1>} : (tensor<64x256xf32>) -> tensor<64xf32>
  %t = sbp.scope "backward"
  %again = sbp.fence %x in %t : tensor<64x2xf32, #S0>
  %6 = nn.matmul %again, %w : (tensor<64x2xf32, #S0>, tensor<2x256xf32>) -> tensor<64x256xf32>
  %7 = nn.tanh %6 : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %8 = nn.reduce_sum %7 {dims = array<i64: 1>} : (tensor<64x256xf32>) -> tensor<64xf32>
  return %2, %5, %8 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
