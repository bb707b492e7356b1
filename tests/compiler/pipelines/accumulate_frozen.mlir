// A sum over micro-batches that is no gradient lies in no bucket with a user's frozen variables, which stage 3 splits: @evaluate may gather
// these.
// RUN: splitcast-opt %s -enable-zero="stage=3 accumulate=4" | FileCheck %s
// CHECK: sbp.bucket @q_1 : {{.*}} holds [@q.mean] at [0]
// CHECK: sbp.variable @q.sum{{[0-9]+}} : tensor<8xf32, #P> group "q" frozen carried
// CHECK: sbp.schedule @q of 4
#p = #sbp.placement<"cpu", [dp = 3]>
#S0_ = #sbp.nd<#p, [S(0)]>
#B_ = #sbp.nd<#p, [B]>
sbp.variable @q.mean : tensor<8xf32, #B_> init #sbp.constant<1.0> frozen
sbp.variable @w : tensor<6x8xf32, #B_> init #sbp.constant<0.5> policy #sbp.policy<stage = 0>
func.func @q(%x: tensor<12x6xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<6x8xf32>
  %mean = sbp.read @q.mean : tensor<8xf32>
  %h = nn.matmul %x, %w : (tensor<12x6xf32, #S0_>, tensor<6x8xf32>) -> tensor<12x8xf32>
  %c = nn.add %h, %mean : (tensor<12x8xf32>, tensor<8xf32>) -> tensor<12x8xf32>
  %t = nn.tanh %c : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %loss = nn.reduce_sum %t {dims = array<i64: 0, 1>} : (tensor<12x8xf32>) -> tensor<f32>
  %sum = nn.reduce_sum %h {dims = array<i64: 0>} : (tensor<12x8xf32>) -> tensor<8xf32>
  sbp.assign @q.mean, %sum : tensor<8xf32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.05>
  return %loss : tensor<f32>
}
func.func @evaluate() -> tensor<8xf32> {
  %mean = sbp.read @q.mean : tensor<8xf32>
  %t = nn.tanh %mean : (tensor<8xf32>) -> tensor<8xf32>
  return %t : tensor<8xf32>
}
