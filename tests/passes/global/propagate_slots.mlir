// A slot is the piece that the other axes leave of its variable: an op that runs on slots leaves these axes as they are, though
// splitting along them would be free.
// RUN: splitcast-opt %s -sbp-propagate | FileCheck %s
// RUN: splitcast-opt %s -sbp-propagate -sbp-insert-boxing -sbp-join-buckets -sbp-verify-global | FileCheck %s --check-prefix=JOINED
// JOINED: sbp.bucket_assign @l

#p = #sbp.placement<"cpu", [dp = 2, tp = 3]>
#B_B = #sbp.nd<#p, [B, B]>
#B_S0_ = #sbp.nd<#p, [B, S(0)]>
#slot = #sbp.nd<#p, [S(@l, 0 of 32), B]>
sbp.bucket @l : tensor<32xf32, #B_B> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<6xf32, #B_B> storage #slot update #slot slot #sbp.slot<@l, 0 of 32>
// CHECK-LABEL: func.func @f
// CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<6xf32, #S_l_0__B>, tensor<6xf32, #S_l_0__B>) -> tensor<6xf32, #S_l_0__B>
func.func @f(%x: tensor<6xf32, #B_S0_>) {
  %scope = sbp.scope "update" of @w
  %w = sbp.read @w : tensor<6xf32>
  %u = sbp.fence %w in %scope : tensor<6xf32>
  %m = nn.mul %u, %x : (tensor<6xf32>, tensor<6xf32, #B_S0_>) -> tensor<6xf32>
  sbp.assign @w, %m : tensor<6xf32>
  return
}
