// What a sum receives: on GPUs two chunks of 10.7 MiB (a third of 32) from each of three other ranks; on CPUs two of 1 MiB.
// A block of 32 MiB is so many messages to each rank: 4 on GPUs, 32 on CPUs.
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-report 2>&1 >/dev/null \
// RUN:   | FileCheck %s --match-full-lines
// RUN: sed 's/"cuda"/"cpu"/' %s | splitcast-opt -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower \
// RUN:   -exec-report 2>&1 >/dev/null | FileCheck %s --match-full-lines --check-prefix=CPU

// CHECK: staging 67.092 MB
// CHECK: all-gather 1 calls 100663296 bytes sent 12 messages
// CHECK: reduce-scatter 1 calls 100663296 bytes sent 12 messages
// CPU: staging 6.291 MB
// CPU: all-gather 1 calls 100663296 bytes sent 96 messages
// CPU: reduce-scatter 1 calls 100663296 bytes sent 96 messages
#p = #sbp.placement<"cuda", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4096x8192xf32, #B>
func.func @train(%x: tensor<4x4096xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4096x8192xf32>
  %0 = nn.matmul %x, %w : (tensor<4x4096xf32, #S0>, tensor<4096x8192xf32>) -> tensor<4x8192xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<4x8192xf32>) -> tensor<f32>
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %1 : tensor<f32>
}
