// Which gradients take statistics, and of which attention.
// RUN: splitcast-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(nn-keep-statistics))' | FileCheck %s

module attributes {ccl.device = "cuda"} {
// Two gradients of one attention; behind fences, values are the same.
// CHECK-LABEL: func.func @fenced
// CHECK: %[[Y:.*]], %[[S:.*]] = nn.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, scale
// CHECK: nn.attention_grad {{.*}}, %[[Y]], %[[S]] {causal
// CHECK: nn.attention_grad {{.*}}, %[[Y]], %[[S]] {causal
func.func @fenced(%q: tensor<2x9x3x8xbf16>, %k: tensor<2x5x3x8xbf16>, %v: tensor<2x5x3x8xbf16>, %g: tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) {
  %y = nn.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %d:3 = nn.attention_grad %g, %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>)
  %t = sbp.scope "backward"
  %f = sbp.fence %k in %t : tensor<2x5x3x8xbf16>
  %e:3 = nn.attention_grad %y, %q, %f, %v {causal, scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>)
  return %y, %d#0, %e#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
}

// If attention is computed again, as by recomputation, the last one before the gradient counts.
// CHECK-LABEL: func.func @again
// CHECK: %[[Y:.*]] = nn.attention {{.*}}) -> tensor<2x9x3x8xbf16>{{$}}
// CHECK: %[[Z:.*]], %[[S:.*]] = nn.attention {{.*}}) -> (tensor<2x9x3x8xbf16>, tensor<2x3x9xf32>){{$}}
// CHECK: nn.attention_grad {{.*}}, %[[Z]], %[[S]] {scale
func.func @again(%q: tensor<2x9x3x8xbf16>, %k: tensor<2x9x3x8xbf16>, %v: tensor<2x9x3x8xbf16>, %g: tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) {
  %y = nn.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %t = sbp.scope "backward"
  %f = sbp.fence %q in %t : tensor<2x9x3x8xbf16>
  %z = nn.attention %f, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %d:3 = nn.attention_grad %g, %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  return %y, %z, %d#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
}

// An operand is computed again, though attention is not: the rows are the same. Of other operands, or by another op, they
// are not.
// CHECK-LABEL: func.func @operand_again
// CHECK: %[[Y:.*]], %[[S:.*]] = nn.attention {{.*}}) -> (tensor<2x9x3x8xbf16>, tensor<2x3x9xf32>){{$}}
// CHECK: nn.attention_grad {{.*}}, %[[Y]], %[[S]] {scale
// CHECK-NOT: nn.attention_grad {{.*}}tensor<2x3x9xf32>)
func.func @operand_again(%q: tensor<2x9x3x8xbf16>, %v: tensor<2x9x3x8xbf16>, %w: tensor<2x9x3x8xbf16>, %g: tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) {
  %a = nn.add %v, %w : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %y = nn.attention %q, %q, %a {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %t = sbp.scope "backward"
  %f = sbp.fence %w in %t : tensor<2x9x3x8xbf16>
  %b = nn.add %v, %f : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %d:3 = nn.attention_grad %g, %q, %q, %b {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %c = nn.add %f, %f : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %e:3 = nn.attention_grad %g, %q, %q, %c {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %s = nn.sub %v, %f : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %h:3 = nn.attention_grad %g, %q, %q, %s {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  return %y, %d#0, %e#0, %h#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
}

// Other operands, another scale, causal or not, and an attention that comes later.
// CHECK-LABEL: func.func @others
// CHECK-NOT: nn.attention{{.*}}tensor<2x3x9xf32>
func.func @others(%q: tensor<2x9x3x8xbf16>, %k: tensor<2x9x3x8xbf16>, %v: tensor<2x9x3x8xbf16>, %g: tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) {
  %y = nn.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %a:3 = nn.attention_grad %g, %k, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %b:3 = nn.attention_grad %g, %q, %k, %q {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %c:3 = nn.attention_grad %g, %q, %k, %v {scale = 0.25 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %d:3 = nn.attention_grad %g, %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %e:3 = nn.attention_grad %g, %q, %q, %q {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %z = nn.attention %q, %q, %q {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  return %y, %a#0, %b#0, %c#0, %d#0, %e#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
}

// Narrow ones that are no flash attention.
// CHECK-LABEL: func.func @narrow
// CHECK-COUNT-2: nn.attention {{.*}}tensor<2x3x9xf32>)
// CHECK-COUNT-2: nn.attention_grad {{.*}}tensor<2x3x9xf32>)
func.func @narrow(%q: tensor<2x9x3x8xbf16>, %m: tensor<2x9xi32>, %x: tensor<2x9x3x8xf32>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xf32>) {
  %0 = nn.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9xi32>) -> tensor<2x9x3x8xbf16>
  %1 = nn.attention %x, %x, %x {scale = 0.5 : f64} : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>) -> tensor<2x9x3x8xf32>
  %2:3 = nn.attention_grad %q, %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9xi32>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  %3:3 = nn.attention_grad %x, %x, %x, %x {scale = 0.5 : f64} : (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>) -> (tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xf32>)
  return %0, %1, %2#0, %3#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xf32>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xf32>
}

// Calls that would not use them: wide ones that are no flash attention, by their mask, width or type.
// CHECK-LABEL: func.func @other_calls
// CHECK-NOT: tensor<2x3x9xf32>
func.func @other_calls(%q: tensor<2x9x3x72xbf16>, %m: tensor<2x9xi32>, %w: tensor<2x9x3x68xbf16>, %x: tensor<2x9x3x72xf32>) -> (tensor<2x9x3x72xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x72xf32>) {
  %0 = nn.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>, tensor<2x9xi32>) -> tensor<2x9x3x72xbf16>
  %1 = nn.attention %w, %w, %w {scale = 0.5 : f64} : (tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>) -> tensor<2x9x3x68xbf16>
  %2 = nn.attention %x, %x, %x {scale = 0.5 : f64} : (tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>) -> tensor<2x9x3x72xf32>
  %3:3 = nn.attention_grad %q, %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>, tensor<2x9xi32>) -> (tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>, tensor<2x9x3x72xbf16>)
  %4:3 = nn.attention_grad %w, %w, %w, %w {scale = 0.5 : f64} : (tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>) -> (tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x68xbf16>)
  %5:3 = nn.attention_grad %x, %x, %x, %x {scale = 0.5 : f64} : (tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>) -> (tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xf32>)
  return %0, %1, %2, %3#0, %4#0, %5#0 : tensor<2x9x3x72xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x72xf32>, tensor<2x9x3x72xbf16>, tensor<2x9x3x68xbf16>, tensor<2x9x3x72xf32>
}
}

// -----

// A CPU's call has its rows in the cache.
module attributes {ccl.device = "cpu"} {
// CHECK-LABEL: func.func @on_cpu
// CHECK-NOT: tensor<2x3x9xf32>
func.func @on_cpu(%q: tensor<2x9x3x8xbf16>, %k: tensor<2x9x3x8xbf16>, %v: tensor<2x9x3x8xbf16>, %g: tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) {
  %y = nn.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> tensor<2x9x3x8xbf16>
  %d:3 = nn.attention_grad %g, %q, %k, %v {scale = 0.5 : f64} : (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>) -> (tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>)
  return %y, %d#0 : tensor<2x9x3x8xbf16>, tensor<2x9x3x8xbf16>
}
}
