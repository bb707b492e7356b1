// Strategy `whole`: each variable belongs to one rank, the largest first to the one with the fewest bytes; and what its range becomes.
// RUN: splitcast-opt %s -sbp-zero-storage="stage=2 strategy=whole" | FileCheck %s
// RUN: splitcast-opt %s -sbp-zero-storage="stage=2 strategy=whole" -sbp-propagate -sbp-insert-boxing -sbp-join-buckets -sbp-verify-global | FileCheck %s --check-prefix=JOINED
// RUN: splitcast-opt %s -sbp-zero-storage="stage=2 strategy=whole" -sbp-propagate -sbp-insert-boxing -sbp-join-buckets -sbp-localize=rank=1 | FileCheck %s --check-prefix=LOCAL

#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#S = #sbp.nd<#p, [S(0)]>
// Gradients and states of @a.w are 512 bytes, of @a.b 384, of @b.w 256 and of @a.c 128, each in units of 64: ranks 0, 1, 2, and 2 again.
// In a range members lie by rank; it is no longer than they are.
// CHECK: sbp.bucket @a : tensor<128xf32, #B> along "dp" holds [@a.w, @a.b, @a.c] at [0, 64, 112] to [64, 112, 128] group "a"
// CHECK: sbp.variable @a.c : tensor<5xf32, #B> update #S_a_112_ slot #sbp.slot<@a, 112 of 128 to [64, 112, 128]> policy
// CHECK: sbp.variable @a.c.m : tensor<5xf32, #B> storage #S_a_112_ slot #sbp.slot<@a, 112 of 128 to [64, 112, 128]> state_of
sbp.variable @a.c : tensor<5xf32, #B>
sbp.variable @a.c.m : tensor<5xf32, #B> state_of @a.c role "m"
sbp.variable @a.w : tensor<8x8xf32, #B>
sbp.variable @a.w.m : tensor<8x8xf32, #B> state_of @a.w role "m"
sbp.variable @a.b : tensor<40xf32, #B>
sbp.variable @a.b.m : tensor<40xf32, #B> state_of @a.b role "m"
// CHECK: sbp.bucket @b : tensor<32xf32, #B> along "dp" holds [@b.w] at [0] to [0, 0, 32] group "b"
sbp.variable @b.w : tensor<5x5xf32, #B>
sbp.variable @b.w.m : tensor<5x5xf32, #B> state_of @b.w role "m"

// JOINED-LABEL: func.func @step
// JOINED: %[[a:.*]] = sbp.bucket_pack {{.*}} at [0, 64, 112] of @a : {{.*}} -> tensor<128xf32, #P>
// JOINED-NEXT: %[[sa:.*]] = sbp.boxing %[[a]] : tensor<128xf32, #P> -> tensor<128xf32, #S0to_> bucket #sbp.slot<@a, 0 of 128 to [64, 112, 128]>
// JOINED: sbp.bucket_assign @a role "m", %{{.*}} : tensor<128xf32, #S0to_>
// JOINED: sbp.bucket_assign @b role "m", %{{.*}} : tensor<32xf32, #S0to_1>
// LOCAL-DAG: ccl.storage @bucket.a.parameter : tensor<128xf32> holds [@a.c, @a.w, @a.b] at [112, 0, 64]
// LOCAL-DAG: ccl.storage @bucket.a.m : tensor<48xf32> holds [@a.c.m, @a.w.m, @a.b.m] at [0, 0, 0]
// LOCAL-DAG: ccl.storage @bucket.b.m : tensor<0xf32> holds [@b.w.m] at [0]
// LOCAL: ccl.reduce_scatter "bucket a" %{{.*}} in #dp blocks [64, 48, 16] : tensor<128xf32> -> <tensor<48xf32>>
// LOCAL: ccl.reduce_scatter "bucket b" %{{.*}} in #dp blocks [0, 0, 32] : tensor<32xf32> -> <tensor<0xf32>>
func.func @step(%w: tensor<6x8x8xf32, #S>, %b: tensor<6x40xf32, #S>, %c: tensor<6x5xf32, #S>, %d: tensor<6x5x5xf32, #S>) {
  %gw = nn.reduce_sum %w {dims = array<i64: 0>} : (tensor<6x8x8xf32, #S>) -> tensor<8x8xf32>
  %gb = nn.reduce_sum %b {dims = array<i64: 0>} : (tensor<6x40xf32, #S>) -> tensor<40xf32>
  %gc = nn.reduce_sum %c {dims = array<i64: 0>} : (tensor<6x5xf32, #S>) -> tensor<5xf32>
  %gd = nn.reduce_sum %d {dims = array<i64: 0>} : (tensor<6x5x5xf32, #S>) -> tensor<5x5xf32>
  %sgw = sbp.scope "update" of @a.w
  %fgw = sbp.fence %gw in %sgw : tensor<8x8xf32>
  sbp.assign @a.w.m, %fgw : tensor<8x8xf32>
  %sgb = sbp.scope "update" of @a.b
  %fgb = sbp.fence %gb in %sgb : tensor<40xf32>
  sbp.assign @a.b.m, %fgb : tensor<40xf32>
  %sgc = sbp.scope "update" of @a.c
  %fgc = sbp.fence %gc in %sgc : tensor<5xf32>
  sbp.assign @a.c.m, %fgc : tensor<5xf32>
  %sgd = sbp.scope "update" of @b.w
  %fgd = sbp.fence %gd in %sgd : tensor<5x5xf32>
  sbp.assign @b.w.m, %fgd : tensor<5x5xf32>
  return
}
