// What 'ccl-prefetch' moves, and (ORDER) what is the same at every depth and without it.
// RUN: splitcast-opt %s -ccl-prefetch | FileCheck %s --check-prefixes=ORDER,CHECK
// RUN: splitcast-opt %s -ccl-prefetch=depth=0 | FileCheck %s --check-prefixes=ORDER,ZERO
// RUN: splitcast-opt %s -ccl-prefetch=depth=2 | FileCheck %s --check-prefixes=ORDER,TWO
// RUN: splitcast-opt %s -ccl-prefetch=depth=9223372036854775807 | FileCheck %s --check-prefixes=ORDER
// RUN: splitcast-opt %s | FileCheck %s --check-prefixes=ORDER,ZERO

ccl.storage @s1 : tensor<4xf32> holds [] at []
ccl.storage @s2 : tensor<4xf32> holds [] at []
ccl.storage @s3 : tensor<4xf32> holds [] at []

// Three gathers, of which two at most are open: the third starts when the second has been waited for.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[A:.*]] = ccl.all_gather "one"
// CHECK-NEXT: ccl.wait %[[A]]
// CHECK-NEXT: %[[B:.*]] = ccl.all_gather "two"
// CHECK-NEXT: nn.relu
// CHECK-NEXT: ccl.wait %[[B]]
// CHECK-NEXT: %[[C:.*]] = ccl.all_gather "three"
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: ccl.wait %[[C]]
// CHECK-NEXT: nn.exp
// Or three: two are ahead of the first.
// TWO-LABEL: func.func @gathers
// TWO: %[[A:.*]] = ccl.all_gather "one"
// TWO-NEXT: ccl.wait %[[A]]
// TWO-NEXT: %[[B:.*]] = ccl.all_gather "two"
// TWO-NEXT: %[[C:.*]] = ccl.all_gather "three"
// TWO-NEXT: nn.relu
// TWO-NEXT: ccl.wait %[[B]]
// TWO-NEXT: nn.tanh
// TWO-NEXT: ccl.wait %[[C]]
// TWO-NEXT: nn.exp
// ZERO-LABEL: func.func @gathers
// ZERO: ccl.all_gather "one"
// ZERO-NEXT: ccl.wait
// ZERO-NEXT: nn.relu
// ZERO-NEXT: ccl.all_gather "two"
// ZERO-NEXT: ccl.wait
// ZERO-NEXT: nn.tanh
// ZERO-NEXT: ccl.all_gather "three"
func.func @gathers() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %1 = ccl.read @s2 : tensor<4xf32>
  %2 = ccl.read @s3 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %3 : (tensor<8xf32>) -> tensor<8xf32>
  %b = ccl.all_gather "two" %1 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %4 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %c = ccl.all_gather "three" %2 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %5 = ccl.wait %c : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %z = nn.exp %5 : (tensor<8xf32>) -> tensor<8xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A gather of what was computed cannot start before; one behind an assignment stays behind it.
// ORDER-LABEL: func.func @stays
// CHECK: ccl.all_gather "one"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: %[[X:.*]] = nn.relu
// CHECK-NEXT: ccl.assign @s1
// CHECK-NEXT: ccl.read @s1
// CHECK-NEXT: ccl.all_gather "two"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: %[[Y:.*]] = nn.tanh
// CHECK-NEXT: ccl.all_gather "three" %[[Y]]
func.func @stays(%v: tensor<4xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %1 : (tensor<8xf32>) -> tensor<8xf32>
  ccl.assign @s1, %v : tensor<4xf32>
  %2 = ccl.read @s1 : tensor<4xf32>
  %b = ccl.all_gather "two" %2 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %y = nn.tanh %3 : (tensor<8xf32>) -> tensor<8xf32>
  %c = ccl.all_gather "three" %y in <"g", [0, 1], index 0> blocks [8, 8] : tensor<8xf32> -> !ccl.pending<tensor<16xf32>>
  %4 = ccl.wait %c : !ccl.pending<tensor<16xf32>> -> tensor<16xf32>
  return %x, %4 : tensor<8xf32>, tensor<16xf32>
}

