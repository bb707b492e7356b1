// What 'exec-report' prints: the terms of the peak, and calls, bytes and messages per collective.
// RUN: splitcast-opt %s -enable-zero=stage=3 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null \
// RUN:   | FileCheck-19 %s

// Rank 1 of 4 holds a quarter of 1,024 elements, 1,024 bytes.
// CHECK: @train, rank 1 of 4
// CHECK-NEXT: memory per rank, persistent:
// CHECK-NEXT: parameters {{ *}}0.001 MB
// CHECK-NEXT: optimizer state {{ *}}0.000 MB
// CHECK-NEXT: other state {{ *}}0.000 MB
// CHECK-NEXT: memory per rank, arena, at its fullest:
// CHECK-NEXT: gathered
// CHECK-NEXT: gradient buckets
// CHECK-NEXT: gradient shards
// CHECK-NEXT: staging
// CHECK-NEXT: activations
// CHECK-NEXT: arena in all
// CHECK-NEXT: peak
// Three other ranks: the gather sends its quarter to each, the reduce-scatter each its quarter, the loss 4 bytes to each.
// CHECK-NEXT: communication per run and rank:
// CHECK-NEXT: all-gather {{ *}}1 calls {{ *}}3072 bytes sent {{ *}}3 messages
// CHECK-NEXT: all-reduce {{ *}}1 calls {{ *}}12 bytes sent {{ *}}3 messages
// CHECK-NEXT: reduce-scatter {{ *}}1 calls {{ *}}3072 bytes sent {{ *}}3 messages
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<32x32xf32, #B>
func.func @train(%x: tensor<8x32xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<32x32xf32>
  %0 = nn.matmul %x, %w : (tensor<8x32xf32, #S0>, tensor<32x32xf32>) -> tensor<8x32xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<8x32xf32>) -> tensor<f32>
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %1 : tensor<f32>
}
