// Plans that nobody checked: storages without members, or of variables that the module lacks, and buffers of another purpose
// are counted as other state and as activations; no crash.
// RUN: splitcast-opt %s -exec-report 2>&1 >/dev/null | FileCheck-19 %s

// CHECK: other state {{ *}}0.002 MB
// CHECK: activations {{ *}}0.001 MB
exec.storage @empty : tensor<256xf32> in <persistent, 0, 1024> holds [] at []
exec.storage @unknown : tensor<256xf32> in <persistent, 1024, 1024> holds [@nowhere] at [0]
exec.plan @f attributes {arena_bytes = 1024 : i64, persistent_bytes = 2048 : i64, input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = [],
  buffers = array<i64: 0, 1024, 0, 0>, purposes = ["something else"]} {
}
