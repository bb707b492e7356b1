// What a schedule is refused for, and what is just legal.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics -o /dev/null

// @schedule_c1
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{'sbp.schedule' op @s has 0 micro-batches and 1 runs; it must have at least one of each, and at most 1048576 micro-batches}}
sbp.schedule @s of 0 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @schedule_c1
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{'sbp.schedule' op @s has 1 micro-batches and 0 runs; it must have at least one of each, and at most 1048576 micro-batches}}
sbp.schedule @s of 1 {
}

// -----

// @schedule_c1
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
  // expected-error @below {{'sbp.scope' op stands in @s, which holds sbp.run only}}
  sbp.scope "forward"
}

// -----

// @schedule_c1_legal
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @schedule_c2
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op names input 1 of the schedule, but no run names 0; number them from 0 without a gap}}
  sbp.run @f from 0 to 1 takes [1] cut [-1] gives [0] joined [-1]
}

// -----

// @schedule_c2
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op names result 2 of the schedule, but no run names 0; number them from 0 without a gap}}
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [2] joined [-1]
}

// -----

// @schedule_c2_legal
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [1] cut [-1] gives [1] joined [-1]
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @schedule_c3
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @g(%x: tensor<2xf32>) {
  return
}
func.func @h(%x: tensor<4xf32>) {
  return
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
  // expected-error @below {{'sbp.run' op has input 0 as 'tensor<2xf32>' along dimension -1, and another run as 'tensor<4xf32>' along -1; all runs must have it in the same way}}
  sbp.run @g from 0 to 1 takes [0] cut [-1]
}

// -----

// @schedule_c3
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @g(%x: tensor<2xf32>) {
  return
}
func.func @h(%x: tensor<4xf32>) {
  return
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
  // expected-error @below {{'sbp.run' op has input 0 as 'tensor<4xf32>' along dimension 0, and another run as 'tensor<4xf32>' along -1; all runs must have it in the same way}}
  sbp.run @h from 0 to 1 takes [0] cut [0]
}

// -----

// @schedule_c3_legal
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @g(%x: tensor<2xf32>) {
  return
}
func.func @h(%x: tensor<4xf32>) {
  return
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
  sbp.run @h from 0 to 1 takes [0] cut [-1]
}

// -----

// @schedule_c4
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 2 {
  // expected-error @below {{'sbp.run' op gives result 0, which is not joined, more than once; join it, or give it once}}
  sbp.run @f from 0 to 2 takes [0] cut [0] gives [0] joined [-1]
}

// -----

// @schedule_c4
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{'sbp.schedule' op @s is given result 0 for 1 of 2 micro-batches; give it for each}}
sbp.schedule @s of 2 {
  sbp.run @f from 0 to 1 takes [0] cut [0] gives [0] joined [0]
}

// -----

// @schedule_c4
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 2 {
  sbp.run @f from 0 to 2 takes [0] cut [0] gives [0] joined [0]
  // expected-error @below {{'sbp.run' op gives result 0 for micro-batches from 1 on, but the next one without it is 2; give each once}}
  sbp.run @f from 1 to 2 takes [0] cut [0] gives [0] joined [0]
}

// -----

// @schedule_c4_legal
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 2 {
  sbp.run @f from 1 to 2 takes [0] cut [0] gives [0] joined [0]
  sbp.run @f from 0 to 1 takes [0] cut [0] gives [0] joined [0]
}

// -----

// @run_c1
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op runs @no, which the module does not have; name a function}}
  sbp.run @no from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c1
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.variable @v : tensor<4xf32>
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op runs @v, which the module does not have; name a function}}
  sbp.run @v from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c1_legal
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c2
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 3 {
  // expected-error @below {{'sbp.run' op runs from -1 to 1 of 3 micro-batches; give a range of them that is not empty}}
  sbp.run @f from -1 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c2
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 3 {
  // expected-error @below {{'sbp.run' op runs from 1 to 1 of 3 micro-batches; give a range of them that is not empty}}
  sbp.run @f from 1 to 1 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c2
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 3 {
  // expected-error @below {{'sbp.run' op runs from 1 to 4 of 3 micro-batches; give a range of them that is not empty}}
  sbp.run @f from 1 to 4 takes [0] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c2_legal
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 3 {
  sbp.run @f from 0 to 3 takes [0] cut [-1] gives [0] joined [0]
}

// -----

// @run_c3
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op takes 2 value(s) and says how 1 are cut, but @f takes 1; give a number and a dimension for each}}
  sbp.run @f from 0 to 1 takes [0, 1] cut [-1] gives [0] joined [-1]
}

// -----

// @run_c3
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op gives 0 value(s) and says how 0 are joined, but @f gives 1; give a number and a dimension for each}}
  sbp.run @f from 0 to 1 takes [0] cut [-1]
}

