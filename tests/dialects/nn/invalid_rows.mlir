// As invalid.mlir, for what works on rows, attention and random numbers.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @softmax_c1(%x: tensor<f32>) {
  // expected-error @below {{'nn.softmax' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.softmax %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @softmax_c1(%x: tensor<f32, #B>) {
  // expected-error @below {{'nn.softmax' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.softmax %x : (tensor<f32, #B>) -> tensor<f32, #B>
  return
}

// -----

func.func @softmax_c1_legal(%x: tensor<1xf32>, %y: tensor<2x0x3xf16>, %z: tensor<4x0xbf16>) {
  %0 = nn.softmax %x : (tensor<1xf32>) -> tensor<1xf32>
  %1 = nn.softmax %y : (tensor<2x0x3xf16>) -> tensor<2x0x3xf16>
  %2 = nn.softmax %z : (tensor<4x0xbf16>) -> tensor<4x0xbf16>
  return
}

// -----

func.func @softmax_grad_c1(%g: tensor<4x3xf32>, %y: tensor<3xf32>, %z: tensor<4x3xf64>, %s: tensor<f32>) {
  // expected-error @below {{'nn.softmax_grad' op takes 'tensor<4x3xf32>' and 'tensor<3xf32>'; these must have one shape and element type}}
  %0 = nn.softmax_grad %g, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @softmax_grad_c1(%g: tensor<4x3xf32>, %y: tensor<3xf32>, %z: tensor<4x3xf64>, %s: tensor<f32>) {
  // expected-error @below {{'nn.softmax_grad' op takes 'tensor<4x3xf32>' and 'tensor<4x3xf64>'; these must have one shape and element type}}
  %0 = nn.softmax_grad %g, %z : (tensor<4x3xf32>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return
}

// -----

func.func @softmax_grad_c1(%g: tensor<4x3xf32>, %y: tensor<3xf32>, %z: tensor<4x3xf64>, %s: tensor<f32>) {
  // expected-error @below {{'nn.softmax_grad' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.softmax_grad %s, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @softmax_grad_c1(%x: tensor<f32, #B>) {
  // expected-error @below {{'nn.softmax_grad' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.softmax_grad %x, %x : (tensor<f32, #B>, tensor<f32, #B>) -> tensor<f32, #B>
  return
}

// -----

func.func @softmax_grad_c1_legal(%g: tensor<4x3xf32>, %y: tensor<1xf64>) {
  %0 = nn.softmax_grad %g, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = nn.softmax_grad %y, %y : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  return
}

// -----

func.func @negative_epsilon(%x: tensor<4x3xf32>, %w: tensor<3xf32>) {
  // expected-error @below {{'nn.layer_norm' op attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute that is finite and at least 0}}
  %0 = nn.layer_norm %x, %w, %w {epsilon = -0.5 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @infinite_epsilon(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.row_moments' op attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute that is finite and at least 0}}
  %0:2 = nn.row_moments %x {epsilon = 0x7FF0000000000000 : f64} : (tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x3xf32>, %w: tensor<4xf32>, %b: tensor<3xf32>, %m: tensor<1x3xf32>, %h: tensor<3xf16>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm' op takes 'tensor<4x3xf32>' with 'tensor<4xf32>' for its last dimension; that must be 'tensor<3xf32>'}}
  %0 = nn.layer_norm %x, %w, %b {epsilon = 0.5 : f64} : (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x3xf32>, %w: tensor<4xf32>, %b: tensor<3xf32>, %m: tensor<1x3xf32>, %h: tensor<3xf16>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm' op takes 'tensor<4x3xf32>' with 'tensor<1x3xf32>' for its last dimension; that must be 'tensor<3xf32>'}}
  %0 = nn.layer_norm %x, %b, %m {epsilon = 0.5 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x3xf32>, %w: tensor<4xf32>, %b: tensor<3xf32>, %m: tensor<1x3xf32>, %h: tensor<3xf16>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm' op takes 'tensor<4x3xf32>' with 'tensor<3xf16>' for its last dimension; that must be 'tensor<3xf32>'}}
  %0 = nn.layer_norm %x, %h, %b {epsilon = 0.5 : f64} : (tensor<4x3xf32>, tensor<3xf16>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x3xf32>, %w: tensor<4xf32>, %b: tensor<3xf32>, %m: tensor<1x3xf32>, %h: tensor<3xf16>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.layer_norm %s, %b, %b {epsilon = 0.5 : f64} : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @layer_norm_c1(%x: tensor<f32, #B>) {
  // expected-error @below {{'nn.layer_norm' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.layer_norm %x, %x, %x {epsilon = 0.5 : f64} : (tensor<f32, #B>, tensor<f32, #B>, tensor<f32, #B>) -> tensor<f32, #B>
  return
}

// -----

func.func @layer_norm_c1_legal(%x: tensor<2x4x3xf16>, %b: tensor<3xf16>, %none: tensor<0xf32>) {
  %0 = nn.layer_norm %x, %b, %b {epsilon = 0.5 : f64} : (tensor<2x4x3xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<2x4x3xf16>
  %1 = nn.layer_norm %b, %b, %b {epsilon = 0.5 : f64} : (tensor<3xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
  %2 = nn.layer_norm %none, %none, %none {epsilon = 0.5 : f64} : (tensor<0xf32>, tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @row_moments_c1(%x: tensor<f32>) {
  // expected-error @below {{'nn.row_moments' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0:2 = nn.row_moments %x {epsilon = 0.5 : f64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @row_moments_c1(%x: tensor<f32, #B>) {
  // expected-error @below {{'nn.row_moments' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0:2 = nn.row_moments %x {epsilon = 0.5 : f64} : (tensor<f32, #B>) -> (tensor<f32, #B>, tensor<f32, #B>)
  return
}

// -----

func.func @row_moments_c1_legal(%x: tensor<3xf32>, %y: tensor<2x4x3xf64>) {
  %0:2 = nn.row_moments %x {epsilon = 0.5 : f64} : (tensor<3xf32>) -> (tensor<f32>, tensor<f32>)
  %1:2 = nn.row_moments %y {epsilon = 0.5 : f64} : (tensor<2x4x3xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>)
  return
}

// -----

func.func @row_moments_results(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.row_moments' op result 1 has type 'tensor<3xf32>', but its operands give 'tensor<4xf32>'; change the type}}
  %0:2 = nn.row_moments %x {epsilon = 0.5 : f64} : (tensor<4x3xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @layer_norm_grad_c1(%g: tensor<3x4xf32>, %x: tensor<4x3xf32>, %w: tensor<3xf32>, %v: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm_grad' op takes 'tensor<3x4xf32>' and 'tensor<4x3xf32>'; these must have one shape and element type}}
  %0 = nn.layer_norm_grad %g, %x, %w {epsilon = 0.5 : f64} : (tensor<3x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @layer_norm_grad_c1(%g: tensor<3x4xf32>, %x: tensor<4x3xf32>, %w: tensor<3xf32>, %v: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm_grad' op takes 'tensor<4x3xf32>' with 'tensor<4xf32>' for its last dimension; that must be 'tensor<3xf32>'}}
  %0 = nn.layer_norm_grad %x, %x, %v {epsilon = 0.5 : f64} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @layer_norm_grad_c1(%g: tensor<3x4xf32>, %x: tensor<4x3xf32>, %w: tensor<3xf32>, %v: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{'nn.layer_norm_grad' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.layer_norm_grad %s, %s, %w {epsilon = 0.5 : f64} : (tensor<f32>, tensor<f32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @layer_norm_grad_c1(%x: tensor<f32, #B>) {
  // expected-error @below {{'nn.layer_norm_grad' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.layer_norm_grad %x, %x, %x {epsilon = 0.5 : f64} : (tensor<f32, #B>, tensor<f32, #B>, tensor<f32, #B>) -> tensor<f32, #B>
  return
}

// -----

func.func @layer_norm_grad_c1_legal(%x: tensor<2x4x3xbf16>, %w: tensor<3xbf16>) {
  %0 = nn.layer_norm_grad %x, %x, %w {epsilon = 0.5 : f64} : (tensor<2x4x3xbf16>, tensor<2x4x3xbf16>, tensor<3xbf16>) -> tensor<2x4x3xbf16>
  %1 = nn.layer_norm_grad %w, %w, %w {epsilon = 0.5 : f64} : (tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x5x3x4xf32>, %r: tensor<5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>, %h: tensor<2x7x3x4xf16>,
                        %s: tensor<1x7x3x4xf32>, %e: tensor<2x7x1x4xf32>, %w: tensor<2x7x3x2xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<5x3x4xf32>', key 'tensor<2x7x3x4xf32>' and value 'tensor<2x7x3x4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %r, %k, %k {scale = 0.5 : f64} : (tensor<5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<5x3x4xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x5x3x4xf32>, %r: tensor<5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>, %h: tensor<2x7x3x4xf16>,
                        %s: tensor<1x7x3x4xf32>, %e: tensor<2x7x1x4xf32>, %w: tensor<2x7x3x2xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<2x5x3x4xf32>', key 'tensor<2x7x3x4xf32>' and value 'tensor<2x6x3x4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x5x3x4xf32>, %r: tensor<5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>, %h: tensor<2x7x3x4xf16>,
                        %s: tensor<1x7x3x4xf32>, %e: tensor<2x7x1x4xf32>, %w: tensor<2x7x3x2xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<2x5x3x4xf32>', key 'tensor<2x7x3x4xf16>' and value 'tensor<2x7x3x4xf16>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %q, %h, %h {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf16>, tensor<2x7x3x4xf16>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x5x3x4xf32>, %r: tensor<5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>, %h: tensor<2x7x3x4xf16>,
                        %s: tensor<1x7x3x4xf32>, %e: tensor<2x7x1x4xf32>, %w: tensor<2x7x3x2xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<2x5x3x4xf32>', key 'tensor<1x7x3x4xf32>' and value 'tensor<1x7x3x4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %q, %s, %s {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<1x7x3x4xf32>, tensor<1x7x3x4xf32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x5x3x4xf32>, %r: tensor<5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>, %h: tensor<2x7x3x4xf16>,
                        %s: tensor<1x7x3x4xf32>, %e: tensor<2x7x1x4xf32>, %w: tensor<2x7x3x2xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<2x5x3x4xf32>', key 'tensor<2x7x1x4xf32>' and value 'tensor<2x7x1x4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %q, %e, %e {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x1x4xf32>, tensor<2x7x1x4xf32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x5x3x4xf32>, %r: tensor<5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>, %h: tensor<2x7x3x4xf16>,
                        %s: tensor<1x7x3x4xf32>, %e: tensor<2x7x1x4xf32>, %w: tensor<2x7x3x2xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<2x5x3x4xf32>', key 'tensor<2x7x3x2xf32>' and value 'tensor<2x7x3x2xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %q, %w, %w {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x2xf32>, tensor<2x7x3x2xf32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @attention_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<4xf32>', key 'tensor<4xf32>' and value 'tensor<4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0 = nn.attention %x, %x, %x {scale = 0.5 : f64} : (tensor<4xf32, #B>, tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

func.func @attention_c1_legal(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %n: tensor<2x0x3x4xf32>, %one: tensor<1x1x1x1xf16>) {
  %0 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x5x3x4xf32>
  %1 = nn.attention %k, %q, %q {causal, scale = 0.5 : f64} : (tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x7x3x4xf32>
  %2 = nn.attention %q, %n, %n {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x0x3x4xf32>, tensor<2x0x3x4xf32>) -> tensor<2x5x3x4xf32>
  %3 = nn.attention %one, %one, %one {scale = -2.0 : f64} : (tensor<1x1x1x1xf16>, tensor<1x1x1x1xf16>, tensor<1x1x1x1xf16>) -> tensor<1x1x1x1xf16>
  return
}

// -----

func.func @attention_result(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>) {
  // expected-error @below {{'nn.attention' op result 0 has type 'tensor<2x7x3x4xf32>', but its operands give 'tensor<2x5x3x4xf32>'; change the type}}
  %0 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x7x3x4xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>) {
  // expected-error @below {{'nn.attention' op has scale = INF; it must be finite}}
  %0 = nn.attention %q, %k, %k {scale = 0x7FF0000000000000 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %m: tensor<2x5xi64>, %n: tensor<7xi64>, %f: tensor<2x7xf32>) {
  // expected-error @below {{'nn.attention' op takes key 'tensor<2x7x3x4xf32>' and mask 'tensor<2x5xi64>'; a mask must have the key's first two dimensions, samples and keys}}
  %0 = nn.attention %q, %k, %k, %m {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x5xi64>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %m: tensor<2x5xi64>, %n: tensor<7xi64>, %f: tensor<2x7xf32>) {
  // expected-error @below {{'nn.attention' op takes key 'tensor<2x7x3x4xf32>' and mask 'tensor<7xi64>'; a mask must have the key's first two dimensions, samples and keys}}
  %0 = nn.attention %q, %k, %k, %n {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<7xi64>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %m: tensor<2x5xi64>, %n: tensor<7xi64>, %f: tensor<2x7xf32>) {
  // expected-error @below {{'nn.attention' op operand #3 must be a statically shaped tensor of i32 or i64, but got 'tensor<2x7xf32>'}}
  %0 = nn.attention %q, %k, %k, %f {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xf32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c2_legal(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %m: tensor<2x7xi64>, %n: tensor<2x7xi32>) {
  %0 = nn.attention %q, %k, %k, %m {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xi64>) -> tensor<2x5x3x4xf32>
  %1 = nn.attention %q, %k, %k, %n {causal, scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xi32>) -> tensor<2x5x3x4xf32>
  return
}

// -----

func.func @attention_c3(%x: tensor<1x1099511627776x1x1xf32>) {
  // expected-error @below {{'nn.attention' op takes query 'tensor<1x1099511627776x1x1xf32>' and key 'tensor<1x1099511627776x1x1xf32>', for whose scores a device needs more than 2^63 - 1 bytes; make them smaller}}
  %0 = nn.attention %x, %x, %x {scale = 0.5 : f64} : (tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>) -> tensor<1x1099511627776x1x1xf32>
  return
}

// -----

func.func @attention_c3_legal(%x: tensor<1x1099511627776x1x1xf32>, %k: tensor<1x1024x1x1xf32>) {
  %0 = nn.attention %x, %k, %k {scale = 0.5 : f64} : (tensor<1x1099511627776x1x1xf32>, tensor<1x1024x1x1xf32>, tensor<1x1024x1x1xf32>) -> tensor<1x1099511627776x1x1xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>) {
  // expected-error @below {{'nn.attention' op result 1 has type 'tensor<2x5x3xf32>', but its operands give 'tensor<2x3x5xf32>'; change the type}}
  %0:2 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<2x5x3x4xf16>, %k: tensor<2x7x3x4xf16>) {
  // expected-error @below {{'nn.attention' op result 1 has type 'tensor<2x3x5xf16>', but its operands give 'tensor<2x3x5xf32>'; change the type}}
  %0:2 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf16>, tensor<2x7x3x4xf16>, tensor<2x7x3x4xf16>) -> (tensor<2x5x3x4xf16>, tensor<2x3x5xf16>)
  return
}

// -----

func.func @attention_c4(%q: tensor<2x5x3x4xf64>, %k: tensor<2x7x3x4xf64>) {
  // expected-error @below {{'nn.attention' op result 1 has type 'tensor<2x3x5xf32>', but its operands give 'tensor<2x3x5xf64>'; change the type}}
  %0:2 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf64>, tensor<2x7x3x4xf64>, tensor<2x7x3x4xf64>) -> (tensor<2x5x3x4xf64>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @attention_c4_legal(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %hq: tensor<2x5x3x4xf16>, %hk: tensor<2x7x3x4xf16>, %dq: tensor<2x5x3x4xf64>, %dk: tensor<2x7x3x4xf64>) {
  %0:2 = nn.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x3x5xf32>)
  %1:2 = nn.attention %hq, %hk, %hk {scale = 0.5 : f64} : (tensor<2x5x3x4xf16>, tensor<2x7x3x4xf16>, tensor<2x7x3x4xf16>) -> (tensor<2x5x3x4xf16>, tensor<2x3x5xf32>)
  %2:2 = nn.attention %dq, %dk, %dk {scale = 0.5 : f64} : (tensor<2x5x3x4xf64>, tensor<2x7x3x4xf64>, tensor<2x7x3x4xf64>) -> (tensor<2x5x3x4xf64>, tensor<2x3x5xf64>)
  return
}

// -----

func.func @attention_grad_c1(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>) {
  // expected-error @below {{'nn.attention_grad' op takes query 'tensor<2x5x3x4xf32>', key 'tensor<2x7x3x4xf32>' and value 'tensor<2x6x3x4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0:3 = nn.attention_grad %q, %q, %k, %v {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x6x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x6x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c1(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x4xf32>) {
  // expected-error @below {{'nn.attention_grad' op takes gradient 'tensor<2x7x3x4xf32>' and query 'tensor<2x5x3x4xf32>'; these must have one shape and element type}}
  %1:3 = nn.attention_grad %k, %q, %k, %k {scale = 0.5 : f64} : (tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @attention_grad_c1(%x: tensor<4xf32, #B>) {
  // expected-error @below {{'nn.attention_grad' op takes query 'tensor<4xf32>', key 'tensor<4xf32>' and value 'tensor<4xf32>'; all must have the dimensions samples, positions, heads, width and one element type, key and value one shape, and the query their samples, heads and width}}
  %0:3 = nn.attention_grad %x, %x, %x, %x {scale = 0.5 : f64} : (tensor<4xf32, #B>, tensor<4xf32, #B>, tensor<4xf32, #B>, tensor<4xf32, #B>) -> (tensor<4xf32, #B>, tensor<4xf32, #B>, tensor<4xf32, #B>)
  return
}

// -----

func.func @attention_grad_c1_legal(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>) {
  %0:3 = nn.attention_grad %q, %q, %k, %k {causal, scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c3(%x: tensor<1x1099511627776x1x1xf32>) {
  // expected-error @below {{'nn.attention_grad' op takes query 'tensor<1x1099511627776x1x1xf32>' and key 'tensor<1x1099511627776x1x1xf32>', for whose scores a device needs more than 2^63 - 1 bytes; make them smaller}}
  %0:3 = nn.attention_grad %x, %x, %x, %x {scale = 0.5 : f64} : (tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>) -> (tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>)
  return
}

// -----

func.func @attention_grad_c3_legal(%x: tensor<1x1099511627776x1x1xf32>, %k: tensor<1x1024x1x1xf32>) {
  %0:3 = nn.attention_grad %x, %x, %k, %k {scale = 0.5 : f64} : (tensor<1x1099511627776x1x1xf32>, tensor<1x1099511627776x1x1xf32>, tensor<1x1024x1x1xf32>, tensor<1x1024x1x1xf32>) -> (tensor<1x1099511627776x1x1xf32>, tensor<1x1024x1x1xf32>, tensor<1x1024x1x1xf32>)
  return
}

// -----

func.func @attention_grad_results(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>) {
  // expected-error @below {{'nn.attention_grad' op result 2 has type 'tensor<2x5x3x4xf32>', but its operands give 'tensor<2x7x3x4xf32>'; change the type}}
  %0:3 = nn.attention_grad %q, %q, %k, %k {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c2(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %m: tensor<7x2xi32>) {
  // expected-error @below {{'nn.attention_grad' op takes key 'tensor<2x7x3x4xf32>' and mask 'tensor<7x2xi32>'; a mask must have the key's first two dimensions, samples and keys}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %m {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<7x2xi32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c2_legal(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %m: tensor<2x7xi32>) {
  %0:3 = nn.attention_grad %q, %q, %k, %k, %m {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xi32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c4(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %s: tensor<2x3x5xf32>, %r: tensor<2x5x3xf32>, %m: tensor<2x7xi32>) {
  // expected-error @below {{'nn.attention_grad' op takes 'tensor<2x3x5xf32>' after query, key and value; there come at most a mask of i32 or i64 and both results of nn.attention, its output and its statistics}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %s {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x3x5xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c4(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %s: tensor<2x3x5xf32>, %r: tensor<2x5x3xf32>, %m: tensor<2x7xi32>) {
  // expected-error @below {{'nn.attention_grad' op takes 'tensor<2x5x3x4xf32>', 'tensor<2x3x5xf32>', 'tensor<2x7xi32>' after query, key and value; there come at most a mask of i32 or i64 and both results of nn.attention, its output and its statistics}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %q, %s, %m {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x3x5xf32>, tensor<2x7xi32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c4(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %s: tensor<2x3x5xf32>, %r: tensor<2x5x3xf32>, %m: tensor<2x7xi32>) {
  // expected-error @below {{'nn.attention_grad' op takes 'tensor<2x7xi32>', 'tensor<2x5x3x4xf32>', 'tensor<2x3x5xf32>', 'tensor<2x3x5xf32>' after query, key and value; there come at most a mask of i32 or i64 and both results of nn.attention, its output and its statistics}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %m, %q, %s, %s {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xi32>, tensor<2x5x3x4xf32>, tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c4(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %s: tensor<2x3x5xf32>, %r: tensor<2x5x3xf32>, %m: tensor<2x7xi32>) {
  // expected-error @below {{'nn.attention_grad' op takes output 'tensor<2x5x3x4xf32>' and statistics 'tensor<2x5x3xf32>' for query 'tensor<2x5x3x4xf32>'; these must be 'tensor<2x5x3x4xf32>' and 'tensor<2x3x5xf32>', the results of nn.attention}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %q, %r {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c4(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %s: tensor<2x3x5xf32>, %r: tensor<2x5x3xf32>, %m: tensor<2x7xi32>) {
  // expected-error @below {{'nn.attention_grad' op takes output 'tensor<2x7x3x4xf32>' and statistics 'tensor<2x3x5xf32>' for query 'tensor<2x5x3x4xf32>'; these must be 'tensor<2x5x3x4xf32>' and 'tensor<2x3x5xf32>', the results of nn.attention}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %m, %k, %s {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xi32>, tensor<2x7x3x4xf32>, tensor<2x3x5xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c4_legal(%q: tensor<2x5x3x4xf32>, %k: tensor<2x7x3x4xf32>, %s: tensor<2x3x5xf32>, %r: tensor<2x5x3xf32>, %m: tensor<2x7xi32>) {
  %0:3 = nn.attention_grad %q, %q, %k, %k, %q, %s {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x3x5xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  %1:3 = nn.attention_grad %q, %q, %k, %k, %m, %q, %s {scale = 0.5 : f64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7xi32>, tensor<2x5x3x4xf32>, tensor<2x3x5xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @dropout_c1(%x: tensor<4xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has rate 1.000000e+00; it must be a probability, at least 0 and below 1}}
  %0 = nn.dropout %x, %key {rate = 1.0 : f64} : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c1(%x: tensor<4xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has rate -1.250000e-01; it must be a probability, at least 0 and below 1}}
  %0 = nn.dropout %x, %key {rate = -0.125 : f64} : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c1(%x: tensor<4xf32>, %key: tensor<i64>) {
  // expected-error @below {{; it must be a probability, at least 0 and below 1}}
  %0 = nn.dropout %x, %key {rate = 0x7FF8000000000000 : f64} : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c1_legal(%x: tensor<4xf32>, %key: tensor<i64>) {
  %0 = nn.dropout %x, %key {rate = 0.0 : f64} : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  // The number below 1.
  %1 = nn.dropout %x, %key {rate = 0x3FEFFFFFFFFFFFFF : f64} : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c2(%x: tensor<4xf32>, %key: tensor<i32>, %keys: tensor<1xi64>) {
  // expected-error @below {{'nn.dropout' op has key 'tensor<i32>'; it must be one i64, tensor<i64>}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c2(%x: tensor<4xf32>, %key: tensor<i32>, %keys: tensor<1xi64>) {
  // expected-error @below {{'nn.dropout' op has key 'tensor<1xi64>'; it must be one i64, tensor<i64>}}
  %0 = nn.dropout %x, %keys {rate = 0.5 : f64} : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c2_legal(%x: tensor<bf16>, %key: tensor<i64>) {
  %0 = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<bf16>, tensor<i64>) -> tensor<bf16>
  return
}

// -----

func.func @dropout_c3(%x: tensor<4xf32>, %key: tensor<i64>, %from: tensor<i32>) {
  // expected-error @below {{'nn.dropout' op counts from 'tensor<i32>'; it must be one i64, tensor<i64>}}
  %0 = nn.dropout %x, %key, %from {rate = 0.5 : f64} : (tensor<4xf32>, tensor<i64>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c3(%x: tensor<4xf32>, %key: tensor<i64>, %from: tensor<1xi64>) {
  // expected-error @below {{'nn.dropout' op counts from 'tensor<1xi64>'; it must be one i64, tensor<i64>}}
  %0 = nn.dropout %x, %key, %from {rate = 0.5 : f64} : (tensor<4xf32>, tensor<i64>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c3_legal(%x: tensor<4xf32>, %key: tensor<i64>) {
  %0 = nn.dropout %x, %key, %key {rate = 0.5 : f64} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has operand 'tensor<4x3xf32>' at [5, 0] of global shape [8, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, offsets = array<i64: 5, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has operand 'tensor<4x3xf32>' at [0, -1] of global shape [8, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, offsets = array<i64: 0, -1>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has operand 'tensor<4x3xf32>' at [0] of global shape [4, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, offsets = array<i64: 0>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has operand 'tensor<4x3xf32>' at [0, 0] of global shape [4, 3, 1]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, global_shape = array<i64: 4, 3, 1>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has operand 'tensor<4x3xf32>' at [1, 0] of global shape [4, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, offsets = array<i64: 1, 0>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op has operand 'tensor<4x3xf32>' at [9223372036854775807, 0] of global shape [8, 3]; the operand must lie within, and all must have as many dimensions}}
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, offsets = array<i64: 9223372036854775807, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_c4_legal(%x: tensor<4x3xf32>, %none: tensor<0x3xf32>, %key: tensor<i64>) {
  %0 = nn.dropout %x, %key {rate = 0.5 : f64, offsets = array<i64: 4, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  %1 = nn.dropout %x, %key {rate = 0.5 : f64, global_shape = array<i64: 4, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  // An empty piece lies at the end.
  %2 = nn.dropout %none, %key {rate = 0.5 : f64, offsets = array<i64: 8, 0>, global_shape = array<i64: 8, 3>} : (tensor<0x3xf32>, tensor<i64>) -> tensor<0x3xf32>
  return
}
