// Where all are small floats, a thread computes 16 bytes, also beside a sum over rows. Where a sum along a row is made, a
// thread always takes 8 elements, so that the order of the sum depends on nothing else in its kernel. Elements of f32
// alone go by 4.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
func.func @beside(%x: tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}, %y: tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}) -> (tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}, tensor<256xbf16> {ccl.global = tensor<256xbf16>}) {
  %0 = nn.mul %x, %y : (tensor<64x256xbf16>, tensor<64x256xbf16>) -> tensor<64x256xbf16>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0>} : (tensor<64x256xbf16>) -> tensor<256xbf16>
  return %0, %1 : tensor<64x256xbf16>, tensor<256xbf16>
}
func.func @of_rows(%x: tensor<64x256xf32> {ccl.global = tensor<64x256xf32>}) -> (tensor<64x256xf32> {ccl.global = tensor<64x256xf32>}) {
  %0 = nn.softmax %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
func.func @alone(%x: tensor<64x256xf32> {ccl.global = tensor<64x256xf32>}) -> (tensor<64x256xf32> {ccl.global = tensor<64x256xf32>}) {
  %0 = nn.neg %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
}

// CHECK-LABEL: func.func @k0
// CHECK: vector.store %{{.*}} : memref<64x256xbf16>, vector<8xbf16>
// CHECK-LABEL: func.func @k1
// CHECK-NOT: memref<64x256xf32>, vector<4xf32>
// CHECK: vector.store %{{.*}} : memref<64x256xf32>, vector<8xf32>
// CHECK-LABEL: func.func @k2
// CHECK-NOT: memref<16384xf32>, vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<16384xf32>, vector<4xf32>
