// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @storage_c1
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'ccl.storage' op has 1 members and 2 offsets; give one per member}}
ccl.storage @s : tensor<4xf32> holds [@w] at [0, 4]

// -----

// @storage_c1
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'ccl.storage' op places a member at element 5 of 4}}
ccl.storage @s : tensor<4xf32> holds [@w] at [5]

// -----

// @storage_c1
// expected-error @below {{'ccl.storage' op has type 'tensor<?xf32>'; a storage must have a static shape}}
ccl.storage @s : tensor<?xf32> holds [] at []

// -----

// An empty piece may lie at the end: @storage_c1_legal
sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
ccl.storage @s : tensor<4xf32> holds [@w, @v] at [0, 4]

// -----

// @storage_c2
sbp.variable @w : tensor<2xf32>
// expected-error @below {{'ccl.storage' op @s holds @w twice; a variable lies at one place}}
ccl.storage @s : tensor<4xf32> holds [@w, @w] at [0, 2]

// -----

// @storage_c2
sbp.variable @w : tensor<2xf32>
ccl.storage @s : tensor<4xf32> holds [@w] at [0]
// expected-error @below {{'ccl.storage' op @t holds @w, and so does @s; a variable lies at one place}}
ccl.storage @t : tensor<4xf32> holds [@w] at [2]

// -----

// @storage_c2
// expected-error @below {{'ccl.storage' op holds @w, which is no sbp.variable of the module}}
ccl.storage @s : tensor<4xf32> holds [@w] at [0]

// -----

// @storage_c2
// expected-error @below {{'ccl.storage' op holds "w", which is no sbp.variable of the module}}
ccl.storage @s : tensor<4xf32> holds ["w"] at [0]

// -----

// @storage_c2_legal
sbp.variable @w : tensor<4xf32>
ccl.storage @s : tensor<4xf32> holds [@w] at [0]

// -----

