// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @variable_c1
// expected-error @below {{'sbp.variable' op has no name; give it one}}
sbp.variable @"" : tensor<4xf32>

// -----

// expected-error @below {{'sbp.variable' op has a zero byte in its name; leave it out}}
sbp.variable @"a\00b" : tensor<4xf32>

// -----

// @variable_c1
// expected-error @below {{'sbp.variable' op has type 'tensor<?x4xf32>'; a variable must have a static shape}}
sbp.variable @dynamic : tensor<?x4xf32>

// -----

// @variable_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'sbp.variable' op storage is on another placement than the type; put both on one}}
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#q, [S(0)]>

// -----

// @variable_c1
#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'sbp.variable' op update is on another placement than the type; put both on one}}
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> update #sbp.nd<#q, [S(0)]>

// -----

// @variable_c1_legal
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(0)]> update #sbp.nd<#p, [S(0)]>
sbp.variable @undecided : tensor<4xf32>

// -----

// @variable_c2
// expected-error @below {{'sbp.variable' op type [P] has P; a stored variable must be S or B}}
sbp.variable @w : tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [P]>>

// -----

// @variable_c2
#p = #sbp.placement<"cpu", [dp = 2]>
// expected-error @below {{'sbp.variable' op storage [P] has P; a stored variable must be S or B}}
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [P]>

// -----

// @variable_c2
#p = #sbp.placement<"cpu", [dp = 2]>
// expected-error @below {{'sbp.variable' op storage: signature [S(1)] splits dimension 1 on axis 'dp', but the tensor has 1 dimensions; split one of these}}
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(1)]>

// -----

// @variable_c2_legal
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4x1xf32, #sbp.nd<#p, [S(0)]>> storage #sbp.nd<#p, [S(1)]>

// -----

// @variable_c3
// expected-error @below {{'sbp.variable' op has initializer 1.000000e+00 : f64; it must be #sbp.constant, #sbp.normal, #sbp.uniform or #sbp.file}}
sbp.variable @w : tensor<4xf32> init 1.0

// -----

// @variable_c3_legal
sbp.variable @a : tensor<4xf32> init #sbp.constant<1.0>
sbp.variable @b : tensor<4xf32> init #sbp.normal<mean = 0.0, stddev = 1.0>
sbp.variable @c : tensor<4xf32> init #sbp.uniform<0.0, 1.0>
sbp.variable @d : tensor<4xf32> init #sbp.file<"a.safetensors", "d">

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.constant<3.000000e+09 : f64>, which 'i32' does not hold exactly; give an integer from -2^31 to before 2^31}}
sbp.variable @w : tensor<4xi32> init #sbp.constant<3000000000.0>

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.constant<5.000000e-01 : f64>, which 'i32' does not hold exactly; give an integer from -2^31 to before 2^31}}
sbp.variable @w : tensor<4xi32> init #sbp.constant<0.5>

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.constant<1.000000e+300 : f64>, which 'i64' does not hold exactly; give an integer from -2^53 to before 2^53}}
sbp.variable @w : tensor<4xi64> init #sbp.constant<1.0e300>

// -----

// Not a number: @variable_c12.
// expected-error @below {{, which 'i64' does not hold exactly; give an integer from -2^53 to before 2^53}}
sbp.variable @w : tensor<4xi64> init #sbp.constant<0x7FF8000000000000 : f64>

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.normal<mean = 0.000000e+00 : f64, stddev = 1.000000e+00 : f64>, which makes no elements of type 'i64'; use #sbp.constant or #sbp.file}}
sbp.variable @w : tensor<4xi64> init #sbp.normal<mean = 0.0, stddev = 1.0>

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.uniform<0.000000e+00 : f64, 4.000000e+00 : f64>, which makes no elements of type 'i32'; use #sbp.constant or #sbp.file}}
sbp.variable @w : tensor<4xi32> init #sbp.uniform<0.0, 4.0>

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.normal<mean = 0.000000e+00 : f64, stddev = -3.000000e+00 : f64>; give a finite mean, and a finite stddev that is not negative}}
sbp.variable @w : tensor<4xf32> init #sbp.normal<mean = 0.0, stddev = -3.0>

// -----

// @variable_c12
// expected-error @below {{; give a finite mean, and a finite stddev that is not negative}}
sbp.variable @w : tensor<4xf32> init #sbp.normal<mean = 0x7FF0000000000000 : f64, stddev = 1.0>

// -----

// @variable_c12
// expected-error @below {{'sbp.variable' op @w has initializer #sbp.uniform<5.000000e+00 : f64, 1.000000e+00 : f64>; give two finite numbers, less than 2^1024 apart, the first not above the second}}
sbp.variable @w : tensor<4xf32> init #sbp.uniform<5.0, 1.0>

// -----

// @variable_c12
// expected-error @below {{; give two finite numbers, less than 2^1024 apart, the first not above the second}}
sbp.variable @w : tensor<4xf32> init #sbp.uniform<0.0, 0x7FF0000000000000 : f64>

// -----

