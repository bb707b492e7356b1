// Groups of variables have a learning rate and counts of updates of their own; a schedule counts for all.
// RUN: splitcast-opt %s -nn-expand-optimizers | FileCheck %s

// CHECK-DAG: sbp.variable @optimizer.learning_rate : tensor<f32> init #sbp.constant<5.000000e-01 : f64>
// CHECK-DAG: sbp.variable @optimizer.rest.learning_rate : tensor<f32> init #sbp.constant<2.500000e-01 : f64>
// CHECK-DAG: sbp.variable @optimizer.beta1_power :
// CHECK-DAG: sbp.variable @optimizer.rest.beta1_power :
// CHECK-DAG: sbp.variable @optimizer.step :
// CHECK-NOT: sbp.variable @optimizer.{{.*}}step :
// CHECK-LABEL: func.func @train
// CHECK: %[[rate:.*]] = sbp.read @optimizer.learning_rate
// CHECK: sbp.assign @w
// CHECK: %[[rest:.*]] = sbp.read @optimizer.rest.learning_rate
// CHECK: sbp.assign @b
// CHECK-NOT: sbp.read @optimizer.learning_rate
// CHECK: %[[again:.*]] = sbp.read @optimizer.rest.learning_rate
// CHECK: sbp.assign @c
// CHECK: return
sbp.variable @optimizer.rest.learning_rate : tensor<f32> init #sbp.constant<0.25> frozen
sbp.variable @w : tensor<8xf32>
sbp.variable @b : tensor<8xf32>
sbp.variable @c : tensor<8xf32>
func.func @train(%g: tensor<8xf32>, %rate: tensor<f32>) {
  %0 = sbp.scope "update" of @w
  nn.update @w, %g in %0 : tensor<8xf32> with #nn.adam<lr = 0.5> schedule #nn.exponential<gamma = 0.5>
  %1 = sbp.scope "update" of @b
  nn.update @b, %g in %1 {group = "rest"} : tensor<8xf32> with #nn.adam<lr = 0.25, beta1 = 0.5> schedule #nn.exponential<gamma = 0.5>
  sbp.assign @optimizer.rest.learning_rate, %rate : tensor<f32>
  %2 = sbp.scope "update" of @c
  nn.update @c, %g in %2 {group = "rest"} : tensor<8xf32> with #nn.adam<lr = 0.25, beta1 = 0.5> schedule #nn.exponential<gamma = 0.5>
  return
}
