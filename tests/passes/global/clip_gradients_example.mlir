// The example of 'nn-clip-gradients': two variables that share a norm.
// RUN: splitcast-opt %s -nn-clip-gradients | FileCheck %s

// CHECK: sbp.variable @optimizer.gradient_norm : tensor<f64> init #sbp.constant<0.000000e+00 : f64> group "optimizer" frozen
sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<2x3xf32>

// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[g:.*]]: tensor<4xf32>, %[[h:.*]]: tensor<2x3xf32>
func.func @train(%g: tensor<4xf32>, %h: tensor<2x3xf32>) {
  // CHECK: %[[scope:.*]] = sbp.scope "update" of @w
  // CHECK-NEXT: %[[t:.*]] = sbp.scope "update" of @v
  // CHECK-NEXT: %[[f:.*]] = sbp.fence %[[g]] in %[[scope]] : tensor<4xf32>
  // CHECK-NEXT: %[[parts:.*]] = nn.square_parts %[[f]] : (tensor<4xf32>) -> tensor<28xf64>
  // CHECK-NEXT: %[[k:.*]] = sbp.fence %[[h]] in %[[t]]
  // CHECK-NEXT: %[[q:.*]] = nn.square_parts %[[k]] : (tensor<2x3xf32>) -> tensor<28xf64>
  // CHECK-NEXT: %[[all:.*]] = nn.sum_parts %[[parts]], %[[q]]
  // CHECK-NEXT: %[[square:.*]] = nn.total_of_parts %[[all]] : (tensor<28xf64>) -> tensor<f64>
  // CHECK: %[[wide:.*]] = nn.div
  // CHECK-NEXT: %[[coefficient:.*]] = nn.cast %[[wide]] : (tensor<f64>) -> tensor<f32>
  // CHECK-NEXT: %[[clipped:.*]] = nn.mul %[[f]], %[[coefficient]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: %[[other:.*]] = nn.mul %[[k]]
  // CHECK: nn.update @w, %[[clipped]] in %[[scope]] : tensor<4xf32> with #nn.sgd<lr = 5.000000e-01>
  // CHECK-NEXT: nn.update @v, %[[other]] in %[[t]] : tensor<2x3xf32> with #nn.sgd<lr = 5.000000e-01>
  %scope = sbp.scope "update" of @w
  nn.update @w, %g in %scope {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %1 = sbp.scope "update" of @v
  nn.update @v, %h in %1 {clip_norm = 1.0, clip_set = 0} : tensor<2x3xf32> with #nn.sgd<lr = 0.5>
  return
}

// CHECK-LABEL: func.func @by_value
func.func @by_value(%g: tensor<4xf32>) {
  // CHECK: %[[g:.*]] = sbp.fence %arg0 in %[[s:.*]] :
  // CHECK-NEXT: %[[c:.*]] = nn.clamp %[[g]] {least = -5.000000e-01 : f64, most = 5.000000e-01 : f64}
  // CHECK-NEXT: nn.update @w, %[[c]] in %[[s]] : tensor<4xf32> with
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_value = 0.5} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// The norm is kept as it is before it is clipped to.
// CHECK-LABEL: func.func @kept
// CHECK: %[[f:.*]] = sbp.fence %arg0
// CHECK: %[[square:.*]] = nn.total_of_parts
// CHECK-NEXT: %[[norm:.*]] = nn.sqrt %[[square]]
// CHECK-NEXT: sbp.assign @optimizer.gradient_norm, %[[norm]] : tensor<f64>
// CHECK: %[[clipped:.*]] = nn.mul %[[f]]
// CHECK: nn.update @w, %[[clipped]] in %{{.*}} : tensor<4xf32> with
func.func @kept(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0, gradient_norm} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// Nothing else is made of it, or a value clips.
// CHECK-LABEL: func.func @kept_alone
// CHECK: sbp.fence %arg0
// CHECK: sbp.fence %arg1
// CHECK: sbp.assign @optimizer.gradient_norm
// CHECK-NOT: nn.mul
// CHECK: nn.update @w, %arg0 in %{{.*}} : tensor<4xf32> with
// CHECK: %[[clamped:.*]] = nn.clamp
// CHECK-NEXT: nn.update @v, %[[clamped]] in %{{.*}} : tensor<2x3xf32> with
func.func @kept_alone(%g: tensor<4xf32>, %h: tensor<2x3xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_set = 0, gradient_norm} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %1 = sbp.scope "update" of @v
  nn.update @v, %h in %1 {clip_set = 0, gradient_norm, clip_value = 0.5} : tensor<2x3xf32> with #nn.sgd<lr = 0.5>
  return
}
