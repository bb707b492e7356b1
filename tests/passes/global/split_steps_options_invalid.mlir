// Options of 'sbp-split-steps' that cannot be.
// RUN: splitcast-opt %s -verify-diagnostics -o /dev/null -sbp-split-steps="micro-batches=0"
// RUN: splitcast-opt %s -verify-diagnostics -o /dev/null -sbp-split-steps="micro-batches=-3"

// @split_steps_c1
// expected-error @below {{'sbp-split-steps' got micro-batches=}}
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
}
// RUN: not splitcast-opt %s -sbp-split-steps="order=per-epoch" 2>&1 | FileCheck %s
// CHECK: error: 'sbp-split-steps' got order=per-epoch; it must be per-micro-batch or per-step
