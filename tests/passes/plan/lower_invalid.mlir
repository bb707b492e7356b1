// What 'exec-lower' refuses: modules that 'ccl-verify-local' would, with its words, and ops that no kernel computes.
// RUN: splitcast-opt %s -exec-lower -split-input-file -verify-diagnostics

func.func @lower_c1(%x: tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  // expected-error @below {{'nn.relu' op is in no fusion and no library call; run 'nn-fuse-kernels'}}
  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @lower_c1_legal(%x: tensor<4xf32> {ccl.global = tensor<4xf32>}) {
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// expected-error @below {{'func.func' op takes or returns 'tensor<?xf32>'; tensors must have a static shape and elements of f16, bf16, f32, f64, i1, i8, i32 or i64}}
func.func @lower_c1(%x: tensor<?xf32> {ccl.global = tensor<8xf32>}) {
  return
}

// -----

// A kernel without results is none.
func.func @lower_c1_legal() {
  nn.fusion() : () -> () {
    nn.yield
  }
  return
}
