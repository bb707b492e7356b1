// Where what is carried lies: at the beginning of the arena of its step, before the buffers of all its runs.
// RUN: splitcast-opt %s -exec-lower | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 1]>
#B = #sbp.nd<#p, [B]>
sbp.variable @v : tensor<4xf32, #B>
sbp.variable @a : tensor<20xf32, #B> carried
sbp.variable @b : tensor<4xf32, #B> carried
sbp.variable @c : tensor<4xf32, #B> carried
sbp.variable @d : tensor<4xf32, #B> carried
sbp.variable @e : tensor<4xf32, #B> carried

// The arena is that of @one: 128 bytes for @a, 64 for @b, and 128 for its input.
// CHECK: exec.space @persistent 192 bytes kept
// CHECK: exec.space @arena 320 bytes
// CHECK: exec.storage @s.v : tensor<4xf32> in <persistent, 0, 16>
// CHECK: exec.storage @s.a : tensor<20xf32> in <arena, 0, 80>
// CHECK: exec.storage @s.b : tensor<4xf32> in <arena, 128, 16>
// A step that uses one of them has it where the others have it.
// CHECK: exec.storage @s.c : tensor<4xf32> in <arena, 0, 16>
// Assigned by parts, and not used at all.
// CHECK: exec.storage @s.d : tensor<4xf32> in <persistent, 64, 16>
// CHECK: exec.storage @s.e : tensor<4xf32> in <persistent, 128, 16>
ccl.storage @s.v : tensor<4xf32> holds [@v] at [0]
ccl.storage @s.a : tensor<20xf32> holds [@a] at [0]
ccl.storage @s.b : tensor<4xf32> holds [@b] at [0]
ccl.storage @s.c : tensor<4xf32> holds [@c] at [0]
ccl.storage @s.d : tensor<4xf32> holds [@d] at [0]
ccl.storage @s.e : tensor<4xf32> holds [@e] at [0]

// CHECK: exec.plan @one attributes {buffers = [#exec.buffer<accumulator "s.a", arena, 0, 80, during -1 to 1>, #exec.buffer<accumulator "s.b", arena, 128, 16, during -1 to 1>, #exec.buffer<input "arg0", arena, 192, 80, during -1 to
func.func @one(%x: tensor<20xf32> {ccl.global = tensor<20xf32>}) {
  ccl.assign @s.a, %x : tensor<20xf32>
  return
}
// CHECK: exec.plan @two attributes {buffers = [#exec.buffer<accumulator "s.a", arena, 0, 80, during -1 to 1>, #exec.buffer<accumulator "s.b", arena, 128, 16, during -1 to 1>, #exec.buffer<input "arg1", arena, 192, 16,
// CHECK-NEXT: exec.copy <arena, 192, 16> to <arena, 128, 16>
func.func @two(%x: tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  ccl.assign @s.b, %x : tensor<4xf32>
  return
}
sbp.schedule @train of 1 {
  sbp.run @one from 0 to 1 takes [0] cut [-1]
  sbp.run @two from 0 to 1 takes [1] cut [-1]
}

// A run that is kept has what is gathered; of another step, in the same bytes.
// CHECK: exec.plan @prologue attributes {buffers = [#exec.buffer<gathered "s.c", arena, 0, 16, during -1 to 1>],
// CHECK-NEXT: exec.copy <persistent, 0, 16> to <arena, 0, 16>
func.func @prologue() {
  %0 = ccl.read @s.v : tensor<4xf32>
  ccl.assign @s.c, %0 : tensor<4xf32>
  return
}
// CHECK: exec.plan @main attributes {buffers = [#exec.buffer<gathered "s.c", arena, 0, 16, during -1 to 0>],
// CHECK-SAME: outputs = [#exec.range<arena, 0, 16>]
func.func @main() -> (tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = ccl.read @s.c : tensor<4xf32>
  return %0 : tensor<4xf32>
}
sbp.schedule @predict of 1 {
  sbp.run @prologue from 0 to 1 takes [] cut [] kept
  sbp.run @main from 0 to 1 takes [] cut [] gives [0] joined [-1]
}

// CHECK: exec.plan @parts attributes {buffers = [#exec.buffer<input "arg0", arena, 0, 8,
func.func @parts(%x: tensor<2xf32> {ccl.global = tensor<2xf32>}) {
  ccl.assign @s.d, %x {offset = 2 : i64} : tensor<2xf32>
  return
}
sbp.schedule @other of 1 {
  sbp.run @parts from 0 to 1 takes [0] cut [-1]
}
