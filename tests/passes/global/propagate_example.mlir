// The example of 'sbp-propagate': rows are split, so the product's are; nothing moves.
// RUN: splitcast-opt %s -sbp-propagate | FileCheck %s
// @propagate_c1_legal, @propagate_c2_legal, @propagate_c3_legal, @propagate_c5_legal

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>

// CHECK-LABEL: func.func @example
// CHECK-SAME: -> tensor<8x2xf32, #S0_>
// CHECK-NOT: sbp.boxing
func.func @example(%x: tensor<8x4xf32, #S0_>, %w: tensor<4x2xf32, #B>) -> tensor<8x2xf32> {
  // CHECK: %[[y:.*]] = nn.matmul %[[x:.*]], %[[w:.*]] : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32, #S0_>
  // CHECK-NOT: sbp.boxing
  %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}
