// An MLP layer and its step, in six lines, through every stage.
// RUN: splitcast-opt %s -enable-zero=stage=3 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=3 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=3 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=3 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=3 -local-pipeline -exec-lower | FileCheck %s --check-prefix=PLAN

// Every variable is split, the gather stands before its use, the gradient goes to the shard, and the update stays there.
// CHECK: sbp.variable @w : tensor<10x4xf32, #B> storage #S_w_1_0_ update #S_w_1_0_ slot #sbp.slot<@w_1, 0 of 64>
// CHECK-LABEL: func.func @train
// CHECK: %[[SHARD:.*]] = sbp.bucket_read @w_1 : tensor<64xf32, #S0_>
// CHECK: %[[FENCED:.*]] = sbp.fence %[[SHARD]] in
// CHECK: %[[ALL:.*]] = sbp.boxing %[[FENCED]] : tensor<64xf32, #S0_> -> tensor<64xf32, #B>
// CHECK: %[[W:.*]] = sbp.bucket_member %[[ALL]] at 0 of @w_1 : tensor<64xf32, #B> -> tensor<10x4xf32, #B>
// CHECK: nn.matmul %{{.*}}, %[[W]]
// CHECK: %[[DW:.*]] = sbp.bucket_pack %{{.*}} at [0] of @w_1 : (tensor<10x4xf32, #P>) -> tensor<64xf32, #P>
// CHECK: sbp.boxing %[[DW]] : tensor<64xf32, #P> -> tensor<64xf32, #S0_>
// CHECK: sbp.bucket_assign @w_1, %{{.*}} : tensor<64xf32, #S0_>
// CHECK: return %{{.*}} : tensor<f32, #B>
// PLAN: exec.plan @train
#p = #sbp.placement<"cpu", [dp = 4]>
sbp.variable @w : tensor<10x4xf32, #sbp.nd<#p, [B]>> init #sbp.normal<mean = 0.0, stddev = 0.1>
func.func @train(%x: tensor<8x10xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<f32> {
  %w = sbp.read @w : tensor<10x4xf32>
  %h = nn.matmul %x, %w : (tensor<8x10xf32, #sbp.nd<#p, [S(0)]>>, tensor<10x4xf32>) -> tensor<8x4xf32>
  %a = nn.gelu %h : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %a {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
}
