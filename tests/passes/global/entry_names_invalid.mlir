// By which names callers know inputs and results.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null -enable-zero

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'func.func' op has inputs 0 and 1 of the name "a"; give each its own (sbp.name)}}
func.func @inputs(%x: tensor<4xf32, #B> {sbp.name = "a"}, %y: tensor<4xf32, #B> {sbp.name = "a"}) {
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'func.func' op has inputs 0 and 1 of the name "arg1"; give each its own (sbp.name)}}
func.func @default(%x: tensor<4xf32, #B> {sbp.name = "arg1"}, %y: tensor<4xf32, #B>) {
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'func.func' op has results 0 and 1 of the name "r"; give each its own (sbp.name)}}
func.func @results(%x: tensor<4xf32, #B>) -> (tensor<4xf32, #B> {sbp.name = "r"}, tensor<4xf32, #B> {sbp.name = "r"}) {
  return %x, %x : tensor<4xf32, #B>, tensor<4xf32, #B>
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'func.func' op @empty names input 0 ""; a name is a text that is not empty}}
func.func @empty(%x: tensor<4xf32, #B> {sbp.name = ""}) {
  return
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// expected-error @below {{'func.func' op @number names input 0 3 : i64; a name is a text that is not empty}}
func.func @number(%x: tensor<4xf32, #B> {sbp.name = 3}) {
  return
}

// -----

// Those of a schedule are counted as it does, whatever its functions say of theirs.
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @f(%x: tensor<4xf32, #B>) {
  return
}
func.func @g(%x: tensor<4xf32, #B>) {
  return
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1]
  sbp.run @g from 0 to 1 takes [1] cut [-1]
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @f(%x: tensor<4xf32, #B> {sbp.name = "x"}) {
  return
}
func.func @g(%x: tensor<4xf32, #B> {sbp.name = "x"}) {
  return
}
// expected-error @below {{'sbp.schedule' op has inputs 0 and 1 of the name "x"; give each its own (sbp.name)}}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1]
  sbp.run @g from 0 to 1 takes [1] cut [-1]
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @f(%x: tensor<4xf32, #B> {sbp.name = "x"}) {
  return
}
// expected-error @below {{'sbp.schedule' op has inputs 0 and 1 of the name "x", which are both input 0 of @f; run a copy of it for one of them, with a name of its own}}
sbp.schedule @twice of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1]
  sbp.run @f from 0 to 1 takes [1] cut [-1]
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @f(%x: tensor<4xf32, #B>) {
  return
}
func.func @g(%x: tensor<4xf32, #B>) {
  return
}
sbp.schedule @s1 of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1]
  sbp.run @g from 0 to 1 takes [1] cut [-1]
}
// expected-error @below {{'sbp.schedule' op counts input 0 of @g as 0, and @s1 as 1; give it a name (sbp.name)}}
sbp.schedule @s2 of 1 {
  sbp.run @g from 0 to 1 takes [0] cut [-1]
  sbp.run @f from 0 to 1 takes [1] cut [-1]
}

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @f(%x: tensor<4xf32, #B>) {
  return
}
// expected-error @below {{'sbp.schedule' op counts input 0 of @f as 0 and as 1; run a copy of it for one of them, with a name of its own}}
sbp.schedule @twice of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1]
  sbp.run @f from 0 to 1 takes [1] cut [-1]
}
