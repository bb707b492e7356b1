// What three micro-batches send, and what they do not since only the last one sums: the loss (4 bytes for each of two), and per step the
// gradient (64), too.
// RUN: splitcast-opt %s -enable-zero="stage=2 accumulate=3 accumulate-order=per-step" -sbp-localize=rank=0 -local-pipeline -exec-lower -exec-report -o /dev/null 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: splitcast-opt %s -enable-zero="stage=2 accumulate=3" -sbp-localize=rank=0 -local-pipeline -exec-lower -exec-report -o /dev/null 2>&1 | FileCheck %s --check-prefix=EACH
// RUN: splitcast-opt %s -enable-zero="stage=2" -sbp-localize=rank=0 -local-pipeline -exec-lower -exec-report -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE

#p = #sbp.placement<"cpu", [dp = 2]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32> init #sbp.constant<1.0>
// STEP: all-reduce           1 calls              4 bytes sent
// STEP: reduce-scatter       1 calls             64 bytes sent
// STEP: saved, since the last micro-batch sums for all: 136 bytes
// EACH: all-reduce           1 calls              4 bytes sent
// EACH: reduce-scatter       3 calls            192 bytes sent
// EACH: saved, since the last micro-batch sums for all: 8 bytes
// ONE: reduce-scatter       1 calls             64 bytes sent
// ONE-NOT: saved
func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0_>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
