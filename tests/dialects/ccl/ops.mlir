// Every op and type: text to text, by way of the generic form and of bytecode.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -mlir-print-op-generic | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -emit-bytecode | splitcast-opt --allow-bytecode | FileCheck %s

// CHECK-DAG: #dp = #ccl.group<"dp", [0, 1], index 0>
// CHECK-DAG: #tp = #ccl.group<"tp", [4, 2], index 1>
#group = #ccl.group<"dp", [0, 1], index 0>

sbp.variable @layer0.weight : tensor<32x28xf32>
sbp.variable @layer0.bias : tensor<128xf32>

// CHECK: ccl.storage @layer0 : tensor<1024xf32> holds [@layer0.weight, @layer0.bias] at [0, 896]
ccl.storage @layer0 : tensor<1024xf32> holds [@layer0.weight, @layer0.bias] at [0, 896]

// CHECK-LABEL: func.func @storage
func.func @storage() -> tensor<32x28xf32> {
  // CHECK-NEXT: %[[R:.*]] = ccl.read @layer0 : tensor<1024xf32>
  %0 = ccl.read @layer0 : tensor<1024xf32>
  // CHECK-NEXT: ccl.assign @layer0, %[[R]] : tensor<1024xf32>
  ccl.assign @layer0, %0 : tensor<1024xf32>
  // CHECK-NEXT: %[[V:.*]] = ccl.view %[[R]] at 896 : tensor<1024xf32> -> tensor<128xf32>
  %1 = ccl.view %0 at 896 : tensor<1024xf32> -> tensor<128xf32>
  // CHECK-NEXT: ccl.assign @layer0, %[[V]] {offset = 896 : i64} : tensor<128xf32>
  ccl.assign @layer0, %1 {offset = 896 : i64} : tensor<128xf32>
  // CHECK-NEXT: %[[W:.*]] = ccl.view %[[R]] at 0 : tensor<1024xf32> -> tensor<32x28xf32>
  %2 = ccl.view %0 at 0 : tensor<1024xf32> -> tensor<32x28xf32>
  // CHECK-NEXT: ccl.pack %[[W]], %[[V]] at [0, 896] : (tensor<32x28xf32>, tensor<128xf32>) -> tensor<1024xf32>
  %3 = ccl.pack %2, %1 at [0, 896] : (tensor<32x28xf32>, tensor<128xf32>) -> tensor<1024xf32>
  return %2 : tensor<32x28xf32>
}

// A parser that knows the operand's type prints !ccl.pending without its dialect.
// CHECK-LABEL: func.func @collectives
func.func @collectives(%piece: tensor<3x4xf32>, %whole: tensor<20xf32>) {
  // CHECK: %[[A:.*]] = ccl.all_gather "w" %{{.*}} in #dp blocks [12, 8] : tensor<3x4xf32> -> <tensor<20xf32>>
  %0 = ccl.all_gather "w" %piece in <"dp", [0, 1], index 0> blocks [12, 8] : tensor<3x4xf32> -> !ccl.pending<tensor<20xf32>>
  // CHECK: ccl.wait %[[A]] : <tensor<20xf32>> -> tensor<20xf32>
  %1 = ccl.wait %0 : !ccl.pending<tensor<20xf32>> -> tensor<20xf32>
  // CHECK: ccl.reduce_scatter "gradient of w" %{{.*}} in #tp blocks [12, 8] : tensor<20xf32> -> <tensor<8xf32>>
  %2 = ccl.reduce_scatter "gradient of w" %whole in <"tp", [4, 2], index 1> blocks [12, 8] : tensor<20xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %2 : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  // CHECK: ccl.all_reduce "loss" %{{.*}} in #dp blocks 12 : tensor<3x4xf32> -> <tensor<3x4xf32>>
  %4 = ccl.all_reduce "loss" %piece in <"dp", [0, 1], index 0> blocks 12 : tensor<3x4xf32> -> !ccl.pending<tensor<3x4xf32>>
  %5 = ccl.wait %4 : !ccl.pending<tensor<3x4xf32>> -> tensor<3x4xf32>
  // CHECK: ccl.all_to_all "x" %{{.*}} in #dp blocks [20, 0] received [4, 5] : tensor<20xf32> -> <tensor<9xf32>>
  %6 = ccl.all_to_all "x" %whole in #group blocks [20, 0] received [4, 5] : tensor<20xf32> -> !ccl.pending<tensor<9xf32>>
  %7 = ccl.wait %6 : !ccl.pending<tensor<9xf32>> -> tensor<9xf32>
  return
}
