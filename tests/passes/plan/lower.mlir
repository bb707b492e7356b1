// Where 'exec-lower' puts things: in place where nothing needs what lies there, copied where something does.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4x4xf32, #sbp.nd<#p, [B]>>
// Groups of ranks are symbols, of each one.
// CHECK: exec.space @persistent 128 bytes kept
// CHECK-NEXT: exec.space @arena {{[0-9]+}} bytes{{$}}
// CHECK: exec.group @g ranks [0, 1] index 1
// CHECK-NEXT: exec.group @g_0 ranks [0, 1] index 0
// CHECK: exec.storage @s : tensor<4x4xf32> in <persistent, 0, 64> holds [@w] at [0]
ccl.storage @s : tensor<4x4xf32> holds [@w] at [0]
// CHECK: exec.storage @t : tensor<3xf32> in <persistent, 64, 12> holds [] at []
ccl.storage @t : tensor<3xf32> holds [] at []

// An update is computed in place of what it updates: no copy, and one arena buffer besides the input.
// CHECK: exec.plan @in_place attributes {{.*}}
// CHECK-NEXT: exec.library #exec.matmul<{{.*}}> reads [{{.*}}, #exec.range<persistent, 0, 64>] writes [#exec.range<arena, [[G:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch @kernels::@{{.*}} reads [#exec.range<arena, [[G]], 64>] writes [#exec.range<persistent, 0, 64>] {in_place = array<i64: 0>}
// CHECK-NEXT: }
func.func @in_place(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %w = ccl.read @s : tensor<4x4xf32>
  %0 = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.sub %w, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %1 : tensor<4x4xf32>
  return
}

// What is read before an assignment and used after it is copied when it is read.
// CHECK: exec.plan @used_after_assign
// CHECK-NEXT: exec.copy <persistent, 0, 64> to <arena, [[OLD:[0-9]+]], 64>
// CHECK-NEXT: exec.launch {{.*}} reads [#exec.range<arena, [[OLD]], 64>, {{.*}}] writes [#exec.range<persistent, 0, 64>]
// CHECK-NEXT: exec.library #exec.matmul<{{.*}}> reads [{{.*}}, #exec.range<arena, [[OLD]], 64>]
// CHECK-NEXT: }
func.func @used_after_assign(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %w = ccl.read @s : tensor<4x4xf32>
  %0 = nn.sub %w, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %0 : tensor<4x4xf32>
  %1 = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// A product cannot be written where its operand lies: it is copied there afterwards.
// CHECK: exec.plan @not_in_place
// CHECK-NEXT: exec.library #exec.matmul<{{.*}}> reads [{{.*}}, #exec.range<persistent, 0, 64>] writes [#exec.range<arena, [[N:[0-9]+]], 64>]
// CHECK-NEXT: exec.copy <arena, [[N]], 64> to <persistent, 0, 64>
// CHECK-NEXT: }
func.func @not_in_place(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %w = ccl.read @s : tensor<4x4xf32>
  %0 = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ccl.assign @s, %0 : tensor<4x4xf32>
  return
}

// An argument that is assigned is copied: it belongs to the caller.
// CHECK: exec.plan @argument
// CHECK-NEXT: exec.copy <arena, 0, 64> to <persistent, 0, 64>
// CHECK-NEXT: }
func.func @argument(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  ccl.assign @s, %x : tensor<4x4xf32>
  return
}

// Gradients are made in their places in the bucket; the gaps between, behind and after them are cleared.
// CHECK: exec.plan @bucket
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, 0, 64>]
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, 128, 16>]
// CHECK-NEXT: exec.clear <arena, 64, 64>
// CHECK-NEXT: exec.clear <arena, 144, 112>
// CHECK-NEXT: exec.collective reduce_scatter "b" in @g ticket 0 {blocks = array<i64: 32, 32>, data = #exec.range<arena, 0, 256>, output = #exec.range<arena, {{[0-9]+}}, 128>
// CHECK-NEXT: exec.wait 0
// CHECK-NEXT: }
func.func @bucket(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %2 = ccl.pack %0, %1 at [0, 32] : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<64xf32>
  %3 = ccl.reduce_scatter "b" %2 in <"g", [0, 1], index 1> blocks [32, 32] : tensor<64xf32> -> !ccl.pending<tensor<32xf32>>
  %4 = ccl.wait %3 : !ccl.pending<tensor<32xf32>> -> tensor<32xf32>
  return %4 : tensor<32xf32>
}

