// Updates that cannot share a norm.
// RUN: splitcast-opt %s -nn-clip-gradients -split-input-file -verify-diagnostics

sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @clip_gradients_c1(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %1 = sbp.scope "update" of @v
  // expected-error @below {{'nn.update' op of @v shares a norm with that of @w, but they have clip_norm = 2.000000e+00 and clip_norm = 1.000000e+00; give both the same, or one of them another clip_set}}
  nn.update @v, %g in %1 {clip_norm = 2.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @clip_gradients_c2(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %h = sbp.read @w : tensor<4xf32>
  %1 = sbp.scope "update" of @v
  // expected-error @below {{'nn.update' op of @v shares a norm with that of @w, which comes before its gradient; make all gradients before the first update, or give it another clip_set}}
  nn.update @v, %h in %1 {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<131072x131073xf32>
func.func @clip_gradients_c3(%g: tensor<131072x131073xf32>) {
  %0 = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op of @w shares a norm of 17180000256 elements; squares are added up without rounding up to 17179869184, so clip by value, or with several clip_sets}}
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0} : tensor<131072x131073xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<131072x131072xf32>
func.func @clip_gradients_c3_legal(%g: tensor<131072x131072xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0} : tensor<131072x131072xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @clip_gradients_c1_legal(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %1 = sbp.scope "update" of @v
  nn.update @v, %g in %1 {clip_norm = 2.0, clip_set = 1} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @clip_gradients_c2_legal(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %h = sbp.read @w : tensor<4xf32>
  %1 = sbp.scope "update" of @v
  nn.update @v, %h in %1 {clip_norm = 1.0, clip_set = 1} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// Any number is one of a set.
sbp.variable @w : tensor<4xf32>
func.func @clip_gradients_c1_legal(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 9223372036854775807} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @clip_gradients_c1(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 {clip_norm = 1.0, clip_set = 0, gradient_norm} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  %1 = sbp.scope "update" of @v
  // expected-error @below {{'nn.update' op of @v shares a norm with that of @w, but they have clip_norm = 1.000000e+00 and clip_norm = 1.000000e+00 with gradient_norm; give both the same, or one of them another clip_set}}
  nn.update @v, %g in %1 {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
sbp.variable @optimizer.gradient_norm : tensor<4xf32>
func.func @taken(%g: tensor<4xf32>) {
  %0 = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op keeps the norm of gradients in @optimizer.gradient_norm, but that is something else; rename it}}
  nn.update @w, %g in %0 {clip_set = 0, gradient_norm} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}
