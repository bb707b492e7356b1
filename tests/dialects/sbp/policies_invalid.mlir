// RUN: splitcast-opt %s -split-input-file -verify-diagnostics

// @policy_c1
// expected-error @below {{a policy does not decide 'stag'; it may decide stage, strategy, keep, prefetch, prefetch_bytes, bucket_bytes, recompute, update}}
sbp.group "h" #sbp.policy<stag = 3>

// -----

// expected-error @below {{expected '=' behind 'bucket'; write stage, strategy, keep, prefetch, prefetch_bytes, bucket_bytes, recompute, update, compute_type, whole_bytes, with underscores, then '='}}
sbp.group "h" #sbp.policy<bucket-bytes = 7>

// -----

// expected-error @below {{stage is '4', which must be 0, 1, 2 or 3}}
sbp.group "h" #sbp.policy<stage = 4>

// -----

// expected-error @below {{prefetch is 'true', which must be auto or a number that is not negative}}
sbp.group "h" #sbp.policy<prefetch = true>

// -----

// expected-error @below {{strategy is 'row', which must be bucket, tensor or whole}}
sbp.group "h" #sbp.policy<strategy = row>

// -----

// expected-error @below {{bucket_bytes is '-1', which must be a number that is not negative}}
sbp.group "h" #sbp.policy<bucket_bytes = -1>

// -----

// expected-error @below {{a policy says 'stage' twice; say it once}}
sbp.group "h" #sbp.policy<stage = 1, stage = 2>

// -----

// @group_c1
// expected-error @below {{'sbp.group' op has no name; name the group of some variables}}
sbp.group "" #sbp.policy<stage = 1>

// -----

// @group_c2
// expected-error @below {{'sbp.group' op "h" decides nothing; say stage, strategy, keep, prefetch, prefetch_bytes, bucket_bytes, recompute, update, compute_type, whole_bytes, or drop it}}
sbp.group "h" #sbp.policy<>

// -----

// @variable_c9
sbp.variable @w : tensor<4xf32>
// expected-error @below {{@w.m has a policy, but is state of @w, whose policy applies to both; set it there}}
sbp.variable @w.m : tensor<4xf32> state_of @w role "m" policy #sbp.policy<stage = 1>
