// Each optimizer as elementwise ops; what all variables share is read and changed once.
// RUN: splitcast-opt %s -nn-expand-optimizers -split-input-file | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
// CHECK: sbp.variable @optimizer.learning_rate : tensor<f32, #B> init #sbp.constant<5.000000e-01 : f64> group "optimizer" frozen
// CHECK-NEXT: sbp.variable @layer.w : tensor<8xf32, #B>
// CHECK-NEXT: sbp.variable @layer.w.momentum : tensor<8xf32, #B> init #sbp.constant<0.000000e+00 : f64> group "layer" state_of @layer.w role "momentum"
sbp.variable @layer.w : tensor<8xf32, #B>
// CHECK-NEXT: sbp.variable @h : tensor<8xbf16, #B> group "half"
// CHECK-NEXT: sbp.variable @h.momentum : tensor<8xbf16, #B> init #sbp.constant<0.000000e+00 : f64> group "half" state_of @h role "momentum"
sbp.variable @h : tensor<8xbf16, #B> group "half"

// CHECK-LABEL: func.func @momentum
// CHECK-SAME: %[[G:.*]]: tensor<8xf32>, %[[GH:.*]]: tensor<8xbf16>
func.func @momentum(%g: tensor<8xf32>, %gh: tensor<8xbf16>) {
  // CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @layer.w
  // CHECK-NEXT: %[[R:.*]] = sbp.read @layer.w :
  // CHECK-NEXT: %[[P:.*]] = sbp.fence %[[R]] in %[[S]]
  // CHECK-NEXT: %[[FG:.*]] = sbp.fence %[[G]] in %[[S]]
  // CHECK-NEXT: %[[RM:.*]] = sbp.read @layer.w.momentum
  // CHECK-NEXT: %[[M:.*]] = sbp.fence %[[RM]] in %[[S]]
  // CHECK-NEXT: %[[LR:.*]] = sbp.read @optimizer.learning_rate : tensor<f32>
  // CHECK-NEXT: %[[MM:.*]] = nn.scale %[[M]] {value = 7.500000e-01 : f64}
  // CHECK-NEXT: %[[NEW:.*]] = nn.add %[[MM]], %[[FG]]
  // CHECK-NEXT: sbp.assign @layer.w.momentum, %[[NEW]]
  // CHECK-NEXT: %[[STEP:.*]] = nn.mul %[[LR]], %[[NEW]] : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: %[[W:.*]] = nn.sub %[[P]], %[[STEP]]
  // CHECK-NEXT: sbp.assign @layer.w, %[[W]]
  %0 = sbp.scope "update" of @layer.w
  nn.update @layer.w, %g in %0 : tensor<8xf32> with #nn.momentum<lr = 0.5, momentum = 0.75>
  // The learning rate is read once, and cast for parameters of another type.
  // CHECK-NOT: sbp.read @optimizer
  // CHECK: nn.cast %[[LR]] : (tensor<f32>) -> tensor<bf16>
  // CHECK-NOT: sbp.read @optimizer
  // CHECK: sbp.assign @h.momentum, %{{.*}} : tensor<8xbf16>
  // CHECK: sbp.assign @h, %{{.*}} : tensor<8xbf16>
  %1 = sbp.scope "update" of @h
  nn.update @h, %gh in %1 : tensor<8xbf16> with #nn.momentum<lr = 0.5, momentum = 0.75>
  return
}

// -----

// CHECK: sbp.variable @optimizer.beta1_power : tensor<f64> init #sbp.constant<1.000000e+00 : f64> group "optimizer" frozen
// CHECK-NEXT: sbp.variable @optimizer.beta2_power : tensor<f64> init #sbp.constant<1.000000e+00 : f64> group "optimizer" frozen
// CHECK-NEXT: sbp.variable @optimizer.learning_rate
// CHECK-NEXT: sbp.variable @w : tensor<8xf32>{{$}}
// CHECK-DAG: sbp.variable @w.exp_avg : tensor<8xf32> init #sbp.constant<0.000000e+00 : f64> group "w" state_of @w role "exp_avg"
// CHECK-DAG: sbp.variable @w.exp_avg_sq : tensor<8xf32> init #sbp.constant<0.000000e+00 : f64> group "w" state_of @w role "exp_avg_sq"
sbp.variable @w : tensor<8xf32>
sbp.variable @v : tensor<8xf32>

