// Gradients that are partial along two axes are summed along tp first and then along dp, at every stage and for every
// strategy: in another order their bits would be others.
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=1 strategy=tensor" -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=2 strategy=tensor" -sbp-localize=rank=0 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=3 strategy=tensor" -sbp-localize=rank=0 | FileCheck %s

// The gradient of the last bias: rank 0 sums with rank 1 (tp) before it does with rank 2 (dp).
// CHECK: #dp = #ccl.group<"dp", [0, 2], index 0>
// CHECK: #tp = #ccl.group<"tp", [0, 1], index 0>
// CHECK-NOT: in #dp {{.*}} : tensor<4xf32>
// CHECK: ccl.{{(reduce_scatter "result of nn.reduce_sum( update)?" %.* in #tp blocks 2|all_reduce "(result of nn.reduce_sum( update)?|bucket down)" %.* in #tp blocks 4)}} : tensor<4xf32>
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#SB = #sbp.nd<#p, [S(0), B]>
#BB = #sbp.nd<#p, [B, B]>
#BS0 = #sbp.nd<#p, [B, S(0)]>
#BS1 = #sbp.nd<#p, [B, S(1)]>
sbp.variable @up.w : tensor<4x6xf32, #BS1>
sbp.variable @down.w : tensor<6x4xf32, #BS0>
sbp.variable @down.b : tensor<4xf32, #BB>
func.func @train(%x: tensor<8x4xf32, #SB>) -> tensor<f32> {
  %up = sbp.read @up.w : tensor<4x6xf32>
  %down = sbp.read @down.w : tensor<6x4xf32>
  %b = sbp.read @down.b : tensor<4xf32>
  %0 = nn.matmul %x, %up : (tensor<8x4xf32, #SB>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = nn.gelu %0 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %2 = nn.matmul %1, %down : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %3 = nn.add %2, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %4 = nn.mul %3, %3 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = nn.reduce_sum %4 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %5 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %5 : tensor<f32>
}
