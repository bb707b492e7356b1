"""splitcast.torch.compile: makes a graph of a model's training, and a Trainer of the graph."""
from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import splitcast
import splitcast as sc
import torch
from splitcast.torch import (
    _batches,
    _constants,
    _export,
    _facts,
    _following,
    _gradients,
    _import,
    _optimizers,
    _randomness,
    _reading,
    _sharing,
    _surroundings,
)
from splitcast.torch._batches import Batch
from splitcast.torch._export import Loss
from splitcast.torch._places import place_of
from splitcast.torch._state import Rates, Watched
from splitcast.torch._trainer import Trainer
from splitcast.torch.ops import Missing, is_integer

OLDEST = (2, 6)  # the oldest supported version of PyTorch
Policy = int | str | dict[str, Any]  # of ZeRO: a stage, or options


def compile(module: torch.nn.Module, loss: Loss, example_inputs: Batch,
            optimizer: splitcast.Optimizer | torch.optim.Optimizer, *, enable_zero: Policy | None = None,
            policies: Mapping[str, Policy] | None = None, mesh: Mapping[str, int] | None = None,
            whole_batch: bool = False, batch_dims: Mapping[str, int | None] | None = None,
            other_inputs: Sequence[Batch] = (), evaluate: bool = True, seed: int | None = None,
            accumulate: int | None = None, accumulate_order: Literal["per-micro-batch", "per-step"] | None = None,
            clip_norm: float | None = None, clip_value: float | None = None, gradient_norm: bool = False,
            loss_scale: splitcast.LossScale | None = None, reproducible: bool = False,
            schedule: splitcast.RateSchedule | None = None) -> Trainer:
    """Compiles the training of `module` for this rank. All ranks must call it with the same arguments; batches differ.

    What is trained:

    module: the model, in the modes and on the values that training begins with. It must be the same on all ranks.
    loss: a function of the module and of the batch's tensors by name that returns the mean over the batch, a tensor of
      shape [], such as `lambda model, x, labels: F.cross_entropy(model(x), labels)`; or a dict of tensors with it as
      "loss", of which Trainer.evaluate can return the others.
    optimizer: a splitcast.Optimizer, or a torch.optim.SGD, Adam, AdamW, RMSprop or Adagrad, whose hyperparameters and
      parameter groups are read. A scheduler of PyTorch may change its learning rates from step to step.

    Batches:

    example_inputs: a dict of tensors [rows of this rank, ...], by name. The rows of all ranks, in the order of ranks,
      are the global batch; ranks must share it evenly, where the first ranks may have one row more. A tensor without
      dimensions (a temperature, say) is not split: all ranks must give the same value, and step() takes a number, too.
    whole_batch: whether the tensors here and in step() are the global batch, [all rows, ...], the same on all ranks.
    batch_dims: by an input's name, the dimension of its rows where that is not the first, such as 1 of [steps, samples,
      width]; or None for a tensor that is not split, such as a mask or a weight of one element, of which all ranks give
      the same whole one.
    other_inputs: further examples, of other extents than example_inputs, such as the last batch, which has fewer rows.
      Each is compiled as a shape of its own on the same variables, for step() and evaluate() to take. All ranks must
      call them with batches of one shape.
    evaluate: whether to compile a function for Trainer.evaluate, too.

    What ranks share:

    enable_zero: what of the training's state ranks share: a stage from 0 (nothing) to 3 (parameters, gradients and the
      optimizer's state), or options as in splitcast.Graph.compile, such as {"stage": 2, "compute_type": "bf16"}.
    policies: the same for groups of variables, by the group's name ("transformer.h.0", or "transformer.h" for all of
      its blocks): options as in splitcast.Graph.group.
    mesh: the axes of ranks and their extents, the first of which splits the batch's rows; by default
      {"dp": splitcast.size()}. Ranks that differ only along other axes have the same rows.

    Steps:

    seed: of what steps draw at random, a whole number from 0 to 2^63 - 1; by default PyTorch's generator of the CPU
      draws it here, on rank 0. The same seed draws alike on any number of ranks and at any stage.
    accumulate: into how many micro-batches each rank's rows are split, one computed after the other; by default they
      are one. Ranks must share each of them evenly: micro-batch i has the i-th part of each rank's rows, in the order
      of ranks, and the global batch is one micro-batch after the other.
    accumulate_order: when ranks sum up the gradients of micro-batches: "per-micro-batch", after each, which is the
      default; or once "per-step", until when each rank keeps whole sums.
    clip_norm, clip_value: the largest norm of all gradients together, by which they are scaled down, or the largest
      size of each element; at most one of both. The unit is that of the loss by that of parameters.
    gradient_norm: whether the variable "optimizer.gradient_norm" keeps that norm, before clipping: see
      trainer.session.read.
    loss_scale: a factor of the loss in backward, so that f16 can hold the gradients: splitcast.LossScale().
    reproducible: whether sums over the batch are exact, and so the same bits for any number of ranks.
    schedule: the factor of the learning rate at each step, such as splitcast.CosineRate(steps=1000, warmup=100), in
      steps. With it, an optimizer of PyTorch must not have a scheduler.

    Returns a Trainer, for the shapes of example_inputs and of other_inputs.

    Raises splitcast.InvalidError if PyTorch is too old; if the model cannot be exported or needs ops that are not
    supported (all of them are named with their files and lines); if an argument is not allowed; if ranks have different
    models or batches of shapes that they cannot share. Raises splitcast.Error if another rank has failed.
    """
    options = {"accumulate": accumulate, "accumulate_order": accumulate_order, "clip_norm": clip_norm,
               "clip_value": clip_value, "gradient_norm": gradient_norm or None, "loss_scale": loss_scale,
               "reproducible": reproducible or None, "schedule": schedule}
    step_options = {name: value for name, value in options.items() if value is not None}
    axes = dict(mesh) if mesh else {"dp": sc.size()}
    _require_version()
    _require_unwrapped(module)
    _require_shapes(module)
    _following.require_given_to(module)
    surroundings, sharing = _surroundings.Surroundings(), _sharing.Sharing(module)
    sharing.require_one_update(optimizer, step_options)
    seed = _randomness.seed_of(seed)
    functions = _Functions(sc.Graph(axes if mesh else None), module, loss, optimizer, sharing, step_options)
    layout = _batches.Layout(example_inputs, batch_dims, other_inputs, whole_batch, next(iter(axes.values())),
                             _micro_batches_of(step_options))
    functions.define(layout, ("train", "evaluate") if evaluate else ("train",))
    _set_policies(functions.graph, module, policies or {})
    session = functions.graph.compile(enable_zero=enable_zero, seed=seed, not_in_files=list(functions.constants.values))
    _require_rows_of_outputs(session, functions.outputs)
    trainer = functions.trainer(session, layout, surroundings, f"enable_zero={enable_zero!r}, mesh {axes}")
    trainer.begin(module, functions.constants.values)
    return trainer


