// The ranges that a plan itself names, and those that collectives write: C1 of exec.plan, C2 and C3 of exec.collective.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @plan_c1
exec.space @persistent 0 bytes kept
exec.space @arena 64 bytes
// expected-error @below {{'exec.plan' op uses #exec.range<arena, 128, 64>, but the space has 64 bytes}}
exec.plan @plan attributes {input_types = [tensor<16xf32>], input_names = ["x"], inputs = [#exec.range<arena, 128, 64>], output_types = [], output_names = [], outputs = []} {
}

// -----

// @plan_c1
exec.space @persistent 0 bytes kept
exec.space @arena 64 bytes
// expected-error @below {{'exec.plan' op uses #exec.range<persistent, 0, 64>, but the space has 0 bytes}}
exec.plan @plan attributes {input_types = [], input_names = [], inputs = [], output_types = [tensor<16xf32>], output_names = ["y"], outputs = [#exec.range<persistent, 0, 64>]} {
}

// -----

// @plan_c1
exec.space @persistent 0 bytes kept
exec.space @arena 64 bytes
// expected-error @below {{'exec.plan' op has 1 inputs, 0 types and 1 names of them; give one of each}}
exec.plan @plan attributes {input_types = [], input_names = ["x"], inputs = [#exec.range<arena, 0, 64>], output_types = [], output_names = [], outputs = []} {
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op receives into #exec.range<arena, 32, 16>, but its blocks have 32 bytes}}
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 16>, received = array<i64: 4, 4>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op receives into #exec.range<arena, 32, 32>, but its blocks have 16 bytes}}
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 32>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op receives 3 blocks among 2 ranks; give one per rank, or one number that is every rank's}}
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 32>, received = array<i64: 8, 0, 0>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op has a block of -4 elements; it must be at least 0}}
  exec.collective all_reduce "w" in @g ticket 0 {blocks = array<i64: -4>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
}

// -----

// The end wraps to a negative one, which is within every space: @range_c1.
exec.space @persistent 0 bytes kept
exec.space @arena 64 bytes
// expected-error @below {{range of 64 bytes at 9223372036854775744 ends behind 2^63 - 1 bytes; no space is so large}}
exec.plan @plan attributes {input_types = [tensor<16xf32>], input_names = ["x"], inputs = [#exec.range<arena, 9223372036854775744, 64>], output_types = [], output_names = [], outputs = []} {
}

// -----

// 2^64 elements, which wrap to none.
// expected-error @below {{'exec.storage' op puts 'tensor<4x4611686018427387904xf32>' in #exec.range<persistent, 0, 0>; the range must be as large}}
exec.storage @storage.w : tensor<4x4611686018427387904xf32> in <persistent, 0, 0> holds [] at []

// -----

// @plan_c1
exec.space @arena 64 bytes
// expected-error @below {{'exec.plan' op has 'index' among its inputs; they must be ranked tensors}}
exec.plan @plan attributes {input_types = [index], input_names = ["x"], inputs = [#exec.range<arena, 0, 16>], output_types = [], output_names = [], outputs = []} {
}

// -----

// @plan_c1
exec.space @arena 64 bytes
// expected-error @below {{'exec.plan' op attribute 'input_names' failed to satisfy constraint: string array attribute}}
exec.plan @plan attributes {input_types = [tensor<4xf32>], input_names = [3], inputs = [#exec.range<arena, 0, 16>], output_types = [], output_names = [], outputs = []} {
}

// -----

// @storage_c2
exec.space @persistent 16 bytes kept
// expected-error @below {{'exec.storage' op has a member at element 5 of 'tensor<4xf32>'; members must lie within it}}
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at [5]

// -----

// @storage_c2
exec.space @persistent 16 bytes kept
// expected-error @below {{'exec.storage' op attribute 'members' failed to satisfy constraint: flat symbol ref array attribute}}
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [3] at [0]

// -----

// Rank 1 is the second, and has two of five elements.
#S0 = #sbp.nd<#sbp.placement<"cpu", [dp = 2], ranks = [3, 1]>, [S(0)]>
module attributes {ccl.rank = 1 : i64} {
  exec.space @arena 64 bytes
  // expected-error @below {{in #exec.range<arena, 0, 12> among its inputs, but this rank's piece is 'tensor<2xf32>'; give it as many bytes}}
  exec.plan @plan_c1 attributes {input_types = [tensor<5xf32, #S0>], input_names = ["x"], inputs = [#exec.range<arena, 0, 12>], output_types = [], output_names = [], outputs = []} {
  }
}

// -----

// Rank 1 is the second, and has two of five elements.
#S0 = #sbp.nd<#sbp.placement<"cpu", [dp = 2], ranks = [3, 1]>, [S(0)]>
module attributes {ccl.rank = 1 : i64} {
  exec.space @arena 64 bytes
  // expected-error @below {{in #exec.range<arena, 0, 20> among its outputs, but this rank's piece is 'tensor<2xf32>'; give it as many bytes}}
  exec.plan @plan_c1 attributes {output_types = [tensor<5xf32, #S0>], output_names = ["x"], outputs = [#exec.range<arena, 0, 20>], input_types = [], input_names = [], inputs = []} {
  }
}

// -----

#S0 = #sbp.nd<#sbp.placement<"cpu", [dp = 2], ranks = [3, 1]>, [S(0)]>
module attributes {ccl.rank = 1 : i64} {
  exec.space @arena 64 bytes
  exec.plan @plan_c1_legal attributes {input_types = [tensor<5xf32, #S0>], input_names = ["x"], inputs = [#exec.range<arena, 0, 8>], output_types = [], output_names = [], outputs = []} {
  }
}

// -----

// @storage_c1
exec.space @persistent 64 bytes kept
// expected-error @below {{'exec.storage' op puts 'tensor<4xf64>' in #exec.range<persistent, 4, 32>; let it begin at a multiple of 8 bytes, the size of an element}}
exec.storage @s : tensor<4xf64> in <persistent, 4, 32> holds [] at []

// -----

// @storage_c2
exec.space @persistent 64 bytes kept
// expected-error @below {{'exec.storage' op @s has @w twice; a variable lies at one place}}
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w, @w] at [0, 2]

// -----

// @storage_c4
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module attributes {ccl.rank = 0 : i64} {
  exec.space @persistent 64 bytes kept
  sbp.variable @w : tensor<4xf32, #B>
  // expected-error @below {{'exec.storage' op @s of 'tensor<4xf32>' has @w from element 1 on, of which this rank's piece is 'tensor<4xf32>'; a storage must have room for the pieces of its members, and their element type}}
  exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at [1]
}

// -----

// @storage_c4
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module attributes {ccl.rank = 0 : i64} {
  exec.space @persistent 64 bytes kept
  sbp.variable @w : tensor<2xf64, #B>
  // expected-error @below {{'exec.storage' op @s of 'tensor<4xf32>' has @w from element 0 on, of which this rank's piece is 'tensor<2xf64>'; a storage must have room for the pieces of its members, and their element type}}
  exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at [0]
}

// -----

// Members that share elements: @storage_c4
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module attributes {ccl.rank = 0 : i64} {
  exec.space @persistent 64 bytes kept
  sbp.variable @w : tensor<2xf32, #B>
  sbp.variable @v : tensor<2xf32, #B>
  sbp.variable @none : tensor<0xf32, #B>
  // expected-error @below {{'exec.storage' op @s has @v from element 2 on, where @w lies, from 1 to 2; give each member elements of its own}}
  exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@v, @w, @none] at [2, 1, 2]
}

// -----

// @storage_c5
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module attributes {ccl.rank = 0 : i64} {
  exec.space @persistent 64 bytes kept
  sbp.variable @w : tensor<2xf32, #B>
  exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at [0]
  // expected-error @below {{'exec.storage' op @t holds @w, and so does @s; a variable lies at one place}}
  exec.storage @t : tensor<4xf32> in <persistent, 16, 16> holds [@w] at [2]
}

// -----

// @storage_c5_legal
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
module attributes {ccl.rank = 0 : i64} {
  exec.space @persistent 64 bytes kept
  sbp.variable @w : tensor<2xf32, #B>
  sbp.variable @v : tensor<2xf32, #B>
  exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at [0]
  exec.storage @t : tensor<4xf32> in <persistent, 16, 16> holds [@v] at [2]
}

// -----

// A chunk of 4 elements, of which the second rank has the last two of @w: @storage_c4_legal
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
module attributes {ccl.rank = 1 : i64} {
  exec.space @persistent 64 bytes kept
  sbp.variable @w : tensor<6xf32, #B> storage #sbp.nd<#p, [S(@l, 0 of 8)]> slot #sbp.slot<@l, 0 of 8>
  exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at [0]
}
