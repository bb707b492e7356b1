// Ranks of an axis before that of the batch cut no rows of it: which rows a rank then has would depend on how many ranks
// have parts of the batch. On one, cutting rows that all have costs nothing, and it was chosen for the bias's gradient.
// RUN: splitcast-opt %s -enable-zero="stage=0 axis=dp" | FileCheck %s

#p = #sbp.placement<"cpu", [tp = 2, dp = 1]>
#B = #sbp.nd<#p, [B, B]>
#X = #sbp.nd<#p, [B, S(0)]>
#S0 = #sbp.nd<#p, [S(0), B]>
#S1 = #sbp.nd<#p, [S(1), B]>
// CHECK-NOT: #S0__S0_
// CHECK: %d_grad = nn.reduce_sum {{.*}} -> tensor<4xf32, #S0__P>
// CHECK-NOT: #S0__S0_
module attributes {sbp.placement = #p} {
  sbp.variable @a : tensor<4x8xf32, #S1>
  sbp.variable @b : tensor<8x4xf32, #S0>
  sbp.variable @d : tensor<4xf32, #B>
  sbp.variable @w : tensor<4xf32, #B>
  sbp.variable @v : tensor<4xf32, #B>
  sbp.variable @e : tensor<4x8xf32, #S1>
  sbp.variable @f : tensor<8x4xf32, #S0>
  func.func @train(%x: tensor<24x4xf32, #X>) -> tensor<f32> attributes {sbp.micro_batches = 12 : i64, sbp.reproducible = true} {
    %a = sbp.read @a : tensor<4x8xf32>
    %b = sbp.read @b : tensor<8x4xf32>
    %d = sbp.read @d : tensor<4xf32>
    %w = sbp.read @w : tensor<4xf32>
    %v = sbp.read @v : tensor<4xf32>
    %e = sbp.read @e : tensor<4x8xf32>
    %f = sbp.read @f : tensor<8x4xf32>
    %0 = nn.matmul %x, %a : (tensor<24x4xf32, #X>, tensor<4x8xf32>) -> tensor<24x8xf32>
    %1 = nn.gelu %0 : (tensor<24x8xf32>) -> tensor<24x8xf32>
    %2 = nn.matmul %1, %b : (tensor<24x8xf32>, tensor<8x4xf32>) -> tensor<24x4xf32>
    %3 = nn.add %2, %d : (tensor<24x4xf32>, tensor<4xf32>) -> tensor<24x4xf32>
    %4 = nn.layer_norm %3, %w, %v {epsilon = 1.0e-05 : f64} : (tensor<24x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<24x4xf32>
    %5 = nn.matmul %4, %e : (tensor<24x4xf32>, tensor<4x8xf32>) -> tensor<24x8xf32>
    %6 = nn.gelu %5 : (tensor<24x8xf32>) -> tensor<24x8xf32>
    %7 = nn.matmul %6, %f : (tensor<24x8xf32>, tensor<8x4xf32>) -> tensor<24x4xf32>
    %8 = nn.add %3, %7 : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>
    %9 = nn.mul %8, %8 : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>
    %10 = nn.reduce_sum %9 {dims = array<i64: 0, 1>} : (tensor<24x4xf32>) -> tensor<f32>
    nn.minimize %10 : tensor<f32> with #nn.sgd<lr = 0.1>
    return %10 : tensor<f32>
  }
}
