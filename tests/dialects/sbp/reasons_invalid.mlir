// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @row_c1
// expected-error @below {{a row names no axis; write at least one, such as dp = replicated}}
func.func private @f() attributes {row = #sbp.row<>}

// -----

// @row_c1
// expected-error @below {{a row names axis 'dp' twice; name it once}}
func.func private @f() attributes {row = #sbp.row<dp = replicated, dp = linear>}

// -----

// expected-error @below {{'split' is no kind of row; write replicated, splits, sums, linear, slot}}
func.func private @f() attributes {row = #sbp.row<dp = split>}

// -----

// @row_c2
// expected-error @below {{a row has dimension -1 of result 0 on axis 'dp'; both count from 0}}
func.func private @f() attributes {row = #sbp.row<dp = splits result 0 at -1>}

// -----

// @row_c2
// expected-error @below {{a row has dimension 0 of operand -2 on axis 'dp'; both count from 0}}
func.func private @f() attributes {row = #sbp.row<dp = sums operand -2 at 0>}

// -----

// @row_c2
// expected-error @below {{a row has unit 1; a unit is at least 2, and is left out for single iterations}}
func.func private @f() attributes {row = #sbp.row<dp = splits result 0 at 0 by 1>}

// -----

// A sum is over an operand's dimension.
// expected-error @below {{expected 'operand'}}
func.func private @f() attributes {row = #sbp.row<dp = sums result 0 at 0>}

// -----

// @wanted_c1
// expected-error @below {{the use that wants a boxing has no name; name an op or a variable}}
func.func private @f() attributes {wanted = #sbp.wanted<operand 0 of "">}

// -----

// @wanted_c2
// expected-error @below {{the use that wants a boxing is result -1 of 'nn.relu'; operands and results count from 0}}
func.func private @f() attributes {wanted = #sbp.wanted<result -1 of "nn.relu">}

// -----

// expected-error @below {{'read' is no reason for a boxing; write operand, result, forward, backward, update, assign}}
func.func private @f() attributes {wanted = #sbp.wanted<read of @w>}
