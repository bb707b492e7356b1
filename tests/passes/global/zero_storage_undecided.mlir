// Variables whose signature nobody wrote are B, as 'sbp-propagate' would make them, and so are split like the others.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=3 | FileCheck %s

// CHECK: sbp.variable @w : tensor<10x4xf32, #B> storage #S_w_1_0_ update #S_w_1_0_ slot #sbp.slot<@w_1, 0 of 64>
sbp.variable @w : tensor<10x4xf32>

func.func @predict(%x: tensor<8x10xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 4]>, [S(0)]>>) {
  return
}
