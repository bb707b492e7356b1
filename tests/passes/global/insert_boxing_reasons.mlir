// Why a variable that is stored split is boxed, in the locations of the boxings: who reads it, and who assigns it. The
// collectives of a rank have the reasons of their boxings.
// RUN: splitcast-opt %s -sbp-insert-boxing --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: splitcast-opt %s -sbp-insert-boxing -sbp-localize=rank=0 -local-pipeline=prefetch=0 -exec-lower \
// RUN:   --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PLAN

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x4xf32, #B> storage #S0 policy #sbp.policy<keep = never>

// CHECK-LABEL: func.func @train
// PLAN-LABEL: exec.plan @train
func.func @train(%x: tensor<4x4xf32, #B>) {
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<forward of @w>>["read"])
  // PLAN: exec.collective {{.*}} loc(fused<#sbp.wanted<forward of @w>>["read"])
  %w = sbp.read @w : tensor<4x4xf32, #B> loc("read")
  %0 = nn.mul %w, %x : (tensor<4x4xf32, #B>, tensor<4x4xf32, #B>) -> tensor<4x4xf32, #B>
  %s = sbp.scope "backward"
  %1 = sbp.fence %0 in %s : tensor<4x4xf32, #B>
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<backward of @w>>["read"])
  // PLAN: exec.collective {{.*}} loc(fused<#sbp.wanted<backward of @w>>["read"])
  %2 = nn.add %w, %1 : (tensor<4x4xf32, #B>, tensor<4x4xf32, #B>) -> tensor<4x4xf32, #B>
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<assign of @w>>["write"])
  sbp.assign @w, %2 : tensor<4x4xf32, #B> loc("write")
  return
}
