// What lies where, and while which ops: C4 of exec.plan, and #exec.buffer.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// Inputs before the first op, outputs after the last, and one place for two that are live in turn.
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
exec.plan @plan_c4_legal attributes {input_types = [tensor<4xf32>], input_names = ["x"], inputs = [#exec.range<arena, 0, 16>], output_types = [tensor<4xf32>], output_names = ["y"], outputs = [#exec.range<arena, 0, 16>],
  buffers = [#exec.buffer<input "x", arena, 0, 16, during -1 to 0>, #exec.buffer<activation "x", arena, 64, 16, during 0 to 1>, #exec.buffer<output "x", arena, 0, 16, during 1 to 2>]} {
  exec.copy <arena, 0, 16> to <arena, 64, 16>
  exec.copy <arena, 64, 16> to <arena, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<activation "x", arena, 0, 16, during 0 to 0>, #exec.buffer<activation "x", arena, 64, 16, during 0 to 1>]} {
  exec.copy <arena, 0, 16> to <arena, 64, 16>
  // expected-error @below {{'exec.copy' op uses #exec.range<arena, 0, 16>, which lies in no buffer that is live at this op; let one live until then, or add one}}
  exec.copy <arena, 64, 16> to <arena, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<activation "x", arena, 0, 16, during 0 to 0>]} {
  // expected-error @below {{'exec.clear' op uses #exec.range<arena, 8, 12>, which lies in no buffer that is live at this op; let one live until then, or add one}}
  exec.clear <arena, 8, 12>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
// expected-error @below {{'exec.plan' op uses #exec.range<arena, 0, 16>, which lies in no buffer that is live at this op; let one live until then, or add one}}
exec.plan @plan_c4 attributes {input_types = [tensor<4xf32>], input_names = ["x"], inputs = [#exec.range<arena, 0, 16>], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<input "x", arena, 0, 16, during 0 to 0>]} {
  exec.clear <arena, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
// expected-error @below {{'exec.plan' op uses #exec.range<arena, 0, 16>, which lies in no buffer that is live at this op; let one live until then, or add one}}
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [tensor<4xf32>], output_names = ["y"], outputs = [#exec.range<arena, 0, 16>],
  buffers = [#exec.buffer<output "x", arena, 0, 16, during 0 to 0>]} {
  exec.clear <arena, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
// expected-error @below {{'exec.plan' op has #exec.buffer<activation "x", arena, 60, 8, during 0 to 1> and #exec.buffer<gathered "x", arena, 0, 64, during 0 to 0>, which share bytes at the same op; give each its own}}
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<gathered "x", arena, 0, 64, during 0 to 0>, #exec.buffer<activation "x", arena, 60, 8, during 0 to 1>]} {
  exec.clear <arena, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
// expected-error @below {{'exec.plan' op has #exec.buffer<activation "x", arena, 0, 64, during 0 to 1> and #exec.buffer<gathered "x", arena, 60, 8, during 0 to 0>, which share bytes at the same op; give each its own}}
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<gathered "x", arena, 60, 8, during 0 to 0>, #exec.buffer<activation "x", arena, 0, 64, during 0 to 1>]} {
  exec.clear <arena, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
// expected-error @below {{'exec.plan' op uses #exec.range<arena, 64, 65>, but the space has 128 bytes}}
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<gathered "x", arena, 64, 65, during 0 to 0>]} {
  exec.clear <persistent, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
// expected-error @below {{'exec.plan' op has #exec.buffer<gathered "x", persistent, 0, 64, during 0 to 0>, but space @persistent is kept; put buffers into spaces that are not}}
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<gathered "x", persistent, 0, 64, during 0 to 0>]} {
  exec.clear <persistent, 0, 16>
}

// -----

// Two spaces: at one op, the same offsets of each.
exec.space @arena 64 bytes
exec.space @staging 64 bytes
exec.plan @plan_c4_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<activation "x", arena, 0, 64, during 0 to 0>, #exec.buffer<staging "y", staging, 0, 64, during 0 to 0>]} {
  exec.copy <arena, 0, 16> to <staging, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
// expected-error @below {{'exec.plan' op has #exec.buffer<gathered "x", arena, 64, 64, during 0 to 2>, but its ops are 0 to 0; a buffer must live within -1 to 1}}
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<gathered "x", arena, 64, 64, during 0 to 2>]} {
  exec.clear <persistent, 0, 16>
}

// -----

exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
exec.group @g ranks [0, 1] index 0
exec.plan @plan_c4 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<gathered "x", arena, 0, 32, during 0 to 0>]} {
  exec.collective all_gather "w" in @g ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<arena, 0, 32>, type = f32}
  // expected-error @below {{'exec.wait' op ends a collective on #exec.range<arena, 0, 32>, but #exec.buffer<gathered "x", arena, 0, 32, during 0 to 0> is gone by then; let it live until the wait}}
  exec.wait 0
}

// -----

// @buffer_c1
// expected-error @below {{buffer of role 'weight'; roles are input, output, activation, gathered, gradient, gradient_shard, staging, workspace}}
module attributes {b = #exec.buffer<weight "x", arena, 0, 16, during 0 to 0>} {
}

// -----

// @buffer_c1
// expected-error @below {{buffer that is live during ops 1 to 0; it must not end before it begins}}
module attributes {b = #exec.buffer<gathered "x", arena, 0, 16, during 1 to 0>} {
}

// -----

func.func private @buffer_c1_legal() attributes {first = #exec.buffer<gradient "x", arena, 0, 64, during 0 to 0>, empty = #exec.buffer<output "x", arena, 64, 0, during 2 to 3>}
