// A second placement is found wherever it is, and so is what is no tensor.
// RUN: splitcast-opt %s -sbp-propagate -split-input-file -verify-diagnostics

#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [a = 1, b = 2]>
module attributes {sbp.placement = #p} {
  // expected-error @below {{'func.func' op has a tensor on another placement than the module's: #sbp.placement<"cpu", [a = 1, b = 2]> and not #sbp.placement<"cpu", [dp = 2]>; a module has one placement: what only some of its ranks have is At(K) along one of its axes}}
  func.func @unused_argument(%x: tensor<4xf32, #sbp.nd<#q, [B, B]>>) {
    return
  }
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [a = 1, b = 2]>
module attributes {sbp.placement = #p} {
  func.func @result(%x: tensor<4xf32>) {
    // expected-error @below {{'nn.relu' op has a tensor on another placement than the module's: #sbp.placement<"cpu", [a = 1, b = 2]> and not #sbp.placement<"cpu", [dp = 2]>; a module has one placement: what only some of its ranks have is At(K) along one of its axes}}
    %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32, #sbp.nd<#q, [B, B]>>
    return
  }
}

// -----

// Nothing says which is the module's.
func.func @nowhere(%x: tensor<4xf32>) {
  // expected-error @below {{'nn.relu' op has a tensor on #sbp.placement<"cpu", [dp = 2]>, but neither a variable nor a function's type says where the module is; give it the attribute sbp.placement}}
  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>
  return
}

// -----

module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 1]>} {
  // expected-error @below {{'func.func' op @f takes 'i32' as argument 0; functions of the global level have ranked tensors only}}
  func.func @f(%a: i32) -> i32 {
    return %a : i32
  }
}

// -----

module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 1]>} {
  // expected-error @below {{'func.func' op @f returns 'tensor<*xf32>' as result 1; functions of the global level have ranked tensors only}}
  func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<*xf32>) {
    %0 = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
    return %x, %0 : tensor<4xf32>, tensor<*xf32>
  }
}
