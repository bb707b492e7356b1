// Spaces that ranks share: C2 to C6 of exec.space.
// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'exec.space' op @space_c2 is shared by @dp, but not kept; only a kept space can be shared}}
exec.space @space_c2 128 bytes shared by @dp
exec.group @dp ranks [0, 1] index 0

// -----

// expected-error @below {{'exec.space' op @space_c2_group is shared by @dp, but the module has no such exec.group; declare it}}
exec.space @space_c2_group 128 bytes kept shared by @dp

// -----

// @space_c2_legal, @space_c3_legal, @space_c4_legal, @space_c5_legal, @space_c6_legal
// Read by all, met, written, gathered, read; this rank's own block is read and written again at any time.
exec.space @space_legal 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_legal, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.copy <space_legal, 0, 32> to <arena, 0, 32>
  exec.collective reduce_scatter "g" in @dp ticket 0 {blocks = array<i64: 4>, data = #exec.range<arena, 64, 32>, output = #exec.range<arena, 64, 16>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.copy <space_legal, 0, 16> to <arena, 0, 16>
  exec.wait 0
  exec.copy <arena, 64, 16> to <space_legal, 0, 16>
  exec.copy <space_legal, 8, 8> to <arena, 0, 8>
  exec.copy <arena, 64, 8> to <space_legal, 8, 8>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_legal, 0, 32>, type = f32}
  exec.wait 1
  exec.copy <space_legal, 0, 32> to <arena, 0, 32>
}
exec.plan @reads attributes {input_types = [], input_names = [], inputs = [], output_types = [tensor<8xf32>], output_names = ["w"], outputs = [#exec.range<space_legal, 0, 32>]} {
  exec.copy <space_legal, 0, 32> to <arena, 0, 32>
}

// -----

// Nothing gathers it.
exec.space @space_c3 128 bytes kept shared by @dp
exec.group @dp ranks [0, 1] index 0
// expected-error @below {{'exec.storage' op @w is gathered by no collective of several ranks, but lies in @space_c3, which they share; put it into another space}}
exec.storage @w : tensor<8xf32> in <space_c3, 0, 32> holds [] at []

// -----

// Another group does.
exec.space @space_c3 128 bytes kept shared by @dp
exec.group @dp ranks [0, 1] index 0
exec.group @tp ranks [0, 2] index 0
// expected-error @below {{'exec.storage' op @w is gathered in @tp, but lies in @space_c3, which is shared by @dp; put it into another space}}
exec.storage @w : tensor<8xf32> in <space_c3, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @tp ticket 0 {blocks = array<i64: 4>, data = #exec.range<space_c3, 0, 32>, type = f32}
  exec.wait 0
}

// -----

// Two gathers with other blocks: then no byte is one rank's.
exec.space @space_c3 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c3, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 9 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 9
  exec.collective all_gather "w" in @dp ticket 0 {blocks = array<i64: 4>, data = #exec.range<space_c3, 0, 32>, type = f32}
  exec.wait 0
  // expected-error @below {{'exec.collective' op works on #exec.range<space_c3, 0, 32>, in storage @w of @space_c3, which ranks share; use it only in all-gathers of all of it, with the blocks of the first one, or put the storage into a space that they do not share}}
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 3, 5>, data = #exec.range<space_c3, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// Another rank's block is written.
exec.space @space_c4 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c4, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  // expected-error @below {{'exec.clear' op writes #exec.range<space_c4, 12, 8>, in storage @w of @space_c4, which ranks share; write only this rank's block, #exec.range<space_c4, 0, 16>, or put the storage into a space that they do not share}}
  exec.clear <space_c4, 12, 8>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c4, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// What lies beside storages is nobody's.
exec.space @space_c4 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c4, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 9 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 9
  // expected-error @below {{'exec.clear' op writes #exec.range<space_c4, 64, 8>, which lies in no storage of that space, which ranks share; write into a space that they do not share}}
  exec.clear <space_c4, 64, 8>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c4, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// Written before the wait for the collective in which ranks meet.
exec.space @space_c6 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c6, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  // expected-error @below {{'exec.clear' op overwrites bytes that other ranks may read until the collective has ended in which ranks meet after the last read, in storage @w of @space_c6, which ranks share; wait for a collective of @dp in which each rank has a block that is not empty, and which starts after that read, or put the storage into a space that they do not share}}
  exec.clear <space_c6, 0, 16>
  exec.wait 0
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c6, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// Read behind its start: this rank may read while another, which has waited for it, writes.
exec.space @space_c6 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c6, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.copy <space_c6, 16, 16> to <arena, 0, 16>
  exec.wait 0
  // expected-error @below {{'exec.clear' op overwrites bytes that other ranks may still read: ranks meet in no collective after the last read, in storage @w of @space_c6, which ranks share; wait for a collective of @dp in which each rank has a block that is not empty, and which starts after that read, or put the storage into a space that they do not share}}
  exec.clear <space_c6, 0, 16>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c6, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// In a collective of which a rank has an empty block it may be done before the others have come.
exec.space @space_c6 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c6, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective reduce_scatter "g" in @dp ticket 0 {blocks = array<i64: 0, 8>, data = #exec.range<arena, 64, 32>, output = #exec.range<arena, 64, 0>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  // expected-error @below {{'exec.clear' op overwrites bytes that other ranks may still read: ranks meet in no collective after the last read, in storage @w of @space_c6, which ranks share; wait for a collective of @dp in which each rank has a block that is not empty, and which starts after that read, or put the storage into a space that they do not share}}
  exec.clear <space_c6, 0, 16>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c6, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// The gather ends, then a meeting has to begin, before it is written again.
exec.space @space_c6 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c6, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  exec.clear <space_c6, 0, 16>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c6, 0, 32>, type = f32}
  exec.wait 1
  // expected-error @below {{'exec.clear' op overwrites bytes that other ranks may still read: ranks meet in no collective after the last read, in storage @w of @space_c6, which ranks share; wait for a collective of @dp in which each rank has a block that is not empty, and which starts after that read, or put the storage into a space that they do not share}}
  exec.clear <space_c6, 0, 16>
  exec.collective all_gather "w" in @dp ticket 2 {blocks = array<i64: 4>, data = #exec.range<space_c6, 0, 32>, type = f32}
  exec.wait 2
}

// -----

// Read as a whole while it is partly new.
exec.space @space_c5 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c5, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  exec.clear <space_c5, 0, 16>
  // expected-error @below {{'exec.copy' op reads #exec.range<space_c5, 8, 16> between the write of a block and its gather, in storage @w of @space_c5, which ranks share; read only this rank's block, #exec.range<space_c5, 0, 16>, until then, or put the storage into a space that they do not share}}
  exec.copy <space_c5, 8, 16> to <arena, 0, 16>
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c5, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// Written, and gathered by another plan only.
exec.space @space_c4 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c4, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  // expected-error @below {{'exec.clear' op writes this rank's block and does not gather it, in storage @w of @space_c4, which ranks share; gather it after that, or put the storage into a space that they do not share}}
  exec.clear <space_c4, 0, 16>
}
exec.plan @q attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c4, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// An input is written by its caller, when it likes.
exec.space @space_c4 128 bytes kept shared by @dp
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c4, 0, 32> holds [] at []
// expected-error @below {{'exec.plan' op has an input in #exec.range<space_c4, 0, 16>, in storage @w of @space_c4, which ranks share; let callers write into other bytes, or put the storage into a space that they do not share}}
exec.plan @p attributes {input_types = [tensor<4xf32>], input_names = ["x"], inputs = [#exec.range<space_c4, 0, 16>], output_types = [], output_names = [], outputs = []} {
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c4, 0, 32>, type = f32}
  exec.wait 1
}

// -----

// On another stream than the first.
exec.space @space_c3 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c3, 0, 32> holds [] at []
exec.storage @x : tensor<8xf32> in <space_c3, 64, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 4>, data = #exec.range<space_c3, 0, 32>, type = f32}
  // expected-error @below {{'exec.collective' op gathers @x on stream 'other', but others of @space_c3, which ranks share, are gathered on 'communication'; put it into another space}}
  exec.collective all_gather "x" in @dp ticket 2 {blocks = array<i64: 4>, data = #exec.range<space_c3, 64, 32>, type = f32, stream = "other"}
  exec.wait 1
  exec.wait 2
}

// -----

// What other ranks may not have read yet, another writes already.
exec.space @space_c3 128 bytes kept shared by @dp
exec.space @arena 1024 bytes
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c3, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op works on #exec.range<space_c3, 0, 32>, in storage @w of @space_c3, which ranks share; use it only in all-gathers of all of it, with the blocks of the first one, or put the storage into a space that they do not share}}
  exec.collective all_to_all "w" in @dp ticket 0 {blocks = array<i64: 4, 4>, data = #exec.range<space_c3, 0, 32>, output = #exec.range<arena, 0, 32>, received = array<i64: 4, 4>, type = f32}
  exec.collective all_reduce "met" in @dp ticket 1 {blocks = array<i64: 1>, data = #exec.range<arena, 64, 4>, type = f32, workspace = #exec.range<arena, 128, 64>}
  exec.wait 0
  exec.wait 1
  exec.collective all_gather "w" in @dp ticket 2 {blocks = array<i64: 4>, data = #exec.range<space_c3, 0, 32>, type = f32}
  exec.wait 2
}

// -----

// A rank that writes nothing still says that others may: they meet before it gathers.
exec.space @space_c6 128 bytes kept shared by @dp
exec.group @dp ranks [0, 1] index 0
exec.storage @w : tensor<8xf32> in <space_c6, 0, 32> holds [] at []
exec.plan @p attributes {input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], outputs = []} {
  // expected-error @below {{'exec.collective' op overwrites bytes that other ranks may still read: ranks meet in no collective after the last read, in storage @w of @space_c6, which ranks share; wait for a collective of @dp in which each rank has a block that is not empty, and which starts after that read, or put the storage into a space that they do not share}}
  exec.collective all_gather "w" in @dp ticket 2 {blocks = array<i64: 4>, data = #exec.range<space_c6, 0, 32>, type = f32}
  exec.wait 2
}
