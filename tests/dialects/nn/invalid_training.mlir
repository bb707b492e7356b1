// Steps of training, optimizers and schedules of the learning rate that are refused.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @minimize_c1(%loss: tensor<1xf32>) {
  // expected-error @below {{'nn.minimize' op has a loss of type 'tensor<1xf32>'; a loss is a scalar: reduce it with nn.reduce_sum and nn.scale}}
  nn.minimize %loss : tensor<1xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c1_legal(%loss: tensor<f16>) {
  nn.minimize %loss : tensor<f16> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c2(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has optimizer "sgd"; it must be #nn.NAME, where NAME is adagrad, adam, adamw, lamb, lion, momentum, muon, nesterov, rmsprop or sgd}}
  nn.minimize %loss : tensor<f32> with "sgd"
  return
}

// -----

func.func @minimize_c2(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has schedule #nn.sgd<lr = 1.000000e-01>; it must be #nn.NAME, where NAME is constant, cosine, exponential, linear, polynomial or step}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1> schedule #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c3(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has clip_norm = 0.000000e+00; it must be a finite number above 0}}
  nn.minimize %loss {clip_norm = 0.0} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c3(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has clip_value = nan; it must be a finite number above 0}}
  nn.minimize %loss {clip_value = 0x7FF8000000000000 : f64} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c3(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has clip_norm = 1.000000e+00 and clip_value = 5.000000e-01; gradients can be clipped by one of them only}}
  nn.minimize %loss {clip_norm = 1.0, clip_value = 0.5} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c3(%g: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has clip_norm and no clip_set; give the number that updates with a common norm share}}
  nn.update @w, %g in %t {clip_norm = 1.0} : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c4(%loss: tensor<f16>) {
  // expected-error @below {{'nn.minimize' op has a loss_scale and a loss of type 'tensor<f16>', which scales overflow; compute the loss in f32}}
  nn.minimize %loss {loss_scale = #nn.loss_scale<initial = 1024>} : tensor<f16> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c4_legal(%loss: tensor<f64>) {
  nn.minimize %loss {loss_scale = #nn.loss_scale<initial = 1024, interval = 0>} : tensor<f64> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @scale(%loss: tensor<f32>) {
  // expected-error @below {{loss_scale has initial = 1000; it must be a power of 2 from 2^-126 to 2^126}}
  nn.minimize %loss {loss_scale = #nn.loss_scale<initial = 1000>} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @scale(%loss: tensor<f32>) {
  // expected-error @below {{loss_scale grows by less than 1 or backs off by more; growth must be at least 1, and backoff at most 1}}
  nn.minimize %loss {loss_scale = #nn.loss_scale<initial = 8, growth = 0.5>} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c4(%g: tensor<4xf32>, %s: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op is scaled by a 'tensor<4xf32>'; it must be a scalar of f32 or f64}}
  nn.update @w, %g scaled by %s : tensor<4xf32> in %t {loss_scale = #nn.loss_scale<initial = 8>} : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c4(%g: tensor<4xf32>, %s: tensor<f32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has a scale and no loss_scale; both come from nn.minimize, so write both or neither}}
  nn.update @w, %g scaled by %s : tensor<f32> in %t : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c4(%g: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has a loss_scale, but is scaled by nothing; both come from nn.minimize, so write both or neither}}
  nn.update @w, %g in %t {loss_scale = #nn.loss_scale<initial = 8>} : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c4_legal(%g: tensor<4xf32>, %s: tensor<f64>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g scaled by %s : tensor<f64> in %t {loss_scale = #nn.loss_scale<initial = 8>} : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c5(%g: tensor<4xf32>, %n: tensor<2xf64>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has an 'unless' of type 'tensor<2xf64>'; it must be a scalar of f64}}
  nn.update @w, %g unless %n : tensor<2xf64> in %t : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c5_legal(%g: tensor<4xf32>, %n: tensor<f64>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g unless %n : tensor<f64> in %t : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c2_legal(%loss: tensor<f32>) {
  nn.minimize %loss : tensor<f32> with #nn.nesterov<lr = 0.1> schedule #nn.constant<warmup = 10>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c2(%g: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has optimizer #nn.step<every = 1.000000e+00, gamma = 1.000000e-01, warmup = 0.000000e+00>; it must be #nn.NAME}}
  nn.update @w, %g in %t : tensor<4xf32> with #nn.step<every = 1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c2_legal(%g: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g in %t : tensor<4xf32> with #nn.lion<lr = 0.1> schedule #nn.step<every = 1>
  return
}

// -----

func.func @optimizer_unknown(%loss: tensor<f32>) {
  // expected-error @below {{'adamax' is no attribute of nn; optimizers are adagrad, adam, adamw, lamb, lion, momentum, muon, nesterov, rmsprop or sgd, schedules of the learning rate constant, cosine, exponential, linear, polynomial or step}}
  nn.minimize %loss : tensor<f32> with #nn.adamax<lr = 0.1>
}

// -----

func.func @optimizer_without_rate(%loss: tensor<f32>) {
  // expected-error @below {{adam needs lr; write lr = NUMBER between < and >}}
  nn.minimize %loss : tensor<f32> with #nn.adam<beta1 = 0.5>
}

// -----

func.func @optimizer_without_numbers(%loss: tensor<f32>) {
  // expected-error @below {{sgd needs lr; write lr = NUMBER between < and >}}
  nn.minimize %loss : tensor<f32> with #nn.sgd schedule #nn.step<every = 1>
}

// -----

func.func @optimizer_without_numbers(%loss: tensor<f32>) {
  // expected-error @below {{sgd needs lr; write lr = NUMBER between < and >}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<>
}

// -----

func.func @optimizer_number_of_bits(%loss: tensor<f32>) {
  // expected-error @below {{lr is 0x4132D68700000000; it must be written in decimal, as lr = 1.5 or lr = 2}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0x4132D68700000000>
}

// -----

func.func @optimizer_number_of_bits(%loss: tensor<f32>) {
  // expected-error @below {{momentum is 0x10; it must be written in decimal}}
  nn.minimize %loss : tensor<f32> with #nn.momentum<lr = 0.5, momentum = 0x10 >
}

// -----

func.func @optimizer_number_of_another_type(%loss: tensor<f32>) {
  // expected-error @below {{lr is 1 : i128; it must be a finite number of at least 0, written without a type}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 1 : i128>
}

// -----

func.func @optimizer_number_is_boolean(%loss: tensor<f32>) {
  // expected-error @below {{lr is true; it must be a finite number of at least 0, written without a type}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = true>
}

// -----

func.func @optimizer_rate_not_of_f32(%loss: tensor<f32>) {
  // expected-error @below {{sgd has lr = 1e+39, which f32 does not hold; it must be 0, or of a magnitude of 1.4e-45 to 3.4e+38}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 1.0e39>
}

// -----

func.func @optimizer_rate_not_of_f32(%loss: tensor<f32>) {
  // expected-error @below {{sgd has lr = 1e-60, which f32 does not hold}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 1.0e-60>
}

// -----

func.func @optimizer_number_unknown(%loss: tensor<f32>) {
  // expected-error @below {{adam has no 'weight_decay'; it has lr, beta1, beta2, epsilon}}
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.1, weight_decay = 0.1>
}

// -----

func.func @optimizer_number_twice(%loss: tensor<f32>) {
  // expected-error @below {{sgd says lr twice}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1, lr = 0.1>
}

// -----

func.func @optimizer_number_is_none(%loss: tensor<f32>) {
  // expected-error @below {{lr is "a"; it must be a finite number of at least 0}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = "a">
}

// -----

func.func @optimizer_number_out_of_bounds(%loss: tensor<f32>) {
  // expected-error @below {{adam has beta2 = 1; it must be a number of at least 0 and less than 1}}
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.1, beta2 = 1.0>
}

// -----

func.func @optimizer_rate_negative(%loss: tensor<f32>) {
  // expected-error @below {{sgd has lr = -0.5; it must be a finite number of at least 0}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = -0.5>
}

// -----

func.func @schedule_shorter_than_warmup(%loss: tensor<f32>) {
  // expected-error @below {{cosine has warmup = 100 of steps = 100; steps count the warm-up, too, so there must be more of them}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5> schedule #nn.cosine<steps = 100, warmup = 100>
}

// -----

func.func @schedule_of_half_steps(%loss: tensor<f32>) {
  // expected-error @below {{linear has steps = 2.5; it must be a whole number of at least 1}}
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5> schedule #nn.linear<steps = 2.5>
}

// -----

func.func @update_c1(%g: tensor<4xf32>) {
  %t = sbp.scope "update"
  // expected-error @below {{'nn.update' op names @w, but the module has no such sbp.variable}}
  nn.update @w, %g in %t : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c1(%g: tensor<2x2xf32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has a gradient of type 'tensor<2x2xf32>', but @w is 'tensor<4xf32>'}}
  nn.update @w, %g in %t : tensor<2x2xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>>
func.func @update_c1_legal(%g: tensor<4xf32, #sbp.nd<#p, [P]>>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g in %t : tensor<4xf32, #sbp.nd<#p, [P]>> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c3_legal(%loss: tensor<f32>) {
  nn.minimize %loss {clip_norm = 1.0} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c3_legal(%g: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g in %t {clip_value = 1.0} : tensor<4xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @Parameters_c1(%loss: tensor<f32>) {
  // expected-error @below {{parameters are called "no decay"; a name must consist of letters, digits and underscores}}
  nn.minimize %loss {groups = [#nn.parameters<"no decay" of ["*.bias"] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @Parameters_c1_legal(%loss: tensor<f32>) {
  nn.minimize %loss {groups = [#nn.parameters<"no_decay2" of ["*.bias"] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @Parameters_c2(%loss: tensor<f32>) {
  // expected-error @below {{parameters "none" are of []; give names of variables, with stars for any characters: ["*.bias", "norm.weight"]}}
  nn.minimize %loss {groups = [#nn.parameters<"none" of [] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @Parameters_c2(%loss: tensor<f32>) {
  // expected-error @below {{parameters "number" are of ["a", 1]; give names of variables, with stars for any characters: ["*.bias", "norm.weight"]}}
  nn.minimize %loss {groups = [#nn.parameters<"number" of ["a", 1] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @Parameters_c2_legal(%loss: tensor<f32>) {
  nn.minimize %loss {groups = [#nn.parameters<"all" of ["*"] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @no_optimizer(%loss: tensor<f32>) {
  // expected-error @below {{parameters "all" are updated with 1.000000e+00 : f64; it must be #nn.NAME, where NAME is}}
  nn.minimize %loss {groups = [#nn.parameters<"all" of ["*"] with 1.0>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c5(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has two groups called "a"; give each a name of its own}}
  nn.minimize %loss {groups = [#nn.parameters<"a" of ["x"] with #nn.sgd<lr = 0.1>>, #nn.parameters<"a" of ["y"] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c5_legal(%loss: tensor<f32>) {
  nn.minimize %loss {groups = [#nn.parameters<"a" of ["x"] with #nn.sgd<lr = 0.1>>, #nn.parameters<"b" of ["y"] with #nn.sgd<lr = 0.1>>]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c6(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has variables = ["x", ""]; give names, with stars for any characters: ["generator.*"]}}
  nn.minimize %loss {variables = ["x", ""]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c6(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has variables = []; give names}}
  nn.minimize %loss {variables = []} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c6(%loss: tensor<f32>) {
  // expected-error @below {{'nn.minimize' op has variables = [@x]; give names}}
  nn.minimize %loss {variables = [@x]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

func.func @minimize_c6_legal(%loss: tensor<f32>) {
  nn.minimize %loss {variables = ["x", "*.y"]} : tensor<f32> with #nn.sgd<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @update_c6(%g: tensor<4xf32>) {
  %t = sbp.scope "update" of @w
  // expected-error @below {{'nn.update' op has a gradient of type 'tensor<4xf32>', but muon updates matrices alone; put variables of other shapes into a group with another optimizer}}
  nn.update @w, %g in %t : tensor<4xf32> with #nn.muon<lr = 0.1>
  return
}

// -----

sbp.variable @w : tensor<4x0xf32>
func.func @update_c6_legal(%g: tensor<4x0xf32>) {
  %t = sbp.scope "update" of @w
  nn.update @w, %g in %t : tensor<4x0xf32> with #nn.muon<lr = 0.1>
  return
}
