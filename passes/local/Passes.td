//===- Passes.td - The passes from global tensors to the program of one rank ---------------===//
#ifndef SPLITCAST_PASSES_LOCAL_PASSES_TD
#define SPLITCAST_PASSES_LOCAL_PASSES_TD

include "mlir/Pass/PassBase.td"

def LocalizePass : Pass<"sbp-localize", "mlir::ModuleOp"> {
  let summary = "Makes the program of one rank: pieces instead of global tensors, collectives instead of boxings";
  let description = [{
    Ragged pieces differ from rank to rank, so each rank gets a module of its own. The pass translates op by op, in the
    order of the global program. A value becomes the rank's piece of it; a boxing becomes a collective, or a slice, for
    each of its steps. A range that 'sbp-join-buckets' made is a tensor like any other. Functions keep the global types
    of their arguments and results in the attribute `ccl.global`. From tests/passes/local/localize_example.mlir, rank 0
    of 4:
    ```mlir
    %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>                                    // before
    %1 = ccl.all_gather "w" %0 in #dp blocks [12, 12, 8, 8] {stored} : ...                                          // after
    ```
    - C1: The module has passed 'sbp-verify-global'.
    - C2: The rank is one of the placement.
  }];
  let options = [Option<"rank", "rank", "int64_t", "0", "The rank whose program is made, one of the placement">];
  let dependentDialects = ["splitcast::ccl::CclDialect", "splitcast::nn::NnDialect"];
}

def PrefetchPass : Pass<"ccl-prefetch", "mlir::ModuleOp"> {
  let summary = "Starts gathers some groups ahead of their use, and waits for reductions one group later";
  let description = [{
    An all-gather that depends only on stored values starts after the wait of the previous one, so that it runs while
    the group before is computed; or after the wait of the n-th before it. It moves past other collectives (in backward,
    past the reductions of groups before), but not past an assignment of the values that it gathers. The policy of the
    variables says how far ahead it starts, in groups and in bytes that are ahead of their use, and whether a reduction
    is waited for later; `depth` applies to variables without a policy, and to collectives of no variable. An all-to-all
    is waited for where its result is used, or, on a rank that receives nothing, before the next one starts. With 0, a
    collective is waited for where it starts. At most so many gathers and one reduction are under way. All ranks have
    the same order of collectives. From tests/passes/local/prefetch_example.mlir:
    ```mlir
    %a = ccl.all_gather "one" %0 ...   // before
    %one = ccl.wait %a : ...
    %x = nn.relu %one : ...
    %1 = ccl.read @s2 : tensor<4xf32>
    %b = ccl.all_gather "two" %1 ...
    %one = ccl.wait %a : ...           // after
    %b = ccl.all_gather "two" %1 ...
    %x = nn.relu %one : ...
    ```
    - C1: A gather of stored values whose variables have `prefetch` and `prefetch_bytes` above 0 gathers at most
      `prefetch_bytes` bytes, counted in the type that it gathers: otherwise it could never start ahead.
  }];
  let options = [Option<"depth", "depth", "int64_t", "1",
                        "How many groups ahead of their use gathers of variables without a policy start; 0: none starts "
                        "ahead">];
  let dependentDialects = ["splitcast::ccl::CclDialect"];
}

def PadClassesPass : Pass<"nn-pad-classes", "mlir::func::FuncOp"> {
  let summary = "Pads the classes of logits, so that each row begins at an aligned address";
  let description = [{
    With a vocabulary size of 50,257 in bf16, only every eighth row of logits begins at a multiple of 16 bytes: products
    of such matrices are several times slower on a GPU. Where a product of at least `least` elements is the logits of a
    softmax cross-entropy, its rows get as many more columns, which are no classes, as the alignment needs. The gradient
    is 0 there, and products use the padded gradient. On devices that need no alignment nothing changes. From
    tests/passes/local/pad_classes_example.mlir:
    ```mlir
    %l = nn.matmul %x, %w {transpose_b} : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>   // before
    %e = nn.softmax_cross_entropy %l, %y : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<4xf32>
    %p = nn.concat %w, %z {dim = 0 : i64} : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>   // after
    %l = nn.matmul %x, %p {transpose_b} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %e = nn.softmax_cross_entropy %l, %y {classes = 7 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
    ```
  }];
  let options = [Option<"least", "least", "int64_t", "1 << 20",
                        "The number of elements from which on a product is padded">];
  let dependentDialects = ["splitcast::ccl::CclDialect", "splitcast::nn::NnDialect"];
}

