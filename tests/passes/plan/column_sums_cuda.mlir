// Two sums over the same rows read them in one launch, which adds up 8 parts of each; a second launch adds the parts.
// Few rows, and a width that is no multiple of 8, take one launch.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
func.func @split(%x: tensor<256x256xbf16> {ccl.global = tensor<256x256xbf16>}, %y: tensor<256x256xbf16> {ccl.global = tensor<256x256xbf16>}) -> (tensor<256xbf16> {ccl.global = tensor<256xbf16>}, tensor<256xbf16> {ccl.global = tensor<256xbf16>}) {
  %0 = nn.mul %x, %y : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %1 = nn.reduce_sum %0 {dims = array<i64: 0>} : (tensor<256x256xbf16>) -> tensor<256xbf16>
  %2 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<256x256xbf16>) -> tensor<256xbf16>
  return %1, %2 : tensor<256xbf16>, tensor<256xbf16>
}
func.func @few(%x: tensor<64x256xf32> {ccl.global = tensor<64x256xf32>}) -> (tensor<256xf32> {ccl.global = tensor<256xf32>}) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<64x256xf32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}
func.func @odd(%x: tensor<1024x100xf32> {ccl.global = tensor<1024x100xf32>}) -> (tensor<100xf32> {ccl.global = tensor<100xf32>}) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<1024x100xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
}

// CHECK: exec.plan @split
// CHECK-SAME: #exec.buffer<workspace "nn.fusion", arena, {{[0-9]+}}, 16384, during 0 to 0>
// CHECK: exec.launch @kernels::@k0{{[_a-z0-9]*}} reads {{.*}} writes [{{.*}}, #exec.range<arena, {{[0-9]+}}, 16384>]
// CHECK: exec.plan @few
// CHECK-NOT: workspace

// CHECK-LABEL: func.func @k0
// CHECK-SAME: %[[WORKSPACE:[a-z0-9]+]]: memref<4096xf32> {llvm.align = 16 : i64}) {
// CHECK: gpu.launch blocks({{.*}}) in (%{{[a-z0-9_]+}} = %c8{{.*}}) threads
// CHECK-COUNT-8: vector.load %{{.*}} : memref<256x256xbf16>, vector<8xbf16>
// CHECK-NOT: vector.load
// CHECK-COUNT-2: memref.store %{{.*}}, %[[WORKSPACE]]
// CHECK: gpu.launch
// CHECK-COUNT-2: memref.load %[[WORKSPACE]]
// CHECK-NOT: gpu.launch
// CHECK-LABEL: func.func @k1
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT: gpu.launch
// CHECK-LABEL: func.func @k2
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT: gpu.launch
