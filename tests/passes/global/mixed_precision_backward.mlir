// What extends the narrow copy of a variable has a gradient of all digits, which goes to the variable without being
// rounded on its way: ranks add it up in the bucket, in the type that it is computed in.
// RUN: splitcast-opt %s -nn-mixed-precision=compute-type=bf16 -nn-differentiate | FileCheck %s
// RUN: splitcast-opt %s -enable-zero=stage=2,compute-type=bf16 | FileCheck %s --check-prefix=ZERO

#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @a.weight : tensor<4xf32>
sbp.variable @a.bias : tensor<4xf32>
sbp.variable @a.shift : tensor<4xf32>
// CHECK-LABEL: func.func @train
// CHECK: nn.layer_norm %{{.*}} -> tensor<12x4xf32>
// CHECK: sbp.scope "backward"
// CHECK-NOT: nn.cast
// CHECK: nn.update @a.shift, %{{.*}} : tensor<4xf32>
// One reduction of all gradients and one of the loss, and none of a type that loses digits.
// ZERO-LABEL: func.func @train
// ZERO-NOT: sbp.boxing %{{.*}} : tensor<{{.*}}, #P>
// ZERO: sbp.boxing %{{.*}} : tensor<48xf32, #P> -> tensor<48xf32, #S0_>
// ZERO: sbp.boxing %{{.*}} : tensor<f32, #P> -> tensor<f32, #B>
// ZERO-NOT: sbp.boxing %{{.*}} : tensor<{{.*}}, #P>
func.func @train(%x: tensor<12x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @a.weight : tensor<4xf32>
  %b = sbp.read @a.bias : tensor<4xf32>
  %s = sbp.read @a.shift : tensor<4xf32>
  %0 = nn.layer_norm %x, %w, %b {epsilon = 1.0e-5} : (tensor<12x4xf32, #S0>, tensor<4xf32>, tensor<4xf32>) -> tensor<12x4xf32>
  %1 = nn.add %0, %s : (tensor<12x4xf32>, tensor<4xf32>) -> tensor<12x4xf32>
  %2 = nn.mul %1, %1 : (tensor<12x4xf32>, tensor<12x4xf32>) -> tensor<12x4xf32>
  %loss = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<12x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
