// State that a user declares: it lies as its parameter when it is cut into the same pieces, else as it is declared.
// RUN: splitcast-opt %s -sbp-zero-storage=stage=1 | FileCheck %s --check-prefixes=ALL,BUCKET
// RUN: splitcast-opt %s -sbp-zero-storage="stage=1 strategy=tensor" | FileCheck %s --check-prefixes=ALL,ROWS
// RUN: splitcast-opt %s -enable-zero=stage=3 | FileCheck %s --check-prefix=RUNS

// RUNS: module
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
// BUCKET: @m.w : tensor<16xf32, #B> update #S_m_0_ slot #sbp.slot<@m, 0 of 32>
sbp.variable @m.w : tensor<16xf32, #B>
// BUCKET: @m.w.ema : tensor<16xf32, #B> storage #S_m_0_ slot #sbp.slot<@m, 0 of 32> state_of
// ROWS: @m.w.ema : tensor<16xf32, #B> storage #S0_ state_of
sbp.variable @m.w.ema : tensor<16xf32, #B> state_of @m.w role "ema"
// A slot counts elements, so the type may be another.
// BUCKET: @m.w.master : tensor<16xf64, #B> storage #S_m_0_ slot #sbp.slot<@m, 0 of 32> state_of
// ROWS: @m.w.master : tensor<16xf64, #B> storage #S0_ state_of
sbp.variable @m.w.master : tensor<16xf64, #B> state_of @m.w role "master"
// ALL: @m.w.wide : tensor<32xf32, #B> state_of
sbp.variable @m.w.wide : tensor<32xf32, #B> state_of @m.w role "wide"
// Split by the user, in other pieces than its parameter's.
// ALL: @m.w.rows : tensor<16xf32, #S0_> state_of
sbp.variable @m.w.rows : tensor<16xf32, #sbp.nd<#p, [S(0)]>> state_of @m.w role "rows"
// BUCKET: @m.v : tensor<16xf32, #B> update #S_m_1_0_ slot #sbp.slot<@m_1, 0 of 32>
sbp.variable @m.v : tensor<16xf32, #B>
// Of another type than that of the first, which therefore is in another bucket.
// BUCKET: @m.v.master : tensor<16xf32, #B> storage #S_m_1_0_ slot #sbp.slot<@m_1, 0 of 32> state_of
// ROWS: @m.v.master : tensor<16xf32, #B> storage #S0_ state_of
sbp.variable @m.v.master : tensor<16xf32, #B> state_of @m.v role "master"
// In a bucket already, whose name is not given to another; neither is what is state of it moved.
sbp.bucket @n : tensor<64xf32, #B> along "dp" holds [@n.w] at [0]
// ALL: @n.w : tensor<16xf32, #B> slot #sbp.slot<@n, 0 of 64>
sbp.variable @n.w : tensor<16xf32, #B> slot #sbp.slot<@n, 0 of 64>
// ALL: @n.w.ema : tensor<16xf32, #B> state_of
sbp.variable @n.w.ema : tensor<16xf32, #B> state_of @n.w role "ema"
// BUCKET: @n.v : tensor<16xf32, #B> update #S_n_1_0_ slot #sbp.slot<@n_1, 0 of 32>
sbp.variable @n.v : tensor<16xf32, #B>
