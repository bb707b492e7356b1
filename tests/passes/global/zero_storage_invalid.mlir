// Options that 'sbp-zero-storage' refuses.
// RUN: not splitcast-opt %s -sbp-zero-storage=stage=4 2>&1 | FileCheck-19 %s --check-prefix=STAGE
// RUN: not splitcast-opt %s -sbp-zero-storage=stage=-1 2>&1 | FileCheck-19 %s --check-prefix=NEGATIVE
// RUN: not splitcast-opt %s -sbp-zero-storage=strategy=whole 2>&1 | FileCheck-19 %s --check-prefix=STRATEGY
// RUN: not splitcast-opt %s -sbp-zero-storage=bucket-bytes=-1 2>&1 | FileCheck-19 %s --check-prefix=BYTES
// RUN: not splitcast-opt %s -sbp-zero-storage=axis=pp 2>&1 | FileCheck-19 %s --check-prefix=AXIS
// RUN: not splitcast-opt %s -enable-zero=stage=4 2>&1 | FileCheck-19 %s --check-prefix=STAGE

// STAGE: error: 'sbp-zero-storage' got stage=4; stages are 0, 1, 2 and 3
// NEGATIVE: error: 'sbp-zero-storage' got stage=-1; stages are 0, 1, 2 and 3
// STRATEGY: error: 'sbp-zero-storage' got strategy=whole; it is bucket or tensor
// BYTES: error: 'sbp-zero-storage' got bucket-bytes=-1; it is at least 0
// AXIS: error: 'sbp-zero-storage' got axis=pp; the placement has dp tp
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.variable @a : tensor<9x4xf32, #sbp.nd<#p, [B, B]>>
