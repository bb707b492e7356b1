// A bucket that its members fill to more than 2^63 - 1 bytes, together or when it is padded, is an error that names the last.
// RUN: splitcast-opt %s -sbp-zero-storage -split-input-file -verify-diagnostics

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @m.w : tensor<1152921504606846976xf32, #B>
// expected-error @below {{'sbp-zero-storage' fills bucket 'm' to more than 2^63 - 1 bytes with @m.v; put it into another group, or give fewer bucket-bytes}}
sbp.variable @m.v : tensor<1152921504606846976xf32, #B>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
// expected-error @below {{'sbp-zero-storage' fills bucket 'm' to more than 2^63 - 1 bytes with @m.w; put it into another group, or give fewer bucket-bytes}}
sbp.variable @m.w : tensor<2305843009213693951xf32, #B>

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 1]>, [B]>
sbp.variable @m.w : tensor<1152921504606846976xf32, #B>
sbp.variable @m.v : tensor<1152921504606846960xf32, #B>
