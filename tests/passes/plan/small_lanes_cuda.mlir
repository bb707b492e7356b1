// Where all are small floats, a thread computes 16 bytes, also beside a sum over rows; but not where a sum along a row,
// whose order must not depend on its kernel, is made for the sum over rows.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
func.func @beside(%x: tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}, %y: tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}) -> (tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}, tensor<256xbf16> {ccl.global = tensor<256xbf16>}) {
  %0 = nn.mul %x, %y : (tensor<64x256xbf16>, tensor<64x256xbf16>) -> tensor<64x256xbf16>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0>} : (tensor<64x256xbf16>) -> tensor<256xbf16>
  return %0, %1 : tensor<64x256xbf16>, tensor<256xbf16>
}
func.func @of_rows(%x: tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}) -> (tensor<64x256xbf16> {ccl.global = tensor<64x256xbf16>}, tensor<256xbf16> {ccl.global = tensor<256xbf16>}) {
  %y:2 = nn.fusion(%x) : (tensor<64x256xbf16>) -> (tensor<64x256xbf16>, tensor<256xbf16>) {
  ^bb0(%a: tensor<64x256xbf16>):
    %0 = nn.neg %a : (tensor<64x256xbf16>) -> tensor<64x256xbf16>
    %1 = nn.softmax %a : (tensor<64x256xbf16>) -> tensor<64x256xbf16>
    %2 = nn.reduce_sum %1 {dims = array<i64: 0>} : (tensor<64x256xbf16>) -> tensor<256xbf16>
    nn.yield %0, %2 : tensor<64x256xbf16>, tensor<256xbf16>
  }
  return %y#0, %y#1 : tensor<64x256xbf16>, tensor<256xbf16>
}
}

// CHECK-LABEL: func.func @k0
// CHECK: vector.store %{{.*}} : memref<64x256xbf16>, vector<8xbf16>
// CHECK-LABEL: func.func @k1
// CHECK-NOT: vector<8xbf16>
// CHECK: vector<4xbf16>