class _Functions:
    """The functions of a graph by which a model is trained and evaluated, and what is known of the model from them.

    define() adds one after the other. What they have in common are the graph's variables: those that the first function
    trains or changes must be those of all.
    """

    def __init__(self, graph: sc.Graph, module: torch.nn.Module, loss: Loss,
                 optimizer: sc.Optimizer | torch.optim.Optimizer, sharing: _sharing.Sharing,
                 step_options: Mapping[str, Any]) -> None:
        self.graph = graph
        self.constants = _constants.Constants()
        self.outputs: dict[str, torch.dtype] = {}  # what an evaluation gives beside the loss, by name
        self._module = module
        self._loss = loss
        self._optimizer = optimizer
        self._sharing = sharing
        self._step_options = step_options
        self._trainable = _optimizers.trainable_of(module, optimizer, step_options)
        self._with_gradients: set[str] = set()  # the names of parameters that are trained
        self._trained: set[str] = set()  # these, and the names of the variables that hold them
        self._changed: set[str] = set()  # the names of buffers that steps change
        self._all_rates: Rates = {}
        self._rates: Rates = {}  # those that steps follow
        self._facts: dict[str, _facts.Facts] = {}  # by function
        self._draws = False  # whether an evaluation draws random numbers

    def define(self, layout: _batches.Layout, kinds: Iterable[str]) -> None:
        """Adds a function of each kind, "train" or "evaluate", for each shape of batch. The model keeps its modes."""
        modes = {part: part.training for part in self._module.modules()}
        try:
            for suffix, batch in layout.batches.items():
                for kind in kinds:
                    _set_modes(modes if kind == "train" else _modes_of_evaluation(self._module))
                    self._define(kind, suffix, batch, layout)
        except Missing as missing:
            raise sc.InvalidError(str(missing)) from missing
        finally:
            _set_modes(modes)

    def _define(self, kind: str, suffix: str, batch: Mapping[str, torch.Tensor], layout: _batches.Layout) -> None:
        """Adds one function. suffix: the ending of its name, which only the first shape of batch lacks."""
        trains = kind == "train"
        with _reading.Reading(self._module, self._loss, trains) as reading:
            program = _export.export(self._module, self._loss, batch, outputs=not trains, reading=reading)
        facts = self._facts[kind + suffix] = _facts.Facts(reading)
        if trains:
            layout.require_known_rows(program, batch)
            self._note_trained(program, is_first=not suffix)
        else:
            self._draws = self._draws or _randomness.draws(program)
        importer = _import.Importer(self.graph, program, self._trained, self._changed, self.constants, self._sharing,
                                    facts.tensors, place_of(self._loss))
        self.graph.function(kind + suffix)
        result = importer.run({name: self.graph.input(name, _import.input_type(value.dtype), tuple(value.shape),
                                                      layout.of(name)) for name, value in batch.items()})
        self._changed = _require_same_changes(self._changed, importer.changed) if suffix else set(importer.changed)
        if trains:
            self._minimize(result, program, importer)
        self.graph.output("loss", result)
        for name, (value, _) in importer.outputs.items():
            self.graph.output(name, value)
        self.outputs = {name: dtype for name, (_, dtype) in importer.outputs.items()}
        _export.release(program)

    def _note_trained(self, program: torch.export.ExportedProgram, is_first: bool) -> None:
        found = self._trainable & _gradients.with_gradients(program)
        self._with_gradients = found if is_first else _gradients.require_same(self._with_gradients, found)
        self._trained = self._sharing.with_variables(found)

    def _minimize(self, loss: sc.Tensor, program: torch.export.ExportedProgram, importer: _import.Importer) -> None:
        """Makes the function a step of the optimizer."""
        if is_integer(loss):
            raise sc.InvalidError("the loss is a whole number, which has no gradient; return a sum or mean of floats"
                                  f"{importer.place}")
        variables = _optimizers.variables_of(self._module, self.graph.variable_names)
        rules = _optimizers.rules_of(variables, self._optimizer, self._trained)
        _optimizers.declare_rates(self.graph, self._optimizer, rules.rates)
        self._all_rates = rules.rates
        self._rates = _optimizers.rates_to_follow(rules.rates, self._optimizer, self._step_options)
        parameters = importer.parameters(self._trained)
        minimized = _gradients.of_all(loss, program, parameters, self._sharing.name_of)
        self.graph.minimize(_optimizers.with_decay(minimized, rules.decays, parameters, self._step_options),
                            rules.default, groups=rules.groups, **self._step_options)

    def trainer(self, session: sc.Session, layout: _batches.Layout, surroundings: _surroundings.Surroundings,
                setting: str) -> Trainer:
        """The Trainer of the session of these functions."""
        parts = [part for name, facts in self._facts.items() if name.startswith("train") for part in facts.modules()]
        return Trainer(self.graph, session, self._module, layout, _randomness.Evaluations(session, self._draws),
                       self.outputs, Watched(self._module, self._optimizer, self._rates, parts), self.constants,
                       self._trained | self._changed, surroundings, self._facts, setting,
                       functools.partial(_optimizers.counts_of, self._optimizer, self._all_rates))


