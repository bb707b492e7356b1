// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @space_c1
// expected-error @below {{'exec.space' op @arena has -1 bytes; a space must have at least 0}}
exec.space @arena -1 bytes

// -----

// @space_c1_legal
exec.space @arena 0 bytes

// -----

// @range_c1
// expected-error @below {{range of -1 bytes at 0; neither may be negative}}
func.func private @f() attributes {range = #exec.range<arena, 0, -1>}

// -----

// @range_c1
// expected-error @below {{range of 64 bytes at -64; neither may be negative}}
func.func private @f() attributes {range = #exec.range<arena, -64, 64>}

// -----

func.func private @range_c1_legal() attributes {empty = #exec.range<arena, 0, 0>, all = #exec.range<persistent, 0, 64>}

// -----

// @storage_c3
exec.space @arena 16 bytes
// expected-error @below {{'exec.storage' op has no carried variable, and lies in @arena, a space that is not kept; put it into one that is}}
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [] at []

// -----

// @storage_c3
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @arena 64 bytes
sbp.variable @c : tensor<4xf32, #B> carried
sbp.variable @v : tensor<4xf32, #B>
// expected-error @below {{'exec.storage' op has @v, which is not carried, in @arena, a space that is not kept; put it into one that is}}
exec.storage @s : tensor<16xf32> in <arena, 0, 64> holds [@c, @v] at [0, 4]

// -----

// @storage_c3
exec.space @persistent 28 bytes kept
// expected-error @below {{'exec.storage' op lies in #exec.range<persistent, 16, 16>, which is not within an exec.space; declare one that is large enough}}
exec.storage @s : tensor<4xf32> in <persistent, 16, 16> holds [] at []

// -----

// @storage_c3
// expected-error @below {{'exec.storage' op lies in #exec.range<persistent, 0, 16>, which is not within an exec.space; declare one that is large enough}}
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [] at []

// -----

// @storage_c3_legal
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 32 bytes kept
exec.space @arena 16 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <persistent, 16, 16> holds [] at []
exec.storage @t : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]

// -----

// @storage_c1
// expected-error @below {{'exec.storage' op puts 'tensor<4xf32>' in #exec.range<persistent, 0, 12>; the range must be as large}}
exec.storage @s : tensor<4xf32> in <persistent, 0, 12> holds [] at []

// -----

// @storage_c1
// expected-error @below {{'exec.storage' op puts 'f32' in #exec.range<persistent, 0, 4>; the range must be as large}}
exec.storage @s : f32 in <persistent, 0, 4> holds [] at []

// -----

// @storage_c1_legal
exec.space @persistent 8 bytes kept
exec.storage @s : tensor<4xbf16> in <persistent, 0, 8> holds [] at []
exec.storage @t : tensor<0xf32> in <persistent, 8, 0> holds [] at []

// -----

// @storage_c2
// expected-error @below {{'exec.storage' op has 1 members and 0 offsets}}
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w] at []

// -----

// @storage_c2_legal
exec.space @persistent 16 bytes kept
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@w, @b] at [0, 3]

// -----

