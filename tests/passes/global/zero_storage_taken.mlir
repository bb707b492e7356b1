// A bucket's storages are named after it on ranks: where a variable has such a name, the bucket gets another.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=1 | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=1 -sbp-localize=rank=0 | FileCheck %s --check-prefix=LOCAL

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// CHECK: @l.w : tensor<4xf32, #B> update #{{.*}} slot #sbp.slot<@l_1, 0 of 32> policy
// LOCAL: ccl.storage @bucket.l_1.parameter
sbp.variable @l.w : tensor<4xf32, #B>
// CHECK: @bucket.l.parameter : tensor<4xf32, #B> update #{{.*}} slot #sbp.slot<@bucket.l, 0 of 32> policy
sbp.variable @bucket.l.parameter : tensor<4xf32, #B>
