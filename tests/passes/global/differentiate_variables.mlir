// A step trains the variables that it names; another function's step trains the others.
// RUN: splitcast-opt %s -nn-differentiate | FileCheck %s

sbp.variable @make.w : tensor<f32>
sbp.variable @make.b : tensor<f32>
sbp.variable @judge.w : tensor<f32>

// The gradient of @judge.w, which would be a product with %made, is not computed.
// CHECK-LABEL: func.func @make
// CHECK: %[[JUDGE:.*]] = sbp.read @judge.w
// CHECK: sbp.scope "backward"
// CHECK: nn.mul {{.*}}%[[JUDGE]]
// CHECK-NOT: nn.update @judge.w
// CHECK-DAG: nn.update @make.w
// CHECK-DAG: nn.update @make.b
func.func @make(%x: tensor<f32>) {
  %w = sbp.read @make.w : tensor<f32>
  %b = sbp.read @make.b : tensor<f32>
  %judge = sbp.read @judge.w : tensor<f32>
  %0 = nn.mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %made = nn.add %0, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = nn.mul %made, %judge : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %1 {variables = ["make.*"]} : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// CHECK-LABEL: func.func @judge
// CHECK-NOT: nn.update @make
// CHECK: nn.update @judge.w
// CHECK-NOT: nn.update @make
func.func @judge(%x: tensor<f32>) {
  %w = sbp.read @make.w : tensor<f32>
  %judge = sbp.read @judge.w : tensor<f32>
  %made = nn.mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = nn.mul %made, %judge : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %1 {variables = ["judge.*"]} : tensor<f32> with #nn.adamw<lr = 0.5>
  return
}
