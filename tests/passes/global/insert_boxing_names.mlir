// A bucket and a group of one name are two: the second bucket of group "a" is called @a_1, too, and what it keeps does not keep
// the group "a_1", which backward gathers again.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage=stage=3 -sbp-propagate -sbp-insert-boxing \
// RUN:   | FileCheck %s
// CHECK: sbp.bucket @a_1 {{.*}} holds [@a.v]
// CHECK-LABEL: func.func @train
// CHECK-DAG: sbp.scope "forward" group "a"
// CHECK-DAG: sbp.scope "forward" group "a_1"
// CHECK-DAG: sbp.scope "forward" group "a_1"
// CHECK-DAG: sbp.scope "backward" group "a_1"
// CHECK: sbp.read
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.group "a_1" #sbp.policy<strategy = tensor>
sbp.variable @a_1.w : tensor<8x8xf32, #B>
sbp.variable @a.w : tensor<8x8xf32, #B>
sbp.variable @a.v : tensor<8x8xf32, #B> policy #sbp.policy<bucket_bytes=1>
func.func @train(%x: tensor<8x8xf32, #S0>) -> tensor<f32> {
  %a = sbp.read @a_1.w : tensor<8x8xf32>
  %b = sbp.read @a.w : tensor<8x8xf32>
  %c = sbp.read @a.v : tensor<8x8xf32>
  %1 = nn.matmul %x, %b : (tensor<8x8xf32, #S0>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1 = nn.tanh %1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.matmul %t1, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2 = nn.tanh %2 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = nn.matmul %t2, %c : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %l = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<8x8xf32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5>
  return %l : tensor<f32>
}
