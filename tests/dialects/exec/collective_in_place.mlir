// Where the block lies that a rank keeps of a sum, if it lies in what was added up.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// What rank 1 keeps of a sum that stays in the bucket is the second block.
exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 1
exec.plan @collective_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op receives into #exec.range<arena, 0, 16>, which lies in #exec.range<arena, 0, 32>, but its own block begins there at 16; receive there, or outside}}
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, output = #exec.range<arena, 0, 16>, workspace = #exec.range<arena, 32, 16>, type = f32}
  exec.wait 0
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 1
exec.plan @collective_c3_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, output = #exec.range<arena, 16, 16>, workspace = #exec.range<arena, 32, 16>, type = f32}
  exec.wait 0
}

// -----

// A workspace is not where the block lies.
exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.group @g ranks [0, 1] index 1
exec.plan @collective_c1 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op writes #exec.range<arena, 16, 16> and #exec.range<arena, 0, 32>, which overlap}}
  exec.collective reduce_scatter "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, output = #exec.range<arena, 16, 16>, workspace = #exec.range<arena, 16, 16>, type = f32}
  exec.wait 0
}
