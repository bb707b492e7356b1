"""What a program does with a trainer between steps: random programs beside eager PyTorch, as in torch_programs.py, with
further optimizers, clipping, micro-batches, short batches, types of batches, evaluations, files and state dicts, and
several changes before a step. A program's losses, evaluations and last state are those of eager PyTorch, or it ends in
an error; there is no third outcome. Run on one and on three ranks by pytest (conftest.py). How more programs end:

    python3 torch_programs_trainers.py NUMBER_OF_PROGRAMS FIRST_SEED STAGE [ACTION]
"""
from __future__ import annotations

import collections
import contextlib
import copy
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.prune as prune

import torch_programs as programs
from torch_programs import LOSSES, MODELS, ROWS, World, rows_of
from torch_suite import Suite

STEPS = 8
Draw = random.Random
Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class Own(Exception):
    """An error of the program's own, which eager PyTorch has, too."""


def halves(parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    """Two groups."""
    return [{"params": parameters[::2]}, {"params": parameters[1::2], "lr": 0.02}]


OPTIMIZERS: list[Make] = [
    lambda p: torch.optim.SGD(p, 0.05),
    lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
    lambda p: torch.optim.SGD(halves(p), 0.05, momentum=0.8, nesterov=True, weight_decay=0.01),
    lambda p: torch.optim.Adam(p, 0.01),
    lambda p: torch.optim.Adam(halves(p), 0.01, betas=(0.8, 0.9), weight_decay=0.02),
    lambda p: torch.optim.AdamW(halves(p), 0.01),
    lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5),
    lambda p: torch.optim.Adagrad(p, 0.05),
]


