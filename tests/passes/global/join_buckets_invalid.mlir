// What 'sbp-join-buckets' refuses.
// RUN: splitcast-opt %s -sbp-join-buckets -split-input-file -verify-diagnostics

// @join_buckets_c1
#p = #sbp.placement<"cpu", [dp = 5]>
#Sf = #sbp.nd<#p, [S(@b, 0 of 5)]>
// expected-error @below {{'func.func' op takes or returns a slot of a bucket; use S(dim) or B there}}
func.func @slot(%x: tensor<4xf32, #Sf>) {
  return
}

// -----

// @join_buckets_c1
#p = #sbp.placement<"cpu", [dp = 2]>
func.func @undecided(%x: tensor<4xf32>) {
  // expected-error @below {{'sbp.boxing' op has a tensor without a signature; run 'sbp-propagate' first}}
  %0 = sbp.boxing %x : tensor<4xf32> -> tensor<4xf32, #sbp.nd<#p, [B]>>
  return
}

// -----

// @join_buckets_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'sbp.variable' op lies in bucket 'l', but no sbp.bucket of that name holds @a; run 'sbp-zero-storage', or declare it}}
sbp.variable @a : tensor<6xf32, #B> slot #sbp.slot<@l, 0 of 64>

// -----

// @join_buckets_c2
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@a] at [0]
sbp.variable @a : tensor<6xf32, #B> slot #sbp.slot<@l, 0 of 64>
// expected-error @below {{'sbp.variable' op lies in bucket 'l', but no sbp.bucket of that name holds @b; run 'sbp-zero-storage', or declare it}}
sbp.variable @b : tensor<6xf32, #B> slot #sbp.slot<@l, 32 of 64>

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#Sb = #sbp.nd<#p, [S(@l, 0 of 64)]>
func.func @no_bucket(%x: tensor<6xf32, #B>) {
  // expected-error @below {{but no sbp.bucket has a range for it; box it to the signature of the bucket's members first}}
  %0 = sbp.boxing %x : tensor<6xf32, #B> -> tensor<6xf32, #Sb>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'func.func' op must have a body of one block}}
func.func private @external()
