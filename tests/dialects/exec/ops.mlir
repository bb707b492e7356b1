// Every op and attribute: text to text, by way of the generic form and of bytecode.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -mlir-print-op-generic | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -emit-bytecode | splitcast-opt --allow-bytecode | FileCheck %s

// CHECK: exec.space @persistent 256 bytes kept
exec.space @persistent 256 bytes kept
// CHECK: exec.space @arena 1024 bytes{{$}}
exec.space @arena 1024 bytes
// CHECK: exec.space @shared_dp 128 bytes kept shared by @dp
exec.space @shared_dp 128 bytes kept shared by @dp
// CHECK: exec.group @dp ranks [0, 2] index 1
exec.group @dp ranks [0, 2] index 1
// CHECK: exec.group @g ranks [0, 1] index 1
exec.group @g ranks [0, 1] index 1
// CHECK: exec.group @h ranks [0, 1] index 0
exec.group @h ranks [0, 1] index 0

// CHECK: exec.storage @layer0 : tensor<32xf32> in <persistent, 64, 128> holds [@w, @b] at [0, 24]
exec.storage @layer0 : tensor<32xf32> in #exec.range<persistent, 64, 128> holds [@w, @b] at [0, 24]

// CHECK: exec.plan @train attributes {input_names = ["x"], input_types = [tensor<4xf32>], inputs = [#exec.range<arena, 0, 16>]
// CHECK-SAME: output_names = ["y"], output_types = [tensor<4xf32>], outputs = [#exec.range<arena, 64, 16>]}
exec.plan @train attributes {
  input_types = [tensor<4xf32>], input_names = ["x"], inputs = [#exec.range<arena, 0, 16>],
  output_types = [tensor<4xf32>], output_names = ["y"], outputs = [#exec.range<arena, 64, 16>]} {
  // CHECK-NEXT: exec.clear <arena, 128, 64>
  exec.clear <arena, 128, 64>
  // CHECK-NEXT: exec.copy <persistent, 64, 64> to <arena, 128, 64>
  exec.copy <persistent, 64, 64> to <arena, 128, 64>
  // CHECK-NEXT: exec.launch @kernels::@k0 reads [#exec.range<arena, 0, 16>] writes [#exec.range<arena, 64, 16>]{{$}}
  exec.launch @kernels::@k0 reads [#exec.range<arena, 0, 16>] writes [#exec.range<arena, 64, 16>]
  // CHECK-NEXT: exec.library #exec.matmul<m = 2, n = 2, k = 2, transpose_b = true, type = f32> reads [#exec.range<persistent, 0, 16>, #exec.range<persistent, 0, 16>] writes [#exec.range<arena, 64, 16>]
  exec.library #exec.matmul<m = 2, n = 2, k = 2, transpose_b = true, type = f32> reads [#exec.range<persistent, 0, 16>, #exec.range<persistent, 0, 16>] writes [#exec.range<arena, 64, 16>]
  // CHECK-NEXT: exec.library #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 5.000000e-01, type = bf16> reads [#exec.range<persistent, 0, 80>, #exec.range<persistent, 0, 120>, #exec.range<persistent, 0, 120>] writes [#exec.range<arena, 64, 80>]
  exec.library #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = bf16> reads [#exec.range<persistent, 0, 80>, #exec.range<persistent, 0, 120>, #exec.range<persistent, 0, 120>] writes [#exec.range<arena, 64, 80>]
  // CHECK-NEXT: exec.library #exec.attention<gradient = true, samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 1.000000e-01, causal = true, type = f32, mask_type = i32, workspace = 64> reads [#exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 12>] writes [#exec.range<arena, 64, 160>, #exec.range<arena, 224, 240>, #exec.range<arena, 464, 240>, #exec.range<arena, 704, 64>]
  exec.library #exec.attention<gradient = true, samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.1, causal = true, type = f32, mask_type = i32, workspace = 64> reads [#exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 12>] writes [#exec.range<arena, 64, 160>, #exec.range<arena, 224, 240>, #exec.range<arena, 464, 240>, #exec.range<arena, 704, 64>]
  // CHECK-NEXT: exec.library #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 5.000000e-01, type = bf16, statistics = true, workspace = 64> reads [#exec.range<persistent, 0, 80>, #exec.range<persistent, 0, 120>, #exec.range<persistent, 0, 120>] writes [#exec.range<arena, 64, 80>, #exec.range<arena, 144, 32>, #exec.range<arena, 192, 64>]
  exec.library #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 5.000000e-01, type = bf16, statistics = true, workspace = 64> reads [#exec.range<persistent, 0, 80>, #exec.range<persistent, 0, 120>, #exec.range<persistent, 0, 120>] writes [#exec.range<arena, 64, 80>, #exec.range<arena, 144, 32>, #exec.range<arena, 192, 64>]
  // CHECK-NEXT: exec.library #exec.attention<gradient = true, samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 5.000000e-01, type = f32, mask_type = i32, statistics = true> reads [#exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 12>, #exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 32>] writes [#exec.range<arena, 64, 160>, #exec.range<arena, 224, 240>, #exec.range<arena, 464, 240>]
  exec.library #exec.attention<gradient = true, samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 5.000000e-01, type = f32, mask_type = i32, statistics = true> reads [#exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 240>, #exec.range<persistent, 0, 12>, #exec.range<persistent, 0, 160>, #exec.range<persistent, 0, 32>] writes [#exec.range<arena, 64, 160>, #exec.range<arena, 224, 240>, #exec.range<arena, 464, 240>]
  // CHECK-NEXT: exec.library #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = f32, index_type = i64, workspace = 0> reads [#exec.range<persistent, 0, 32>, #exec.range<persistent, 0, 16>] writes [#exec.range<arena, 64, 48>]
  exec.library #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = f32, index_type = i64, workspace = 0> reads [#exec.range<persistent, 0, 32>, #exec.range<persistent, 0, 16>] writes [#exec.range<arena, 64, 48>]
  // CHECK-NEXT: exec.library #exec.check_indices<count = 4, places = 5, type = i32, ignored = -100, what = "nn.softmax_cross_entropy"> reads [#exec.range<persistent, 0, 16>] writes []
  exec.library #exec.check_indices<count = 4, places = 5, type = i32, ignored = -100, what = "nn.softmax_cross_entropy"> reads [#exec.range<persistent, 0, 16>] writes []
  // CHECK-NEXT: exec.library #exec.matmul<products = 3, m = 1, n = 2, k = 3, transpose_a = true, type = f64> reads [#exec.range<persistent, 0, 72>, #exec.range<persistent, 0, 144>] writes [#exec.range<arena, 64, 48>]
  exec.library #exec.matmul<products = 3, m = 1, n = 2, k = 3, transpose_a = true, type = f64> reads [#exec.range<persistent, 0, 72>, #exec.range<persistent, 0, 144>] writes [#exec.range<arena, 64, 48>]
  // CHECK-NEXT: exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 64>, type = f32}
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 64>, type = f32}
  // CHECK-NEXT: exec.wait 0{{$}}
  exec.wait 0
  // CHECK-NEXT: exec.collective reduce_scatter "w" in @h ticket 1 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 64>, output = #exec.range<persistent, 0, 32>, type = f32, workspace = #exec.range<arena, 192, 64>}
  exec.collective reduce_scatter "w" in @h ticket 1 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 64>, output = #exec.range<persistent, 0, 32>, type = f32, workspace = #exec.range<arena, 192, 64>}
  // CHECK-NEXT: exec.wait 1{{$}}
  exec.wait 1
  // CHECK-NEXT: exec.collective all_to_all "x" in @g ticket 2 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 32>, output = #exec.range<arena, 192, 16>, received = array<i64: 4, 4>, type = bf16}
  exec.collective all_to_all "x" in @g ticket 2 {blocks = array<i64: 8, 8>, data = #exec.range<arena, 128, 32>, output = #exec.range<arena, 192, 16>, received = array<i64: 4, 4>, type = bf16}
  // CHECK-NEXT: exec.wait 2{{$}}
  exec.wait 2
}
