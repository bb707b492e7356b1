// What 'exec-report' prints: the terms of the peak, and calls, bytes and messages per collective.
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null \
// RUN:   | FileCheck %s --match-full-lines

// Rank 1 of 4 holds a quarter of 128,000 elements, 128,000 bytes. It is fullest at the reduce-scatter: the whole gradient of
// 512,000 bytes, in which its shard of the sum stays, as much as a shard from each other rank, and the loss.
// CHECK: @train, rank 1 of 4
// CHECK-NEXT: memory per rank, persistent:
// CHECK-NEXT: parameters 0.128 MB
// CHECK-NEXT: optimizer state 0.000 MB
// CHECK-NEXT: other state 0.000 MB
// CHECK-NEXT: memory per rank, arena, at its fullest:
// CHECK-NEXT: gathered 0.000 MB
// CHECK-NEXT: gradient buckets 0.512 MB
// CHECK-NEXT: gradient shards 0.000 MB
// CHECK-NEXT: staging 0.384 MB
// CHECK-NEXT: activations 0.000 MB
// CHECK-NEXT: arena in all 0.896 MB
// CHECK-NEXT: live at once 0.896 MB
// Both functions have 5 x 400 elements of x, one the loss and the other 5 x 320 elements.
// CHECK-NEXT: memory per rank, shared by all functions:
// CHECK-NEXT: largest arena 0.896 MB
// CHECK-NEXT: inputs, outputs 0.022 MB
// CHECK-NEXT: memory per rank, in all:
// CHECK-NEXT: peak 1.047 MB
// Three other ranks: the gather sends its quarter to each, the reduce-scatter each its quarter, the loss 4 bytes to each.
// CHECK-NEXT: communication per run and rank:
// CHECK-NEXT: all-gather 1 calls 384000 bytes sent 3 messages
// CHECK-NEXT: all-reduce 1 calls 12 bytes sent 3 messages
// CHECK-NEXT: reduce-scatter 1 calls 384000 bytes sent 3 messages
// The process holds one arena, that of @train.
// CHECK-NEXT: @predict, rank 1 of 4
// CHECK-NEXT: memory per rank, persistent:
// CHECK-NEXT: parameters 0.128 MB
// CHECK-NEXT: optimizer state 0.000 MB
// CHECK-NEXT: other state 0.000 MB
// CHECK-NEXT: memory per rank, arena, at its fullest:
// CHECK-NEXT: gathered 0.512 MB
// CHECK-NEXT: gradient buckets 0.000 MB
// CHECK-NEXT: gradient shards 0.000 MB
// CHECK-NEXT: staging 0.000 MB
// CHECK-NEXT: activations 0.014 MB
// CHECK-NEXT: arena in all 0.526 MB
// CHECK-NEXT: live at once 0.526 MB
// CHECK-NEXT: memory per rank, shared by all functions:
// CHECK-NEXT: largest arena 0.896 MB
// CHECK-NEXT: inputs, outputs 0.022 MB
// CHECK-NEXT: memory per rank, in all:
// CHECK-NEXT: peak 1.047 MB
// CHECK-NEXT: communication per run and rank:
// CHECK-NEXT: all-gather 1 calls 384000 bytes sent 3 messages
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<400x320xf32, #B>
func.func @train(%x: tensor<20x400xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<400x320xf32>
  %0 = nn.matmul %x, %w : (tensor<20x400xf32, #S0>, tensor<400x320xf32>) -> tensor<20x320xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<20x320xf32>) -> tensor<f32>
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %1 : tensor<f32>
}
func.func @predict(%x: tensor<20x400xf32, #S0>) -> tensor<20x320xf32, #S0> {
  %w = sbp.read @w : tensor<400x320xf32>
  %0 = nn.matmul %x, %w : (tensor<20x400xf32, #S0>, tensor<400x320xf32>) -> tensor<20x320xf32, #S0>
  return %0 : tensor<20x320xf32, #S0>
}
