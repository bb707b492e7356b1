// The example of 'nn-mixed-precision': the product is of bf16, what is minimized of f32.
// RUN: splitcast-opt %s -nn-mixed-precision=compute-type=bf16 | FileCheck %s
// RUN: splitcast-opt %s -nn-mixed-precision=compute-type=bf16 -nn-mixed-precision=compute-type=bf16 | FileCheck %s
// RUN: splitcast-opt %s -nn-mixed-precision | FileCheck %s --check-prefix=OWN

// CHECK: sbp.variable @w : tensor<4x2xf32> policy #sbp.policy<compute_type = bf16>
sbp.variable @w : tensor<4x2xf32>
// CHECK: %[[READ:.*]] = sbp.read @w
// CHECK-NEXT: %[[W:.*]] = nn.cast %[[READ]] : (tensor<4x2xf32>) -> tensor<4x2xbf16>
// CHECK-NEXT: %[[A:.*]] = nn.cast %arg0 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[A]], %[[W]] : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
// CHECK-NEXT: %[[X:.*]] = nn.cast %[[Y]] : (tensor<8x2xbf16>) -> tensor<8x2xf32>
// CHECK-NEXT: nn.reduce_sum %[[X]]
// CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32>
// OWN-NOT: nn.cast
// OWN: nn.minimize
func.func @train(%x: tensor<8x4xf32>) -> tensor<f32> {
  %0 = sbp.read @w : tensor<4x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %loss = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
