"""Values of all kinds that a loss changes, or a program between steps; memory that others hold; gradients and sums at the
ends of ranges. Run on one and on three ranks by pytest (conftest.py)."""
from __future__ import annotations

import collections
import copy
import itertools
import types
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import splitcast.torch
import torch
import torch.nn as nn
import torch.nn.utils.prune as prune
from splitcast.torch import _code

from torch_cases_changes import Config, Penalty, X, compiled, line, refused, rows, square
from torch_suite import Suite


class Stateful(nn.Module):
    """Has a value, and a function of it and of a layer's result, which may change it."""

    def __init__(self, value: Any, act: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.l, self.value, self.act = line(), value, act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self, self.l(x))


def counted(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
    m.value[0] += 1
    return y * m.value[0]


def toggled(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
    m.value = "b" if m.value == "a" else "a"
    return y * 2 if m.value == "a" else y


def states_of_all_kinds() -> str:
    """Values that forward changes, of each kind; and those that it makes itself, which are no state."""
    changing = {
        "array": (np.ones(1), counted), "text": ("a", toggled), "tensors": ([torch.ones(1)], counted),
        "deque": (collections.deque([1]), lambda m, y: (m.value.append(len(m.value)), y * len(m.value))[1]),
        "set": ({1}, lambda m, y: (m.value.add(len(m.value) + 1), y * len(m.value))[1]),
        "cycle": (itertools.cycle([1.0, 2.0]), lambda m, y: y * next(m.value)),
        "nested": ({"a": {"n": [0]}}, lambda m, y: (m.value["a"]["n"].append(1), y)[1]),
        "slots": (Config(), lambda m, y: (setattr(m.value, "tau", m.value.tau + 1), y / m.value.tau)[1]),
        "flag": (None, lambda m, y: (m.l.weight.requires_grad_(False), y)[1])}
    for name, (value, act) in changing.items():
        said = refused("change", lambda value=value, act=act: compiled(Stateful(value, act), square))
        if said != "ok":
            return f"{name} {said}"
    compiled(Stateful(None, lambda m, y: Penalty().counted(y) + y), square)
    box, cache = Config(), {}
    box.before = None

    def carried(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        before, box.before = box.before, m(x).detach()
        return square(m, x) + (0.0 if before is None else before.mean())

    def cached(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        if "w" not in cache:
            cache["w"] = torch.ones(4)
        return (m(x) * cache["w"].mul_(1.5)).square().mean()

    def local(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        features, counts = [], [0]

        def keep(y: torch.Tensor) -> torch.Tensor:
            features.append(y)
            counts[0] += 1
            return y
        box.last = keep(m(x)).detach()  # which nothing reads
        return (features[0]**2).mean() * counts[0]

    for loss, text in ((carried, "before"), (cached, "cache")):
        said = refused(rf"changes .*{text}", lambda loss=loss: compiled(line(), loss, evaluate=False))
        if said != "ok":
            return f"{text} {said}"
    if abs(compiled(line(), local).step({"x": rows()}) - square(line(), X).item()) > 1e-6:
        return "a list of the loss's own"
    for left, of in ((True, "ok"), (False, "refused")):  # settings that are left to the model, and modes of a first step
        settings = Config()
        settings.kind = None

        def first(m: nn.Module, y: torch.Tensor, holder: Any, left: bool = left) -> torch.Tensor:
            is_first, holder.kind = holder.kind is None, "later"
            return y * (torch.tensor([2.0] * 4) if is_first and not left else torch.tensor([1.0] * 4))

        inner, outer = Stateful(None, lambda m, y: first(m, y, m)), lambda m, x: first(m, m(x), settings).square().mean()
        inner.kind = None
        for model, loss in ((inner, square), (line(), outer)):
            said = refused("is None before|sets it", lambda model=model, loss=loss: compiled(model, loss))
            if (said == "ok") != (of == "refused"):
                return f"a setting: {said}"
    return "ok"


def values_of_all_kinds() -> str:
    """Values that a program changes between steps, of each kind."""
    import array
    import contextvars
    import multiprocessing
    import threading
    variable, local = contextvars.ContextVar("variable", default=1.0), threading.local()
    local.v = 1.0
    rates = torch.optim.SGD(line().parameters(), 1.0)
    holders: dict[str, tuple[Any, Callable[[Any], float], Callable[[Any], object]]] = {
        "array.array": (array.array("d", [1.0]), lambda h: h[0], lambda h: h.__setitem__(0, 2.0)),
        "chain": (collections.ChainMap({"v": 1.0}), lambda h: h["v"], lambda h: h.update(v=2.0)),
        "shared": (multiprocessing.Value("d", 1.0), lambda h: h.value, lambda h: setattr(h, "value", 2.0)),
        "context": (variable, lambda h: h.get(), lambda h: h.set(2.0)),
        "thread": (local, lambda h: h.v, lambda h: setattr(h, "v", 2.0)),
        "rate": (rates, lambda h: h.param_groups[0]["lr"], lambda h: h.param_groups[0].update(lr=2.0))}
    for name, (holder, read, change) in holders.items():
        trainer = compiled(line(), lambda m, x, h=holder, read=read: square(m, x) * read(h))
        trainer.step({"x": rows()})
        change(holder)
        said = refused(r"is .*2\.0|x00@", lambda trainer=trainer: trainer.step({"x": rows()}))
        if said != "ok":
            return f"{name} {said}"
    model = Stateful(torch.tanh, lambda m, y: m.value(y))
    trainer = compiled(model, square)
    model.value = torch.sin
    return refused("value is", lambda: trainer.step({"x": rows()}))


def behind_gradients() -> str:
    """Changes in place that eager PyTorch passes gradients by, and modes that an export leaves out."""
    def filled(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = m(x)
        with torch.no_grad():
            y[:, 0] = 0.5
        return (y**2).mean()

    def shared(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = m(x)
        y.detach().mul_(2.0)
        return (y**2).mean()

    def inferred(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            y = m(x)
        return (m(x) * y).mean()

    outcomes = [refused(text, lambda loss=loss: compiled(line(), loss)) for text, loss in
                (("within torch.no_grad", filled), ("by detach", shared), ("inference_mode", inferred))]
    model, eager = line(), line()
    trainer = compiled(model, lambda m, x: nn.functional.gaussian_nll_loss(m(x), x, m(x)**2, eps=0.5))
    trainer.step({"x": rows()})
    nn.functional.gaussian_nll_loss(eager(X), X, eager(X)**2, eps=0.5).backward()
    right = eager.weight.detach() - 0.1 * eager.weight.grad
    if not torch.allclose(trainer.state_dict()["weight"], right, rtol=1e-9):
        return "gaussian_nll_loss has another gradient"
    return next((each for each in outcomes if each != "ok"), "ok")


def memory_that_others_hold() -> str:
    """A NumPy array keeps its parameter's memory; views of one storage, exchanged data and other trainers are seen."""
    model, eager = line(), line()
    array, before = model.weight.detach().numpy(), model.weight.detach().numpy().copy()
    trainer = compiled(model, square, rate=0.0)
    if not np.array_equal(array, before):
        return "compile() moves the memory of a NumPy array"
    array *= 0.5
    with torch.no_grad():
        eager.weight.mul_(0.5)
    if abs(trainer.step({"x": rows()}) - square(eager, X).item()) > 1e-9:
        return "a write through a NumPy array is lost"
    del trainer  # its values, which are the model's at this rate
    flat = torch.linspace(-1.0, 1.0, 20)
    model.weight.data, model.bias.data = flat[:16].view(4, 4), flat[16:]
    trainer = compiled(model, square, rate=0.0)
    model.bias.data.add_(1.0)
    if abs(trainer.step({"x": rows()}) - square(model, X).item()) > 1e-9:
        return "a write to a part of a storage is lost"
    trainer.write_back()
    average, old = torch.zeros(4), model.bias.data
    for data in (average, old):
        model.bias.data = data
        if abs(trainer.step({"x": rows()}) - square(model, X).item()) > 1e-9:
            return "data that is exchanged is lost"
        trainer.write_back()
    del trainer
    critic = compiled(eager, square)
    actor = compiled(model, lambda m, x: ((m(x) - eager(x))**2).mean(), rate=0.0)
    critic.step({"x": rows()})
    said = refused("another trainer", lambda: actor.step({"x": rows()}))
    critic.write_back()
    if abs(actor.step({"x": rows()}) - ((model(X) - eager(X))**2).mean().item()) > 1e-9:
        return "what another trainer has written back is lost"
    return said


def eager_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> float:
    """Takes a step of eager PyTorch, and returns its loss."""
    optimizer.zero_grad()
    loss = square(model, X)
    loss.backward()
    optimizer.step()
    return loss.item()


def written_in_part() -> str:
    """Parts of a buffer, or of a tensor that the loss makes, that are written within no_grad() have no gradient, and what
    enable_grad() within it computes has one."""
    def rows_of_mean(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            m.kept[:2] = y.mean(0)[:2]
            m.kept[1:3].mul_(0.5).add_(y[0, 1:3])
        return y - m.kept

    def by_view(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
        torch.set_grad_enabled(False)
        m.kept.view(2, 2)[1].copy_(y.mean(0)[::2])
        torch.set_grad_enabled(True)
        return y * m.kept

    def of_its_own(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
        made = torch.zeros(4, dtype=y.dtype)
        with torch.no_grad():
            made[1] = y.mean()
        return y + made * y

    def with_gradients_within(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            m.kept[0] = y.mean()
            with torch.enable_grad():
                seen = y * y
        return seen + m.kept

    def by_detach(m: nn.Module, y: torch.Tensor) -> torch.Tensor:
        m.kept.detach()[:2] = y.mean(0)[:2]
        return y - m.kept

    def made(act: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> Stateful:
        model = Stateful(None, act)
        model.register_buffer("kept", torch.zeros(4))
        return model

    for act in (rows_of_mean, by_view, of_its_own, with_gradients_within):
        model, eager = made(act), made(act)
        trainer, optimizer = compiled(model, square), torch.optim.SGD(eager.parameters(), 0.1)
        for _ in range(3):
            if abs(trainer.step({"x": rows()}) - eager_step(eager, optimizer)) > 1e-6:
                return f"{act.__name__} has another loss"
        found = trainer.state_dict()
        for name, value in eager.state_dict().items():
            if not torch.allclose(found[name], value, atol=1e-6):
                return f"{act.__name__}: another {name}"
    return refused("shares by detach.*py.*within torch.no_grad", lambda: compiled(made(by_detach), square))


def rewound() -> str:
    """A write of the values that the model still has, from before training, is seen, though others hold the memory."""
    model = line()
    first, held = copy.deepcopy(model.state_dict()), model.state_dict()
    trainer = compiled(model, square)
    trainer.step({"x": rows()})
    model.load_state_dict(first)
    said = refused("'weight' of the model was written to", lambda: trainer.step({"x": rows()}))
    return said if torch.equal(held["weight"], first["weight"]) else "the model has changed"


def what_takes_the_place_of_another() -> str:
    """What errors say about a part or a tensor in another's place is right to the letter: the trained values first."""
    def another_part(model: nn.Sequential) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            model[1] = nn.Linear(4, 4)

    def another_weight(model: nn.Sequential) -> None:
        model[1].weight = nn.Parameter(torch.eye(4))

    def normed(model: nn.Sequential) -> None:
        nn.utils.parametrizations.weight_norm(model[1])

    def pruned(model: nn.Sequential) -> None:
        prune.l1_unstructured(model[1], "weight", 0.3)

    for change, undoes in itertools.product((another_part, another_weight, normed, pruned), (True, False)):
        model = nn.Sequential(line(), line())
        eager, part, weight = copy.deepcopy(model), model[1], model[1].weight
        trainer, optimizer = compiled(model, square), torch.optim.SGD(eager.parameters(), 0.1)
        for step in range(4):
            if step == 2:
                change(model)
                said = [refused("undo that and call write_back.*without load", lambda: trainer.step({"x": rows()})),
                        refused("would not get what was trained; undo that", lambda: trainer.write_back())]
                if said != ["ok", "ok"]:
                    return f"{change.__name__}: {said}"
                if undoes and change in (another_part, another_weight):
                    model[1] = part
                    part.weight = weight
                    trainer.write_back()
                else:
                    model = nn.Sequential(line(), line())
                    model.load_state_dict(trainer.state_dict())
                change(model)
                change(eager)
                trainer, optimizer = compiled(model, square), torch.optim.SGD(eager.parameters(), 0.1)
            if abs(trainer.step({"x": rows()}) - eager_step(eager, optimizer)) > 1e-6:
                return f"{change.__name__}: another loss at step {step}"
    return "ok"


def what_is_not_given_up() -> str:
    """write_back(discard=True) gives up what started from old values; a frozen parameter has none."""
    model = line()
    model.bias.requires_grad_(False)
    trainer = compiled(model, square)
    trainer.step({"x": rows()})
    eager = copy.deepcopy(model)
    eager.load_state_dict(trainer.state_dict())
    with torch.no_grad():
        model.weight.clamp_(-0.1, 0.1)
        for each in (model, eager):
            each.bias.add_(1.0)
    trainer.write_back(discard=True)
    found, right = trainer.step({"x": rows()}), square(eager, X).item()
    return "ok" if abs(found - right) <= 1e-9 * right else f"{found}, eager {right}"


def a_teacher_that_is_read_in_part() -> str:
    """All of it changes, such as by an average of weights; what the loss does not read decides nothing."""
    model, teacher = line(), nn.Sequential(line(), line())
    eager, other = copy.deepcopy(model), copy.deepcopy(teacher)

    def distance(m: nn.Module, x: torch.Tensor, of: nn.Module = teacher) -> torch.Tensor:
        with torch.no_grad():
            wanted = of[0](x)
        return ((m(x) - wanted)**2).mean()

    trainer, optimizer = compiled(model, distance), torch.optim.SGD(eager.parameters(), 0.1)
    for step in range(3):
        found, right = trainer.step({"x": rows()}), distance(eager, X, other)
        if abs(found - right.item()) > 1e-6:
            return f"step {step}: {found}, eager {right}"
        optimizer.zero_grad()
        right.backward()
        optimizer.step()
        with torch.no_grad():
            for each in (*teacher.parameters(), *other.parameters()):
                each.mul_(0.5)
    return "ok"


def like_eager(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, rtol: float) -> bool:
    """Whether the loss, and the gradient of a matrix that x is multiplied by, are those of eager PyTorch."""
    model, eager = [nn.Linear(4, 4, bias=False, dtype=x.dtype) for _ in range(2)]
    for each in (model, eager):
        with torch.no_grad():
            each.weight.copy_(torch.eye(4))
    trainer = splitcast.torch.compile(model, lambda m, x: function(m(x)).mean(), {"x": rows(x)},
                                      torch.optim.SGD(model.parameters(), 1.0))
    ours, loss = trainer.step({"x": rows(x)}), function(eager(x)).mean()
    loss.backward()
    gradient = eager.weight.detach() - trainer.state_dict()["weight"]
    return abs(ours - loss.item()) <= rtol * abs(loss.item()) and torch.allclose(
        gradient, eager.weight.grad, rtol=rtol, atol=1e-7)


def ends_of_ranges() -> str:
    """Gradients at 0, sums with infinities, and what has no digits left as a difference."""
    x = X.abs()
    x[:, 1] = 0.0
    of_x = {"power": lambda y: y**1.5, "sinc": torch.sinc, "cumsum": lambda y: torch.cumsum(
        torch.cat([y, torch.full((len(y), 1), -torch.inf)], 1), 1)[:, :4]}
    bce = nn.functional.binary_cross_entropy_with_logits
    for at, right in ((40.0, 1.0), (-40.0, 0.0), (torch.nan, torch.nan)):  # at the ends of formulas
        wide = torch.eye(4) * at
        trainer = splitcast.torch.compile(model := nn.Linear(4, 4, bias=False), lambda m, x: bce(
            m.weight, torch.zeros_like(m.weight)) * 16 + 0 * m(x).sum(), {"x": rows(X)},
            torch.optim.SGD(model.parameters(), 1.0))
        trainer.load_state_dict({"weight": wide})
        loss = trainer.step({"x": rows(X)})
        slope = (wide - trainer.state_dict()["weight"])[0, 0].item()
        if repr(round(slope, 6)) != repr(right) or (loss != loss) != (at != at):
            return f"logits of {at}"
    large, small = [torch.linspace(*ends, X.numel()).view(X.shape) for ends in ((6.0, 9.0), (-12.0, -6.0))]
    f = nn.functional
    of_large = {"celu": lambda y: f.celu(y * 20), "softplus": f.softplus, "tanh": lambda y: (1.0 - y.tanh() + 1e-6).log(),
                "sigmoid": lambda y: -(1.0 - y.sigmoid() + 1e-6).log(),
                "of true ones": lambda y: f.binary_cross_entropy_with_logits(y, torch.ones_like(y)) * 1e4}
    of_small = {"softplus": lambda y: f.softplus(y) * 1e4, "cosh": lambda y: y.exp().cosh().log() * 1e4,
                "of false ones": lambda y: f.binary_cross_entropy(y.sigmoid(), torch.zeros_like(y)) * 1e4}
    for functions, at, rtol in ((of_x, x, 1e-5), (of_large, large, 3e-2), (of_small, small, 1e-4)):
        for name, function in functions.items():
            if not like_eager(function, at, rtol):
                return name
    return "ok"


class Added(nn.Module):
    """Points, and what is added to them."""

    def __init__(self, at: torch.Tensor) -> None:
        super().__init__()
        self.at, self.more = at, nn.Parameter(torch.zeros_like(at))

    def forward(self) -> torch.Tensor:
        return self.at + self.more


def angles() -> str:
    """Angles and others of zeros, infinities and NaN; and slopes that are infinite or no number."""
    ends = torch.tensor([0.0, -0.0, 1.0, -2.0, torch.inf, -torch.inf, torch.nan, 0.5, -1.0, 89.2, 3e38, -3e38])
    up, right = torch.meshgrid(ends, ends, indexing="ij")
    one = torch.ones_like(ends)
    # PyTorch computes constants; "by" is 1 and depends on the batch, so these are computed here.
    values = {"atan2": lambda by: torch.atan2(up * by, right * by), "atan": lambda by: torch.atan(ends * by),
              "asinh": lambda by: torch.asinh(ends * by), "acosh": lambda by: torch.acosh(ends * by),
              "sinh": lambda by: torch.sinh(ends * by), "cosh": lambda by: torch.cosh(ends * by),
              "atanh": lambda by: torch.atanh(ends * by), "hypot": lambda by: torch.hypot(up * by, right * by),
              "power": lambda by: torch.pow(up * by, right), "powers of -1": lambda by: torch.pow(-1, ends * by),
              "lerp": lambda by: torch.lerp(ends * 1e8 * by, one, 1.0),
              "clamp": lambda by: (torch.arange(4) * by.long()).clamp(min=0.5)}
    slopes = {"sinh": torch.sinh, "cosh": torch.cosh,
              "asin": torch.asin, "acos": torch.acos, "acosh": torch.acosh, "atanh": torch.atanh, "asinh": torch.asinh,
              "atan": torch.atan, "hypot": lambda v: torch.hypot(v, 2 * v), "to a point": lambda v: torch.atan2(v, v.detach()),
              "base": lambda v: torch.pow(v, v.detach() - 1), "exponent": lambda v: torch.pow(v.detach() + 1, v),
              "from a point": lambda v: torch.atan2(v.detach(), v)}
    for dtype in (torch.float32, torch.float64):
        ends, up, right, one = [each.to(dtype) for each in (ends, up, right, one)]
        if dtype == torch.float64:
            ends[-2:] = torch.tensor([1e308, -1e308])
            up, right = torch.meshgrid(ends, ends, indexing="ij")
        for name, function in slopes.items():
            model, eager = Added(ends), Added(ends)

            def loss(m: nn.Module, x: torch.Tensor, function: Any = function) -> dict[str, torch.Tensor]:
                return {"loss": function(m()).sum() + 0 * x.sum(), **{
                    each: of((0 * x).sum().to(dtype) + 1) for each, of in values.items()}}

            trainer = splitcast.torch.compile(model, loss, {"x": rows()}, torch.optim.SGD(model.parameters(), 1.0))
            loss(eager, X)["loss"].backward()
            if name == "asin":
                outputs = trainer.evaluate({"x": rows()}, outputs=True)[1]
                for each, of in values.items():
                    found, expected = outputs[each], of(one[0])
                    if not torch.allclose(found, expected, rtol=1e-6, equal_nan=True) or not torch.equal(
                            found.signbit() | found.isnan(), expected.signbit() | expected.isnan()):
                        return f"{each} in {dtype}: {found}, eager {expected}"
            trainer.step({"x": rows()})
            found, expected = -trainer.state_dict()["more"], eager.more.grad
            if name in ("hypot", "to a point", "from a point", "base", "exponent"):
                expected[((2 if name == "hypot" else 1) * ends).isinf()] = 0.0  # as with_slopes says
            if not torch.allclose(found, expected, rtol=1e-5, equal_nan=True):
                return f"the slope of {name} in {dtype}: {found}, eager {expected}"
    return "ok"


def draws_of_nothing() -> str:
    """Dropout of 0 and of 1 draws no number, which evaluations do not ask for."""
    for p, right in ((0.0, square(line(), X).item()), (1.0, 0.0)):
        trainer = compiled(line(), lambda m, x, p=p: square(lambda x: nn.functional.dropout(m(x), p), x))
        found = trainer.evaluate({"x": rows()})
        if abs(found - right) > 1e-6:
            return f"dropout of {p}: {found}, eager {right}"
    return "ok"


def what_remains() -> str:
    """Remainders and rounded quotients by numbers that have no exact quotient, in both types and of both signs."""
    numbers = torch.tensor([0.1, 0.3, -0.7, 2.0])
    for dtype in (torch.float32, torch.float64):
        x = (torch.arange(X.numel()).view(X.shape) - 10).to(dtype) * 0.1
        for name, function in {
                "%": lambda y: (y % 0.1 + 1.0)**2, "% tensor": lambda y: (y % numbers.to(y.dtype) + 1.0)**2,
                "fmod": lambda y: (y.fmod(0.1) + 1.0)**2,
                "floor": lambda y: y.div(0.1, rounding_mode="floor") * y,
                "trunc": lambda y: y.div(numbers.to(y.dtype), rounding_mode="trunc") * y,
                "% infinity": lambda y: (y % torch.inf).clamp(max=5.0)}.items():
            if not like_eager(function, x, 1e-5):
                return f"{name} of {dtype}"
    return slopes_of_counts()


def slopes_of_counts() -> str:
    """The gradient of a divisor is how often it fits, also where that is more than 1e300 times, or has no end."""
    pairs = {torch.float64: [(1e200, 1e-105), (-1e200, 1e-105), (1e200, -1e-107), (-1e100, -1e-205), (1e200, 1e-150),
                             (1e150, 1e-200), (3e30, 7.0), (-7.5, 2.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (0.0, 3.0)],
             torch.float32: [(1e30, 1e-30), (-1e30, 1e-30), (1e20, 3.0), (-7.5, 2.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)]}
    for dtype, values in pairs.items():
        dividends, divisors = torch.tensor(values, dtype=dtype).T
        for name, function in (("%", torch.remainder), ("fmod", torch.fmod)):
            for way in (lambda v, f=function: f(dividends, v), lambda v, f=function: f(v, v.detach() * 3.0)):
                model, eager = Added(divisors), Added(divisors)

                def loss(m: nn.Module, x: torch.Tensor, way: Any = way) -> torch.Tensor:
                    return way(m()).sum() + 0 * x.sum()

                trainer = splitcast.torch.compile(model, loss, {"x": rows()}, torch.optim.SGD(model.parameters(), 1.0))
                trainer.step({"x": rows()})
                loss(eager, X).backward()
                found, expected = -trainer.state_dict()["more"], eager.more.grad
                if not torch.allclose(found, expected, rtol=1e-6, equal_nan=True):
                    return f"the slope of {name} in {dtype}: {found}, eager {expected}"
    return "ok"


def of_the_loss() -> str:
    """What a loss may make itself, functions within it; the optimizer's state, which is not the trainer's."""
    labels = torch.arange(len(X)) % 4

    def within(m: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        def part(p: torch.Tensor) -> torch.Tensor:
            return ((p - x)**2).mean()
        weighted = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))(m(x), y)
        return part(m(x)) + weighted + sum(part(m(x)[:, [i]]) for i in range(2))

    model, eager = line(), line()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    batch = {"x": rows(), "y": rows(labels)}
    trainer = splitcast.torch.compile(model, within, batch, optimizer)
    if abs(trainer.step(batch) - within(eager, X, labels).item()) > 1e-6:
        return "another loss"
    said = refused("is emptied", optimizer.state.clear)
    optimizer.state = collections.defaultdict(dict)
    said = said if said != "ok" else refused("a new state", lambda: trainer.step(batch))
    jvp = refused("torch.func of a function.*write the formula", lambda: compiled(line(), lambda m, x: torch.func.jvp(
        lambda z: z.softmax(-1), (m(x),), (torch.ones_like(x),))[1].sum()))
    return "PyTorch is not as it was" if type(within(eager, X, labels)) is not torch.Tensor else (
        said if said != "ok" else jvp)


class Loop:
    """A program's own trainer, whose methods are losses, and which has the optimizer and its scheduler."""

    def __init__(self) -> None:
        self.model = line()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.5)

    def plain(self, m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(m(x)).square().sum() / len(x) + square(m, x)

    def with_rate(self, m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return square(m, x) * float(self.scheduler.get_last_lr()[0])


def optimizers_that_the_loss_holds() -> str:
    """Their rates are followed; a loss that computes with a rate is refused when it changes."""
    ours, eager, reading = Loop(), Loop(), Loop()
    trainer = splitcast.torch.compile(ours.model, ours.plain, {"x": rows()}, ours.optimizer)
    other = splitcast.torch.compile(reading.model, reading.with_rate, {"x": rows()}, reading.optimizer)
    other.step({"x": rows()})
    for _ in range(3):
        loss = eager.plain(eager.model, X)
        if abs(trainer.step({"x": rows()}) - loss.item()) > 1e-6:
            return "another loss"
        eager.optimizer.zero_grad()
        loss.backward()
        eager.optimizer.step()
        for each in (ours, eager):
            each.scheduler.step()
    reading.scheduler.step()
    return refused("scheduler.* is ", lambda: other.step({"x": rows()}))


def reads_of_code() -> str:
    """Which key a function reads before it sets it, by the instructions of each Python."""

    def reads(of: dict[str, Any]) -> Any:
        return of["seen"] + of.get("step", 0)

    def sets(of: dict[str, Any]) -> Any:
        of["seen"] = 1
        return of["seen"]

    def instructions(*steps: tuple[str, Any, str]) -> list[Any]:
        return [types.SimpleNamespace(opname=name, argval=value, argrepr=shown) for name, value, shown in steps]

    if not _code.reads_first(reads.__code__, "seen", False) or _code.reads_first(sets.__code__, "seen", False):
        return "another key with this Python"
    # As dis gives them since 3.14.
    read = instructions(("LOAD_FAST_BORROW", "of", "of"), ("LOAD_CONST", "seen", "'seen'"), ("BINARY_OP", 26, "[]"),
                        ("LOAD_SMALL_INT", 3, "3"), ("BINARY_OP", 26, "[]"), ("LOAD_CONST", "other", "'other'"),
                        ("BINARY_OP", 0, "+"), ("LOAD_CONST", "set", "'set'"), ("STORE_SUBSCR", None, ""))
    with mock.patch.object(_code.dis, "get_instructions", lambda code: iter(read)):
        found = [_code.reads_first(sets.__code__, key, False) for key in ("seen", 3, "other", "set")]
    return "ok" if found == [True, True, False, False] else f"finds {found}"


SUITE = Suite({"reads of code": reads_of_code, "states of all kinds": states_of_all_kinds,
               "values of all kinds": values_of_all_kinds,
               "behind gradients": behind_gradients, "written in part": written_in_part, "rewound": rewound,
               "what takes the place of another": what_takes_the_place_of_another, "memory that others hold": memory_that_others_hold,
               "what is not given up": what_is_not_given_up, "a teacher that is read in part": a_teacher_that_is_read_in_part,
               "ends of ranges": ends_of_ranges, "angles": angles, "draws of nothing": draws_of_nothing,
               "what remains": what_remains, "of the loss": of_the_loss,
               "optimizers that the loss holds": optimizers_that_the_loss_holds}, ranks=(1, 3))

if __name__ == "__main__":
    SUITE.run()