class Program:
    """A World under a trainer, and the same one as eager PyTorch trains it."""

    def __init__(self, seed: int, draw: Draw, stage: int) -> None:
        has_hook = draw.random() < 0.2
        kind, of, self.make = draw.choice(MODELS), draw.choice(LOSSES), draw.choice(OPTIMIZERS)
        self.ours, self.eager = World(seed, kind, 0.0, of), World(seed, kind, 0.0, of)
        for world in (self.ours, self.eager):
            world.optimizer = self.optimizer_of(world)
            if has_hook:
                world.handle = world.model.register_forward_hook(  # type: ignore[attr-defined]
                    lambda part, given, result: result * 1.5)
        self.batches = torch.randn(3, ROWS, 4, generator=torch.Generator().manual_seed(seed))
        self.stage, self.kind = stage, kind
        has_decay = self.ours.optimizer.param_groups[0]["weight_decay"] and type(
            self.ours.optimizer) is not torch.optim.AdamW
        self.clipping: dict[str, float] = {} if has_decay else draw.choice(
            [{}, {}, {"clip_norm": 0.3}, {"clip_value": 0.05}])
        self.accumulate = draw.choice([None, None, None, 2])
        self.shapes = [ROWS] if self.accumulate else draw.choice([[ROWS], [ROWS], [ROWS], [ROWS, 5], [ROWS, 4]])
        self.evaluates = draw.random() < 0.4
        self.saved: list[Any] = []
        self.done: list[str] = []
        self.trainer = self.compiled()

    def optimizer_of(self, world: World) -> torch.optim.Optimizer:
        return self.make([each for each in world.model.parameters() if each.requires_grad])

    def compiled(self) -> splitcast.torch.Trainer:
        x = self.batches[0]
        return splitcast.torch.compile(
            self.ours.model, self.ours.loss(), {"x": rows_of(x)}, self.ours.optimizer, enable_zero=self.stage,
            accumulate=self.accumulate, evaluate=self.evaluates, seed=1,
            other_inputs=[{"x": rows_of(x[:each])} for each in self.shapes[1:]],
            **self.clipping)

    def step(self, x: torch.Tensor, given: Any = None) -> str:
        """Ours with this rank's rows `given`, where they are not those of x; '' or what differs."""
        one = self.trainer.step({"x": rows_of(x) if given is None else given})
        return self.difference("loss", one, as_own(lambda: self.step_eagerly(x)))

    def step_eagerly(self, x: torch.Tensor) -> float:
        w = self.eager
        w.optimizer.zero_grad()
        loss = w.loss()(w.model, x)
        loss.backward()
        trained = [each for each in w.model.parameters() if each.requires_grad]
        if "clip_norm" in self.clipping:
            nn.utils.clip_grad_norm_(trained, self.clipping["clip_norm"])
        if "clip_value" in self.clipping:
            nn.utils.clip_grad_value_(trained, self.clipping["clip_value"])
        w.optimizer.step()
        return loss.item()

    def evaluate(self, x: torch.Tensor) -> str:
        one = self.trainer.evaluate({"x": rows_of(x)})
        return self.difference("evaluation", one, as_own(lambda: self.evaluate_eagerly(x)))

    def evaluate_eagerly(self, x: torch.Tensor) -> float:
        w = self.eager
        modes = {part: part.training for part in w.model.modules()}
        w.model.eval()
        with torch.no_grad():
            loss = w.loss()(w.model, x)
        for part, mode in modes.items():
            part.training = mode
        return loss.item()

    @staticmethod
    def difference(what: str, one: float, other: float) -> str:
        if abs(one - other) <= 1e-5 * abs(other) + 1e-6 or (one != one and other != other):
            return ""
        return f"the {what} is {one}, eager {other}"

    def on_both(self, action: Callable[[World, Draw], object], draw: Draw) -> None:
        """Raises Own if it fails by itself on ours."""
        state = draw.getstate()
        try:
            action(self.ours, draw)
        except sc.InvalidError:
            raise
        except Exception as error:
            raise Own(f"{type(error).__name__}: {error}") from error
        draw.setstate(state)
        action(self.eager, draw)

    def last_difference(self) -> str:
        found = {name: value.double() for name, value in self.trainer.state_dict().items()}
        for name, value in programs.state_of(self.eager).items():
            if not torch.allclose(found[name], value, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"{name} is {found[name]}, eager {value}"
        self.trainer.write_back()
        for name, value in programs.state_of(self.ours).items():
            if not torch.equal(value.nan_to_num(), found[name].nan_to_num()):
                return f"{name} is not written back"
        rates = [[float(group["lr"]) for group in w.optimizer.param_groups] for w in (self.ours, self.eager)]
        return "" if np.allclose(*rates, rtol=1e-6) else f"the rates are {rates[0]}, eager's {rates[1]}"


def as_own(call: Callable[[], float]) -> float:
    """Raises Own where eager PyTorch fails."""
    try:
        return call()
    except Exception as error:
        raise Own(f"{type(error).__name__}: {error}") from error


# ---- What trainers do ----


def evaluate(p: Program, draw: Draw) -> str:
    return p.evaluate(p.batches[draw.randrange(3)][:draw.choice(p.shapes)]) if p.evaluates else ""


def write_back(p: Program, draw: Draw) -> None:
    p.trainer.write_back()


def save(p: Program, draw: Draw) -> None:
    directory = tempfile.mkdtemp() if programs.RANK == 0 else ""
    path = sc.exchange(directory, "a directory")[0] + "/saved.safetensors"
    p.trainer.save(path)
    p.saved = [path, copy.deepcopy(p.eager.model.state_dict()), copy.deepcopy(p.eager.optimizer.state_dict())]


def load(p: Program, draw: Draw) -> None:
    if p.saved:
        path, model, optimizer = p.saved
        has_state = not isinstance(p.eager.optimizer, torch.optim.SGD)  # else rates are not loaded
        p.trainer.load(path, strict=draw.random() < 0.5 or not has_state)
        p.eager.model.load_state_dict(model)
        p.eager.optimizer.load_state_dict(copy.deepcopy(optimizer))


def state_into_model(p: Program, draw: Draw) -> None:
    p.ours.model.load_state_dict(p.trainer.state_dict())


def state_into_model_and_edit(p: Program, draw: Draw) -> None:
    p.ours.model.load_state_dict(p.trainer.state_dict())
    p.on_both(programs.clamp, draw)


def state_into_trainer(p: Program, draw: Draw) -> None:
    generator = torch.Generator().manual_seed(draw.randrange(1000))
    state = {name: value + 0.1 * torch.rand(value.shape, generator=generator).to(value.dtype)
             for name, value in p.trainer.state_dict().items()}
    if draw.random() < 0.5:
        state.pop(draw.choice(list(state)))
    strict = draw.random() < 0.2
    p.trainer.load_state_dict(state, strict=strict)
    as_own(lambda: len(p.eager.model.load_state_dict(state, strict=strict)))


def compile_again(p: Program, draw: Draw) -> None:
    """With a new optimizer, and mostly with the values of now."""
    if draw.random() < 0.7:
        p.trainer.write_back()
    for world in (p.ours, p.eager):
        world.optimizer = p.optimizer_of(world)
    p.trainer, p.saved = p.compiled(), []


def other_type_of_batch(p: Program, draw: Draw) -> str:
    x = p.batches[draw.randrange(3)] * 3
    narrow = draw.choice([torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool])
    return p.step(x.to(narrow).double(), rows_of(x).to(narrow))


def batch_of_numpy(p: Program, draw: Draw) -> str:
    x = p.batches[draw.randrange(3)]
    kind = draw.choice([np.float64, np.float32, np.int32, np.dtype(">f8"), np.int8])
    given = rows_of(x).numpy().astype(kind)
    if draw.random() < 0.5:
        given = np.asfortranarray(given)[::-1][::-1]
    return p.step(torch.from_numpy(x.numpy().astype(kind).astype(np.float64)), given)


def strided_batch(p: Program, draw: Draw) -> str:
    x = p.batches[draw.randrange(3)]
    return p.step(x, draw.choice([rows_of(x).t().contiguous().t(), rows_of(x).repeat(1, 2)[:, :4],
                                  rows_of(x).clone().requires_grad_(), nn.Parameter(rows_of(x))]))


def changed_batch(p: Program, draw: Draw) -> str:
    """A batch's memory is written to again, as of a loader with buffers of its own."""
    x = p.batches[0].clone()
    one = p.step(x, given := rows_of(x).clone())
    given.fill_(7.0)
    return one or p.step(p.batches[1])


def wrong_batch(p: Program, draw: Draw) -> str:
    """What eager PyTorch refuses, or computes; it must not be anything else."""
    x = p.batches[0]
    return p.step(draw.choice([x[:, :3], x[:3], x[:0], x[None], x[0], x.repeat(2, 1), x.to(torch.complex128)]))


def extreme_batch(p: Program, draw: Draw) -> str:
    x = p.batches[0].clone()
    x[draw.randrange(ROWS), 0] = draw.choice([0.0, 1e3, -1e3])
    return p.step(x)


# ---- What programs do to a model's state beyond torch_programs.py ----


def some_buffer(w: World, draw: Draw) -> None:
    buffer = draw.choice(list(w.model.buffers()))
    with torch.no_grad():
        draw.choice([lambda b: b.add_(1), lambda b: b.mul_(2), lambda b: b.zero_().add_(1)])(buffer)


def assign_some_buffer(w: World, draw: Draw) -> None:
    name, value = draw.choice(list(w.model.named_buffers()))
    part, _, key = name.rpartition(".")
    setattr(w.model.get_submodule(part), key, value.clone() * 2)


def register_buffer(w: World, draw: Draw) -> None:
    w.model.register_buffer("tau", torch.tensor(draw.choice([1.5, 2.5])), persistent=draw.random() < 0.5)


def no_buffer(w: World, draw: Draw) -> None:
    del w.model.tau
    if draw.random() < 0.7:
        w.model.tau = draw.choice([1.5, 2.5])


def some_data(w: World, draw: Draw) -> None:
    parameter = draw.choice(list(w.model.parameters()))
    draw.choice([
        lambda p: p.data.copy_(p.data * 0.5), lambda p: setattr(p, "data", p.data.clone()),
        lambda p: setattr(p, "data", p.data.t().contiguous().t() * 2 if p.dim() == 2 else p.data * 2),
        lambda p: p.detach().set_(torch.ones_like(p)), lambda p: p.data.set_(torch.ones_like(p)),
        lambda p: p.detach().untyped_storage().copy_(torch.full_like(p, 0.1).untyped_storage()),
        lambda p: p.data.untyped_storage().fill_(0), lambda p: p.share_memory_(),
        lambda p: np.asarray(p.detach()).fill(0.2), lambda p: torch.add(p.detach(), 0.1, out=p.data),
        lambda p: p.data.resize_(p.shape).add_(0.1), lambda p: torch._foreach_mul_([p.data], 0.5)
    ])(parameter)


def swapped(w: World, draw: Draw) -> None:
    parameter = draw.choice(list(w.model.parameters()))
    torch.utils.swap_tensors(parameter, nn.Parameter(parameter.detach() * 0.5, parameter.requires_grad))


def there_and_back(w: World, draw: Draw) -> None:
    torch.__future__.set_swap_module_params_on_conversion(draw.random() < 0.5)
    w.model.to(torch.float32).to(torch.float64)  # of weakly referred parameters, swapping is PyTorch's error


def init(w: World, draw: Draw) -> None:
    nn.init.constant_(draw.choice(list(w.model.parameters())), 0.1)


def parameter_tie(w: World, draw: Draw) -> None:
    w.model.out.weight = next(each for each in w.model.parameters() if each.shape == w.model.out.weight.shape)


def untie(w: World, draw: Draw) -> None:
    w.model.out.weight = nn.Parameter(w.model.out.weight.detach().clone())


def pruned(w: World, draw: Draw) -> None:
    part = draw.choice([each for each in w.model.modules() if isinstance(each, (nn.Linear, nn.Conv1d, nn.Conv2d))])
    prune.l1_unstructured(part, "weight" if "weight" in part._parameters else "bias", 0.5)


def normalized(w: World, draw: Draw) -> None:
    torch.manual_seed(0)
    part = draw.choice([each for each in w.model.modules() if isinstance(each, nn.Linear)])
    draw.choice([nn.utils.parametrizations.spectral_norm, nn.utils.parametrizations.orthogonal,
                 nn.utils.weight_norm])(part)


def not_parametrized(w: World, draw: Draw) -> None:
    nn.utils.parametrize.remove_parametrizations(w.model.l, "weight", leave_parametrized=draw.random() < 0.5)


OF_MODEL: list[Callable[[World, Draw], None]] = [
    some_buffer, some_data, swapped, there_and_back, init, parameter_tie, untie, pruned, normalized, not_parametrized]

# ---- What they do to what is around the model ----


def other_value(value: Any, draw: Draw) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 2 + draw.choice([0, 1])
    return {"mean": "sum", "zeros": "reflect", None: 1.0}.get(value, value)


def some_attribute(w: World, draw: Draw) -> None:
    """A setting of some part; what PyTorch does not read may change."""
    part = draw.choice([*w.model.modules(), w.criterion])
    names = [name for name, value in vars(part).items()
             if (value is None or isinstance(value, (bool, int, float, str))) and not name.startswith("_")]
    name = draw.choice(names)
    setattr(part, name, other_value(getattr(part, name), draw))


def some_function(w: World, draw: Draw) -> None:
    """A function that is an attribute of a part, or of its class."""
    part = draw.choice([each for each in w.model.modules() if isinstance(
        each, (nn.TransformerEncoderLayer, nn.ReLU, nn.LeakyReLU, nn.Linear))])
    if hasattr(part, "activation"):
        part.activation = F.gelu
    else:
        part.forward = F.tanh


def criterion_of_weights(w: World, draw: Draw) -> None:
    """One that takes the World's weights, which were others at compile()."""
    w.weights = draw.choice([w.weights.clone() * 2, w.weights.float(), w.weights[:1], nn.Parameter(w.weights + 1),
                             w.weights.clone().requires_grad_(), w.weights.expand(2, 4)[1], w.weights.flip(0)])


def numbers_of_other_types(w: World, draw: Draw) -> None:
    w.beta[0] = draw.choice([0.3, np.float64(0.3), np.float64(0.9), torch.tensor(0.3), torch.tensor(0.9), 1])


def other_list(w: World, draw: Draw) -> None:
    w.beta = draw.choice([[0.3], [0.9], (0.3,), [0.3, 0.4], [0.9, 0.3]])


def teacher_grad(w: World, draw: Draw) -> None:
    w.teacher.requires_grad_(draw.random() < 0.8)


def teacher_noise(w: World, draw: Draw) -> None:
    with torch.no_grad():
        draw.choice(list(w.teacher.parameters())).mul_(1.5)


def hook_and_away(w: World, draw: Draw) -> None:
    part = draw.choice(list(w.model.children()))
    part.register_forward_hook(lambda part, given, result: result * 2).remove()


def hook_of_another_kind(w: World, draw: Draw) -> None:
    part = draw.choice([each for each in w.model.modules() if isinstance(each, (nn.Linear, nn.LayerNorm))] or [w.model])
    draw.choice([
        lambda m: m.register_forward_pre_hook(lambda part, given: (given[0] * 2,)),
        lambda m: m.register_forward_hook(lambda part, given, named, result: result * 2, with_kwargs=True),
        lambda m: m.register_forward_hook(lambda part, given, result: result * 2, prepend=True, always_call=True),
        lambda m: m.register_full_backward_hook(lambda part, given, result: tuple(
            each if each is None else each * 2 for each in given)),
        lambda m: m.register_full_backward_pre_hook(lambda part, result: tuple(each * 2 for each in result)),
        lambda m: next(m.parameters()).register_post_accumulate_grad_hook(lambda each: each.grad.mul_(2)),
    ])(part)


def without_hooks(w: World, draw: Draw) -> None:
    """Of those that the model may have had at compile()."""
    draw.choice([lambda: setattr(w.model, "_forward_hooks", collections.OrderedDict()), w.model._forward_hooks.clear,
                 lambda: w.handle.remove() if hasattr(w, "handle") else None])()


def global_hook(w: World, draw: Draw) -> None:
    own = [each for each in w.model.modules() if isinstance(each, nn.Linear)]
    HANDLES.append(nn.modules.module.register_module_forward_hook(
        lambda part, given, result: result * 2 if any(part is each for each in own) else None))


def state_hook(w: World, draw: Draw) -> None:

    def fill(part: nn.Module, keys: Any) -> None:
        part.get_buffer("tau").fill_(3.0)

    w.model.register_load_state_dict_post_hook(fill)


def replaced_state(w: World, draw: Draw) -> None:
    """Ways to begin anew with an optimizer's sums."""
    optimizer, parameters = w.optimizer, [each for group in w.optimizer.param_groups for each in group["params"]]
    parameter = draw.choice(parameters)

    def empty() -> None:
        for each in parameters:
            optimizer.state[each] = {}

    def zero() -> None:
        for state in optimizer.state.values():
            for value in state.values():
                if isinstance(value, torch.Tensor):
                    value.zero_()

    def reset() -> None:
        optimizer.state[parameter].clear()

    def update() -> None:
        optimizer.state.update({parameter: {}})

    def set_all() -> None:
        optimizer.__setstate__({**optimizer.__getstate__(), "state": collections.defaultdict(dict)})

    def other_dict() -> None:
        optimizer.__dict__.update(state=collections.defaultdict(dict))

    def first_moment() -> None:
        state = optimizer.state[parameter]
        for name in ("exp_avg", "momentum_buffer", "sum"):
            if state.get(name) is not None:
                state[name].zero_()

    draw.choice([empty, zero, reset, update, set_all, other_dict, first_moment])()


def copied_optimizer(w: World, draw: Draw) -> None:
    """A copy of the optimizer's state goes into it again."""
    w.optimizer.load_state_dict(copy.deepcopy(w.optimizer).state_dict())


def state_at_start(w: World, draw: Draw) -> None:
    """The state of a new optimizer of the same kind."""
    state = copy.deepcopy(w.optimizer.state_dict())
    state["state"] = {}
    w.optimizer.load_state_dict(state)


def step_by_hand(w: World, draw: Draw) -> None:
    for parameter in w.model.parameters():
        parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
    w.optimizer.step()
    w.optimizer.zero_grad()


def step_of_ones_own(w: World, draw: Draw) -> None:
    before = w.optimizer.step

    def twice(*arguments: Any) -> None:
        before()
        before()

    w.optimizer.step = twice  # type: ignore[method-assign]


def groups_otherwise(w: World, draw: Draw) -> None:
    groups = w.optimizer.param_groups
    draw.choice([
        lambda: groups[0]["params"].reverse(), lambda: groups[0]["params"].pop(), lambda: groups.reverse(),
        lambda: groups[-1].update(lr=torch.tensor(0.03)), lambda: groups.append(groups.pop(0)),
        lambda: groups[0].update(maximize=True), lambda: groups[0].update(foreach=True),
        lambda: [group.update(lr=group["lr"] * 2) for group in groups], lambda: w.optimizer.defaults.update(lr=3.0),
        lambda: groups[0].update(eps=0.1, alpha=0.5, betas=(0.1, 0.2)), lambda: groups[0].update(lr=0.0),
        lambda: groups[0].update(lr=0)
    ])()


def lower_rates(w: World, draw: Draw) -> None:
    for group in w.optimizer.param_groups:
        group["lr"] = group["lr"] * 0.7 if draw.random() < 0.5 else torch.tensor(group["lr"] * 0.7)


def devices(w: World, draw: Draw) -> None:
    torch.set_default_device("cpu")


def deterministic(w: World, draw: Draw) -> None:
    torch.use_deterministic_algorithms(True)


def unfreeze(w: World, draw: Draw) -> None:
    w.model.requires_grad_(True)


def freeze_and_back(w: World, draw: Draw) -> None:
    flags = [(each, each.requires_grad) for each in w.model.parameters()]
    w.model.requires_grad_(False)
    for each, flag in flags:
        each.requires_grad_(flag)


def freeze_one(w: World, draw: Draw) -> None:
    draw.choice([each for each in w.model.parameters() if each.requires_grad]).requires_grad_(False)


def copied_model(w: World, draw: Draw) -> None:
    """A copy of the model that goes its own way."""
    other = copy.deepcopy(w.model)
    with torch.no_grad():
        for each in other.parameters():
            each.zero_()


OTHERS: list[Callable[[World, Draw], None]] = [
    assign_some_buffer, register_buffer, no_buffer, some_attribute, some_attribute, some_attribute, some_function,
    criterion_of_weights, numbers_of_other_types, other_list, teacher_grad, teacher_noise, hook_and_away,
    hook_of_another_kind, without_hooks, global_hook, state_hook, replaced_state, replaced_state, copied_optimizer,
    state_at_start,
    step_by_hand, step_of_ones_own, groups_otherwise, groups_otherwise, lower_rates, devices, deterministic, unfreeze,
    freeze_and_back, freeze_one, copied_model]
OF_TRAINER: list[Callable[[Program, Draw], str | None]] = [
    evaluate, evaluate, write_back, save, load, load, state_into_model, state_into_model_and_edit, state_into_trainer,
    compile_again, other_type_of_batch, batch_of_numpy, strided_batch, changed_batch, wrong_batch, extreme_batch]
HANDLES: list[Any] = []
ALL: list[Callable[[Any, Draw], Any]] = list(dict.fromkeys([*OF_TRAINER, *OF_MODEL, *OTHERS, *programs.OF_MODEL,
                                                            *programs.OTHERS]))


# Those that most programs may do; the others end most of them by an error.
FOLLOWED: list[Callable[[Any, Draw], Any]] = [
    evaluate, evaluate, write_back, save, load, load, state_into_model, state_into_model_and_edit, state_into_trainer,
    other_type_of_batch, batch_of_numpy, strided_batch, changed_batch, some_buffer, some_data, some_data,
    there_and_back,
    init, assign_some_buffer, teacher_grad, teacher_noise, hook_and_away, devices, deterministic, freeze_and_back,
    copied_model, lower_rates, programs.load, programs.clamp, programs.clamp_data, programs.set_data,
    programs.set_buffer,
    programs.assign_buffer, programs.ema_of_teacher, programs.weights, programs.rate, programs.all_modes,
    programs.unread,
    programs.through_numpy, programs.through_view, programs.through_vector, programs.scheduler, programs.seeds,
    programs.gradients]


def chosen(draw: Draw) -> Callable[[Any, Draw], Any]:
    kind = draw.random()
    if kind < 0.3:
        return draw.choice(OF_TRAINER)
    if kind < 0.8:
        return draw.choice(OF_MODEL + OTHERS)
    return draw.choice(programs.OF_MODEL + programs.OTHERS)


def act(p: Program, action: Callable[[Any, Draw], Any], draw: Draw) -> str:
    """'' or what differs."""
    if action in OF_TRAINER:
        p.done.append(action.__name__)
        return action(p, draw) or ""
    reads = programs.OF_MODEL + OF_MODEL + [step_by_hand]
    if action in reads and (draw.random() < 0.95 or action in programs.READ_ONLY):
        p.done.append("write_back")
        p.trainer.write_back()
    p.done.append(action.__name__)
    p.on_both(action, draw)
    return ""


def run(p: Program, draw: Draw, action: Callable[[Any, Draw], Any] | None) -> str:
    for step in range(STEPS):
        is_late = step >= STEPS - 2
        for _ in range(draw.choice([0, 1, 1, 2]) if action is None else step in (1, 3)):
            if wrong := act(p, action or (chosen(draw) if is_late else draw.choice(FOLLOWED)), draw):
                return wrong
        p.done.append("step")
        if wrong := p.step(p.batches[draw.randrange(3)][:draw.choice(p.shapes)]):
            return wrong
    return p.last_difference()


def outcome_of(seed: int, stage: int, action: Callable[[Any, Draw], Any] | None = None) -> tuple[str, str]:
    """('equal', ''), ('error', its text), ('own', the error of the program itself) or ('WRONG', what differs)."""
    draw = random.Random(seed)
    p = None
    try:
        with quiet():
            p = Program(seed, draw, stage)
            wrong = run(p, draw, action)
        kind, text = ("WRONG", wrong) if wrong else ("equal", "")
    except sc.InvalidError as error:
        kind, text = "error", f"{p.done[-1] if p else 'compile'}: {error}"
    except Own as error:
        is_ours = p is not None and p.done[-1] in ("step", "evaluate", *(each.__name__ for each in OF_TRAINER))
        is_ours = is_ours and "not differentiable" not in str(error)  # tensors of the loss that require gradients
        kind, text = ("WRONG" if is_ours else "own"), f"eager raises {error}"
    except Exception as error:
        kind, text = "WRONG", f"raises {type(error).__name__}: {error}\n{traceback.format_exc()}"
    finally:
        put_back()
    if kind == "WRONG" and p is not None:
        optimizer = type(p.ours.optimizer).__name__
        text += f", after {p.done} on {p.kind.__name__} by {optimizer}, {p.clipping}, {p.accumulate}, {p.shapes}"
    return kind, text


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def put_back() -> None:
    """What programs change beyond their World."""
    programs.put_back()
    torch.__future__.set_swap_module_params_on_conversion(False)
    torch.set_default_device(None)
    torch.use_deterministic_algorithms(False)
    while HANDLES:
        HANDLES.pop().remove()


def count_outcomes(count: int, first: int, stage: int, name: str = "") -> None:
    """Prints how so many programs from a seed on ended, and those that were wrong."""
    counts: collections.Counter[str] = collections.Counter()
    action = next((each for each in ALL if each.__name__ == name), None)
    for seed in range(first, first + count):
        kind, text = outcome_of(seed, stage, action)
        counts[kind] += 1
        if kind == "error":
            counts["error after " + text.split(":")[0]] += 1
        if kind == "WRONG" and programs.RANK == 0:
            print(f"program {seed}: {text}", flush=True)
    if programs.RANK == 0:
        print(f"PROGRAMS {dict(sorted(counts.items()))}", flush=True)


def of_seeds(seeds: range) -> str:
    outcomes = [(seed, *outcome_of(seed, 3)) for seed in seeds]
    return "\n".join(f"program {seed}: {text}" for seed, kind, text in outcomes if kind == "WRONG") or "ok"


GROUPS = [range(first, first + 5) for first in range(0, 20, 5)]
SUITE = Suite({
    f"programs {seeds[0]} to {seeds[-1]}": lambda seeds=seeds: of_seeds(seeds) for seeds in GROUPS
}, ranks=(1, 3))

if __name__ == "__main__":
    if len(sys.argv) >= 4 and all(each.isdigit() for each in sys.argv[1:4]):
        count_outcomes(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
    else:
        SUITE.run()