// Kingma and Ba, algorithm 1, with the corrections in f64: beta1 = 1/2, beta2 = 3/4, epsilon = 1/8.
// CHECK-LABEL: func.func @adam
func.func @adam(%g: tensor<8xf32>) {
  // CHECK: %[[P:.*]] = sbp.fence
  // CHECK-NEXT: %[[G:.*]] = sbp.fence
  // CHECK-NEXT: sbp.read @w.exp_avg :
  // CHECK-NEXT: %[[M0:.*]] = sbp.fence
  // CHECK-NEXT: sbp.read @w.exp_avg_sq :
  // CHECK-NEXT: %[[V0:.*]] = sbp.fence
  // CHECK-NEXT: %[[M1:.*]] = nn.scale %[[M0]] {value = 5.000000e-01 : f64}
  // CHECK-NEXT: %[[G1:.*]] = nn.scale %[[G]] {value = 5.000000e-01 : f64}
  // CHECK-NEXT: %[[M:.*]] = nn.add %[[M1]], %[[G1]]
  // CHECK-NEXT: %[[V1:.*]] = nn.scale %[[V0]] {value = 7.500000e-01 : f64}
  // CHECK-NEXT: %[[GG:.*]] = nn.mul %[[G]], %[[G]]
  // CHECK-NEXT: %[[G2:.*]] = nn.scale %[[GG]] {value = 2.500000e-01 : f64}
  // CHECK-NEXT: %[[V:.*]] = nn.add %[[V1]], %[[G2]]
  // CHECK-NEXT: sbp.assign @w.exp_avg, %[[M]]
  // CHECK-NEXT: sbp.assign @w.exp_avg_sq, %[[V]]
  // CHECK-NEXT: %[[B1:.*]] = sbp.read @optimizer.beta1_power : tensor<f64>
  // CHECK-NEXT: %[[B1T:.*]] = nn.scale %[[B1]] {value = 5.000000e-01 : f64}
  // CHECK-NEXT: sbp.assign @optimizer.beta1_power, %[[B1T]]
  // CHECK-NEXT: %[[B2:.*]] = sbp.read @optimizer.beta2_power : tensor<f64>
  // CHECK-NEXT: %[[B2T:.*]] = nn.scale %[[B2]] {value = 7.500000e-01 : f64}
  // CHECK-NEXT: sbp.assign @optimizer.beta2_power, %[[B2T]]
  // CHECK-NEXT: %[[N2:.*]] = nn.scale %[[B2T]] {value = -1.000000e+00 : f64}
  // CHECK-NEXT: %[[C2:.*]] = nn.shift %[[N2]] {value = 1.000000e+00 : f64}
  // CHECK-NEXT: %[[R64:.*]] = nn.sqrt %[[C2]]
  // CHECK-NEXT: %[[R:.*]] = nn.cast %[[R64]] : (tensor<f64>) -> tensor<f32>
  // CHECK-NEXT: %[[SV:.*]] = nn.sqrt %[[V]]
  // CHECK-NEXT: %[[SVC:.*]] = nn.div %[[SV]], %[[R]]
  // CHECK-NEXT: %[[DEN:.*]] = nn.shift %[[SVC]] {value = 1.250000e-01 : f64}
  // CHECK-NEXT: %[[Q:.*]] = nn.div %[[M]], %[[DEN]]
  // CHECK-NEXT: %[[N1:.*]] = nn.scale %[[B1T]] {value = -1.000000e+00 : f64}
  // CHECK-NEXT: %[[C1:.*]] = nn.shift %[[N1]] {value = 1.000000e+00 : f64}
  // CHECK-NEXT: %[[LR:.*]] = sbp.read @optimizer.learning_rate : tensor<f32>
  // CHECK-NEXT: %[[LR64:.*]] = nn.cast %[[LR]] : (tensor<f32>) -> tensor<f64>
  // CHECK-NEXT: %[[A64:.*]] = nn.div %[[LR64]], %[[C1]] : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // CHECK-NEXT: %[[A:.*]] = nn.cast %[[A64]] : (tensor<f64>) -> tensor<f32>
  // CHECK-NEXT: %[[STEP:.*]] = nn.mul %[[A]], %[[Q]]
  // CHECK-NEXT: %[[NEW:.*]] = nn.sub %[[P]], %[[STEP]]
  // CHECK-NEXT: sbp.assign @w, %[[NEW]]
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  // The powers advance once per step, however many variables there are.
  // CHECK-NOT: sbp.{{read|assign}} @optimizer
  // CHECK: nn.scale %[[B1T]] {value = -1.000000e+00 : f64}
  // CHECK-NOT: sbp.{{read|assign}} @optimizer
  // CHECK: sbp.assign @v,
  %1 = sbp.scope "update" of @v
  nn.update @v, %g in %1 : tensor<8xf32> with #nn.adam<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125>
  return
}

// -----

