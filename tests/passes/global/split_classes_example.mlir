// The example of 'nn-split-classes', and what stays as it is.
// RUN: splitcast-opt %s -nn-split-classes -split-input-file -verify-diagnostics | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2, tp = 4]>
#SB = #sbp.nd<#p, [S(0), B]>
sbp.variable @w : tensor<5x12xf32, #sbp.nd<#p, [B, S(1)]>>
sbp.variable @b : tensor<12xf32>
// CHECK-LABEL: func.func @divided
// CHECK: %[[PRODUCT:.*]] = nn.matmul
// CHECK: %[[LOGITS:.*]] = nn.add %[[PRODUCT]],
// CHECK-NEXT: %[[BLOCKS:.*]] = nn.reshape %[[LOGITS]] : (tensor<8x12xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: %[[PARTS:.*]] = nn.log_sum_exp %[[BLOCKS]] : (tensor<8x4x3xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: %[[SHIFT:.*]] = nn.log_sum_exp %[[PARTS]] : (tensor<8x4xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[COLUMN:.*]] = nn.reshape %[[SHIFT]] : (tensor<8xf32>) -> tensor<8x1x1xf32>
// CHECK-NEXT: %[[SHIFTED:.*]] = nn.sub %[[BLOCKS]], %[[COLUMN]] : (tensor<8x4x3xf32>, tensor<8x1x1xf32>) -> tensor<8x4x3xf32>
// CHECK-NEXT: %[[RESTS:.*]] = nn.log_sum_exp %[[SHIFTED]] : (tensor<8x4x3xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: %[[REST:.*]] = nn.log_sum_exp %[[RESTS]] : (tensor<8x4xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[OWN:.*]] = nn.take %[[LOGITS]], %arg1 {ignored = -100 : i64}
// CHECK-NEXT: %[[BELOW:.*]] = nn.sub %[[SHIFT]], %[[OWN]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[LOSS:.*]] = nn.add %[[BELOW]], %[[REST]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK: %[[COUNTS:.*]] = nn.not_equal %arg1 {value = -100 : i64}
// CHECK: %[[KEPT:.*]] = nn.select %[[COUNTS]], %[[LOSS]], %{{.*}}
// CHECK: %[[LESS:.*]] = nn.sub %[[LOGITS]], %{{.*}} : (tensor<8x12xf32>, tensor<8x1xf32>) -> tensor<8x12xf32>
// CHECK: %[[G:.*]] = nn.softmax_cross_entropy_grad %arg2, %[[LESS]], %arg1, %[[REST]] {ignored = -100 : i64}
// CHECK: return %[[KEPT]], %[[G]]
func.func @divided(%x: tensor<8x5xf32, #SB>, %labels: tensor<8xi64, #SB>, %g: tensor<8xf32, #SB>) -> (tensor<8xf32>, tensor<8x12xf32>) {
  %w = sbp.read @w : tensor<5x12xf32>
  %b = sbp.read @b : tensor<12xf32>
  %0 = nn.matmul %x, %w : (tensor<8x5xf32, #SB>, tensor<5x12xf32>) -> tensor<8x12xf32>
  %1 = nn.add %0, %b : (tensor<8x12xf32>, tensor<12xf32>) -> tensor<8x12xf32>
  %2 = nn.softmax_cross_entropy %1, %labels {ignored = -100 : i64} : (tensor<8x12xf32>, tensor<8xi64, #SB>) -> tensor<8xf32>
  %3 = nn.softmax_cross_entropy_grad %g, %1, %labels {ignored = -100 : i64} : (tensor<8xf32, #SB>, tensor<8x12xf32>, tensor<8xi64, #SB>) -> tensor<8x12xf32>
  return %2, %3 : tensor<8xf32>, tensor<8x12xf32>
}

// -----

// A table that is multiplied transposed; behind a cast, in front of which rows are cut, a scale and a reshape.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.variable @table : tensor<12x5xf32, #sbp.nd<#p, [B, S(0)]>>
// CHECK-LABEL: func.func @tied
// CHECK: %[[ROWS:.*]] = nn.reshape {{.*}} -> tensor<2x4x12xbf16>
// CHECK: %[[CUT:.*]] = nn.reshape %[[ROWS]] : (tensor<2x4x12xbf16>) -> tensor<2x4x2x6xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = nn.cast %[[CUT]] : (tensor<2x4x2x6xbf16>) -> tensor<2x4x2x6xf32>
// CHECK-NEXT: nn.log_sum_exp %[[WIDE]]
// CHECK-NOT: nn.softmax_cross_entropy
func.func @tied(%x: tensor<8x5xbf16>, %labels: tensor<2x4xi64>) -> tensor<2x4xf32> {
  %table = sbp.read @table : tensor<12x5xf32>
  %small = nn.cast %table : (tensor<12x5xf32>) -> tensor<12x5xbf16>
  %0 = nn.matmul %x, %small {transpose_b} : (tensor<8x5xbf16>, tensor<12x5xbf16>) -> tensor<8x12xbf16>
  %1 = nn.scale %0 {value = 5.000000e-01 : f64} : (tensor<8x12xbf16>) -> tensor<8x12xbf16>
  %2 = nn.reshape %1 : (tensor<8x12xbf16>) -> tensor<2x4x12xbf16>
  %3 = nn.cast %2 : (tensor<2x4x12xbf16>) -> tensor<2x4x12xf32>
  %4 = nn.softmax_cross_entropy %3, %labels : (tensor<2x4x12xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.variable @odd : tensor<5x13xf32, #sbp.nd<#p, [B, S(1)]>>
sbp.variable @rows : tensor<5x12xf32, #sbp.nd<#p, [B, S(0)]>>
// CHECK-LABEL: func.func @not_divided
// CHECK-COUNT-2: nn.softmax_cross_entropy
func.func @not_divided(%x: tensor<8x5xf32>, %labels: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %odd = sbp.read @odd : tensor<5x13xf32>
  %0 = nn.matmul %x, %odd : (tensor<8x5xf32>, tensor<5x13xf32>) -> tensor<8x13xf32>
  // expected-warning @below {{has 13 classes, which 2 ranks do not divide evenly, so its logits are gathered; pad the classes to 14 to keep them divided}}
  %1 = nn.softmax_cross_entropy %0, %labels : (tensor<8x13xf32>, tensor<8xi64>) -> tensor<8xf32>
  %rows = sbp.read @rows : tensor<5x12xf32>
  %2 = nn.matmul %x, %rows : (tensor<8x5xf32>, tensor<5x12xf32>) -> tensor<8x12xf32>
  %3 = nn.softmax_cross_entropy %2, %labels : (tensor<8x12xf32>, tensor<8xi64>) -> tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}
