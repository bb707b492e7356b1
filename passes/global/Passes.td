//===- Passes.td - From what a user wrote to explicit communication ------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PASSES_TD
#define SPLITCAST_PASSES_GLOBAL_PASSES_TD

include "mlir/Pass/PassBase.td"

def MixedPrecisionPass : Pass<"nn-mixed-precision", "mlir::ModuleOp"> {
  let summary = "Computes in a smaller type than variables have, which stay master weights";
  let description = [{
    A variable with `compute-type` in its policy is cast where the graph reads it. Products of what was cast are of the small type; norms, sums,
    exponentials, logarithms and losses of the type that they had, and so are rows of an embedding once they are looked up; all else of the widest of its operands, where scalars and constants do not count. What a function
    returns or assigns keeps its type, and so does optimizer state. Backward follows: the gradient of a use in the small type is of the small type, rounded once, and is extended before uses and ranks add it up; that of a use in the
    variable's type is of it.
    Variables that are assigned by other ops than nn.minimize, scalars, and those of a type that is no wider, are read as they are. A variable's policy says
    afterwards whether it is cast. Before 'nn-differentiate'. From tests/passes/global/mixed_precision_example.mlir:
    ```mlir
    %1 = nn.matmul %x, %0 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>                 // before
    %W = nn.cast %READ : (tensor<4x2xf32>) -> tensor<4x2xbf16>                                    // after
    %A = nn.cast %arg0 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %Y = nn.matmul %A, %W : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
    ```
  }];
  let options = [Option<"computeType", "compute-type", "std::string", "\"own\"", "Of variables that do not say it, and whose groups do not: own, bf16 or f16">];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def DifferentiatePass : Pass<"nn-differentiate", "mlir::ModuleOp"> {
  let summary = "Replaces nn.minimize by the backward ops and one nn.update per trainable variable";
  let description = [{
    Reverse mode over GradientOpInterface. Backward ops hang on a value that is fenced in a scope "backward", by which later
    passes know them. A gradient with several contributions is their sum, in the reverse order of the uses. Variables that
    are frozen or carried, or on which the loss does not depend, get no update; those in one of nn.minimize's groups are updated by its optimizer. A group
    of none of them is an error, and so is a variable in two, and one of a shape that its optimizer does not update. Ops on the way that have no gradient are reported, all
    of them at once. An update has the gradient at one value: where a variable is assigned between reads of it, what was read before counts as
    a constant. Where variables are at coordinates, a gradient that has all its contributions is put beside its value (sbp.colocate), and what an op of a gradient takes of forward alone beside the result of the op that took it there; a scalar is not.
    From tests/passes/global/differentiate_example.mlir:
    ```mlir
    nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>                       // before
    nn.update @w, %dw in %scope : tensor<4x2xf32> with #nn.sgd<lr = 0.5>         // after
    ```
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def SplitClassesPass : Pass<"nn-split-classes", "mlir::ModuleOp"> {
  let summary = "Cross-entropy over classes that ranks divide, of which none has all logits of a row";
  let description = [{
    Where the logits are a product with weights that their user has split along the classes, each rank has those of its classes. nn.softmax_cross_entropy, which
    needs a row whole, becomes the logarithms of the parts' sums of exponentials, of which ranks tell each other one number per row, less the label's logit, which
    one rank has; its gradient is given that logarithm, and needs no row. Behind the product may stand what is done to each element. After 'nn-differentiate'. From
    tests/passes/global/split_classes_example.mlir:
    ```mlir
    %2 = nn.softmax_cross_entropy %1, %labels {ignored = -100 : i64} : (tensor<8x12xf32>, tensor<8xi64, #SB>) -> tensor<8xf32>   // before
    %PARTS = nn.log_sum_exp %BLOCKS : (tensor<8x4x3xf32>) -> tensor<8x4xf32>                                                   // after
    %ALL = nn.log_sum_exp %PARTS : (tensor<8x4xf32>) -> tensor<8xf32>
    %OWN = nn.take %LOGITS, %arg1 {ignored = -100 : i64}
    %LOSS = nn.sub %ALL, %OWN : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
    Classes that the ranks do not divide evenly are left to be gathered, and a warning says so.
  }];
  let dependentDialects = ["splitcast::nn::NnDialect"];
}

def ScaleLossesPass : Pass<"nn-scale-losses", "mlir::ModuleOp"> {
  let summary = "Divides gradients of scaled losses, and leaves out steps in which one is not finite";
  let description = [{
    With nn.minimize's loss_scale, backward begins with a scale that small floats need (@optimizer.loss_scale). Each gradient is divided by it as the update gets
    it: fenced in the scope of its update, so that it may lie as ZeRO stores the variable. What is not finite in all of them together is counted (nn.nonfinite),
    one number that ranks add up. The updates are left out unless it is 0: variables and states are then assigned what they were, by selection, so that all ranks
    run the same. As loss_scale says, the scale backs off then, and grows after enough steps in a row. After 'nn-differentiate', before 'nn-clip-gradients'. From
    tests/passes/global/scale_losses_example.mlir:
    ```mlir
    nn.update @w, %g scaled by %scale : tensor<f32> in %scope {loss_scale = #nn.loss_scale<...>} : tensor<4xf32> with #nn.sgd<lr = 0.5>   // before
    %f = sbp.fence %g in %scope : tensor<4xf32>                                                                                       // after
    %divided = nn.mul %f, %inverse : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %i = nn.nonfinite %divided : (tensor<4xf32>) -> tensor<f64>
    nn.update @w, %divided unless %nonfinite : tensor<f64> in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>
    ```
    Updates whose gradients are all made before the first of them are left out together, as those of one loss are; the scale changes once in a function, by
    what is not finite in any of them.
    - C1: Updates that are scaled by one value have the same loss_scale.
    - C2: They are not left out by anything else.
    - C3: @optimizer.loss_scale and @optimizer.finite_steps, where the scale changes, are scalars of f32 and f64.
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def ClipGradientsPass : Pass<"nn-clip-gradients", "mlir::ModuleOp"> {
  let summary = "Clips the gradients of updates, by value or by the norm of all that share it";
  let description = [{
    A gradient is clipped as the update gets it: fenced in the scope of its update, so that it may lie as ZeRO stores the variable. Its sum of squares is made of
    parts that have no rounding (nn.square_parts): so nothing is gathered for the norm, ranks add up 24 numbers, and the bits are the same at every stage. The
    parts of a group's variables are added up first, then those of the groups, since those of a group lie alike. Gradients whose norm is no more than
    clip_norm stay as they are, to the bit; others are multiplied by clip_norm / (norm + 10^-6), as PyTorch's clip_grad_norm_ does. After 'nn-differentiate',
    before 'nn-expand-optimizers'. From tests/passes/global/clip_gradients_example.mlir:
    ```mlir
    nn.update @w, %g in %scope {clip_norm = 1.0, clip_set = 0} : tensor<4xf32> with #nn.sgd<lr = 0.5>      // before
    %f = sbp.fence %g in %scope : tensor<4xf32>                                                          // after
    %parts = nn.square_parts %f : (tensor<4xf32>) -> tensor<24xf64>
    %clipped = nn.mul %f, %coefficient : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    nn.update @w, %clipped in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>
    ```
    - C1: Updates that share a norm have the same clip_norm.
    - C2: Their gradients are made before the first of them.
    - C3: Together they have at most 2^34 elements.
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def ExpandOptimizersPass : Pass<"nn-expand-optimizers", "mlir::ModuleOp"> {
  let summary = "Replaces nn.update by elementwise ops, state variables and assignments";
  let description = [{
    State is a variable beside its own (@w.exp_avg), with its type and group; the learning rate is a variable too. So are
    the powers of betas, which say how many updates a variable has had: variables that have the same updates, by the same
    optimizers in the same functions, share them. Where all do, these are @optimizer.beta1_power and
    @optimizer.beta2_power; else each of the sets is named after its functions, @optimizer.generator.beta1_power. Groups of variables have
    their own: @optimizer.no_decay.learning_rate, @optimizer.no_decay.beta1_power.
    Everything that an update reads is fenced in the scope of that update. From
    tests/passes/global/expand_optimizers_example.mlir:
    ```mlir
    nn.update @w, %g in %scope : tensor<4xf32> with #nn.sgd<lr = 0.5>            // before
    sbp.assign @w, %new : tensor<4xf32>                                          // after: %new = %w - %lr * %g
    ```
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def RecomputePass : Pass<"nn-recompute", "mlir::ModuleOp"> {
  let summary = "Makes again in backward what forward made in groups that say so, instead of keeping it";
  let description = [{
    An op of forward is of the group whose variable it reads, or else of the latest group that its operands are of, by their first use: a
    transformer's block, say. What only its own group and backward use of its results is then made again where backward first needs it, from
    what other groups, arguments and variables give, which is kept. These are fenced in a scope of backward, so that nothing merges
    the two. Scalars are kept. Of a group that says `elementwise`, only results of elementwise ops are made again, of operands that backward
    uses, too, and that are no parameters: that costs no product, no gather and nothing that is kept for it alone, as a gelu's result, of the sum that its gradient needs. After 'nn-differentiate', before 'sbp-zero-storage'. From
    tests/passes/global/recompute_example.mlir:
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
    Option<"standard", "recompute", "::splitcast::sbp::Recompute", "::splitcast::sbp::Recompute::No", "Of groups that do not say it",
           [{::llvm::cl::values(
               clEnumValN(::splitcast::sbp::Recompute::No, "no", "everything is kept"),
               clEnumValN(::splitcast::sbp::Recompute::Yes, "yes", "all that does not leave its group is made again"),
               clEnumValN(::splitcast::sbp::Recompute::Elementwise, "elementwise", "what elementwise ops make of what is kept"))}]>,
    ListOption<"groups", "groups", "std::string", "Groups that are recomputed whatever they say, and those within them">,
  ];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def ExactSumsPass : Pass<"sbp-exact-sums", "mlir::ModuleOp"> {
  let summary = "Makes sums over the batch of parts that have no rounding";
  let description = [{
    Of each function that updates by a gradient and is to be reproducible: what it needs summed over its batch (gradients, the loss, a number of
    labels) is made, with nn.exact_sum, of the sums of three parts of each addend (nn.exact_part). So its bits do not depend on how many ranks there
    are, in which order they reduce, and whether they do per micro-batch or per step, as long as there are as many micro-batches in all, of
    the same rows. A sum of f32 sends six times the bytes, in three times the calls, and accumulators take as many. What ranks add up along an axis
    that does not split the batch, and integers, stay as they are; 'sbp-propagate' refuses what else would differ with the number of ranks. After 'nn-expand-optimizers', before 'sbp-split-steps'. Before and after (from
    tests/passes/global/exact_sums_example.mlir):
    ```mlir
    func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {                                              // before
    %g0 = nn.exact_part %g {part = 0 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf64>                             // after
    %f0 = sbp.fence %g0 in %s : tensor<4x2xf64>
    %f = nn.exact_sum %f0, %f1, %f2 : (tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xf32>
    ```
    A function says itself whether it is reproducible with the attribute `sbp.reproducible`.
    - C1: The compiler makes its schedule, if it has one.
    - C2: There are at most 2^14 addends: micro-batches times ranks.
    - C3: The axis splits an argument, and micro-batches times the ranks that split a dimension of one divide it.
    - C4: As C2 of 'sbp-split-steps', in one micro-batch, too.
    - C5: Its losses are not scaled.
  }];
  let options = [
    Option<"reproducible", "reproducible", "bool", "false", "Of functions that do not say it with sbp.reproducible">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "As of 'sbp-split-steps'">,
    Option<"axis", "axis", "std::string", "\"\"", "As of 'sbp-split-steps'">,
  ];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect"];
}

def SplitStepsPass : Pass<"sbp-split-steps", "mlir::ModuleOp"> {
  let summary = "Makes a schedule of micro-batches of each function that updates by a gradient";
  let description = [{
    Functions of one micro-batch take its part of each input that ranks split along the axis; what of them is summed over the batch is
    accumulated in carried variables: gradients in state of the variable that they are for, of role `accumulated`. Updates, assignments
    and results belong to the last run. What needs a sum over the batch before the next loss (the number of labels that count) is a loop of its
    own. After 'nn-expand-optimizers', before 'sbp-zero-storage'. Before and after, `micro-batches=3` (from
    tests/passes/global/split_steps_example.mlir):
    ```mlir
    func.func @train(%x: tensor<12x4xf32, #S0_>) -> tensor<f32> {                   // before
    sbp.schedule @train of 3 {                                                      // after
      sbp.run @train.first from 0 to 1 takes [0] cut [0]
      sbp.run @train.next from 1 to 2 takes [0] cut [0]
      sbp.run @train.last from 2 to 3 takes [0] cut [0] gives [0] joined [-1]
    }
    ```
    A function says itself in how many with the attribute `sbp.micro_batches`, and in which order gradients are added up with
    `sbp.accumulate_order`: "per-micro-batch", over ranks and then onto what is accumulated, or "per-step", onto what each rank
    accumulates, which lies as it is made, P say, and once over ranks.
    - C1: There is at least one micro-batch and at most 2^20, and their number divides what they cut; the axis is one of the placement. No
      schedule runs the function already.
    - C2: No op needs a micro-batch's part of what is there for all, or of all what is computed for each.
    - C3: No micro-batch needs what the step assigns.
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "How many, of functions that do not say it with sbp.micro_batches">,
    Option<"order", "order", "std::string", "\"per-micro-batch\"",
           "Of what is added up, of functions that do not say it with sbp.accumulate_order: per-micro-batch or per-step">,
    Option<"axis", "axis", "std::string", "\"\"", "Whose splits of the arguments are cut; the first when not said">,
  ];
  let dependentDialects = ["splitcast::sbp::SbpDialect", "splitcast::nn::NnDialect", "mlir::func::FuncDialect"];
}

def ZeroStoragePass : Pass<"sbp-zero-storage", "mlir::ModuleOp"> {
  let summary = "Stores variables split along one axis (ZeRO 1, 2, 3)";
  let description = [{
    Changes how variables lie at rest and where they are updated, and nothing else; 'sbp-propagate' and 'sbp-insert-boxing'
    add the communication. What a variable's policy leaves open its groups say (sbp.group), then the options; the whole policy
    is written on the variable, and its groups are gone. Stage 1 and 2 split optimizer state and updates, stage 3 parameters too; what tells 1 from 2 is
    when gradients are reduced (see 'sbp-propagate'). Master weights, variables that are read in a smaller type (compute-type), count as optimizer
    state: from stage 1 on they are split, and what is read of them is gathered, at stages 1 and 2 once in a step. With strategy `bucket`, the variables of a group lie in one flat range,
    each from a multiple of 64 bytes on, padded so that all ranks hold equally much; with `whole`, they do so without being divided: each belongs to one
    rank of the axis, and the range is cut between ranks' variables. The largest go first, each to the rank with the fewest bytes of parameters and their
    state so far, over all groups. With `tensor`, each is split by rows, ragged where they do not divide. Stage 0 only assigns buckets. State lies as its parameter if it has the same shape and
    signature, else as it is declared. Variables of one bucket have one policy. Scalars, variables that the user split along the axis already, and variables that
    have a slot stay as they are. With `one-copy=yes`, parameters that stage 3 would split lie whole, as at stage 2, but for what is frozen and with strategy `whole`: where ranks of a
    machine have one copy of them, it takes no more than their pieces, and nothing is gathered elsewhere. (A session says so where it finds that they have; else
    `auto` is `no`.)
    Before and after, `stage=3 strategy=tensor` on 4 ranks (from tests/passes/global/zero_storage_example.mlir):
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
    Ops that nobody uses are erased first. In the order of the ops, each then gets the legal signature for which the fewest bytes move; among equals, the one that
    changes fewest operands, then the one that splits its result. With `look-ahead` signatures are chosen for the least sum of
    bytes over the function (dialects/sbp/algebra/Solver.h), where no rank computes more. Bytes are not all: what is moved
    between layers is waited for, while gradients are reduced beside backward. So it is not what `enable-zero` does. Signatures that the user wrote stay. What is made from
    nothing (constants, broadcasts of scalars) takes the signature that its user wants; several users get one each. What a variable has that its user has
    split, and what is made of that alone, is used as it lies wherever an op has such a row: activations are gathered or summed for it, whichever have more bytes. P stays P until an op needs
    more, so gradients are reduced once, after their last contribution. What is to be beside a value (sbp.colocate) is at its
    coordinates. What is fenced for an update gets the update
    signature of its variable: gradients before the fence, right after their last contribution, or behind it, when backward
    has ended, if the policy of the variable is ZeRO 1. Ops that are more than elementwise see what comes out of an update
    in the signature that it would have had without one, so that no sum depends on the stage. The location of each op that
    had a choice then has the reason, #sbp.row, and that of each boxing what wanted it, #sbp.wanted.
    From tests/passes/global/propagate_example.mlir:
    ```mlir
    %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32>         // before
    %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32, #S0_>   // after
    ```
  }];
  let options = [Option<"lookAhead", "look-ahead", "bool", "false", "Least bytes over the function, not op by op">];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def InsertBoxingPass : Pass<"sbp-insert-boxing", "mlir::ModuleOp"> {
  let summary = "Communicates where the storage of a variable differs from what the graph reads";
  let description = [{
    Reads give the storage signature and are boxed to the logical one: once for forward and once more for backward, each in a
    scope of its group, so that what was gathered is freed between the two. By a variable's policy it is kept instead: always,
    never, or if its group is the one that forward uses last and backward first. Assigned values are boxed to the storage.
    The location of each boxing says for which phase of which variable it is, #sbp.wanted.
    From tests/passes/global/insert_boxing_example.mlir:
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
  let summary = "One op on a bucket's range where there was one for each member";
  let description = [{
    A value that is a slot, S(@bucket), becomes the range that it lies in. Boxings of one bucket that belong together become one:
    reductions stand where the last member is there, gathers where the first is wanted. Elementwise ops on slots become ops on
    the range, and those that do the same to the same ranges are one: the update of a bucket is one op however many members it
    has. What only some members need is made of their parts, and these are assigned alone. What an op depends on always comes before it: boxings of which one
    depends on the other do not belong together. From tests/passes/global/join_buckets_example.mlir:
    ```mlir
    %1 = sbp.boxing %gw : tensor<2x17xf32, #P> -> tensor<2x17xf32, #S_l_0_>                                              // before
    %1 = sbp.bucket_pack %gw, %gb at [0, 48] of @l : (tensor<2x17xf32, #P>, tensor<6xf32, #P>) -> tensor<64xf32, #P>   // after
    %2 = sbp.boxing %1 : tensor<64xf32, #P> -> tensor<64xf32, #S0_> bucket #sbp.slot<@l, 0 of 64>                        // after
    ```
    - C1: Functions take and return no slot, and every tensor has a signature.
    - C2: A variable that lies in a bucket is a member of it, or the state of one.
  }];
  let dependentDialects = ["splitcast::sbp::SbpDialect"];
}

def ResizeAxisPass : Pass<"sbp-resize-axis", "mlir::ModuleOp"> {
  let summary = "Moves the module to a placement whose axis has another size";
  let description = [{
    Replaces attributes only; global shapes stay. What a model costs on 1,024 ranks can so be asked anywhere. Before
    'sbp-zero-storage', since buckets are padded to the size of the axis.
    From tests/passes/global/resize_axis_example.mlir, with `axis=dp size=1024`:
    ```mlir
    #cpu_dp4_ = #sbp.placement<"cpu", [dp = 4]>         // before
    #cpu_dp1024_ = #sbp.placement<"cpu", [dp = 1024]>   // after
    ```
    - C1: The placement has the axis, and lists no ranks of its own.
    - C2: The new placement has at most 2^20 positions.
    - C3: Nothing is split as a slot.
    - C4: Units divide what they split on the new placement, too.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"\"", "The axis; the first when not said">,
    Option<"size", "size", "int64_t", "1", "Its new size">,
  ];
}

def HoistGathersPass : Pass<"sbp-hoist-gathers", "mlir::ModuleOp"> {
  let summary = "A prologue of what the micro-batches of a step gather, and keep";
  let description = [{
    What several runs of a schedule gather of a variable or bucket as the step found it, and with the policy `keep = step`, a prologue gathers once
    and assigns to a carried variable, which they read. It is whole until the step ends. What is gathered once in a step stays where it is, and so
    do what its user split, what a kept run gathers, and functions that several schedules run, or one runs twice, or of whose effects nothing is
    known. From
    tests/passes/global/hoist_gathers_example.mlir:
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
  let summary = "A prologue of what a function gathers, that is kept between its runs";
  let description = [{
    A function that assigns nothing (evaluates, or writes a text token by token) gathers the same values in each run. Where what it
    gathers, whole, has `limit-bytes` or less, it becomes a schedule: a prologue gathers and assigns to carried variables, and
    the rest reads these. The prologue is `kept` (sbp.run). What lies split because its user said so, and what ranks add up, is gathered at its
    use as before; functions that a schedule runs already are left as they are. The choice depends on global shapes only, so all ranks make the same. From tests/passes/global/hold_gathers_example.mlir:
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
  let options = [Option<"limitBytes", "limit-bytes", "int64_t", "splitcast::sbp::ZeroOptions().holdGathersBytes", "What a function may hold; 0: nothing">];
}

def InterleaveRunsPass : Pass<"sbp-interleave-runs", "mlir::ModuleOp"> {
  let summary = "A step's micro-batches in the order of a pipeline, where layers lie at ranks of an axis";
  let description = [{
    Of a schedule whose functions move values from one coordinate of an axis to another, the runs become one, of a function of all
    micro-batches; and its ops come in an order in which ranks work side by side (dialects/sbp/algebra/PipelineOrder.h). The order changes no
    bit. What a kept run makes stays as it is, and so does a step in one. From tests/passes/global/interleave_runs_example.mlir:
    ```mlir
    sbp.run @train.first from 0 to 1 takes [0] cut [0] gives [0] joined [0]                // before
    sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [0]
    sbp.run @train.pipeline from 0 to 1 takes [0, 0] cut [0, 0] gives [0, 0] joined [0, 0] {gives_ahead = array<i64: 0, 1>, takes_ahead = array<i64: 0, 1>} // after
    ```
  }];
  let options = [Option<"schedule", "schedule", "std::string", "\"1f1b\"", "'sequential', 'gpipe' or '1f1b'">];
}

def ChoosePrefetchPass : Pass<"sbp-choose-prefetch", "mlir::ModuleOp"> {
  let summary = "Says how many groups ahead gathers start, where the policy is 'auto'";
  let description = [{
    As many that what is computed meanwhile takes as long as what is gathered, if up to eight are enough that have together no more
    bytes than the largest group; else one. From
    tests/passes/global/choose_prefetch_example.mlir:
    ```mlir
    sbp.variable @c.w : tensor<128x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = auto>  // before
    sbp.variable @c.w : tensor<128x256xf32, #B> storage #S0_ policy #sbp.policy<prefetch = 2>     // after
    ```
  }];
}

def MergeEqualPass : Pass<"sbp-merge-equal", "mlir::func::FuncOp"> {
  let summary = "Merges equal ops, and reads of a variable between which nothing is assigned";
  let description = [{
    Does what upstream's 'cse' does to a straight line, in time that is linear in its ops: that one walks, for each read of
    what was read before, over all ops between the two. From tests/passes/global/merge_equal_example.mlir:
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
  let summary = "The end of the global level: every signature decided, variables read and assigned as stored";
  let description = [{
    - C1: Every tensor has a signature that fits it, all on one placement.
    - C2: Reads and assigns, of variables and of ranges, have their variable's storage signature.
    - C3: No nn.minimize or nn.update is left.
    - C4: Functions have one block, and no tensor that is taken or returned is P, or at one coordinate of an axis.
    - C5: Functions take and return ranked tensors only.
    - C6: States of one variable have distinct roles.
    - C7: Members of a bucket agree on its size; those of one role also on their element type and on the axis along which
      they are split, and their slots do not overlap.
    - C8: No value is a slot of a bucket but what sbp.bucket_member gives and sbp.assign takes.
    - C9: What is carried is read by runs of schedules only, and behind the first that assigns it.
    - C10: A module holds no module.
    - C11: A kept run assigns only what is carried; what it reads or assigns, no other run of its schedule assigns.
  }];
}

#endif // SPLITCAST_PASSES_GLOBAL_PASSES_TD
