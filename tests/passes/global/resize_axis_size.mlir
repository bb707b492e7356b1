// A size that 'sbp-resize-axis' refuses, and buckets that are padded to another size.
// RUN: not splitcast-opt %s -sbp-resize-axis=size=0 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-resize-axis=size=3 2>&1 | FileCheck %s --check-prefix=PADDED

// CHECK: error: 'sbp-resize-axis' got axis= size=0 for #sbp.placement<"cpu", [dp = 4]>; give one of its axes and a size of at least 1, and a placement that lists no ranks
// PADDED: error: 'sbp-resize-axis' found @w in bucket 'w', which is padded to the old size; run it before 'sbp-zero-storage'
#p = #sbp.placement<"cpu", [dp = 4]>
sbp.variable @w : tensor<10x4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(@w, 0 of 64)]> slot #sbp.slot<@w, 0 of 64>
