// Parameters that stage 3 splits lie whole where ranks are to have one copy of them; not what is frozen, nor what is the
// master of something smaller. A compiler knows no ranks, so `auto` is `no`.
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 one-copy=yes" | FileCheck %s --check-prefixes=ALL,ONE
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 one-copy=auto" | FileCheck %s --check-prefixes=ALL,EACH
// RUN: splitcast-opt %s -sbp-zero-storage="stage=3 one-copy=no" | FileCheck %s --check-prefixes=ALL,EACH
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 | FileCheck %s --check-prefixes=ALL,EACH
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// ONE: sbp.variable @a.w : tensor<10x4xf32, #B> update #[[A:S_a_[a-z0-9_]*]] slot
// EACH: sbp.variable @a.w : tensor<10x4xf32, #B> storage #[[A:S_a_[a-z0-9_]*]] update #[[A]] slot
sbp.variable @a.w : tensor<10x4xf32, #B>
// ALL: sbp.variable @a.w.m : tensor<10x4xf32, #B> storage #[[A]] slot
sbp.variable @a.w.m : tensor<10x4xf32, #B> state_of @a.w role "m"
// ALL: sbp.variable @b.w : tensor<10x4xf32, #B> storage #{{S_b_[a-z0-9_]*}} slot {{.*}} frozen policy
sbp.variable @b.w : tensor<10x4xf32, #B> frozen
// ALL: sbp.variable @c.w : tensor<10x4xf32, #B> storage #[[C:S_c_[a-z0-9_]*]] update #[[C]] slot
sbp.variable @c.w : tensor<10x4xf32, #B> policy #sbp.policy<compute_type = bf16>
// ONE: sbp.variable @d.w : tensor<10x4xf32, #B> update #S0_ policy
// EACH: sbp.variable @d.w : tensor<10x4xf32, #B> storage #S0_ update #S0_ policy
sbp.variable @d.w : tensor<10x4xf32, #B> policy #sbp.policy<strategy = tensor>