exec.plan @plan_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.clear' op uses #exec.range<cache, 0, 4>, but the module has no exec.space @cache; declare it}}
  exec.clear <cache, 0, 4>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @plan_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.clear' op uses #exec.range<arena, 32, 64>, but the space has 64 bytes}}
  exec.clear <arena, 32, 64>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @plan_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.copy' op uses #exec.range<persistent, 64, 4>, but the space has 64 bytes}}
  exec.copy <persistent, 64, 4> to <arena, 0, 4>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @plan_c1_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.clear <arena, 0, 64>
  exec.clear <persistent, 64, 0>
  exec.copy <persistent, 60, 4> to <arena, 0, 4>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op is never waited for; end it with exec.wait}}
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.wait' op waits for ticket 1, which is not under way; start a collective with it first}}
  exec.wait 1
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
  // expected-error @below {{'exec.wait' op waits for ticket 0, which is not under way; start a collective with it first}}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
  // expected-error @below {{'exec.collective' op takes ticket 0, which is under way; wait for it first, or take another ticket}}
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 32, 32>, type = f32}
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
  // expected-error @below {{'exec.copy' op uses #exec.range<arena, 28, 4> while a collective is under way on #exec.range<arena, 0, 32>; wait for it first}}
  exec.copy <arena, 28, 4> to <arena, 32, 4>
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, output = #exec.range<arena, 32, 16>, received = array<i64: 2, 2>, type = f32}
  // expected-error @below {{'exec.clear' op uses #exec.range<arena, 0, 4> while a collective is under way on #exec.range<arena, 0, 32>; wait for it first}}
  exec.clear <arena, 0, 4>
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, output = #exec.range<arena, 32, 16>, received = array<i64: 2, 2>, type = f32}
  // expected-error @below {{'exec.copy' op uses #exec.range<arena, 32, 4> while a collective is under way on #exec.range<arena, 32, 16>; wait for it first}}
  exec.copy <arena, 32, 4> to <arena, 48, 4>
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c2_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @g ticket 7 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.clear <arena, 32, 32>
  exec.wait 7
  exec.collective all_to_all "w" in @g ticket 7 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, output = #exec.range<arena, 32, 16>, received = array<i64: 2, 2>, type = f32}
  // Reads of what a collective reads.
  exec.copy <arena, 0, 4> to <arena, 48, 4>
  exec.wait 7
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
// expected-error @below {{'exec.plan' op has #exec.buffer<gathered "s", arena, 0, 16, during 0 to 1>, a storage, during some of its ops; a storage must be live from -1 to 1}}
exec.plan @plan_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during 0 to 1>]} {
  exec.copy <persistent, 0, 16> to <arena, 0, 16>
}

// -----

// Of another run of the schedule.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @first attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during -1 to 1>]} {
  exec.copy <persistent, 0, 16> to <arena, 0, 16>
}
// expected-error @below {{'exec.plan' op has no buffer of "s" in #exec.range<arena, 0, 16>, but @first of the same schedule has one; add it, so that nothing else lies there}}
exec.plan @plan_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<activation "x", arena, 0, 16, during 0 to 0>]} {
  exec.clear <arena, 0, 16>
}
sbp.schedule @all of 1 {
  sbp.run @first from 0 to 1 takes [] cut [] kept
  sbp.run @plan_c3 from 0 to 1 takes [] cut []
}

// -----

// One that says nothing of its buffers.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @first attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during -1 to 1>]} {
  exec.copy <persistent, 0, 16> to <arena, 0, 16>
}
// expected-error @below {{'exec.plan' op lists no buffers, but runs with @first in a schedule, and storages lie in a space that is not kept; list its buffers}}
exec.plan @plan_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.clear <arena, 0, 16>
}
sbp.schedule @all of 1 {
  sbp.run @first from 0 to 1 takes [] cut [] kept
  sbp.run @plan_c3 from 0 to 1 takes [] cut []
}

// -----

