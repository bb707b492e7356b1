// The example of 'sbp-merge-equal': equal ops are one, and so are reads unless something is assigned between them.
// RUN: splitcast-opt %s -pass-pipeline='builtin.module(func.func(sbp-merge-equal))' | FileCheck %s
// RUN: splitcast-opt %s -cse | FileCheck %s

sbp.variable @w : tensor<4xf32>
sbp.variable @v : tensor<4xf32>

// CHECK-LABEL: func.func @example
// CHECK-NEXT: %[[_1:.*]] = sbp.read @w : tensor<4xf32>
// CHECK-NEXT: %[[_2:.*]] = nn.tanh %[[_1]] : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %[[_2]], %[[_2]]
func.func @example() -> (tensor<4xf32>, tensor<4xf32>) {
  %1 = sbp.read @w : tensor<4xf32>
  %2 = nn.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = sbp.read @w : tensor<4xf32>
  %4 = nn.tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4xf32>, tensor<4xf32>
}

// The second read of @w sees what was assigned; the third is the second. Which variable is assigned does not count.
// CHECK-LABEL: func.func @assigned
// CHECK-NEXT: %[[first:.*]] = sbp.read @w
// CHECK-NEXT: %[[v:.*]] = sbp.read @v
// CHECK-NEXT: sbp.assign @w, %[[v]]
// CHECK-NEXT: %[[second:.*]] = sbp.read @w
// CHECK-NEXT: %[[again:.*]] = sbp.read @v
// CHECK-NEXT: return %[[first]], %[[second]], %[[second]], %[[again]]
func.func @assigned() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %1 = sbp.read @w : tensor<4xf32>
  %2 = sbp.read @v : tensor<4xf32>
  sbp.assign @w, %2 : tensor<4xf32>
  %3 = sbp.read @w : tensor<4xf32>
  %4 = sbp.read @w : tensor<4xf32>
  %5 = sbp.read @v : tensor<4xf32>
  return %1, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Scopes stay apart, and with them what is fenced in them. What nothing uses goes.
// CHECK-LABEL: func.func @scopes
// CHECK-COUNT-2: sbp.scope
// CHECK-COUNT-2: sbp.fence
// CHECK-NEXT: return
func.func @scopes(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = sbp.scope "backward"
  %b = sbp.scope "backward"
  %1 = sbp.fence %x in %a : tensor<4xf32>
  %2 = sbp.fence %x in %b : tensor<4xf32>
  %3 = sbp.fence %x in %a : tensor<4xf32>
  %unused = nn.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
