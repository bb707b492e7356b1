// The example of 'nn-keep-statistics': the gradient takes what attention keeps for it.
// RUN: splitcast-opt %s -pass-pipeline='builtin.module(func.func(nn-keep-statistics))' | FileCheck %s

module attributes {ccl.device = "cuda"} {
  // CHECK-LABEL: func.func @example
  // CHECK-SAME: %[[q:.*]]: tensor<2x9x3x8xbf16>, %[[k:.*]]: tensor<2x9x3x8xbf16>, %[[v:.*]]: tensor<2x9x3x8xbf16>, %[[g:.*]]: tensor<2x9x3x8xbf16>
  func.func @example(%q: tensor<2x9x3x8xbf16>, %k: tensor<2x9x3x8xbf16>, %v: tensor<2x9x3x8xbf16>, %g: tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) {
    // CHECK-NEXT: %[[y:.*]], %[[s:.*]] = nn.attention %[[q]], %[[k]], %[[v]] {scale = 5.000000e-01 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x3x9xf32>)
    // CHECK-NEXT: %[[d:[a-z_]+]], {{.*}} = nn.attention_grad %[[g]], %[[q]], %[[k]], %[[v]], %[[y]], %[[s]] {scale = 5.000000e-01 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x3x9xf32>)
    // CHECK-NEXT: return %[[y]], %[[d]] :
    %y = nn.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
    %d:3 = nn.attention_grad %g, %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
    return %y, %d#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
  }
}
