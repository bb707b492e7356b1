// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// Axes have distinct names and positive sizes: @placement_c1.
// expected-error @below {{placement has two axes named 'dp'; give each its own name}}
#p = #sbp.placement<"cpu", [dp = 4, dp = 2]>

// -----

// @placement_c1
// expected-error @below {{placement axis 'dp' has size 0; a size is at least 1}}
#p = #sbp.placement<"cpu", [dp = 0]>

// -----

// @placement_c1_legal
#p = #sbp.placement<"cpu", [dp = 1, tp = 1]>
func.func private @placement_c1_legal(tensor<4xf32, #sbp.nd<#p, [S(0), B]>>)

// -----

// At most 2^20 positions: @placement_c3.
// expected-error @below {{placement has more than 1048576 positions; use fewer ranks}}
#p = #sbp.placement<"cpu", [dp = 1048577]>

// -----

// @placement_c3
// expected-error @below {{placement has more than 1048576 positions; use fewer ranks}}
#p = #sbp.placement<"cpu", [dp = 1000000000000, tp = 1000000000000]>

// -----

// @placement_c3_legal
#p = #sbp.placement<"cpu", [dp = 1048576]>
func.func private @placement_c3_legal(tensor<4xf32, #sbp.nd<#p, [B]>>)

// -----

// At most 6 axes of more than one rank: @placement_c4.
// expected-error @below {{placement has 7 axes of more than one rank; at most 6 are allowed; merge axes that are used alike}}
#p = #sbp.placement<"cpu", [a = 2, b = 2, c = 2, d = 2, e = 2, f = 2, g = 2]>

// -----

// @placement_c4_legal
#p = #sbp.placement<"cpu", [a = 2, b = 2, c = 2, d = 2, e = 2, f = 2, g = 1, h = 1]>
func.func private @placement_c4_legal(tensor<4xf32, #sbp.nd<#p, [S(0), B, B, B, B, B, B, B]>>)

// -----

// One distinct, non-negative rank per position: @placement_c2.
// expected-error @below {{placement has 2 positions but lists 3 ranks; list one rank per position}}
#p = #sbp.placement<"cpu", [dp = 2], ranks = [0, 1, 2]>

// -----

// @placement_c2
// expected-error @below {{placement lists rank 5 twice}}
#p = #sbp.placement<"cpu", [dp = 2], ranks = [5, 5]>

// -----

// @placement_c2
// expected-error @below {{placement lists rank -1, which is negative}}
#p = #sbp.placement<"cpu", [dp = 2], ranks = [0, -1]>

// -----

#p = #sbp.placement<"cpu", [dp = 2], ranks = [1, 0]>
func.func private @placement_c2_legal(tensor<4xf32, #sbp.nd<#p, [S(0)]>>)

// -----

// expected-error @below {{slot of bucket 'b' starts at element 65 of 64; it must lie within the bucket}}
func.func private @slot_c1() attributes {slot = #sbp.slot<@b, 65 of 64>}

// -----

// expected-error @below {{slot of bucket 'b' starts at element -1 of 64; it must lie within the bucket}}
func.func private @slot_c1() attributes {slot = #sbp.slot<@b, -1 of 64>}

// -----

// expected-error @below {{slot of bucket 'b' has ends [-5, 50, 48], which begin below 0; the first is at least 0}}
func.func private @slot_c2() attributes {slot = #sbp.slot<@b, 0 of 48 to [-5, 50, 48]>}

// -----

// expected-error @below {{slot of bucket 'b' has ends [40, 32, 48], which descend; give them in ascending order}}
func.func private @slot_c2() attributes {slot = #sbp.slot<@b, 0 of 48 to [40, 32, 48]>}

// -----

// expected-error @below {{slot of bucket 'b' ends at 60 on the last rank, but its length is 48; give that as the last end}}
func.func private @slot_c2() attributes {slot = #sbp.slot<@b, 0 of 48 to [40, 50, 60]>}

// -----

// expected-error @below {{slot of bucket 'b' has the ends of even pieces; leave them out}}
func.func private @slot_c2() attributes {slot = #sbp.slot<@b, 0 of 48 to [16, 32, 48]>}

// -----

func.func private @slot_c2_legal() attributes {slot = #sbp.slot<@b, 0 of 48 to [0, 0, 48]>, ragged = #sbp.slot<@b, 16 of 40 to [16, 40, 40]>}

// -----

func.func private @slot_c1_legal() attributes {first = #sbp.slot<@b, 0 of 64>, empty = #sbp.slot<@b, 64 of 64>}

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
// expected-error @below {{signature has 1 entries but its placement has 2 axes; give one entry per axis}}
func.func private @nd_c1(tensor<4xf32, #sbp.nd<#p, [B]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
func.func private @nd_c1_legal(tensor<4xf32, #sbp.nd<#p, [B, S(0)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
// expected-error @below {{signature [S(1)] splits dimension 1 on axis 'dp', but the tensor has 1 dimensions; split one of these}}
func.func private @nd_c2(tensor<4xf32, #sbp.nd<#p, [S(1)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
// expected-error @below {{signature [S(0)] splits dimension 0 on axis 'dp', but the tensor has 0 dimensions; split one of these}}
func.func private @nd_c2(tensor<f32, #sbp.nd<#p, [S(0)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
func.func private @nd_c2_legal(tensor<4x1xf32, #sbp.nd<#p, [S(1)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
// expected-error @below {{signature splits 2 axes by buckets; split at most one axis by a bucket}}
func.func private @nd_c3(tensor<4xf32, #sbp.nd<#p, [S(@a, 0 of 64), S(@b, 0 of 64)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2]>
// expected-error @below {{slot at 61 of 64 in bucket 'a' has no room for 4 elements; enlarge the bucket}}
func.func private @nd_c3(tensor<4xf32, #sbp.nd<#p, [S(@a, 61 of 64)]>>)

// -----

// The bucket holds the piece that the other axes leave: 5 rows of the 9 on the first ranks of tp.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
// expected-error @below {{slot at 60 of 64 in bucket 'a' has no room for 5 elements; enlarge the bucket}}
func.func private @nd_c3(tensor<9xf32, #sbp.nd<#p, [S(@a, 60 of 64), S(0)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
func.func private @nd_c3_legal(tensor<8xf32, #sbp.nd<#p, [S(@a, 60 of 64), S(0)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{bucket 'a' has 62 elements, which axis 'dp' of size 4 does not divide; pad it}}
func.func private @nd_c4(tensor<4xf32, #sbp.nd<#p, [S(@a, 0 of 62)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
func.func private @nd_c4_legal(tensor<4xf32, #sbp.nd<#p, [S(@a, 0 of 60)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'Q' is no signature; write B, P, S(dimension), S(dimension by unit), S(dimension to [ends]), S(@bucket, offset of total) or At(coordinate)}}
func.func private @unknown_entry(tensor<4xf32, #sbp.nd<#p, [Q]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{S(-1): a split dimension is at least 0}}
func.func private @negative_dimension(tensor<4xf32, #sbp.nd<#p, [S(-1)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{a global tensor has a static shape}}
func.func private @dynamic(tensor<?xf32, #sbp.nd<#p, [B]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{a global tensor has a static shape}}
func.func private @nd_c5(tensor<?xf32, #sbp.nd<#p, [B]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'tensor<2305843009213693952xf32>' has more than 2^63 - 1 bytes; make it smaller}}
func.func private @nd_c5(tensor<2305843009213693952xf32, #sbp.nd<#p, [B]>>)

// -----

// 2^64 elements, which wrap to none.
#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{'tensor<4x4611686018427387904xi1>' has more than 2^63 - 1 bytes; make it smaller}}
func.func private @nd_c5(tensor<4x4611686018427387904xi1, #sbp.nd<#p, [S(1)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{bucket 'a' of 2305843009213693952 elements of 'f32' has more than 2^63 - 1 bytes; make it smaller}}
func.func private @nd_c5(tensor<4xf32, #sbp.nd<#p, [S(@a, 0 of 2305843009213693952)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 4]>
func.func private @nd_c5_legal(tensor<2305843009213693951xf32, #sbp.nd<#p, [B]>>,
                               tensor<4xf32, #sbp.nd<#p, [S(@a, 0 of 2305843009213693948)]>>)

// -----

// The end of the slot is more than 2^63 - 1.
#p = #sbp.placement<"cpu", [dp = 4]>
// expected-error @below {{slot at 9223372036854775800 of 9223372036854775804 in bucket 'a' has no room for 8 elements; enlarge the bucket}}
func.func private @nd_c3(tensor<8xi1, #sbp.nd<#p, [S(@a, 9223372036854775800 of 9223372036854775804)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{S(0 by 1): a unit is at least 2; write S(0) for single elements}}
func.func private @nd_c6(tensor<4xf32, #sbp.nd<#p, [S(0 by 1)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{S(0 by -2): a unit is at least 2; write S(0) for single elements}}
func.func private @nd_c6(tensor<4xf32, #sbp.nd<#p, [S(0 by -2)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature [S(0 by 3)] keeps 3 elements of dimension 0 together on axis 'dp', but the length of that dimension there is no multiple of them; give a divisor of 4}}
func.func private @nd_c6(tensor<4xf32, #sbp.nd<#p, [S(0 by 3)]>>)

// -----

// The first axis leaves 12 and 8 rows.
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
// expected-error @below {{signature [S(0 by 4), S(0 by 3)] keeps 3 elements of dimension 0 together on axis 'tp', but the length of that dimension there is no multiple of them; give a divisor of 4}}
func.func private @nd_c6(tensor<20xf32, #sbp.nd<#p, [S(0 by 4), S(0 by 3)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
func.func private @nd_c6_legal(tensor<20xf32, #sbp.nd<#p, [S(0 by 4), S(0 by 4)]>>,
                               tensor<20xf32, #sbp.nd<#p, [S(0 by 20), S(0 by 20)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature [S(0 by 2)] keeps 2 elements of dimension 0 together on axis 'dp', as equal pieces do anyway; write S(0)}}
func.func private @nd_c7(tensor<12xf32, #sbp.nd<#p, [S(0 by 2)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature [S(0 by 2)] keeps 2 elements of dimension 0 together on axis 'dp', as equal pieces do anyway; write S(0)}}
func.func private @nd_c7(tensor<0xf32, #sbp.nd<#p, [S(0 by 2)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
func.func private @nd_c7_legal(tensor<12xf32, #sbp.nd<#p, [S(0 by 3)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature S(0 to [4, 12]) has 2 ends on 3 ranks; give one per rank}}
func.func private @nd_c8(tensor<12xf32, #sbp.nd<#p, [S(0 to [4, 12])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature S(0 to [8, 4, 12]) has ends [8, 4, 12], which descend; give them in ascending order}}
func.func private @nd_c8(tensor<12xf32, #sbp.nd<#p, [S(0 to [8, 4, 12])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature S(0 to [0, 4, 11]) ends at 11 on the last rank, but its length is 12; give that as the last end}}
func.func private @nd_c8(tensor<12xf32, #sbp.nd<#p, [S(0 to [0, 4, 11])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature S(0 to [4, 8, 12]) has the ends of even pieces; leave them out}}
func.func private @nd_c8(tensor<12xf32, #sbp.nd<#p, [S(0 to [4, 8, 12])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
// expected-error @below {{signature [S(0), S(0 to [4, 12])] splits dimension 0 to ends on axis 'tp', and again on another axis; split it on one of them only}}
func.func private @nd_c8(tensor<12xf32, #sbp.nd<#p, [S(0), S(0 to [4, 12])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{signature S(@b, 4 of 12 to [4, 12]) has 2 ends on 3 ranks; give one per rank}}
func.func private @nd_c8(tensor<4xf32, #sbp.nd<#p, [S(@b, 4 of 12 to [4, 12])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
func.func private @nd_c8_legal(tensor<12xf32, #sbp.nd<#p, [S(0 to [0, 0, 12])]>>, tensor<4xf32, #sbp.nd<#p, [S(@b, 4 of 12 to [4, 9, 12])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 3]>
// expected-error @below {{lists no ends; give one per rank of the axis}}
func.func private @no_ends(tensor<12xf32, #sbp.nd<#p, [S(0 to [])]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, pp = 3]>
// expected-error @below {{signature is At(3) on axis 'pp' of size 3; coordinates are 0 to 2}}
func.func private @nd_c9(tensor<4xf32, #sbp.nd<#p, [B, At(3)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, pp = 3]>
// expected-error @below {{At(-1): a coordinate is at least 0}}
func.func private @nd_c9(tensor<4xf32, #sbp.nd<#p, [B, At(-1)]>>)

// -----

#p = #sbp.placement<"cpu", [dp = 2, pp = 3]>
func.func private @nd_c9_legal(tensor<4xf32, #sbp.nd<#p, [S(0), At(2)]>>, tensor<f32, #sbp.nd<#p, [At(0), At(0)]>>)
