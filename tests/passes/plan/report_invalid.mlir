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
