// What is decided about variables and groups: what is printed reads back as it was.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s
// A whole policy, as passes leave it, has an alias.
// CHECK: #stage_3_strategy_bucket_ = #sbp.policy<stage = 3, strategy = bucket, keep = last, prefetch = 1, prefetch_bytes = 0, bucket_bytes = 0, recompute = no, update = reduced, compute_type = bf16, whole_bytes = 64>
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// @policy_c1_legal, @group_c1_legal, @group_c2_legal, @group_c3_legal
// CHECK: sbp.group "h" #sbp.policy<stage = 3>
sbp.group "h" #sbp.policy<stage = 3>
// CHECK: sbp.group "h.0" #sbp.policy<strategy = tensor>
sbp.group "h.0" #sbp.policy<strategy = tensor>
// CHECK: sbp.variable @h.0.w : tensor<4xf32, #B> frozen policy #sbp.policy<keep = always, prefetch = 0>
sbp.variable @h.0.w : tensor<4xf32, #B> frozen policy #sbp.policy<keep = always, prefetch = 0>
// @variable_c9_legal
sbp.variable @h.0.w.m : tensor<4xf32, #B> state_of @h.0.w role "m"
// CHECK: sbp.variable @h.1.w : tensor<4xf32, #B> policy #sbp.policy<bucket_bytes = 4096>
sbp.variable @h.1.w : tensor<4xf32, #B> policy #sbp.policy<bucket_bytes = 4096>
// As a string, the option's name is understood too.
// CHECK: sbp.variable @h.3.w : tensor<4xf32, #B> policy #sbp.policy<prefetch_bytes = 7>
sbp.variable @h.3.w : tensor<4xf32, #B> policy #sbp.policy<"prefetch-bytes" = 7>
// CHECK: sbp.variable @h.2.w : tensor<4xf32, #B> policy #stage_3_strategy_bucket_
sbp.variable @h.2.w : tensor<4xf32, #B>
  policy #sbp.policy<stage = 3, strategy = bucket, keep = last, prefetch = 1, prefetch_bytes = 0, bucket_bytes = 0, recompute = no, update = reduced, compute_type = bf16, whole_bytes = 64>
