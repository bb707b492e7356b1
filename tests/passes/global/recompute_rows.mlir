// Recomputation changes no row: where a residual sum lies, and so where gradients are summed, is decided by the values
// that are computed first. Otherwise the vector that is split along tp would meet a clone, and other ranks would add up.
// RUN: splitcast-opt %s --enable-zero="stage=0 axis=dp recompute=no" | FileCheck %s
// RUN: splitcast-opt %s --enable-zero="stage=0 axis=dp recompute=yes" | FileCheck %s --check-prefixes=CHECK,AGAIN
// RUN: splitcast-opt %s --enable-zero="stage=3 axis=dp recompute=yes" | FileCheck %s --check-prefixes=CHECK,AGAIN
// @propagate_c7_legal

#p = #sbp.placement<"cpu", [dp = 1, tp = 3]>
#B = #sbp.nd<#p, [B, B]>
#V = #sbp.nd<#p, [B, S(0)]>
#X = #sbp.nd<#p, [S(0), B]>
sbp.variable @h.0.up : tensor<5x8xf32, #B>
sbp.variable @h.0.down : tensor<8x5xf32, #B>
sbp.variable @h.0.bias : tensor<5xf32, #V>
sbp.variable @head : tensor<5x6xf32, #B>

// CHECK-LABEL: func.func @train
// AGAIN: sbp.scope "backward" group "h.0"
// CHECK-DAG: nn.matmul {{.*}} {transpose_b} : (tensor<12x5xf32, #S0__S1_>, tensor<8x5xf32, #B_S1_>) -> tensor<12x8xf32, #S0__P>
// CHECK-DAG: nn.reduce_sum {{.*}} : (tensor<12x5xf32, #S0__S1_>) -> tensor<5xf32, #P_S0_>
// CHECK-DAG: nn.matmul {{.*}} {transpose_a} : (tensor<12x8xf32, #S0__B>, tensor<12x5xf32, #S0__S1_>) -> tensor<8x5xf32, #P_S1_>
// CHECK-DAG: nn.matmul {{.*}} {transpose_a} : (tensor<12x5xf32, #S0__B>, tensor<12x8xf32, #S0__P>) -> tensor<5x8xf32, #P_P>
func.func @train(%x: tensor<6x2x5xf32, #X>) -> tensor<f32> {
  %up = sbp.read @h.0.up : tensor<5x8xf32>
  %down = sbp.read @h.0.down : tensor<8x5xf32>
  %bias = sbp.read @h.0.bias : tensor<5xf32>
  %head = sbp.read @head : tensor<5x6xf32>
  %0 = nn.reshape %x : (tensor<6x2x5xf32, #X>) -> tensor<12x5xf32>
  %1 = nn.matmul %0, %up : (tensor<12x5xf32>, tensor<5x8xf32>) -> tensor<12x8xf32>
  %2 = nn.tanh %1 : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %3 = nn.matmul %2, %down : (tensor<12x8xf32>, tensor<8x5xf32>) -> tensor<12x5xf32>
  %4 = nn.add %3, %bias : (tensor<12x5xf32>, tensor<5xf32>) -> tensor<12x5xf32>
  %5 = nn.reshape %4 : (tensor<12x5xf32>) -> tensor<6x2x5xf32>
  %6 = nn.add %x, %5 : (tensor<6x2x5xf32, #X>, tensor<6x2x5xf32>) -> tensor<6x2x5xf32>
  %7 = nn.tanh %6 : (tensor<6x2x5xf32>) -> tensor<6x2x5xf32>
  %8 = nn.reduce_sum %7 {dims = array<i64: 1>} : (tensor<6x2x5xf32>) -> tensor<6x5xf32>
  %9 = nn.matmul %8, %head : (tensor<6x5xf32>, tensor<5x6xf32>) -> tensor<6x6xf32>
  %loss = nn.reduce_sum %9 {dims = array<i64: 0, 1>} : (tensor<6x6xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
