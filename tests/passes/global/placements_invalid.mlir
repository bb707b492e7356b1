// Two placements in one module, of 3 axes and of 1: an error of each pass that reads signatures by the axes of the module's,
// which names both.
// RUN: not splitcast-opt %s -sbp-zero-storage="stage=3 axis=c" 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-propagate 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-insert-boxing 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-resize-axis="axis=c size=2" 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -enable-zero=stage=0 2>&1 | FileCheck %s
// RUN: not splitcast-opt %s -sbp-localize=rank=0 2>&1 | FileCheck %s

// CHECK: error: 'sbp.variable' op has a tensor on another placement than the module's: #sbp.placement<"cpu", [dp = 1]> and not #sbp.placement<"cpu", [a = 1, b = 1, c = 1]>; a module has one placement: what only some of its ranks have is At(K) along one of its axes
#p = #sbp.placement<"cpu", [a = 1, b = 1, c = 1]>
#QB = #sbp.nd<#sbp.placement<"cpu", [dp = 1]>, [B]>
module attributes {sbp.placement = #p} {
  sbp.variable @w : tensor<4x4xf32, #QB> init #sbp.constant<1.0>
  func.func @f(%x: tensor<4x4xf32, #QB>) -> tensor<4x4xf32> {
    %w = sbp.read @w : tensor<4x4xf32>
    %y = nn.matmul %x, %w : (tensor<4x4xf32, #QB>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}
