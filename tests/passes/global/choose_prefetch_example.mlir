// The example of 'sbp-choose-prefetch'. A gather of 128 KiB takes as long as 3.6 MFLOP; behind that of @a 17 are computed, behind
// that of @b 0.1. So @b needs one group ahead and @c two, which have the bytes of @a. @f would need two as well, but they would have more.
// What nobody gathers, and what has said its number, is as it was.
// RUN: splitcast-opt %s -sbp-choose-prefetch | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0_ = #sbp.nd<#p, [S(0)]>
// CHECK: sbp.variable @a.w : {{.*}} policy #sbp.policy<prefetch = 1>
// CHECK: sbp.variable @b.w : {{.*}} policy #sbp.policy<prefetch = 1>
// CHECK: sbp.variable @c.w : tensor<128x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = 2>
// CHECK: sbp.variable @d.w : {{.*}} policy #sbp.policy<prefetch = 5>
// CHECK: sbp.variable @f.w : {{.*}} policy #sbp.policy<prefetch = 1>
// CHECK: sbp.variable @e.w : {{.*}} policy #sbp.policy<prefetch = 1>
sbp.variable @a.w : tensor<256x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = auto>
sbp.variable @b.w : tensor<256x128xf32, #B> storage #S0_ policy #sbp.policy<prefetch = auto>
sbp.variable @c.w : tensor<128x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = auto>
sbp.variable @d.w : tensor<256x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = 5>
sbp.variable @f.w : tensor<256x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = auto>
sbp.variable @e.w : tensor<4xf32, #B> policy #sbp.policy<prefetch = auto>
func.func @f(%x: tensor<256x256xf32, #S0_>, %s: tensor<4x256xf32, #S0_>)
    -> (tensor<256x256xf32, #S0_>, tensor<256x256xf32, #B>, tensor<4x256xf32, #S0_>, tensor<256x256xf32, #B>) {
  %0 = sbp.read @a.w : tensor<256x256xf32, #S0_>
  %a = sbp.boxing %0 : tensor<256x256xf32, #S0_> -> tensor<256x256xf32, #B>
  %y = nn.matmul %x, %a : (tensor<256x256xf32, #S0_>, tensor<256x256xf32, #B>) -> tensor<256x256xf32, #S0_>
  %1 = sbp.read @b.w : tensor<256x128xf32, #S0_>
  %b = sbp.boxing %1 : tensor<256x128xf32, #S0_> -> tensor<256x128xf32, #B>
  %z = nn.matmul %s, %b : (tensor<4x256xf32, #S0_>, tensor<256x128xf32, #B>) -> tensor<4x128xf32, #S0_>
  %2 = sbp.read @c.w : tensor<128x256xf32, #S0_>
  %c = sbp.boxing %2 : tensor<128x256xf32, #S0_> -> tensor<128x256xf32, #B>
  %u = nn.matmul %z, %c : (tensor<4x128xf32, #S0_>, tensor<128x256xf32, #B>) -> tensor<4x256xf32, #S0_>
  %5 = sbp.read @f.w : tensor<256x256xf32, #S0_>
  %f = sbp.boxing %5 : tensor<256x256xf32, #S0_> -> tensor<256x256xf32, #B>
  %3 = sbp.read @d.w : tensor<256x256xf32, #S0_>
  %d = sbp.boxing %3 : tensor<256x256xf32, #S0_> -> tensor<256x256xf32, #B>
  return %y, %f, %u, %d : tensor<256x256xf32, #S0_>, tensor<256x256xf32, #B>, tensor<4x256xf32, #S0_>, tensor<256x256xf32, #B>
}
