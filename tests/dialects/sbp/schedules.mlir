// A step in three micro-batches, one of which is a function of its own.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>

func.func @train.micro(%x: tensor<4x2xf32, #S0>) {
  return
}
func.func @train.last(%x: tensor<4x2xf32, #S0>) -> tensor<4x2xf32, #S0> {
  return %x : tensor<4x2xf32, #S0>
}
// CHECK: sbp.schedule @train of 3 {
// CHECK-NEXT: sbp.run @train.micro from 0 to 2 takes [0] cut [0]
// CHECK-NEXT: sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
// CHECK-NEXT: }
sbp.schedule @train of 3 {
  sbp.run @train.micro from 0 to 2 takes [0] cut [0]
  sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
}

// Of a function that is numbered, whose results are joined, and whose second input is whole.
func.func @each(%x: tensor<4x2xf32, #S0>, %w: tensor<2xf32>, %m: tensor<i64>) -> tensor<4x2xf32, #S0> {
  return %x : tensor<4x2xf32, #S0>
}
// CHECK: sbp.run @each from 0 to 3 takes [1, 0] cut [0, -1] numbered gives [0] joined [0]
sbp.schedule @apply of 3 {
  sbp.run @each from 0 to 3 takes [1, 0] cut [0, -1] numbered gives [0] joined [0]
}
