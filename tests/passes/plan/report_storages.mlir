// Plans that nobody made from a program: storages without members, or of variables that the module lacks, are counted as other state;
// inputs and workspaces as activations; and a plan need not say what its buffers are. No crash.
// RUN: splitcast-opt %s -exec-report 2>&1 >/dev/null | FileCheck %s

// CHECK: other state {{ *}}0.002 MB
// CHECK: activations {{ *}}0.003 MB
// CHECK: arena in all {{ *}}0.003 MB
exec.space @persistent 2048 bytes kept
exec.space @arena 3072 bytes
exec.storage @empty : tensor<256xf32> in <persistent, 0, 1024> holds [] at []
exec.storage @unknown : tensor<256xf32> in <persistent, 1024, 1024> holds [@nowhere] at [0]
exec.plan @f attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = [#exec.buffer<input "x", arena, 0, 1024, during -1 to 0>, #exec.buffer<workspace "nn.matmul", arena, 1024, 2048, during 0 to 0>]} {
}
// CHECK: activations {{ *}}0.000 MB
// CHECK: arena in all {{ *}}0.001 MB
exec.plan @g attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.clear <arena, 0, 1024>
}