sbp.variable @w : tensor<8xf32>
// Loshchilov and Hutter, algorithm 2: the parameter itself decays, before the step and not through the gradient.
// CHECK-LABEL: func.func @adamw
func.func @adamw(%g: tensor<8xf32>) {
  // CHECK: %[[P:.*]] = sbp.fence
  // CHECK-NEXT: %[[G:.*]] = sbp.fence
  // CHECK-NEXT: %[[LR:.*]] = sbp.read @optimizer.learning_rate
  // CHECK-NEXT: %[[RATE:.*]] = nn.scale %[[LR]] {value = 2.500000e-01 : f64}
  // CHECK-NEXT: %[[DECAY:.*]] = nn.mul %[[RATE]], %[[P]]
  // CHECK-NEXT: %[[DECAYED:.*]] = nn.sub %[[P]], %[[DECAY]]
  // CHECK: nn.scale %[[G]] {value = 5.000000e-01 : f64}
  // CHECK: %[[STEP:.*]] = nn.mul
  // CHECK: %[[STEP:.*]] = nn.mul
  // CHECK: %[[NEW:.*]] = nn.sub %[[DECAYED]], %[[STEP]]
  // CHECK-NEXT: sbp.assign @w, %[[NEW]]
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.adamw<lr = 0.5, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125, weight_decay = 0.25>
  return
}

// -----

sbp.variable @w : tensor<8xf32>
// A function that trains again continues with the state and the powers of the module.
// CHECK: module
// CHECK-COUNT-1: sbp.variable @w.momentum
// CHECK-NOT: sbp.variable
// CHECK-LABEL: func.func @first
// CHECK: sbp.assign @w.momentum
func.func @first(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.momentum<lr = 0.5, momentum = 0.75>
  return
}
// CHECK-LABEL: func.func @second
// CHECK: sbp.read @optimizer.learning_rate
// CHECK: sbp.assign @w.momentum
func.func @second(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.momentum<lr = 0.5, momentum = 0.75>
  return
}

// -----

