// Gradients that are summed over two axes, one after the other, are gradients on the way, too: at every stage.
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=0,strategy=tensor -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=2,strategy=tensor -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null | FileCheck %s

// The gradient has 512,000 bytes.
// CHECK: @train, rank 1 of 4
// CHECK: gradient buckets {{ *}}0.512 MB
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#B = #sbp.nd<#p, [B, B]>
#S0 = #sbp.nd<#p, [S(0), S(0)]>
sbp.variable @w : tensor<400x320xf32, #B>
func.func @train(%x: tensor<4x400xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<400x320xf32>
  %0 = nn.matmul %x, %w : (tensor<4x400xf32, #S0>, tensor<400x320xf32>) -> tensor<4x320xf32>
  %1 = nn.mul %0, %0 : (tensor<4x320xf32>, tensor<4x320xf32>) -> tensor<4x320xf32>
  %2 = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<4x320xf32>) -> tensor<f32>
  nn.minimize %2 : tensor<f32> with #nn.sgd<lr = 0.1>
  return %2 : tensor<f32>
}