// A function that the schedule does not run may use these bytes; another buffer may have the range of a storage.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @first attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during -1 to 1>]} {
  exec.copy <persistent, 0, 16> to <arena, 0, 16>
}
exec.plan @plan_c3_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during -1 to 1>, #exec.buffer<activation "x", arena, 64, 16, during 0 to 0>]} {
  exec.copy <arena, 0, 16> to <arena, 64, 16>
}
exec.plan @plan_c3_legal_other attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<activation "x", arena, 0, 16, during 0 to 0>]} {
  exec.clear <arena, 0, 16>
}
sbp.schedule @all of 1 {
  sbp.run @first from 0 to 1 takes [] cut [] kept
  sbp.run @plan_c3_legal from 0 to 1 takes [] cut []
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @plan_c5 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during -1 to 1>]} {
  // expected-error @below {{'exec.copy' op writes #exec.range<persistent, 16, 16> in a kept run of @all, which may be left out; a kept run may write only carried variables in kept spaces}}
  exec.copy <arena, 0, 16> to <persistent, 16, 16>
}
sbp.schedule @all of 1 {
  sbp.run @plan_c5 from 0 to 1 takes [] cut [] kept
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @plan_c5_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = [#exec.buffer<gathered "s", arena, 0, 16, during -1 to 1>]} {
  exec.copy <persistent, 0, 16> to <arena, 0, 16>
}
sbp.schedule @all of 1 {
  sbp.run @plan_c5_legal from 0 to 1 takes [] cut [] kept
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @launch_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.launch' op writes #exec.range<arena, 0, 16>, which overlaps #exec.range<arena, 12, 16>, which it reads}}
  exec.launch @k::@k0 reads [#exec.range<arena, 12, 16>] writes [#exec.range<arena, 0, 16>]
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @launch_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.launch' op writes #exec.range<arena, 8, 16> and #exec.range<arena, 0, 16>, which overlap}}
  exec.launch @k::@k0 reads [] writes [#exec.range<arena, 0, 16>, #exec.range<arena, 8, 16>]
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @launch_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.launch' op has in_place = [0, 1]; these must be numbers of its 1 written ranges, ascending}}
  exec.launch @k::@k0 reads [] writes [#exec.range<arena, 0, 16>] {in_place = array<i64: 0, 1>}
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @launch_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.launch' op has in_place = [1, 0]; these must be numbers of its 2 written ranges, ascending}}
  exec.launch @k::@k0 reads [] writes [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>] {in_place = array<i64: 1, 0>}
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @launch_c2_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.launch @k::@k0 reads [] writes [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>] {in_place = array<i64: 0, 1>}
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @launch_c1_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.launch @k::@k0 reads [#exec.range<arena, 16, 16>, #exec.range<arena, 20, 4>, #exec.range<persistent, 0, 16>] writes [#exec.range<arena, 0, 16>]
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @library_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op writes #exec.range<arena, 0, 16>, which overlaps #exec.range<arena, 12, 16>, which it reads}}
  exec.library #exec.matmul<m = 2, n = 2, k = 2, type = f32> reads [#exec.range<arena, 12, 16>] writes [#exec.range<arena, 0, 16>]
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @library_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op writes #exec.range<arena, 8, 16> and #exec.range<arena, 0, 16>, which overlap}}
  exec.library #exec.matmul<m = 2, n = 2, k = 2, type = f32> reads [] writes [#exec.range<arena, 0, 16>, #exec.range<arena, 8, 16>]
}

// -----

exec.space @arena 64 bytes
exec.plan @library_c1_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.library #exec.matmul<m = 2, n = 2, k = 2, type = f32> reads [#exec.range<arena, 16, 16>, #exec.range<arena, 20, 16>] writes [#exec.range<arena, 0, 16>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 24, 16] bytes, but the operands of its call have [16, 24, 24]; give each its range}}
  exec.library #exec.matmul<m = 2, n = 3, k = 2, type = f32> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 24>] writes [#exec.range<arena, 40, 16>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 24] bytes, but the operands of its call have [16, 24, 24]; give each its range}}
  exec.library #exec.matmul<m = 2, n = 3, k = 2, type = f32> reads [#exec.range<arena, 0, 16>] writes [#exec.range<arena, 16, 24>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 24, 24, 64] bytes, but the operands of its call have [16, 24, 24]; give each its range}}
  exec.library #exec.matmul<m = 2, n = 3, k = 2, type = f32> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 24>] writes [#exec.range<arena, 40, 24>, #exec.range<arena, 64, 64>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 16, 16, 16] bytes, but the operands of its call have [16, 16, 16, 16], and a workspace of 64 behind them; give each its range}}
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32, workspace = 64> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 16, 16, 16, 128] bytes, but the operands of its call have [16, 16, 16, 16], and a workspace of 64 behind them; give each its range}}
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32, workspace = 64> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>, #exec.range<arena, 64, 128>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 16, 16, 16, 64] bytes, but the operands of its call have [16, 16, 16, 16]; give each its range}}
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32, workspace = 0> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>, #exec.range<arena, 64, 64>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.library' op has ranges of [16, 16, 16, 16, 64, 64] bytes, but the operands of its call have [16, 16, 16, 16], and may have a workspace behind them; give each its range}}
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>, #exec.range<arena, 64, 64>, #exec.range<arena, 128, 64>]
}

// -----

exec.space @arena 1024 bytes
exec.plan @library_c2_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.library #exec.matmul<m = 2, n = 3, k = 2, type = f32> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 24>] writes [#exec.range<arena, 40, 24>]
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32, workspace = 64> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>, #exec.range<arena, 64, 64>]
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32, workspace = 0> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>]
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>]
  exec.library #exec.attention<samples = 1, positions = 2, keys = 2, heads = 1, width = 2, scale = 0.5, type = f32> reads [#exec.range<arena, 0, 16>, #exec.range<arena, 16, 16>, #exec.range<arena, 32, 16>] writes [#exec.range<arena, 48, 16>, #exec.range<arena, 64, 256>]
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @copy_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.copy' op copies #exec.range<arena, 0, 16> to #exec.range<arena, 16, 12>; both must have the same number of bytes, and must not overlap}}
  exec.copy <arena, 0, 16> to <arena, 16, 12>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @copy_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.copy' op copies #exec.range<arena, 0, 16> to #exec.range<arena, 12, 16>; both must have the same number of bytes, and must not overlap}}
  exec.copy <arena, 0, 16> to <arena, 12, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @copy_c1_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.copy <arena, 0, 16> to <arena, 16, 16>
  exec.copy <arena, 0, 16> to <persistent, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_kind_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{collective of kind 'gossip'; kinds are all_gather, reduce_scatter, all_reduce, all_to_all}}
  exec.collective gossip "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
}

