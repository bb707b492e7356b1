// The example of 'sbp-hold-gathers': a function that assigns nothing and gathers little keeps what it gathers.
// RUN: splitcast-opt %s -sbp-hold-gathers | FileCheck-19 %s
// RUN: splitcast-opt %s -sbp-hold-gathers=limit-bytes=159 | FileCheck-19 %s --check-prefix=LIMIT
// RUN: not splitcast-opt %s -sbp-hold-gathers=limit-bytes=-1 2>&1 | FileCheck-19 %s --check-prefix=BAD

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<10x4xf32, #B> storage #S0_
sbp.variable @n : tensor<4xf32, #B>

// BAD: error: 'sbp-hold-gathers' got limit-bytes=-1; it is at least 0
// CHECK: func.func @predict(%[[arg0:.*]]: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> attributes {sbp.hold_gathers} {
// LIMIT: func.func @predict(%{{.*}}: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {
func.func @predict(%x: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  %2 = nn.matmul %x, %1 : (tensor<8x10xf32, #S0_>, tensor<10x4xf32, #B>) -> tensor<8x4xf32, #S0_>
  return %2 : tensor<8x4xf32, #S0_>
}

// Assigns, so the next run reads other values.
// CHECK: func.func @train() -> tensor<10x4xf32, #B> {
func.func @train() -> tensor<10x4xf32, #B> {
  %0 = sbp.read @w : tensor<10x4xf32, #S0_>
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
  sbp.assign @w, %0 : tensor<10x4xf32, #S0_>
  return %1 : tensor<10x4xf32, #B>
}

// Reads what is whole already.
// CHECK: func.func @plain() -> tensor<4xf32, #B> {
func.func @plain() -> tensor<4xf32, #B> {
  %0 = sbp.read @n : tensor<4xf32, #B>
  return %0 : tensor<4xf32, #B>
}
