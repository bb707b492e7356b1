// RUN: splitcast-opt %s -exec-share-gathers -split-input-file -verify-diagnostics

// @share_gathers_c1
module attributes {ccl.device = "cpu"} {
  exec.space @persistent 128 bytes kept
  exec.space @arena 1024 bytes
  exec.group @dp ranks [0, 1] index 0
  exec.storage @w : tensor<8xf32> in <persistent, 0, 32> holds [] at []
  exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
    exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
    exec.wait 0
    exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<persistent, 0, 32>, type = f32}
    exec.wait 1
    // expected-error @below {{'exec.clear' op uses #exec.range<persistent, 64, 4>, which lies in no storage of @persistent; all bytes of that space must lie in storages}}
    exec.clear <persistent, 64, 4>
  }
}

// -----

// @share_gathers_c1
module attributes {ccl.device = "cpu"} {
  exec.space @persistent 128 bytes kept
  exec.space @arena 1024 bytes
  exec.group @dp ranks [0, 1] index 0
  exec.storage @w : tensor<8xf32> in <persistent, 0, 32> holds [] at []
  exec.storage @m : tensor<8xf32> in <persistent, 64, 32> holds [] at []
  // expected-error @below {{'exec.storage' op @part lies in #exec.range<persistent, 80, 16>, where another storage does; give each bytes of its own}}
  exec.storage @part : tensor<4xf32> in <persistent, 80, 16> holds [] at []
  exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
    exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
    exec.wait 0
    exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<persistent, 0, 32>, type = f32}
    exec.wait 1
  }
}

// -----

// @share_gathers_c1_legal
// Empty storages begin where others do.
module attributes {ccl.device = "cpu"} {
  exec.space @persistent 128 bytes kept
  exec.space @arena 1024 bytes
  exec.group @dp ranks [0, 1] index 0
  exec.storage @empty : tensor<0xf32> in <persistent, 0, 0> holds [] at []
  exec.storage @w : tensor<8xf32> in <persistent, 0, 32> holds [] at []
  exec.storage @none : tensor<0xf32> in <persistent, 64, 0> holds [] at []
  exec.storage @m : tensor<8xf32> in <persistent, 64, 32> holds [] at []
  exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
    exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
    exec.wait 0
    exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<persistent, 0, 32>, type = f32}
    exec.wait 1
    exec.clear <persistent, 64, 4>
  }
}
