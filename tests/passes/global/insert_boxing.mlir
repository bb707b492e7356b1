// Where 'sbp-insert-boxing' gathers at stage 3: once for forward and once more for backward, but for the group that forward
// uses last, and not for layers that backward does not need.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage="stage=3 strategy=tensor" -sbp-propagate \
// RUN:   -sbp-insert-boxing | FileCheck %s --check-prefixes=ALL,KEEP
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage="stage=3 strategy=tensor keep=never" -sbp-propagate \
// RUN:   -sbp-insert-boxing | FileCheck %s --check-prefix=FREE
// Always: no layer is gathered again.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage="stage=3,strategy=tensor,keep=always" \
// RUN:   -sbp-propagate -sbp-insert-boxing | FileCheck %s --check-prefix=ALWAYS
// Scopes keep equal gathers apart, whatever runs next.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage="stage=3 strategy=tensor" -sbp-propagate \
// RUN:   -sbp-insert-boxing -canonicalize -cse | FileCheck %s --check-prefixes=ALL,KEEP
// Buckets are groups.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage="stage=3 bucket-bytes=128" -sbp-propagate \
// RUN:   -sbp-insert-boxing -canonicalize -cse | FileCheck %s --check-prefix=BUCKETS
// Stage 1 and 2 gather nothing before use: updated shards, when they are assigned.
// RUN: splitcast-opt %s -nn-differentiate -nn-expand-optimizers -sbp-zero-storage=stage=2 -sbp-propagate \
// RUN:   -sbp-insert-boxing -canonicalize -cse | FileCheck %s --check-prefix=TWO

#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @l1.w : tensor<4x4xf32, #B>
sbp.variable @l2.w : tensor<4x4xf32, #B>
sbp.variable @l3.w : tensor<4x4xf32, #B>

// ALL-LABEL: func.func @train
// KEEP-DAG: %[[F1:.*]] = sbp.scope "forward" group "l1"
// KEEP-DAG: %[[F2:.*]] = sbp.scope "forward" group "l2"
// KEEP-DAG: %[[F3:.*]] = sbp.scope "forward" group "l3"
// KEEP-DAG: %[[B2:.*]] = sbp.scope "backward" group "l2"
// KEEP: %[[R1:.*]] = sbp.read @l1.w : tensor<4x4xf32, #S0_>
// KEEP: %[[R2:.*]] = sbp.read @l2.w : tensor<4x4xf32, #S0_>
// KEEP: %[[R3:.*]] = sbp.read @l3.w : tensor<4x4xf32, #S0_>
// KEEP: %[[S1:.*]] = sbp.fence %[[R1]] in %[[F1]]
// KEEP-NEXT: %[[W1:.*]] = sbp.boxing %[[S1]] : tensor<4x4xf32, #S0_> -> tensor<4x4xf32, #B>
// KEEP-NEXT: nn.matmul %{{.*}}, %[[W1]]
// KEEP: %[[S2:.*]] = sbp.fence %[[R2]] in %[[F2]]
// KEEP-NEXT: %[[W2:.*]] = sbp.boxing %[[S2]]
// KEEP-NEXT: nn.matmul %{{.*}}, %[[W2]]
// KEEP: %[[S3:.*]] = sbp.fence %[[R3]] in %[[F3]]
// KEEP-NEXT: %[[W3:.*]] = sbp.boxing %[[S3]]
// KEEP-NEXT: nn.matmul %{{.*}}, %[[W3]]
// KEEP: sbp.scope "backward"{{$}}
// KEEP: nn.matmul %{{.*}}, %[[W3]] {transpose_b}
// KEEP: %[[S2B:.*]] = sbp.fence %[[R2]] in %[[B2]]
// KEEP-NEXT: %[[W2B:.*]] = sbp.boxing %[[S2B]] : tensor<4x4xf32, #S0_> -> tensor<4x4xf32, #B>
// KEEP-NEXT: nn.matmul %{{.*}}, %[[W2B]] {transpose_b}
// KEEP-NOT: -> tensor<4x4xf32, #B>{{$}}
// An update is computed where the variable is stored.
// ALL: sbp.assign @l3.w, %{{.*}} : tensor<4x4xf32, #S0_>

