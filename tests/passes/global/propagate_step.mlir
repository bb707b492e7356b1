// Communication of a data-parallel step, counted: one boxing per gradient and one for the loss, and nothing else.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage=stage=0 -sbp-propagate \
// RUN:   -sbp-insert-boxing -canonicalize -cse | FileCheck %s --implicit-check-not=sbp.boxing --check-prefix=STEP
// Reduced where it is made, right behind the last op of its gradient.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage=stage=2 -sbp-propagate \
// RUN:   | FileCheck %s --check-prefix=EARLY
// Reduced behind the fence of the update, when backward has ended.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage=stage=1 -sbp-propagate \
// RUN:   | FileCheck %s --check-prefix=LATE

// STEP: sbp.boxing %{{.*}} : tensor<3xf32, #P> -> tensor<3xf32, #B> bucket #sbp.slot<@fc2, 32 of 64>
// STEP: sbp.boxing %{{.*}} : tensor<6x3xf32, #P> -> tensor<6x3xf32, #B> bucket #sbp.slot<@fc2, 0 of 64>
// STEP: sbp.boxing %{{.*}} : tensor<6xf32, #P> -> tensor<6xf32, #B> bucket #sbp.slot<@fc1, 64 of 128>
// STEP: sbp.boxing %{{.*}} : tensor<10x6xf32, #P> -> tensor<10x6xf32, #B> bucket #sbp.slot<@fc1, 0 of 128>
// STEP: %[[LOSS:.*]] = sbp.boxing %{{.*}} : tensor<f32, #P> -> tensor<f32, #B>
// STEP-NEXT: return %[[LOSS]] : tensor<f32, #B>

// EARLY: sbp.scope "backward"
// EARLY: %[[DB2:.*]] = nn.reduce_sum {{.*}} -> tensor<3xf32, #P>
// EARLY-NEXT: sbp.boxing %[[DB2]] : tensor<3xf32, #P> -> tensor<3xf32, #S_fc2_32_>
// EARLY: %[[DW1:.*]] = nn.matmul {{.*}} -> tensor<10x6xf32, #P>
// EARLY-NEXT: %[[S:.*]] = sbp.boxing %[[DW1]] : tensor<10x6xf32, #P> -> tensor<10x6xf32, #S_fc1_0_>
// EARLY: sbp.scope "update" of @fc1.weight
// EARLY: sbp.fence %[[S]] in

// LATE: sbp.scope "backward"
// LATE-NOT: sbp.boxing
// LATE: %[[DW1:.*]] = nn.matmul {{.*}} -> tensor<10x6xf32, #P>
// LATE-NOT: tensor<{{.*}}, #P> ->
// LATE: %[[SCOPE:.*]] = sbp.scope "update" of @fc1.weight
// LATE: %[[F:.*]] = sbp.fence %[[DW1]] in %[[SCOPE]] : tensor<10x6xf32, #P>
// LATE-NEXT: sbp.boxing %[[F]] : tensor<10x6xf32, #P> -> tensor<10x6xf32, #S_fc1_0_>
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @fc1.weight : tensor<10x6xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc1.bias : tensor<6xf32, #B>
sbp.variable @fc2.weight : tensor<6x3xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc2.bias : tensor<3xf32, #B>
func.func @train(%x: tensor<8x10xf32, #S0>, %y: tensor<8x3xf32, #S0>) -> tensor<f32> {
  %w1 = sbp.read @fc1.weight : tensor<10x6xf32>
  %b1 = sbp.read @fc1.bias : tensor<6xf32>
  %w2 = sbp.read @fc2.weight : tensor<6x3xf32>
  %b2 = sbp.read @fc2.bias : tensor<3xf32>
  %0 = nn.matmul %x, %w1 : (tensor<8x10xf32, #S0>, tensor<10x6xf32>) -> tensor<8x6xf32>
  %1 = nn.add %0, %b1 : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %2 = nn.relu %1 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = nn.matmul %2, %w2 : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  %4 = nn.add %3, %b2 : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %d = nn.sub %4, %y : (tensor<8x3xf32>, tensor<8x3xf32, #S0>) -> tensor<8x3xf32>
  %q = nn.mul %d, %d : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %s = nn.reduce_sum %q {dims = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.0416666 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8>
  return %loss : tensor<f32>
}
