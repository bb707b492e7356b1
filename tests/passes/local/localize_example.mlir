// The example of 'sbp-localize': 10 rows of 4 over 4 ranks are 12, 12, 8 and 8 elements.
// RUN: splitcast-opt %s -sbp-localize=rank=0 | FileCheck %s
// CHECK: #dp = #ccl.group<"dp", [0, 1, 2, 3], index 0>

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<10x4xf32, #B> storage #S0_

// CHECK-LABEL: func.func @gather
func.func @gather() -> tensor<10x4xf32, #B> {
  // CHECK-NEXT: %[[_0:.*]] = ccl.read @storage.w : tensor<3x4xf32>
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  // CHECK-NEXT: %[[_1:.*]] = ccl.all_gather "w" %[[_0]] in #dp blocks [12, 12, 8, 8] {stored} : {{.*}}
  // CHECK-NEXT: %[[ALL:.*]] = ccl.wait %[[_1]]
  // CHECK-NEXT: %[[W:.*]] = ccl.view %[[ALL]] at 0 : tensor<40xf32> -> tensor<10x4xf32>
  // CHECK-NEXT: return %[[W]]
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  return %1 : tensor<10x4xf32, #B>
}
