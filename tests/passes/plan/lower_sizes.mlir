// What a rank stores, and what a function computes, in more than 2^63 - 1 bytes together: an error that names where it ends.
// RUN: splitcast-opt %s -exec-lower -split-input-file -verify-diagnostics

ccl.storage @storage.a : tensor<1152921504606846976xf32> holds [] at []
// expected-error @below {{'ccl.storage' op @storage.b of type 'tensor<1152921504606846976xf32>' would bring the storages of its space to more than 2^63 - 1 bytes; use more ranks, or smaller variables}}
ccl.storage @storage.b : tensor<1152921504606846976xf32> holds [] at []

// -----

// The last 64 bytes that 2^63 - 1 are not aligned to.
ccl.storage @storage.a : tensor<1152921504606846976xf32> holds [] at []
ccl.storage @storage.b : tensor<1152921504606846960xf32> holds [] at []

// -----

// expected-error @below {{'func.func' op @f has intermediate tensors of more than 2^63 - 1 bytes together; use more ranks, or smaller tensors}}
func.func @f(%x: tensor<1152921504606846976xf32> {ccl.global = tensor<1152921504606846976xf32>},
             %y: tensor<1152921504606846976xf32> {ccl.global = tensor<1152921504606846976xf32>}) {
  return
}

// -----

func.func @f(%x: tensor<1152921504606846976xf32> {ccl.global = tensor<1152921504606846976xf32>},
             %y: tensor<1152921504606846960xf32> {ccl.global = tensor<1152921504606846960xf32>}) {
  return
}

// -----

// expected-error @below {{'func.func' op has a tensor of type 'tensor<4x4611686018427387904xf32>', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func @f(%x: tensor<4x4611686018427387904xf32> {ccl.global = tensor<4x4611686018427387904xf32>}) {
  return
}
