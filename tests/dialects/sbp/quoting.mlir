// Names that are no identifiers survive as text.
// RUN: splitcast-opt %s | splitcast-opt | FileCheck %s

// CHECK-DAG: #sbp.placement<"a \22kind\22 of \\ device", [dp = 2]>
#p = #sbp.placement<"a \22kind\22 of \\ device", [dp = 2]>

// An axis whose name is no identifier is quoted.
// CHECK-DAG: #sbp.placement<"cpu", ["data parallel" = 2, tp = 2, "" = 1, "4" = 1]>
#q = #sbp.placement<"cpu", ["data parallel" = 2, "tp" = 2, "" = 1, "4" = 1]>

// CHECK-LABEL: func.func private @quoted_axes
func.func private @quoted_axes(tensor<4xf32, #sbp.nd<#q, [B, S(0), B, B]>>)

// CHECK-LABEL: func.func private @quoted(
func.func private @quoted(tensor<4xf32, #sbp.nd<#p, [S(@"a \22bucket\22", 0 of 64)]>>)
