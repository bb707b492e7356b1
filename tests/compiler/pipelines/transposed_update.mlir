// An op that names dimensions stays on tensors that have them: a transpose, though it is the identity, does not run on a
// bucket's flat range. It compiles at every stage.
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=1 -local-pipeline -exec-lower | FileCheck %s
// CHECK: exec.plan @f
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.variable @l.w : tensor<4x4xf32, #B> init #sbp.constant<2.0>
func.func @f() {
  %s = sbp.scope "update" of @l.w
  %w = sbp.read @l.w : tensor<4x4xf32>
  %u = sbp.fence %w in %s : tensor<4x4xf32>
  %t = nn.transpose %u {permutation = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = nn.neg %t : (tensor<4x4xf32>) -> tensor<4x4xf32>
  sbp.assign @l.w, %n : tensor<4x4xf32>
  return
}