// @variable_c12_legal
sbp.variable @a : tensor<4xi32> init #sbp.constant<-2147483648.0>
sbp.variable @b : tensor<4xi64> init #sbp.constant<9007199254740991.0>
sbp.variable @c : tensor<4xf16> init #sbp.constant<0x7FF0000000000000 : f64>
sbp.variable @d : tensor<4xf32> init #sbp.normal<mean = 0.0, stddev = 0.0>
sbp.variable @e : tensor<4xf32> init #sbp.uniform<1.0, 1.0>
sbp.variable @f : tensor<4xi64> init #sbp.file<"a.safetensors", "f">

// -----

// @variable_c4
sbp.variable @w : tensor<4xf32>
// expected-error @below {{'sbp.variable' op is state of @w but has no role; say which ("exp_avg", ...)}}
"sbp.variable"() <{sym_name = "w.m", type = tensor<4xf32>, state_of = @w}> : () -> ()

// -----

// @variable_c4_legal
sbp.variable @w : tensor<4xf32>
sbp.variable @w.m : tensor<4xf32> state_of @w role "momentum"

// -----

func.func @read_c1() {
  // expected-error @below {{'sbp.read' op names @w, but the module has no such sbp.variable}}
  %0 = sbp.read @w : tensor<4xf32>
  return
}

// -----