def _modes_of_evaluation(module: torch.nn.Module) -> dict[torch.nn.Module, bool]:
    """The modes of all parts after eval(). Where a part of the user's has an eval() or train() of its own, a copy
    without values is asked, since the call may change more than modes.

    Raises InvalidError if there can be no such copy.
    """
    parts = list(module.modules())
    own = [part for part in parts if not all(method.__module__.startswith("torch.") for method in (
        type(part).train, type(part).eval))]
    if not own:
        return dict.fromkeys(parts, False)
    tensors = [*module.parameters(), *module.buffers()]
    memo: dict[int, Any] = {id(each): torch.empty_like(each, device="meta") for each in tensors}
    memo.update({id(each): torch.nn.Parameter(memo[id(each)], each.requires_grad) for each in module.parameters()})
    try:
        copied = copy.deepcopy(module, memo)
        copied.eval()
    except Exception as error:
        method = "eval" if "eval" in vars(type(own[0])) else "train"
        raise sc.InvalidError(
            f"a {type(own[0]).__name__} has its own {method}(), and what it does cannot be found out on a copy of the "
            f"model ({type(error).__name__}: {error}); give evaluate=False to compile()") from error
    return {part: other.training for part, other in zip(parts, copied.modules())}


def _set_modes(modes: Mapping[torch.nn.Module, bool]) -> None:
    for part, mode in modes.items():
        part.training = mode