def KeepStatisticsPass : Pass<"nn-keep-statistics", "mlir::func::FuncOp"> {
  let summary = "Keeps the statistics of attention's rows for its gradient";
  let description = [{
    On a device whose library call for attention's gradient would compute the rows again (on CUDA, but for wide heads in f32), the gradient
    takes the output and the statistics of the last attention before it that has the same query, key, value, mask and
    attributes; fences do not count as differences. A gradient without such an attention, and one that is computed
    otherwise, does not change. Results change by rounding, since the definition sums in another order. From
    tests/passes/local/keep_statistics_example.mlir:
    ```mlir
    %y = nn.attention %q, %k, %v {scale = 0.5 : f64} : ...                        // before
    %d:3 = nn.attention_grad %g, %q, %k, %v {scale = 0.5 : f64} : ...
    %y, %s = nn.attention %q, %k, %v {scale = 0.5 : f64} : ...                    // after
    %d, ... = nn.attention_grad %g, %q, %k, %v, %y, %s {scale = 0.5 : f64} : ...
    ```
  }];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def FuseKernelsPass : Pass<"nn-fuse-kernels", "mlir::func::FuncOp"> {
  let summary = "Puts ops that one kernel can compute into one nn.fusion";
  let description = [{
    Each op that runs in no vendor library becomes part of a fusion. Elementwise ops of one shape are fused, and may
    have several results; slices along rows of at least 16 elements are elementwise, and move before the elementwise ops
    whose results they cut into pieces. Ops that one walk over the rows of a tensor can compute are fused (softmax,
    layer norm's backward, sums over the rows). Any other reduction is fused with the elementwise ops that compute its
    operands. A fusion stands at the place of its last member; no op moves past a user of its result, or past an
    assignment of a value that it reads. From tests/passes/local/fuse_kernels_example.mlir:
    ```mlir
    %0 = nn.tanh %x : (tensor<8x4xf32>) -> tensor<8x4xf32>                    // before
    %s = nn.fusion(%x) : (tensor<8x4xf32>) -> tensor<8xf32> {                 // after
    ```
  }];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def UpdateAsReducedPass : Pass<"ccl-update-as-reduced", "mlir::ModuleOp"> {
  let summary = "Updates variables as soon as their gradient is complete, and not after backward";
  let description = [{
    The ops and assignments of an update move up, to right after the gradient and after the last op that uses the old
    value: so a gradient, or a rank's part of it, is not kept until backward ends. This applies to variables whose
    policy says `update = reduced`, at stages 2 and 3. Ops of an update that need a collective after backward, such as a
    norm of all gradients, stay after that collective. Values do not change, and neither does the order of the
    collectives. From tests/passes/local/update_as_reduced_example.mlir:
    ```mlir
    %one = ccl.wait %p : ...                 // before
    %y = nn.relu %arg0 : ...
    %2 = nn.sub %w, %1 : ...
    ccl.assign @s, %2 : ...
    %one = ccl.wait %p : ...                 // after
    %2 = nn.sub %w, %1 : ...
    ccl.assign @s, %2 : ...
    %y = nn.relu %arg0 : ...
    ```
  }];
}

def OrderForMemoryPass : Pass<"ccl-order-for-memory", "mlir::func::FuncOp"> {
  let summary = "Orders ops so that fewer bytes are live at once";
  let description = [{
    Between collectives, waits and assignments, which do not move, ops that do not depend on each other may stand in any
    order. Where a function needs the most memory, the pass tries two greedy orders, and takes one if fewer bytes are
    live at once with it. Values do not change, and neither do the ops that run while a collective is under way. From
    tests/passes/local/order_for_memory_example.mlir:
    ```mlir
    %a = nn.matmul %x, %w : ...              // before
    %b = nn.matmul %x, %w : ...
    %c = nn.matmul %a, %n : ...
    %a = nn.matmul %x, %w : ...              // after
    %c = nn.matmul %a, %n : ...
    %b = nn.matmul %x, %w : ...
    ```
  }];
}

def VerifyLocalPass : Pass<"ccl-verify-local", "mlir::ModuleOp"> {
  let summary = "Verifies the end of the local level: no signature is left, and every collective is waited for";
  let description = [{
    From tests/passes/local/verify_local.mlir:
    ```mlir
    %0 = nn.constant 1.0 : tensor<4xf32, #B>                     // refused: a tensor with a signature
    %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>           // legal
    ```
    - C1: No tensor in a function has a signature.
    - C2: Every collective is waited for once, and no other op takes its pending result.
    - C3: Ops that compute have ComputeOpInterface.
  }];
}

#endif // SPLITCAST_PASSES_LOCAL_PASSES_TD
