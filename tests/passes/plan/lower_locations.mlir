// Where an op comes from is no part of its kernel: equal kernels are one, whether or not locations are printed.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower --mlir-print-debuginfo | FileCheck %s

// CHECK: exec.plan @f
// CHECK: exec.launch @kernels::@k0
func.func @f(%x: tensor<8xf32> {ccl.global = tensor<8xf32>}) -> (tensor<8xf32> {ccl.global = tensor<8xf32>}) {
  %y = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32> loc("here")
  return %y : tensor<8xf32>
}

// CHECK: exec.plan @g
// CHECK: exec.launch @kernels::@k0
// CHECK: func.func @k0
// CHECK-NOT: func.func @k1
func.func @g(%x: tensor<8xf32> {ccl.global = tensor<8xf32>}) -> (tensor<8xf32> {ccl.global = tensor<8xf32>}) {
  %y = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32> loc("there")
  return %y : tensor<8xf32>
}
