// What a user stores stays as it is, whatever the stage; it is in no bucket.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=0 | FileCheck %s
// RUN: splitcast-opt %s -sbp-zero-storage=stage=1 | FileCheck %s
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 | FileCheck %s
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
// CHECK: sbp.variable @l.w : tensor<4x6xf32, #B> storage #S1_ policy
sbp.variable @l.w : tensor<4x6xf32, #B> storage #S1
// CHECK: sbp.variable @l.v : tensor<4x6xf32, #B> storage #S0_ update #S1_ policy
sbp.variable @l.v : tensor<4x6xf32, #B> storage #S0 update #S1
sbp.variable @l.b : tensor<6xf32, #B>
// State, too, beside a parameter that is in a bucket.
// CHECK: sbp.variable @l.b.ema : tensor<6xf32, #B> storage #S0_ state_of @l.b role "ema"
sbp.variable @l.b.ema : tensor<6xf32, #B> storage #S0 state_of @l.b role "ema"
// PLAN: exec.plan @train
func.func @train(%x: tensor<8x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @l.w : tensor<4x6xf32>
  %v = sbp.read @l.v : tensor<4x6xf32>
  %b = sbp.read @l.b : tensor<6xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = nn.tanh %0 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %2 = nn.matmul %x, %v : (tensor<8x4xf32, #S0>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %3 = nn.mul %1, %2 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %4 = nn.add %3, %b : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %l = nn.reduce_sum %4 {dims = array<i64: 0, 1>} : (tensor<8x6xf32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.adam<lr = 0.1>
  return %l : tensor<f32>
}
