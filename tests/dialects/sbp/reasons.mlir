// Reasons in locations: what is printed reads back as it was.
// RUN: splitcast-opt %s --mlir-print-debuginfo | splitcast-opt --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>

func.func @f(%x: tensor<8x4xf32, #S0_>) {
  // @row_c1_legal, @row_c2_legal
  // CHECK: nn.relu {{.*}} loc(fused<#sbp.row<dp = splits result 0 at 0>>["x"])
  %y = nn.relu %x : (tensor<8x4xf32, #S0_>) -> tensor<8x4xf32, #S0_> loc(fused<#sbp.row<dp = splits result 0 at 0>>["x"])
  // @wanted_c1_legal, @wanted_c2_legal
  // CHECK: sbp.boxing {{.*}} loc(fused<#sbp.wanted<operand 1 of "nn.matmul">>["x"])
  %b = sbp.boxing %x : tensor<8x4xf32, #S0_> -> tensor<8x4xf32, #B> loc(fused<#sbp.wanted<operand 1 of "nn.matmul">>["x"])
  // CHECK: return loc("end")
  return loc("end")
}

// Each kind, names of any text, and units.
// CHECK: @kinds() attributes {
// CHECK-SAME: row = #sbp.row<dp = replicated, "t p" = sums operand 1 at 0 by 6, a = linear, b = slot, c = splits result 2 at 1 by 2>
// CHECK-SAME: wanted = [#sbp.wanted<operand 0 of "func.return">, #sbp.wanted<result 3 of "nn.relu">,
// CHECK-SAME: #sbp.wanted<forward of @h.0.w>, #sbp.wanted<backward of @w>, #sbp.wanted<update of @"a w">,
// CHECK-SAME: #sbp.wanted<assign of @w>]
func.func private @kinds() attributes {
  row = #sbp.row<dp = replicated, "t p" = sums operand 1 at 0 by 6, a = linear, b = slot, c = splits result 2 at 1 by 2>,
  wanted = [#sbp.wanted<operand 0 of "func.return">, #sbp.wanted<result 3 of "nn.relu">, #sbp.wanted<forward of @h.0.w>,
            #sbp.wanted<backward of @w>, #sbp.wanted<update of @"a w">, #sbp.wanted<assign of @w>]
}
