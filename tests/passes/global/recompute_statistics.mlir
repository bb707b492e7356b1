// The statistics of a batch belong to the stage of the layer that they are of, also where only clones of its values are
// left in the micro-batch that computes their gradients: a gradient brings along the value that it lies beside.
// RUN: splitcast-opt %s --enable-zero="stage=0 axis=dp accumulate=3 pipeline=sequential recompute=no" | FileCheck %s
// RUN: splitcast-opt %s --enable-zero="stage=0 axis=dp accumulate=3 pipeline=sequential recompute=yes" | FileCheck %s
// RUN: splitcast-opt %s --enable-zero="stage=0 axis=dp accumulate=3 accumulate-order=per-step pipeline=sequential recompute=yes" | FileCheck %s

#p = #sbp.placement<"cpu", [pp = 2, dp = 1]>
#at0 = #sbp.nd<#p, [At(0), B]>
#at1 = #sbp.nd<#p, [At(1), B]>
#S0 = #sbp.nd<#p, [B, S(0)]>
sbp.variable @h.up : tensor<8x24xf32, #at0>
sbp.variable @h.bias : tensor<24xf32, #at0>
sbp.variable @head : tensor<8x1xf32, #at1>
// CHECK: func.func
// CHECK-NOT: nn.reduce_sum {{.*}}tensor<{{[0-9]+x8}}xf32, #{{(S|B|P|At1)}}
// CHECK: nn.reduce_sum {{.*}} : (tensor<3x8xf32, #At0__S0_>) -> tensor<8xf32, #At0__P>
// CHECK-NOT: nn.reduce_sum {{.*}}tensor<{{[0-9]+x8}}xf32, #{{(S|B|P|At1)}}
func.func @train(%x: tensor<9x8xf32, #S0>, %y: tensor<9x1xf32, #S0>) -> tensor<f32> {
  %up = sbp.read @h.up : tensor<8x24xf32>
  %bias = sbp.read @h.bias : tensor<24xf32>
  %head = sbp.read @head : tensor<8x1xf32>
  %9 = nn.matmul %x, %up : (tensor<9x8xf32, #S0>, tensor<8x24xf32>) -> tensor<9x24xf32>
  %10 = nn.add %9, %bias : (tensor<9x24xf32>, tensor<24xf32>) -> tensor<9x24xf32>
  %11 = nn.slice %10 {dim = 1 : i64, start = 0 : i64} : (tensor<9x24xf32>) -> tensor<9x8xf32>
  %12 = nn.slice %10 {dim = 1 : i64, start = 8 : i64} : (tensor<9x24xf32>) -> tensor<9x8xf32>
  %14 = nn.sigmoid %12 : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %16 = nn.mul %11, %14 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %17 = nn.reduce_sum %16 {dims = array<i64: 0>} : (tensor<9x8xf32>) -> tensor<8xf32>
  %18 = nn.scale %17 {value = 0.125 : f64} : (tensor<8xf32>) -> tensor<8xf32>
  %19 = nn.sub %16, %18 : (tensor<9x8xf32>, tensor<8xf32>) -> tensor<9x8xf32>
  %22 = nn.reshape %18 : (tensor<8xf32>) -> tensor<1x8xf32>
  %23 = nn.sub %16, %22 : (tensor<9x8xf32>, tensor<1x8xf32>) -> tensor<9x8xf32>
  %24 = nn.mul %23, %23 : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %25 = nn.reduce_sum %24 {dims = array<i64: 0>} : (tensor<9x8xf32>) -> tensor<8xf32>
  %28 = nn.sqrt %25 : (tensor<8xf32>) -> tensor<8xf32>
  %29 = nn.div %19, %28 : (tensor<9x8xf32>, tensor<8xf32>) -> tensor<9x8xf32>
  %30 = nn.matmul %29, %head : (tensor<9x8xf32>, tensor<8x1xf32>) -> tensor<9x1xf32>
  %31 = nn.sub %30, %y : (tensor<9x1xf32>, tensor<9x1xf32, #S0>) -> tensor<9x1xf32>
  %32 = nn.mul %31, %31 : (tensor<9x1xf32>, tensor<9x1xf32>) -> tensor<9x1xf32>
  %loss = nn.reduce_sum %32 {dims = array<i64: 0, 1>} : (tensor<9x1xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
