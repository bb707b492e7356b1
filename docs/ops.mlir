// One instance of each op that computes, from which docs/ops.md is made: see tests/docs.
func.func @ops(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>, %row: tensor<6xf32>, %rows: tensor<8xf32>, %w: tensor<6x4xf32>,
               %ids: tensor<8xi64>, %key: tensor<i64>, %q: tensor<4x8x2x6xf32>, %k: tensor<4x8x2x6xf32>, %mask: tensor<4x8xi64>,
               %images: tensor<4x2x8x6xf32>, %filters: tensor<6x2x3x3xf32>) {
  %add = nn.add %x, %row : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %sub = nn.sub %x, %y : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %mul = nn.mul %x, %y : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %div = nn.div %x, %y : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %neg = nn.neg %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %exp = nn.exp %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %log = nn.log %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %sqrt = nn.sqrt %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %tanh = nn.tanh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %sin = nn.sin %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %cos = nn.cos %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %sigmoid = nn.sigmoid %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %erf = nn.erf %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %relu = nn.relu %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %relu_grad = nn.relu_grad %y, %x : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %gelu = nn.gelu %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %gelu_grad = nn.gelu_grad %y, %x : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %scale = nn.scale %x {value = 2.0 : f64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %shift = nn.shift %x {value = 2.0 : f64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %cast = nn.cast %x : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  %not_equal = nn.not_equal %ids {value = -1 : i64} : (tensor<8xi64>) -> tensor<8xf32>
  %exact_part = nn.exact_part %x {part = 0 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf64>
  %exact_sum = nn.exact_sum %exact_part, %exact_part, %exact_part : (tensor<8x6xf64>, tensor<8x6xf64>, tensor<8x6xf64>) -> tensor<8x6xf32>
  %clamp = nn.clamp %x {least = -1.0, most = 1.0} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %select = nn.select %x, %x, %clamp : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %compare = nn.compare %x, %row {predicate = "lt"} : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %stop_gradient = nn.stop_gradient %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %nonfinite = nn.nonfinite %x : (tensor<8x6xf32>) -> tensor<f64>
  %square_parts = nn.square_parts %x : (tensor<8x6xf32>) -> tensor<24xf64>
  %sum_parts = nn.sum_parts %square_parts, %square_parts : (tensor<24xf64>, tensor<24xf64>) -> tensor<24xf64>
  %total_of_parts = nn.total_of_parts %sum_parts : (tensor<24xf64>) -> tensor<f64>
  %dropout = nn.dropout %x, %key {rate = 0.5 : f64} : (tensor<8x6xf32>, tensor<i64>) -> tensor<8x6xf32>
  %constant = nn.constant 1.0 : tensor<8x6xf32>
  %iota = nn.iota {dim = 1 : i64} : () -> tensor<8x6xf32>
  %reshape = nn.reshape %x : (tensor<8x6xf32>) -> tensor<4x2x6xf32>
  %transpose = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %broadcast = nn.broadcast %rows {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<8x6xf32>
  %slice = nn.slice %x {dim = 1 : i64, start = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x3xf32>
  %concat = nn.concat %x, %y {dim = 1 : i64} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
  %reduce_sum = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<6xf32>
  %matmul = nn.matmul %x, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %embedding = nn.embedding %w, %ids : (tensor<6x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %embedding_grad = nn.embedding_grad %matmul, %ids : (tensor<8x4xf32>, tensor<8xi64>) -> tensor<6x4xf32>
  %take = nn.take %x, %ids : (tensor<8x6xf32>, tensor<8xi64>) -> tensor<8xf32>
  %convolution = nn.convolution %images, %filters {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x2x8x6xf32>, tensor<6x2x3x3xf32>) -> tensor<4x6x8x6xf32>
  %data_grad = nn.convolution_data_grad %convolution, %filters {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x6x8x6xf32>, tensor<6x2x3x3xf32>) -> tensor<4x2x8x6xf32>
  %weight_grad = nn.convolution_weight_grad %convolution, %images {strides = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<4x6x8x6xf32>, tensor<4x2x8x6xf32>) -> tensor<6x2x3x3xf32>
  %max_pool = nn.max_pool %images {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x2x8x6xf32>) -> tensor<4x2x4x3xf32>
  %max_pool_positions = nn.max_pool_positions %images, %max_pool {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x2x8x6xf32>, tensor<4x2x4x3xf32>) -> tensor<4x2x4x3xi64>
  %max_pool_grad = nn.max_pool_grad %max_pool, %max_pool_positions {extents = array<i64: 8, 6>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : (tensor<4x2x4x3xf32>, tensor<4x2x4x3xi64>) -> tensor<4x2x8x6xf32>
  %softmax = nn.softmax %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %log_sum_exp = nn.log_sum_exp %x : (tensor<8x6xf32>) -> tensor<8xf32>
  %softmax_grad = nn.softmax_grad %y, %softmax : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %loss = nn.softmax_cross_entropy %x, %ids : (tensor<8x6xf32>, tensor<8xi64>) -> tensor<8xf32>
  %loss_grad = nn.softmax_cross_entropy_grad %rows, %x, %ids : (tensor<8xf32>, tensor<8x6xf32>, tensor<8xi64>) -> tensor<8x6xf32>
  %norm = nn.layer_norm %x, %row, %row {epsilon = 1.0e-5 : f64} : (tensor<8x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %mean, %s = nn.row_moments %x {epsilon = 1.0e-5 : f64} : (tensor<8x6xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %norm_grad = nn.layer_norm_grad %y, %x, %row {epsilon = 1.0e-5 : f64} : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %attention = nn.attention %q, %k, %k, %mask {causal, scale = 0.5 : f64} : (tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>, tensor<4x8xi64>) -> tensor<4x8x2x6xf32>
  %dq, %dk, %dv = nn.attention_grad %q, %q, %k, %k {scale = 0.5 : f64} : (tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>) -> (tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>, tensor<4x8x2x6xf32>)
  return
}
