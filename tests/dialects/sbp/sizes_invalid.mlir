// Ops on tensors whose signature is not decided yet have no more bytes than others.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

func.func @broadcast(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.broadcast' op has a tensor of type 'tensor<4611686018427387904x4xf32>', which is more than 2^63 - 1 bytes; make it smaller}}
  %0 = nn.broadcast %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4611686018427387904x4xf32>
  return
}

// -----

// As many elements as it has, if they wrap: 2^64 and none.
func.func @reshape(%x: tensor<0xf32>) {
  // expected-error @below {{'nn.reshape' op has a tensor of type 'tensor<4x4611686018427387904xf32>', which is more than 2^63 - 1 bytes; make it smaller}}
  %0 = nn.reshape %x : (tensor<0xf32>) -> tensor<4x4611686018427387904xf32>
  return
}

// -----

func.func @legal(%x: tensor<f32>) {
  %0 = nn.broadcast %x {dims = array<i64: 0>} : (tensor<f32>) -> tensor<2305843009213693951xf32>
  return
}
