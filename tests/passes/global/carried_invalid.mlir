// What is carried is read behind what assigns it, and by nobody else.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null -sbp-verify-global

// @verify_global_c9_legal
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.variable @sum : tensor<4xf32, #B> carried
func.func @first(%x: tensor<4xf32, #B>) {
  sbp.assign @sum, %x : tensor<4xf32, #B>
  return
}
func.func @last() -> tensor<4xf32, #B> {
  %sum = sbp.read @sum : tensor<4xf32, #B>
  return %sum : tensor<4xf32, #B>
}
sbp.schedule @both of 2 {
  sbp.run @first from 0 to 1 takes [0] cut [-1]
  sbp.run @last from 1 to 2 takes [] cut [] gives [0] joined [-1]
}

// -----

// @verify_global_c9: in another order.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.variable @sum : tensor<4xf32, #B> carried
func.func @first(%x: tensor<4xf32, #B>) {
  sbp.assign @sum, %x : tensor<4xf32, #B>
  return
}
func.func @last() -> tensor<4xf32, #B> {
  // expected-error @below {{'sbp.read' op reads @sum, which is carried from run to run of a schedule, before @both has assigned it; assign it in an earlier run}}
  %sum = sbp.read @sum : tensor<4xf32, #B>
  return %sum : tensor<4xf32, #B>
}
sbp.schedule @both of 2 {
  sbp.run @last from 1 to 2 takes [] cut [] gives [0] joined [-1]
  sbp.run @first from 0 to 1 takes [0] cut [-1]
}

// -----

// @verify_global_c9: by a function beside.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.variable @sum : tensor<4xf32, #B> carried
func.func @evaluate() -> tensor<4xf32, #B> {
  // expected-error @below {{'sbp.read' op reads @sum, which is carried from run to run of a schedule, in a function that no schedule runs; read it only in runs of a schedule}}
  %sum = sbp.read @sum : tensor<4xf32, #B>
  return %sum : tensor<4xf32, #B>
}

// -----

// @verify_global_c9: a range of them.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
#S = #sbp.nd<#p, [S(@l, 0 of 8)]>
sbp.bucket @l : tensor<8xf32, #B> along "dp" holds [@l.w] at [0]
sbp.variable @l.w : tensor<6xf32, #B> slot #sbp.slot<@l, 0 of 8>
sbp.variable @l.w.m : tensor<6xf32, #B> storage #S slot #sbp.slot<@l, 0 of 8> state_of @l.w role "m" carried
func.func @last() -> tensor<8xf32, #S0_> {
  // expected-error @below {{'sbp.bucket_read' op reads @l m, which is carried from run to run of a schedule, before @one has assigned it; assign it in an earlier run}}
  %m = sbp.bucket_read @l role "m" : tensor<8xf32, #S0_>
  return %m : tensor<8xf32, #S0_>
}
sbp.schedule @one of 1 {
  sbp.run @last from 0 to 1 takes [] cut [] gives [0] joined [-1]
}
