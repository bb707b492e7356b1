// What each stage and strategy of 'sbp-zero-storage' splits; a slot begins at a multiple of 64 bytes, 16 f32 or 32 bf16.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=0 | FileCheck %s --check-prefixes=ALL,ZERO
// RUN: splitcast-opt %s -sbp-zero-storage=stage=1 | FileCheck %s --check-prefixes=ALL,ONE
// RUN: splitcast-opt %s -sbp-zero-storage | FileCheck %s --check-prefixes=ALL,ONE
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 | FileCheck %s --check-prefixes=ALL,THREE
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 bucket-bytes=320" | FileCheck %s --check-prefix=APART
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 bucket-bytes=321" | FileCheck %s --check-prefix=JOINED
// RUN: splitcast-opt %s -sbp-zero-storage="stage=2 strategy=tensor" | FileCheck %s --check-prefix=ROWS

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// Stages 1 and 2 store the same: what tells them apart is when gradients are reduced.
// ALL: module
// ZERO: @l0.weight : tensor<10x6xf32, #B> slot #sbp.slot<@l0, 0 of 128> policy
// ONE: @l0.weight : tensor<10x6xf32, #B> update #S_l0_0_ slot #sbp.slot<@l0, 0 of 128> policy
// THREE: @l0.weight : tensor<10x6xf32, #B> storage #S_l0_0_ update #S_l0_0_ slot #sbp.slot<@l0, 0 of 128> policy
// ROWS: @l0.weight : tensor<10x6xf32, #B> update #S0_ policy
sbp.variable @l0.weight : tensor<10x6xf32, #B>
// ZERO: @l0.weight.m : tensor<10x6xf32, #B> slot #sbp.slot<@l0, 0 of 128> state_of
// ONE: @l0.weight.m : tensor<10x6xf32, #B> storage #S_l0_0_ slot #sbp.slot<@l0, 0 of 128> state_of
// THREE: @l0.weight.m : tensor<10x6xf32, #B> storage #S_l0_0_ slot #sbp.slot<@l0, 0 of 128> state_of
// ROWS: @l0.weight.m : tensor<10x6xf32, #B> storage #S0_ state_of
sbp.variable @l0.weight.m : tensor<10x6xf32, #B> state_of @l0.weight role "m"
// Behind 60 elements, which end within the fourth 64 bytes.
// ZERO: @l0.bias : tensor<6xf32, #B> slot #sbp.slot<@l0, 64 of 128> policy
// ONE: @l0.bias : tensor<6xf32, #B> update #S_l0_64_ slot #sbp.slot<@l0, 64 of 128> policy
// ROWS: @l0.bias : tensor<6xf32, #B> update #S0_ policy
sbp.variable @l0.bias : tensor<6xf32, #B>
sbp.variable @l0.bias.m : tensor<6xf32, #B> state_of @l0.bias role "m"
// A scalar stays on all ranks.
// ALL: @l0.scale : tensor<f32, #B> policy
// ROWS: @l0.scale : tensor<f32, #B> policy
sbp.variable @l0.scale : tensor<f32, #B>
// The next group is the next bucket, unless the first one has not enough bytes: 80 elements so far.
// ZERO: @l1.weight : tensor<6x3xf32, #B> slot #sbp.slot<@l1, 0 of 64> policy
// THREE: @l1.weight : tensor<6x3xf32, #B> storage #S_l1_0_ update #S_l1_0_ slot #sbp.slot<@l1, 0 of 64> policy
// APART: @l1.weight {{.*}} slot #sbp.slot<@l1, 0 of 64> policy
// JOINED: @l1.weight {{.*}} slot #sbp.slot<@l0, 80 of 128> policy
sbp.variable @l1.weight : tensor<6x3xf32, #B>
sbp.variable @l1.weight.m : tensor<6x3xf32, #B> state_of @l1.weight role "m"
// A bucket has one element type.
// ZERO: @l1.half : tensor<6x3xbf16, #B> slot #sbp.slot<@l1_1, 0 of 128> policy
// ONE: @l1.half : tensor<6x3xbf16, #B> update #S_l1_1_0_ slot #sbp.slot<@l1_1, 0 of 128> policy
sbp.variable @l1.half : tensor<6x3xbf16, #B>
// Frozen: no update, so only stage 3 splits it, and apart from those that are gathered after an update.
// ZERO: @l1.table : tensor<6x3xf32, #B> frozen
// ONE: @l1.table : tensor<6x3xf32, #B> frozen
// THREE: @l1.table : tensor<6x3xf32, #B> storage #S_l1_2_0_ slot #sbp.slot<@l1_2, 0 of 64> frozen
// ROWS: @l1.table : tensor<6x3xf32, #B> frozen
sbp.variable @l1.table : tensor<6x3xf32, #B> frozen
// Only consecutive groups are joined: the same name again is another bucket.
// ZERO: @l0.again : tensor<5xf32, #B> slot #sbp.slot<@l0_1, 0 of 64> policy
// THREE: @l0.again : tensor<5xf32, #B> storage #S_l0_1_0_ update #S_l0_1_0_ slot #sbp.slot<@l0_1, 0 of 64> policy
// APART: @l0.again {{.*}} slot #sbp.slot<@l1, 32 of 64> policy
sbp.variable @l0.again : tensor<5xf32, #B>
sbp.variable @l0.again.m : tensor<5xf32, #B> state_of @l0.again role "m"
// A range of state is as long as that of parameters: what has no such state is in another bucket.
// ZERO: @l0.plain : tensor<5xf32, #B> slot #sbp.slot<@l0_2, 0 of 64> policy
// THREE: @l0.plain : tensor<5xf32, #B> storage #S_l0_2_0_ update #S_l0_2_0_ slot #sbp.slot<@l0_2, 0 of 64> policy
sbp.variable @l0.plain : tensor<5xf32, #B>
