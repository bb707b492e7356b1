// The example of 'sbp-zero-storage': 10 rows over 4 ranks.
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" | FileCheck %s
// Pieces of 3, 3, 2 and 2 rows of 16 bytes: 48, 48, 32 and 32 bytes.
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" -sbp-localize=rank=0 | FileCheck %s --check-prefix=LONG
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" -sbp-localize=rank=1 | FileCheck %s --check-prefix=LONG
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" -sbp-localize=rank=2 | FileCheck %s --check-prefix=SHORT
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" -sbp-localize=rank=3 | FileCheck %s --check-prefix=SHORT

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// CHECK: sbp.variable @w : tensor<10x4xf32, #B> storage #S0_ update #S0_
// LONG: ccl.storage @storage.w : tensor<3x4xf32>
// SHORT: ccl.storage @storage.w : tensor<2x4xf32>
sbp.variable @w : tensor<10x4xf32, #B>
