// What is wrong with a library call is refused where its attribute is parsed.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @matmul_c1
// expected-error @below {{call of 'matmul' has m = -2; it must be at least 0}}
func.func private @f() attributes {call = #exec.matmul<m = -2, n = 2, k = 2, type = f32>}

// -----

// @matmul_c1
// expected-error @below {{call of 'matmul' has products = -1; it must be at least 0}}
func.func private @f() attributes {call = #exec.matmul<products = -1, m = 2, n = 2, k = 2, type = f32>}

// -----

// @matmul_c1
// expected-error @below {{call of 'matmul' has type = 'i32'; it must be f16, bf16, f32 or f64}}
func.func private @f() attributes {call = #exec.matmul<m = 2, n = 2, k = 2, type = i32>}

// -----

// @matmul_c1
// expected-error @below {{call of 'matmul' has an operand of 1 x 4611686018427387904 x 2 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.matmul<m = 4611686018427387904, n = 2, k = 2, type = f32>}

// -----

// @matmul_c1
// expected-error @below {{call of 'matmul' has an operand of 4611686018427387904 x 2 x 2 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.matmul<products = 4611686018427387904, m = 2, n = 2, k = 2, type = f32>}

// -----

// expected-error @below {{struct is missing required parameter: m}}
func.func private @f() attributes {call = #exec.matmul<n = 2, k = 2, type = f32>}

// -----

// expected-error @below {{duplicate or unknown struct parameter name: transposeA}}
func.func private @f() attributes {call = #exec.matmul<m = 2, n = 2, k = 2, type = f32, transposeA = true>}

// -----

func.func private @matmul_c1_legal() attributes {call0 = #exec.matmul<m = 0, n = 2, k = 0, type = f16>, call1 = #exec.matmul<products = 0, m = 2, n = 2, k = 2, transpose_a = true, transpose_b = true, type = f64>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention' has keys = -1; it must be at least 0}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 2, keys = -1, heads = 4, width = 5, scale = 0.5, type = f32>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention' has scale = 5.000000e-01 : f32; it must be an f64}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5 : f32, type = f32>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention' has workspace = -64; it must be at least 0}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = f32, workspace = -64>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention_grad' has type = 'i64'; it must be f16, bf16, f32 or f64}}
func.func private @f() attributes {call = #exec.attention<gradient = true, samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = i64>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention' has mask_type = 'f32'; it must be i32 or i64}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = f32, mask_type = f32>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention' has an operand of 2305843009213693952 x 1 x 1 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.attention<samples = 2305843009213693952, positions = 1, keys = 0, heads = 1, width = 1, scale = 0.5, type = bf16, statistics = true>}

// -----

// @attention_c1
// expected-error @below {{call of 'attention' has an operand of 4611686018427387904 x 2 x 4 x 5 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.attention<samples = 4611686018427387904, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = f32>}

// -----

// expected-error @below {{duplicate or unknown struct parameter name: dropout}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = f32, dropout = 0.5>}

// -----

// expected-error @below {{struct is missing required parameter: type}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, mask_type = i32>}

// -----

// expected-error @below {{struct is missing required parameter: samples}}
func.func private @f() attributes {call = #exec.attention<type = f32>}

// -----

func.func private @attention_c1_legal() attributes {call0 = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = bf16>, call1 = #exec.attention<gradient = true, samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, causal = true, type = f32, mask_type = i32, workspace = 0>, call2 = #exec.attention<samples = 1, positions = 2, keys = 3, heads = 4, width = 5, scale = 0.5, type = bf16, statistics = true>}

// -----

// @attention_c2
// expected-error @below {{call of 'attention' has scores of 1 x 1 x 1099511627776 x 1099511627776 elements, for which a device needs more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 1099511627776, keys = 1099511627776, heads = 1, width = 65, scale = 0.5, type = f32>}

// -----

// @attention_c2
// expected-error @below {{call of 'attention' has scores of 1 x 1 x 1 x 72057594037927936 elements, for which a device needs more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.attention<samples = 1, positions = 1, keys = 72057594037927936, heads = 1, width = 1, scale = 0.5, type = bf16>}

// -----

// Only what the gradient needs is too large: keys are rounded up to 128.
// @attention_c2
// expected-error @below {{call of 'attention_grad' has scores of 35184372088832 x 1 x 1024 x 1 elements, for which a device needs more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.attention<gradient = true, samples = 35184372088832, positions = 1024, keys = 1, heads = 1, width = 8, scale = 0.5, type = bf16>}

// -----

func.func private @attention_c2_legal() attributes {call = #exec.attention<samples = 35184372088832, positions = 1024, keys = 1, heads = 1, width = 8, scale = 0.5, type = bf16>}

// -----

// @convolution_c1
// expected-error @below {{call of 'convolution' has call = "convolution_grad"; it must be one of convolution, convolution_data_grad, convolution_weight_grad}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution_grad", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c1
// expected-error @below {{call of 'convolution' has call = ""; it must be one of convolution, convolution_data_grad, convolution_weight_grad}}
func.func private @f() attributes {call = #exec.convolution<call = "", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c1
// expected-error @below {{call of 'convolution' has type = 'i32'; it must be f16, bf16, f32 or f64}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = i32>}

// -----

// @convolution_c1
// expected-error @below {{call of 'convolution' has type = 'f64'; it must be f16, bf16 or f32}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f64>}

// -----

// @convolution_c1
// expected-error @below {{call of 'convolution' has workspace = -8; it must be at least 0}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32, workspace = -8>}

// -----

func.func private @convolution_c1_legal() attributes {call0 = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>, call1 = #exec.convolution<call = "convolution_data_grad", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f16>, call2 = #exec.convolution<call = "convolution_weight_grad", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = bf16>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has input = [8, 9, 9]; give 4 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has weight = [16, 8, 3, 0]; give 4 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 0], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has output = [4, 16, -5, 5]; give 4 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, -5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has input = [2147483648, 8, 9, 9]; give 4 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [2147483648, 8, 9, 9], weight = [16, 8, 3, 3], output = [2147483648, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has strides = [2, 0]; give 2 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 0], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has strides = [2]; give 2 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has padding = [-1, 1]; give 2 numbers from 0 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [-1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has padding = [1, 9223372036854775807]; give 2 numbers from 0 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 9223372036854775807], dilation = [1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has dilation = [1, 1, 1]; give 2 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has dilation = [0, 1]; give 2 numbers from 1 to 2147483647}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [0, 1], type = f32>}

// -----

// @convolution_c2
// expected-error @below {{call of 'convolution' has an operand of 2147483647 x 2 x 2147483647 x 1 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [2147483647, 2, 2147483647, 1], weight = [1, 2, 1, 1], output = [2147483647, 1, 2147483647, 1], strides = [1, 1], padding = [0, 0], dilation = [1, 1], type = f32>}

// -----

// Only the output is too large.
// @convolution_c2
// expected-error @below {{call of 'convolution' has an operand of 1 x 2147483647 x 2147483647 x 2 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [1, 1, 1, 1], weight = [2147483647, 1, 1, 1], output = [1, 2147483647, 2147483647, 2], strides = [1, 1], padding = [1073741823, 1], dilation = [1, 1], type = f32>}

// -----

func.func private @convolution_c2_legal() attributes {call0 = #exec.convolution<call = "convolution", input = [1, 1, 4, 4], weight = [1, 1, 1, 1], output = [1, 1, 3, 4], strides = [2147483647, 1], padding = [2147483647, 0], dilation = [2147483647, 2147483647], type = f32>, call1 = #exec.convolution<call = "convolution", input = [1, 1, 2147483647, 1], weight = [1, 1, 2147483647, 1], output = [1, 1, 1, 1], strides = [1, 1], padding = [0, 0], dilation = [1, 1], type = f32>, call2 = #exec.convolution<call = "convolution", input = [1, 2147483647, 1, 1], weight = [2147483647, 1, 1, 1], output = [1, 2147483647, 1, 1], strides = [1, 1], padding = [0, 0], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has output = [3, 16, 5, 5]; it must be [4, 16, 5, 5]}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [3, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has output = [4, 8, 5, 5]; it must be [4, 16, 5, 5]}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 8, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has output = [4, 16, 5, 6]; it must be [4, 16, 5, 5]}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 6], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has output = [4, 16, 1, 5]; it must be [4, 16, 0, 5]}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution_data_grad", input = [4, 8, 2, 9], weight = [16, 8, 5, 3], output = [4, 16, 1, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has weight = [16, 3, 3, 3] for 8 channels; its channels must divide these into groups, and the number of groups must divide the outputs}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 3, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has weight = [16, 16, 3, 3] for 8 channels; its channels must divide these into groups, and the number of groups must divide the outputs}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution_weight_grad", input = [4, 8, 9, 9], weight = [16, 16, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @convolution_c3
// expected-error @below {{call of 'convolution' has weight = [18, 2, 3, 3] for 8 channels; its channels must divide these into groups, and the number of groups must divide the outputs}}
func.func private @f() attributes {call = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [18, 2, 3, 3], output = [4, 18, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

func.func private @convolution_c3_legal() attributes {call0 = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 2, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>, call1 = #exec.convolution<call = "convolution", input = [4, 8, 9, 9], weight = [16, 1, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>, call2 = #exec.convolution<call = "convolution_data_grad", input = [4, 8, 10, 9], weight = [16, 8, 3, 3], output = [4, 16, 5, 5], strides = [2, 2], padding = [1, 1], dilation = [1, 1], type = f32>}

// -----

// @embedding_grad_c1
// expected-error @below {{call of 'embedding_grad' has rows = -2; it must be at least 0}}
func.func private @f() attributes {call = #exec.embedding_grad<rows = -2, vocabulary = 3, width = 4, type = f32, index_type = i64>}

// -----

// @embedding_grad_c1
// expected-error @below {{call of 'embedding_grad' has index_type = 'f32'; it must be i32 or i64}}
func.func private @f() attributes {call = #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = f32, index_type = f32>}

// -----

// @embedding_grad_c1
// expected-error @below {{call of 'embedding_grad' has type = 'i32'; it must be f16, bf16, f32 or f64}}
func.func private @f() attributes {call = #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = i32, index_type = i32>}

// -----

// @embedding_grad_c1
// expected-error @below {{call of 'embedding_grad' has an operand of 4611686018427387904 x 4 elements of 'f32', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.embedding_grad<rows = 2, vocabulary = 4611686018427387904, width = 4, type = f32, index_type = i32>}

// -----

// @embedding_grad_c1
// expected-error @below {{call of 'embedding_grad' has first = -1; it must be at least 0}}
func.func private @f() attributes {call = #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = f32, index_type = i64, first = -1>}

// -----

func.func private @embedding_grad_c1_legal() attributes {call2 = #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = bf16, index_type = i32, first = 5, workspace = 64>, call0 = #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = f32, index_type = i64>, call1 = #exec.embedding_grad<rows = 2, vocabulary = 3, width = 4, type = f64, index_type = i32, workspace = 0>}

// -----

// @check_indices_c1
// expected-error @below {{call of 'check_indices' has places = -1; it must be at least 0}}
func.func private @f() attributes {call = #exec.check_indices<count = 4, places = -1, type = i64, what = "nn.embedding">}

// -----

// @check_indices_c1
// expected-error @below {{call of 'check_indices' has type = 'f32'; it must be i32 or i64}}
func.func private @f() attributes {call = #exec.check_indices<count = 4, places = 5, type = f32, what = "nn.embedding">}

// -----

// @check_indices_c1
// expected-error @below {{call of 'check_indices' has an operand of 4611686018427387904 elements of 'i64', which is more than 2^63 - 1 bytes; use more ranks, or smaller tensors}}
func.func private @f() attributes {call = #exec.check_indices<count = 4611686018427387904, places = 5, type = i64, what = "nn.embedding">}

// -----

func.func private @check_indices_c1_legal() attributes {call0 = #exec.check_indices<count = 4, places = 5, type = i64, what = "nn.embedding">, call1 = #exec.check_indices<count = 0, places = 0, type = i32, ignored = -100, what = "">}
