// The example of 'ccl-prefetch': the second group's gather is under way while the first group is computed.
// RUN: splitcast-opt %s -ccl-prefetch | FileCheck %s

ccl.storage @s1 : tensor<4xf32> holds [] at []
ccl.storage @s2 : tensor<4xf32> holds [] at []

// CHECK-LABEL: func.func @example
// CHECK-NEXT: %[[_0:.*]] = ccl.read @s1
// CHECK-NEXT: %[[a:.*]] = ccl.all_gather "one" %[[_0]] {{.*}}
// CHECK-NEXT: %[[one:.*]] = ccl.wait %[[a]] : {{.*}}
// CHECK-NEXT: %[[_1:.*]] = ccl.read @s2
// CHECK-NEXT: %[[b:.*]] = ccl.all_gather "two" %[[_1]] {{.*}}
// CHECK-NEXT: %[[x:.*]] = nn.relu %[[one]] : {{.*}}
// CHECK-NEXT: %[[two:.*]] = ccl.wait %[[b]] : {{.*}}
// CHECK-NEXT: nn.relu %[[two]]
func.func @example() -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %one = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %one : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ccl.read @s2 : tensor<4xf32>
  %b = ccl.all_gather "two" %1 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %two = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.relu %two : (tensor<8xf32>) -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}
