// Why each op has its row, and each boxing is there, in their locations; the locations that were there are in them.
// RUN: splitcast-opt %s -sbp-propagate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// A second run says it anew: a reason never stands in another.
// RUN: splitcast-opt %s -sbp-propagate -sbp-propagate --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s --implicit-check-not=[fused
// Nor does a reason tell two ops apart that are equal.
// RUN: splitcast-opt %s -sbp-propagate -cse --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefix=EQUAL

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
sbp.variable @w : tensor<4x4xf32, #B> update #S0

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<8x4xf32, #S0>, %w: tensor<4x2xf32, #B>, %v: tensor<8x2xf32, #B>) -> (tensor<f32>, tensor<8x2xf32>) {
  // The loop over the rows of the result.
  // CHECK: nn.matmul %{{.*}} loc(fused<#sbp.row<dp = splits result 0 at 0>>["product"])
  %0 = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x2xf32, #B>) -> tensor<8x2xf32> loc("product")
  // CHECK: nn.relu %{{.*}} : (tensor<8x2xf32, {{.*}}[B]{{.*}} loc(fused<#sbp.row<dp = replicated>>["whole"])
  %1 = nn.relu %v : (tensor<8x2xf32, #B>) -> tensor<8x2xf32> loc("whole")
  // A loop that no result has.
  // CHECK: nn.reduce_sum %{{.*}} loc(fused<#sbp.row<dp = sums operand 0 at 0>>["sum"])
  %2 = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32> loc("sum")
  // CHECK: nn.scale %{{.*}} loc(fused<#sbp.row<dp = linear>>["half"])
  %3 = nn.scale %2 {value = 0.5 : f64} : (tensor<f32>) -> tensor<f32> loc("half")
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<operand 0 of "func.return">>["half"])
  return %3, %1 : tensor<f32>, tensor<8x2xf32>
}

// CHECK-LABEL: func.func @boxings
func.func @boxings(%x: tensor<8x4xf32, #S0>, %y: tensor<8x4xf32, #S1>) -> tensor<8x4xf32, #B> {
  // An operand that has to move, and a result that a user wrote otherwise.
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<operand 1 of "nn.add">>[
  // CHECK-NEXT: nn.add %{{.*}} loc(fused<#sbp.row<dp = splits result 0 at 0>>["total"])
  %0 = nn.add %x, %y : (tensor<8x4xf32, #S0>, tensor<8x4xf32, #S1>) -> tensor<8x4xf32> loc("total")
  // CHECK: nn.softmax %{{.*}} loc(fused<#sbp.row<dp = splits result 0 at 0>>["pinned"])
  // CHECK-NEXT: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<result 0 of "nn.softmax">>["pinned"])
  %1 = nn.softmax %0 : (tensor<8x4xf32>) -> tensor<8x4xf32, #S1> loc("pinned")
  // What a user asked for has no reason but its own.
  // CHECK-NEXT: sbp.boxing %{{.*}} loc("asked")
  %2 = sbp.boxing %1 : tensor<8x4xf32, #S1> -> tensor<8x4xf32, #B> loc("asked")
  return %2 : tensor<8x4xf32, #B>
}

// CHECK-LABEL: func.func @update
func.func @update(%g: tensor<4x4xf32, #B>) {
  %scope = sbp.scope "update" of @w
  %w = sbp.read @w : tensor<4x4xf32> loc("read")
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<update of @w>>["read"])
  %0 = sbp.fence %w in %scope : tensor<4x4xf32>
  %1 = sbp.fence %g in %scope : tensor<4x4xf32, #B>
  %2 = nn.sub %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32, #B>) -> tensor<4x4xf32> loc("new")
  // CHECK: sbp.boxing %{{.*}} loc(fused<#sbp.wanted<assign of @w>>["new"])
  sbp.assign @w, %2 : tensor<4x4xf32>
  return
}

// EQUAL-LABEL: func.func @equal
// EQUAL-COUNT-1: nn.relu
// EQUAL-NOT: nn.relu
func.func @equal(%x: tensor<8x4xf32, #S0>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = nn.relu %x : (tensor<8x4xf32, #S0>) -> tensor<8x4xf32> loc("here")
  %1 = nn.relu %x : (tensor<8x4xf32, #S0>) -> tensor<8x4xf32> loc("there")
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}
