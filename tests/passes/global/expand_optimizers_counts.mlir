// The powers of betas say how many updates a variable has had: those that are always updated together share them, others not.
// RUN: splitcast-opt %s -nn-expand-optimizers -split-input-file | FileCheck %s

// A function each, with betas of its own.
// CHECK-DAG: sbp.variable @optimizer.d.beta1_power :
// CHECK-DAG: sbp.variable @optimizer.d.beta2_power :
// CHECK-DAG: sbp.variable @optimizer.g.beta1_power :
// CHECK-DAG: sbp.variable @optimizer.g.beta2_power :
// CHECK-NOT: sbp.variable @optimizer.beta
sbp.variable @d.w : tensor<8xf32>
sbp.variable @g.w : tensor<8xf32>
// CHECK-LABEL: func.func @d
// CHECK: sbp.read @optimizer.d.beta1_power
// CHECK-NEXT: nn.scale {{.*}} {value = 5.000000e-01 : f64}
// CHECK-NEXT: sbp.assign @optimizer.d.beta1_power
func.func @d(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @d.w
  nn.update @d.w, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}
// CHECK-LABEL: func.func @g
// CHECK: sbp.read @optimizer.g.beta1_power
// CHECK-NEXT: nn.scale {{.*}} {value = 2.500000e-01 : f64}
// CHECK-NEXT: sbp.assign @optimizer.g.beta1_power
func.func @g(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @g.w
  nn.update @g.w, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.25, beta2 = 0.75, epsilon = 0.125>
  return
}

// -----

// The same optimizer in both, but @head has the updates of one function and @body those of two.
// CHECK-DAG: sbp.variable @optimizer.train.tune.beta1_power :
// CHECK-DAG: sbp.variable @optimizer.train.beta1_power :
sbp.variable @head : tensor<8xf32>
sbp.variable @body : tensor<8xf32>
// CHECK-LABEL: func.func @train
// CHECK-DAG: sbp.assign @optimizer.train.tune.beta1_power
// CHECK-DAG: sbp.assign @optimizer.train.beta1_power
// CHECK: return
func.func @train(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @head
  nn.update @head, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  %1 = sbp.scope "update" of @body
  nn.update @body, %g in %1 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}
// CHECK-LABEL: func.func @tune
// CHECK-NOT: @optimizer.train.beta1_power
// CHECK: sbp.assign @optimizer.train.tune.beta1_power
// CHECK-NOT: @optimizer.train.beta1_power
// CHECK: return
func.func @tune(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @head
  nn.update @head, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}

// -----

// One count for all variables of both functions: what does not count is not counted.
// CHECK: sbp.variable @optimizer.beta1_power :
sbp.variable @w : tensor<8xf32>
// CHECK-LABEL: func.func @long
// CHECK: sbp.assign @optimizer.beta1_power
func.func @long(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}
// CHECK-LABEL: func.func @short
// CHECK: sbp.assign @optimizer.beta1_power
func.func @short(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}
// CHECK-LABEL: func.func @plain
// CHECK-NOT: @optimizer.beta1_power
// CHECK: return
func.func @plain(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5>
  return
}

// -----

// Betas of their own in one function, which numbers the second; and updated twice in a step is two steps.
// CHECK-DAG: sbp.variable @optimizer.f.beta1_power :
// CHECK-DAG: sbp.variable @optimizer.f.1.beta1_power :
sbp.variable @a : tensor<8xf32>
sbp.variable @b : tensor<8xf32>
// CHECK-LABEL: func.func @f
// CHECK: sbp.read @optimizer.f.beta1_power
// CHECK-NEXT: %[[ONCE:.*]] = nn.scale {{.*}} {value = 5.000000e-01 : f64}
// CHECK-NEXT: sbp.assign @optimizer.f.beta1_power, %[[ONCE]]
// CHECK: sbp.read @optimizer.f.beta1_power
// CHECK-NEXT: %[[TWICE:.*]] = nn.scale {{.*}} {value = 5.000000e-01 : f64}
// CHECK-NEXT: sbp.assign @optimizer.f.beta1_power, %[[TWICE]]
// CHECK: sbp.read @optimizer.f.1.beta1_power
// CHECK-NEXT: nn.scale {{.*}} {value = 2.500000e-01 : f64}
func.func @f(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @a
  nn.update @a, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  %1 = sbp.scope "update" of @a
  nn.update @a, %g in %1 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  %2 = sbp.scope "update" of @b
  nn.update @b, %g in %2 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.25, beta2 = 0.75, epsilon = 0.125>
  return
}