// -----

// @collective_kind_c1
// expected-error @below {{collective of kind 'gossip'; kinds are all_gather, reduce_scatter, all_reduce, all_to_all}}
func.func private @f() attributes {kind = #exec.collective_kind<gossip>}

// -----

func.func private @collective_kind_c1_legal() attributes {first = #exec.collective_kind<all_gather>, last = #exec.collective_kind<all_to_all>}

// -----

// @group_c1
// expected-error @below {{'exec.group' op @dp has index 2 among 2 ranks; it is this rank's place, counted from 0}}
exec.group @dp ranks [0, 1] index 2

// -----

// @group_c1
// expected-error @below {{'exec.group' op @dp has index -1 among 2 ranks; it is this rank's place, counted from 0}}
exec.group @dp ranks [0, 1] index -1

// -----

// @group_c1
// expected-error @below {{'exec.group' op @dp has rank 1 twice; a group names each once}}
exec.group @dp ranks [1, 0, 1] index 0

// -----

// @group_c1
// expected-error @below {{'exec.group' op @dp has rank -1; ranks are counted from 0}}
exec.group @dp ranks [1, -1] index 0

// -----

// @group_c1_legal
exec.group @dp ranks [3] index 0
exec.group @tp ranks [2, 0, 1] index 2

// -----

module attributes {ccl.rank = 1 : i64} {
  // @group_c2
  // expected-error @below {{'exec.group' op @dp has rank 0 at index 0, but the module is the program of rank 1; give the index of that rank}}
  exec.group @dp ranks [0, 1] index 0
}

// -----

// @group_c2_legal
module attributes {ccl.rank = 1 : i64} {
  exec.group @dp ranks [0, 1] index 1
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @collective_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op is called in @dp, but the module has no such exec.group; declare it}}
  exec.collective all_gather "w" in @dp ticket 0 {blocks = array<i64: 4>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
}

// -----

// A symbol of another kind.
exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
func.func private @dp()
exec.plan @collective_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op is called in @dp, but the module has no such exec.group; declare it}}
  exec.collective all_gather "w" in @dp ticket 0 {blocks = array<i64: 4>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c2 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op has 3 blocks among 2 ranks; give one per rank, or one number that is every rank's}}
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 2, 2>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 1
exec.plan @collective_c2_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "w" in @g ticket 0 {blocks = array<i64: 8>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op works on #exec.range<arena, 0, 28>, but its blocks have 32 bytes}}
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 28>, type = f32}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op has an output and no received blocks; reduce_scatter must have an output, all_to_all both, and other kinds neither}}
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 32>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op has no output and received blocks; reduce_scatter must have an output, all_to_all both, and other kinds neither}}
  exec.collective all_reduce "w" in @g ticket 0 {blocks = array<i64: 8>, data = #exec.range<arena, 0, 32>, type = f32, received = array<i64: 4, 4>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op has no output and no received blocks; reduce_scatter must have an output, all_to_all both, and other kinds neither}}
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op writes #exec.range<arena, 16, 16>, which overlaps #exec.range<arena, 0, 32>, which it reads}}
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 16, 16>, received = array<i64: 2, 2>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c1_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 16>, received = array<i64: 2, 2>}
  exec.wait 0
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 16>}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c3_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_to_all "w" in @g ticket 0 {blocks = array<i64: 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 16>, received = array<i64: 2>}
  exec.wait 0
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4>, data = #exec.range<arena, 0, 32>, type = f32, output = #exec.range<arena, 32, 16>}
  exec.wait 0
}

// -----

exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @collective_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op adds elements of type 'i32'; ranks can add up floats only}}
  exec.collective all_reduce "w" in @g ticket 0 {blocks = array<i64: 4>, data = #exec.range<arena, 0, 16>, type = i32}
  exec.wait 0
}
