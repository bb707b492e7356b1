// Along an axis of one rank a member is split or whole in the same bytes: on the way between the two it stays in its range.
// RUN: splitcast-opt %s -sbp-join-buckets | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2, tp = 1]>
#BS1 = #sbp.nd<#p, [B, S(1)]>
#S1S1 = #sbp.nd<#p, [S(1), S(1)]>
#slot = #sbp.nd<#p, [S(@l, 0 of 32), S(1)]>
sbp.bucket @l : tensor<1x32xf32, #sbp.nd<#p, [B, S(0)]>> along "dp" holds [@w] at [0]
sbp.variable @w : tensor<1x5xf32, #BS1> storage #slot update #slot slot #sbp.slot<@l, 0 of 32>
// CHECK: %[[READ:.*]] = sbp.bucket_read @l : tensor<1x32xf32, #S1__S0_>
// CHECK-NEXT: %[[ALL:.*]] = sbp.boxing %[[READ]] : tensor<1x32xf32, #S1__S0_> -> tensor<1x32xf32, #B_S0_>
// CHECK: %[[PACK:.*]] = sbp.bucket_pack
// CHECK: %[[NEW:.*]] = sbp.boxing %[[PACK]] : {{.*}} -> tensor<1x32xf32, #S1__S0_>
// CHECK: sbp.bucket_assign @l, %[[NEW]]
func.func @f(%g: tensor<1x5xf32, #S1S1>) -> tensor<1x5xf32, #BS1> {
  %0 = sbp.read @w : tensor<1x5xf32, #slot>
  %1 = sbp.boxing %0 : tensor<1x5xf32, #slot> -> tensor<1x5xf32, #BS1>
  %2 = sbp.boxing %g : tensor<1x5xf32, #S1S1> -> tensor<1x5xf32, #slot>
  sbp.assign @w, %2 : tensor<1x5xf32, #slot>
  return %1 : tensor<1x5xf32, #BS1>
}
