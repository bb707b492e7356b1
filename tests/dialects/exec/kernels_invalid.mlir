// Kernels that a module of kernels lacks.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @launch_c3
exec.space @arena 64 bytes
exec.plan @f attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.launch' op launches @kernels::@other, which @kernels does not hold; add it there, or launch a kernel that is}}
  exec.launch @kernels::@other reads [] writes [#exec.range<arena, 0, 16>]
}
module @kernels {
  func.func private @known()
}

// -----

// Where there are no kernels, they are elsewhere: @launch_c3_legal
exec.space @arena 64 bytes
exec.plan @f attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.launch @elsewhere::@other reads [] writes [#exec.range<arena, 0, 16>]
  exec.launch @kernels::@known reads [] writes [#exec.range<arena, 0, 16>]
}
module @kernels {
  func.func private @known()
}
