// One storage is gathered in place, and moves; another closes up.
// RUN: splitcast-opt %s -exec-share-gathers | FileCheck %s
module attributes {ccl.device = "cpu"} {
  // CHECK: exec.space @persistent 64 bytes kept
  // CHECK-NEXT: exec.space @shared_dp 64 bytes kept shared by @dp
  exec.space @persistent 128 bytes kept
  exec.space @arena 1024 bytes
  exec.group @dp ranks [0, 1] index 0
  // CHECK: exec.storage @w : tensor<8xf32> in <shared_dp, 0, 32> holds [] at []
  exec.storage @w : tensor<8xf32> in <persistent, 0, 32> holds [] at []
  // CHECK: exec.storage @m : tensor<8xf32> in <persistent, 0, 32> holds [] at []
  exec.storage @m : tensor<8xf32> in <persistent, 64, 32> holds [] at []
  exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [tensor<8xf32>], output_names = ["m"], outputs = [#exec.range<persistent, 64, 32>]} {
    exec.copy <persistent, 0, 32> to <arena, 0, 32>
    exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
    exec.wait 0
    // CHECK: exec.copy <persistent, 0, 16> to <shared_dp, 0, 16>
    // CHECK-NEXT: exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<shared_dp, 0, 32>, type = f32}
    exec.copy <persistent, 64, 16> to <persistent, 0, 16>
    exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<persistent, 0, 32>, type = f32}
    exec.wait 1
  }
}
