// RUN: splitcast-opt %s -exec-report -split-input-file -verify-diagnostics

// @report_c1
// expected-error @below {{'exec-report' found no exec.plan; run 'exec-lower' first}}
module {
}

// -----

// @report_c1_legal
exec.plan @f attributes {arena_bytes = 64 : i64, persistent_bytes = 64 : i64, input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
}
