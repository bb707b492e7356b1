// A depth that 'ccl-prefetch' refuses.
// RUN: not splitcast-opt %s -ccl-prefetch=depth=2 2>&1 | FileCheck-19 %s
// RUN: not splitcast-opt %s -ccl-prefetch=depth=-1 2>&1 | FileCheck-19 %s --check-prefix=NEGATIVE

// CHECK: error: 'ccl-prefetch' got depth=2; it is 0 or 1
// NEGATIVE: error: 'ccl-prefetch' got depth=-1; it is 0 or 1
func.func @f() {
  return
}