// A gradient that is used after the reduction, which destroys the bucket, is copied into it.
// CHECK: exec.plan @used_after_pack
// CHECK-SAME: outputs = [#exec.range<arena, [[SHARD:[0-9]+]], 128>, #exec.range<arena, [[KEPT:[0-9]+]], 64>]
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[KEPT]], 64>]
// CHECK-NEXT: exec.copy <arena, [[KEPT]], 64> to <arena, [[DATA:[0-9]+]], 64>
// CHECK-NEXT: exec.clear
// CHECK-NEXT: exec.collective {{.*}} data = #exec.range<arena, [[DATA]], 256>, output = #exec.range<arena, [[SHARD]], 128>
// CHECK-NEXT: exec.wait 0
// CHECK-NEXT: }
func.func @used_after_pack(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32>}, tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ccl.pack %0 at [0] : (tensor<4x4xf32>) -> tensor<64xf32>
  %2 = ccl.reduce_scatter "b" %1 in <"g", [0, 1], index 1> blocks [32, 32] : tensor<64xf32> -> !ccl.pending<tensor<32xf32>>
  %3 = ccl.wait %2 : !ccl.pending<tensor<32xf32>> -> tensor<32xf32>
  return %3, %0 : tensor<32xf32>, tensor<4x4xf32>
}

