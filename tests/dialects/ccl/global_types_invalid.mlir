// What functions say of the tensors that they take and give pieces of.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @ccl_c1
// expected-error @below {{'func.func' op has argument 0 of 'tensor<4xf32>', but its ccl.global is 'tensor<9xf64>'; a piece must have the element type of its tensor, and as many dimensions}}
func.func @f(%x: tensor<4xf32> {ccl.global = tensor<9xf64>}) {
  return
}

// -----

// @ccl_c1
// expected-error @below {{'func.func' op has result 0 of 'tensor<4xf32>', but its ccl.global is 'tensor<2x2xf32>'; a piece must have the element type of its tensor, and as many dimensions}}
func.func private @f() -> (tensor<4xf32> {ccl.global = tensor<2x2xf32>})

// -----

// No rank has four of ten.
// @ccl_c2
#S = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [S(0)]>
// expected-error @below {{of which this rank has another piece; run 'sbp-localize'}}
func.func @f(%x: tensor<4xf32> {ccl.global = tensor<10xf32, #S>}) {
  return
}

// -----

// The first has three of five.
// @ccl_c2
#S = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [S(0)]>
module attributes {ccl.rank = 0 : i64} {
  // expected-error @below {{of which this rank has another piece; run 'sbp-localize'}}
  func.func @f(%x: tensor<2xf32> {ccl.global = tensor<5xf32, #S>}) {
    return
  }
}

// -----

// Of the second rank, and of some rank.
#S = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [S(0)]>
module attributes {ccl.rank = 1 : i64} {
  func.func @ccl_c2_legal(%x: tensor<2xf32> {ccl.global = tensor<5xf32, #S>}) {
    return
  }
}
module {
  func.func @ccl_c1_legal(%x: tensor<3xf32> {ccl.global = tensor<5xf32, #S>}, %y: tensor<4xf32> {ccl.global = tensor<8xf32>}) {
    return
  }
}
