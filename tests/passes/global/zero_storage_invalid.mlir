// Options that 'sbp-zero-storage' refuses.
// RUN: not splitcast-opt %s -sbp-zero-storage=stage=4 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not splitcast-opt %s -sbp-zero-storage=stage=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not splitcast-opt %s -sbp-zero-storage=strategy=rows 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not splitcast-opt %s -sbp-zero-storage=bucket-bytes=-1 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not splitcast-opt %s -sbp-zero-storage=axis=pp 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not splitcast-opt %s -sbp-zero-storage=one-copy=2 2>&1 | FileCheck %s --check-prefix=COPY
// RUN: not splitcast-opt %s -sbp-zero-storage=hold-gathers-bytes=5 2>&1 | FileCheck %s --check-prefix=HOLD
// RUN: not splitcast-opt %s -enable-zero=stag=1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not splitcast-opt %s -pass-pipeline="builtin.module(enable-zero{stag=1})" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not splitcast-opt %s -enable-zero=stage=4 2>&1 | FileCheck %s --check-prefix=STAGE

// STAGE: is given 'stage=4': stage is '4', which must be 0, 1, 2 or 3
// NEGATIVE: is given 'stage=-1': stage is '-1', which must be 0, 1, 2 or 3
// STRATEGY: is given 'strategy=rows': strategy is 'rows', which must be bucket, tensor or whole
// BYTES: is given 'bucket-bytes=-1': bucket-bytes is '-1', which must be a number that is not negative
// COPY: is given 'one-copy=2': one-copy is '2', which must be no, yes or auto
// HOLD: it has no option 'hold-gathers-bytes'; options are stage, strategy, keep, prefetch, prefetch-bytes, bucket-bytes, recompute, update, compute-type, whole-bytes, axis and one-copy{{$}}
// UNKNOWN: is given 'stag=1': it has no option 'stag'; options are stage, strategy, keep, prefetch, prefetch-bytes, bucket-bytes, recompute, update, compute-type, whole-bytes, axis, one-copy, hold-gathers-bytes, memory-limit, accumulate, accumulate-order, pipeline and reproducible
// AXIS: error: 'sbp-zero-storage' got axis=pp; the placement has dp tp; give one of these, or leave the axis out for the first
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
sbp.variable @a : tensor<9x4xf32, #sbp.nd<#p, [B, B]>>
