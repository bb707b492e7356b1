// Members that are updated in several ways are laid side by side, each rank's parts, and gathered once: stages 1 and 2.
// RUN: splitcast-opt %s -sbp-join-buckets | FileCheck %s
// RUN: splitcast-opt %s -sbp-join-buckets -sbp-localize=rank=1 | FileCheck %s --check-prefix=LOCAL

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S_0 = #sbp.nd<#p, [S(@l, 0 of 64)]>
#S_48 = #sbp.nd<#p, [S(@l, 48 of 64)]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@l.v, @l.w] at [0, 48]
sbp.variable @l.v : tensor<6xf32, #B> slot #sbp.slot<@l, 0 of 64>
sbp.variable @l.w : tensor<2x7xf32, #B> slot #sbp.slot<@l, 48 of 64>

// CHECK-LABEL: func.func @example
// CHECK-SAME: %[[a:[^:]*]]: tensor<f32, #B>, %[[b:[^:]*]]: tensor<f32, #B>
// CHECK-DAG: %[[v:.*]] = nn.mul %[[a]], {{.*}} : (tensor<f32, #B>, tensor<6xf32, #[[V:S_l_0_]]>) -> tensor<6xf32, #[[V]]>
// CHECK-DAG: %[[w:.*]] = nn.mul %[[b]], {{.*}} : (tensor<f32, #B>, tensor<2x7xf32, #[[W:S_l_48_]]>) -> tensor<2x7xf32, #[[W]]>
// CHECK: %[[parts:.*]] = sbp.bucket_pack %[[v]], %[[w]] at [0, 48] of @l : (tensor<6xf32, #[[V]]>, tensor<2x7xf32, #[[W]]>) -> tensor<64xf32, #S0_>
// CHECK-NEXT: %[[whole:.*]] = sbp.boxing %[[parts]] : tensor<64xf32, #S0_> -> tensor<64xf32, #B>
// CHECK-NOT: sbp.boxing
// CHECK: sbp.bucket_assign @l, %[[whole]] : tensor<64xf32, #B>
// CHECK-NEXT: return

// Rank 1 of 2 has elements 32 to 63: nothing of @l.v, and all of @l.w, from 16 on.
// LOCAL-LABEL: func.func @example
// LOCAL: %[[w:.*]] = nn.mul {{.*}} : (tensor<f32>, tensor<14xf32>) -> tensor<14xf32>
// LOCAL: %[[parts:.*]] = ccl.pack %[[w]] at [16] : (tensor<14xf32>) -> tensor<32xf32>
// LOCAL: ccl.all_gather "{{.*}}" %[[parts]] in #dp blocks 32
// LOCAL-NOT: ccl.all_gather
// LOCAL: return
func.func @example(%a: tensor<f32, #B>, %b: tensor<f32, #B>) {
  %v = sbp.read @l.v : tensor<6xf32, #B>
  %0 = sbp.boxing %v : tensor<6xf32, #B> -> tensor<6xf32, #S_0>
  %1 = nn.mul %a, %0 : (tensor<f32, #B>, tensor<6xf32, #S_0>) -> tensor<6xf32, #S_0>
  %2 = sbp.boxing %1 : tensor<6xf32, #S_0> -> tensor<6xf32, #B>
  sbp.assign @l.v, %2 : tensor<6xf32, #B>
  %w = sbp.read @l.w : tensor<2x7xf32, #B>
  %3 = sbp.boxing %w : tensor<2x7xf32, #B> -> tensor<2x7xf32, #S_48>
  %4 = nn.mul %b, %3 : (tensor<f32, #B>, tensor<2x7xf32, #S_48>) -> tensor<2x7xf32, #S_48>
  %5 = sbp.boxing %4 : tensor<2x7xf32, #S_48> -> tensor<2x7xf32, #B>
  sbp.assign @l.w, %5 : tensor<2x7xf32, #B>
  return
}
