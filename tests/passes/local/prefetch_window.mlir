// RUN: splitcast-opt %s -ccl-prefetch -split-input-file -verify-diagnostics

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 1, prefetch_bytes = 31>
ccl.storage @s : tensor<4xf32> holds [@w] at [0]
func.func @prefetch_c1() -> tensor<8xf32> {
  %0 = ccl.read @s : tensor<4xf32>
  // expected-error @below {{"one" gathers 32 bytes, but gathers ahead of their use may take at most prefetch-bytes = 31; raise it to the bytes of the largest group, or set prefetch = 0 for this one}}
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<8xf32, #B> storage #S0 policy #sbp.policy<prefetch = 1, prefetch_bytes = 32>
ccl.storage @s : tensor<4xf32> holds [@w] at [0]
func.func @prefetch_c1_legal() -> tensor<8xf32> {
  %0 = ccl.read @s : tensor<4xf32>
  %a = ccl.all_gather "one" %0 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %1 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

ccl.storage @s : tensor<4xf32> holds [] at []
ccl.storage @t : tensor<4xf32> holds [] at []
func.func @of_two(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = ccl.read @s : tensor<4xf32>
  %1 = ccl.read @t : tensor<4xf32>
  %2 = nn.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{"one" has 'stored', but its operand is not the value of a storage; remove 'stored'}}
  %a = ccl.all_gather "one" %2 in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

func.func @of_argument(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{"one" has 'stored', but its operand is not the value of a storage; remove 'stored'}}
  %a = ccl.all_gather "one" %x in <"g", [0, 1], index 0> blocks [4, 4] {stored} : tensor<4xf32> -> !ccl.pending<tensor<8xf32>>
  %3 = ccl.wait %a : !ccl.pending<tensor<8xf32>> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
