// RUN: splitcast-opt %s -exec-report -split-input-file -verify-diagnostics

// @report_c1
// expected-error @below {{'exec-report' found no exec.plan; run 'exec-lower' first}}
module {
}

// -----

// @report_c1_legal
exec.space @persistent 64 bytes kept
exec.space @arena 64 bytes
exec.plan @f attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
}

// -----

// @report_c1
exec.space @arena 64 bytes
exec.plan @w attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
}
// expected-error @below {{'func.func' op is not lowered to a plan; run 'exec-lower' first}}
func.func @f() {
  return
}
sbp.schedule @s of 1 {
  sbp.run @f from 0 to 1 takes [] cut []
}

// -----

// A module that does not say how many ranks there are is reported on without.
module attributes {ccl.rank = 0 : i64, ccl.ranks = "q"} {
  exec.space @arena 64 bytes
  exec.plan @f attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  }
}
