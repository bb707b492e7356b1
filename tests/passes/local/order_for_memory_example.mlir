// The example of 'ccl-order-for-memory': %a is needed no more when %b is made.
// RUN: splitcast-opt %s -ccl-order-for-memory | FileCheck %s

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
sbp.variable @one : tensor<8x64xf32, #B>
sbp.variable @two : tensor<64x2xf32, #B>
ccl.storage @s1 : tensor<8x64xf32> holds [@one] at [0]
ccl.storage @s2 : tensor<64x2xf32> holds [@two] at [0]

// CHECK-LABEL: func.func @example
// CHECK: %[[a:.*]] = nn.matmul %[[x:.*]], %[[w:.*]] : {{.*}}
// CHECK-NEXT: %[[c:.*]] = nn.matmul %[[a]], %[[n:.*]] : {{.*}}
// CHECK-NEXT: %[[b:.*]] = nn.matmul %[[x]], %[[w]] : {{.*}}
// CHECK-NEXT: %[[d:.*]] = nn.matmul %[[b]], %[[n]] : {{.*}}
// CHECK-NEXT: return %[[c]], %[[d]]
func.func @example(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = ccl.read @s1 : tensor<8x64xf32>
  %n = ccl.read @s2 : tensor<64x2xf32>
  %a = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %b = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  %c = nn.matmul %a, %n : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  %d = nn.matmul %b, %n : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  return %c, %d : tensor<4x2xf32>, tensor<4x2xf32>
}
