// What moves up, how far, and what stays.
// RUN: splitcast-opt %s -split-input-file -ccl-update-as-reduced | FileCheck %s

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @w : tensor<4xf32, #B> policy #sbp.policy<stage = 3>
sbp.variable @m : tensor<4xf32, #B> state_of @w role "momentum"
sbp.variable @power : tensor<f32, #B> frozen
ccl.storage @s : tensor<4xf32> holds [@w] at [0]
ccl.storage @sm : tensor<4xf32> holds [@m] at [0]
ccl.storage @sp : tensor<f32> holds [@power] at [0]

// Behind the last use of what is replaced, of @s the wait of a gather; with the optimizer's scalars, but not what is assigned to
// them; and while the next reduction is under way.
// CHECK-LABEL: func.func @adam
// CHECK: ccl.all_reduce "two"
// CHECK-NEXT: %[[gradient:.*]] = ccl.wait
// CHECK-NEXT: %[[scope:.*]] = sbp.scope
// CHECK-NEXT: sbp.fence %[[gradient]] in %[[scope]]
// CHECK-NEXT: ccl.read @sp
// CHECK-NEXT: nn.sqrt
// CHECK-NEXT: ccl.read @sm
// CHECK-NEXT: sbp.fence
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.sub
// CHECK-NEXT: ccl.assign @sm
// CHECK-NEXT: ccl.read @s :
// CHECK-NEXT: ccl.all_gather "w backward"
// CHECK-NEXT: nn.relu
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: ccl.all_reduce "one"
// CHECK-NEXT: ccl.read @s :
// CHECK-NEXT: nn.sub
// CHECK-NEXT: ccl.assign @s,
// CHECK-NEXT: nn.exp
// CHECK-NEXT: ccl.wait
// CHECK-NEXT: ccl.assign @sp
func.func @adam(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<4xf32>) {
  %p = ccl.all_reduce "two" %x in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %g = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %w = ccl.read @s : tensor<4xf32>
  %a = ccl.all_gather "w backward" %w in <"g", [0, 1], index 0> blocks [4, 4] : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %y = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %all = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  %q = ccl.all_reduce "one" %y in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %z = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %one = ccl.wait %q : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %power = ccl.read @sp : tensor<f32>
  %root = nn.sqrt %power : (tensor<f32>) -> tensor<f32>
  ccl.assign @sp, %root : tensor<f32>
  %u = sbp.scope "update" group "w"
  %1 = sbp.fence %g in %u : tensor<4xf32>
  %m = ccl.read @sm : tensor<4xf32>
  %old_m = sbp.fence %m in %u : tensor<4xf32>
  %2 = nn.mul %root, %old_m : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.sub %2, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @sm, %3 : tensor<4xf32>
  %old = ccl.read @s : tensor<4xf32>
  %4 = nn.sub %old, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s, %4 : tensor<4xf32>
  return %z, %all, %one : tensor<4xf32>, tensor<8xf32>, tensor<4xf32>
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @stage1 : tensor<4xf32, #B> policy #sbp.policy<stage = 1>
sbp.variable @last : tensor<4xf32, #B> policy #sbp.policy<stage = 3, update = last>
sbp.variable @clipped : tensor<4xf32, #B> policy #sbp.policy<stage = 3>
sbp.variable @state : tensor<4xf32, #B> state_of @clipped role "count"
ccl.storage @s1 : tensor<4xf32> holds [@stage1] at [0]
ccl.storage @s2 : tensor<4xf32> holds [@last] at [0]
ccl.storage @s3 : tensor<4xf32> holds [@clipped] at [0]
ccl.storage @s4 : tensor<4xf32> holds [@state] at [0]

// At a stage below 2 updates stay,
// CHECK-LABEL: func.func @stays_at_stage_1
// CHECK: nn.exp
// CHECK: sbp.fence
// CHECK: ccl.assign @s1
func.func @stays_at_stage_1(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = ccl.all_reduce "gradient" %x in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %g = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %y = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %u = sbp.scope "update" group "w"
  %1 = sbp.fence %g in %u : tensor<4xf32>
  %2 = nn.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s1, %2 : tensor<4xf32>
  return %y : tensor<4xf32>
}

// and where the policy says so.
// CHECK-LABEL: func.func @stays_last
// CHECK: nn.exp
// CHECK: sbp.fence
// CHECK: ccl.assign @s2
func.func @stays_last(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = ccl.all_reduce "gradient" %x in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %g = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %y = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %u = sbp.scope "update" group "w"
  %1 = sbp.fence %g in %u : tensor<4xf32>
  %2 = nn.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s2, %2 : tensor<4xf32>
  return %y : tensor<4xf32>
}

// What depends on the sum of all gradients stays behind it, while what that is made of does not wait.
// CHECK-LABEL: func.func @clips
// CHECK: ccl.wait
// CHECK: nn.reduce_sum
// CHECK: nn.exp
// CHECK: ccl.all_reduce "norm"
// CHECK: ccl.wait
// CHECK: nn.mul
// CHECK: ccl.assign @s3
func.func @clips(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = ccl.all_reduce "gradient" %x in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %g = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %y = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %u = sbp.scope "update" group "w"
  %1 = sbp.fence %g in %u : tensor<4xf32>
  %4 = nn.reduce_sum %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %q = ccl.all_reduce "norm" %4 in <"g", [0, 1], index 0> blocks [1] : tensor<f32> -> !ccl.pending<tensor<f32>>
  %norm = ccl.wait %q : !ccl.pending<tensor<f32>> -> tensor<f32>
  %5 = nn.mul %norm, %1 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s3, %5 : tensor<4xf32>
  return %y : tensor<4xf32>
}

// A read that moves along passes no assignment; nor does an assignment pass a read, or another one.
// CHECK-LABEL: func.func @order
// CHECK: ccl.wait
// CHECK: nn.exp
// CHECK-NEXT: ccl.assign @s4
// CHECK-NEXT: ccl.read @s4
// CHECK-NEXT: nn.sub
// CHECK-NEXT: ccl.assign @s4
// CHECK-NEXT: ccl.read @s4
// CHECK-NEXT: nn.sub
// CHECK-NEXT: ccl.assign @s3
// CHECK-NEXT: nn.relu
func.func @order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %p = ccl.all_reduce "gradient" %x in <"g", [0, 1], index 0> blocks [4] : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>
  %g = ccl.wait %p : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
  %u = sbp.scope "update" group "w"
  %1 = sbp.fence %g in %u : tensor<4xf32>
  %y = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s4, %y : tensor<4xf32>
  %z = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ccl.read @s4 : tensor<4xf32>
  %3 = nn.sub %2, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s4, %3 : tensor<4xf32>
  %4 = ccl.read @s4 : tensor<4xf32>
  %5 = nn.sub %4, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ccl.assign @s3, %5 : tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}
