// What f16 needs besides what bf16 does.
// RUN: splitcast-opt %s -nn-mixed-precision=compute-type=f16 -split-input-file -verify-diagnostics | FileCheck %s

// Whether a condition is 0 is asked before it is rounded, and it makes nothing wide.
sbp.variable @w : tensor<4x4xf32>
// CHECK-LABEL: func.func @selected
// CHECK-SAME: %[[c:.*]]: tensor<f32>, %[[m:.*]]: tensor<4xf32>, %[[x:.*]]: tensor<2x4xf32>
func.func @selected(%c: tensor<f32>, %m: tensor<4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = sbp.read @w : tensor<4x4xf32>
  // CHECK: %[[y:.*]] = nn.matmul %{{.*}}, %{{.*}} : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[is:.*]] = nn.select %[[c]], %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %[[is16:.*]] = nn.cast %[[is]] : (tensor<f32>) -> tensor<f16>
  // CHECK-NEXT: %[[one:.*]] = nn.select %[[is16]], %[[y]], %[[y]] : (tensor<f16>, tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %1 = nn.select %c, %0, %0 : (tensor<f32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: nn.select %[[m]], %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: nn.select %{{.*}}, %[[one]], %[[one]] : (tensor<4xf16>, tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %2 = nn.select %m, %1, %1 : (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

sbp.variable @w : tensor<4x4xf32>
func.func @unscaled(%x: tensor<2x4xf32>) {
  %w = sbp.read @w : tensor<4x4xf32>
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has no loss_scale, but depends on @w, which is read as f16, in which small gradients are 0; give it {loss_scale = #nn.loss_scale<initial = 6.553600e+04, growth = 2.000000e+00, backoff = 5.000000e-01, interval = 2.000000e+03>} (a LossScale among the options of minimize in C++ and Python), or compute in bf16}}
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// What f16 stands for has no part in this loss.
sbp.variable @e : tensor<4x4xf32> frozen
sbp.variable @w : tensor<4xf32> policy #sbp.policy<compute_type = own>
// CHECK-LABEL: func.func @elsewhere
func.func @elsewhere(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = sbp.read @e : tensor<4x4xf32>
  %w = sbp.read @w : tensor<4xf32>
  %0 = nn.matmul %x, %e : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = nn.reduce_sum %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: nn.minimize
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %0 : tensor<2x4xf32>
}
