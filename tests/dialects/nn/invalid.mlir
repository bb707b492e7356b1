// Shapes and types that ops refuse, with and without signatures: shapes are verified before signatures are.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @reduce_sum_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.reduce_sum' op sums over dimensions [2] of 'tensor<4x3xf32>'; they must be its own, ascending}}
  %0 = nn.reduce_sum %x {dims = array<i64: 2>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_sum_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.reduce_sum' op sums over dimensions [1, 1] of 'tensor<4x3xf32>'; they must be its own, ascending}}
  %0 = nn.reduce_sum %x {dims = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_sum_c1(%x: tensor<4x3xf32>) {
  // expected-error @below {{'nn.reduce_sum' op sums over dimensions [-1] of 'tensor<4x3xf32>'; they must be its own, ascending}}
  %0 = nn.reduce_sum %x {dims = array<i64: -1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_sum_c1_legal(%x: tensor<4x3xf32>) {
  %0 = nn.reduce_sum %x {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  %1 = nn.reduce_sum %x {dims = array<i64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<4x3xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'nn.matmul' op multiplies 'tensor<4x3xf32>' and 'tensor<3xf32>'; both must be matrices of one element type, or equally many of them}}
  %0 = nn.matmul %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<4x3xf32>, %y: tensor<3x2xf16>) {
  // expected-error @below {{'nn.matmul' op multiplies 'tensor<4x3xf32>' and 'tensor<3x2xf16>'; both must be matrices of one element type, or equally many of them}}
  %0 = nn.matmul %x, %y : (tensor<4x3xf32>, tensor<3x2xf16>) -> tensor<4x2xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @matmul_c1(%x: tensor<4xf32, #B>, %y: tensor<3x2xf32, #B>) {
  // expected-error @below {{'nn.matmul' op multiplies 'tensor<4xf32>' and 'tensor<3x2xf32>'; both must be matrices of one element type, or equally many of them}}
  %0 = nn.matmul %x, %y : (tensor<4xf32, #B>, tensor<3x2xf32, #B>) -> tensor<4x2xf32, #B>
  return
}

// -----

func.func @matmul_c1(%x: tensor<2x4x3xf32>, %y: tensor<3x3x5xf32>) {
  // expected-error @below {{'nn.matmul' op multiplies 'tensor<2x4x3xf32>' and 'tensor<3x3x5xf32>'; both must be matrices of one element type, or equally many of them}}
  %0 = nn.matmul %x, %y : (tensor<2x4x3xf32>, tensor<3x3x5xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

// Neither one matrix nor a dimension of extent 1 is repeated.
func.func @matmul_c1(%x: tensor<1x4x3xf32>, %y: tensor<3x5xf32>, %z: tensor<2x3x5xf32>) {
  // expected-error @below {{'nn.matmul' op multiplies 'tensor<1x4x3xf32>' and 'tensor<3x5xf32>'; both must be matrices of one element type, or equally many of them}}
  %0 = nn.matmul %x, %y : (tensor<1x4x3xf32>, tensor<3x5xf32>) -> tensor<1x4x5xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<1x4x3xf32>, %y: tensor<3x5xf32>, %z: tensor<2x3x5xf32>) {
  // expected-error @below {{'nn.matmul' op multiplies 'tensor<1x4x3xf32>' and 'tensor<2x3x5xf32>'; both must be matrices of one element type, or equally many of them}}
  %0 = nn.matmul %x, %z : (tensor<1x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @matmul_c1_legal(%x: tensor<4x3xbf16>, %y: tensor<3x0xbf16>, %a: tensor<2x3x4x3xf32>, %b: tensor<2x3x3x5xf32>,
                           %none: tensor<0x4x3xf32>) {
  %0 = nn.matmul %x, %y : (tensor<4x3xbf16>, tensor<3x0xbf16>) -> tensor<4x0xbf16>
  %1 = nn.matmul %a, %b : (tensor<2x3x4x3xf32>, tensor<2x3x3x5xf32>) -> tensor<2x3x4x5xf32>
  %2 = nn.matmul %none, %none {transpose_b} : (tensor<0x4x3xf32>, tensor<0x4x3xf32>) -> tensor<0x4x4xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<4x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error @below {{'nn.matmul' op contracts 3 of 'tensor<4x3xf32>' with 2 of 'tensor<2x3xf32>'; these extents must be equal (transpose_a and transpose_b choose them)}}
  %0 = nn.matmul %x, %y : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// The last two dimensions are the matrix: extents before them that are equal make no product.
func.func @matmul_c2(%x: tensor<3x4x2xf32>, %y: tensor<3x3x5xf32>) {
  // expected-error @below {{'nn.matmul' op contracts 2 of 'tensor<3x4x2xf32>' with 3 of 'tensor<3x3x5xf32>'; these extents must be equal (transpose_a and transpose_b choose them)}}
  %0 = nn.matmul %x, %y : (tensor<3x4x2xf32>, tensor<3x3x5xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @matmul_c2_legal(%x: tensor<4x3xf32>, %y: tensor<2x3xf32>, %z: tensor<5x3x4xf32>, %u: tensor<5x3x2xf32>) {
  %0 = nn.matmul %x, %y {transpose_b} : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = nn.matmul %z, %u {transpose_a} : (tensor<5x3x4xf32>, tensor<5x3x2xf32>) -> tensor<5x4x2xf32>
  return
}

// -----

func.func @embedding_c1(%table: tensor<4xf32>, %ids: tensor<2xi64>) {
  // expected-error @below {{'nn.embedding' op looks up rows of 'tensor<4xf32>'; a table must have two dimensions}}
  %0 = nn.embedding %table, %ids : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @embedding_c1(%table: tensor<4x3xf32>, %ids: tensor<2xi64>) {
  // expected-error @below {{'nn.embedding' op result 0 has type 'tensor<2x4xf32>', but its operands give 'tensor<2x3xf32>'; change the type}}
  %0 = nn.embedding %table, %ids : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @embedding_c1_legal(%table: tensor<4x3xf32>, %one: tensor<i32>) {
  %0 = nn.embedding %table, %one : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
  return
}

// -----

func.func @embedding_c2(%table: tensor<4x3xf32>, %ids: tensor<2xi64>) {
  // expected-error @below {{'nn.embedding' op has 4 rows of a table, first = 3 and places = 6; give both, so that these lie within the places, or neither}}
  %0 = nn.embedding %table, %ids {first = 3 : i64, places = 6 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @embedding_c2(%table: tensor<4x3xf32>, %ids: tensor<2xi64>) {
  // expected-error @below {{'nn.embedding' op has 4 rows of a table, first = 3 and places = none; give both}}
  %0 = nn.embedding %table, %ids {first = 3 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @embedding_c2_legal(%table: tensor<4x3xf32>, %ids: tensor<2xi64>) {
  %0 = nn.embedding %table, %ids {first = 3 : i64, places = 7 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @embedding_grad_c2(%rows: tensor<2x3xf32>, %ids: tensor<2xi64>) {
  // expected-error @below {{'nn.embedding_grad' op has 4 rows of a table, first = -1 and places = 6; give both}}
  %0 = nn.embedding_grad %rows, %ids {first = -1 : i64, places = 6 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @embedding_grad_c2_legal(%rows: tensor<2x3xf32>, %ids: tensor<2xi64>) {
  %0 = nn.embedding_grad %rows, %ids {first = 2 : i64, places = 6 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @embedding_grad_c1_legal(%rows: tensor<2x3xf32>, %ids: tensor<2xi64>) {
  %0 = nn.embedding_grad %rows, %ids : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @take_c1(%x: tensor<4x3xf32>, %ids: tensor<3xi64>) {
  // expected-error @below {{'nn.take' op takes elements of 'tensor<4x3xf32>' at 'tensor<3xi64>'; the indices must have the operand's dimensions except the last}}
  %0 = nn.take %x, %ids : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @take_c1_legal(%x: tensor<2x4x3xf32>, %ids: tensor<2x4xi32>) {
  %0 = nn.take %x, %ids {ignored = -1 : i64} : (tensor<2x4x3xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @take_c2(%x: tensor<4x3xf32>, %ids: tensor<4xi64>) {
  // expected-error @below {{'nn.take' op has 3 elements of a row, first = none and places = 6; give both}}
  %0 = nn.take %x, %ids {places = 6 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @take_c2_legal(%x: tensor<4x0xf32>, %ids: tensor<4xi64>) {
  %0 = nn.take %x, %ids {first = 6 : i64, places = 6 : i64} : (tensor<4x0xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c1(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>, %sum: tensor<3xf32>) {
  // expected-error @below {{'nn.softmax_cross_entropy_grad' op has gradient 'tensor<4xf32>' and log_sum 'tensor<3xf32>'; both must have one element per row, of one type}}
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids, %sum : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c1_legal(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>, %sum: tensor<4xf32>) {
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids, %sum : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c2(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>, %sum: tensor<4xf32>) {
  // expected-error @below {{'nn.softmax_cross_entropy_grad' op has both a log_sum and 2 classes; where classes are padded, leave out log_sum}}
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids, %sum {classes = 2 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c2_legal(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>) {
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids {classes = 2 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c3(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy_grad' op has a part of the classes and no log_sum; give log_sum, since a part does not give the sum over all classes}}
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids {first = 3 : i64, places = 6 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c3(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>, %sum: tensor<4xf32>) {
  // expected-error @below {{'nn.softmax_cross_entropy_grad' op has 3 classes, first = 4 and places = 6; give both}}
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids, %sum {first = 4 : i64, places = 6 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_c3_legal(%g: tensor<4xf32>, %x: tensor<4x3xf32>, %ids: tensor<4xi64>, %sum: tensor<4xf32>) {
  %0 = nn.softmax_cross_entropy_grad %g, %x, %ids, %sum {first = 3 : i64, places = 6 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @log_sum_exp_c1(%x: tensor<f32>) {
  // expected-error @below {{'nn.log_sum_exp' op takes 'tensor<f32>'; it works along the last dimension, so there must be one}}
  %0 = nn.log_sum_exp %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @log_sum_exp_c1(%x: tensor<3x4xf32>) {
  // expected-error @below {{'nn.log_sum_exp' op result 0 has type 'tensor<4xf32>', but its operands give 'tensor<3xf32>'; change the type}}
  %0 = nn.log_sum_exp %x : (tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @log_sum_exp_c1_legal(%x: tensor<3x4xf32>, %y: tensor<5xf64>) {
  %0 = nn.log_sum_exp %x : (tensor<3x4xf32>) -> tensor<3xf32>
  %1 = nn.log_sum_exp %y : (tensor<5xf64>) -> tensor<f64>
  return
}

// -----

func.func @embedding_grad_c1(%rows: tensor<2x3xf32>, %ids: tensor<4xi64>) {
  // expected-error @below {{'nn.embedding_grad' op adds 'tensor<2x3xf32>' at 'tensor<4xi64>' into 'tensor<8x3xf32>'; the gradient must have the indices' dimensions and then the table's second}}
  %0 = nn.embedding_grad %rows, %ids : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_c1(%logits: tensor<4x3xf32>, %labels: tensor<3xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy' op has logits 'tensor<4x3xf32>' and labels 'tensor<3xi64>'; labels must have the logits' dimensions except the last, the classes}}
  %0 = nn.softmax_cross_entropy %logits, %labels : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @softmax_cross_entropy_c1(%logits: tensor<f32, #B>, %labels: tensor<i64, #B>) {
  // expected-error @below {{'nn.softmax_cross_entropy' op has logits 'tensor<f32>' and labels 'tensor<i64>'; labels must have the logits' dimensions except the last, the classes}}
  %0 = nn.softmax_cross_entropy %logits, %labels : (tensor<f32, #B>, tensor<i64, #B>) -> tensor<f32, #B>
  return
}

// -----

func.func @softmax_cross_entropy_c1_legal(%logits: tensor<2x4x3xf32>, %labels: tensor<2x4xi32>, %row: tensor<5xf32>, %label: tensor<i32>) {
  %0 = nn.softmax_cross_entropy %logits, %labels : (tensor<2x4x3xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
  %1 = nn.softmax_cross_entropy %row, %label : (tensor<5xf32>, tensor<i32>) -> tensor<f32>
  %2 = nn.softmax_cross_entropy %row, %label {ignored = -100 : i64} : (tensor<5xf32>, tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @softmax_cross_entropy_c2(%logits: tensor<4x3xf32>, %labels: tensor<4xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy' op has 4 classes and logits 'tensor<4x3xf32>'; 'classes' must be from 1 to the logits' last dimension}}
  %0 = nn.softmax_cross_entropy %logits, %labels {classes = 4 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @softmax_cross_entropy_c2(%logits: tensor<4x3xf32>, %labels: tensor<4xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy' op has 0 classes and logits 'tensor<4x3xf32>'; 'classes' must be from 1 to the logits' last dimension}}
  %0 = nn.softmax_cross_entropy %logits, %labels {classes = 0 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @softmax_cross_entropy_c2_legal(%logits: tensor<4x3xf32>, %labels: tensor<4xi64>, %g: tensor<4xf32>) {
  %0 = nn.softmax_cross_entropy %logits, %labels {classes = 1 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  %1 = nn.softmax_cross_entropy %logits, %labels {classes = 3 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  %2 = nn.softmax_cross_entropy_grad %g, %logits, %labels {classes = 2 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad_classes(%g: tensor<4xf32>, %logits: tensor<4x3xf32>, %labels: tensor<4xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy_grad' op has 4 classes and logits 'tensor<4x3xf32>'; 'classes' must be from 1 to the logits' last dimension}}
  %0 = nn.softmax_cross_entropy_grad %g, %logits, %labels {classes = 4 : i64} : (tensor<4xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @softmax_cross_entropy_ignored(%logits: tensor<4x3xf32>, %labels: tensor<4xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy' op attribute 'ignored' failed to satisfy constraint: 64-bit signless integer attribute}}
  %0 = nn.softmax_cross_entropy %logits, %labels {ignored = -100 : i32} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @softmax_cross_entropy_grad(%g: tensor<3xf32>, %logits: tensor<4x3xf32>, %labels: tensor<4xi64>) {
  // expected-error @below {{'nn.softmax_cross_entropy_grad' op has gradient 'tensor<3xf32>' and labels 'tensor<4xi64>'; both must have one element per row}}
  %0 = nn.softmax_cross_entropy_grad %g, %logits, %labels : (tensor<3xf32>, tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @fusion_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.fusion' op has a body of arguments 'tensor<5xf32>' and operands 'tensor<4xf32>'; they must be the same}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> (tensor<5xf32>) {
  ^bb0(%a: tensor<5xf32>):
    nn.yield %a : tensor<5xf32>
  }
  return
}

// -----

func.func @fusion_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.fusion' op must end in nn.yield of its results' types 'tensor<4xf32>', 'tensor<4xf32>'}}
  %0:2 = nn.fusion(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c1_legal() {
  %0 = nn.fusion() : () -> (tensor<4xf32>) {
    %a = nn.constant 1.0 : tensor<4xf32>
    nn.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.fusion' op contains 'ccl.view', but only ops with ComputeOpInterface can be fused}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> (tensor<2xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %v = ccl.view %a at 0 : tensor<4xf32> -> tensor<2xf32>
    nn.yield %v : tensor<2xf32>
  }
  return
}

// -----

func.func @fusion_c2_legal(%x: tensor<4xf32>) {
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> (tensor<f32>) {
  ^bb0(%a: tensor<4xf32>):
    %v = nn.reduce_sum %a {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    nn.yield %v : tensor<f32>
  }
  return
}

// -----

func.func @elementwise_shapes(%x: tensor<4x3xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'nn.add' op operands 'tensor<4x3xf32>', 'tensor<4xf32>' do not broadcast; aligned at the right, extents must be equal, or one of them 1}}
  %0 = nn.add %x, %y : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @elementwise_result(%x: tensor<4x1xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'nn.mul' op result 0 has type 'tensor<4x1xf32>', but its operands give 'tensor<4x3xf32>'; change the type}}
  %0 = nn.mul %x, %y : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @elementwise_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{'nn.sub' op operands have element types 'f32' and 'f64'; use nn.cast to make them equal}}
  %0 = nn.sub %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @clamp_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.clamp' op has least = 1.000000e+00 and most = 5.000000e-01; least must not be more than most}}
  %0 = nn.clamp %x {least = 1.0, most = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @total_of_parts_c1(%x: tensor<23xf64>) {
  // expected-error @below {{'nn.total_of_parts' op has an operand of type 'tensor<23xf64>'; it takes the 28 or 103 parts of nn.square_parts}}
  %0 = nn.total_of_parts %x : (tensor<23xf64>) -> tensor<f64>
  return
}

// -----

func.func @sum_parts_c1() {
  // expected-error @below {{'nn.sum_parts' op has no operand; give at least one}}
  %0 = "nn.sum_parts"() : () -> tensor<28xf64>
  return
}

// -----

func.func @exact_part(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.exact_part' op attribute 'of' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 6 whose maximum value is 8}}
  %0 = nn.exact_part %x {of = 9 : i64, part = 3 : i64} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @exact_part(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.exact_part' op result #0 must be a statically shaped tensor of f64, but got 'tensor<4xf32>'}}
  %0 = nn.exact_part %x {of = 6 : i64, part = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @exact_part_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.exact_part' op has part = 7 of 7; parts count from 0}}
  %0 = nn.exact_part %x {of = 7 : i64, part = 7 : i64} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @exact_part_c1_legal(%x: tensor<4xf32>) {
  %0 = nn.exact_part %x {of = 7 : i64, part = 6 : i64} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @exact_sum_c1(%x: tensor<4xf64>) {
  // expected-error @below {{'nn.exact_sum' op has 5 parts; nn.exact_part makes 6 to 8}}
  %0 = "nn.exact_sum"(%x, %x, %x, %x, %x) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @exact_sum_c1_legal(%x: tensor<4xf64>) {
  %0 = "nn.exact_sum"(%x, %x, %x, %x, %x, %x, %x, %x) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// The label is compared with an integer, and counts in whatever type the result says.
func.func @not_equal(%x: tensor<4xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{'nn.not_equal' op operand #0 must be a statically shaped tensor of i32 or i64, but got 'tensor<4xf32>'}}
  %0 = nn.not_equal %x {value = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @not_equal(%x: tensor<4xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{'nn.not_equal' op result 0 has type 'tensor<2xf32>', but its operands give 'tensor<4xf32>'; change the type}}
  %0 = nn.not_equal %i {value = 0 : i64} : (tensor<4xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @float_only(%x: tensor<4xi64>) {
  // expected-error @below {{'nn.relu' op operand #0 must be a statically shaped tensor of f16, bf16, f32 or f64, but got 'tensor<4xi64>'}}
  %0 = nn.relu %x : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @static_only(%x: tensor<?xf32>) {
  // expected-error @below {{'nn.relu' op operand #0 must be a statically shaped tensor of f16, bf16, f32 or f64, but got 'tensor<?xf32>'}}
  %0 = nn.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @known_elements_only(%x: tensor<4xi1>) {
  // expected-error @below {{'nn.add' op operand #0 must be a statically shaped tensor of f16, bf16, f32, f64, i32 or i64, but got 'tensor<4xi1>'}}
  %0 = nn.add %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @clamp_c1_legal(%x: tensor<4xf32>) {
  %0 = nn.clamp %x {least = 0.5, most = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @nonfinite_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.nonfinite' op result 0 has type 'tensor<1xf64>', but its operands give 'tensor<f64>'; change the type}}
  %0 = nn.nonfinite %x : (tensor<4xf32>) -> tensor<1xf64>
  return
}

// -----

func.func @nonfinite_c1_legal(%x: tensor<4xf32>) {
  %0 = nn.nonfinite %x : (tensor<4xf32>) -> tensor<f64>
  return
}

// -----

func.func @square_parts_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.square_parts' op result 0 has type 'tensor<23xf64>', but its operands give 'tensor<28xf64>'; change the type}}
  %0 = nn.square_parts %x : (tensor<4xf32>) -> tensor<23xf64>
  return
}

// -----

func.func @square_parts_c1_legal(%x: tensor<4xf32>) {
  %0 = nn.square_parts %x : (tensor<4xf32>) -> tensor<28xf64>
  return
}

// -----

func.func @total_of_parts_c1_legal(%x: tensor<28xf64>) {
  %0 = nn.total_of_parts %x : (tensor<28xf64>) -> tensor<f64>
  return
}

// -----

func.func @sum_parts_c1_legal(%x: tensor<28xf64>) {
  %0 = nn.sum_parts %x : (tensor<28xf64>) -> tensor<28xf64>
  return
}