// FREE-LABEL: func.func @train
// FREE-DAG: %[[F3:.*]] = sbp.scope "forward" group "l3"
// FREE-DAG: %[[B3:.*]] = sbp.scope "backward" group "l3"
// FREE-DAG: %[[B2:.*]] = sbp.scope "backward" group "l2"
// FREE: sbp.fence %{{.*}} in %[[F3]]
// FREE: sbp.fence %{{.*}} in %[[B3]]
// FREE: sbp.fence %{{.*}} in %[[B2]]

// ALWAYS-LABEL: func.func @train
// ALWAYS-COUNT-3: sbp.scope "forward" group
// ALWAYS-NOT: sbp.scope "backward" group
// ALWAYS: return

// Two layers of 64 bytes in a bucket, which backward needs; the third in its own, which is kept.
// BUCKETS-LABEL: func.func @train
// BUCKETS-DAG: sbp.scope "forward" group "l1"
// BUCKETS-DAG: sbp.scope "forward" group "l3"
// BUCKETS-DAG: sbp.scope "backward" group "l1"
// BUCKETS-NOT: sbp.scope {{.*}} group "l2"
// BUCKETS: sbp.scope "backward"{{$}}

// TWO-LABEL: func.func @train
// TWO-NOT: sbp.scope "forward"
// TWO: %[[W1:.*]] = sbp.read @l1.w : tensor<4x4xf32, #B>
// TWO: nn.matmul %{{.*}}, %[[W1]]
// TWO: %[[SHARD:.*]] = sbp.boxing %[[W1]] : tensor<4x4xf32, #B> -> tensor<4x4xf32, #S_l1_0_>
// TWO: sbp.fence %[[SHARD]] in
// TWO: %[[NEW:.*]] = nn.sub {{.*}} -> tensor<4x4xf32, #S_l1_0_>
// TWO-NEXT: %[[W:.*]] = sbp.boxing %[[NEW]] : tensor<4x4xf32, #S_l1_0_> -> tensor<4x4xf32, #B>
// TWO-NEXT: sbp.assign @l1.w, %[[W]] : tensor<4x4xf32, #B>
func.func @train(%x: tensor<8x4xf32, #S0>) -> tensor<f32> {
  %w1 = sbp.read @l1.w : tensor<4x4xf32>
  %w2 = sbp.read @l2.w : tensor<4x4xf32>
  %w3 = sbp.read @l3.w : tensor<4x4xf32>
  %1 = nn.matmul %x, %w1 : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = nn.matmul %1, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = nn.matmul %2, %w3 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %4 = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %4 : tensor<f32> with #nn.sgd<lr = 0.5>
  return %4 : tensor<f32>
}

// Another function reads the same variables and gets its gathers from the same pass; nothing of it knows of ZeRO.
// ALL-LABEL: func.func @predict
// ALL-SAME: -> tensor<8x4xf32, #S0_>
// ALL-DAG: %[[P1:.*]] = sbp.scope "forward" group "l1"
// ALL-DAG: %[[P2:.*]] = sbp.scope "forward" group "l2"
// ALL: %[[G1:.*]] = sbp.fence %{{.*}} in %[[P1]]
// ALL-NEXT: %[[V1:.*]] = sbp.boxing %[[G1]] : tensor<4x4xf32, #S0_> -> tensor<4x4xf32, #B>
// ALL-NEXT: nn.matmul %{{.*}}, %[[V1]]
// ALL-NEXT: %[[G2:.*]] = sbp.fence %{{.*}} in %[[P2]]
// ALL-NEXT: %[[V2:.*]] = sbp.boxing %[[G2]]
// ALL-NEXT: %[[Y:.*]] = nn.matmul %{{.*}}, %[[V2]]
// ALL-NEXT: return %[[Y]]
func.func @predict(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  %w1 = sbp.read @l1.w : tensor<4x4xf32>
  %w2 = sbp.read @l2.w : tensor<4x4xf32>
  %1 = nn.matmul %x, %w1 : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = nn.matmul %1, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
