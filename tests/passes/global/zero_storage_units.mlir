// A member that another axis splits by a unit: the slot has room for the longer of its two pieces, and the bucket's range a
// dimension for that axis, as for any split.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 | FileCheck %s --check-prefix=BUCKET
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 strategy=tensor" | FileCheck %s --check-prefix=TENSOR
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 -sbp-propagate -sbp-insert-boxing -sbp-join-buckets | FileCheck %s --check-prefix=JOINED

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#rows = #sbp.nd<#p, [B, S(0 by 6)]>
#columns = #sbp.nd<#p, [B, S(1 by 2)]>
// 18 rows in sixes are 12 and 6.
// BUCKET: sbp.bucket @l : tensor<2x64xf32, #B_S0_> along "dp" holds [@l.a, @l.b] at [0, 48]
// BUCKET: @l.a : {{.*}} storage #S_l_0__S0by6_ update #S_l_0__S0by6_ slot #sbp.slot<@l, 0 of 64>
// What another axis splits by rows cannot be split by rows once more: a bucket of one.
// TENSOR: @l.a : {{.*}} slot #sbp.slot<@l.a_1, 0 of 64>
sbp.variable @l.a : tensor<18x4xf32, #rows>
// BUCKET: @l.b : {{.*}} storage #S_l_48__S1by2_ update #S_l_48__S1by2_ slot #sbp.slot<@l, 48 of 64>
// TENSOR: @l.b : {{.*}} storage #S0__S1by2_ update #S0__S1by2_
sbp.variable @l.b : tensor<3x6xf32, #columns>
// JOINED: %[[READ:.*]] = sbp.bucket_read @l : tensor<2x64xf32, #S1__S0_>
// JOINED: %[[ALL:.*]] = sbp.boxing %{{.*}} : tensor<2x64xf32, #S1__S0_> -> tensor<2x64xf32, #B_S0_>
// JOINED: sbp.bucket_member %[[ALL]] at 0 of @l : tensor<2x64xf32, #B_S0_> -> tensor<18x4xf32, #B_S0by6_>
// JOINED: sbp.bucket_member %[[ALL]] at 48 of @l : tensor<2x64xf32, #B_S0_> -> tensor<3x6xf32, #B_S1by2_>
func.func @f() -> (tensor<18x4xf32, #rows>, tensor<3x6xf32, #columns>) {
  %a = sbp.read @l.a : tensor<18x4xf32>
  %b = sbp.read @l.b : tensor<3x6xf32>
  %0 = nn.tanh %a : (tensor<18x4xf32>) -> tensor<18x4xf32, #rows>
  %1 = nn.tanh %b : (tensor<3x6xf32>) -> tensor<3x6xf32, #columns>
  return %0, %1 : tensor<18x4xf32, #rows>, tensor<3x6xf32, #columns>
}