// In backward a gather starts before the reduction of the group before: it need not wait for that. An assignment of what something else
// gathers is nothing to it.
// ORDER-LABEL: func.func @order
// CHECK: ccl.all_gather "one"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: ccl.all_gather "two"
// CHECK-NEXT: ccl.assign @s3
// CHECK-NEXT: ccl.all_reduce "sum"
// ZERO: ccl.all_gather "one"
// ZERO: ccl.all_reduce "sum"
// ZERO: ccl.all_gather "two"
func.func @order(%v: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %1 = ccl.read @s2 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %2 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  ccl.assign @s3, %v : tensor<4xf32>
  %s = ccl.all_reduce "sum" %2 in <"g", [0, 1], index 0> blocks 8 : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %x = ccl.wait %s : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %b = ccl.all_gather "two" %1 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %y = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}

// A reduction is waited for where the next one starts, or where its result is used.
// ORDER-LABEL: func.func @reductions
// CHECK-NEXT: %[[A:.*]] = ccl.reduce_scatter "one"
// CHECK-NEXT: nn.relu
// CHECK-NEXT: ccl.wait %[[A]]
// CHECK-NEXT: %[[B:.*]] = ccl.all_reduce "two"
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: %[[W:.*]] = ccl.wait %[[B]]
// CHECK-NEXT: nn.neg %[[W]]
func.func @reductions(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
  %a = ccl.reduce_scatter "one" %x in <"g", [0, 1], index 0> blocks [4, 4] : tensor<8xf32> -> !ccl.pending<tensor<4xf32>>
  %0 = ccl.wait %a : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %1 = nn.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %b = ccl.all_reduce "two" %x in <"g", [0, 1], index 0> blocks 8 : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %2 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %3 = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32>
  %4 = nn.neg %2 : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %3, %4, %0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

// A fenced gather moves with its fence and scope; another name for what a reduction gives is no use of it.
// ORDER-LABEL: func.func @fenced
// CHECK: ccl.all_gather "one"
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: %[[S2:.*]] = ccl.read @s2
// CHECK-NEXT: %[[T:.*]] = sbp.scope "backward"
// CHECK-NEXT: %[[F:.*]] = sbp.fence %[[S2]] in %[[T]]
// CHECK-NEXT: ccl.all_gather "two" %[[F]]
// CHECK-NEXT: nn.relu
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: %[[U:.*]] = sbp.scope "update"
// CHECK-NEXT: ccl.all_reduce "sum"
// CHECK-NEXT: nn.tanh
// CHECK-NEXT: %[[SUM:.*]] = ccl.wait
// CHECK-NEXT: %[[VIEW:.*]] = ccl.view %[[SUM]] at 4
// CHECK-NEXT: %[[NAME:.*]] = sbp.fence %[[VIEW]] in %[[U]]
// CHECK-NEXT: nn.exp %[[NAME]]
func.func @fenced() -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = ccl.read @s1 : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %x = nn.relu %1 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ccl.read @s2 : tensor<4xf32>
  %t = sbp.scope "backward"
  %3 = sbp.fence %2 in %t : tensor<4xf32>
  %b = ccl.all_gather "two" %3 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %4 = ccl.wait %b : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %u = sbp.scope "update"
  %c = ccl.all_reduce "sum" %x in <"g", [0, 1], index 0> blocks 8 : tensor<8xf32> -> !ccl.pending<tensor<8xf32>>
  %5 = ccl.wait %c : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %6 = ccl.view %5 at 4 : tensor<8xf32> -> tensor<4xf32>
  %7 = sbp.fence %6 in %u : tensor<4xf32>
  %y = nn.tanh %4 : (tensor<8xf32>) -> tensor<8xf32>
  %z = nn.exp %7 : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %z : tensor<8xf32>, tensor<4xf32>
}
