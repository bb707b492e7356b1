// Steps whose sums are exact say how the batch cuts each value; a pass in between must not lose that.
// RUN: splitcast-opt %s -sbp-propagate -split-input-file -verify-diagnostics

#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
#M = #sbp.nd<#sbp.placement<"turns", [micro_batches = 2]>, [S(0)]>
func.func @op(%x: tensor<3x4xf32, #S0> {sbp.batch_rows = [#M]}) -> tensor<3x4xf32> attributes {sbp.exact_sums = "dp", sbp.batch_rows} {
  // expected-error @below {{'nn.tanh' op does not say how the batch cuts its results (sbp.batch_rows); run 'sbp-split-steps'}}
  %0 = nn.tanh %x : (tensor<3x4xf32, #S0>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
// expected-error @below {{'func.func' op @argument does not say how the batch cuts argument 0 (sbp.batch_rows); run 'sbp-split-steps'}}
func.func @argument(%x: tensor<3x4xf32, #S0>) -> tensor<3x4xf32, #S0> attributes {sbp.exact_sums = "dp", sbp.batch_rows} {
  return %x : tensor<3x4xf32, #S0>
}
