// Variables of at most so many bytes stay whole, as at stage 0, but for one that says a stage itself.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3,whole-bytes=40 | FileCheck %s
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// CHECK-DAG: #[[SPLIT:stage_3_.*]] = #sbp.policy<stage = 3, {{.*}}, whole_bytes = 40>
// CHECK-DAG: #[[WHOLE:stage_0_.*]] = #sbp.policy<stage = 0, {{.*}}, whole_bytes = 40>
// CHECK-DAG: #[[ANY:stage_3_.*]] = #sbp.policy<stage = 3, {{.*}}, whole_bytes = 0>
sbp.group "own" #sbp.policy<whole_bytes = 0>

// CHECK: sbp.variable @h.w : tensor<11xf32, #B> storage {{.*}} policy #[[SPLIT]]
sbp.variable @h.w : tensor<11xf32, #B>
// CHECK: sbp.variable @h.b : tensor<10xf32, #B> slot #sbp.slot<@h_1, {{[0-9 a-z]*}}> policy #[[WHOLE]]
sbp.variable @h.b : tensor<10xf32, #B>
// CHECK: sbp.variable @h.said : tensor<10xf32, #B> storage {{.*}} policy #[[SPLIT]]
sbp.variable @h.said : tensor<10xf32, #B> policy #sbp.policy<stage = 3>
// CHECK: sbp.variable @own.b : tensor<10xf32, #B> storage {{.*}} policy #[[ANY]]
sbp.variable @own.b : tensor<10xf32, #B>
