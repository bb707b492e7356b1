// A depth that 'ccl-prefetch' refuses.
// RUN: not splitcast-opt %s -ccl-prefetch=depth=-1 2>&1 | FileCheck %s

// CHECK: error: 'ccl-prefetch' got depth=-1; it must be at least 0
func.func @f() {
  return
}