func.func @read_c1() {
  // expected-error @below {{'sbp.read' op names @read_c1, but the module has no such sbp.variable}}
  %0 = sbp.read @read_c1 : tensor<4xf32>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @read_c1_legal() {
  %0 = sbp.read @w : tensor<4xf32>
  return
}

// -----

// expected-note @below {{declared here}}
sbp.variable @w : tensor<4xf32>
func.func @read_c2() {
  // expected-error @below {{'sbp.read' op has type 'tensor<5xf32>', but @w is 'tensor<4xf32>'; shape and element type must be the same}}
  %0 = sbp.read @w : tensor<5xf32>
  return
}

// -----

// expected-note @below {{declared here}}
sbp.variable @w : tensor<4xf32>
func.func @read_c2() {
  // expected-error @below {{'sbp.read' op has type 'tensor<4xf64>', but @w is 'tensor<4xf32>'; shape and element type must be the same}}
  %0 = sbp.read @w : tensor<4xf64>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>>
func.func @read_c2_legal() {
  %0 = sbp.read @w : tensor<4xf32>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4x2xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(0)]>
func.func @read_c3() {
  // expected-error @below {{'sbp.read' op has signature [S(1)], but @w is read and assigned in its logical or its storage signature; box the value}}
  %0 = sbp.read @w : tensor<4x2xf32, #sbp.nd<#p, [S(1)]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4x2xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(0)]>
func.func @read_c3_legal() {
  %0 = sbp.read @w : tensor<4x2xf32, #sbp.nd<#p, [B]>>
  %1 = sbp.read @w : tensor<4x2xf32, #sbp.nd<#p, [S(0)]>>
  return
}

// -----

func.func @assign_c1(%v: tensor<4xf32>) {
  // expected-error @below {{'sbp.assign' op names @w, but the module has no such sbp.variable}}
  sbp.assign @w, %v : tensor<4xf32>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @assign_c1_legal(%v: tensor<4xf32>) {
  sbp.assign @w, %v : tensor<4xf32>
  return
}

// -----

// expected-note @below {{declared here}}
sbp.variable @w : tensor<4xf32>
func.func @assign_c2(%v: tensor<2x2xf32>) {
  // expected-error @below {{'sbp.assign' op has type 'tensor<2x2xf32>', but @w is 'tensor<4xf32>'; shape and element type must be the same}}
  sbp.assign @w, %v : tensor<2x2xf32>
  return
}

// -----

sbp.variable @w : tensor<4xf32>
func.func @assign_c2_legal(%v: tensor<4xf32>) {
  sbp.assign @w, %v : tensor<4xf32>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>>
func.func @assign_c3(%v: tensor<4xf32, #sbp.nd<#p, [S(0)]>>) {
  // expected-error @below {{'sbp.assign' op has signature [S(0)], but @w is read and assigned in its logical or its storage signature; box the value}}
  sbp.assign @w, %v : tensor<4xf32, #sbp.nd<#p, [S(0)]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> storage #sbp.nd<#p, [S(0)]>
func.func @assign_c3_legal(%v: tensor<4xf32, #sbp.nd<#p, [S(0)]>>, %u: tensor<4xf32, #sbp.nd<#p, [B]>>) {
  sbp.assign @w, %v : tensor<4xf32, #sbp.nd<#p, [S(0)]>>
  sbp.assign @w, %u : tensor<4xf32, #sbp.nd<#p, [B]>>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @boxing_c1(%v: tensor<4xf32, #B>) {
  // expected-error @below {{'sbp.boxing' op turns 'tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>' into 'tensor<2x2xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>'; shape and element type must stay}}
  %0 = sbp.boxing %v : tensor<4xf32, #B> -> tensor<2x2xf32, #B>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @boxing_c1(%v: tensor<4xf32>) {
  // expected-error @below {{'sbp.boxing' op turns 'tensor<4xf32>' into 'tensor<4xf16, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>'; shape and element type must stay}}
  %0 = sbp.boxing %v : tensor<4xf32> -> tensor<4xf16, #B>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @boxing_c1_legal(%v: tensor<4xf32, #sbp.nd<#p, [B]>>) {
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [B]>> -> tensor<4xf32, #sbp.nd<#p, [S(0)]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @boxing_c2(%v: tensor<4xf32, #sbp.nd<#p, [B]>>) {
  // expected-error @below {{'sbp.boxing' op turns [B] into [P]; only an op that sums makes P: keep B or S}}
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [B]>> -> tensor<4xf32, #sbp.nd<#p, [P]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
func.func @boxing_c2(%v: tensor<4xf32, #sbp.nd<#p, [P, S(0)]>>) {
  // expected-error @below {{'sbp.boxing' op turns [P, S(0)] into [S(0), P]; only an op that sums makes P: keep B or S}}
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [P, S(0)]>> -> tensor<4xf32, #sbp.nd<#p, [S(0), P]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
func.func @boxing_c2_legal(%v: tensor<4xf32, #sbp.nd<#p, [P, S(0)]>>) {
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [P, S(0)]>> -> tensor<4xf32, #sbp.nd<#p, [P, B]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#q = #sbp.placement<"cpu", [dp = 4]>
func.func @boxing_c3(%v: tensor<4xf32, #sbp.nd<#p, [B]>>) {
  // expected-error @below {{'sbp.boxing' op changes the placement; input and output must be on one}}
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [B]>> -> tensor<4xf32, #sbp.nd<#q, [B]>>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @boxing_c3(%v: tensor<4xf32, #sbp.nd<#p, [B]>>) {
  // expected-error @below {{'sbp.boxing' op has a result without a signature; say which one it asks for}}
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [B]>> -> tensor<4xf32>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @boxing_c3_legal(%v: tensor<4xf32>) {
  %0 = sbp.boxing %v : tensor<4xf32> -> tensor<4xf32, #sbp.nd<#p, [B]>>
  return
}

// -----

func.func @scope_c1() {
  // expected-error @below {{custom op 'sbp.scope' has phase "sideways"; phases are "forward", "backward" and "update"}}
  %0 = sbp.scope "sideways"
  return
}

// -----

func.func @scope_c1_legal() {
  %0 = sbp.scope "forward"
  %1 = sbp.scope "backward"
  %2 = sbp.scope "update"
  return
}

// -----

// 2^64 elements, which wrap to none: @variable_c1.
// expected-error @below {{'sbp.variable' op @w has type 'tensor<4x4611686018427387904xf32>', which is more than 2^63 - 1 bytes; make it smaller}}
sbp.variable @w : tensor<4x4611686018427387904xf32>

// -----

// @variable_c1
// expected-error @below {{'sbp.variable' op @w has type 'tensor<2305843009213693952xf32>', which is more than 2^63 - 1 bytes; make it smaller}}
sbp.variable @w : tensor<2305843009213693952xf32>

// -----

// @variable_c1_legal
sbp.variable @w : tensor<2305843009213693951xf32>

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @boxing_c4(%v: tensor<4xf32, #sbp.nd<#p, [P]>>) {
  // expected-error @below {{'sbp.boxing' op slot at 13 of 16 in bucket 'b' has no room for 4 elements; enlarge the bucket}}
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [P]>> -> tensor<4xf32, #sbp.nd<#p, [B]>> bucket #sbp.slot<@b, 13 of 16>
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func @boxing_c4_legal(%v: tensor<4xf32, #sbp.nd<#p, [P]>>) {
  %0 = sbp.boxing %v : tensor<4xf32, #sbp.nd<#p, [P]>> -> tensor<4xf32, #sbp.nd<#p, [B]>> bucket #sbp.slot<@b, 12 of 16>
  return
}

// -----

func.func @colocate_c1(%v: tensor<4xf32>) {
  // expected-error @below {{'sbp.colocate' op turns 'tensor<4xf32>' into 'tensor<2x2xf32>'; shape and element type must stay}}
  %0 = sbp.colocate %v with %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @colocate_c1(%v: tensor<4xf32>) {
  // expected-error @below {{'sbp.colocate' op turns 'tensor<4xf32>' into 'tensor<4xf16>'; shape and element type must stay}}
  %0 = sbp.colocate %v with %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @colocate_c1_legal(%v: tensor<4xf32>, %other: tensor<2x3xi64>) {
  %0 = sbp.colocate %v with %other : (tensor<4xf32>, tensor<2x3xi64>) -> tensor<4xf32>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @colocate_c2(%v: tensor<4xf32, #B>) {
  // expected-error @below {{'sbp.colocate' op has a result of type 'tensor<4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>>', but 'sbp-propagate' decides its signature; leave it out, or move the value with sbp.boxing}}
  %0 = sbp.colocate %v with %v : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32, #B>
  return
}

// -----

#B = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [B]>
func.func @colocate_c2_legal(%v: tensor<4xf32, #B>) {
  %0 = sbp.colocate %v with %v : (tensor<4xf32, #B>, tensor<4xf32, #B>) -> tensor<4xf32>
  return
}
