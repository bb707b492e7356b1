// Of two members one has a state: in the state's storage the other's place is padding, in the parameters' range it is not.
// RUN: splitcast-opt %s -sbp-join-buckets | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.bucket @l : tensor<32xf32, #B> along "dp" holds [@a, @b] at [0, 16]
sbp.variable @a : tensor<4xf32, #B> slot #sbp.slot<@l, 0 of 32>
sbp.variable @a.old : tensor<4xf32, #B> slot #sbp.slot<@l, 0 of 32> state_of @a role "old"
sbp.variable @b : tensor<4xf32, #B> slot #sbp.slot<@l, 16 of 32>
// CHECK-NOT: sbp.bucket_assign
// CHECK: %[[A:.*]] = sbp.bucket_member %{{.*}} at 0 of @l
// CHECK: sbp.assign @a.old, %[[A]]
func.func @f() {
  %0 = sbp.read @a : tensor<4xf32, #B>
  sbp.assign @a.old, %0 : tensor<4xf32, #B>
  return
}
