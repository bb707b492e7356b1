// Variables of a group have its optimizer, in which a star is any characters, also none.
// RUN: splitcast-opt %s -nn-differentiate | FileCheck %s

// CHECK-LABEL: func.func @groups
// CHECK-DAG: nn.update @h.0.bias, {{.*}} {group = "rest"} : tensor<f32> with #nn.adamw<lr = 1.250000e-01, {{.*}}, weight_decay = 0.000000e+00>
// CHECK-DAG: nn.update @h.0.norm.weight, {{.*}} {group = "rest"} : tensor<f32> with #nn.adamw<lr = 1.250000e-01, {{.*}}, weight_decay = 0.000000e+00>
// CHECK-DAG: nn.update @h.0.weight, {{.*}} in %{{[0-9a-z]*}} : tensor<f32> with #nn.adamw<lr = 2.500000e-01, {{.*}}, weight_decay = 5.000000e-01>
// CHECK-DAG: nn.update @words, {{.*}} {group = "words"} : tensor<f32> with #nn.sgd<lr = 5.000000e-01>
sbp.variable @h.0.bias : tensor<f32>
sbp.variable @h.0.norm.weight : tensor<f32>
sbp.variable @h.0.weight : tensor<f32>
sbp.variable @words : tensor<f32>
func.func @groups() {
  %0 = sbp.read @h.0.bias : tensor<f32>
  %1 = sbp.read @h.0.norm.weight : tensor<f32>
  %2 = sbp.read @h.0.weight : tensor<f32>
  %3 = sbp.read @words : tensor<f32>
  %4 = nn.mul %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %5 = nn.mul %4, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %6 = nn.mul %5, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %6 {groups = [#nn.parameters<"rest" of ["h.*.bias", "h.*norm*.weight"] with #nn.adamw<lr = 0.125, weight_decay = 0.0>>,
                            #nn.parameters<"words" of ["words*"] with #nn.sgd<lr = 0.5>>]} : tensor<f32> with #nn.adamw<lr = 0.25, weight_decay = 0.5>
  return
}
