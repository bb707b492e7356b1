// What a stage gets of the one before is waited for where it is used, and what it sends, before it sends again or what is
// sent is used. A gather among ranks that have programs of their own stays where it is.
// RUN: splitcast-opt %s -ccl-prefetch | FileCheck %s
// RUN: splitcast-opt %s -ccl-prefetch=depth=0 | FileCheck %s --check-prefix=AT-ONCE

module attributes {ccl.apart = ["pp"]} {
ccl.storage @s1 : tensor<4xf32> holds [] at []
ccl.storage @s2 : tensor<4xf32> holds [] at []

// CHECK-LABEL: func.func @receive
// CHECK: %[[p:.*]] = ccl.all_to_all "h"
// CHECK-NEXT: nn.exp
// CHECK-NEXT: %[[w:.*]] = ccl.wait %[[p]]
// CHECK-NEXT: %[[h:.*]] = ccl.view %[[w]]
// CHECK-NEXT: nn.relu %[[h]]
// AT-ONCE-LABEL: func.func @receive
// AT-ONCE: ccl.all_to_all "h"
// AT-ONCE-NEXT: ccl.wait
func.func @receive(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %n = ccl.pack at [] : () -> tensor<0xf32>
  %p = ccl.all_to_all "h" %n in <"pp", [0, 1], index 1> blocks [0, 0] received [4, 0] : tensor<0xf32> -> !ccl.pending<tensor<4xf32>>
  %w = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %h = ccl.view %w at 0 : tensor<4xf32> -> tensor<2x2xf32>
  %e = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %r = nn.relu %h : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %e, %r : tensor<4xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @send
// CHECK: %[[p:.*]] = ccl.all_to_all "a"
// CHECK-NEXT: nn.exp
// CHECK-NEXT: ccl.wait %[[p]]
// CHECK-NEXT: %[[q:.*]] = ccl.all_to_all "b" %[[b:.*]] in
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: ccl.wait %[[q]]
// CHECK-NEXT: nn.relu %[[b]]
func.func @send(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %p = ccl.all_to_all "a" %a in <"pp", [0, 1], index 0> blocks [0, 4] received [0, 0] : tensor<4xf32> -> !ccl.pending<tensor<0xf32>>
  %v = ccl.wait %p : !ccl.pending<tensor<0xf32>> -> tensor<0xf32>
  %e = nn.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %q = ccl.all_to_all "b" %b in <"pp", [0, 1], index 0> blocks [0, 4] received [0, 0] : tensor<4xf32> -> !ccl.pending<tensor<0xf32>>
  %w = ccl.wait %q : !ccl.pending<tensor<0xf32>> -> tensor<0xf32>
  %t = nn.tanh %e : (tensor<4xf32>) -> tensor<4xf32>
  %r = nn.relu %b : (tensor<4xf32>) -> tensor<4xf32>
  return %e, %t, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @gathers
// CHECK: ccl.all_gather "one"
// CHECK: nn.relu
// CHECK: ccl.all_gather "two"
func.func @gathers() -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"pp", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %one = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %one : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ccl.read @s2 : tensor<4xf32>
  %b = ccl.all_gather "two" %1 in <"pp", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %two = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.relu %two : (tensor<8xf32>) -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}
}
