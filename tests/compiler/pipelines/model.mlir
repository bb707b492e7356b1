// A model of several groups, for the tests of the pipelines: two layers of weight and bias, Adam.
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// CHECK: exec.plan @train
// CHECK: exec.plan @predict
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @fc1.weight : tensor<10x6xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc1.bias : tensor<6xf32, #B>
sbp.variable @fc2.weight : tensor<6x3xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc2.bias : tensor<3xf32, #B>
func.func @train(%x: tensor<8x10xf32, #S0>, %y: tensor<8x3xf32, #S0>) -> tensor<f32> {
  %w1 = sbp.read @fc1.weight : tensor<10x6xf32>
  %b1 = sbp.read @fc1.bias : tensor<6xf32>
  %w2 = sbp.read @fc2.weight : tensor<6x3xf32>
  %b2 = sbp.read @fc2.bias : tensor<3xf32>
  %0 = nn.matmul %x, %w1 : (tensor<8x10xf32, #S0>, tensor<10x6xf32>) -> tensor<8x6xf32>
  %1 = nn.add %0, %b1 : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %2 = nn.relu %1 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = nn.matmul %2, %w2 : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  %4 = nn.add %3, %b2 : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %d = nn.sub %4, %y : (tensor<8x3xf32>, tensor<8x3xf32, #S0>) -> tensor<8x3xf32>
  %q = nn.mul %d, %d : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %s = nn.reduce_sum %q {dims = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.0416666 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8>
  return %loss : tensor<f32>
}
func.func @predict(%x: tensor<8x10xf32, #S0>) -> tensor<8x3xf32> {
  %w1 = sbp.read @fc1.weight : tensor<10x6xf32>
  %b1 = sbp.read @fc1.bias : tensor<6xf32>
  %w2 = sbp.read @fc2.weight : tensor<6x3xf32>
  %0 = nn.matmul %x, %w1 : (tensor<8x10xf32, #S0>, tensor<10x6xf32>) -> tensor<8x6xf32>
  %1 = nn.add %0, %b1 : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %2 = nn.relu %1 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = nn.matmul %2, %w2 : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  return %3 : tensor<8x3xf32>
}
