// Which rank owns a variable of strategy `whole`: the largest first, to the one with the least load.
// RUN: splitcast-opt %s -split-input-file -sbp-zero-storage="stage=2 strategy=whole" | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// What nothing is divided of is no load: @e.w is as at stage 0, @f.w frozen, and stage 2 does not split that.
// CHECK: sbp.bucket @a : tensor<4096xf32, #B> along "dp" holds [@a.w, @a.y, @a.x, @a.z] at [0, 1024, 2048, 3072] group "a"
sbp.variable @e.w : tensor<1000x16xf32, #B> policy #sbp.policy<stage = 0>
sbp.variable @f.w : tensor<1000x16xf32, #B> frozen
sbp.variable @a.w : tensor<64x16xf32, #B>
sbp.variable @a.x : tensor<64x16xf32, #B>
sbp.variable @a.y : tensor<64x16xf32, #B>
sbp.variable @a.z : tensor<64x16xf32, #B>

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#B = #sbp.nd<#p, [B, B]>
#S = #sbp.nd<#p, [B, S(0)]>
// Of what another axis splits, a rank has a part: 1024 and 512 elements for each.
// CHECK: sbp.bucket @a : tensor<2x3072xf32, #{{.*}}> along "dp" holds [@a.w, @a.x, @a.y, @a.z] at [0, 512, 1536, 2048] group "a"
sbp.variable @a.w : tensor<64x16xf32, #S>
sbp.variable @a.x : tensor<64x16xf32, #B>
sbp.variable @a.y : tensor<64x16xf32, #S>
sbp.variable @a.z : tensor<64x16xf32, #B>

// -----

#p = #sbp.placement<"cpu", [dp = 64]>
#B = #sbp.nd<#p, [B]>
// More ranks than variables: those without one have nothing, the last one too.
// CHECK: sbp.bucket @a : tensor<80xf32, #{{.*}}> along "dp" holds [@a.w, @a.x] at [0, 64] to [64, 80, 80, {{(80, )*}}80] group "a"
sbp.variable @a.w : tensor<64xf32, #B>
sbp.variable @a.x : tensor<1xf32, #B>
