// RUN: splitcast-opt %s -nn-differentiate -split-input-file -verify-diagnostics

sbp.variable @w : tensor<4xf32>
// All ops without a gradient at once, and only those that the loss depends on a variable through.
func.func @without_gradient(%x: tensor<4xf32>) {
  %w = sbp.read @w : tensor<4xf32>
  %unrelated = nn.relu_grad %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{'nn.relu_grad' has no gradient}}
  %0 = nn.relu_grad %w, %unrelated : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{'nn.gelu_grad' has no gradient}}
  %1 = nn.gelu_grad %w, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.reduce_sum %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op depends on variables through 2 op(s) without a gradient; replace them, or freeze the variables before them}}
  nn.minimize %2 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// What lives for one step is no parameter.
sbp.variable @c : tensor<4xf32> carried
func.func @carried() {
  %c = sbp.read @c : tensor<4xf32>
  %0 = nn.reduce_sum %c {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss that depends on no trainable variable; nothing can be minimized}}
  nn.minimize %0 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32> frozen
func.func @nothing_trainable() {
  %w = sbp.read @w : tensor<4xf32>
  %0 = nn.reduce_sum %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss that depends on no trainable variable; nothing can be minimized}}
  nn.minimize %0 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
sbp.variable @w.m : tensor<4xf32> state_of @w role "momentum"
func.func @state_is_not_trained() {
  %w = sbp.read @w.m : tensor<4xf32>
  %0 = nn.reduce_sum %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss that depends on no trainable variable; nothing can be minimized}}
  nn.minimize %0 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @all_is_stopped() {
  %w = sbp.read @w : tensor<4xf32>
  %0 = nn.stop_gradient %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss that depends on no trainable variable; nothing can be minimized}}
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// How often something holds.
sbp.variable @w : tensor<4xf32>
func.func @all_is_compared(%x: tensor<4xf32>) {
  %w = sbp.read @w : tensor<4xf32>
  %0 = nn.compare %x, %w {predicate = "eq"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss that depends on no trainable variable; nothing can be minimized}}
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<f32>
func.func @two_scales() {
  %w = sbp.read @w : tensor<f32>
  nn.minimize %w {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<f32> with #nn.sgd<lr = 0.5>
  // expected-error @below {{'nn.minimize' op has loss_scale = #nn.loss_scale<initial = 4.000000e+00, growth = 2.000000e+00, backoff = 5.000000e-01, interval = 2.000000e+03>, but another nn.minimize has #nn.loss_scale<initial = 8.000000e+00, growth = 2.000000e+00, backoff = 5.000000e-01, interval = 2.000000e+03>; a module has one scale of losses: give both the same}}
  nn.minimize %w {loss_scale = #nn.loss_scale<initial = 4.0>} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<f32>
sbp.variable @optimizer.loss_scale : tensor<f32> init #sbp.constant<3.0> frozen
func.func @begins_elsewhere() {
  %w = sbp.read @w : tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss_scale of 8.000000e+00 at first, but @optimizer.loss_scale is initialized with 3.000000e+00; give both the same}}
  nn.minimize %w {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @w : tensor<f32>
sbp.variable @optimizer.loss_scale : tensor<f64> init #sbp.constant<8.0> frozen
func.func @something_else() {
  %w = sbp.read @w : tensor<f32>
  // expected-error @below {{'nn.minimize' op keeps its loss_scale in @optimizer.loss_scale, but that is something else; rename it}}
  nn.minimize %w {loss_scale = #nn.loss_scale<initial = 8.0>} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @b.bias : tensor<f32>
func.func @in_two_groups() {
  %w = sbp.read @b.bias : tensor<f32>
  // expected-error @below {{'nn.minimize' op has @b.bias in groups "biases" and "b"; a variable is in one: say patterns that do not overlap}}
  nn.minimize %w {groups = [#nn.parameters<"biases" of ["*.bias"] with #nn.sgd<lr = 0.5>>, #nn.parameters<"b" of ["x", "b.*"] with #nn.sgd<lr = 0.5>>]} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// Of names that are only like the patterns: each has all characters, but in another order, or one too few.
sbp.variable @a.a : tensor<f32>
sbp.variable @frozen.b : tensor<f32> frozen
func.func @group_of_none() {
  %w = sbp.read @a.a : tensor<f32>
  %f = sbp.read @frozen.b : tensor<f32>
  %l = nn.mul %w, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op has group "none" of ["*.b", "a.a*a", "a", ".a", "a.", "*a.a.*", "aa"], but trains no variable of such a name; say the names of variables that are not frozen and that the loss depends on}}
  nn.minimize %l {groups = [#nn.parameters<"none" of ["*.b", "a.a*a", "a", ".a", "a.", "*a.a.*", "aa"] with #nn.sgd<lr = 0.5>>]} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @m : tensor<2x3xf32>
sbp.variable @v : tensor<3xf32>
func.func @no_matrix() {
  %m = sbp.read @m : tensor<2x3xf32>
  %v = sbp.read @v : tensor<3xf32>
  %0 = nn.mul %m, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op trains @v, 'tensor<3xf32>', but muon updates matrices alone; put variables of other shapes into a group with another optimizer}}
  nn.minimize %1 : tensor<f32> with #nn.muon<lr = 0.5>
  return
}

// -----

sbp.variable @a.w : tensor<f32>
sbp.variable @b.w : tensor<f32> frozen
func.func @names_what_is_frozen() {
  %a = sbp.read @a.w : tensor<f32>
  %b = sbp.read @b.w : tensor<f32>
  %l = nn.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error @below {{'nn.minimize' op is of variables "b.*", but trains no variable of such a name; say the names of variables that are not frozen and that the loss depends on}}
  nn.minimize %l {variables = ["a.w", "b.*"]} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @a.w : tensor<f32>
func.func @names_none() {
  %a = sbp.read @a.w : tensor<f32>
  // expected-error @below {{'nn.minimize' op has a loss that depends on no trainable variable of ["a"]; nothing can be minimized}}
  nn.minimize %a {variables = ["a"]} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}
