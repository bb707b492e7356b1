// Ops: text to text, by way of the generic form and of bytecode.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -mlir-print-op-generic | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -emit-bytecode | splitcast-opt --allow-bytecode | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#Sflat = #sbp.nd<#p, [S(@fc, 0 of 64)]>

// CHECK: sbp.variable @fc.weight : tensor<10x4xf32, #B> storage #S0_ update #S0_ init #sbp.normal<mean = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64>
sbp.variable @fc.weight : tensor<10x4xf32, #B> storage #S0 update #S0 init #sbp.normal<mean = 0.0, stddev = 0.02>
// CHECK: sbp.variable @fc.weight.exp_avg : tensor<10x4xf32, #B> storage #S_fc_0_ slot #sbp.slot<@fc, 0 of 64> init #sbp.constant<0.000000e+00 : f64> group "fc" state_of @fc.weight role "exp_avg"
sbp.variable @fc.weight.exp_avg : tensor<10x4xf32, #B> storage #Sflat slot #sbp.slot<@fc, 0 of 64> init #sbp.constant<0.0> group "fc" state_of @fc.weight role "exp_avg"
// CHECK: sbp.variable @table : tensor<4x2xbf16, #B> group "embedding" frozen{{$}}
sbp.variable @table : tensor<4x2xbf16, #B> group "embedding" frozen
// CHECK: sbp.variable @undecided : tensor<f64>{{$}}
sbp.variable @undecided : tensor<f64>
// CHECK: sbp.variable @"a name" : tensor<0xf32, #S0_> init #sbp.file<"a.safetensors", "w"> {note = "kept"}
sbp.variable @"a name" : tensor<0xf32, #S0> init #sbp.file<"a.safetensors", "w"> {note = "kept"}

// CHECK-LABEL: func.func @variables
func.func @variables(%new: tensor<f64, #B>) {
  // CHECK: %[[W:.*]] = sbp.read @fc.weight : tensor<10x4xf32>
  %0 = sbp.read @fc.weight : tensor<10x4xf32>
  // CHECK: sbp.read @fc.weight : tensor<10x4xf32, #S0_>
  %1 = sbp.read @fc.weight : tensor<10x4xf32, #S0>
  // CHECK: sbp.assign @fc.weight, %[[W]] : tensor<10x4xf32>
  sbp.assign @fc.weight, %0 : tensor<10x4xf32>
  return
}

// CHECK-LABEL: func.func @boxing
// CHECK-SAME: %[[X:.*]]: tensor<10x4xf32, #S0_>, %[[U:.*]]: tensor<10x4xf32>
func.func @boxing(%0: tensor<10x4xf32, #S0>, %undecided: tensor<10x4xf32>) {
  // CHECK: sbp.boxing %[[X]] : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>{{$}}
  %1 = sbp.boxing %0 : tensor<10x4xf32, #S0> -> tensor<10x4xf32, #B>
  // CHECK: sbp.boxing %[[U]] : tensor<10x4xf32> -> tensor<10x4xf32, #S0_> bucket #sbp.slot<@fc, 0 of 64>
  %2 = sbp.boxing %undecided : tensor<10x4xf32> -> tensor<10x4xf32, #S0> bucket #sbp.slot<@fc, 0 of 64>
  return
}

// CHECK-LABEL: func.func @scopes
// CHECK-SAME: %[[X:.*]]: tensor
func.func @scopes(%0: tensor<10x4xf32, #S0>) {
  // CHECK: %[[T:.*]] = sbp.scope "backward" group "layer3"{{$}}
  %t = sbp.scope "backward" group "layer3"
  // CHECK: sbp.scope "forward"{{$}}
  %u = sbp.scope "forward"
  // CHECK: sbp.scope "update" of @fc.weight{{$}}
  %v = sbp.scope "update" of @fc.weight
  // CHECK: sbp.fence %[[X]] in %[[T]] : tensor<10x4xf32, #S0_>
  %1 = sbp.fence %0 in %t : tensor<10x4xf32, #S0>
  return
}

// CHECK-LABEL: func.func @colocate
// CHECK-SAME: %[[G:.*]]: tensor<10x4xf32, #S0_>, %[[X:.*]]: tensor<8xf32>
func.func @colocate(%0: tensor<10x4xf32, #S0>, %x: tensor<8xf32>) -> tensor<10x4xf32> {
  // CHECK: sbp.colocate %[[G]] with %[[X]] : (tensor<10x4xf32, #S0_>, tensor<8xf32>) -> tensor<10x4xf32>
  %1 = sbp.colocate %0 with %x : (tensor<10x4xf32, #S0>, tensor<8xf32>) -> tensor<10x4xf32>
  return %1 : tensor<10x4xf32>
}
