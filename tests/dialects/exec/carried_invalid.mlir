// What is carried from run to run of a schedule, and what a kept run may write: C3 and C5 of exec.plan.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// Another run writes there, and calls the storage's bytes otherwise in the runs that use it.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
// expected-error @below {{'exec.plan' op has #exec.buffer<activation "s", arena, 0, 16, during 0 to 0>, but "s" is a storage, in #exec.range<arena, 0, 16>; its buffer must have the role gathered or accumulator, and that range: change these, or the owner}}
exec.plan @plan_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<activation "s", arena, 0, 16, during 0 to 0>]} {
  exec.clear <arena, 0, 16>
}
exec.plan @two attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<activation "x", arena, 0, 16, during 0 to 0>]} {
  exec.copy <persistent, 0, 16> to <arena, 0, 16>
}
sbp.schedule @f of 1 {
  sbp.run @plan_c3 from 0 to 1 takes [] cut []
  sbp.run @two from 0 to 1 takes [] cut []
}

// -----

// A part of it.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
// expected-error @below {{'exec.plan' op has #exec.buffer<accumulator "s", arena, 0, 8, during -1 to 1>, but "s" is a storage, in #exec.range<arena, 0, 16>; its buffer must have the role gathered or accumulator, and that range: change these, or the owner}}
exec.plan @plan_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<accumulator "s", arena, 0, 8, during -1 to 1>]} {
  exec.clear <arena, 0, 8>
}

// -----

// Something else of that name: elsewhere, or an input.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @plan_c3_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<input "s", arena, 0, 16, during -1 to 0>, #exec.buffer<activation "s", arena, 64, 16, during 0 to 0>]} {
  exec.copy <arena, 0, 16> to <arena, 64, 16>
}

// -----

// Two runs of two schedules: the second schedule's are looked at, too.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <arena, 0, 16> holds [@c] at [0]
exec.plan @alone attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = []} {
}
exec.plan @first attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<accumulator "s", arena, 0, 16, during -1 to 1>]} {
  exec.clear <arena, 0, 16>
}
// expected-error @below {{'exec.plan' op has no buffer of "s" in #exec.range<arena, 0, 16>, but @first of the same schedule has one; add it, so that nothing else lies there}}
exec.plan @plan_c3 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [], buffers = []} {
}
sbp.schedule @one of 1 {
  sbp.run @alone from 0 to 1 takes [] cut []
}
sbp.schedule @two of 1 {
  sbp.run @first from 0 to 1 takes [] cut []
  sbp.run @plan_c3 from 0 to 1 takes [] cut []
}

// -----

// It begins in what is carried, and ends in what is not.
#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
sbp.variable @w : tensor<4xf32, #B>
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@c] at [0]
exec.storage @t : tensor<4xf32> in <persistent, 16, 16> holds [@w] at [0]
exec.plan @plan_c5 attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.clear' op writes #exec.range<persistent, 0, 32> in a kept run of @f, which may be left out; a kept run may write only carried variables in kept spaces}}
  exec.clear <persistent, 0, 32>
}
sbp.schedule @f of 1 {
  sbp.run @plan_c5 from 0 to 1 takes [] cut [] kept
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
exec.space @persistent 64 bytes kept
exec.space @arena 128 bytes
sbp.variable @c : tensor<4xf32, #B> carried
exec.storage @s : tensor<4xf32> in <persistent, 0, 16> holds [@c] at [0]
exec.plan @plan_c5_legal attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.clear <persistent, 0, 16>
  exec.clear <persistent, 8, 8>
  exec.clear <persistent, 32, 0>
}
sbp.schedule @f of 1 {
  sbp.run @plan_c5_legal from 0 to 1 takes [] cut [] kept
}
