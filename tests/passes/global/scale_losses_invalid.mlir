// What 'nn-scale-losses' refuses.
// RUN: splitcast-opt %s -nn-scale-losses -split-input-file -verify-diagnostics

sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @scale_losses_c1(%g: tensor<4xf32>, %s: tensor<f32>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g scaled by %s : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  // expected-error @below {{'nn.update' op of @v has the same scale as that of @w, but they have loss_scale = #nn.loss_scale<initial = 4.000000e+00, growth = 2.000000e+00, backoff = 5.000000e-01, interval = 2.000000e+03> and #nn.loss_scale<initial = 8.000000e+00, growth = 2.000000e+00, backoff = 5.000000e-01, interval = 2.000000e+03>; give both the same}}
  nn.update @v, %g scaled by %s : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 4.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
func.func @scale_losses_c2(%g: tensor<4xf32>, %s: tensor<f32>, %n: tensor<f64>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op of @w is scaled and has an 'unless'; leave out the 'unless', which this pass adds}}
  nn.update @w, %g scaled by %s : tensor<f32> unless %n : tensor<f64> in %t {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @optimizer.finite_steps : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
func.func @scale_losses_c3(%g: tensor<4xf32>, %s: tensor<f32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op changes its loss_scale in @optimizer.loss_scale by the steps in @optimizer.finite_steps, but these are not scalars of f32 and f64; rename them, or run 'nn-differentiate'}}
  nn.update @w, %g scaled by %s : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>
func.func @scale_losses_c1_legal(%g: tensor<4xf32>, %s: tensor<f32>, %n: tensor<f64>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g scaled by %s : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  nn.update @v, %g scaled by %s : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}
func.func @scale_losses_c2_legal(%g: tensor<4xf32>, %n: tensor<f64>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g unless %n : tensor<f64> in %t : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @optimizer.finite_steps : tensor<f64> frozen
sbp.variable @optimizer.loss_scale : tensor<f32> frozen
sbp.variable @w : tensor<4xf32>
func.func @scale_losses_c3_legal(%g: tensor<4xf32>, %s: tensor<f32>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g scaled by %s : tensor<f32> in %t {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<4xf32> with #nn.sgd<lr = 0.5>
  return
}
