// On a mesh, 'sbp-zero-storage' splits along one axis the piece that the others leave on a rank.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 | FileCheck %s --check-prefix=BUCKET
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" | FileCheck %s --check-prefix=TENSOR
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 axis=tp" | FileCheck %s --check-prefix=TP

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#BB = #sbp.nd<#p, [B, B]>
#BS0 = #sbp.nd<#p, [B, S(0)]>
#BS1 = #sbp.nd<#p, [B, S(1)]>
#S0B = #sbp.nd<#p, [S(0), B]>
// BUCKET: @a : {{.*}} storage #S_g_0__B update #S_g_0__B slot #sbp.slot<@g, 0 of 128>
// TENSOR: @a : {{.*}} storage #S0__B update #S0__B group
// TP: @a : {{.*}} storage #B_S_g_0_ update #B_S_g_0_ slot #sbp.slot<@g, 0 of 96>
sbp.variable @a : tensor<9x4xf32, #BB> group "g"
// 9 rows over tp are 5 and 4: the slot has room for 20 elements. A split by tp on dimension 0 goes first, so that rows cannot
// be split once more by dp in their order; a bucket of one can.
// BUCKET: @b : {{.*}} storage #S_g_48__S0_ update #S_g_48__S0_ slot #sbp.slot<@g, 48 of 128>
// TENSOR: @b : {{.*}} storage #S_b_1_0__S0_ update #S_b_1_0__S0_ slot #sbp.slot<@b_1, 0 of 32>
// TP: @b : tensor<9x4xf32, #B_S0_> group "g"
sbp.variable @b : tensor<9x4xf32, #BS0> group "g"
// BUCKET: @c : {{.*}} storage #S_g_80__S1_ update #S_g_80__S1_ slot #sbp.slot<@g, 80 of 128>
// TENSOR: @c : {{.*}} storage #S0__S1_ update #S0__S1_ group
// TP: @c : tensor<9x5xf32, #B_S1_> group "g"
sbp.variable @c : tensor<9x5xf32, #BS1> group "g"
// Split along the axis already, by the user.
// BUCKET: @d : tensor<9x5xf32, #S0__B> group "g"
// TENSOR: @d : tensor<9x5xf32, #S0__B> group "g"
// TP: @d : {{.*}} storage #S0__S_g_48_ update #S0__S_g_48_ slot #sbp.slot<@g, 48 of 96>
sbp.variable @d : tensor<9x5xf32, #S0B> group "g"
