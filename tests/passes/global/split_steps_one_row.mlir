// A micro-batch of one row: the shapes of its parts no longer tell which dimension is the batch's, but the step does.
// 1 x 12, 4 x 3 and 12 x 1 (ranks times micro-batches) have the same addends: each rank computes its own rows, though it
// would cost fewer bytes to divide the few features of some ops.
// RUN: splitcast-opt %s --enable-zero="stage=0 accumulate=12 reproducible=yes" | FileCheck %s
// RUN: splitcast-opt %s --sbp-resize-axis="axis=dp size=4" --enable-zero="stage=0 accumulate=3 reproducible=yes" | FileCheck %s
// RUN: splitcast-opt %s --sbp-resize-axis="axis=dp size=12" --enable-zero="stage=0 accumulate=1 reproducible=yes" | FileCheck %s
// RUN: splitcast-opt %s --nn-differentiate --nn-expand-optimizers --sbp-exact-sums=reproducible --sbp-split-steps=micro-batches=12 | FileCheck %s --check-prefix=STATED

#p = #sbp.placement<"cpu", [dp = 1]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x64xf32, #B>
sbp.variable @head : tensor<4x5xf32, #B>

// CHECK: nn.exact_part
// CHECK-NOT: sbp.batch_rows
// STATED: #[[S:.*]] = #sbp.nd<#turns_micro_batches12_, [S(0)]>
// STATED-LABEL: func.func @train.sums0.first(
// STATED-SAME: {sbp.batch_rows = [#[[S]]]}) attributes {sbp.batch_rows
// STATED: nn.reshape {{.*}} {sbp.batch_rows = [#[[S]], #[[S]]]} : (tensor<1x64xf32>) -> tensor<1x4x4x4xf32>
// STATED: nn.reduce_sum {{.*}} sbp.batch_rows = [#[[S]], #[[S]]]} : (tensor<1x4x4x4xf32>) -> tensor<1x4xf32>
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x64xf32>
  %head = sbp.read @head : tensor<4x5xf32>
  %0 = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x64xf32>) -> tensor<12x64xf32>
  %1 = nn.reshape %0 : (tensor<12x64xf32>) -> tensor<12x4x4x4xf32>
  %2 = nn.reduce_sum %1 {dims = array<i64: 2, 3>} : (tensor<12x4x4x4xf32>) -> tensor<12x4xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0>} : (tensor<12x4xf32>) -> tensor<4xf32>
  %row = nn.reshape %3 : (tensor<4xf32>) -> tensor<1x4xf32>
  %4 = nn.sub %2, %row : (tensor<12x4xf32>, tensor<1x4xf32>) -> tensor<12x4xf32>
  %5 = nn.tanh %4 : (tensor<12x4xf32>) -> tensor<12x4xf32>
  %6 = nn.matmul %5, %head : (tensor<12x4xf32>, tensor<4x5xf32>) -> tensor<12x5xf32>
  %loss = nn.reduce_sum %6 {dims = array<i64: 0, 1>} : (tensor<12x5xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// Where a part lies in the batch is one more operand of an op that draws: it is the same for all rows.
// STATED-LABEL: func.func @drawn.first(
// STATED: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} sbp.batch_rows = [#[[S]], #[[S]], #[[W:.*]], #[[W]]]
func.func @drawn(%x: tensor<12x4xf32, #S0>, %key: tensor<i64>) -> tensor<f32> {
  %head = sbp.read @head : tensor<4x5xf32>
  %0 = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<12x4xf32, #S0>, tensor<i64>) -> tensor<12x4xf32>
  %1 = nn.matmul %0, %head : (tensor<12x4xf32>, tensor<4x5xf32>) -> tensor<12x5xf32>
  %loss = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<12x5xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