def _micro_batches_of(step_options: Mapping[str, Any]) -> int:
    accumulate = step_options.get("accumulate")
    return accumulate if isinstance(accumulate, int) and accumulate > 0 else 1  # minimize() refuses others


def _set_policies(graph: sc.Graph, module: torch.nn.Module, policies: Mapping[str, Policy]) -> None:
    tensors = _optimizers.variables_of(module, graph.variable_names).tensors
    groups = {_import.group_of(name) for name in tensors}
    for name, policy in policies.items():
        _require_group(name, groups)
        graph.group(name, policy)


# ---- What is required ----


def _require_same_changes(of_example: set[str], of_other: set[str]) -> set[str]:
    """Checks that a batch of other_inputs changes the buffers that example_inputs does, and returns these."""
    if of_example != of_other:
        raise sc.InvalidError(
            f"buffer '{min(of_other ^ of_example)}' is changed by a batch of other_inputs, but not by example_inputs; "
            "compile() supports batches of several shapes only where all of them change the same buffers")
    return of_example


def _require_version() -> None:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise sc.InvalidError(f"PyTorch is {torch.__version__}; splitcast.torch needs {oldest} or newer")


def _require_rows_of_outputs(session: sc.Session, names: Iterable[str]) -> None:
    """Checks that ranks have whole rows of the outputs: another layout would follow from the model's last ops."""
    for name in names:
        of = session.outputs("evaluate")[name]
        if of["local_shape"][1:] != of["shape"][1:]:
            raise sc.InvalidError(
                f"output '{name}' {list(of['shape'])} is split between ranks along another dimension than the first; "
                "return it with the batch's rows first")


def _require_unwrapped(module: torch.nn.Module) -> None:
    if isinstance(module, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
        raise sc.InvalidError(
            f"the model is wrapped in {type(module).__name__}, but Splitcast itself adds up the gradients of ranks; "
            "give model.module, and the optimizer its parameters")


def _require_shapes(module: torch.nn.Module) -> None:
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if torch.nn.parameter.is_lazy(tensor):
            raise sc.InvalidError(f"'{name}' has no shape yet, since its part is lazy; call the model once, with a "
                                  "batch, before compile() and before the optimizer is made")


def _require_group(name: str, groups: Iterable[str]) -> None:
    """Checks that there is a group of this name, or one within it."""
    if not any(each == name or each.startswith(name + ".") for each in groups):
        known = ", ".join(f"'{each}'" for each in sorted(groups))
        raise sc.InvalidError(
            f"policies= has the group '{name}', which the model does not have; its groups are {known}, and the modules "
            "that they are in")
