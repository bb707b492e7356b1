// 9 samples of 3 rows on 3 ranks, whose samples and rows meet: a step of one micro-batch is what it is, odd or not.
// RUN: splitcast-opt %s -enable-zero="stage=2 reproducible=yes" | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=2 reproducible=yes accumulate=3" | FileCheck %s --check-prefix=STEPS

#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32, #B>

// CHECK: func.func @train(
// CHECK: nn.exact_part
// STEPS: func.func @train.last(
// STEPS: nn.exact_sum
func.func @train(%x: tensor<27x4xf32, #S0>, %z: tensor<9x3x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %zr = nn.reshape %z : (tensor<9x3x4xf32, #S0>) -> tensor<27x4xf32>
  %a = nn.add %x, %zr : (tensor<27x4xf32, #S0>, tensor<27x4xf32>) -> tensor<27x4xf32>
  %h = nn.matmul %a, %w : (tensor<27x4xf32>, tensor<4x2xf32>) -> tensor<27x2xf32>
  %s = nn.reduce_sum %h {dims = array<i64: 0, 1>} : (tensor<27x2xf32>) -> tensor<f32>
  nn.minimize %s : tensor<f32> with #nn.sgd<lr = 0.1>
  return %s : tensor<f32>
}