// -----

// @run_c3
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op is numbered, but @f takes no i64 scalar as its last argument; add one}}
  sbp.run @f from 0 to 1 takes [] cut [] numbered gives [0] joined [-1]
}

// -----

// @run_c3_legal
func.func @f(%x: tensor<4xf32>, %m: tensor<i64>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [0] cut [-1] numbered gives [0] joined [-1]
}

// -----

// @run_c4
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op takes 'tensor<4xf32>' cut along dimension 1; give a dimension of it, or -1 for all of it}}
  sbp.run @f from 0 to 1 takes [0] cut [1] gives [0] joined [-1]
}

// -----

// @run_c4
func.func @f(%x: tensor<2199023255552xf32>) -> tensor<2199023255552xf32> {
  return %x : tensor<2199023255552xf32>
}
sbp.schedule @s of 1048576 {
  // expected-error @below {{'sbp.run' op takes 'tensor<2199023255552xf32>', which in 1048576 micro-batches is more than 2^63 - 1 bytes; make it smaller}}
  sbp.run @f from 0 to 1 takes [0] cut [0] gives [0] joined [-1]
}

// -----

// @run_c4_legal
func.func @f(%x: tensor<2199023255551xf32>) -> tensor<2199023255551xf32> {
  return %x : tensor<2199023255551xf32>
}
sbp.schedule @s of 1048576 {
  sbp.run @f from 0 to 1 takes [0] cut [0] gives [0] joined [-1]
}

// -----

// @run_c5
func.func @f(%x: tensor<4xf32>) {
  return
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op is kept, but @f takes 1 input(s) and gives 0 result(s), in 1 run(s); a kept run must take and give nothing, and run once}}
  sbp.run @f from 0 to 1 takes [0] cut [-1] kept
}

// -----

// @run_c5
func.func @f(%m: tensor<i64>) {
  return
}
sbp.schedule @s of 1 {
  // expected-error @below {{'sbp.run' op is kept, but @f takes 1 input(s) and gives 0 result(s), in 1 run(s); a kept run must take and give nothing, and run once}}
  sbp.run @f from 0 to 1 takes [] cut [] numbered kept
}

// -----

// @run_c5
func.func @f() {
  return
}
sbp.schedule @s of 2 {
  // expected-error @below {{'sbp.run' op is kept, but @f takes 0 input(s) and gives 0 result(s), in 2 run(s); a kept run must take and give nothing, and run once}}
  sbp.run @f from 0 to 2 takes [] cut [] kept
}

// -----

// @run_c5_legal
func.func @f() {
  return
}
sbp.schedule @s of 2 {
  sbp.run @f from 0 to 1 takes [] cut [] kept
}

// -----

// @run_c6
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  return
}
sbp.schedule @s of 2 {
  // expected-error @below {{'sbp.run' op takes 2 value(s) and says of 1 how far ahead they are; say it of all, or of none}}
  sbp.run @f from 0 to 1 takes [0, 0] cut [0, 0] {takes_ahead = array<i64: 0>}
}

// -----

// @run_c6
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  return
}
sbp.schedule @s of 2 {
  // expected-error @below {{'sbp.run' op takes 0, cut, 2 micro-batches ahead of its own, which end before 1 of 2; the part must be one of these micro-batches, and a whole value must be 0 ahead}}
  sbp.run @f from 0 to 1 takes [0, 0] cut [0, 0] {takes_ahead = array<i64: 0, 2>}
}

// -----

// @run_c6
func.func @f() -> tensor<4xf32> {
  %x = nn.constant 0.0 : tensor<4xf32>
  return %x : tensor<4xf32>
}
sbp.schedule @s of 2 {
  // expected-error @below {{'sbp.run' op gives 0, joined, 1 micro-batches ahead of its own, which end before 1 of 2; the part must be one of these micro-batches, and a whole value must be 0 ahead}}
  sbp.run @f from 0 to 1 takes [] cut [] gives [0] joined [-1] {gives_ahead = array<i64: 1>}
}

// -----

// @schedule_c4: micro-batch 0 twice, and 1 not at all.
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
sbp.schedule @s of 2 {
  // expected-error @below {{'sbp.run' op gives result 0 for micro-batches from 0 on, but the next one without it is 1; give each once}}
  sbp.run @f from 0 to 1 takes [0] cut [0] gives [0, 0] joined [0, 0] {gives_ahead = array<i64: 0, 0>}
}

// -----

// @run_c6_legal
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}
sbp.schedule @s of 2 {
  sbp.run @f from 0 to 1 takes [0, 0] cut [0, 0] gives [0, 0] joined [0, 0] {gives_ahead = array<i64: 1, 0>, takes_ahead = array<i64: 1, 0>}
}
