// What depends on nothing is no input of what is computed again: where micro-batches cut the batch, they cut it, too.
// RUN: splitcast-opt %s -split-input-file "-enable-zero=stage=0 recompute=yes accumulate=2" | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 1]>
#B = #sbp.nd<#p, [B]>
#S = #sbp.nd<#p, [S(0)]>
sbp.variable @a.w : tensor<3x2xf32, #B>
// CHECK-LABEL: func.func @train
// CHECK: nn.iota {{.*}}tensor<2x2xi64
// CHECK: nn.add {{.*}}tensor<2x2xf32
func.func @train(%x: tensor<4x3xf32, #S>) -> tensor<f32> {
  %w = sbp.read @a.w : tensor<3x2xf32, #B>
  %0 = nn.matmul %x, %w : (tensor<4x3xf32, #S>, tensor<3x2xf32, #B>) -> tensor<4x2xf32>
  %1 = nn.iota {dim = 1 : i64} : () -> tensor<4x2xi64>
  %2 = nn.cast %1 : (tensor<4x2xi64>) -> tensor<4x2xf32>
  %3 = nn.add %0, %2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = nn.mul %3, %3 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %loss = nn.reduce_sum %4 {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
