// What variables and groups say counts before what the options say: an embedding that stays at stage 1, and blocks at
// stage 3, of which one lies by rows. Commas and spaces separate options, in every way to give them.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=1,prefetch=0 | FileCheck %s
// RUN: splitcast-opt %s -sbp-zero-storage="stage=1 prefetch=0" | FileCheck %s
// RUN: splitcast-opt %s -pass-pipeline="builtin.module(sbp-zero-storage{stage=1, prefetch=0})" | FileCheck %s
// RUN: splitcast-opt %s -enable-zero="stage=1, prefetch=0" | FileCheck %s
// RUN: splitcast-opt %s -pass-pipeline="builtin.module(enable-zero{stage=1 prefetch=0})" | FileCheck %s
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// CHECK-DAG: #[[ONE:stage_1_.*]] = #sbp.policy<stage = 1, strategy = bucket, keep = last, prefetch = 0, prefetch_bytes = 0, bucket_bytes = 0, recompute = no, update = reduced, compute_type = own, whole_bytes = 0>
// CHECK-DAG: #[[ROWS:stage_3_.*]] = #sbp.policy<stage = 3, strategy = tensor, keep = last, prefetch = 0, prefetch_bytes = 0, bucket_bytes = 0, recompute = no, update = reduced, compute_type = own, whole_bytes = 0>
// CHECK-DAG: #[[OWN:stage_3_.*]] = #sbp.policy<stage = 3, strategy = bucket, keep = never, prefetch = 0, prefetch_bytes = 0, bucket_bytes = 0, recompute = no, update = reduced, compute_type = own, whole_bytes = 0>
// CHECK-DAG: #[[THREE:stage_3_.*]] = #sbp.policy<stage = 3, strategy = bucket, keep = last, prefetch = 0, prefetch_bytes = 0, bucket_bytes = 0, recompute = no, update = reduced, compute_type = own, whole_bytes = 0>
// CHECK-NOT: sbp.group
sbp.group "h" #sbp.policy<stage = 3>
sbp.group "h.0" #sbp.policy<strategy = tensor>

// CHECK: sbp.variable @e.w : tensor<10x4xf32, #B> update #{{S_e.*}} slot {{.*}} policy #[[ONE]]
sbp.variable @e.w : tensor<10x4xf32, #B>
// CHECK: sbp.variable @h.0.w : tensor<10x4xf32, #B> storage #S0_ update #S0_ policy #[[ROWS]]
sbp.variable @h.0.w : tensor<10x4xf32, #B>
// Two of one group, with two policies: two buckets.
// CHECK: sbp.bucket @h.1 {{.*}} holds [@h.1.w]
// CHECK: sbp.variable @h.1.w : tensor<10x4xf32, #B> storage #{{.*}} policy #[[THREE]]
sbp.variable @h.1.w : tensor<10x4xf32, #B>
// CHECK: sbp.bucket @h.1_1 {{.*}} holds [@h.1.b]
// CHECK: sbp.variable @h.1.b : tensor<10xf32, #B> storage #{{.*}} policy #[[OWN]]
sbp.variable @h.1.b : tensor<10xf32, #B> policy #sbp.policy<keep = never>
