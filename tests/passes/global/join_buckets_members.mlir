// What only some members need is made of their parts: of three members, %a scales two, %b one. What all need stays one op.
// RUN: splitcast-opt %s -sbp-join-buckets | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S_0 = #sbp.nd<#p, [S(@l, 0 of 96)]>
#S_32 = #sbp.nd<#p, [S(@l, 32 of 96)]>
#S_64 = #sbp.nd<#p, [S(@l, 64 of 96)]>
sbp.bucket @l : tensor<96xf32, #B> along "dp" holds [@l.u, @l.v, @l.w] at [0, 32, 64]
sbp.variable @l.u : tensor<5xf32, #B> storage #S_0 slot #sbp.slot<@l, 0 of 96>
sbp.variable @l.v : tensor<6xf32, #B> storage #S_32 slot #sbp.slot<@l, 32 of 96>
sbp.variable @l.w : tensor<7xf32, #B> storage #S_64 slot #sbp.slot<@l, 64 of 96>

// CHECK-LABEL: func.func @example
// CHECK-SAME: %[[a:[^:]*]]: tensor<f32, #B>, %[[b:[^:]*]]: tensor<f32, #B>
// CHECK: %[[range:.*]] = sbp.boxing {{.*}} : tensor<96xf32, #P> -> tensor<96xf32, #S0_>
// CHECK-NEXT: %[[all:.*]] = nn.neg %[[range]] : (tensor<96xf32, #S0_>) -> tensor<96xf32, #S0_>
// CHECK-DAG: %[[u:.*]] = sbp.bucket_member %[[all]] at 0 of @l : tensor<96xf32, #S0_> -> tensor<5xf32, #[[U:.*]]>
// CHECK-DAG: %[[au:.*]] = nn.mul %[[a]], %[[u]] : (tensor<f32, #B>, tensor<5xf32, #[[U]]>) -> tensor<5xf32, #[[U]]>
// CHECK-DAG: sbp.assign @l.u, %[[au]] : tensor<5xf32, #[[U]]>
// CHECK-DAG: %[[v:.*]] = sbp.bucket_member %[[all]] at 32 of @l
// CHECK-DAG: %[[av:.*]] = nn.mul %[[a]], %[[v]]
// CHECK-DAG: sbp.assign @l.v, %[[av]]
// CHECK-DAG: %[[w:.*]] = sbp.bucket_member %[[all]] at 64 of @l
// CHECK-DAG: %[[bw:.*]] = nn.mul %[[b]], %[[w]]
// CHECK-DAG: %[[root:.*]] = nn.sqrt %[[bw]]
// CHECK-DAG: sbp.assign @l.w, %[[root]]
// CHECK-NOT: tensor<96xf32
// CHECK: return
func.func @example(%a: tensor<f32, #B>, %b: tensor<f32, #B>, %gu: tensor<5xf32, #P>, %gv: tensor<6xf32, #P>, %gw: tensor<7xf32, #P>) {
  %0 = sbp.boxing %gu : tensor<5xf32, #P> -> tensor<5xf32, #S_0>
  %1 = sbp.boxing %gv : tensor<6xf32, #P> -> tensor<6xf32, #S_32>
  %2 = sbp.boxing %gw : tensor<7xf32, #P> -> tensor<7xf32, #S_64>
  %3 = nn.neg %0 : (tensor<5xf32, #S_0>) -> tensor<5xf32, #S_0>
  %4 = nn.neg %1 : (tensor<6xf32, #S_32>) -> tensor<6xf32, #S_32>
  %5 = nn.neg %2 : (tensor<7xf32, #S_64>) -> tensor<7xf32, #S_64>
  %6 = nn.mul %a, %3 : (tensor<f32, #B>, tensor<5xf32, #S_0>) -> tensor<5xf32, #S_0>
  %7 = nn.mul %a, %4 : (tensor<f32, #B>, tensor<6xf32, #S_32>) -> tensor<6xf32, #S_32>
  %8 = nn.mul %b, %5 : (tensor<f32, #B>, tensor<7xf32, #S_64>) -> tensor<7xf32, #S_64>
  %9 = nn.sqrt %8 : (tensor<7xf32, #S_64>) -> tensor<7xf32, #S_64>
  sbp.assign @l.u, %6 : tensor<5xf32, #S_0>
  sbp.assign @l.v, %7 : tensor<6xf32, #S_32>
  sbp.assign @l.w, %9 : tensor<7xf32, #S_64>
  return
}
