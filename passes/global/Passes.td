//===- Passes.td - The passes from a user's program to explicit communication ------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PASSES_TD
#define SPLITCAST_PASSES_GLOBAL_PASSES_TD

include "mlir/Pass/PassBase.td"

def MixedPrecisionPass : Pass<"nn-mixed-precision", "mlir::ModuleOp"> {
  let summary = "Computes in a smaller type than that of the variables, which stay master weights";
  let description = [{
    A variable with `compute-type` in its policy is cast where the graph reads it. Products of cast values have the
    small type. Norms, sums, exponentials, logarithms and losses keep the type that they had, and so do rows of an
    embedding after the lookup. All other ops have the widest type of their operands, scalars and constants not counted.
    Values that a function returns or assigns keep their type, and so does optimizer state. Backward has matching types:
    the gradient of a use in the small type has the small type, is rounded once, and is extended before uses and ranks
    add it up; the gradient of a use in the variable's type has that type. Scalars, variables that ops other than
    nn.minimize assign, and variables whose type is no wider are not cast. Afterwards, a variable's policy says whether
    it is cast. This pass runs before 'nn-differentiate'. From tests/passes/global/mixed_precision_example.mlir:
    ```mlir
    %1 = nn.matmul %x, %0 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>                 // before
    %W = nn.cast %READ : (tensor<4x2xf32>) -> tensor<4x2xbf16>                                    // after
    %A = nn.cast %arg0 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %Y = nn.matmul %A, %W : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
    ```
  }];
  let options = [Option<"computeType", "compute-type", "std::string", "\"own\"",
                        "The type in which variables are read whose policies and groups leave it open: own, bf16 or "
                        "f16">];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def DifferentiatePass : Pass<"nn-differentiate", "mlir::ModuleOp"> {
  let summary = "Replaces nn.minimize by the backward ops and one nn.update per trainable variable";
  let description = [{
    The pass does reverse-mode differentiation over GradientOpInterface. Backward ops depend on a value that is fenced
    in a scope "backward", by which later passes recognize them. A gradient with several contributions is their sum, in
    the reverse order of the uses. Variables that are frozen or carried, or on which the loss does not depend, get no
    update; variables in a group of nn.minimize are updated by the group's optimizer. It is an error if a group has no
    variable, if a variable is in two groups, or if its optimizer cannot update a variable of its shape. Ops without a
    gradient between the loss and a variable are reported, all of them at once. An update takes the gradient at one
    value of the variable: where a variable is assigned between two reads, values of the earlier read count as
    constants. Products that contribute to one gradient are one product of all their rows, where these are few
    (GradientSums.h) and no variable is at coordinates. Where variables are at coordinates, a complete gradient (with
    all its contributions) is put beside its value (sbp.colocate), and where an op of the gradient takes only forward
    values, these are put beside the result of the forward op that took them; scalars are not. From
    tests/passes/global/differentiate_example.mlir:
    ```mlir
    nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>                       // before
    nn.update @w, %dw in %scope : tensor<4x2xf32> with #nn.sgd<lr = 0.5>         // after
    ```
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def SplitClassesPass : Pass<"nn-split-classes", "mlir::ModuleOp"> {
  let summary = "Computes a cross-entropy over classes that are divided among ranks, without gathering the logits";
  let description = [{
    Where the logits are a product with weights that the user has split along the classes, each rank has the logits of
    its classes. nn.softmax_cross_entropy, which needs whole rows, becomes the logarithm of the row's sum of
    exponentials, minus the label's logit, which one rank has, plus what the rounding of that logarithm has left. For each
    of the two, ranks exchange one number per row and part. The gradient takes both, and then needs no whole row. Elementwise ops may come between the product and the
    loss. This pass runs after 'nn-differentiate'. From tests/passes/global/split_classes_example.mlir:
    ```mlir
    %2 = nn.softmax_cross_entropy %1, %labels {ignored = -100 : i64} : (tensor<8x12xf32>, tensor<8xi64, #SB>) -> tensor<8xf32>   // before
    %PARTS = nn.log_sum_exp %BLOCKS : (tensor<8x4x3xf32>) -> tensor<8x4xf32>                                                   // after
    %SHIFT = nn.log_sum_exp %PARTS : (tensor<8x4xf32>) -> tensor<8xf32>
    %COLUMN = nn.reshape %SHIFT : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %SHIFTED = nn.sub %BLOCKS, %COLUMN : (tensor<8x4x3xf32>, tensor<8x1x1xf32>) -> tensor<8x4x3xf32>
    %RESTS = nn.log_sum_exp %SHIFTED : (tensor<8x4x3xf32>) -> tensor<8x4xf32>
    %REST = nn.log_sum_exp %RESTS : (tensor<8x4xf32>) -> tensor<8xf32>
    %OWN = nn.take %LOGITS, %arg1 {ignored = -100 : i64}
    %BELOW = nn.sub %SHIFT, %OWN : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %LOSS = nn.add %BELOW, %REST : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
    If the number of ranks does not divide the classes evenly, the logits are gathered, and a warning says so.
  }];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def ScaleLossesPass : Pass<"nn-scale-losses", "mlir::ModuleOp"> {
  let summary = "Divides gradients of scaled losses, and skips updates if a gradient is not finite";
  let description = [{
    With nn.minimize's loss_scale, backward begins with the scale that 16-bit floats need (@optimizer.loss_scale). Each
    gradient is divided by the scale after it is fenced in the scope of its update, so that it may lie as ZeRO stores
    the variable. The elements that are not finite in all of these gradients together are counted (nn.nonfinite); ranks
    add up this one number. Unless it is 0, the updates are skipped: variables and states are then assigned their old
    values, by nn.select, so that all ranks run the same ops. The scale then backs off, and it grows after enough finite
    steps in a row, as loss_scale says. This pass runs after 'nn-differentiate' and before 'nn-clip-gradients'. From
    tests/passes/global/scale_losses_example.mlir:
    ```mlir
    nn.update @w, %g scaled by %scale : tensor<f32> in %scope {loss_scale = #nn.loss_scale<...>} : tensor<4xf32> with #nn.sgd<lr = 0.5>   // before
    %f = sbp.fence %g in %scope : tensor<4xf32>                                                                                       // after
    %divided = nn.mul %f, %inverse : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %i = nn.nonfinite %divided : (tensor<4xf32>) -> tensor<f64>
    nn.update @w, %divided unless %nonfinite : tensor<f64> in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>
    ```
    Updates are skipped together if all their gradients are made before the first of them, as those of one loss are. The
    scale changes once per function, by the elements that are not finite in any gradient.
    - C1: Updates that are scaled by the same value have the same loss_scale.
    - C2: These updates have no `unless` yet.
    - C3: @optimizer.loss_scale and @optimizer.finite_steps, where the scale changes, are scalars of f32 and f64.
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def ClipGradientsPass : Pass<"nn-clip-gradients", "mlir::ModuleOp"> {
  let summary = "Clips the gradients of updates, by value or by their global norm";
  let description = [{
    A gradient is clipped after it is fenced in the scope of its update, so that it may lie as ZeRO stores the variable.
    Its sum of squares is made of parts whose sums are exact (nn.square_parts): so nothing is gathered for the norm,
    ranks add up 28 numbers, and the bits are the same at every stage. First the parts of each group's variables are
    added up, since the variables of a group lie alike, then those of the groups. With gradient_norm, the norm is
    assigned to @optimizer.gradient_norm; without clip_norm, nothing else is made of it. Gradients whose norm is at most
    clip_norm do not change by a bit; others are multiplied by clip_norm / (norm + 10^-6), as PyTorch's clip_grad_norm_
    does. This pass runs after 'nn-differentiate' and before 'nn-expand-optimizers'. From
    tests/passes/global/clip_gradients_example.mlir:
    ```mlir
    nn.update @w, %g in %scope {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>      // before
    %f = sbp.fence %g in %scope : tensor<4xf32>                                                          // after
    %parts = nn.square_parts %f : (tensor<4xf32>) -> tensor<28xf64>
    %clipped = nn.mul %f, %coefficient : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    nn.update @w, %clipped in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>
    ```
    - C1: Updates that share a norm have the same clip_norm, and all or none of them gradient_norm.
    - C2: Their gradients are made before the first of these updates.
    - C3: Together they have at most 2^34 elements.
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def ExpandOptimizersPass : Pass<"nn-expand-optimizers", "mlir::ModuleOp"> {
  let summary = "Replaces nn.update by elementwise ops, state variables and assignments";
  let description = [{
    A state is a variable of its own (@w.exp_avg), with the type and group of the variable that it belongs to. The
    learning rate is a variable, too. So are the powers of betas, which depend on how many updates a variable has had:
    variables with the same updates, by the same optimizers in the same functions, share them. Where all variables do,
    these are @optimizer.beta1_power and @optimizer.beta2_power; else each set is named after its functions, as
    @optimizer.generator.beta1_power. Groups of variables have their own: @optimizer.no_decay.learning_rate,
    @optimizer.no_decay.beta1_power. Every value that an update reads is fenced in the scope of that update. From
    tests/passes/global/expand_optimizers_example.mlir:
    ```mlir
    nn.update @w, %g in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>            // before
    sbp.assign @w, %new : tensor<4xf32>                                          // after: %new = %w - %lr * %g
    ```
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def RecomputePass : Pass<"nn-recompute", "mlir::ModuleOp"> {
  let summary = "Recomputes forward values in backward, for groups whose policy says so, instead of keeping them";
  let description = [{
    A forward op belongs to the group whose variable it reads, or else to the latest group of its operands, where groups
    are ordered by their first use: so a transformer's block is a group, say. A result that only its own group and
    backward use is recomputed where backward first needs it, from arguments, variables and results of other groups,
    which are kept. These are fenced in a scope of backward, so that no pass merges the two computations. Scalars are
    kept. With `elementwise`, only results of elementwise ops are recomputed, from operands that backward uses anyway
    and that are no parameters. This costs no product and no gather, and no value is kept only for it: a gelu's result,
    say, is recomputed from its operand, which its gradient needs. This pass runs after 'nn-differentiate' and before
    'sbp-zero-storage'. From tests/passes/global/recompute_example.mlir:
    ```mlir
    %1 = nn.matmul %0, %b : ...                       // before
    %2 = nn.relu %1 : ...
    %Y = nn.matmul %X, %W : ...                       // after
    %Z = nn.relu %Y ...
    %S = sbp.scope "backward" group "b"
    %XF = sbp.fence %X in %S ...
    %AGAIN = nn.matmul %XF, %WF ...
    nn.relu_grad ..., %AGAIN
    ```
    - C1: Each of `groups` has a variable.
  }];
  let options = [
    Option<"standard", "recompute", "::splitcast::sbp::Recompute", "::splitcast::sbp::Recompute::No",
           "Which values are recomputed, in groups whose policies leave it open",
           [{::llvm::cl::values(
               clEnumValN(::splitcast::sbp::Recompute::No, "no", "everything is kept"),
               clEnumValN(::splitcast::sbp::Recompute::Yes, "yes",
                          "values that are not used outside of their group are recomputed"),
               clEnumValN(::splitcast::sbp::Recompute::Elementwise, "elementwise",
                          "results of elementwise ops are recomputed from kept values"))}]>,
    ListOption<"groups", "groups", "std::string",
               "Groups that are recomputed whatever their policies say, with the groups within them">,
  ];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def ExactSumsPass : Pass<"sbp-exact-sums", "mlir::ModuleOp"> {
  let summary = "Makes sums over the batch exact, so that a step is reproducible";
  let description = [{
    The pass rewrites each function that updates by a gradient and is to be reproducible. Each sum over its batch that
    it needs (gradients, the loss, a number of labels) becomes an nn.exact_sum of the sums of parts of each addend
    (nn.exact_part): 6 parts for up to 127 addends, 7 up to 16,383, else 8. So its bits do not depend on the number of
    ranks, on the order in which they reduce, or on whether they reduce per micro-batch or per step, as long as there
    are equally many micro-batches in all, with the same rows. With 6 parts, a sum of f32 sends 12 times the bytes, in 6
    times the calls, and accumulators take 12 times the memory. An f64 has digits that no part holds: nn.exact_rest
    marks them, and the variable `optimizer.inexact_sums` counts the elements of sums that lost some, over all steps.
    Sums along an axis that does not split the batch, and sums of integers, do not change; 'sbp-propagate' refuses other
    ops whose bits would depend on the number of ranks. This pass runs after 'nn-expand-optimizers' and before
    'sbp-split-steps'. Before and after (from tests/passes/global/exact_sums_example.mlir):
    ```mlir
    func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {                                              // before
    %g0 = nn.exact_part %g {of = 6 : i64, part = 0 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>               // after
    %f0 = sbp.fence %g0 in %s : tensor<4x2xf64>
    %f = nn.exact_sum %f0, %f1, %f2, %f3, %f4, %f5 : (tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xf32>
    ```
    The attribute `sbp.reproducible` says whether a function is reproducible.
    - C1: If the function has a schedule, the compiler makes it.
    - C2: There are at most 524,287 addends, which is the number of micro-batches times that of ranks.
    - C3: The axis splits an argument, and the number of micro-batches times that of the ranks that split a dimension of
      an argument divides that dimension, or its number of units. The dimension is not cut at ends.
    - C4: C2 of 'sbp-split-steps' holds, in one micro-batch, too.
    - C5: Its losses are not scaled.
  }];
  let options = [
    Option<"reproducible", "reproducible", "bool", "false",
           "Whether functions without the attribute sbp.reproducible are reproducible">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "The number of micro-batches, for functions without the attribute sbp.micro_batches; the same as for "
           "'sbp-split-steps'">,
    Option<"axis", "axis", "std::string", "\"\"",
           "The axis that splits the batch, the same as for 'sbp-split-steps'; if it is empty, the first">,
  ];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def SplitStepsPass : Pass<"sbp-split-steps", "mlir::ModuleOp"> {
  let summary = "Splits functions that update by a gradient into micro-batches, with a schedule";
  let description = [{
    The new functions compute one micro-batch: they take its part of each input that the axis splits. Sums over the
    batch are accumulated in carried variables; gradients in a state of their variable, of role `accumulated`. Updates,
    assignments and results belong to the last run. If a sum over the batch is needed before the loss (the number of
    labels that count, say), a loop of its own computes it. This pass runs after 'nn-expand-optimizers' and before
    'sbp-zero-storage'. Before and after, with `micro-batches=3` (from tests/passes/global/split_steps_example.mlir):
    ```mlir
    func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {                   // before
    sbp.schedule @train of 3 {                                                      // after
      sbp.run @train.first from 0 to 1 takes [0] cut [0]
      sbp.run @train.next from 1 to 2 takes [0] cut [0]
      sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
    }
    ```
    The attribute `sbp.micro_batches` of a function says into how many it is split, and `sbp.accumulate_order` in which
    order its gradients are added up. With "per-micro-batch", those of a micro-batch are reduced over ranks and then
    added to the accumulator. With "per-step", each rank adds them to its own accumulator, which has the signature in
    which they are made (P, say), and the sum is reduced over ranks once.
    - C1: There are 1 to 2^20 micro-batches, and their number divides the dimensions that they cut; the axis is one of
      the placement. No schedule runs the function already.
    - C2: No op needs a micro-batch's part of a value that is the same for all, or a value of all micro-batches that is
      computed for each.
    - C3: No micro-batch needs a value that the step assigns.
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "The number of micro-batches, for functions without the attribute sbp.micro_batches">,
    Option<"order", "order", "std::string", "\"per-micro-batch\"",
           "The order of sums, for functions without the attribute sbp.accumulate_order: per-micro-batch or per-step">,
    Option<"axis", "axis", "std::string", "\"\"",
           "The axis whose splits of the arguments are cut; if it is empty, the first">,
  ];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect", "mlir::func::FuncDialect"];
}

def ZeroStoragePass : Pass<"sbp-zero-storage", "mlir::ModuleOp"> {
  let summary = "Stores variables split along one axis (ZeRO 1, 2, 3)";
  let description = [{
    The pass changes only how variables are stored and updated; 'sbp-propagate' and 'sbp-insert-boxing' add the
    communication. Decisions that a variable's policy leaves open are made by its groups (sbp.group), then by the
    options; the complete policy is written on the variable, and the groups are erased. Stages 1 and 2 split optimizer
    state and updates, stage 3 also parameters; stages 1 and 2 differ in when gradients are reduced (see
    'sbp-propagate'). Master weights, which are variables that are read in a smaller type (compute-type), count as
    optimizer state: from stage 1 on they are split, and their values are gathered when they are read, at stages 1 and 2
    once per step. With strategy `bucket`, the variables of a group lie in one flat range, each from a multiple of 64
    bytes on, padded so that all ranks hold the same number of bytes. With `whole`, they also lie in one range, but none
    is divided: each belongs to one rank of the axis, and the range is cut between the ranks' variables. The largest
    variables are assigned first, each to the rank that has the fewest bytes of parameters and their state so far, over
    all groups. With `tensor`, each variable is split by rows, ragged where the number of ranks does not divide them.
    Stage 0 only assigns buckets. A state is stored like its parameter if it has the same shape and signature, else as
    it is declared. All variables of a bucket have the same policy. Scalars, variables that the user split along the
    axis already, and variables that have a slot do not change. With `one-copy=yes`, parameters that stage 3 would split
    are stored whole, as at stage 2, except frozen ones and those with strategy `whole`: where the ranks of a machine
    share one copy, it takes no more memory than their pieces, and nothing is gathered into other memory. (A session
    sets this option where it finds that they share; else `auto` means `no`.)

    These are the options. Policies and groups make the same decisions, except the last two, with an underscore in the
    place of each hyphen. Numbers are at least 0.
    - `stage`: 0, 1, 2 or 3; by default 2. What is split: nothing, optimizer state, gradients too, parameters too.
    - `strategy`: `bucket`, `tensor` or `whole`; by default `bucket`. How split variables are stored (above).
    - `bucket-bytes`: a number; by default 0. Consecutive groups share a bucket until it has so many bytes; 0: each
      group has its own.
    - `whole-bytes`: a number; by default 0. Variables of at most so many bytes are stored as at stage 0, unless their
      own policy has a stage; 0: none.
    - `compute-type`: `own`, `bf16` or `f16`; by default `own`. The type in which the graph reads a variable
      ('nn-mixed-precision').
    - `keep`: `never`, `last`, `always` or `step`; by default `last`. Whether a gathered parameter is kept from forward
      to backward ('sbp-insert-boxing'); `last`: if its group is the one that forward uses last; `step`: it is gathered
      once for all micro-batches ('sbp-hoist-gathers').
    - `prefetch`: `auto` or a number of groups; by default `auto`. How far ahead of its use a gather starts
      ('sbp-choose-prefetch', 'ccl-prefetch').
    - `prefetch-bytes`: a number; by default 0. The most bytes that gathers ahead of their use take together; 0: any
      number.
    - `recompute`: `no`, `yes` or `elementwise`; by default `no`. Which forward values are recomputed ('nn-recompute').
    - `update`: `last` or `reduced`; by default `reduced`. Whether a variable is updated after backward or, at stages 2
      and 3, as soon as its gradient is reduced ('ccl-update-as-reduced').
    - `axis`: the name of an axis; by default the first. The axis along which variables are split.
    - `one-copy`: `no`, `yes` or `auto`; by default `auto`. Whether parameters are whole for one copy per machine
      (above).

    This pass only records `keep`, `prefetch`, `prefetch-bytes`, `recompute` and `update` in the variables' policies.

    Before and after, with `stage=3 strategy=tensor` on 4 ranks (from tests/passes/global/zero_storage_example.mlir):
    ```mlir
    sbp.variable @w : tensor<10x4xf32, #B>                         // before: 160 bytes on each rank
    sbp.variable @w : tensor<10x4xf32, #B> storage #S0_ update #S0_ // after: 48, 48, 32, 32 bytes
    ```
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def PropagatePass : Pass<"sbp-propagate", "mlir::ModuleOp"> {
  let summary = "Decides the signature of every tensor, and boxes where two differ";
  let description = [{
    The pass first erases ops without users. In the order of the ops, each then gets the legal signatures for which the
    fewest bytes move; among equals those that change the fewest operands, then those that split its result. With
    `look-ahead`, signatures are chosen for the least sum of bytes over the function (dialects/sbp/algebra/Solver.h),
    but no rank may compute more. `enable-zero` does not use it, because bytes are not the only cost: ranks wait for
    boxings between layers, but gradients are reduced while backward computes. Signatures that the user wrote do not
    change. Constants and broadcasts of scalars are cloned per user, in that user's signature. A variable that the user
    has split, and values that are made of such variables alone, are used in their signature wherever an op has a row
    for it: activations are gathered or summed, even if they have more bytes. P stays P until an op needs another
    signature, so that gradients are reduced once, after their last contribution. A value with an sbp.colocate is moved
    to the coordinates of `beside`. A value that is fenced for an update gets the update signature of the variable.
    Gradients get it before the fence, right after their last contribution, or, at stage 1 of ZeRO, after the fence,
    when backward has ended. Ops that are not elementwise see the results of an update in the signature that they would
    have without ZeRO, so that no sum depends on the stage. The location of each op that had a choice then has its row,
    #sbp.row, and that of each boxing the use that needed it, #sbp.wanted. From
    tests/passes/global/propagate_example.mlir:
    ```mlir
    %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32>         // before
    %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32, #S0_>   // after
    ```
    - C1: The module has a placement (its attribute sbp.placement, or that of a signature), with at least one axis.
    - C2: Functions have one block.
    - C3: Ops with tensors say which signatures they may have (ShardingOpInterface).
    - C4: A value that is fenced for an update has the dimension along which the update is split.
    - C5: Each op has a row to which its operands can be boxed, with its results as they are written.
    - C6: A variable that holds addends (P) is assigned addends in all functions.
    - C7: An op that sums and rounds, and is computed again from fenced values, has the signatures of the first.
    - C8: In a reproducible function, only exact sums are added up over the ranks that have parts of the batch, and ops
      that are not elementwise take equally many rows on each rank, and no rows of other ranks.
  }];
  let options = [Option<"lookAhead", "look-ahead", "bool", "false",
                        "Minimize the bytes that move in the whole function, not op by op">];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def InsertBoxingPass : Pass<"sbp-insert-boxing", "mlir::ModuleOp"> {
  let summary = "Inserts boxings where the storage of a variable differs from what the graph reads";
  let description = [{
    A read gets the storage signature, and its result is boxed to the logical one: once for forward and once more for
    backward, each in a scope of the variable's group, so that the gathered value is freed between the two. The
    variable's policy says whether it is kept instead: always, never, or if its group is the one that forward uses last
    and backward first. Assigned values are boxed to the storage signature. The location of each boxing says for which
    phase and variable it is, #sbp.wanted. From tests/passes/global/insert_boxing_example.mlir:
    ```mlir
    %w = sbp.read @w : tensor<10x4xf32, #B>                                          // before
    %0 = sbp.read @w : tensor<10x4xf32, #S0_>                                        // after
    %1 = sbp.fence %0 in %scope : tensor<10x4xf32, #S0_>
    %w = sbp.boxing %1 : tensor<10x4xf32, #S0_> -> tensor<10x4xf32, #B>
    ```
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def JoinBucketsPass : Pass<"sbp-join-buckets", "mlir::ModuleOp"> {
  let summary = "Replaces ops on each member of a bucket by one op on the bucket's range";
  let description = [{
    A value that is a slot, S(@bucket), becomes the range that it lies in. Boxings of one bucket that belong together
    become one boxing: a reduction is placed after the last member is made, a gather before the first is used.
    Elementwise ops on slots become ops on the range, and equal ops on the same ranges are merged: the update of a
    bucket is one op for any number of members. Values that only some members need are computed on the parts of these
    members, which are assigned separately. Every op stays behind the ops that it depends on: two boxings, one of which
    depends on the other, do not belong together. From tests/passes/global/join_buckets_example.mlir:
    ```mlir
    %1 = sbp.boxing %gw : tensor<2x17xf32, #P> -> tensor<2x17xf32, #S_l_0_>                                              // before
    %1 = sbp.bucket_pack %gw, %gb at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>   // after
    %2 = sbp.boxing %1 : tensor<64xf32, #P> -> tensor<64xf32, #S0_> bucket #sbp.slot<@l, 0 of 64>                        // after
    ```
    - C1: Functions take and return no slot, and every tensor has a signature.
    - C2: A variable that lies in a bucket is a member of it, or the state of a member.
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def ResizeAxisPass : Pass<"sbp-resize-axis", "mlir::ModuleOp"> {
  let summary = "Moves the module to a placement whose axis has another size";
  let description = [{
    The pass replaces attributes only; global shapes do not change. So the cost of a model on 1,024 ranks can be
    computed on any machine. It runs before 'sbp-zero-storage', since buckets are padded to the size of the axis. From
    tests/passes/global/resize_axis_example.mlir, with `axis=dp size=1024`:
    ```mlir
    #cpu_dp4_ = #sbp.placement<"cpu", [dp = 4]>         // before
    #cpu_dp1024_ = #sbp.placement<"cpu", [dp = 1024]>   // after
    ```
    - C1: The placement has the axis, and lists no ranks of its own.
    - C2: The new placement has at most 2^20 positions.
    - C3: No tensor is split as a slot.
    - C4: Units divide the lengths that they split on the new placement, too.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"\"", "The axis to resize; if it is empty, the first">,
    Option<"size", "size", "int64_t", "1", "The new size of the axis">,
  ];
}

def HoistGathersPass : Pass<"sbp-hoist-gathers", "mlir::ModuleOp"> {
  let summary = "Moves gathers that all micro-batches of a step repeat into a prologue";
  let description = [{
    Several runs of a schedule may gather the value that a variable or bucket has at the start of the step. If its
    policy is `keep = step`, a prologue gathers it once and assigns it to a carried variable, which the runs read; it
    stays whole until the step ends. Values that are gathered once per step, that the user split, or that a kept run
    gathers are not hoisted. Nor are gathers of functions that several schedules run, that one schedule runs twice, or
    whose effects are unknown. From tests/passes/global/hoist_gathers_example.mlir:
    ```mlir
    sbp.run @train.first from 0 to 1 takes [0] cut [0]                                               // before
    func.func @train.prologue() {                                                                    // after
    sbp.assign @w.gathered, %whole : tensor<10x4xf32, #B>
    sbp.run @train.prologue from 0 to 1 takes [] cut []
    sbp.run @train.first from 0 to 1 takes [0] cut [0]
    ```
  }];
}

def HoldGathersPass : Pass<"sbp-hold-gathers", "mlir::ModuleOp"> {
  let summary = "Moves a function's gathers into a prologue whose results are kept between its runs";
  let description = [{
    A function that assigns nothing (because it evaluates, or generates a text token by token) gathers the same values
    in each run. If the gathered values together have at most `limit-bytes` bytes (2^28 by default), each counted as a
    whole global tensor, the function becomes a schedule: a prologue gathers them and assigns them to carried variables,
    and the rest of the function reads these. The prologue is `kept` (sbp.run). Values that the user split, and sums
    over ranks, are gathered at their use as before; functions that a schedule runs already do not change. The choice
    depends only on global shapes, so that all ranks make the same. From tests/passes/global/hold_gathers_example.mlir:
    ```mlir
    func.func @predict(%x: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {                        // before
    func.func @predict.prologue() {                                                                  // after
    sbp.assign @w.gathered, %whole : tensor<10x4xf32, #B>
    func.func @predict.main(%x: tensor<8x10xf32, #S0_>) -> tensor<8x4xf32, #S0_> {
    %held = sbp.read @w.gathered : tensor<10x4xf32, #B>
    sbp.schedule @predict of 1 {
    sbp.run @predict.prologue from 0 to 1 takes [] cut [] kept
    sbp.run @predict.main from 0 to 1 takes [0] cut [-1] gives [0] joined [-1]
    ```
  }];
  let options = [Option<"limitBytes", "limit-bytes", "int64_t", "splitcast::sbp::ZeroOptions().holdGathersBytes",
                        "The most bytes that a function may hold, at least 0; 0: nothing is held">];
}

def InterleaveRunsPass : Pass<"sbp-interleave-runs", "mlir::ModuleOp"> {
  let summary = "Puts a step's micro-batches into the order of a pipeline, where layers lie at ranks of an axis";
  let description = [{
    If the functions of a schedule move values from one coordinate of an axis to another, its runs become one run of one
    function, which computes all micro-batches. The order of its ops lets ranks work at the same time
    (dialects/sbp/algebra/PipelineOrder.h); it changes no bit. Kept runs do not change, and neither do steps of one
    micro-batch. From tests/passes/global/interleave_runs_example.mlir:
    ```mlir
    sbp.run @train.first from 0 to 1 takes [0] cut [0] gives [0] joined [0]                // before
    sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [0]
    sbp.run @train.pipeline from 0 to 1 takes [0, 0] cut [0, 0] gives [0, 0] joined [0, 0] {gives_ahead = array<i64: 0, 1>, takes_ahead = array<i64: 0, 1>} // after
    ```
  }];
  let options = [Option<"schedule", "schedule", "std::string", "\"1f1b\"",
                        "The order of the micro-batches: 'sequential', 'gpipe' or '1f1b'">];
}

def ChoosePrefetchPass : Pass<"sbp-choose-prefetch", "mlir::ModuleOp"> {
  let summary = "Chooses how many groups ahead gathers start, where the policy is 'auto'";
  let description = [{
    The number of groups is such that the computation meanwhile takes as long as the gathers, if up to eight groups are
    enough, and the groups that are gathered ahead have together no more bytes than the largest group; else it is one.
    From tests/passes/global/choose_prefetch_example.mlir:
    ```mlir
    sbp.variable @c.w : tensor<128x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = auto>  // before
    sbp.variable @c.w : tensor<128x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = 2>     // after
    ```
  }];
}

def MergeEqualPass : Pass<"sbp-merge-equal", "mlir::func::FuncOp"> {
  let summary = "Merges equal ops, and reads of a variable without an assignment in between";
  let description = [{
    The pass does the same as upstream's 'cse' on a block without control flow, in linear time: 'cse' walks, for each
    read of a variable that was read before, over all ops between the two reads. From
    tests/passes/global/merge_equal_example.mlir:
    ```mlir
    %1 = sbp.read @w : tensor<4xf32>                          // before
    %2 = nn.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
    %3 = sbp.read @w : tensor<4xf32>
    %4 = nn.tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
    %1 = sbp.read @w : tensor<4xf32>                          // after, with %2 in the place of %4
    %2 = nn.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}

def VerifyGlobalPass : Pass<"sbp-verify-global", "mlir::ModuleOp"> {
  let summary = "Verifies the end of the global level: all signatures are decided, and storage matches its uses";
  let description = [{
    From tests/passes/global/verify_global.mlir:
    ```mlir
    %0 = nn.relu %x : (tensor<4xf32, #B>) -> tensor<4xf32>        // refused: a tensor without a signature
    %0 = nn.relu %x : (tensor<4xf32, #B>) -> tensor<4xf32, #B>    // legal
    ```
    - C1: Every tensor has a signature that fits it, and all are on one placement.
    - C2: Reads and assigns, of variables and of ranges, have the storage signature of their variable.
    - C3: No nn.minimize or nn.update is left.
    - C4: Functions have one block, and no argument or result is P, or at one coordinate of an axis.
    - C5: Functions take and return only ranked tensors.
    - C6: States of one variable have distinct roles.
    - C7: Members of a bucket agree on its size; those of one role also on their element type and on the axis along
      which they are split, and their slots do not overlap.
    - C8: Only sbp.bucket_member, sbp.bucket_pack, sbp.assign and ops with ShardingOpInterface have a slot of a bucket
      as operand or result.
    - C9: Only runs of schedules read a carried variable, after the first run that assigns it.
    - C10: A module contains no module.
    - C11: A kept run assigns only carried variables; no other run of its schedule assigns what it reads or assigns.
    - C12: An op that sums and rounds, and is computed again from fenced values, has the signatures of the first.
  }];
}

#endif // SPLITCAST_PASSES_GLOBAL_PASSES_TD
