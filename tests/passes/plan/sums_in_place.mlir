// Where a rank's block of a sum lies: in the bucket, if nothing but updates and scalars is computed until it has been read.
// RUN: splitcast-opt %s -exec-lower | FileCheck %s

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<32xf32, #B>
ccl.storage @s : tensor<16xf32> holds [@w] at [0]
ccl.storage @t : tensor<f32> holds [] at []

// Rank 1 of 2, whose block is the second. The count of steps, in between, is no obstacle.
// CHECK: exec.plan @stays
// CHECK: exec.launch {{.*}} writes [#exec.range<arena, [[#BUCKET:]], 128>]
// CHECK-NEXT: exec.collective reduce_scatter {{.*}}data = #exec.range<arena, [[#BUCKET]], 128>, output = #exec.range<arena, [[#BUCKET + 64]], 64>
// CHECK: exec.wait 0
// CHECK: exec.launch {{.*}} writes [#exec.range<persistent, {{[0-9]+}}, 4>]
// CHECK: exec.launch {{.*}} reads [#exec.range<arena, [[#BUCKET + 64]], 64>] writes [#exec.range<persistent, {{[0-9]+}}, 64>]
func.func @stays(%g: tensor<32xf32> {ccl.global = tensor<32xf32>}) {
  %n = nn.fusion(%g) : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<32xf32>):
    %0 = nn.neg %a : (tensor<32xf32>) -> tensor<32xf32>
    nn.yield %0 : tensor<32xf32>
  }
  %p = ccl.reduce_scatter "w" %n in <"dp", [0, 1], index 1> blocks [16, 16] : tensor<32xf32> -> !ccl.pending<tensor<16xf32>>
  %sum = ccl.wait %p : !ccl.pending<tensor<16xf32>> -> tensor<16xf32>
  %t = ccl.read @t : tensor<f32>
  %t1 = nn.fusion(%t) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    %0 = nn.shift %a {value = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    nn.yield %0 : tensor<f32>
  }
  ccl.assign @t, %t1 : tensor<f32>
  %u = sbp.scope "update" group "w"
  %f = sbp.fence %sum in %u : tensor<16xf32>
  %w = ccl.read @s : tensor<16xf32>
  %w1 = nn.fusion(%w, %f) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %0 = nn.sub %a, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    nn.yield %0 : tensor<16xf32>
  }
  ccl.assign @s, %w1 : tensor<16xf32>
  return
}

// %x is of no update: the bucket is free while it is made, and the block lies elsewhere from the start.
// CHECK: exec.plan @leaves
// CHECK: exec.collective reduce_scatter {{.*}}data = #exec.range<arena, 0, 128>, output = #exec.range<arena, {{(128|192|256)}}, 64>
func.func @leaves(%g: tensor<32xf32> {ccl.global = tensor<32xf32>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32>}) {
  %n = nn.fusion(%g) : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<32xf32>):
    %0 = nn.neg %a : (tensor<32xf32>) -> tensor<32xf32>
    nn.yield %0 : tensor<32xf32>
  }
  %p = ccl.reduce_scatter "w" %n in <"dp", [0, 1], index 1> blocks [16, 16] : tensor<32xf32> -> !ccl.pending<tensor<16xf32>>
  %sum = ccl.wait %p : !ccl.pending<tensor<16xf32>> -> tensor<16xf32>
  %x = nn.fusion(%g) : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<32xf32>):
    %0 = nn.relu %a : (tensor<32xf32>) -> tensor<32xf32>
    nn.yield %0 : tensor<32xf32>
  }
  %u = sbp.scope "update" group "w"
  %f = sbp.fence %sum in %u : tensor<16xf32>
  %w = ccl.read @s : tensor<16xf32>
  %w1 = nn.fusion(%w, %f) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %0 = nn.sub %a, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    nn.yield %0 : tensor<16xf32>
  }
  ccl.assign @s, %w1 : tensor<16xf32>
  return %x : tensor<32xf32>
}
