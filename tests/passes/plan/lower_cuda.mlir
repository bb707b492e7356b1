// Where 'exec-lower' puts things when kernels are launched as threads.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
// Sums over the rows are a launch after the elements': what both need is not overwritten.
// CHECK: exec.plan @beside_sum
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}}#exec.range<arena, [[Y]], 64>{{.*}} writes [{{[^{]*}}]{{$}}
func.func @beside_sum(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, %b: tensor<4xf32> {ccl.global = tensor<4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.add %0, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = nn.mul %0, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4xf32>
}

// A row nest of warps overwrites what dies, as loops do.
// CHECK: exec.plan @softmax
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} reads [] writes [#exec.range<arena, [[Y]], 64>] {in_place = array<i64: 0>}
func.func @softmax(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.softmax %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Collectives that add have a stream, and those that move have another.
// CHECK: exec.plan @streams
// CHECK: exec.collective reduce_scatter {{.*}}stream = "reduce_scatter"
// CHECK: exec.collective all_gather {{.*}}stream = "all_gather"
func.func @streams(%x: tensor<32xf32> {ccl.global = tensor<32xf32>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32>}) {
  %0 = ccl.reduce_scatter "b" %x in <"g", [0, 1], index 0> blocks [16, 16] : tensor<32xf32> -> !ccl.pending<tensor<16xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<16xf32>> -> tensor<16xf32>
  %2 = ccl.all_gather "b" %1 in <"g", [0, 1], index 0> blocks [16, 16] : tensor<16xf32> -> !ccl.pending<tensor<32xf32>>
  %3 = ccl.wait %2 : !ccl.pending<tensor<32xf32>> -> tensor<32xf32>
  return %3 : tensor<32xf32>
}

// Attention is a call with a workspace, and its gradient reads its 54 statistics; where its scores are in memory, small
// floats have copies of a sample in f32 beside them.
// CHECK: exec.plan @flash
// CHECK-NEXT: exec.library #exec.attention<{{.*}}statistics = true, workspace = [[BYTES:[0-9]+]]> {{.*}} writes [{{.*}}, #exec.range<arena, [[S:[0-9]+]], 216>, #exec.range<arena, {{[0-9]+}}, [[BYTES]]>]
// CHECK-NEXT: exec.library #exec.attention<gradient = true, {{.*}}statistics = true, {{.*}}#exec.range<arena, [[S]], 216>] writes
// CHECK-NOT: exec.launch
func.func @flash(%q: tensor<2x9x3x8xbf16> {ccl.global = tensor<2x9x3x8xbf16>}) -> (tensor<2x9x3x8xbf16> {ccl.global = tensor<2x9x3x8xbf16>}, tensor<2x9x3x8xbf16> {ccl.global = tensor<2x9x3x8xbf16>}) {
  %0 = nn.attention %q, %q, %q {causal, scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %1, %2, %3 = nn.attention_grad %0, %q, %q, %q {causal, scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  return %0, %2 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
}
// CHECK: exec.plan @with_scores
// CHECK-NEXT: exec.library #exec.attention<{{.*}}type = f32, workspace = 1024>
// CHECK-NEXT: exec.library #exec.attention<{{.*}}type = f16, mask_type = i32, workspace = 32256>
// CHECK-NOT: exec.launch
// CHECK: exec.plan @rows
func.func @with_scores(%q: tensor<2x9x3x72xf32> {ccl.global = tensor<2x9x3x72xf32>}, %h: tensor<2x9x3x72xf16> {ccl.global = tensor<2x9x3x72xf16>}, %m: tensor<2x9xi32> {ccl.global = tensor<2x9xi32>}) -> (tensor<2x9x3x72xf32> {ccl.global = tensor<2x9x3x72xf32>}, tensor<2x9x3x72xf16> {ccl.global = tensor<2x9x3x72xf16>}) {
  %0 = nn.attention %q, %q, %q {scale = 0.5 : f64} : (tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>) -> tensor<2x9x3x72xf32>
  %1 = nn.attention %h, %h, %h, %m {scale = 0.5 : f64} : (tensor<2x9x3x72xf16>, tensor<2x9x3x72xf16>, tensor<2x9x3x72xf16>, tensor<2x9xi32>) -> tensor<2x9x3x72xf16>
  return %0, %1 : tensor<2x9x3x72xf32>, tensor<2x9x3x72xf16>
}

// Indices are checked beside the kernels: one that lies outside reads the last row.
// CHECK: exec.library #exec.check_indices
// CHECK-NEXT: exec.launch
// CHECK: memref.load {{.*}} : memref<7xi64>
// CHECK-NEXT: [[INDEX:%.*]] = arith.index_cast
// CHECK-NEXT: [[LAST:%.*]] = arith.constant 4 : index
// CHECK-NEXT: arith.minui [[INDEX]], [[LAST]] : index
// CHECK-NEXT: memref.load {{.*}} : memref<5x8xf32>
func.func @rows(%t: tensor<5x8xf32> {ccl.global = tensor<5x8xf32>}, %i: tensor<7xi64> {ccl.global = tensor<7xi64>}) -> (tensor<7x8xf32> {ccl.global = tensor<7x8xf32>}) {
  %0 = nn.embedding %t, %i : (tensor<5x8xf32>, tensor<7xi64>) -> tensor<7x8xf32>
  return %0 : tensor<7x8xf32>
}

// A sum that is rounded is shared like any sum: a warp adds a scalar, and a block's warps add columns, which come behind
// what a walk over rows might have made; both in f32.
// CHECK: gpu.launch
// CHECK: gpu.shuffle {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to f16
// CHECK: gpu.launch {{.*}}workgroup({{.*}} : memref<32x8xf32, #gpu.address_space<workgroup>>)
// CHECK: gpu.barrier
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @rounded(%x: tensor<64x32xbf16> {ccl.global = tensor<64x32xbf16>}, %y: tensor<640xf16> {ccl.global = tensor<640xf16>}) -> (tensor<32xbf16> {ccl.global = tensor<32xbf16>}, tensor<f16> {ccl.global = tensor<f16>}) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<64x32xbf16>) -> tensor<32xbf16>
  %1 = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<640xf16>) -> tensor<f16>
  return %0, %1 : tensor<32xbf16>, tensor<f16>
}

// What a kernel stores of a row, and needs for elements, too, is one number and not one for each lane.
// CHECK: gpu.launch
// CHECK-NOT: vector.store {{.*}} : memref<18xf32>
// CHECK: memref.store {{.*}} : memref<18xf32>
// CHECK-NOT: vector.store {{.*}} : memref<18xf32>
// CHECK: memref.store {{.*}} : memref<18xf32>
// CHECK: vector.store {{.*}} : memref<18x128xf32>
func.func @moments(%g: tensor<18x128xf32> {ccl.global = tensor<18x128xf32>}, %x: tensor<18x128xf32> {ccl.global = tensor<18x128xf32>}, %w: tensor<128xf32> {ccl.global = tensor<128xf32>}) -> (tensor<18x128xf32> {ccl.global = tensor<18x128xf32>}, tensor<18xf32> {ccl.global = tensor<18xf32>}, tensor<18xf32> {ccl.global = tensor<18xf32>}) {
  %d = nn.layer_norm_grad %g, %x, %w {epsilon = 1.0e-5 : f64} : (tensor<18x128xf32>, tensor<18x128xf32>, tensor<128xf32>) -> tensor<18x128xf32>
  %mean, %scale = nn.row_moments %x {epsilon = 1.0e-5 : f64} : (tensor<18x128xf32>) -> (tensor<18xf32>, tensor<18xf32>)
  return %d, %mean, %scale : tensor<18x128xf32>, tensor<18xf32>, tensor<18xf32>
}

// A sum along a row that is needed in the middle of a walk along it is each thread's own: shuffles are for all of them.
// CHECK: gpu.launch
// CHECK-NOT: gpu.shuffle
// CHECK: scf.for
// CHECK-NOT: gpu.shuffle
// CHECK: scf.for
// CHECK-NOT: gpu.shuffle
// CHECK: arith.addf {{.*}} : f32
// CHECK: gpu.shuffle
// CHECK: gpu.terminator
func.func @sum_in_a_walk(%x: tensor<6x132xf32> {ccl.global = tensor<6x132xf32>}) -> (tensor<f32> {ccl.global = tensor<f32>}) {
  %0 = nn.fusion(%x) : (tensor<6x132xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<6x132xf32>):
    %m = nn.reduce_sum %a {dims = array<i64: 1>} : (tensor<6x132xf32>) -> tensor<6xf32>
    %b = nn.broadcast %m {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<6x132xf32>
    %c = nn.sub %a, %b : (tensor<6x132xf32>, tensor<6x132xf32>) -> tensor<6x132xf32>
    %s = nn.reduce_sum %c {dims = array<i64: 0, 1>} : (tensor<6x132xf32>) -> tensor<f32>
    nn.yield %s : tensor<f32>
  }
  return %0 : tensor<f32>
}

// A loss over padded classes and its gradient have one maximum and one sum: one exponential for that, one for the slope.
// CHECK: gpu.launch
// CHECK: math.exp
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: gpu.terminator
func.func @loss(%x: tensor<4x128xf32> {ccl.global = tensor<4x128xf32>}, %y: tensor<4xi64> {ccl.global = tensor<4xi64>}, %g: tensor<4xf32> {ccl.global = tensor<4xf32>}) -> (tensor<4xf32> {ccl.global = tensor<4xf32>}, tensor<4x128xf32> {ccl.global = tensor<4x128xf32>}) {
  %e = nn.softmax_cross_entropy %x, %y {classes = 121 : i64} : (tensor<4x128xf32>, tensor<4xi64>) -> tensor<4xf32>
  %d = nn.softmax_cross_entropy_grad %g, %x, %y {classes = 121 : i64} : (tensor<4xf32>, tensor<4x128xf32>, tensor<4xi64>) -> tensor<4x128xf32>
  return %e, %d : tensor<4xf32>, tensor<4x128xf32>
}
}
