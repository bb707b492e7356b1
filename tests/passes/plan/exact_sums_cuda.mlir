// Exact sums of many addends take the blocks of the whole device, which add to the result in any order.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
func.func @norm(%x: tensor<64x1024xf32> {ccl.global = tensor<64x1024xf32>}) -> (tensor<28xf64> {ccl.global = tensor<28xf64>}) {
  %0 = nn.square_parts %x : (tensor<64x1024xf32>) -> tensor<28xf64>
  return %0 : tensor<28xf64>
}
func.func @nonfinite(%x: tensor<4096xbf16> {ccl.global = tensor<4096xbf16>}) -> (tensor<f64> {ccl.global = tensor<f64>}) {
  %0 = nn.nonfinite %x : (tensor<4096xbf16>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @few(%x: tensor<4095xf32> {ccl.global = tensor<4095xf32>}) -> (tensor<28xf64> {ccl.global = tensor<28xf64>}) {
  %0 = nn.square_parts %x : (tensor<4095xf32>) -> tensor<28xf64>
  return %0 : tensor<28xf64>
}
func.func @rounded(%x: tensor<8192x24xf32> {ccl.global = tensor<8192x24xf32>}) -> (tensor<24xf32> {ccl.global = tensor<24xf32>}) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<8192x24xf32>) -> tensor<24xf32>
  return %0 : tensor<24xf32>
}
}

// 16 shares of 65,536 addends, for each of the 28 parts.
// CHECK-LABEL: func.func @k0{{[_a-z0-9]*}}(%{{.*}}: memref<64x1024xf32>
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}}, %arg1[
// CHECK: arith.constant 448 : index
// CHECK: gpu.launch
// CHECK: memref.atomic_rmw addf %{{.*}}, %arg1[%{{.*}}] : (f64, memref<28xf64>) -> f64

// CHECK-LABEL: func.func @k1{{[_a-z0-9]*}}(%{{.*}}: memref<4096xbf16>
// CHECK: memref.atomic_rmw addf %{{.*}}, %arg1[] : (f64, memref<f64>) -> f64

// Few addends are not worth it, and sums that round have one order.
// CHECK-LABEL: func.func @k2{{[_a-z0-9]*}}(%{{.*}}: memref<4095xf32>
// CHECK-NOT: atomic_rmw
// CHECK-LABEL: func.func @k3{{[_a-z0-9]*}}(%{{.*}}: memref<8192x24xf32>
// CHECK-NOT: atomic_rmw
