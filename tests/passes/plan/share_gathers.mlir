// Which storages go into a space that ranks share: those that are gathered in place, when ranks have met behind the last
// read of them. At stage 2 the reduction of the gradient is where they meet.
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-share-gathers | FileCheck %s
// Rank 0 alone would share @u, too; what a session names, all ranks have found.
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=0 -local-pipeline -exec-lower -exec-share-gathers | FileCheck %s --check-prefix=FIRST
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=0 -local-pipeline -exec-lower -exec-share-gathers=storages=bucket.w_1.parameter | FileCheck %s --check-prefix=NAMED
// On a GPU, and where nothing is gathered, all stays as it is.
// RUN: splitcast-opt %s -enable-zero=stage=0 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-share-gathers | FileCheck %s --check-prefix=NONE
// RUN: sed 's/"cpu"/"cuda"/' %s | splitcast-opt -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-share-gathers | FileCheck %s --check-prefix=NONE
// Twice is once.
// RUN: splitcast-opt %s -enable-zero=stage=2 -sbp-localize=rank=1 -local-pipeline -exec-lower -exec-share-gathers -exec-share-gathers | FileCheck %s
// FIRST: exec.space @shared_dp 256 bytes kept shared by @dp
// FIRST-DAG: exec.storage @bucket.u_1.parameter : tensor<32xf32> in <shared_dp,
// NAMED: exec.space @shared_dp 128 bytes kept shared by @dp
// NAMED-DAG: exec.storage @bucket.u_1.parameter : tensor<32xf32> in <persistent,
// NONE-NOT: shared
// NONE: exec.plan @train
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// CHECK: exec.space @persistent [[KEPT:[0-9]+]] bytes kept
// CHECK-NEXT: exec.space @shared_dp 128 bytes kept shared by @dp
// CHECK-NEXT: exec.space @arena
sbp.variable @u : tensor<4x4xf32> group "u"
sbp.variable @w : tensor<4x4xf32> group "w"

// CHECK-DAG: exec.storage @bucket.u{{.*}}.parameter : tensor<32xf32> in <persistent,
// CHECK-DAG: exec.storage @bucket.w{{.*}}.parameter : tensor<32xf32> in <shared_dp, 0, 128>

// CHECK-LABEL: exec.plan @train
// CHECK: exec.collective reduce_scatter {{.*}} ticket [[MET:[0-9]+]]
// CHECK: exec.wait [[MET]]
// CHECK: exec.launch {{.*}} writes [#exec.range<shared_dp, 64, 64>] {in_place
// CHECK: exec.collective all_gather {{.*}}data = #exec.range<shared_dp, 0, 128>
func.func @train(%x: tensor<8x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x4xf32>
  %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}

// Here ranks meet while @u is still read. (Rank 0 may think otherwise: all of @u is in its own block.)
// CHECK-LABEL: exec.plan @assigns_a_sum
// CHECK: exec.collective reduce_scatter
// CHECK: exec.library {{.*}}#exec.range<persistent, [[AT:[0-9]+]], 64>
// CHECK: exec.wait
// CHECK: exec.collective all_gather {{.*}}data = #exec.range<persistent, [[AT]], 128>
func.func @assigns_a_sum(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  %u = sbp.read @u : tensor<4x4xf32>
  %g = nn.matmul %x, %x {transpose_a} : (tensor<8x4xf32, #S0>, tensor<8x4xf32, #S0>) -> tensor<4x4xf32>
  %scope = sbp.scope "update" of @u
  %f = sbp.fence %g in %scope : tensor<4x4xf32>
  %y = nn.matmul %x, %u : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  sbp.assign @u, %f : tensor<4x4xf32>
  return %y : tensor<8x4xf32>
}
