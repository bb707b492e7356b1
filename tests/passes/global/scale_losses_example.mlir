// The example of 'nn-scale-losses': two variables that one loss updates.
// RUN: splitcast-opt %s -nn-scale-losses -split-input-file | FileCheck %s

sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32> group "a"
sbp.variable @v : tensor<2x3xf32> group "a"

// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[g:.*]]: tensor<4xf32>, %[[h:.*]]: tensor<2x3xf32>
func.func @train(%g: tensor<4xf32>, %h: tensor<2x3xf32>) {
  // CHECK: %[[scale:.*]] = sbp.read @optimizer.loss_scale
  // CHECK: %[[inverse:.*]] = nn.div %{{.*}}, %[[scale]]
  // CHECK-NEXT: %[[t:.*]] = sbp.scope "update" of @v
  // CHECK-NEXT: %[[f:.*]] = sbp.fence %[[g]] in %[[scope:.*]] : tensor<4xf32>
  // CHECK-NEXT: %[[divided:.*]] = nn.mul %[[f]], %[[inverse]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[i:.*]] = nn.nonfinite %[[divided]] : (tensor<4xf32>) -> tensor<f64>
  // CHECK-NEXT: %[[k:.*]] = sbp.fence %[[h]] in %[[t]]
  // CHECK-NEXT: %[[other:.*]] = nn.mul %[[k]], %[[inverse]]
  // CHECK-NEXT: %[[j:.*]] = nn.nonfinite %[[other]] : (tensor<2x3xf32>) -> tensor<f64>
  // CHECK-NEXT: %[[nonfinite:.*]] = nn.sum_parts %[[i]], %[[j]]
  // CHECK: nn.select
  // CHECK: sbp.assign @optimizer.loss_scale
  // CHECK: sbp.assign @optimizer.finite_steps
  // CHECK: nn.update @w, %[[divided]] unless %[[nonfinite]] : tensor<f64> in %[[scope]] : tensor<4xf32> with #nn.sgd<lr = 5.000000e-01>
  // CHECK-NEXT: nn.update @v, %[[other]] unless %[[nonfinite]] : tensor<f64> in %[[t]] : tensor<2x3xf32> with #nn.sgd<lr = 5.000000e-01>
  %scale = sbp.read @optimizer.loss_scale : tensor<f32>
  %scope = sbp.scope "update" of @w
  nn.update @w, %g scaled by %scale : tensor<f32> in %scope {loss_scale = #nn.loss_scale<initial = 1024.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %t = sbp.scope "update" of @v
  nn.update @v, %h scaled by %scale : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 1024.0>} : tensor<2x3xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// A scale that stays: nothing is assigned. A gradient of f16 is divided as f32.
sbp.variable @w : tensor<4xf16>
// CHECK-LABEL: func.func @fixed
func.func @fixed(%g: tensor<4xf16>, %scale: tensor<f32>) {
  // CHECK: %[[f:.*]] = sbp.fence %arg0 in
  // CHECK-NEXT: %[[wide:.*]] = nn.cast %[[f]] : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: %[[d:.*]] = nn.mul %[[wide]]
  // CHECK-NEXT: %[[n:.*]] = nn.cast %[[d]] : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK-NEXT: %[[i:.*]] = nn.nonfinite %[[n]]
  // CHECK-NEXT: nn.update @w, %[[n]] unless %[[i]] : tensor<f64> in
  // CHECK-NOT: sbp.assign
  %t = sbp.scope "update" of @w
  nn.update @w, %g scaled by %scale : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 8.0, interval = 0>} : tensor<4xf16> with #nn.sgd<lr = 0.5>
  return
}

// -----

// A scale of f64 divides f32 as f32.
// CHECK-LABEL: func.func @in_f64
func.func @in_f64(%g: tensor<4xf32>, %scale: tensor<f64>) {
  // CHECK: nn.cast %{{.*}} : (tensor<f64>) -> tensor<f32>
  // CHECK: nn.nonfinite %{{.*}} : (tensor<4xf32>)
  %t = sbp.scope "update" of @w
  nn.update @w, %g scaled by %scale : tensor<f64> in %t {loss_scale = #nn.loss_scale<initial = 8.0, interval = 0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}
sbp.variable @w : tensor<4xf32>

// -----

// Two losses, the second of what the first has updated: each leaves out its own updates, and the scale changes once.
sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
// CHECK-LABEL: func.func @two_losses
func.func @two_losses(%g: tensor<4xf32>) {
  // CHECK: %[[i:.*]] = nn.nonfinite
  // CHECK-NEXT: nn.update @w, %{{.*}} unless %[[i]] : tensor<f64>
  // CHECK: %[[j:.*]] = nn.nonfinite
  // CHECK-NEXT: %[[both:.*]] = nn.sum_parts %[[i]], %[[j]]
  // CHECK: sbp.assign @optimizer.loss_scale
  // CHECK-NEXT: nn.scale
  // CHECK: sbp.assign @optimizer.finite_steps
  // CHECK-NEXT: nn.update @w, %{{.*}} unless %[[j]] : tensor<f64>
  // CHECK-NOT: sbp.assign @optimizer.loss_scale
  %scale = sbp.read @optimizer.loss_scale : tensor<f32>
  %scope = sbp.scope "update" of @w
  nn.update @w, %g scaled by %scale : tensor<f32> in %scope {loss_scale = #nn.loss_scale<initial = 1024.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %h = nn.neg %g : (tensor<4xf32>) -> tensor<4xf32>
  nn.update @w, %h scaled by %scale : tensor<f32> in %scope {loss_scale = #nn.loss_scale<initial = 1024.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}
