// What lies as it is made has the signature of what is first assigned to it; all else of which nobody says how is B.
// RUN: splitcast-opt %s -sbp-propagate | FileCheck %s
// @propagate_c6_legal

#p = #sbp.placement<"cpu", [dp = 3]>
#S0_ = #sbp.nd<#p, [S(0)]>
// CHECK-DAG: sbp.variable @addends : tensor<f32, #P> carried
// CHECK-DAG: sbp.variable @rows : tensor<6xf32, #S0_> carried
// CHECK-DAG: sbp.variable @early : tensor<6xf32, #B> carried
// CHECK-DAG: sbp.variable @nothing : tensor<6xf32, #B> carried
// CHECK-DAG: sbp.variable @unused : tensor<6xf32, #B> carried
// CHECK-DAG: sbp.variable @plain : tensor<f32, #B> carried
// CHECK-DAG: sbp.variable @w.sum : tensor<f32, #B> state_of @w role "sum" carried
sbp.variable @w : tensor<f32>
sbp.variable @addends : tensor<f32> carried as_made
sbp.variable @rows : tensor<6xf32> carried as_made
sbp.variable @early : tensor<6xf32> carried as_made
sbp.variable @nothing : tensor<6xf32> carried as_made
sbp.variable @unused : tensor<6xf32> carried as_made
sbp.variable @plain : tensor<f32> carried
sbp.variable @w.sum : tensor<f32> state_of @w role "sum" carried
// CHECK: func.func @first(
// CHECK: %[[P:.*]] = nn.reduce_sum %{{.*}} -> tensor<f32, #P>
// CHECK: sbp.assign @addends, %[[P]] : tensor<f32, #P>
func.func @first(%x: tensor<6xf32, #S0_>) -> tensor<6xf32> {
  %early = sbp.read @early : tensor<6xf32>
  %sum = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<6xf32, #S0_>) -> tensor<f32>
  sbp.assign @addends, %sum : tensor<f32>
  sbp.assign @w.sum, %sum : tensor<f32>
  sbp.assign @plain, %sum : tensor<f32>
  %rows = nn.relu %x : (tensor<6xf32, #S0_>) -> tensor<6xf32>
  sbp.assign @rows, %rows : tensor<6xf32>
  sbp.assign @early, %rows : tensor<6xf32>
  %nothing = nn.constant 1.0 : tensor<6xf32>
  sbp.assign @nothing, %nothing : tensor<6xf32>
  return %early : tensor<6xf32>
}
// Addends are summed where their sum is wanted.
// CHECK: func.func @last(
// CHECK: %[[P:.*]] = sbp.read @addends : tensor<f32, #P>
// CHECK: %[[SUM:.*]] = sbp.boxing %[[P]] : tensor<f32, #P> -> tensor<f32, #B>
// CHECK: nn.tanh %[[SUM]]
func.func @last() -> tensor<f32> {
  %sum = sbp.read @addends : tensor<f32>
  %tanh = nn.tanh %sum : (tensor<f32>) -> tensor<f32>
  return %tanh : tensor<f32>
}
// As an argument has it, too.
// CHECK: sbp.variable @given : tensor<6xf32, #S0_> carried
sbp.variable @given : tensor<6xf32> carried as_made
func.func @assign_given(%x: tensor<6xf32, #S0_>) {
  sbp.assign @given, %x : tensor<6xf32, #S0_>
  return
}
