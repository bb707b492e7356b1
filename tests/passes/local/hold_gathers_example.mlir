// The example of 'ccl-hold-gathers': the gather comes first, and its place is kept to the end.
// RUN: splitcast-opt %s -ccl-hold-gathers | FileCheck-19 %s

ccl.storage @w : tensor<2xf32> holds [] at []

// CHECK: func.func @predict(%[[arg0:.*]]: tensor<4xf32>) -> tensor<4xf32> attributes {ccl.held_ops = 3 : i64, ccl.hold_gathers} {
// CHECK-NEXT: %[[read:.*]] = ccl.read @w
// CHECK-NEXT: %[[a:.*]] = ccl.all_gather "w" %[[read]]
// CHECK-NEXT: %[[whole:.*]] = ccl.wait %[[a]]
// CHECK-NEXT: nn.relu %[[arg0]]
// CHECK-NEXT: nn.add %{{.*}}, %[[whole]]
func.func @predict(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {ccl.hold_gathers} {
  %x = nn.relu %arg0 : (tensor<4xf32>) -> tensor<4xf32>
  %0 = ccl.read @w : tensor<2xf32>
  %a = ccl.all_gather "w" %0 in <"g", [0, 1], index 0> blocks [2, 2] : tensor<2xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %a : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %y = nn.add %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A gather of what is computed stays; with no other, nothing is held.
// CHECK: func.func @computed(%{{.*}}: tensor<2xf32>) -> tensor<4xf32> attributes {ccl.hold_gathers} {
// CHECK-NEXT: nn.relu
func.func @computed(%arg0: tensor<2xf32>) -> tensor<4xf32> attributes {ccl.hold_gathers} {
  %x = nn.relu %arg0 : (tensor<2xf32>) -> tensor<2xf32>
  %a = ccl.all_gather "x" %x in <"g", [0, 1], index 0> blocks [2, 2] : tensor<2xf32> -> !ccl.pending<tensor<4xf32>>
  %1 = ccl.wait %a : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