// One value in two packs, and twice in one: made in one of the places, copied to the others before that one is destroyed.
// CHECK: exec.plan @two_packs
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[MADE:[0-9]+]], 64>]
// CHECK-NEXT: exec.copy <arena, [[MADE]], 64> to <arena, [[P0:[0-9]+]], 64>
// CHECK-NEXT: exec.copy <arena, [[MADE]], 64> to
// CHECK-NEXT: exec.collective reduce_scatter "b" {{.*}} data = #exec.range<arena, [[P0]], 128>
// CHECK-NEXT: exec.wait 0
// CHECK-NEXT: exec.clear <arena, [[Q:[0-9]+]], 64>
// CHECK-NEXT: exec.collective reduce_scatter "c" {{.*}} data = #exec.range<arena, [[Q]], 128>
// CHECK-NEXT: exec.wait 1
// CHECK-NEXT: }
func.func @two_packs(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<16xf32> {ccl.global = tensor<16xf32>}, tensor<16xf32> {ccl.global = tensor<16xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ccl.pack %0, %0 at [0, 16] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<32xf32>
  %2 = ccl.reduce_scatter "b" %1 in <"g", [0, 1], index 1> blocks [16, 16] : tensor<32xf32> -> !ccl.pending<tensor<16xf32>>
  %3 = ccl.wait %2 : !ccl.pending<tensor<16xf32>> -> tensor<16xf32>
  %4 = ccl.pack %0 at [16] : (tensor<4x4xf32>) -> tensor<32xf32>
  %5 = ccl.reduce_scatter "c" %4 in <"g", [0, 1], index 1> blocks [16, 16] : tensor<32xf32> -> !ccl.pending<tensor<16xf32>>
  %6 = ccl.wait %5 : !ccl.pending<tensor<16xf32>> -> tensor<16xf32>
  return %3, %6 : tensor<16xf32>, tensor<16xf32>
}

// A block that is gathered is made in its place; one that is stored is copied there.
// CHECK: exec.plan @gather
// CHECK-SAME: outputs = [#exec.range<arena, [[#ALL:]], 128>]
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[#ALL + 64]], 64>]
// CHECK-NEXT: exec.collective all_gather "b" in @g ticket 0 {blocks = array<i64: 16, 16>, data = #exec.range<arena, [[#ALL]], 128>
func.func @gather(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ccl.all_gather "b" %0 in <"g", [0, 1], index 1> blocks [16, 16] : tensor<4x4xf32> -> !ccl.pending<tensor<32xf32>>
  %2 = ccl.wait %1 : !ccl.pending<tensor<32xf32>> -> tensor<32xf32>
  return %2 : tensor<32xf32>
}
// CHECK: exec.plan @gather_stored
// CHECK-NEXT: exec.copy <persistent, 0, 64> to <arena, 64, 64>
// CHECK-NEXT: exec.collective all_gather "b" in @g ticket 0 {blocks = array<i64: 16, 16>, data = #exec.range<arena, 0, 128>
func.func @gather_stored() -> (tensor<32xf32> {ccl.global = tensor<32xf32>}) {
  %0 = ccl.read @s : tensor<4x4xf32>
  %1 = ccl.all_gather "b" %0 in <"g", [0, 1], index 1> blocks [16, 16] : tensor<4x4xf32> -> !ccl.pending<tensor<32xf32>>
  %2 = ccl.wait %1 : !ccl.pending<tensor<32xf32>> -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

// Arguments and results keep their global types; names are the user's, or numbered.
// CHECK: exec.plan @names
// CHECK-SAME: input_names = ["x", "arg1"], input_types = [tensor<8x4xf32>, tensor<4x4xf32>]
// CHECK-SAME: output_names = ["y"], output_types = [tensor<8x4xf32>]
func.func @names(%x: tensor<4x4xf32> {ccl.global = tensor<8x4xf32>, sbp.name = "x"}, %y: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<8x4xf32>, sbp.name = "y"}) {
  return %y : tensor<4x4xf32>
}

// Equal kernels are one, of all functions of the module: @in_place and @used_after_assign differ in what is updated in place.
// CHECK: exec.plan @again
// CHECK-NEXT: exec.launch @kernels::@[[K:.*]] reads
// CHECK-NEXT: exec.launch @kernels::@[[K]] reads
func.func @again(%x: tensor<5xf32> {ccl.global = tensor<5xf32>}, %y: tensor<5xf32> {ccl.global = tensor<5xf32>}) -> (tensor<5xf32> {ccl.global = tensor<5xf32>}, tensor<5xf32> {ccl.global = tensor<5xf32>}) {
  %0 = nn.exp %x : (tensor<5xf32>) -> tensor<5xf32>
  %1 = nn.exp %y : (tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}

// A value that nothing needs afterwards is overwritten, also by what needs its row whole.
// CHECK: exec.plan @dying
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} reads [] writes [#exec.range<arena, [[Y]], 64>] {in_place = array<i64: 0>}
// CHECK-NEXT: exec.library #exec.matmul<{{.*}}> reads [#exec.range<arena, [[Y]], 64>, {{.*}}] writes [#exec.range<arena, [[Z:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} reads [] writes [#exec.range<arena, [[Z]], 64>] {in_place = array<i64: 0>}
// CHECK-NEXT: }
func.func @dying(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.matmul %1, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = nn.softmax %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// A value that is needed at another place, or later, is not; of two that die, one is overwritten.
// CHECK: exec.plan @not_dying
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} reads [#exec.range<arena, [[Y]], 64>] writes [#exec.range<arena, [[T:[0-9]+]], 64>]{{$}}
// CHECK-NEXT: exec.library #exec.matmul<{{.*}}> reads [#exec.range<arena, [[T]], 64>, {{.*}}] writes [#exec.range<arena, [[P:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} reads [#exec.range<arena, [[P]], 64>] writes [#exec.range<arena, [[Y]], 64>] {in_place = array<i64: 0>}
func.func @not_dying(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.matmul %1, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = nn.add %0, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// Loops that sum over the rows beside the elements have read a row before it is overwritten.
// CHECK: exec.plan @beside_sum
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} writes [#exec.range<arena, [[Y]], 64>, #exec.range<arena, {{[0-9]+}}, 16>] {in_place = array<i64: 0>}
func.func @beside_sum(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, %b: tensor<4xf32> {ccl.global = tensor<4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.add %0, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = nn.mul %0, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4xf32>
}

// Nor is a value overwritten that lies among others: here in its block of what is gathered.
// CHECK: exec.plan @gathered
// CHECK-NEXT: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.collective all_gather
// CHECK-NEXT: exec.wait
// CHECK-NEXT: exec.launch {{.*}} reads [#exec.range<arena, [[Y]], 64>] writes {{[^{]*$}}
func.func @gathered(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<32xf32> {ccl.global = tensor<32xf32>}, tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ccl.all_gather "b" %0 in <"g", [0, 1], index 0> blocks [16, 16] : tensor<4x4xf32> -> !ccl.pending<tensor<32xf32>>
  %2 = ccl.wait %1 : !ccl.pending<tensor<32xf32>> -> tensor<32xf32>
  %3 = nn.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<32xf32>, tensor<4x4xf32>
}

// Nor one that is read at computed places, if only by way of what is made of it.
// CHECK: exec.plan @computed_places
// CHECK: exec.library #exec.matmul<{{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK: exec.launch {{.*}} reads [#exec.range<arena, [[Y]], 64>, {{.*}}] writes [{{[^{]*$}}
func.func @computed_places(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, %i: tensor<4xi64> {ccl.global = tensor<4xi64>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.embedding %1, %i : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// What nothing is packed into is zero.
// CHECK: exec.plan @empty_pack
// CHECK-NEXT: exec.clear <arena, 0, 16>
func.func @empty_pack() -> (tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = ccl.pack at [] : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
