// What functions say of the order of sums.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null -sbp-split-steps="micro-batches=2"

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>>
// expected-error @below {{'func.func' op @train has sbp.accumulate_order = "per-epoch"; it must be "per-micro-batch" or "per-step", and only a function that updates by a gradient may have it}}
func.func @train(%g: tensor<4xf32, #sbp.nd<#p, [B]>>) attributes {sbp.accumulate_order = "per-epoch"} {
  %scope = sbp.scope "update" of @w
  %f = sbp.fence %g in %scope : tensor<4xf32, #sbp.nd<#p, [B]>>
  sbp.assign @w, %f : tensor<4xf32, #sbp.nd<#p, [B]>>
  return
}

// -----

// expected-error @below {{'func.func' op @predict has sbp.accumulate_order = "per-step"; it must be}}
func.func @predict() attributes {sbp.accumulate_order = "per-step"} {
  return
}