// Behind an assignment of the learning rate, updates have the new one.
// CHECK-LABEL: func.func @rate_changes
// CHECK: %[[OLD:.*]] = sbp.read @optimizer.learning_rate
// CHECK: nn.mul %[[OLD]]
// CHECK: sbp.assign @w
// CHECK: nn.mul %[[OLD]]
// CHECK: sbp.assign @v
// CHECK: sbp.assign @optimizer.learning_rate
// CHECK: %[[NEW:.*]] = sbp.read @optimizer.learning_rate
// CHECK: nn.mul %[[NEW]]
// CHECK: sbp.assign @w
sbp.variable @optimizer.learning_rate : tensor<f32> init #sbp.constant<0.1 : f32> frozen
sbp.variable @w : tensor<8xf32>
sbp.variable @v : tensor<8xf32>
func.func @rate_changes(%g: tensor<8xf32>, %rate: tensor<f32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.1>
  %1 = sbp.scope "update" of @v
  nn.update @v, %g in %1 : tensor<8xf32> with #nn.sgd<lr = 0.1>
  sbp.assign @optimizer.learning_rate, %rate : tensor<f32>
  %2 = sbp.scope "update" of @w
  nn.update @w, %g in %2 : tensor<8xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

// Nor has it the old one behind an update of itself.
// CHECK-LABEL: func.func @rate_is_trained
// CHECK: sbp.assign @optimizer.learning_rate
// CHECK: %[[NEW:.*]] = sbp.read @optimizer.learning_rate
// CHECK: nn.mul %[[NEW]]
// CHECK: sbp.assign @w
sbp.variable @optimizer.learning_rate : tensor<f32> init #sbp.constant<0.1 : f32>
sbp.variable @w : tensor<8xf32>
func.func @rate_is_trained(%g: tensor<8xf32>, %slope: tensor<f32>) {
  %0 = sbp.scope "update" of @optimizer.learning_rate
  nn.update @optimizer.learning_rate, %slope in %0 : tensor<f32> with #nn.sgd<lr = 0.1>
  %1 = sbp.scope "update" of @w
  nn.update @w, %g in %1 : tensor<8xf32> with #nn.sgd<lr = 0.1>
  return
}

// -----

// A schedule: what it says of this run of the function, once for all variables; then the run is counted.
// CHECK: sbp.variable @optimizer.step : tensor<f64> init #sbp.constant<0.000000e+00 : f64> group "optimizer" frozen
// CHECK-LABEL: func.func @scheduled
// CHECK: %[[RATE:.*]] = sbp.read @optimizer.learning_rate : tensor<f32>
// CHECK-NEXT: %[[STEP:.*]] = sbp.read @optimizer.step : tensor<f64>
// CHECK: %[[FACTOR:.*]] = nn.exp
// CHECK-NEXT: %[[NEXT:.*]] = nn.shift %[[STEP]] {value = 1.000000e+00 : f64}
// CHECK-NEXT: sbp.assign @optimizer.step, %[[NEXT]]
// CHECK-NEXT: %[[WIDE:.*]] = nn.cast %[[RATE]] : (tensor<f32>) -> tensor<f64>
// CHECK-NEXT: %[[NOW:.*]] = nn.mul %[[WIDE]], %[[FACTOR]]
// CHECK-NEXT: %[[NARROW:.*]] = nn.cast %[[NOW]] : (tensor<f64>) -> tensor<f32>
// CHECK-NEXT: nn.mul %[[NARROW]]
// CHECK: sbp.assign @w
// CHECK-NOT: @optimizer
// CHECK: %[[AGAIN:.*]] = nn.cast %[[NOW]]
// CHECK-NEXT: nn.mul %[[AGAIN]]
// CHECK: sbp.assign @v
sbp.variable @w : tensor<8xf32>
sbp.variable @v : tensor<8xf32>
func.func @scheduled(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.exponential<gamma = 0.9>
  %1 = sbp.scope "update" of @v
  nn.update @v, %g in %1 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.exponential<gamma = 0.9>
  return
}

// -----

// Two schedules count apart; functions that have one count together.
// CHECK-DAG: sbp.variable @optimizer.train.tune.step
// CHECK-DAG: sbp.variable @optimizer.other.step
// CHECK-NOT: sbp.variable @optimizer.step
// CHECK-LABEL: func.func @train
// CHECK: sbp.assign @optimizer.train.tune.step
sbp.variable @w : tensor<8xf32>
func.func @train(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.exponential<gamma = 0.9>
  return
}
// CHECK-LABEL: func.func @tune
// CHECK: sbp.assign @optimizer.train.tune.step
func.func @tune(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.exponential<gamma = 0.9>
  return
}
// CHECK-LABEL: func.func @other
// CHECK: sbp.assign @optimizer.other.step
func.func @other(%g: tensor<8xf32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.linear<steps = 10>
  return
}

// -----

// Functions whose steps may be left out count together, too, whatever variables they update: a loss scale changes no rate.
// CHECK-DAG: sbp.variable @optimizer.step
// CHECK-NOT: sbp.variable @optimizer.{{.*}}.step
// CHECK-LABEL: func.func @generator
// CHECK: %[[STEP:.*]] = nn.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f64>, tensor<f64>, tensor<f64>)
// CHECK: sbp.assign @optimizer.step, %[[STEP]]
sbp.variable @g.w : tensor<8xf32>
sbp.variable @d.w : tensor<8xf32>
func.func @generator(%g: tensor<8xf32>, %n: tensor<f64>) {
  %0 = sbp.scope "update" of @g.w
  nn.update @g.w, %g unless %n : tensor<f64> in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.exponential<gamma = 0.9>
  return
}
// CHECK-LABEL: func.func @discriminator
// CHECK: sbp.assign @optimizer.step
func.func @discriminator(%g: tensor<8xf32>, %n: tensor<f64>) {
  %0 = sbp.scope "update" of @d.w
  nn.update @d.w, %g unless %n : tensor<f64> in %0 : tensor<8xf32> with #nn.sgd<lr = 0.5> schedule #nn.exponential<gamma = 0.9>
  return
}

// -----

// A learning rate that the module has in f64 stays so: a model in f64 would notice the rounding.
sbp.variable @optimizer.learning_rate : tensor<f64> init #sbp.constant<0.1 : f64> group "optimizer" frozen
sbp.variable @wide : tensor<8xf64> group "wide"
sbp.variable @narrow : tensor<8xf32> group "narrow"

// CHECK-LABEL: func.func @rate_in_f64
func.func @rate_in_f64(%g: tensor<8xf64>, %h: tensor<8xf32>) {
  // CHECK: %[[LR:.*]] = sbp.read @optimizer.learning_rate : tensor<f64>
  // CHECK: nn.mul %[[LR]], %{{.*}} : (tensor<f64>, tensor<8xf64>) -> tensor<8xf64>
  %0 = sbp.scope "update" of @wide
  nn.update @wide, %g in %0 : tensor<8xf64> with #nn.sgd<lr = 0.1>
  // CHECK: nn.cast %[[LR]] : (tensor<f64>) -> tensor<f32>
  %1 = sbp.scope "update" of @narrow
  nn.update @narrow, %h in %1 : tensor<8xf32> with #nn.sgd<lr = 0.1>
  return
}
