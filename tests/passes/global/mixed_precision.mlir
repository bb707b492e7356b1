// Which values are small, and which variables are read so.
// RUN: splitcast-opt %s -nn-mixed-precision=compute-type=bf16 | FileCheck %s
// RUN: not splitcast-opt %s -nn-mixed-precision=compute-type=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: 'nn-mixed-precision': compute-type is 'f8', which must be own, bf16 or f16{{$}}

// CHECK: sbp.group "own"
sbp.group "own" #sbp.policy<compute_type = own>
// CHECK: @w : tensor<4x4xf32> policy #sbp.policy<compute_type = bf16>
sbp.variable @w : tensor<4x4xf32>
// What says that it is read as it is.
// CHECK: @own.w : tensor<4x4xf32>{{$}}
sbp.variable @own.w : tensor<4x4xf32>
// What is small already, a scalar, and what others than an optimizer assign.
// CHECK: @half : tensor<4xbf16> policy #sbp.policy<compute_type = own>
sbp.variable @half : tensor<4xbf16>
// CHECK: @scalar : tensor<f32> policy #sbp.policy<compute_type = own>
sbp.variable @scalar : tensor<f32>
// CHECK: @average : tensor<4x4xf32> frozen policy #sbp.policy<compute_type = own>
sbp.variable @average : tensor<4x4xf32> frozen
// CHECK: @state : tensor<4x4xf32> state_of @w role "m"{{$}}
sbp.variable @state : tensor<4x4xf32> state_of @w role "m"

// The widest operand counts; scalars and constants do not.
// CHECK-LABEL: func.func @widest
// CHECK: %[[W:.*]] = nn.cast %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: %[[C:.*]] = nn.cast %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[A:.*]] = nn.add %[[W]], %[[C]] : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[S:.*]] = nn.cast %arg1 : (tensor<f32>) -> tensor<bf16>
// CHECK-NEXT: %[[B:.*]] = nn.mul %[[A]], %[[S]] : (tensor<4x4xbf16>, tensor<bf16>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[BW:.*]] = nn.cast %[[B]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT: nn.sub %[[BW]], %arg0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: return %{{.*}} : tensor<4x4xf32>
func.func @widest(%x: tensor<4x4xf32>, %s: tensor<f32>) -> tensor<4x4xf32> {
  %w = sbp.read @w : tensor<4x4xf32>
  %one = nn.constant 1.0 : tensor<4x4xf32>
  %a = nn.add %w, %one : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = nn.mul %a, %s : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %c = nn.sub %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}

// Norms, sums and functions that magnify an error extend what they take; a value is cast once.
// CHECK-LABEL: func.func @wide
// CHECK: %[[M:.*]] = nn.matmul %{{.*}} -> tensor<4x4xbf16>
// CHECK-NEXT: %[[E:.*]] = nn.cast %[[M]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT: nn.softmax %[[E]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: nn.exp %[[E]] : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: nn.relu %[[M]] : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT: nn.cast %{{.*}} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT: nn.reduce_sum %{{.*}} : (tensor<4x4xf32>) -> tensor<f32>
func.func @wide(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) {
  %w = sbp.read @w : tensor<4x4xf32>
  %m = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = nn.softmax %m : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = nn.exp %m : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = nn.relu %m : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = nn.reduce_sum %r {dims = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  return %a, %b, %s : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}

// What is assigned has the variable's type, and is computed of all its digits; a cast by the user stays.
// CHECK-LABEL: func.func @assigned
// CHECK: %[[W:.*]] = sbp.read @w
// CHECK-NEXT: %[[O:.*]] = sbp.read @own.w
// CHECK-NEXT: nn.cast %[[W]] : (tensor<4x4xf32>) -> tensor<4x4xf16>
// CHECK-NEXT: nn.cast %{{.*}} : (tensor<4x4xf16>) -> tensor<4x4xf32>
// CHECK-NEXT: nn.add %[[O]], %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: sbp.assign @average, %{{.*}} : tensor<4x4xf32>
// CHECK-NEXT: return %[[W]] : tensor<4x4xf32>
func.func @assigned() -> tensor<4x4xf32> {
  %w = sbp.read @w : tensor<4x4xf32>
  %o = sbp.read @own.w : tensor<4x4xf32>
  %h = nn.cast %w : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %f = nn.cast %h : (tensor<4x4xf16>) -> tensor<4x4xf32>
  %n = nn.add %o, %f : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  sbp.assign @average, %n : tensor<4x4xf32>
  return %w : tensor<4x4xf32>
}

// Rows of a table are extended, and so what is added to them is as it was.
// CHECK-LABEL: func.func @rows
// CHECK: %[[W:.*]] = nn.cast %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT: %[[R:.*]] = nn.embedding %[[W]], %arg0 : (tensor<4x4xbf16>, tensor<3xi64>) -> tensor<3x4xbf16>
// CHECK-NEXT: %[[X:.*]] = nn.cast %[[R]] : (tensor<3x4xbf16>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[C:.*]] = nn.cast %[[X]] : (tensor<3x4xf32>) -> tensor<3x4xbf16>
// CHECK-NEXT: %[[M:.*]] = nn.matmul %[[C]], %[[W]] : (tensor<3x4xbf16>, tensor<4x4xbf16>) -> tensor<3x4xbf16>
// CHECK-NEXT: %[[E:.*]] = nn.cast %[[M]] : (tensor<3x4xbf16>) -> tensor<3x4xf32>
// CHECK-NEXT: nn.add %[[X]], %[[E]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
func.func @rows(%ids: tensor<3xi64>) -> tensor<3x4xf32> {
  %w = sbp.read @w : tensor<4x4xf32>
  %x = nn.embedding %w, %ids : (tensor<4x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %m = nn.matmul %x, %w : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %y = nn.add %x, %m : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
