"""What a loss may read and change beside tensors, by ways that are easy to miss: each change after compile() is followed
or is an error, and so is each state that the loss itself moves."""
from __future__ import annotations

import collections
import configparser
import copy
import dataclasses
import enum
import functools
import gc
import io
import itertools
import operator
import queue
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
from torch._subclasses.fake_tensor import FakeTensor

from torch_cases_changes import X, compiled, line, refused, rows, square
from torch_suite import Suite

SCALE = 1.0
PARSER = configparser.ConfigParser()
EVENT = threading.Event()
TEXT = io.StringIO("1.0")
CURVE = np.poly1d([1.0])


@dataclasses.dataclass
class Settings:
    tau: float = 1.0


class Numbers(list[float]):
    tau: float


class Mode(enum.Enum):
    ONE = 1
    tau: float


class Member:
    tau: float


MEMBER, KEY = Member(), Member()
MEMBERS, KEYS = {MEMBER}, {KEY: 0}
SETTINGS, NUMBERS, MARKED = Settings(), Numbers([1.0]), torch.ones(4)
NUMBERS.tau = MARKED.tau = Mode.ONE.tau = 1.0  # type: ignore[attr-defined]
PARSER["a"] = {"tau": "1.0"}


def by_class(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    match SETTINGS:
        case Settings(tau=tau):
            return square(m, x) * tau
    raise AssertionError


def by_place(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    match SETTINGS:
        case Settings(tau):
            return square(m, x) * tau
    raise AssertionError


@functools.lru_cache
def cached() -> float:
    return SCALE


def set_scale(value: float) -> None:
    global SCALE
    SCALE = value


def set_cached(value: float) -> None:
    set_scale(value)
    cached.cache_clear()


def set_parsed(value: float) -> None:
    PARSER["a"]["tau"] = str(value)


def set_event(value: float) -> None:
    EVENT.clear() if value == 1.0 else EVENT.set()


def set_text(value: float) -> None:
    TEXT.seek(0)
    TEXT.write(str(value))


def set_curve(value: float) -> None:
    CURVE.coeffs[0] = value


def setter(holder: object) -> Callable[[float], None]:
    return lambda value: setattr(holder, "tau", value)


# By the way in which the loss reads a number: the loss, and what sets the number.
READS: dict[str, tuple[Callable[..., torch.Tensor], Callable[[float], None]]] = {
    "a pattern with a name": (by_class, setter(SETTINGS)),
    "a pattern by place": (by_place, setter(SETTINGS)),
    "astuple": (lambda m, x: square(m, x) * dataclasses.astuple(SETTINGS)[0], setter(SETTINGS)),
    "globals()": (lambda m, x: square(m, x) * globals()["SCALE"], set_scale),
    "sys.modules": (lambda m, x: square(m, x) * sys.modules["__main__"].SCALE, set_scale),
    "a cached function": (lambda m, x: square(m, x) * cached(), set_cached),
    "a parser": (lambda m, x: square(m, x) * float(PARSER["a"]["tau"]), set_parsed),
    "getfloat of a parser": (lambda m, x: square(m, x) * PARSER.getfloat("a", "tau"), set_parsed),
    "an event": (lambda m, x: square(m, x) * (3.0 if EVENT.is_set() else 1.0), set_event),
    "a text in memory": (lambda m, x: square(m, x) * float(TEXT.getvalue()), set_text),
    "a curve": (lambda m, x: square(m, x) * float(CURVE(1.0)), set_curve),
    "an object in a set": (lambda m, x: square(m, x) * next(iter(MEMBERS)).tau, setter(MEMBER)),
    "an object as a key": (lambda m, x: square(m, x) * next(iter(KEYS)).tau, setter(KEY)),
    "an attribute of a list": (lambda m, x: square(m, x) * NUMBERS.tau, setter(NUMBERS)),
    "an attribute of an enum's member": (lambda m, x: square(m, x) * Mode.ONE.tau, setter(Mode.ONE)),
    "an attribute of a tensor": (lambda m, x: (m(x) * MARKED).square().mean() * MARKED.tau,  # type: ignore[attr-defined]
                                 setter(MARKED)),
    "whether a tensor has gradients": (lambda m, x: (m(x) * MARKED.detach()).square().mean() *
                                       (3.0 if MARKED.requires_grad else 1.0),
                                       lambda value: setattr(MARKED, "requires_grad", value != 1.0)),
}


def after(loss: Callable[..., torch.Tensor], change: Callable[[float], None]) -> str:
    """A number that changes is followed or is an error that says what it was."""
    change(1.0)
    if loss is READS["a cached function"][0]:
        cached()  # before compile(), so that tracing does not see what it reads
    model = line()
    trainer = compiled(model, loss, rate=0.0)
    first = trainer.step({"x": rows()})
    change(3.0)
    try:
        second = trainer.step({"x": rows()})
    except sc.InvalidError as error:
        return "ok" if "when the model was compiled" in str(error) else f"raises {error}"
    finally:
        change(1.0)
    return "ok" if abs(second - 3 * first) < 1e-5 else f"{second} after {first}"


def scored(m: nn.Module, x: torch.Tensor, moved: Any) -> torch.Tensor:
    if isinstance(moved, list):
        moved[0] += 1.0
        return square(m, x) * moved[0]
    if isinstance(moved, io.StringIO):
        return square(m, x) * float(moved.readline())
    value = moved.get() if isinstance(moved, queue.Queue) else next(moved)
    return square(m, x) * float(value[0] if isinstance(value, tuple) else value)


def numbers() -> Iterator[float]:
    yield from (1.0, 1.0, 2.0)


def filled() -> queue.Queue[float]:
    result: queue.Queue[float] = queue.Queue()
    for number in range(9):
        result.put(float(number))
    return result


MOVED: dict[str, Callable[[], Any]] = {
    "a counter": lambda: [0.0], "a generator": numbers, "enumerate": lambda: enumerate([1.0] * 9),
    "filter": lambda: filter(None, range(9)), "zip": lambda: zip([1.0] * 9), "map": lambda: map(float, range(9)),
    "islice": lambda: itertools.islice(itertools.count(1), 9), "accumulate": lambda: itertools.accumulate([1.0] * 9),
    "product": lambda: itertools.product(range(1, 9)), "takewhile": lambda: itertools.takewhile(bool, range(1, 9)),
    "starmap": lambda: itertools.starmap(float, [(1,)] * 9), "tee": lambda: itertools.tee([1.0] * 9)[0],
    "reversed": lambda: reversed([1.0] * 9), "a queue": filled, "lines": lambda: io.StringIO("1\n2\n3\n")}


def moved() -> str:
    """What the loss moves on is an error, wherever the loss has it from: from around it, a default or a partial."""
    for name, made in MOVED.items():
        outer = made()

        def by_closure(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
            return scored(m, x, outer)

        def by_default(m: nn.Module, x: torch.Tensor, state: Any = made()) -> torch.Tensor:  # noqa: B008
            return scored(m, x, state)

        def by_name(m: nn.Module, x: torch.Tensor, *, state: Any = made()) -> torch.Tensor:  # noqa: B008
            return scored(m, x, state)

        ways = {"a closure": by_closure, "a default": by_default, "a default by name": by_name,
                "a lambda": lambda m, x, state=made(): scored(m, x, state),  # noqa: B008
                "a partial": functools.partial(scored, moved=made())}
        for way, loss in ways.items():
            said = refused("the loss changes", functools.partial(compiled, line(), loss, evaluate=False))
            if said != "ok":
                return f"{name} by {way}: {said}"
    return "ok"


class Criterion(nn.Module):
    """With tensors of its own, in parts with names that end as the model's do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(torch.tensor(2.0), requires_grad=False)

    def forward(self, m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return (m(x) * self.factor * self.inner.weight).square().mean()


@functools.lru_cache
def positions(count: int) -> torch.Tensor:
    return torch.arange(count) + 1.0


def criteria() -> str:
    """A criterion may be a module; a cache that is filled while the loss is traced has values afterwards."""
    for loss in (Criterion(), lambda m, x: (m(x) * positions(4)).square().mean()):
        positions.cache_clear()
        model = line()
        eager = copy.deepcopy(model)
        trainer = compiled(model, loss)
        ours = [trainer.step({"x": rows()}) for _ in range(2)]
        optimizer = torch.optim.SGD(eager.parameters(), 0.1)
        for number, own in enumerate(ours):
            optimizer.zero_grad()
            value = loss(eager, X)
            value.backward()
            optimizer.step()
            if abs(own - value.item()) > 1e-5 * abs(own):
                return f"step {number}: {own}, eager {value.item()}"
    return "ok"


TAU = operator.attrgetter("tau")


class Run:
    """What a loop notes, of which the loss reads only a number."""

    def __init__(self) -> None:
        self.tau, self.loss, self.steps = 2.0, 0.0, 0

    def scored(self, m: nn.Module, x: torch.Tensor) -> dict[str, torch.Tensor]:
        found = square(m, x)
        return {"loss": found * TAU(self), "steps": found.detach()}


def notes_of_a_loop() -> str:
    """What the loop notes in an object of the loss is no change of what the loss reads, though a key has the name."""
    run = Run()
    trainer = compiled(line(), run.scored)
    for _ in range(2):
        run.loss = trainer.step({"x": rows()})
        run.steps += 1
    run.tau = 3.0
    return refused("tau is 3.0, but it was 2.0", functools.partial(trainer.step, {"x": rows()}))


def seeded(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(3)
    return (m(x) * torch.rand(4)).square().mean()


def packed(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        return square(m, x)


class Renaming(nn.Linear):
    def _load_from_state_dict(self, state: Any, prefix: str, *arguments: Any) -> None:
        state[prefix + "weight"] = 2 * state[prefix + "weight"]
        super()._load_from_state_dict(state, prefix, *arguments)


class Marked(nn.Linear):
    def get_extra_state(self) -> dict[str, int]:
        return {"version": 1}

    def set_extra_state(self, state: Any) -> None:
        pass


def refusals() -> str:
    """What a step would leave out without a word is an error."""

    def decaying() -> splitcast.torch.Trainer:
        model = line()
        return splitcast.torch.compile(model, square, {"x": rows()}, torch.optim.Adam(
            model.parameters(), weight_decay=0.1), gradient_norm=True)

    def replaced() -> splitcast.torch.Trainer:
        model = line()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        step = optimizer.step
        optimizer.step = lambda *arguments: step()  # type: ignore[method-assign]
        return splitcast.torch.compile(model, square, {"x": rows()}, optimizer)

    def clipped() -> splitcast.torch.Trainer:
        model = nn.Sequential(line(), line())
        return splitcast.torch.compile(model, square, {"x": rows()}, torch.optim.SGD(model[1].parameters(), 0.1),
                                       clip_norm=1.0)

    hooked = line()
    hooked.register_load_state_dict_pre_hook(lambda *arguments: None)
    trainers = {name: compiled(model, square) for name, model in (
        ("renaming", Renaming(4, 4)), ("hooked", hooked), ("marked", Marked(4, 4)))}
    calls: dict[str, Callable[[], Any]] = {
        r"calls torch.manual_seed.*torch_cases_reads.py": lambda: compiled(line(), seeded),
        r"enters saved_tensors_hooks": lambda: compiled(line(), packed),
        r"gradient_norm together with weight_decay": decaying,
        r"step\(\) was replaced": replaced,
        r"does not have 0.bias, 0.weight, so clip_norm": clipped,
        r"has its own _load_from_state_dict": lambda: trainers["renaming"].load_state_dict({}, strict=False),
        r"hooks of its state dict": lambda: trainers["hooked"].state_dict(),
        r"has its own get_extra_state": lambda: trainers["marked"].state_dict()}
    for pattern, call in calls.items():
        said = refused(pattern, call)
        if said != "ok":
            return f"{pattern}: {said}"
    return "ok"


class Sampled(nn.Module):
    """Stays in training mode for its dropout, as Monte Carlo dropout does, but not for its batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm, self.scale = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Identity()

    def train(self, mode: bool = True) -> Sampled:
        super().train(mode)
        self.scale.train()
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.norm(self.linear(x))
        return 3 * y if self.scale.training else y


def modes_of_evaluation() -> str:
    """An evaluation has the modes that the model's own train() gives."""
    torch.manual_seed(0)
    model = Sampled()
    trainer = compiled(model, square, rate=0.0)
    ours = trainer.evaluate({"x": rows()})
    modes = [part.training for part in model.modules()]
    theirs = square(copy.deepcopy(model).eval(), X).item()
    return "ok" if abs(ours - theirs) < 1e-5 and all(modes) else f"{ours}, eager {theirs}, {modes}"


def part_of_the_parameters() -> str:
    """An optimizer that has a part of the parameters trains these; integers have square roots."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    eager = copy.deepcopy(model)
    root = torch.tensor([1, 4, 9, 16])

    def loss(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return (m(x) * root.sqrt() * root**0.5).square().mean()

    trainer = splitcast.torch.compile(model, loss, {"x": rows()}, torch.optim.AdamW(model[2].parameters(), 0.1))
    theirs = torch.optim.AdamW(eager[2].parameters(), 0.1)
    for _ in range(3):
        trainer.step({"x": rows()})
        theirs.zero_grad()
        loss(eager, X).backward()
        theirs.step()
    for name, value in trainer.state_dict().items():
        if not torch.allclose(torch.as_tensor(value), eager.state_dict()[name], atol=1e-5):
            return f"{name} is {value}, eager {eager.state_dict()[name]}"
    return "ok"


def parameters_held_elsewhere() -> str:
    """Parameters and buffers that the loss or the model reads otherwise than as attributes: as PyTorch trains them."""
    torch.manual_seed(0)

    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
            self.scale = nn.Parameter(torch.ones(4))
            self.held = {"scale": [self.scale]}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(self.layer(x) * self.held["scale"][0]) * self.scale

    def loss_of(model: Held) -> Callable[[nn.Module, torch.Tensor], torch.Tensor]:
        weights, mean, fixed = list(model.parameters()), model.norm.running_mean, model.layer.bias.detach()
        return lambda m, x: m(x).square().mean() + 0.5 * sum(
            (each**2).sum() for each in weights) + (mean - fixed).square().sum()

    model = Held()
    eager = copy.deepcopy(model)
    loss = loss_of(eager)
    trainer = splitcast.torch.compile(model, loss_of(model), {"x": rows()}, torch.optim.SGD(model.parameters(), 0.1))
    theirs = torch.optim.SGD(eager.parameters(), 0.1)
    for step in range(3):
        ours = trainer.step({"x": rows()})
        theirs.zero_grad()
        expected = loss(eager, X)
        expected.backward()
        theirs.step()
        if abs(ours - expected.item()) > 1e-5 * abs(expected.item()):
            return f"step {step}: {ours}, eager {expected.item()}"
    other = line()
    made = other.weight * 2
    said = refused("computed from parameters before the step",
                   lambda: compiled(other, lambda m, x: (m(x) @ made).sum()))
    statistics = torch.zeros(4), torch.ones(4)
    return said if said != "ok" else refused(
        "the loss changes running statistics",
        lambda: compiled(line(), lambda m, x: nn.functional.batch_norm(m(x), *statistics, training=True).sum()))


class Averaging(nn.Module):
    """A criterion with a running mean of its own, as DINO's center is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(1.0))

    def forward(self, m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean * 0.5 + square(m, x).detach() * 0.5
        return square(m, x) / self.mean


class Slotted:
    """A running mean in a slot, beside one of its class."""
    __slots__ = ("mean",)
    of_all = torch.tensor(1.0)


class Nested(nn.Linear):
    """A model that keeps a tensor two dicts deep, or at the end of a list there."""

    def __init__(self, in_list: bool = False) -> None:
        super().__init__(4, 4)
        self.in_list, self.kept = in_list, {"a": {"h": torch.tensor(1.0), "l": [torch.tensor(1.0)]}}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.in_list:
            y = super().forward(x) + self.kept["a"]["l"][-1]
            self.kept["a"]["l"].append(y.mean().detach())
            return y
        y = super().forward(x) + self.kept["a"]["h"]
        self.kept["a"]["h"] = y.mean().detach()
        return y


class Noting(nn.Linear):
    """A model that keeps what it computes, which it does not read."""

    def __init__(self) -> None:
        super().__init__(4, 4)
        self.seen, self.deep = [torch.ones(4)], {"a": {"h": torch.ones(4), "l": [torch.ones(4)]}}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        self.seen.append(y)
        self.deep["a"]["l"].append(y)
        self.deep["a"]["h"] = y
        return y


AVERAGE = torch.tensor(1.0)


def averaged(make: Callable[[Any, torch.Tensor], Any], read: Callable[[Any], torch.Tensor], holder: Any) -> Any:
    """A loss that is divided by a running mean that it reads from a holder and sets there, in training alone."""

    def loss(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        if not m.training:
            return square(m, x)
        found = square(m, x)
        make(holder, read(holder) * 0.5 + found.detach() * 0.5)
        return found / read(holder)

    return loss


def global_average(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    global AVERAGE
    AVERAGE = AVERAGE * 0.5 + square(m, x).detach() * 0.5
    return square(m, x) / AVERAGE


def keepers() -> dict[str, tuple[Any, Callable[[], object]]]:
    """By a name in the error: a loss that keeps a tensor in the place of another one, and how to read it."""
    one, slotted = torch.tensor(1.0), Slotted()
    slotted.mean = one
    texts: dict[str, Any] = {"a": one, "b": {"c": one}}
    numbers, last, pair = [one, one], collections.deque([one, one.clone()], 2), types.SimpleNamespace(state=(one, one))
    criterion, hooked, captured, before, hidden, model = Averaging(), {"mean": one}, one.clone(), one, one.clone(), Nested()

    def hook(part: nn.Module, given: Any, found: torch.Tensor) -> torch.Tensor:
        hooked["mean"] = hooked["mean"] * 0.5 + found.mean().detach() * 0.5
        return found - hooked["mean"]

    def with_hook(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        handle = m.register_forward_hook(hook)
        found = square(m, x)
        handle.remove()
        return found

    def in_closure(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        nonlocal before, hidden
        before, hidden = hidden, square(m, x).detach()
        return square(m, x) * before

    def in_place(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        captured.mul_(0.5).add_(square(m, x).detach())
        return square(m, x) / captured.clone()

    def by_last(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        found = square(m, x) * last[0]
        last.append(found.detach())
        return found

    return {
        r"holder\['a'\]": (averaged(lambda h, v: h.update(a=v), lambda h: h["a"], texts), lambda: texts["a"]),
        r"holder\['b'\]\['c'\]": (averaged(lambda h, v: h["b"].update(c=v), lambda h: h["b"]["c"], texts),
                                  lambda: texts["b"]["c"]),
        r"holder\[1\]": (averaged(lambda h, v: h.__setitem__(1, v), lambda h: h[1], numbers), lambda: numbers[1]),
        r"holder\.state\[0\]": (averaged(lambda h, v: setattr(h, "state", (v, v)), lambda h: h.state[0], pair),
                                lambda: pair.state[0]),
        r"holder\.mean": (averaged(lambda h, v: setattr(h, "mean", v), lambda h: h.mean, slotted),
                          lambda: slotted.mean),
        r"holder\.of_all": (averaged(lambda h, v: setattr(type(h), "of_all", v), lambda h: h.of_all, slotted),
                            lambda: Slotted.of_all),
        r"self\.mean": (criterion, lambda: criterion.mean), r"hooked\['mean'\]": (with_hook, lambda: hooked["mean"]),
        r"(before|hidden) .File": (in_closure, lambda: hidden), "AVERAGE .File": (global_average, lambda: AVERAGE),
        r"captured .File": (in_place, lambda: captured), r"last\[\d\]": (by_last, lambda: last[1]),
        r"model.kept\['a'\]\['h'\]": (lambda m, x: square(model, x), lambda: model.kept["a"]["h"])}


def replaced_tensors() -> str:
    """A tensor that the loss computes with, and puts another one in the place of, would be as it is now in all steps. The
    error says where it is, where it then still is."""
    for evaluate in (False, True):
        for name, (loss, read) in keepers().items():
            before = read()
            said = refused(f"the loss changes {name}", functools.partial(compiled, line(), loss, evaluate=evaluate))
            if said != "ok" or read() is not before:
                return f"{name}, evaluate={evaluate}: {said}, {read()}"
    for in_list, name in ((False, r"\['h'\]"), (True, r"\['l'\]\[1\]")):
        nested = Nested(in_list)
        said = refused(rf"kept\['a'\]{name} changes while", functools.partial(compiled, nested, square))
        if said != "ok" or "Fake" in str(nested.kept):
            return f"in the model: {said}, {nested.kept}"
    norm = nn.BatchNorm1d(4)
    mean = norm.running_mean.detach()  # not the buffer itself, for which its part has the new value
    return refused("reads buffer 'running_mean', which it changes, .*torch_cases_reads",
                   lambda: compiled(norm, lambda m, x: square(m, x) * (1 + mean).mean()))


class Helper:
    """What a loss has for its next call, but computes with only after it has set it; and what it computes once."""

    def __init__(self) -> None:
        self.teacher, self.features = nn.LSTM(4, 4), {"y": torch.ones(4)}
        self.last: torch.Tensor | None = torch.ones(4)

    @functools.cached_property
    def weights(self) -> torch.Tensor:
        return torch.arange(4) + 1.0

    def __call__(self, m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        handle = m.register_forward_hook(lambda part, given, found: self.features.update(y=found))
        y = m(x)
        handle.remove()
        self.last = y.detach()
        return (self.features["y"] * self.weights - self.teacher(x)[0]).square().mean()


def tensors_left() -> str:
    """What the loss leaves for a next call that does not compute with it is no change; it is then not left, either."""
    torch.manual_seed(0)
    model, helper = Noting(), Helper()
    eager, theirs = copy.deepcopy((model, helper))
    last = helper.last
    trainer = compiled(model, helper)
    left = (*vars(helper).values(), *model.seen, model.deep["a"]["h"], *model.deep["a"]["l"])
    if helper.last is not last or any(type(each) is FakeTensor for each in left):
        return str(left)
    optimizer = torch.optim.SGD(eager.parameters(), 0.1)
    for step in range(2):
        one, other = trainer.step({"x": rows()}), theirs(eager, X)
        optimizer.zero_grad()
        other.backward()
        optimizer.step()
        if abs(one - other.item()) > 1e-5 * abs(one):
            return f"step {step}: {one}, eager {other}"
    return "ok"


def others_of_one_code() -> str:
    """What other functions of the loss's code hold is not held by its trainer."""

    def made(factor: torch.Tensor) -> Callable[..., torch.Tensor]:
        return lambda m, x: square(m, x) * factor.sum()

    mine, other = made(torch.ones(2)), made(gone := torch.ones(3))
    watched = weakref.ref(gone)
    trainer = compiled(line(), mine)
    trainer.step({"x": rows()})
    del other, gone
    gc.collect()
    return "ok" if watched() is None else "the trainer holds another function's tensor"


OTHERS: dict[str, Callable[[], str]] = {
    "what the loss moves": moved, "what a step would leave out": refusals, "modes of evaluation": modes_of_evaluation,
    "a part of the parameters": part_of_the_parameters, "criteria": criteria,
    "notes of a loop": notes_of_a_loop, "parameters held elsewhere": parameters_held_elsewhere,
    "replaced tensors": replaced_tensors, "tensors left": tensors_left,
    "others of one code": others_of_one_code}

SUITE = Suite({**{name: functools.partial(after, *of) for name, of in READS.items()}, **OTHERS}, ranks=(1, 3))

if __name__ == "__main__":
    SUITE.run()
