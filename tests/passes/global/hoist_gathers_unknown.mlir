// Functions of whose effects nothing is known stay as they are, with all of their schedule.
// RUN: splitcast-opt %s -sbp-hoist-gathers | FileCheck %s
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#keep = #sbp.policy<stage = 3, strategy = tensor, keep = step>
// CHECK-NOT: prologue
// CHECK: sbp.schedule @one of 2 {
// CHECK-NEXT: sbp.run @calls
// CHECK: sbp.schedule @two of 2 {
// CHECK-NEXT: sbp.run @external
// CHECK-NEXT: sbp.run @gathers
sbp.variable @w : tensor<8xf32, #B> storage #S0_ policy #keep
func.func private @external()
func.func @changes(%0: tensor<8xf32, #S0_>) {
  sbp.assign @w, %0 : tensor<8xf32, #S0_>
  return
}
func.func @calls() -> tensor<8xf32, #B> {
  %0 = sbp.read @w : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  call @changes(%0) : (tensor<8xf32, #S0_>) -> ()
  return %1 : tensor<8xf32, #B>
}
func.func @blocks(%c: i1) -> tensor<8xf32, #B> {
  %0 = sbp.read @w : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  cf.br ^bb1
^bb1:
  sbp.assign @w, %0 : tensor<8xf32, #S0_>
  return %1 : tensor<8xf32, #B>
}
func.func @gathers() -> tensor<8xf32, #B> {
  %0 = sbp.read @w : tensor<8xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<8xf32, #S0_> -> tensor<8xf32, #B>
  return %1 : tensor<8xf32, #B>
}
sbp.schedule @one of 2 {
  sbp.run @calls from 0 to 2 takes [] cut [] gives [0] joined [0]
}
sbp.schedule @two of 2 {
  sbp.run @external from 0 to 1 takes [] cut []
  sbp.run @gathers from 0 to 2 takes [] cut [] gives [0] joined [0]
}
