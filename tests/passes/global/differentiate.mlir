// Which gradients 'nn-differentiate' makes, and in which order it adds them.
// RUN: splitcast-opt %s -nn-differentiate | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32, #B>
sbp.variable @v : tensor<2xf32, #B>
sbp.variable @ice : tensor<4x4xf32, #B> frozen
sbp.variable @unused : tensor<4xf32, #B>
sbp.variable @row : tensor<6xf32, #B>
sbp.variable @none : tensor<2x0xf32, #B>

// A value with two uses: the later one's contribution comes first, and both are added once.
// CHECK-LABEL: func.func @two_contributions
// CHECK: %[[Y:.*]] = nn.matmul
// CHECK: %[[E:.*]] = nn.exp %[[Y]]
// CHECK: %[[T:.*]] = nn.tanh %[[Y]]
// CHECK: %[[DM:.*]] = nn.broadcast
// CHECK-NEXT: %[[DE:.*]] = nn.mul %[[DM]], %[[T]]
// CHECK-NEXT: %[[DT:.*]] = nn.mul %[[DM]], %[[E]]
// CHECK-NEXT: %[[MINUS_T:.*]] = nn.neg %[[T]]
// CHECK-NEXT: %[[LESS:.*]] = nn.shift %[[MINUS_T]] {value = 1.0
// CHECK-NEXT: %[[MORE:.*]] = nn.shift %[[T]] {value = 1.0
// CHECK-NEXT: %[[SLOPE:.*]] = nn.mul %[[LESS]], %[[MORE]]
// CHECK-NEXT: %[[FROM_TANH:.*]] = nn.mul %[[DT]], %[[SLOPE]]
// CHECK-NEXT: %[[FROM_EXP:.*]] = nn.mul %[[DE]], %[[E]]
// CHECK-NEXT: %[[DY:.*]] = nn.add %[[FROM_TANH]], %[[FROM_EXP]]
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %{{.*}}, %[[DY]] {transpose_a}
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @w
// CHECK-NEXT: nn.update @w, %[[DW]] in %[[S]]
// CHECK-NEXT: return
func.func @two_contributions(%x: tensor<8x4xf32>) {
  %w = sbp.read @w : tensor<4x2xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = nn.exp %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %2 = nn.tanh %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %3 = nn.mul %1, %2 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %4 = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %4 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// A variable that is read twice gets one update, of the sum.
// CHECK-LABEL: func.func @read_twice
// CHECK: %[[D:.*]] = nn.broadcast
// CHECK-NEXT: %[[N:.*]] = nn.neg %[[D]]
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[D]], %[[N]]
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @v
// CHECK-NEXT: nn.update @v, %[[SUM]] in %[[S]]
// CHECK-NEXT: return
func.func @read_twice() {
  %0 = sbp.read @v : tensor<2xf32>
  %1 = nn.neg %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = sbp.read @v : tensor<2xf32>
  %3 = nn.add %1, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = nn.reduce_sum %3 {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.minimize %4 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// Nothing flows below the first trainable variable: one product in backward. What the loss does not use stays as it is.
// CHECK-LABEL: func.func @frozen
// CHECK: sbp.scope "backward"
// CHECK: %[[DY:.*]] = nn.broadcast
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %{{.*}}, %[[DY]] {transpose_a}
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @w
// CHECK-NEXT: nn.update @w, %[[DW]] in %[[S]]
// CHECK-NEXT: return
func.func @frozen(%x: tensor<8x4xf32>) {
  %f = sbp.read @ice : tensor<4x4xf32>
  %0 = nn.matmul %x, %f : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %w = sbp.read @w : tensor<4x2xf32>
  %u = sbp.read @unused : tensor<4xf32>
  %1 = nn.matmul %0, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %2 = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %2 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// Boxings and fences change no value, so gradients pass by them; their own signature is chosen later.
// CHECK-LABEL: func.func @pass_through
// CHECK: sbp.scope "backward"
// CHECK: %[[DY:.*]] = nn.broadcast
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %{{.*}}, %[[DY]] {transpose_a} : (tensor<2x4xf32, #S0_>, tensor<2x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @w
// CHECK-NEXT: nn.update @w, %[[DW]] in %[[S]] : tensor<4x2xf32>
// CHECK-NEXT: return
func.func @pass_through(%x: tensor<2x4xf32, #S0>) {
  %t = sbp.scope "forward"
  %w = sbp.read @w : tensor<4x2xf32, #B>
  %0 = sbp.fence %w in %t : tensor<4x2xf32, #B>
  %1 = sbp.boxing %0 : tensor<4x2xf32, #B> -> tensor<4x2xf32, #S0>
  %2 = sbp.boxing %1 : tensor<4x2xf32, #S0> -> tensor<4x2xf32, #B>
  %3 = nn.matmul %x, %2 : (tensor<2x4xf32, #S0>, tensor<4x2xf32, #B>) -> tensor<2x2xf32>
  %4 = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<2x2xf32>) -> tensor<f32>
  nn.minimize %4 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// A function without nn.minimize is left alone.
// CHECK-LABEL: func.func @predict
// CHECK-NEXT: sbp.read
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: return
func.func @predict(%x: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %w = sbp.read @w : tensor<4x2xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// What was read before an assignment is a constant: the update of the new @s has the gradient there, which is %a.
// CHECK-LABEL: func.func @assigned_between
// CHECK: %[[A:.*]] = sbp.read @s
// CHECK: sbp.assign @s
// CHECK: %[[DL:.*]] = sbp.fence
// CHECK-NEXT: %[[DB:.*]] = nn.mul %[[DL]], %[[A]]
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @s
// CHECK-NEXT: nn.update @s, %[[DB]] in %[[S]]
// CHECK-NEXT: return
sbp.variable @s : tensor<f32, #B>
func.func @assigned_between() {
  %a = sbp.read @s : tensor<f32>
  %c = nn.constant 10.0 : tensor<f32>
  sbp.assign @s, %c : tensor<f32>
  %b = sbp.read @s : tensor<f32>
  %l = nn.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 1.0>
  return
}

// Nothing flows through nn.stop_gradient and nn.compare: @v gets no update. The former is gone then, a comparison is not.
// CHECK-LABEL: func.func @stopped
// CHECK-NEXT: %[[W:.*]] = sbp.read @w
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %{{.*}}, %[[W]]
// CHECK-NEXT: %[[V:.*]] = sbp.read @v
// CHECK-NEXT: %[[C:.*]] = nn.compare %[[Y]], %[[V]] {predicate = "gt"}
// CHECK-NEXT: %[[A:.*]] = nn.mul %[[Y]], %[[V]]
// CHECK-NEXT: nn.mul %[[A]], %[[C]]
// CHECK: %[[DL:.*]] = nn.broadcast
// CHECK-NEXT: %[[DA:.*]] = nn.mul %[[DL]], %[[C]]
// CHECK-NEXT: %[[DY:.*]] = nn.mul %[[DA]], %[[V]]
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %{{.*}}, %[[DY]] {transpose_a}
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @w
// CHECK-NEXT: nn.update @w, %[[DW]] in %[[S]]
// CHECK-NEXT: return
func.func @stopped(%x: tensor<8x4xf32>) {
  %w = sbp.read @w : tensor<4x2xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %v = sbp.read @v : tensor<2xf32>
  %1 = nn.stop_gradient %v : (tensor<2xf32>) -> tensor<2xf32>
  %2 = nn.compare %0, %v {predicate = "gt"} : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %3 = nn.mul %0, %1 : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %4 = nn.mul %3, %2 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %5 = nn.reduce_sum %4 {dims = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  nn.minimize %5 : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// Beside what is stopped, the variable is itself: one addend of two.
// CHECK-LABEL: func.func @stopped_beside
// CHECK-NEXT: %[[A:.*]] = sbp.read @s
// CHECK-NEXT: nn.mul %[[A]], %[[A]]
// CHECK: %[[DL:.*]] = sbp.fence
// CHECK-NEXT: %[[DA:.*]] = nn.mul %[[DL]], %[[A]]
// CHECK-NEXT: %[[S:.*]] = sbp.scope "update" of @s
// CHECK-NEXT: nn.update @s, %[[DA]] in %[[S]]
// CHECK-NEXT: return
func.func @stopped_beside() {
  %a = sbp.read @s : tensor<f32>
  %0 = nn.stop_gradient %a : (tensor<f32>) -> tensor<f32>
  %1 = nn.mul %a, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %1 : tensor<f32> with #nn.sgd<lr = 1.0>
  return
}

// It has nothing to say where nothing is minimized.
// CHECK-LABEL: func.func @stopped_alone
// CHECK-SAME: (%[[X:.*]]: tensor<4xi64>)
// CHECK-NEXT: return %[[X]]
func.func @stopped_alone(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = nn.stop_gradient %x : (tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// What is cut into slices has its gradient in one piece: zeros where no slice is, a sum where two are the same.
// CHECK-LABEL: func.func @slices
// CHECK: sbp.scope "backward"
// CHECK: nn.shift
// CHECK: nn.shift
// CHECK-NEXT: nn.mul
// CHECK-NEXT: %[[C:.*]] = nn.mul {{.*}} : (tensor<2x1xf32>
// CHECK-NEXT: %[[B:.*]] = nn.mul {{.*}} : (tensor<2x1xf32>
// CHECK-NEXT: %[[A:.*]] = nn.mul {{.*}} : (tensor<2x3xf32>
// CHECK-NEXT: %[[BC:.*]] = nn.add %[[C]], %[[B]] : (tensor<2x1xf32>
// CHECK-NEXT: %[[Z:.*]] = nn.constant 0.000000e+00 : tensor<2x2xf32>
// CHECK-NEXT: %[[G:.*]] = nn.concat %[[A]], %[[Z]], %[[BC]] {dim = 1 : i64}
// CHECK-NEXT: nn.mul %[[G]]
func.func @slices(%x: tensor<2x6xf32>) {
  %v = sbp.read @row : tensor<6xf32>
  %y = nn.mul %x, %v : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  %a = nn.slice %y {dim = 1 : i64, start = 0 : i64} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %b = nn.slice %y {dim = 1 : i64, start = 5 : i64} : (tensor<2x6xf32>) -> tensor<2x1xf32>
  %c = nn.slice %y {dim = 1 : i64, start = 5 : i64} : (tensor<2x6xf32>) -> tensor<2x1xf32>
  %aa = nn.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %bb = nn.exp %b : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %cc = nn.tanh %c : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %d = nn.concat %aa, %bb, %cc {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  %l = nn.reduce_sum %d {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// Where two of them overlap otherwise, or along two dimensions, their gradients are added.
// CHECK-LABEL: func.func @overlapping_slices
// CHECK: sbp.scope "backward"
// CHECK: %[[C:.*]] = nn.concat
// CHECK: %[[B:.*]] = nn.concat
// CHECK: %[[A:.*]] = nn.concat
// CHECK-NEXT: %[[CB:.*]] = nn.add %[[C]], %[[B]]
// CHECK-NEXT: nn.add %[[CB]], %[[A]]
func.func @overlapping_slices(%x: tensor<2x6xf32>) {
  %v = sbp.read @row : tensor<6xf32>
  %y = nn.mul %x, %v : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  %a = nn.slice %y {dim = 1 : i64, start = 0 : i64} : (tensor<2x6xf32>) -> tensor<2x4xf32>
  %b = nn.slice %y {dim = 1 : i64, start = 2 : i64} : (tensor<2x6xf32>) -> tensor<2x4xf32>
  %c = nn.slice %y {dim = 0 : i64, start = 0 : i64} : (tensor<2x6xf32>) -> tensor<1x6xf32>
  %ab = nn.mul %a, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %l = nn.reduce_sum %ab {dims = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  %m = nn.reduce_sum %c {dims = array<i64: 0, 1>} : (tensor<1x6xf32>) -> tensor<f32>
  %n = nn.add %l, %m : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %n : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// A sum of slices' gradients that is another value's gradient, too, stays; of no elements it is a sum.
// CHECK-LABEL: func.func @shared_sum
// CHECK: sbp.scope "backward"
// CHECK: %[[S:.*]] = nn.concat {{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK: nn.mul %[[S]]
// CHECK: nn.concat {{.*}} : (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NOT: nn.concat
// CHECK: return
func.func @shared_sum(%x: tensor<2x6xf32>) {
  %v = sbp.read @row : tensor<6xf32>
  %y = nn.mul %x, %v : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  %u = nn.exp %y : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %w = nn.tanh %y : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %s = nn.slice %u {dim = 1 : i64, start = 0 : i64} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %z = nn.add %u, %w : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %p = nn.slice %z {dim = 1 : i64, start = 0 : i64} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %q = nn.slice %z {dim = 1 : i64, start = 3 : i64} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %m = nn.mul %p, %q : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %n = nn.mul %m, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %l = nn.reduce_sum %n {dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// CHECK-LABEL: func.func @no_elements
// CHECK: sbp.scope "backward"
// CHECK: nn.concat {{.*}} : (tensor<2x0xf32>
func.func @no_elements(%x: tensor<2x0xf32>) {
  %v = sbp.read @none : tensor<2x0xf32>
  %y = nn.mul %x, %v : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x0xf32>
  %a = nn.slice %y {dim = 1 : i64, start = 0 : i64} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  %b = nn.slice %y {dim = 1 : i64, start = 0 : i64} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  %c = nn.mul %a, %b : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x0xf32>
  %l = nn.reduce_sum %c {dims = array<i64: 0, 1>} : (tensor<2x0xf32>) -> tensor<f32>
  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5>
  return
}

// A weight that is used at several steps in time, with few rows each: the products are one, in the order of time.
// CHECK-LABEL: func.func @few_rows
// CHECK-COUNT-2: nn.concat {{.*}} {dim = 1 : i64} : {{.*}} -> tensor<2x2x8xf32>
// CHECK: %[[DW:.*]] = nn.matmul {{.*}} {transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK-NOT: nn.matmul
// CHECK: nn.update @square, %[[DW]]
sbp.variable @square : tensor<8x8xf32, #B>
func.func @few_rows(%x: tensor<2x8xf32>) -> tensor<f32> {
  %w = sbp.read @square : tensor<8x8xf32>
  %h = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %y = nn.matmul %h, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<2x8xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
