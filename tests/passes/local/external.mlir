// A function without a body: an error of each pass that walks bodies, and no crash.
// RUN: not splitcast-opt %s -ccl-verify-local 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -local-pipeline 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -ccl-prefetch -ccl-verify-local 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -nn-fuse-kernels -ccl-verify-local 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -exec-lower 2>&1 | FileCheck %s

// CHECK: error: 'func.func' op must have a body of one block
func.func private @external(tensor<8xf32>)
