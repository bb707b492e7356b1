// The example of 'sbp-interleave-runs': two stages, two micro-batches. Stage 0 begins the second while stage 1 has the
// first; what is assigned is assigned in its order.
// RUN: splitcast-opt %s -sbp-interleave-runs -sbp-verify-global | FileCheck %s
// RUN: splitcast-opt %s -sbp-interleave-runs=schedule=sequential | FileCheck %s --check-prefix=SEQUENTIAL
// RUN: not splitcast-opt %s -sbp-interleave-runs=schedule=2f2b 2>&1 | FileCheck %s --check-prefix=BAD

#p = #sbp.placement<"cpu", [pp = 2]>
#B = #sbp.nd<#p, [B]>
#at0 = #sbp.nd<#p, [At(0)]>
#at1 = #sbp.nd<#p, [At(1)]>
sbp.variable @w : tensor<4xf32, #at0>
sbp.variable @sum : tensor<8x4xf32, #at0> carried

// BAD: error: 'sbp-interleave-runs' got schedule=2f2b; it must be sequential, gpipe or 1f1b
// SEQUENTIAL: sbp.run @train.first from 0 to 1 takes [0] cut [0] gives [0] joined [0]
// SEQUENTIAL: sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [0]

// CHECK-NOT: @train.first
// CHECK: func.func @train.pipeline(%[[x:.*]]: tensor<8x4xf32, #B> {sbp.name = "x"}, %[[y:.*]]: tensor<8x4xf32, #B> {sbp.name = "x"}) -> (tensor<8x4xf32, #B>, tensor<8x4xf32, #B>) {
// CHECK: %[[x0:.*]] = sbp.boxing %[[x]]
// CHECK: %[[f0:.*]] = nn.add %[[x0]]
// CHECK: %[[m0:.*]] = sbp.boxing %[[f0]] : tensor<8x4xf32, #At0_> -> tensor<8x4xf32, #At1_>
// CHECK: %[[y0:.*]] = sbp.boxing %[[y]]
// CHECK: %[[f1:.*]] = nn.add %[[y0]]
// CHECK: %[[m1:.*]] = sbp.boxing %[[f1]]
// CHECK: %[[g0:.*]] = nn.exp %[[m0]]
// CHECK: %[[b0:.*]] = sbp.boxing %[[g0]] : tensor<8x4xf32, #At1_> -> tensor<8x4xf32, #At0_>
// CHECK: %[[s0:.*]] = nn.mul %[[b0]], %[[f0]]
// CHECK: sbp.assign @sum, %[[s0]]
// CHECK: nn.exp %[[m1]]
// CHECK: sbp.read @sum
// CHECK: sbp.schedule @train of 2 {
// CHECK-NEXT: sbp.run @train.pipeline from 0 to 1 takes [0, 0] cut [0, 0] gives [0, 0] joined [0, 0] {gives_ahead = array<i64: 0, 1>, takes_ahead = array<i64: 0, 1>}
// CHECK-NEXT: }
func.func @train.first(%x: tensor<8x4xf32, #B> {sbp.name = "x"}) -> tensor<8x4xf32, #B> {
  %w = sbp.read @w : tensor<4xf32, #at0>
  %x0 = sbp.boxing %x : tensor<8x4xf32, #B> -> tensor<8x4xf32, #at0>
  %f = nn.add %x0, %w : (tensor<8x4xf32, #at0>, tensor<4xf32, #at0>) -> tensor<8x4xf32, #at0>
  %m = sbp.boxing %f : tensor<8x4xf32, #at0> -> tensor<8x4xf32, #at1>
  %g = nn.exp %m : (tensor<8x4xf32, #at1>) -> tensor<8x4xf32, #at1>
  %b = sbp.boxing %g : tensor<8x4xf32, #at1> -> tensor<8x4xf32, #at0>
  %s = nn.mul %b, %f : (tensor<8x4xf32, #at0>, tensor<8x4xf32, #at0>) -> tensor<8x4xf32, #at0>
  sbp.assign @sum, %s : tensor<8x4xf32, #at0>
  %r = sbp.boxing %s : tensor<8x4xf32, #at0> -> tensor<8x4xf32, #B>
  return %r : tensor<8x4xf32, #B>
}
func.func @train.last(%x: tensor<8x4xf32, #B> {sbp.name = "x"}) -> tensor<8x4xf32, #B> {
  %w = sbp.read @w : tensor<4xf32, #at0>
  %x0 = sbp.boxing %x : tensor<8x4xf32, #B> -> tensor<8x4xf32, #at0>
  %f = nn.add %x0, %w : (tensor<8x4xf32, #at0>, tensor<4xf32, #at0>) -> tensor<8x4xf32, #at0>
  %m = sbp.boxing %f : tensor<8x4xf32, #at0> -> tensor<8x4xf32, #at1>
  %g = nn.exp %m : (tensor<8x4xf32, #at1>) -> tensor<8x4xf32, #at1>
  %b = sbp.boxing %g : tensor<8x4xf32, #at1> -> tensor<8x4xf32, #at0>
  %s = nn.mul %b, %f : (tensor<8x4xf32, #at0>, tensor<8x4xf32, #at0>) -> tensor<8x4xf32, #at0>
  %sum = sbp.read @sum : tensor<8x4xf32, #at0>
  %t = nn.add %s, %sum : (tensor<8x4xf32, #at0>, tensor<8x4xf32, #at0>) -> tensor<8x4xf32, #at0>
  %r = sbp.boxing %t : tensor<8x4xf32, #at0> -> tensor<8x4xf32, #B>
  return %r : tensor<8x4xf32, #B>
}
sbp.schedule @train of 2 {
  sbp.run @train.first from 0 to 1 takes [0] cut [0] gives [0] joined [0]
  sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [0]
}
