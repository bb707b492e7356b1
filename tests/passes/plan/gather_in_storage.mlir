// Where a new parameter is made that is gathered into its storage, at stage 2.
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=0 -local-pipeline -exec-lower | FileCheck %s
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x4xf32>

// In this rank's block, while nothing else needs what lies there; also where the variable is read later, which sees what is
// assigned. The gather is all that is left to do.
// CHECK-LABEL: exec.plan @train
// CHECK: exec.collective reduce_scatter
// CHECK-NOT: exec.copy
// CHECK: exec.launch {{.*}} writes [#exec.range<persistent, [[AT:[0-9]+]], 64>] {in_place
// CHECK-NEXT: exec.collective all_gather {{.*}}data = #exec.range<persistent, [[AT]], 128>
// CHECK-NEXT: exec.wait
// CHECK-NEXT: exec.launch {{.*}} reads [#exec.range<persistent, [[AT]], 64>]
func.func @train(%x: tensor<8x4xf32, #S0>) -> (tensor<f32>, tensor<f32>) {
  %w = sbp.read @w : tensor<4x4xf32>
  %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  %new = sbp.read @w : tensor<4x4xf32>
  %sum = nn.reduce_sum %new {dims = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  return %loss, %sum : tensor<f32>, tensor<f32>
}

// Not there, when that is what a reduce-scatter gives, which is under way while the old value is read.
// CHECK-LABEL: exec.plan @assigns_a_sum
// CHECK: exec.collective reduce_scatter {{.*}}output = #exec.range<arena,
// CHECK: exec.library {{.*}}#exec.range<persistent, [[AT]], 64>
// CHECK: exec.wait
// CHECK: exec.copy <arena, {{.*}} to <persistent, [[AT]], 64>
// CHECK: exec.collective all_gather {{.*}}data = #exec.range<persistent, [[AT]], 128>
func.func @assigns_a_sum(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  %w = sbp.read @w : tensor<4x4xf32>
  %g = nn.matmul %x, %x {transpose_a} : (tensor<8x4xf32, #S0>, tensor<8x4xf32, #S0>) -> tensor<4x4xf32>
  %u = sbp.scope "update" of @w
  %f = sbp.fence %g in %u : tensor<4x4xf32>
  %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  sbp.assign @w, %f : tensor<4x4xf32>
  return %y : tensor<8x4xf32>
}
