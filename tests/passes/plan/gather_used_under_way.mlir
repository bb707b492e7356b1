// A rank's own block is made where it is gathered, unless a kernel reads it while the gather is under way.
// RUN: splitcast-opt %s -exec-lower | FileCheck %s
#g = #ccl.group<"dp", [0, 1], index 0>
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module attributes {ccl.device = "cpu", ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
// CHECK: exec.plan @before
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, [[AT:[0-9]+]], 64>]
// CHECK-NEXT: exec.collective all_gather {{.*}}data = #exec.range<arena, [[AT]], 128>
func.func @before(%x: tensor<16xf32> {ccl.global = tensor<16xf32, #B>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32, #B>}) {
  %0 = nn.fusion(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = nn.tanh %a : (tensor<16xf32>) -> tensor<16xf32>
    nn.yield %1 : tensor<16xf32>
  }
  %p = ccl.all_gather "x" %0 in #g blocks 16 : tensor<16xf32> -> <tensor<32xf32>>
  %w = ccl.wait %p : <tensor<32xf32>> -> tensor<32xf32>
  return %w : tensor<32xf32>
}
// CHECK: exec.plan @meanwhile
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, [[OWN:[0-9]+]], 64>]
// CHECK-NEXT: exec.copy <arena, [[OWN]], 64>
// CHECK-NEXT: exec.collective all_gather
// CHECK-NEXT: exec.launch {{.*}} reads [#exec.range<arena, [[OWN]], 64>]
// CHECK-NEXT: exec.wait
func.func @meanwhile(%x: tensor<16xf32> {ccl.global = tensor<16xf32, #B>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32, #B>}, tensor<16xf32> {ccl.global = tensor<16xf32, #B>}) {
  %0 = nn.fusion(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = nn.tanh %a : (tensor<16xf32>) -> tensor<16xf32>
    nn.yield %1 : tensor<16xf32>
  }
  %p = ccl.all_gather "x" %0 in #g blocks 16 : tensor<16xf32> -> <tensor<32xf32>>
  %2 = nn.fusion(%0) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %1 = nn.relu %a : (tensor<16xf32>) -> tensor<16xf32>
    nn.yield %1 : tensor<16xf32>
  }
  %w = ccl.wait %p : <tensor<32xf32>> -> tensor<32xf32>
  return %w, %2 : tensor<32xf32>, tensor<16xf32>
}
}
