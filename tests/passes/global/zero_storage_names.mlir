// A bucket of one is named after its variable, unless a bucket of that name is there already.
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" | FileCheck-19 %s

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
// CHECK: @u : {{.*}} slot #sbp.slot<@w, 0 of 64>
sbp.variable @u : tensor<16xf32, #sbp.nd<#p, [B, B]>> slot #sbp.slot<@w, 0 of 64>
// CHECK: @v : {{.*}} slot #sbp.slot<@v, 0 of 32>
sbp.variable @v : tensor<9x4xf32, #sbp.nd<#p, [B, S(0)]>>
// CHECK: @w : {{.*}} slot #sbp.slot<@w_1, 0 of 32>
sbp.variable @w : tensor<9x4xf32, #sbp.nd<#p, [B, S(0)]>>
