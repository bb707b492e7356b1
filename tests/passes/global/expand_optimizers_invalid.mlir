// Optimizers that would share a learning rate though they differ: one of them would silently train with the other's; and names
// that optimizers give, taken by something else.
// RUN: splitcast-opt %s -nn-expand-optimizers -split-input-file -verify-diagnostics

sbp.variable @a : tensor<8xf32>
sbp.variable @b : tensor<8xf32>
func.func @learning_rates(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @a
  nn.update @a, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.125>
  %1 = sbp.scope "update" of @b
  // expected-error @below {{'nn.update' op starts @optimizer.learning_rate at 5.000000e-01, but it is initialized with 1.250000e-01; a module has one learning rate, and one for each of nn.minimize's groups: put variables that need another one into a group, or assign @optimizer.learning_rate before each update}}
  nn.update @b, %g in %1 : tensor<8xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @a : tensor<8xf32>
sbp.variable @optimizer.beta1_power : tensor<8xf64>
func.func @power_of_another_type(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @a
  // expected-error @below {{'nn.update' op keeps a scalar in @optimizer.beta1_power, but that is something else; rename it}}
  nn.update @a, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}

// -----

sbp.variable @a : tensor<8xf32>
func.func @optimizer.learning_rate(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @a
  // expected-error @below {{'nn.update' op keeps a scalar in @optimizer.learning_rate, but that is something else; rename it}}
  nn.update @a, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

sbp.variable @a : tensor<8xf32>
func.func @a.momentum(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @a
  // expected-error @below {{'nn.update' op keeps its state in @a.momentum, but that is no variable; rename it}}
  nn.update @a, %g in %0 : tensor<8xf32> with #nn.momentum<lr = 0.5, momentum = 0.5>
  return
}

// -----

sbp.variable @a : tensor<8xf32>
sbp.variable @a.momentum : tensor<4xf32>
func.func @state_of_another_type(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @a
  // expected-error @below {{'nn.update' op keeps its state in @a.momentum, but that is another variable; rename it}}
  nn.update @a, %g in %0 : tensor<8xf32> with #nn.momentum<lr = 0.5, momentum = 0.5>
  return
}
