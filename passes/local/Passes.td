//===- Passes.td - From global tensors to the program of one rank ---------------===//
#ifndef SPLITCAST_PASSES_LOCAL_PASSES_TD
#define SPLITCAST_PASSES_LOCAL_PASSES_TD

include "mlir/Pass/PassBase.td"

def LocalizePass : Pass<"sbp-localize", "mlir::ModuleOp"> {
  let summary = "The program of one rank: pieces instead of global tensors, collectives instead of boxing";
  let description = [{
    Ragged pieces differ from rank to rank, so a module is made for each: a translation op by op, in the order of the
    global program. A value becomes the rank's piece of it; a boxing becomes a collective, or a slice, for each step that
    it takes. What 'sbp-join-buckets' made, a range, is a tensor as any. Functions keep their arguments'
    global types in the attribute `ccl.global`. From
    tests/passes/local/localize_example.mlir, rank 0 of 4:
    ```mlir
    %1 = sbp.boxing %0 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>                                    // before
    %1 = ccl.all_gather "w" %0 in #dp blocks [12, 12, 8, 8] {stored} : ...                                          // after
    ```
    - C1: The module has passed 'sbp-verify-global'.
    - C2: The rank is one of the placement.
  }];
  let options = [Option<"rank", "rank", "int64_t", "0", "The rank whose program is made">];
  let dependentDialects = ["splitcast::ccl::CclDialect", "splitcast::nn::NnDialect"];
}

def PrefetchPass : Pass<"ccl-prefetch", "mlir::ModuleOp"> {
  let summary = "Starts gathers some groups ahead, and waits for reductions one group later";
  let description = [{
    An all-gather that needs nothing but what is stored starts when the one before it has been waited for, so that it is
    under way while the group before is computed; or when the n-th before it has been. It passes other collectives (in backward, the
    reductions of groups before), but no assignment of what it gathers. How far ahead it starts, in groups and in bytes that are ahead of their use, and whether a
    reduction is waited for so late, the policy of the variables says; `depth` holds for those without, and for what is of no
    variable. An exchange is waited for where its result is used, or, of a rank that receives nothing, before the
    next one starts. With 0, a collective is waited for where it starts. At most as many gathers as that and one reduction are
    under way. All ranks make the same order of collectives.
    From tests/passes/local/prefetch_example.mlir:
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
    - C1: A gather that may start ahead takes at most as many bytes as the policy allows.
  }];
  let options = [Option<"depth", "depth", "int64_t", "1", "Groups ahead">];
  let dependentDialects = ["splitcast::ccl::CclDialect"];
}

def PadClassesPass : Pass<"nn-pad-classes", "mlir::func::FuncOp"> {
  let summary = "Gives logits rows that begin where the device loads them whole";
  let description = [{
    A vocabulary of 50,257 in bf16 has rows of which only every eighth begins at 16 bytes: products of such matrices are
    several times slower on a GPU. Where a product of at least `least` elements is the logits of a softmax cross-entropy, its
    rows get columns more, which are no classes, as many as it takes; the gradient has 0 there, and products of it take it as it
    is. On devices that ask for no such thing nothing changes. From tests/passes/local/pad_classes_example.mlir:
    ```mlir
    %l = nn.matmul %x, %w {transpose_b} : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>   // before
    %e = nn.softmax_cross_entropy %l, %y : (tensor<4x7xf32>, tensor<4xi64>) -> tensor<4xf32>
    %p = nn.concat %w, %z {dim = 0 : i64} : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>   // after
    %l = nn.matmul %x, %p {transpose_b} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %e = nn.softmax_cross_entropy %l, %y {classes = 7 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4xf32>
    ```
  }];
  let options = [Option<"least", "least", "int64_t", "1 << 20", "Elements of a product that is worth it">];
  let dependentDialects = ["splitcast::ccl::CclDialect", "splitcast::nn::NnDialect"];
}

def FuseKernelsPass : Pass<"nn-fuse-kernels", "mlir::func::FuncOp"> {
  let summary = "Puts ops that one kernel can compute into one nn.fusion";
  let description = [{
    Each op that runs in no vendor library becomes part of a fusion: elementwise ops of one shape join (several results
    included), what one walk over the rows of a tensor can make joins (softmax, layer norm's backward, sums over the rows), and
    any other reduction takes in the elementwise ops that feed it. A fusion stands where its last member stood; no op moves past
    one that uses its result, or past an assignment of what it reads.
    From tests/passes/local/fuse_kernels_example.mlir:
    ```mlir
    %0 = nn.tanh %x : (tensor<8x4xf32>) -> tensor<8x4xf32>                    // before
    %s = nn.fusion(%x) : (tensor<8x4xf32>) -> tensor<8xf32> {                 // after
    ```
  }];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def UpdateAsReducedPass : Pass<"ccl-update-as-reduced", "mlir::ModuleOp"> {
  let summary = "Updates variables as soon as their gradient is there, and not when backward has ended";
  let description = [{
    What an update computes of a gradient, and assigns, moves up behind the gradient and behind the last op that uses what
    it replaces: so a gradient, or a rank's part of it, is not kept until backward ends. Variables whose policy says
    `update = reduced`, at stages 2 and 3, are updated so; the ops of an update that need a collective behind backward, as a
    norm of all gradients is, stay behind that. Values do not change, nor does the order of the collectives.
    From tests/passes/local/update_as_reduced_example.mlir:
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
  let summary = "Orders ops so that less is live at once";
  let description = [{
    Between collectives, waits and assignments, which stay where they are, ops that need nothing of each other may stand in
    any order. Where a function needs most, they get one in which less is live at once, if one of two greedy orders is
    such. Values do not change, nor what runs while a collective is under way. From
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
  let summary = "The end of the local level: no signature left, every collective waited for";
  let description = [{
    - C1: No tensor in a function has a signature.
    - C2: Every collective is waited for, once, and nothing else takes what is under way.
    - C3: What is computed says how (ComputeOpInterface).
  }];
}

#endif // SPLITCAST_PASSES_LOCAL_PASSES_TD
