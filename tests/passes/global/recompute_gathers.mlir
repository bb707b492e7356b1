// What elementwise ops make of a parameter is kept, since to read it again whole would be a gather: of @norm.gamma, backward reads a piece. And
// what is a result is held anyway.
// RUN: splitcast-opt %s -split-input-file "-enable-zero=stage=3 strategy=tensor prefetch=0" | FileCheck %s
// RUN: splitcast-opt %s -split-input-file "-enable-zero=stage=3 strategy=tensor prefetch=0 recompute=elementwise" | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S = #sbp.nd<#p, [S(0)]>
sbp.variable @norm.gamma : tensor<64x64xf32, #B>
sbp.variable @down.w : tensor<64x64xf32, #B>
sbp.variable @first.w : tensor<64x64xf32, #B>
// CHECK-LABEL: func.func @train
// CHECK-COUNT-5: sbp.boxing
// CHECK-NOT: sbp.boxing
// CHECK: return
func.func @train(%x: tensor<64x64xf32, #S>) -> tensor<f32> {
  %f = sbp.read @first.w : tensor<64x64xf32, #B>
  %g = sbp.read @norm.gamma : tensor<64x64xf32, #B>
  %d = sbp.read @down.w : tensor<64x64xf32, #B>
  %0 = nn.matmul %x, %f : (tensor<64x64xf32, #S>, tensor<64x64xf32, #B>) -> tensor<64x64xf32>
  %1 = nn.mul %0, %g : (tensor<64x64xf32>, tensor<64x64xf32, #B>) -> tensor<64x64xf32>
  %2 = nn.matmul %1, %d : (tensor<64x64xf32>, tensor<64x64xf32, #B>) -> tensor<64x64xf32>
  %loss = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<64x64xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S = #sbp.nd<#p, [S(0)]>
sbp.variable @up.w : tensor<64x64xf32, #B>
sbp.variable @down.w : tensor<64x64xf32, #B>
// CHECK-LABEL: func.func @train
// CHECK: nn.gelu %
// CHECK-NOT: nn.gelu %
// CHECK: return
func.func @train(%x: tensor<64x64xf32, #S>) -> (tensor<f32>, tensor<64x64xf32, #S>) {
  %u = sbp.read @up.w : tensor<64x64xf32, #B>
  %d = sbp.read @down.w : tensor<64x64xf32, #B>
  %0 = nn.matmul %x, %u : (tensor<64x64xf32, #S>, tensor<64x64xf32, #B>) -> tensor<64x64xf32, #S>
  %1 = nn.gelu %0 : (tensor<64x64xf32, #S>) -> tensor<64x64xf32, #S>
  %2 = nn.matmul %1, %d : (tensor<64x64xf32, #S>, tensor<64x64xf32, #B>) -> tensor<64x64xf32>
  %loss = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<64x64xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss, %1 : tensor<f32>, tensor<64x64xf32, #S>
}
