// A bucket of one is named after its variable, with a number that no symbol has yet: not another bucket either.
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.bucket @w_1 : tensor<64xf32, #sbp.nd<#p, [B, B]>> along "dp" holds [@u] at [0]
// CHECK: @u : {{.*}} slot #sbp.slot<@w_1, 0 of 64>
sbp.variable @u : tensor<16xf32, #sbp.nd<#p, [B, B]>> slot #sbp.slot<@w_1, 0 of 64>
// CHECK: sbp.bucket @v_1
// CHECK: @v : {{.*}} slot #sbp.slot<@v_1, 0 of 32>
sbp.variable @v : tensor<9x4xf32, #sbp.nd<#p, [B, S(0)]>>
// CHECK: sbp.bucket @w_2
// CHECK: @w : {{.*}} slot #sbp.slot<@w_2, 0 of 32>
sbp.variable @w : tensor<9x4xf32, #sbp.nd<#p, [B, S(0)]>>
