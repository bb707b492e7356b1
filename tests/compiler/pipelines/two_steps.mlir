// Two steps in one function, the second on what the first has updated, with one variable more of the bucket: its reduction cannot
// wait for the second one's. The same program at every stage.
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// CHECK: exec.plan @train
// CHECK-COUNT-2: exec.collective {{all_reduce|reduce_scatter}} "bucket l
// CHECK-NOT: exec.collective {{all_reduce|reduce_scatter}} "bucket l
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @l.w1 : tensor<4x4xf32, #B> init #sbp.constant<0.5>
sbp.variable @l.w2 : tensor<4x4xf32, #B> init #sbp.constant<0.5>
func.func @train(%x: tensor<8x4xf32, #S0>) -> tensor<f32> {
  %w1 = sbp.read @l.w1 : tensor<4x4xf32>
  %a = nn.matmul %x, %w1 : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %t = nn.tanh %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %l1 = nn.reduce_sum %t {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %l1 : tensor<f32> with #nn.sgd<lr = 0.5>
  %v1 = sbp.read @l.w1 : tensor<4x4xf32>
  %w2 = sbp.read @l.w2 : tensor<4x4xf32>
  %b = nn.matmul %x, %v1 : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %u = nn.tanh %b : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = nn.matmul %u, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %k = nn.tanh %c : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %l2 = nn.reduce_sum %k {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %l2 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %l2 : tensor<f32>
}
