// Values keep the names of the text, through a pipeline; gradients are named after their values, and reads after their
// variables, whatever the text calls them. Without the flag a parser knows no names.
// RUN: splitcast-opt %s -keep-names -enable-zero=stage=2 | FileCheck %s
// RUN: splitcast-opt %s -keep-names -enable-zero=stage=2 -mlir-print-debuginfo | splitcast-opt -canonicalize | FileCheck %s
// RUN: splitcast-opt %s | FileCheck %s --check-prefix=WITHOUT
// RUN: splitcast-opt %s -keep-names -enable-zero=stage=0 -sbp-localize=rank=0 -local-pipeline | FileCheck %s --check-prefix=LOCAL

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
sbp.variable @fc.weight : tensor<10x4xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.1>
func.func @train(%x: tensor<8x10xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<f32> {
  %anything = sbp.read @fc.weight : tensor<10x4xf32>
  %logits = nn.matmul %x, %anything : (tensor<8x10xf32, #sbp.nd<#p, [S(0)]>>, tensor<10x4xf32>) -> tensor<8x4xf32>
  %0 = nn.gelu %logits : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
}
// CHECK: func.func @train(%arg0
// CHECK: %logits = nn.matmul
// CHECK: %[[#]] = nn.gelu %logits
// CHECK: %loss = nn.reduce_sum
// CHECK: %logits_grad = nn.gelu_grad %[[#]], %logits
// CHECK: %fc.weight_grad = nn.matmul %arg0, %logits_grad

// WITHOUT: %fc.weight = sbp.read @fc.weight
// WITHOUT: %0 = nn.matmul %arg0, %fc.weight
// WITHOUT: nn.minimize %2

// What two values share is named once, after the first of them; and what several ops became has no name of one of them.
sbp.variable @a : tensor<8x4xf32, #B>
sbp.variable @b : tensor<8x4xf32, #B>
func.func @shared() -> tensor<f32> {
  %a = sbp.read @a : tensor<8x4xf32>
  %b = sbp.read @b : tensor<8x4xf32>
  %sum = nn.add %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %inner = nn.tanh %sum : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.mul %inner, %sum : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %total = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %total : tensor<f32> with #nn.sgd<lr = 0.1>
  return %total : tensor<f32>
}
// CHECK: func.func @shared
// CHECK: %sum_grad = nn.add
// CHECK-NOT: %a_grad = nn.
// CHECK-NOT: %b_grad = nn.

// LOCAL: func.func @shared
// LOCAL-NOT: %{{[a-z][a-z_0-9.]*(:[0-9]+)?}} = nn.fusion
// LOCAL: return
