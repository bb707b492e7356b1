// Every op and attribute: text to text, by way of the generic form and of bytecode.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -mlir-print-op-generic | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -emit-bytecode | splitcast-opt --allow-bytecode | FileCheck %s

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x3xf32>

// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>, %[[R:.*]]: tensor<3xf32>, %[[I:.*]]: tensor<4x3xi64>, %[[G:.*]]: tensor<4x3xf32>
func.func @elementwise(%x: tensor<4x3xf32>, %row: tensor<3xf32>, %i: tensor<4x3xi64>, %g: tensor<4x3xf32>) {
  // CHECK-NEXT: nn.add %[[X]], %[[R]] : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %add = nn.add %x, %row : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.sub %[[R]], %[[X]] : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %sub = nn.sub %row, %x : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.mul %[[X]], %[[G]] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %product = nn.mul %x, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.mul %[[I]], %[[I]] : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %mul = nn.mul %i, %i : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  // CHECK-NEXT: nn.div %[[X]], %[[G]] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %div = nn.div %x, %g : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.neg %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %neg = nn.neg %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.exp %[[X]] :
  %exp = nn.exp %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.log %[[X]] :
  %log = nn.log %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.sqrt %[[X]] :
  %sqrt = nn.sqrt %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.tanh %[[X]] :
  %tanh = nn.tanh %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.relu %[[X]] :
  %relu = nn.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.scale %[[X]] {value = 2.500000e-01 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %scale = nn.scale %x {value = 0.25 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.shift %[[X]] {value = -1.000000e+00 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %shift = nn.shift %x {value = -1.0 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.gelu %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %gelu = nn.gelu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.gelu %[[X]] {tanh} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %approximate = nn.gelu %x {tanh} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.relu_grad %[[G]], %[[X]] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %relu_grad = nn.relu_grad %g, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.gelu_grad %[[G]], %[[X]] {tanh} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %gelu_grad = nn.gelu_grad %g, %x {tanh} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.cast %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf16>
  %narrow = nn.cast %x : (tensor<4x3xf32>) -> tensor<4x3xf16>
  // CHECK-NEXT: nn.cast %[[I]] : (tensor<4x3xi64>) -> tensor<4x3xbf16>
  %cast = nn.cast %i : (tensor<4x3xi64>) -> tensor<4x3xbf16>
  // CHECK-NEXT: nn.sin %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %sin = nn.sin %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.cos %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %cos = nn.cos %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.not_equal %[[I]] {value = -100 : i64} : (tensor<4x3xi64>) -> tensor<4x3xf32>
  %not_equal = nn.not_equal %i {value = -100 : i64} : (tensor<4x3xi64>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.not_equal %[[I]] {value = 0 : i64} : (tensor<4x3xi64>) -> tensor<4x3xi32>
  %not_zero = nn.not_equal %i {value = 0 : i64} : (tensor<4x3xi64>) -> tensor<4x3xi32>
  // CHECK-NEXT: %[[PART0:.*]] = nn.exact_part %[[X]] {of = 6 : i64, part = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  %part0 = nn.exact_part %x {of = 6 : i64, part = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  // CHECK-NEXT: %[[PART1:.*]] = nn.exact_part %[[X]] {of = 6 : i64, part = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  %part1 = nn.exact_part %x {of = 6 : i64, part = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  // CHECK-NEXT: %[[PART2:.*]] = nn.exact_part %[[X]] {of = 6 : i64, part = 2 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  %part2 = nn.exact_part %x {of = 6 : i64, part = 2 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  // CHECK-NEXT: %[[PART3:.*]] = nn.exact_part %[[X]] {of = 6 : i64, part = 3 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  %part3 = nn.exact_part %x {of = 6 : i64, part = 3 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  // CHECK-NEXT: %[[PART4:.*]] = nn.exact_part %[[X]] {of = 6 : i64, part = 4 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  %part4 = nn.exact_part %x {of = 6 : i64, part = 4 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  // CHECK-NEXT: %[[PART5:.*]] = nn.exact_part %[[X]] {of = 6 : i64, part = 5 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  %part5 = nn.exact_part %x {of = 6 : i64, part = 5 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  // CHECK-NEXT: nn.exact_sum %[[PART0]], %[[PART1]], %[[PART2]], %[[PART3]], %[[PART4]], %[[PART5]] : (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf32>
  %exact_sum = nn.exact_sum %part0, %part1, %part2, %part3, %part4, %part5 : (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.exact_rest %[[PART0]] {of = 6 : i64} : (tensor<4x3xf64>) -> tensor<4x3xf64>
  %exact_rest = nn.exact_rest %part0 {of = 6 : i64} : (tensor<4x3xf64>) -> tensor<4x3xf64>
  // CHECK-NEXT: nn.clamp %[[X]] {least = -1.000000e+00 : f64, most = 5.000000e-01 : f64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %clamp = nn.clamp %x {least = -1.0, most = 0.5} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: %[[SQUARES:.*]] = nn.square_parts %[[X]] : (tensor<4x3xf32>) -> tensor<28xf64>
  %square_parts = nn.square_parts %x : (tensor<4x3xf32>) -> tensor<28xf64>
  // CHECK-NEXT: %[[ALL:.*]] = nn.sum_parts %[[SQUARES]], %[[SQUARES]] : (tensor<28xf64>, tensor<28xf64>) -> tensor<28xf64>
  %sum_parts = nn.sum_parts %square_parts, %square_parts : (tensor<28xf64>, tensor<28xf64>) -> tensor<28xf64>
  // CHECK-NEXT: nn.total_of_parts %[[ALL]] : (tensor<28xf64>) -> tensor<f64>
  %total_of_parts = nn.total_of_parts %sum_parts : (tensor<28xf64>) -> tensor<f64>
  // CHECK-NEXT: nn.sigmoid %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %sigmoid = nn.sigmoid %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.erf %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %erf = nn.erf %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.compare %[[X]], %[[R]] {predicate = "lt"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi32>
  %compare = nn.compare %x, %row {predicate = "lt"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi32>
  // CHECK-NEXT: nn.stop_gradient %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %stopped = nn.stop_gradient %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.stop_gradient %[[I]] : (tensor<4x3xi64>) -> tensor<4x3xi64>
  %stop_gradient = nn.stop_gradient %i : (tensor<4x3xi64>) -> tensor<4x3xi64>
  // CHECK-NEXT: nn.select %[[G]], %[[X]], %[[R]] : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %select = nn.select %g, %x, %row : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.nonfinite %[[G]] : (tensor<4x3xf32>) -> tensor<f64>
  %nonfinite = nn.nonfinite %g : (tensor<4x3xf32>) -> tensor<f64>
  return
}

// CHECK-LABEL: func.func @shape
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>
func.func @shape(%x: tensor<4x3xf32>) {
  // CHECK-NEXT: nn.constant 1.000000e+00 : tensor<4x3xf32, #S0_>
  %constant = nn.constant 1.0 : tensor<4x3xf32, #S0>
  // CHECK-NEXT: nn.reshape %[[X]] : (tensor<4x3xf32>) -> tensor<2x2x1x3xf32>
  %taken_apart = nn.reshape %x : (tensor<4x3xf32>) -> tensor<2x2x1x3xf32>
  // CHECK-NEXT: nn.reshape %[[X]] : (tensor<4x3xf32>) -> tensor<2x6xf32>
  %reshape = nn.reshape %x : (tensor<4x3xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: nn.broadcast %[[X]] {dims = array<i64: 0, 2>} : (tensor<4x3xf32>) -> tensor<5x4x6x3xf32>
  %broadcast = nn.broadcast %x {dims = array<i64: 0, 2>} : (tensor<4x3xf32>) -> tensor<5x4x6x3xf32>
  // CHECK-NEXT: nn.slice %[[X]] {dim = 0 : i64, start = 1 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %slice = nn.slice %x {dim = 0 : i64, start = 1 : i64} : (tensor<4x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: nn.concat %[[X]], %[[X]] {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %concat = nn.concat %x, %x {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: nn.reduce_sum %[[X]] {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  %reduce_sum = nn.reduce_sum %x {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  // CHECK-NEXT: nn.transpose %[[X]] {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %transpose = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: nn.iota {dim = 1 : i64} : () -> tensor<4x3xi32, #S0_>
  %iota = nn.iota {dim = 1 : i64} : () -> tensor<4x3xi32, #S0>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<32x64xf32>, %b: tensor<128x64xf32>, %table: tensor<256x64xf32>, %ids: tensor<32x8xi64>,
                    %logits: tensor<32x10xf32>, %labels: tensor<32xi64>, %rows: tensor<32x8x64xf32>, %l: tensor<32xf32>,
                    %p: tensor<2x3x4x5xf32>, %q: tensor<2x3x5x6xf32>) {
  // CHECK-NEXT: nn.matmul %{{.*}}, %{{.*}} {transpose_b} : (tensor<32x64xf32>, tensor<128x64xf32>) -> tensor<32x128xf32>
  %c = nn.matmul %a, %b {transpose_b} : (tensor<32x64xf32>, tensor<128x64xf32>) -> tensor<32x128xf32>
  // CHECK-NEXT: nn.matmul %{{.*}}, %{{.*}} {transpose_a} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %d = nn.matmul %a, %a {transpose_a} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: nn.embedding %{{.*}}, %{{.*}} : (tensor<256x64xf32>, tensor<32x8xi64>) -> tensor<32x8x64xf32>
  %y = nn.embedding %table, %ids : (tensor<256x64xf32>, tensor<32x8xi64>) -> tensor<32x8x64xf32>
  // CHECK-NEXT: nn.embedding_grad %{{.*}}, %{{.*}} : (tensor<32x8x64xf32>, tensor<32x8xi64>) -> tensor<256x64xf32>
  %g = nn.embedding_grad %rows, %ids : (tensor<32x8x64xf32>, tensor<32x8xi64>) -> tensor<256x64xf32>
  // CHECK-NEXT: nn.softmax_cross_entropy %{{.*}}, %{{.*}} : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
  %e = nn.softmax_cross_entropy %logits, %labels : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
  // CHECK-NEXT: nn.softmax_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<32xf32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
  %h = nn.softmax_cross_entropy_grad %l, %logits, %labels : (tensor<32xf32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
  // CHECK-NEXT: nn.softmax_cross_entropy %{{.*}}, %{{.*}} {ignored = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
  %i = nn.softmax_cross_entropy %logits, %labels {ignored = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
  // CHECK-NEXT: nn.softmax_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}} {ignored = 3 : i64} : (tensor<32xf32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
  %j = nn.softmax_cross_entropy_grad %l, %logits, %labels {ignored = 3 : i64} : (tensor<32xf32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32>
  // CHECK-NEXT: nn.matmul %{{.*}}, %{{.*}} : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  %k = nn.matmul %p, %q : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  return
}

// CHECK-LABEL: func.func @windows
// CHECK-SAME: %[[X:.*]]: tensor<4x8x9x9xf32>, %[[W:.*]]: tensor<16x8x3x3xf32>
func.func @windows(%x: tensor<4x8x9x9xf32>, %w: tensor<16x8x3x3xf32>) {
  // CHECK-NEXT: %[[Y:.*]] = nn.convolution %[[X]], %[[W]] {dilation = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<4x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<4x16x5x5xf32>
  %y = nn.convolution %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<4x16x5x5xf32>
  // CHECK-NEXT: nn.convolution_data_grad %[[Y]], %[[W]] {dilation = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<4x16x5x5xf32>, tensor<16x8x3x3xf32>) -> tensor<4x8x9x9xf32>
  %convolution_data_grad = nn.convolution_data_grad %y, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x16x5x5xf32>, tensor<16x8x3x3xf32>) -> tensor<4x8x9x9xf32>
  // CHECK-NEXT: nn.convolution_weight_grad %[[Y]], %[[X]] {dilation = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<4x16x5x5xf32>, tensor<4x8x9x9xf32>) -> tensor<16x8x3x3xf32>
  %convolution_weight_grad = nn.convolution_weight_grad %y, %x {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x16x5x5xf32>, tensor<4x8x9x9xf32>) -> tensor<16x8x3x3xf32>
  // CHECK-NEXT: %[[M:.*]] = nn.max_pool %[[X]] {dilation = array<i64: 1, 2>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<4x8x9x9xf32>) -> tensor<4x8x5x7xf32>
  %max_pool = nn.max_pool %x {kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 2>} : (tensor<4x8x9x9xf32>) -> tensor<4x8x5x7xf32>
  // CHECK-NEXT: %[[POSITIONS:.*]] = nn.max_pool_positions %[[X]], %[[M]] {dilation = array<i64: 1, 2>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<4x8x9x9xf32>, tensor<4x8x5x7xf32>) -> tensor<4x8x5x7xi64>
  %max_pool_positions = nn.max_pool_positions %x, %max_pool {kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 2>} : (tensor<4x8x9x9xf32>, tensor<4x8x5x7xf32>) -> tensor<4x8x5x7xi64>
  // CHECK-NEXT: nn.max_pool_grad %[[M]], %[[POSITIONS]] {dilation = array<i64: 1, 2>, extents = array<i64: 9, 9>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<4x8x5x7xf32>, tensor<4x8x5x7xi64>) -> tensor<4x8x9x9xf32>
  %max_pool_grad = nn.max_pool_grad %max_pool, %max_pool_positions {extents = array<i64: 9, 9>, kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0>, dilation = array<i64: 1, 2>} : (tensor<4x8x5x7xf32>, tensor<4x8x5x7xi64>) -> tensor<4x8x9x9xf32>
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>, %g: tensor<8x64xf32>) {
  // CHECK-NEXT: nn.softmax %{{.*}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %softmax = nn.softmax %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: nn.softmax_grad %{{.*}}, %{{.*}} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %softmax_grad = nn.softmax_grad %g, %softmax : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %y = nn.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: nn.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %layer_norm_grad = nn.layer_norm_grad %g, %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: nn.row_moments %{{.*}} {epsilon = 1.250000e-01 : f64} : (tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %mean, %scale = nn.row_moments %x {epsilon = 0.125 : f64} : (tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[Q:.*]]: tensor<4x32x2x64xf32>, %[[K:.*]]: tensor<4x16x2x64xf32>, %[[M:.*]]: tensor<4x16xi32>, %[[G:.*]]: tensor<4x32x2x64xf32>
func.func @attention(%q: tensor<4x32x2x64xf32>, %k: tensor<4x16x2x64xf32>, %mask: tensor<4x16xi32>, %g: tensor<4x32x2x64xf32>) {
  // CHECK-NEXT: nn.attention %[[Q]], %[[K]], %[[K]] {scale = 1.250000e-01 : f64} : (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>) -> tensor<4x32x2x64xf32>
  %attention = nn.attention %q, %k, %k {scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>) -> tensor<4x32x2x64xf32>
  // CHECK-NEXT: nn.attention %[[Q]], %[[K]], %[[K]], %[[M]] {causal, scale = 1.250000e-01 : f64} : (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16xi32>) -> tensor<4x32x2x64xf32>
  %masked = nn.attention %q, %k, %k, %mask {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16xi32>) -> tensor<4x32x2x64xf32>
  // CHECK-NEXT: %[[KEPT:.*]], %[[S:.*]] = nn.attention %[[Q]], %[[K]], %[[K]], %[[M]] {scale = 1.250000e-01 : f64} : (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16xi32>) -> (tensor<4x32x2x64xf32>, tensor<4x2x32xf32>)
  %kept, %statistics = nn.attention %q, %k, %k, %mask {scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16xi32>) -> (tensor<4x32x2x64xf32>, tensor<4x2x32xf32>)
  // CHECK-NEXT: nn.attention_grad %[[G]], %[[Q]], %[[K]], %[[K]] {causal, scale = 1.250000e-01 : f64} :
  // CHECK-SAME: (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>)
  %dq, %dk, %dv = nn.attention_grad %g, %q, %k, %k {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>)
  // CHECK-NEXT: nn.attention_grad %[[G]], %[[Q]], %[[K]], %[[K]], %[[M]] {scale = 1.250000e-01 : f64} :
  %masked_grad:3 = nn.attention_grad %g, %q, %k, %k, %mask {scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16xi32>) -> (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>)
  // CHECK-NEXT: nn.attention_grad %[[G]], %[[Q]], %[[K]], %[[K]], %[[M]], %[[KEPT]], %[[S]] {scale = 1.250000e-01 : f64} :
  %kept_grad:3 = nn.attention_grad %g, %q, %k, %k, %mask, %kept, %statistics {scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16xi32>, tensor<4x32x2x64xf32>, tensor<4x2x32xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x16x2x64xf32>, tensor<4x16x2x64xf32>)
  return
}

// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // CHECK-NEXT: nn.dropout %{{.*}}, %{{.*}} {rate = 1.250000e-01 : f64} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  %dropout = nn.dropout %x, %key {rate = 0.125 : f64} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {rate = 1.250000e-01 : f64} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  %of_part = nn.dropout %x, %key, %key {rate = 0.125 : f64} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.dropout %{{.*}}, %{{.*}} {global_shape = array<i64: 8, 3>, offsets = array<i64: 4, 0>, rate = 1.250000e-01 : f64} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  %of_piece = nn.dropout %x, %key {rate = 0.125 : f64, offsets = array<i64: 4, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// CHECK-LABEL: func.func @uniform
func.func @uniform(%x: tensor<4x3xf32>, %key: tensor<i64>) {
  // CHECK-NEXT: nn.uniform %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  %uniform = nn.uniform %x, %key : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x3xf32>
  // CHECK-NEXT: nn.uniform %{{.*}}, %{{.*}}, %{{.*}} {global_shape = array<i64: 8, 3>, offsets = array<i64: 4, 0>} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  %of_piece = nn.uniform %x, %key, %key {offsets = array<i64: 4, 0>, global_shape = array<i64: 8, 3>} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  return
}

// The values that descriptions show.
func.func @descriptions(%logits: tensor<32x10xf32>, %labels: tensor<32xi64>, %loss: tensor<f32>, %q: tensor<4x32x2x64xf32>,
                        %k: tensor<4x32x2x64xf32>, %v: tensor<4x32x2x64xf32>, %g: tensor<4x32x2x64xf32>) {
  %l = nn.softmax_cross_entropy %logits, %labels : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
  %y = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>) -> tensor<4x32x2x64xf32>
  %kept, %statistics = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x2x32xf32>)
  %kq, %kk, %kv = nn.attention_grad %g, %q, %k, %v, %kept, %statistics {causal, scale = 0.125 : f64} : (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x2x32xf32>) -> (tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>, tensor<4x32x2x64xf32>)
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.001>
  return
}

// CHECK-LABEL: func.func @training
func.func @training(%loss: tensor<f32>, %g: tensor<4x3xf32>) {
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.sgd<lr = 1.000000e-03>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.001>
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.momentum<lr = 1.000000e-01, momentum = 9.000000e-01>
  nn.minimize %loss : tensor<f32> with #nn.momentum<lr = 0.1, momentum = 0.9>
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.adam<lr = 1.000000e-01, beta1 = 9.000000e-01, beta2 = 7.500000e-01, epsilon = 1.000000e-08>
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.1, beta1 = 0.9, beta2 = 0.75, epsilon = 1.0e-8>
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.adamw<lr = 1.000000e-01, beta1 = 9.000000e-01, beta2 = 7.500000e-01, epsilon = 1.000000e-08, weight_decay = 5.000000e-02>
  nn.minimize %loss : tensor<f32> with #nn.adamw<lr = 0.1, beta1 = 0.9, beta2 = 0.75, epsilon = 1.0e-8, weight_decay = 0.05>
  // What is left out has its default, numbers may be whole, and may stand in any order.
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.lion<lr = 1.000000e+00, beta1 = 9.000000e-01, beta2 = 5.000000e-01, weight_decay = 0.000000e+00>
  nn.minimize %loss : tensor<f32> with #nn.lion<beta2 = 0.5, lr = 1>
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.sgd<lr = 1.000000e-01> schedule #nn.cosine<steps = 1.000000e+03, end = 1.000000e-01, warmup = 1.000000e+02>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1> schedule #nn.cosine<steps = 1000, end = 0.1, warmup = 100>
  // Whole numbers of many digits, of which MLIR by itself prints the bits.
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.sgd<lr = 1234567.0> schedule #nn.constant<warmup = 9007199254740992.0>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 1234567> schedule #nn.constant<warmup = 9007199254740992>
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.momentum<lr = 12345678.0, momentum = 12345678000.0>
  nn.minimize %loss : tensor<f32> with #nn.momentum<lr = 12345678.0, momentum = 12345678000.0>
  // With a type, the bits are what was meant.
  // CHECK-NEXT: nn.minimize %{{.*}} : tensor<f32> with #nn.sgd<lr = 1234567.0>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0x4132D68700000000 : f64>
  // CHECK-NEXT: %[[T:.*]] = sbp.scope
  %t = sbp.scope "update" of @w
  // CHECK-NEXT: nn.update @w, %{{.*}} in %[[T]] : tensor<4x3xf32> with #nn.sgd<lr = 1.000000e-03>
  nn.update @w, %g in %t : tensor<4x3xf32> with #nn.sgd<lr = 0.001>
  return
}

// CHECK-LABEL: func.func @fusion
func.func @fusion(%x: tensor<4x3xf32>) {
  // CHECK-NEXT: nn.fusion(%{{.*}}) : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x3xf32>):
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[A]]
  // CHECK-NEXT: %[[S:.*]] = nn.reduce_sum %[[R]]
  // CHECK-NEXT: nn.yield %[[R]], %[[S]] : tensor<4x3xf32>, tensor<4xf32>
  %y, %sums = nn.fusion(%x) : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x3xf32>):
    %r = nn.relu %a : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %s = nn.reduce_sum %r {dims = array<i64: 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
    nn.yield %r, %s : tensor<4x3xf32>, tensor<4xf32>
  }
  return
}

// CHECK-LABEL: func.func @parts_of_classes
// CHECK-SAME: %[[X:.*]]: tensor<8x10xf32>, %[[I:.*]]: tensor<8xi64>
func.func @parts_of_classes(%x: tensor<8x10xf32>, %ids: tensor<8xi64>) {
  // CHECK-NEXT: nn.take %[[X]], %[[I]] : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<8xf32>
  %y = nn.take %x, %ids : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<8xf32>
  // CHECK-NEXT: nn.take %[[X]], %[[I]] {first = 10 : i64, ignored = -1 : i64, places = 20 : i64} :
  %z = nn.take %x, %ids {first = 10 : i64, ignored = -1 : i64, places = 20 : i64} : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<8xf32>
  // CHECK-NEXT: nn.log_sum_exp %[[X]] : (tensor<8x10xf32>) -> tensor<8xf32>
  %l = nn.log_sum_exp %x : (tensor<8x10xf32>) -> tensor<8xf32>
  return
}
