// RUN: splitcast-opt %s -sbp-propagate -split-input-file -verify-diagnostics

// @propagate_c1
// expected-error @below {{'sbp-propagate' found no placement; give a variable or an argument a signature, or the module an attribute sbp.placement}}
module {
  sbp.variable @w : tensor<4xf32>
}

// -----

// @propagate_c3
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
  func.func @minimize(%loss: tensor<f32>) {
    // expected-error @below {{'nn.minimize' op does not say which signatures it may have (ShardingOpInterface), or belongs to a pass that has not run: nn.minimize needs 'nn-differentiate', nn.update 'nn-expand-optimizers'}}
    nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
    return
  }
}

// -----

// @propagate_c3: an op of another dialect.
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
  func.func @unknown(%x: tensor<4xf32>) -> tensor<?xf32> {
    // expected-error @below {{'tensor.cast' op does not say which signatures it may have (ShardingOpInterface), or belongs to a pass that has not run}}
    %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}

// -----

// @propagate_c2: none.
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
  // expected-error @below {{'func.func' op must have a body of one block}}
  func.func private @external(tensor<f32>)
}

// -----

// @propagate_c2: two.
module attributes {sbp.placement = #sbp.placement<"cpu", [dp = 2]>} {
  // expected-error @below {{'func.func' op must have a body of one block}}
  func.func @two_blocks(%loss: tensor<f32>) {
    cf.br ^bb1
  ^bb1:
    return
  }
}

// -----

// @propagate_c1: no axis.
// expected-error @below {{'sbp-propagate' found the placement #sbp.placement<"cpu", []>, which has no axis; one rank is an axis of size 1, such as [dp = 1]}}
module attributes {sbp.placement = #sbp.placement<"cpu", []>} {
  func.func @softmax(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %y = nn.softmax %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}

// -----

// @propagate_c6: addends in one function, and their sum in another.
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @c : tensor<f32> carried as_made
func.func @a(%x: tensor<4xf32, #S0>) {
  %s = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<4xf32, #S0>) -> tensor<f32>
  sbp.assign @c, %s : tensor<f32>
  return
}
func.func @b(%x: tensor<4xf32, #S0>) {
  %s = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<4xf32, #S0>) -> tensor<f32>
  %t = nn.tanh %s : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{'sbp.assign' op assigns @c a value that is [B], but its type, or the value that another function assigns, is P along axis "dp"; assign values that are P there in all functions, or use another variable}}
  sbp.assign @c, %t : tensor<f32>
  return
}

// -----

// @propagate_c5
#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#P = #sbp.nd<#p, [P]>
// expected-note @below {{operand 0 comes from a value that is [S(0)] here}}
func.func @pinned(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  // expected-note @below {{operand 0 comes by way of 'nn.neg' here}}
  %0 = nn.neg %x : (tensor<8x4xf32, #S0>) -> tensor<8x4xf32>
  // expected-error @below {{'nn.relu' op has a result that is written as P along axis "dp", but no row that makes P from signatures to which its operands can be boxed; leave out the signature of the result, or write B or S}}
  %1 = nn.relu %0 : (tensor<8x4xf32>) -> tensor<8x4xf32, #P>
  %2 = nn.neg %1 : (tensor<8x4xf32, #P>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// @propagate_c4
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S = #sbp.nd<#p, [S(1)]>
sbp.variable @w : tensor<4x2xf32, #S>
sbp.variable @v : tensor<2xf32, #B>
func.func @a_fence_needs_the_dimension_of_the_update() {
  %v = sbp.read @v : tensor<2xf32>
  %s = sbp.scope "update" of @w
  // expected-error @below {{'sbp.fence' op brings 'tensor<2xf32>' into the update of @w, where it would be [S(1)]; it needs the dimension that is split, or to stay outside of the update}}
  %a = sbp.fence %v in %s : tensor<2xf32>
  %b = nn.tanh %a : (tensor<2xf32>) -> tensor<2xf32>
  sbp.assign @v, %b : tensor<2xf32>
  return
}

// -----

// @propagate_c7: repeats are compared here, too, where the first is not yet erased if only the choice for its repeats needed it.
#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
#P = #sbp.nd<#p, [P]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
func.func @computed_again(%x: tensor<4x6xf32, #B>, %w: tensor<6x2xf32, #B>) -> (tensor<4x2xf32, #B>, tensor<4x2xf32, #B>) {
  %0 = nn.tanh %x : (tensor<4x6xf32, #B>) -> tensor<4x6xf32, #B>
  // expected-note @below {{computed first here}}
  %1 = nn.matmul %0, %w : (tensor<4x6xf32, #B>, tensor<6x2xf32, #B>) -> tensor<4x2xf32, #B>
  %t = sbp.scope "backward"
  %2 = sbp.fence %x in %t : tensor<4x6xf32, #B>
  %3 = nn.tanh %2 : (tensor<4x6xf32, #B>) -> tensor<4x6xf32, #B>
  %4 = sbp.boxing %3 : tensor<4x6xf32, #B> -> tensor<4x6xf32, #S1>
  %5 = sbp.boxing %w : tensor<6x2xf32, #B> -> tensor<6x2xf32, #S0>
  // expected-error @below {{'nn.matmul' op is computed again with operand 0 as [S(1)], but was computed first with [B], so that its sums would be others; box its operands to the signatures of the first}}
  %6 = nn.matmul %4, %5 : (tensor<4x6xf32, #S1>, tensor<6x2xf32, #S0>) -> tensor<4x2xf32, #P>
  %7 = sbp.boxing %6 : tensor<4x2xf32, #P> -> tensor<4x2xf32, #B>
  return %1, %7 : tensor<4x2xf32, #B>, tensor<4x2xf32, #B>
}