sbp.variable @w : tensor<4xf32>
func.func @read_c1() {
  // expected-error @below {{'ccl.read' op names @w, but the module has no such ccl.storage}}
  %0 = ccl.read @w : tensor<4xf32>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @read_c1() {
  // expected-error @below {{'ccl.read' op has type 'tensor<5xf32>', but @s is 'tensor<4xf32>'}}
  %0 = ccl.read @s : tensor<5xf32>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @read_c1_legal() {
  %0 = ccl.read @s : tensor<4xf32>
  return
}

// -----

func.func @assign_c1(%v: tensor<4xf32>) {
  // expected-error @below {{'ccl.assign' op names @s, but the module has no such ccl.storage}}
  ccl.assign @s, %v : tensor<4xf32>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @assign_c1(%v: tensor<4xf16>) {
  // expected-error @below {{'ccl.assign' op assigns 'tensor<4xf16>' to @s of 'tensor<4xf32>'; element types must agree}}
  ccl.assign @s, %v : tensor<4xf16>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @assign_c1_legal(%v: tensor<2x2xf32>) {
  ccl.assign @s, %v : tensor<2x2xf32>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @assign_c2(%v: tensor<2xf32>) {
  // expected-error @below {{'ccl.assign' op assigns 'tensor<2xf32>' from element 3 on, but @s has 'tensor<4xf32>'; it must lie within}}
  ccl.assign @s, %v {offset = 3 : i64} : tensor<2xf32>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @assign_c2(%v: tensor<2xf32>) {
  // expected-error @below {{'ccl.assign' op assigns 'tensor<2xf32>' from element 9223372036854775807 on, but @s has 'tensor<4xf32>'; it must lie within}}
  ccl.assign @s, %v {offset = 9223372036854775807 : i64} : tensor<2xf32>
  return
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
func.func @assign_c2_legal(%v: tensor<2xf32>, %none: tensor<0xf32>) {
  ccl.assign @s, %v {offset = 2 : i64} : tensor<2xf32>
  ccl.assign @s, %none {offset = 4 : i64} : tensor<0xf32>
  return
}

// -----

func.func @view_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.view' op sees 'tensor<2xf32>' at element 3 of 'tensor<4xf32>'; it must lie within}}
  %0 = ccl.view %x at 3 : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @view_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.view' op sees 'tensor<2xf32>' at element -1 of 'tensor<4xf32>'; it must lie within}}
  %0 = ccl.view %x at -1 : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @view_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.view' op sees 'tensor<2xf32>' at element 9223372036854775807 of 'tensor<4xf32>'; it must lie within}}
  %0 = ccl.view %x at 9223372036854775807 : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @view_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.view' op sees 'tensor<2xi32>' at element 0 of 'tensor<4xf32>'; it must lie within}}
  %0 = ccl.view %x at 0 : tensor<4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @view_c1_legal(%x: tensor<2x2xf32>) {
  %0 = ccl.view %x at 2 : tensor<2x2xf32> -> tensor<2xf32>
  %1 = ccl.view %x at 4 : tensor<2x2xf32> -> tensor<0x3xf32>
  return
}

// -----

func.func @pack_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.pack' op packs 1 operands at 1 offsets into 'tensor<2x2xf32>'; give one offset per operand and a result of one dimension}}
  %0 = ccl.pack %x at [0] : (tensor<4xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @pack_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.pack' op packs 'tensor<4xf32>' at element 0 of 'tensor<4xf64>', where 0 are taken; operands must not overlap and must lie within}}
  %0 = ccl.pack %x at [0] : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @pack_c1_legal(%x: tensor<2x2xf32>) {
  %0 = ccl.pack %x at [0] : (tensor<2x2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pack_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.pack' op packs 2 operands at 1 offsets into 'tensor<8xf32>'; give one offset per operand and a result of one dimension}}
  %0 = ccl.pack %x, %x at [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pack_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.pack' op packs 'tensor<4xf32>' at element 3 of 'tensor<8xf32>', where 4 are taken; operands must not overlap and must lie within}}
  %0 = ccl.pack %x, %x at [0, 3] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pack_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.pack' op packs 'tensor<4xf32>' at element 5 of 'tensor<8xf32>', where 0 are taken; operands must not overlap and must lie within}}
  %0 = ccl.pack %x at [5] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pack_c2_legal(%x: tensor<4xf32>, %none: tensor<0xf32>) {
  %0 = ccl.pack %none, %x, %x, %none at [0, 0, 4, 8] : (tensor<0xf32>, tensor<4xf32>, tensor<4xf32>, tensor<0xf32>) -> tensor<8xf32>
  return
}

// -----

// @group_c1
// expected-error @below {{group "dp" has index 2 among 2 ranks; it is this rank's place, counted from 0}}
func.func private @f() attributes {group = #ccl.group<"dp", [0, 1], index 2>}

// -----

// @group_c1
// expected-error @below {{group "dp" has index -1 among 2 ranks; it is this rank's place, counted from 0}}
func.func private @f() attributes {group = #ccl.group<"dp", [0, 1], index -1>}

// -----

// @group_c1
// expected-error @below {{group "dp" has rank 1 twice; a group names each once}}
func.func private @f() attributes {group = #ccl.group<"dp", [1, 0, 1], index 0>}

// -----

// @group_c1
// expected-error @below {{group "dp" has rank -1; ranks are counted from 0}}
func.func private @f() attributes {group = #ccl.group<"dp", [1, -1], index 0>}

// -----

func.func private @group_c1_legal() attributes {first = #ccl.group<"dp", [3], index 0>, last = #ccl.group<"tp", [2, 0, 1], index 2>}

// -----

func.func @all_gather_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op has 3 blocks among 2 ranks; give one per rank, or one number that is every rank's}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4, 4] : tensor<4xf32> -> !ccl.pending<tensor<12xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<12xf32>> -> tensor<12xf32>
  return
}

// -----

func.func @all_gather_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op has a block of -2 elements; it must be at least 0}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, -2] : tensor<4xf32> -> !ccl.pending<tensor<2xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<2xf32>> -> tensor<2xf32>
  return
}

// -----

func.func @all_gather_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op says what it receives; that follows from its blocks, so leave it out}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c1_legal(%x: tensor<4xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [3, 1], index 1> blocks [0, 4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %2 = ccl.all_gather "w" %x in <"g", [3, 1], index 1> blocks 4 : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %2 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op turns 'tensor<4xf32>' into 'tensor<8xf32>', but its blocks give 3 elements and 8}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [3, 5] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.all_gather' op turns 'tensor<4xf32>' into 'tensor<8xf16>', but its blocks give 4 elements and 8}}
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf16>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf16>> -> tensor<8xf16>
  return
}

// -----

func.func @all_gather_c2_legal(%x: tensor<2x2xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 5] : tensor<2x2xf32> -> !ccl.pending<tensor<9xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<9xf32>> -> tensor<9xf32>
  return
}

// -----

func.func @reduce_scatter_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.reduce_scatter' op says what it receives; that follows from its blocks, so leave it out}}
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_scatter_c1_legal(%x: tensor<8xf32>) {
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 1> blocks [8, 0] : tensor<8xf32> -> !ccl.pending<tensor<0xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<0xf32>> -> tensor<0xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.reduce_scatter' op turns 'tensor<8xf32>' into 'tensor<3xf32>', but its blocks give 8 elements and 4}}
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<3xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<3xf32>> -> tensor<3xf32>
  return
}

// -----

func.func @reduce_scatter_c2_legal(%x: tensor<8xf32>) {
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 0> blocks [5, 3] : tensor<8xf32> -> !ccl.pending<tensor<5xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<5xf32>> -> tensor<5xf32>
  return
}

// -----

func.func @all_reduce_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_reduce' op has 2 blocks; every rank gives a whole tensor, so give one number}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks [4, 3] : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_reduce_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_reduce' op turns 'tensor<8xf32>' into 'tensor<8xf32>', but its blocks give 7 elements and 7}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 7 : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_reduce_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_reduce' op has a block of -8 elements; it must be at least 0}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks -8 : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_reduce_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_reduce' op says what it receives; that follows from its blocks, so leave it out}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 8 received [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_reduce_c1_legal(%x: tensor<f32>) {
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 1 : tensor<f32> -> !ccl.pending<tensor<f32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<f32>> -> tensor<f32>
  return
}

// -----

func.func @all_reduce_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_reduce' op turns 'tensor<8xf32>' into 'tensor<8xi32>', but its blocks give 8 elements and 8}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 8 : tensor<8xf32> -> !ccl.pending<tensor<8xi32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xi32>> -> tensor<8xi32>
  return
}

// -----

func.func @all_reduce_c2_legal(%x: tensor<2x4xf32>) {
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 8 : tensor<2x4xf32> -> !ccl.pending<tensor<2x4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<2x4xf32>> -> tensor<2x4xf32>
  return
}

// -----

func.func @all_to_all_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_to_all' op receives 3 blocks among 2 ranks; give one per rank, or one number that is every rank's}}
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [8, 0, 0] : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_to_all_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_to_all' op receives a block of -4 elements; it must be at least 0}}
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [8, -4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @all_to_all_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_to_all' op does not say what it receives; give one block per rank}}
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_to_all_c1_legal(%x: tensor<8xf32>) {
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [4, 5] : tensor<8xf32> -> !ccl.pending<tensor<9xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<9xf32>> -> tensor<9xf32>
  %2 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks 4 received 0 : tensor<8xf32> -> !ccl.pending<tensor<0xf32>>
  %3 = ccl.wait %2 : !ccl.pending<tensor<0xf32>> -> tensor<0xf32>
  return
}

// -----

func.func @all_to_all_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'ccl.all_to_all' op turns 'tensor<8xf32>' into 'tensor<8xf32>', but its blocks give 8 elements and 7}}
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [4, 4] received [4, 3] : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @all_to_all_c2_legal(%x: tensor<8xf32>) {
  %0 = ccl.all_to_all "w" %x in <"g", [0, 1], index 0> blocks [8, 0] received [0, 0] : tensor<8xf32> -> !ccl.pending<tensor<0xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<0xf32>> -> tensor<0xf32>
  return
}

// -----

func.func @wait_c1(%x: tensor<4xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  // expected-error @below {{'ccl.wait' op gives 'tensor<2x4xf32>' where 'tensor<8xf32>' is pending}}
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<2x4xf32>
  return
}

// -----

func.func @wait_c1_legal(%x: tensor<4xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @wait_c2(%x: tensor<4xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  // expected-error @below {{'ccl.wait' op waits for a collective that something else uses, too; wait for it once, and use the result}}
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %2 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @wait_c2_legal(%x: tensor<4xf32>) {
  %0 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.all_gather "w" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %2 = ccl.wait %1 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %3 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @view_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'ccl.view' op sees 'tensor<4611686018427387904x4xf32>' at element 1 of 'tensor<4xf32>'; it must lie within}}
  %0 = ccl.view %x at 1 : tensor<4xf32> -> tensor<4611686018427387904x4xf32>
  return
}

// -----

func.func @whole_bytes(%x: tensor<4xindex>) {
  // expected-error @below {{'ccl.pack' op operand #0 must be variadic of a statically shaped tensor of numbers that are whole bytes, but got 'tensor<4xindex>'}}
  %0 = ccl.pack %x at [0] : (tensor<4xindex>) -> tensor<4xindex>
  return
}

// -----

func.func @static_only(%x: tensor<?xf32>) {
  // expected-error @below {{'ccl.view' op operand #0 must be a statically shaped tensor of numbers that are whole bytes, but got 'tensor<?xf32>'}}
  %0 = ccl.view %x at 0 : tensor<?xf32> -> tensor<2xf32>
  return
}

// -----

func.func @too_large(%x: tensor<4xf32>) {
  // expected-error @below {{has blocks of more than 2^63 - 1 bytes in all; make them smaller}}
  %0 = ccl.all_gather "w" %x in <"dp", [0, 1], index 0> blocks 4611686018427387904 : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %0 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_scatter_c3(%x: tensor<8xi64>) {
  // expected-error @below {{'ccl.reduce_scatter' op adds elements of type 'i64'; ranks can add up floats only}}
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 0> blocks 4 : tensor<8xi64> -> <tensor<4xi64>>
  %1 = ccl.wait %0 : <tensor<4xi64>> -> tensor<4xi64>
  return
}

// -----

func.func @all_reduce_c3(%x: tensor<8xi32>) {
  // expected-error @below {{'ccl.all_reduce' op adds elements of type 'i32'; ranks can add up floats only}}
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 8 : tensor<8xi32> -> <tensor<8xi32>>
  %1 = ccl.wait %0 : <tensor<8xi32>> -> tensor<8xi32>
  return
}

// -----

func.func @reduce_scatter_c3_legal(%x: tensor<8xbf16>, %y: tensor<8xi64>) {
  %0 = ccl.reduce_scatter "w" %x in <"g", [0, 1], index 0> blocks 4 : tensor<8xbf16> -> <tensor<4xbf16>>
  %1 = ccl.wait %0 : <tensor<4xbf16>> -> tensor<4xbf16>
  %2 = ccl.all_gather "w" %y in <"g", [0, 1], index 0> blocks 8 : tensor<8xi64> -> <tensor<16xi64>>
  %3 = ccl.wait %2 : <tensor<16xi64>> -> tensor<16xi64>
  return
}

// -----

func.func @all_reduce_c3_legal(%x: tensor<8xf64>) {
  %0 = ccl.all_reduce "w" %x in <"g", [0, 1], index 0> blocks 8 : tensor<8xf64> -> <tensor<8xf64>>
  %1 = ccl.wait %0 : <tensor<8xf64>> -> tensor<8xf64>
  return
}

// -----

func.func @pending_has_a_static_shape(%x: tensor<12xf32>) {
  // expected-error @below {{the result of a collective is 'tensor<?xf32>'; it must have a static shape and elements that are numbers}}
  %0 = ccl.all_gather "w" %x in <"dp", [0, 1], index 0> blocks [12, 8] : tensor<12xf32> -> !ccl.pending<tensor<?xf32>>
  return
}

// -----

ccl.storage @l : tensor<1024xf32> holds [] at []
func.func @more_elements_than_can_be_counted(%x: tensor<4611686018427387904x4xf32>) {
  // expected-error @below {{'ccl.assign' op assigns 'tensor<4611686018427387904x4xf32>' from element 896 on, but @l has 'tensor<1024xf32>'; it must lie within}}
  ccl.assign @l, %x {offset = 896 : i64} : tensor<4611686018427387904x4xf32>
  return
}
