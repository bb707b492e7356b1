// Master weights are split as optimizer state is, and what is read of them moves in the small type: cast, then gathered.
// RUN: splitcast-opt %s -enable-zero=stage=0,compute-type=bf16 | FileCheck %s --check-prefix=ZERO
// RUN: splitcast-opt %s -enable-zero=stage=1,compute-type=bf16 | FileCheck %s --check-prefixes=SPLIT,ONCE
// RUN: splitcast-opt %s -enable-zero=stage=2,compute-type=bf16,keep=never | FileCheck %s --check-prefixes=SPLIT,ONCE
// RUN: splitcast-opt %s -enable-zero=stage=3,compute-type=bf16,keep=never | FileCheck %s --check-prefixes=SPLIT,TWICE
// RUN: splitcast-opt %s -enable-zero=stage=2,compute-type=bf16,accumulate=4 | FileCheck %s --check-prefix=STEP

#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
// ZERO-NOT: storage
// SPLIT: sbp.variable @a.w : tensor<4x4xf32, #B> storage #S_a_0_ update #S_a_0_
// What is frozen is no master.
// ONCE: sbp.variable @c.w : tensor<4x4xf32, #B> frozen
// TWICE: sbp.variable @c.w : tensor<4x4xf32, #B> storage #S_c_0_ slot
sbp.variable @a.w : tensor<4x4xf32>
sbp.variable @c.w : tensor<4x4xf32> frozen
// ZERO-LABEL: func.func @train
// ZERO: nn.cast %{{.*}} : (tensor<4x4xf32, #B>) -> tensor<4x4xbf16, #B>
// Contributions are extended before they are added up, over their uses and over ranks.
// ZERO: %[[A:.*]] = nn.cast %{{.*}} : (tensor<4x4xbf16, #P>) -> tensor<4x4xf32, #P>
// ZERO: %[[B:.*]] = nn.cast %{{.*}} : (tensor<4x4xbf16, #P>) -> tensor<4x4xf32, #P>
// ZERO: nn.add %[[A]], %[[B]] : (tensor<4x4xf32, #P>, tensor<4x4xf32, #P>) -> tensor<4x4xf32, #P>
// ZERO: sbp.boxing %{{.*}} : tensor<32xf32, #P> -> tensor<32xf32, #B>
// SPLIT-LABEL: func.func @train
// SPLIT: %[[R:.*]] = sbp.bucket_read @a : tensor<32xf32, #S0_>
// SPLIT: %[[F:.*]] = sbp.fence %[[R]] in
// SPLIT-NEXT: %[[C:.*]] = nn.cast %[[F]] : (tensor<32xf32, #S0_>) -> tensor<32xbf16, #S0_>
// SPLIT-NEXT: sbp.boxing %[[C]] : tensor<32xbf16, #S0_> -> tensor<32xbf16, #B>
// ONCE-NOT: sbp.boxing {{.*}}bf16
// TWICE: %[[AGAIN:.*]] = sbp.fence %[[R]] in
// TWICE-NEXT: %[[CAST:.*]] = nn.cast %[[AGAIN]]
// TWICE-NEXT: sbp.boxing %[[CAST]] : tensor<32xbf16, #S0_> -> tensor<32xbf16, #B>
// SPLIT: nn.cast %{{.*}} : (tensor<4x4xbf16, #P>) -> tensor<4x4xf32, #P>
// SPLIT: sbp.boxing %{{.*}} : tensor<32xf32, #P> -> tensor<32xf32, #S0_>
// SPLIT: sbp.bucket_assign @a, %{{.*}} : tensor<32xf32, #S0_>
// STEP-LABEL: func.func @train.prologue
// STEP: %[[R:.*]] = sbp.bucket_read @a
// STEP-NEXT: %[[C:.*]] = nn.cast %[[R]]
// STEP-NEXT: %[[G:.*]] = sbp.boxing %[[C]] : tensor<32xbf16, #S0_> -> tensor<32xbf16, #B>
// STEP-NEXT: sbp.assign @a.gathered, %[[G]]
// STEP-LABEL: func.func @train.first
// STEP-NOT: sbp.boxing {{.*}}bf16
func.func @train(%x: tensor<16x4xf32, #S0>) -> tensor<f32> {
  %0 = sbp.read @a.w : tensor<4x4xf32>
  %c = sbp.read @c.w : tensor<4x4xf32>
  %1 = nn.matmul %x, %0 : (tensor<16x4xf32, #S0>, tensor<4x4xf32>) -> tensor<16x4xf32>
  %2 = nn.relu %1 : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %3 = nn.matmul %2, %0 : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
  %4 = nn.matmul %3, %c : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
  %loss = nn.reduce_sum %4 {dims = array<i64: 0, 1>} : (tensor<16x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
