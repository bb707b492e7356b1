// A schedule whose first run is good for the next step, too.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>

func.func @predict.prologue() {
  return
}
func.func @predict.main(%x: tensor<4x2xf32, #S0>) -> tensor<4x2xf32, #S0> {
  return %x : tensor<4x2xf32, #S0>
}
// CHECK: sbp.schedule @predict of 1 {
// CHECK-NEXT: sbp.run @predict.prologue from 0 to 1 takes [] cut [] kept
// CHECK-NEXT: sbp.run @predict.main from 0 to 1 takes [0] cut [0] gives [0] joined [0]
// CHECK-NEXT: }
sbp.schedule @predict of 1 {
  sbp.run @predict.prologue from 0 to 1 takes [] cut [] kept
  sbp.run @predict.main from 0 to 1 takes [0] cut [0] gives [0] joined [0]
}
