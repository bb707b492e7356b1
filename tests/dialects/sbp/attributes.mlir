// Attributes and types: text to text, by way of the generic form and of bytecode.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -mlir-print-op-generic | splitcast-opt | FileCheck %s
// RUN: splitcast-opt %s -emit-bytecode | splitcast-opt --allow-bytecode | FileCheck %s

// Aliases are made from the content, so that other names in the input do not matter; a placement's says its axes.
// CHECK-DAG: #cpu_dp4_tp2_ = #sbp.placement<"cpu", [dp = 4, tp = 2]>
// CHECK-DAG: #cuda_dp2_ = #sbp.placement<"cuda", [dp = 2], ranks = [7, 3]>
// CHECK-DAG: #B_B = #sbp.nd<#cpu_dp4_tp2_, [B, B]>
// CHECK-DAG: #S0__S1_ = #sbp.nd<#cpu_dp4_tp2_, [S(0), S(1)]>
// CHECK-DAG: #P_B = #sbp.nd<#cpu_dp4_tp2_, [P, B]>
// CHECK-DAG: #S_layer0_64__S1_ = #sbp.nd<#cpu_dp4_tp2_, [S(@layer0, 64 of 4096), S(1)]>
// CHECK-DAG: #B = #sbp.nd<#cuda_dp2_, [B]>
// CHECK-DAG: #S0by2_ = #sbp.nd<#cpu_dp3_, [S(0 by 2)]>
// CHECK-DAG: #S0to_ = #sbp.nd<#cpu_dp3_, [S(0 to [0, 7, 8])]>
// CHECK-DAG: #S_layer0_8_ = #sbp.nd<#cpu_dp3_, [S(@layer0, 8 of 96 to [8, 56, 96])]>
// CHECK-DAG: #S0by6__S0by2_ = #sbp.nd<#cpu_dp3_tp2_, [S(0 by 6), S(0 by 2)]>
// Two placements of the same axes differ in more than their names.
// CHECK-DAG: #cuda_dp2_1 = #sbp.placement<"cuda", [dp = 2]>
#mesh = #sbp.placement<"cpu", [dp = 4, tp = 2]>
#ranked = #sbp.placement<"cuda", [dp = 2], ranks = [7, 3]>
#whole = #sbp.nd<#mesh, [B, B]>

// CHECK-LABEL: func.func private @signatures
// CHECK-SAME: tensor<8x6xf32, #B_B>
// CHECK-SAME: tensor<8x6xf32, #S0__S1_>
// CHECK-SAME: tensor<8x6xf32, #P_B>
// CHECK-SAME: tensor<8x6xf32, #S_layer0_64__S1_>
// CHECK-SAME: tensor<8x6xf32, #B>
// CHECK-SAME: tensor<8x6xf32, #B1>
func.func private @signatures(tensor<8x6xf32, #whole>, tensor<8x6xf32, #sbp.nd<#mesh, [S(0), S(1)]>>,
                              tensor<8x6xf32, #sbp.nd<#mesh, [P, B]>>,
                              tensor<8x6xf32, #sbp.nd<#mesh, [S(@layer0, 64 of 4096), S(1)]>>,
                              tensor<8x6xf32, #sbp.nd<#ranked, [B]>>,
                              tensor<8x6xf32, #sbp.nd<#sbp.placement<"cuda", [dp = 2]>, [B]>>)

// Blocks of elements that stay together: 4 of 2 rows over 3 ranks, and along a second axis within such pieces.
// CHECK-LABEL: func.func private @units(
// CHECK-SAME: tensor<8x6xf32, #S0by2_>
// CHECK-SAME: tensor<24x6xf32, #S0by6__S0by2_>
// CHECK-SAME: tensor<24x6xf32, #S0__S1by2_>
#three = #sbp.placement<"cpu", [dp = 3]>
#nested = #sbp.placement<"cpu", [dp = 3, tp = 2]>
func.func private @units(tensor<8x6xf32, #sbp.nd<#three, [S(0 by 2)]>>,
                         tensor<24x6xf32, #sbp.nd<#nested, [S(0 by 6), S(0 by 2)]>>,
                         tensor<24x6xf32, #sbp.nd<#nested, [S(0), S(1 by 2)]>>)

// Pieces that end where it is said.
// CHECK-LABEL: func.func private @ends(
// CHECK-SAME: tensor<8x6xf32, #S0to_>
// CHECK-SAME: tensor<8x6xf32, #S_layer0_8_>
func.func private @ends(tensor<8x6xf32, #sbp.nd<#three, [S(0 to [0, 7, 8])]>>,
                        tensor<8x6xf32, #sbp.nd<#three, [S(@layer0, 8 of 96 to [8, 56, 96])]>>)

// A mesh without axes is one rank.
// CHECK-LABEL: func.func private @no_axes(tensor<4xf32, #{{.*}}>)
func.func private @no_axes(tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", []>, []>>)

// CHECK-LABEL: func.func private @token(!sbp.token)
func.func private @token(!sbp.token)

// CHECK-LABEL: func.func private @slot() attributes {slot = #sbp.slot<@"a bucket", 0 of 64>}
func.func private @slot() attributes {slot = #sbp.slot<@"a bucket", 0 of 64>}

// CHECK-LABEL: func.func private @initializers()
// CHECK-SAME: constant = #sbp.constant<1.000000e+00 : f64>
// CHECK-SAME: file = #sbp.file<"a.safetensors", "w">
// CHECK-SAME: normal = #sbp.normal<mean = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64>
// CHECK-SAME: uniform = #sbp.uniform<-1.000000e+00 : f64, 1.000000e+00 : f64>
func.func private @initializers() attributes {
  constant = #sbp.constant<1.0>, normal = #sbp.normal<mean = 0.0, stddev = 0.02>, uniform = #sbp.uniform<-1.0, 1.0>,
  file = #sbp.file<"a.safetensors", "w">}
