// Where 'exec-lower' puts things when kernels are launched as threads.
// RUN: splitcast-opt %s -local-pipeline=prefetch=0 -exec-lower | FileCheck-19 %s

#p = #sbp.placement<"cuda", [dp = 2]>
module attributes {ccl.device = "cuda", sbp.placement = #p, ccl.rank = 0 : i64, ccl.ranks = 2 : i64} {
// Sums over the rows are a launch after the elements': what both need is not overwritten.
// CHECK: exec.plan @beside_sum
// CHECK-NEXT: exec.library "matmul" {{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}}#exec.range<arena, [[Y]], 64>{{.*}} writes [{{[^{]*}}]{{$}}
func.func @beside_sum(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, %b: tensor<4xf32> {ccl.global = tensor<4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}, tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.add %0, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = nn.mul %0, %b : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4xf32>
}

// A row nest of warps overwrites what dies, as loops do.
// CHECK: exec.plan @softmax
// CHECK-NEXT: exec.library "matmul" {{.*}} writes [#exec.range<arena, [[Y:[0-9]+]], 64>]
// CHECK-NEXT: exec.launch {{.*}} reads [] writes [#exec.range<arena, [[Y]], 64>] {in_place = array<i64: 0>}
func.func @softmax(%x: tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) -> (tensor<4x4xf32> {ccl.global = tensor<4x4xf32>}) {
  %0 = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.softmax %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
}
