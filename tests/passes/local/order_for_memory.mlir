// What 'ccl-order-for-memory' moves, and what stays.
// RUN: splitcast-opt %s -ccl-order-for-memory | FileCheck %s

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<8x64xf32, #B>
sbp.variable @small : tensor<8x16xf32, #B>
sbp.variable @n : tensor<64x2xf32, #B>
sbp.variable @m : tensor<64x16xf32, #B>
sbp.variable @v : tensor<4x64xf32, #B>
ccl.storage @sw : tensor<8x64xf32> holds [@w] at [0]
ccl.storage @ss : tensor<8x16xf32> holds [@small] at [0]
ccl.storage @sn : tensor<64x2xf32> holds [@n] at [0]
ccl.storage @sm : tensor<64x16xf32> holds [@m] at [0]
ccl.storage @sv : tensor<4x64xf32> holds [@v] at [0]

// From the beginning %p comes first, which adds least. From the end it is made when it is needed, behind %a and %b.
// CHECK-LABEL: func.func @fromEnd
// CHECK: %[[A:.*]] = nn.matmul {{.*}} -> tensor<4x64xf32>
// CHECK: %[[B:.*]] = nn.matmul %[[A]], {{.*}} -> tensor<4x16xf32>
// CHECK: %[[P:.*]] = nn.matmul {{.*}} -> tensor<4x16xf32>
// CHECK: nn.add %[[P]], %[[B]]
func.func @fromEnd(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %w = ccl.read @sw : tensor<8x64xf32>
  %s = ccl.read @ss : tensor<8x16xf32>
  %n = ccl.read @sm : tensor<64x16xf32>
  %p = nn.matmul %x, %s : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %a = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %b = nn.matmul %a, %n : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %q = nn.add %p, %b : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %q : tensor<4x16xf32>
}

// What is computed while the sum is under way stays there, and so does what is made where @sv lies: were %e behind %d,
// less would be live.
// CHECK-LABEL: func.func @stays
// CHECK: %[[A:.*]] = nn.matmul
// CHECK-NEXT: %[[B:.*]] = nn.matmul
// CHECK-NEXT: %[[PENDING:.*]] = ccl.all_reduce
// CHECK-NEXT: %[[C:.*]] = nn.matmul %[[A]]
// CHECK-NEXT: %[[Y:.*]] = ccl.wait %[[PENDING]]
// CHECK-NEXT: %[[E:.*]] = nn.matmul %[[Y]]
// CHECK-NEXT: ccl.assign @sv, %[[E]]
// CHECK-NEXT: %[[D:.*]] = nn.matmul %[[B]]
func.func @stays(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = ccl.read @sw : tensor<8x64xf32>
  %n = ccl.read @sn : tensor<64x2xf32>
  %a = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %b = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %p = ccl.all_reduce "x" %x in <"g", [0, 1], index 0> blocks [32] : tensor<4x8xf32> -> !ccl.pending<tensor<4x8xf32>>
  %c = nn.matmul %a, %n : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  %y = ccl.wait %p : !ccl.pending<tensor<4x8xf32>> -> tensor<4x8xf32>
  %e = nn.matmul %y, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  ccl.assign @sv, %e : tensor<4x64xf32>
  %d = nn.matmul %b, %n : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  return %c, %d : tensor<4x2xf32>, tensor<4x2xf32>
}

// More is live behind the sum, whatever comes before it, so the products before it stay in their order.
// CHECK-LABEL: func.func @elsewhere
// CHECK: %[[A:.*]] = nn.matmul
// CHECK-NEXT: %[[B:.*]] = nn.matmul
// CHECK-NEXT: nn.matmul %[[A]]
// CHECK-NEXT: nn.matmul %[[B]]
func.func @elsewhere(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<64x64xf32>) {
  %w = ccl.read @sw : tensor<8x64xf32>
  %n = ccl.read @sn : tensor<64x2xf32>
  %a = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %b = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %c = nn.matmul %a, %n : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  %d = nn.matmul %b, %n : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  %p = ccl.all_reduce "x" %x in <"g", [0, 1], index 0> blocks [32] : tensor<4x8xf32> -> !ccl.pending<tensor<4x8xf32>>
  %y = ccl.wait %p : !ccl.pending<tensor<4x8xf32>> -> tensor<4x8xf32>
  %e = nn.matmul %w, %w {transpose_a} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  return %c, %d, %e : tensor<4x2xf32>, tensor<4x2xf32>, tensor<64x64xf32>
}

// What is read stands before what replaces it: the read of @sv behind the assignment sees %e.
// CHECK-LABEL: func.func @reads
// CHECK: ccl.assign @sv
// CHECK-NEXT: ccl.read @sv
func.func @reads(%x: tensor<4x8xf32>) -> tensor<4x64xf32> {
  %w = ccl.read @sw : tensor<8x64xf32>
  %e = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  ccl.assign @sv, %e : tensor<4x64xf32>
  %v = ccl.read @sv : tensor<4x64xf32>
  return %v : tensor<4x64xf32>
}
