"""What a program changes after compile(), beside eager PyTorch: it reaches the next step, or is an error that says why.
Run on one and on three ranks by pytest (conftest.py)."""
from __future__ import annotations

import collections
import copy
import functools
import itertools
import random
import re
import tempfile
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn

from torch_suite import Suite

torch.set_default_dtype(torch.float64)  # so that a batch norm of few rows does not amplify rounding
RANKS, RANK = sc.size(), sc.rank()
X = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
RATE = 0.005  # so low that rounding is not amplified
SCALE = 1.0
SETTINGS = {"tau": 1.0}


def rows(x: torch.Tensor = X) -> torch.Tensor:
    least, more = divmod(len(x), RANKS)
    first = RANK * least + min(RANK, more)
    return x[first:first + least + (more > RANK)]


class Config:
    """Settings as attributes of a class and of its objects, in slots, too."""
    shared = 1.0
    __slots__ = ("__dict__", "tau")

    def __init__(self) -> None:
        self.tau = 1.0
        self.more = {"a": [1.0, {"b": 2.0}]}


class Penalty:
    """A loss as an object with numbers, of which it counts one."""

    def __init__(self) -> None:
        self.weight, self.calls, self.unread = 0.5, 0, 0

    def __call__(self, y: torch.Tensor) -> torch.Tensor:
        return self.weight * (y**2).mean()

    def counted(self, y: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return (y**2).mean() * self.calls


class Net(nn.Module):

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.l, self.bn, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.0)
        self.register_buffer("tau", torch.tensor(1.0))
        self.register_buffer("weights", torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.register_buffer("hidden", torch.tensor([1.0, 1.0, 2.0, 1.0]), persistent=False)
        self.cfg = Config()
        self.plain = torch.ones(4)
        self.power = 1
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.drop(self.bn(self.l(x))) * self.weights / self.tau * self.hidden + (1 / self.tau) * x
        return h / self.cfg.tau * self.cfg.more["a"][1]["b"] * self.plain * self.cfg.shared**self.power


class Scene:
    """A model, its optimizer and what its loss takes from around it."""

    def __init__(self) -> None:
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), RATE)
        self.beta, self.cell = [0.5], 0.5
        self.tensor, self.teacher = torch.tensor([1.0, 2.0, 3.0, 4.0]), nn.Linear(4, 4)
        self.array = np.array([1.0, 2.0])
        self.penalty, self.criterion = Penalty(), nn.SmoothL1Loss(beta=1.0)
        self.queue = collections.deque([1.0, 2.0])

    def loss(self) -> Callable[..., torch.Tensor]:
        beta, tensor, teacher, array = self.beta, self.tensor, self.teacher, self.array
        penalty, criterion, queue = self.penalty, self.criterion, self.queue

        def loss(model: nn.Module, x: torch.Tensor, default: Any = self.beta) -> torch.Tensor:
            y = model(x)
            return criterion(y * tensor, teacher(x).detach()) + beta[0] * penalty(y) * SCALE * SETTINGS["tau"] * float(
                array[0]) * queue[0] + 0 * default[0]

        return loss


def forget(scene: Scene) -> None:
    global SCALE
    SCALE, SETTINGS["tau"], Config.shared = 1.0, 1.0, 1.0


def set_global(scene: Scene) -> None:
    global SCALE
    SCALE = 3.0


def in_place(change: Callable[[Scene], Any]) -> Callable[[Scene], Any]:

    def changed(scene: Scene) -> None:
        with torch.no_grad():
            change(scene)

    return changed


def ema(scene: Scene) -> None:
    for mine, other in zip(scene.teacher.parameters(), scene.model.l.parameters()):
        mine.data.mul_(0.5).add_(other.data, alpha=0.5)


def unread(scene: Scene) -> None:
    scene.model.seen += 1
    scene.penalty.unread += 1
    scene.model.another = 3


def set_equal(scene: Scene) -> None:
    """Values that are equal to what they were, in other objects."""
    scene.model.cfg.tau = float("1.0")
    scene.model.cfg.more = {"a": [1.0, {"b": 2.0}]}
    scene.beta[0] = float("0.5")
    scene.model.plain = torch.ones(4)


def freeze_held(scene: Scene) -> None:
    """Of a tensor whose memory others hold."""
    scene.held = scene.model.l.weight.detach().numpy()
    scene.model.l.weight.requires_grad_(False)


CHANGES: dict[str, tuple[Callable[[Scene], Any], str | None]] = {  # None: as eager PyTorch; else the error
    "load_state_dict": (lambda s: s.model.load_state_dict({k: v * 0.5 if v.is_floating_point() else v
                                                           for k, v in s.model.state_dict().items()}), None),
    "a clamp": (in_place(lambda s: s.model.l.weight.clamp_(-0.1, 0.1)), None),
    "a clamp of data": (lambda s: s.model.l.weight.data.clamp_(-0.1, 0.1), None),
    "other data": (lambda s: setattr(s.model.l.weight, "data", torch.eye(4)), None),
    "a transposed view": (lambda s: setattr(s.model.l.weight, "data", s.model.l.weight.data.t()), None),
    "a transposition in place": (in_place(lambda s: s.model.l.weight.t_()), None),
    "a view that repeats an element": (lambda s: setattr(s.model.weights, "data", s.model.weights.data[:1].expand(4)),
                                       None),
    "a parameter that repeats a row": (lambda s: setattr(s.model.l.weight, "data", s.model.l.weight.data[:1].expand(
        4, 4)), "'l.weight' of the model repeats elements"),
    "a view of fewer rows": (lambda s: setattr(s.model.l.weight, "data", s.model.l.weight.data[:2]),
                             r"l.weight.*\(2, 4\), but it was"),
    "an element by a view": (lambda s: s.model.l.weight.detach()[1].fill_(0.5), None),
    "running statistics": (lambda s: s.model.bn.reset_running_stats(), None),
    "a buffer in place": (lambda s: s.model.tau.fill_(2.0), None),
    "a buffer that is assigned": (lambda s: setattr(s.model, "weights", s.model.weights.flip(0) + 1.0), None),
    "a buffer that is not persistent": (lambda s: s.model.hidden.mul_(2.0), None),
    "a tensor of the model": (lambda s: s.model.plain.mul_(3.0), None),
    "another tensor of the model": (lambda s: setattr(s.model, "plain", s.model.plain + torch.arange(4.0)), None),
    "a tensor of a closure": (lambda s: s.tensor.mul_(2.0), None),
    "a teacher that follows": (ema, None),
    "what is not read": (unread, None),
    "equal values": (set_equal, None),
    "a rate": (lambda s: s.optimizer.param_groups[0].update(lr=0.001), None),
    "a buffer of another shape": (lambda s: setattr(s.model, "weights", torch.ones(1)), r"weights is .*\(1,\), but it"),
    "another type": (lambda s: s.model.float(), "float32.*float64"),
    "a mode": (lambda s: s.model.bn.eval(), "part 'bn' is in evaluation mode"),
    "all modes": (lambda s: s.model.eval(), "is in evaluation mode"),
    "a number of a part": (lambda s: setattr(s.model.drop, "p", 0.5), "drop.p is 0.5, but it was 0.0"),
    "a momentum": (lambda s: setattr(s.model.bn, "momentum", 0.5), "bn.momentum is 0.5"),
    "an epsilon": (lambda s: setattr(s.model.bn, "eps", 0.5), "bn.eps is 0.5"),
    "1 that becomes 1.0": (lambda s: setattr(s.model, "power", 1.0), "power is 1.0, but it was 1 "),
    "a setting": (lambda s: setattr(s.model.cfg, "tau", 0.5), "cfg.tau is 0.5"),
    "an inner setting": (lambda s: s.model.cfg.more["a"][1].update(b=3.0), "b'. is 3.0, but it was 2.0"),
    "another setting": (lambda s: setattr(s.model, "cfg", types.SimpleNamespace(tau=1.0)), "cfg"),
    "an attribute of a class": (lambda s: setattr(Config, "shared", 2.0), "Config.shared is 2.0"),
    "a global": (set_global, "SCALE is 3.0, but it was 1.0.*a global of loss .File .*torch_cases_changes"),
    "a global dict": (lambda s: SETTINGS.update(tau=0.5), "SETTINGS..tau.. is 0.5"),
    "a closure's number": (lambda s: s.beta.__setitem__(0, 1.0), "is 1.0, but it was 0.5"),
    "a queue": (lambda s: s.queue.rotate(), "queue.0. is 2.0"),
    "an array": (lambda s: s.array.__setitem__(0, 5.0), "array is"),
    "an object's number": (lambda s: setattr(s.penalty, "weight", 2.0), "penalty.weight is 2.0"),
    "an object's method": (lambda s: setattr(s.model, "forward", lambda x: s.model.l(x)), "forward"),
    "a criterion's number": (lambda s: setattr(s.criterion, "beta", 0.1), "criterion.beta is 0.1"),
    "a criterion's reduction": (lambda s: setattr(s.criterion, "reduction", "sum"), "criterion.reduction is 'sum'"),
    "frozen": (lambda s: s.model.l.weight.requires_grad_(False), "'l.weight' is frozen"),
    "frozen, of held memory": (freeze_held, "'l.weight' is frozen"),
    "frozen and thawed": (lambda s: s.model.l.weight.requires_grad_(False).requires_grad_(True), None),
    "another parameter": (lambda s: setattr(s.model.l, "weight", nn.Parameter(torch.eye(4))),
                          "l.weight is another Parameter .* copy the new values"),
    "another part": (lambda s: setattr(s.model, "l", nn.Linear(4, 4)), "l is another Linear than"),
    "a parametrization": (lambda s: nn.utils.parametrizations.weight_norm(s.model.l), "l"),
    "a part's hook": (lambda s: s.model.l.register_forward_hook(lambda *given: None), "'l' has other forward hooks"),
    "a teacher's hook": (lambda s: s.teacher.register_forward_pre_hook(lambda *given: None), "other forward hooks"),
    "a backward hook": (lambda s: s.model.l.register_full_backward_hook(lambda *given: None), "'l'.*backward hook"),
    "a parameter's hook": (lambda s: s.model.l.weight.register_hook(lambda g: g / 2), "'l.weight' has a gradient hook"),
    "a step's hook": (lambda s: s.optimizer.register_step_post_hook(lambda *given: None), "register_step_post_hook"),
    "a tie": (lambda s: setattr(s.model.bn.bias, "data", s.model.l.bias.data), "share their memory now"),
    "a group": (lambda s: s.optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]}), "2 parameter groups"),
    "another order": (lambda s: s.optimizer.param_groups[0]["params"].reverse(), "groups have other parameters"),
    "another momentum": (lambda s: s.optimizer.param_groups[0].update(momentum=0.5), "momentum of group 0"),
    "an optimizer's state": (lambda s: s.optimizer.state[s.model.l.weight].update(momentum_buffer=torch.ones(4, 4)),
                             "state is not that of compile"),
    "the default type": (lambda s: torch.set_default_dtype(torch.float32), "default type is torch.float32"),
}


def trained(scene: Scene, **options: Any) -> splitcast.torch.Trainer:
    return splitcast.torch.compile(scene.model, scene.loss(), {"x": rows()}, scene.optimizer, enable_zero=3, **options)


def step_eagerly(scene: Scene) -> float:
    scene.optimizer.zero_grad()
    loss = scene.loss()(scene.model, X)
    loss.backward()
    scene.optimizer.step()
    return loss.item()


def difference(trainer: splitcast.torch.Trainer, ours: Scene, eager: Scene) -> str | None:
    for step in range(2):
        one, other = trainer.step({"x": rows()}), step_eagerly(eager)
        if not abs(one - other) <= 1e-5 * abs(other) + 1e-6:
            return f"loss of step {step} is {one}, eager {other}"
    state = trainer.state_dict()
    for name, value in eager.model.state_dict().items():
        if not torch.allclose(state[name], value, rtol=1e-4, atol=1e-5):
            return f"{name} is off by {(state[name] - value).abs().max()}"
    return None


def after(change: Callable[[Scene], Any], expected: str | None) -> str:
    """The change before the first step; then, where it is none that is refused, once more after write_back()."""
    torch.manual_seed(0)
    ours = Scene()
    eager = copy.deepcopy(ours)
    eager.optimizer = torch.optim.SGD(eager.model.parameters(), RATE)
    try:
        trainer = trained(ours)
        for _ in range(2):
            change(ours)
            if expected is None:
                change(eager)
            wrong = difference(trainer, ours, eager)
            if wrong or expected:
                return wrong or "is no error"
            trainer.write_back()
        change(ours)  # and evaluations
        change(eager)
        found = trainer.evaluate({"x": rows()})
        right = eager.loss()(eager.model.eval(), X).item()
        return "ok" if abs(found - right) <= 1e-5 * abs(right) + 1e-6 else f"evaluated {found}, eager {right}"
    except sc.InvalidError as error:
        return "ok" if expected and re.search(expected, str(error)) else f"raises {error}"
    finally:
        torch.set_default_dtype(torch.float64)
        forget(ours)


def refused(pattern: str, call: Callable[[], Any]) -> str:
    try:
        call()
    except sc.InvalidError as error:
        return "ok" if re.search(pattern, str(error)) else f"raises {error}"
    return "is no error"


def compiled(model: nn.Module, loss: Callable[..., Any], rate: float = 0.1, **options: Any) -> splitcast.torch.Trainer:
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], rate)
    return splitcast.torch.compile(model, loss, {"x": rows()}, optimizer, enable_zero=3, **options)


def line() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, 4)


def what_tracing_changes() -> str:
    """Numbers that are drawn, and counters and lists that change, while the loss is traced."""
    count, seen, numbers, generator = 0, [], itertools.count(1), np.random.default_rng(0)
    own, penalty = random.Random(0), Penalty()

    def counting(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        return m(x).mean() * count

    def annealed() -> Any:
        value = 1.0
        while True:
            yield value
            value *= 0.5

    values = annealed()
    losses = {
        "draws random numbers from random .File .*torch_cases_changes": lambda m, x: m(x).mean() * random.random(),
        "draws random numbers from np.random .File": lambda m, x: m(x).mean() * float(np.random.beta(1, 1)),
        "draws random numbers from a generator of NumPy": lambda m, x: m(x).mean() * generator.random(),
        "draws random numbers from a random.Random": lambda m, x: m(x).mean() * own.random(),
        "changes count": counting,
        "changes seen": lambda m, x: (seen.append(1), m(x).mean())[1],
        "changes numbers": lambda m, x: m(x).mean() * next(numbers),
        "changes values": lambda m, x: m(x).mean() * next(values),
        "changes self.*calls|changes penalty.*calls": lambda m, x: penalty.counted(m(x)),
    }
    for pattern, loss in losses.items():
        said = refused(pattern, lambda: compiled(line(), loss, evaluate=False))
        if said != "ok":
            return f"{pattern}: {said}"
    return "ok"


def square(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return (m(x)**2).mean()


def stale_values() -> str:
    """After steps, the model has old values: what starts from them is an error; what is loaded as a whole is not."""
    for change in (lambda m: m.weight.data.clamp_(-9, 9), lambda m: m.weight.detach().numpy().fill(0.0),
                   lambda m: m.load_state_dict(line().state_dict())):
        model, untouched = line(), line()
        trainer, other = compiled(model, square), compiled(untouched, square)
        trainer.step({"x": rows()})
        other.step({"x": rows()})
        change(model)
        for call in (lambda: trainer.step({"x": rows()}), trainer.write_back):
            said = refused(r"trainer.write_back\(discard=True\)", call)
            if said != "ok":
                return said
        trainer.write_back(discard=True)
        if not torch.equal(model.weight, other.state_dict()["weight"]):
            return "what is given up is still there"
        if trainer.step({"x": rows()}) != other.step({"x": rows()}):
            return "a step goes on from what was given up"
    model, eager = line(), line()
    trainer, optimizer = compiled(model, square), torch.optim.SGD(eager.parameters(), 0.1)
    for step in range(4):
        one, other = trainer.step({"x": rows()}), square(eager, X)
        if abs(one - other.item()) > 1e-5:
            return f"step {step}: {one}, eager {other}"
        optimizer.zero_grad()
        other.backward()
        optimizer.step()
        if step % 2:
            trainer.write_back()
            for each in (model, eager):
                each.weight.data.mul_(0.9)
        else:
            model.load_state_dict(trainer.state_dict())
    return "ok"


def modes_of_compile() -> str:
    """A model in evaluation mode is trained in it."""
    model = nn.Sequential(line(), nn.BatchNorm1d(4), nn.Dropout(0.5)).eval()
    eager = copy.deepcopy(model)
    trainer, optimizer = compiled(model, square), torch.optim.SGD(eager.parameters(), 0.1)
    for step in range(2):
        one, other = trainer.step({"x": rows()}), square(eager, X)
        if abs(one - other.item()) > 1e-5:
            return f"step {step}: {one}, eager {other}"
        optimizer.zero_grad()
        other.backward()
        optimizer.step()
    statistics = copy.deepcopy(eager.state_dict())
    statistics["1.running_mean"] += 1.0
    said = trainer.load_state_dict(statistics)
    eager.load_state_dict(statistics)
    if tuple(said) != ([], []):
        return f"load_state_dict returned {said}"
    found, right = trainer.evaluate({"x": rows()}), square(eager, X).item()
    return "ok" if abs(found - right) < 1e-5 else f"with loaded statistics {found}, eager {right}"


class Scaled(nn.Module):

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.l = line()
        self.register_buffer("scale", torch.tensor([scale, 1.0, 1.0, 2.0]))
        self.register_buffer("table", torch.arange(4.0) * scale, persistent=False)
        self.register_buffer("unused", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.l(x) * self.scale + (1 / self.scale) * x + self.table * torch.arange(len(x))[:, None].to(x)


def files() -> str:
    """Persistent buffers travel, constants do not: a file fits another batch and other constants."""
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    directory = tempfile.mkdtemp() if RANK == 0 else ""
    path = sc.exchange(directory, "a directory")[0] + "/model.safetensors"
    first = compiled(Scaled(2.0), lambda m, x: square(m, x * weight))
    first.step({"x": rows()})
    first.save(path)
    weight = torch.tensor([4.0, 3.0, 2.0, 1.0])
    other, eager = Scaled(3.0), Scaled(3.0)
    optimizer = torch.optim.SGD(other.parameters(), 0.1)
    wide = torch.cat([X, X])
    trainer = splitcast.torch.compile(other, lambda m, x: square(m, x * weight), {"x": rows(wide)}, optimizer)
    if trainer.load(path) != ([], []):
        return "keys are missing"
    eager.load_state_dict(first.state_dict())
    found, right = trainer.evaluate({"x": rows(wide)}), square(eager, wide * weight).item()
    if abs(found - right) > 1e-5 * right:
        return f"loaded: {found}, eager {right}"
    if float(trainer.state_dict()["scale"][0]) != 2.0:
        return "the buffer is not loaded"
    state = dict(trainer.state_dict(), scale=torch.full((4,), 5.0), unused=torch.ones(2), more=torch.ones(1))
    state.pop("l.bias")
    said = refused("has no l.bias and it has more", lambda: trainer.load_state_dict(state))
    if said != "ok":
        return said
    keys = trainer.load_state_dict(state, strict=False)
    if keys.missing_keys != ["l.bias"] or keys.unexpected_keys != ["more"]:
        return str(keys)
    eager.load_state_dict(state, strict=False)
    found, right = trainer.evaluate({"x": rows(wide)}), square(eager, wide * weight).item()
    if abs(found - right) > 1e-5 * right or not torch.equal(trainer.state_dict()["unused"], torch.ones(2)):
        return f"by load_state_dict: {found}, eager {right}"
    return "ok"


def rates_of_files() -> str:
    """Loading sets the rates of the groups; one that is set afterwards counts, though it was there before."""
    directory = tempfile.mkdtemp() if RANK == 0 else ""
    path = sc.exchange(directory, "a directory")[0] + "/rates.safetensors"
    trainer = compiled(line(), square, 0.1)
    trainer.save(path)
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    trainer = splitcast.torch.compile(model, square, {"x": rows()}, optimizer)
    trainer.load(path)
    if abs(optimizer.param_groups[0]["lr"] - 0.1) > 1e-7:
        return f"the rate is {optimizer.param_groups[0]['lr']}"
    optimizer.param_groups[0]["lr"] = 0.001
    trainer.step({"x": rows()})
    eager = line()
    square(eager, X).backward()
    right = eager.weight.detach() - 0.001 * eager.weight.grad
    return "ok" if torch.allclose(trainer.state_dict()["weight"], right, atol=1e-6) else "another rate"


class Named(nn.Module):
    """Layers of these names, one after the other."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleDict({name: nn.Linear(4, 4) for name in names})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values():
            x = layer(x)
        return x


def files_of_other_models() -> str:
    """strict=True changes nothing; strict=False takes what both have, and says the rest."""
    directory = tempfile.mkdtemp() if RANK == 0 else ""
    path = sc.exchange(directory, "a directory")[0] + "/other.safetensors"
    models = [Named("a", "b"), Named("b", "c")]
    groups = [[{"params": list(models[0].parameters())}],
              [{"params": list(models[1].layers[name].parameters())} for name in "bc"]]
    first, trainer = (splitcast.torch.compile(each, square, {"x": rows()}, torch.optim.Adam(of))
                      for each, of in zip(models, groups))
    first.step({"x": rows()})
    first.save(path)
    before = trainer.state_dict()
    said = refused("layers", lambda: trainer.load(path))
    if said != "ok" or any(not torch.equal(before[name], value) for name, value in trainer.state_dict().items()):
        return f"of strict=True: {said}"
    keys = trainer.load(path, strict=False)
    found = trainer.state_dict()
    states = ["bias", "bias.exp_avg", "bias.exp_avg_sq", "weight", "weight.exp_avg", "weight.exp_avg_sq"]
    found_keys = [sorted(each for each in of if "optimizer." not in each)
                  for of in (keys.missing_keys, keys.unexpected_keys)]
    if found_keys != [[f"layers.{layer}.{state}" for state in states] for layer in "ca"]:
        return str(keys)
    right = {"layers.b.weight": first.state_dict()["layers.b.weight"], "layers.c.weight": before["layers.c.weight"]}
    return "ok" if all(torch.equal(found[name], value) for name, value in right.items()) else "other values"


def state_of_an_optimizer() -> str:
    """A state dict without what steps have added up is refused; one that lacks nothing is not, nor is another state that
    has nothing, such as eager SGD's, which says so of each parameter."""
    for made, has_sums in ((lambda p: torch.optim.SGD(p, 0.1), False), (torch.optim.Adam, True),
                           (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), True)):
        model = line()
        optimizer = made(model.parameters())
        trainer = splitcast.torch.compile(model, square, {"x": rows()}, optimizer)
        torch.optim.lr_scheduler.ConstantLR(optimizer).state_dict()
        before = copy.deepcopy(optimizer.state_dict())
        trainer.step({"x": rows()})
        if has_sums:
            said = refused(r"state_dict\(\) lacks.*trainer.save\(path\)", optimizer.state_dict)
        else:
            said = "ok" if optimizer.state_dict()["state"] == before["state"] else "another state"
        if said != "ok":
            return said
        said = refused("state is copied, but", lambda: copy.deepcopy(optimizer)) if has_sums else "ok"
        if said != "ok":
            return said
        eager = line()
        theirs = made(eager.parameters())
        square(eager, rows()).backward()
        theirs.step()
        optimizer.load_state_dict(theirs.state_dict())
        step = functools.partial(trainer.step, {"x": rows()})
        if has_sums and (said := refused("the optimizer has a new state, but momentum", step)) != "ok":
            return said
        if not has_sums:
            step()
    return "ok"


def code_in_no_file() -> str:
    """What a console, a notebook or exec() runs is the user's, too."""
    text = """if True:
        SCALE = 1.0
        def loss(model, x):
            return (model(x)**2).mean() * SCALE
    """
    for name, space in (("<stdin>", {"__name__": "__main__"}), ("<ipython-input-1>", {"__name__": "__main__"}),
                        ("<cell>", {}), ("<string>", {}), ("<string>", {"__name__": "__main__"})):
        exec(compile(text, name, "exec"), space)
        trainer = compiled(line(), space["loss"])
        space["SCALE"] = 2.0
        said = refused("SCALE is 2.0, but it was 1.0", functools.partial(trainer.step, {"x": rows()}))
        if said != "ok":
            return f"{name}: {said}"
    return "ok"


def names_that_are_patterns() -> str:
    """A star in a name is a star."""

    def made() -> nn.Module:
        torch.manual_seed(0)
        return nn.ModuleDict({"a": nn.Linear(4, 4), "*": nn.Linear(4, 4), "a*": nn.Linear(4, 4)})

    def through(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return (m["a*"](m["*"](torch.tanh(m["a"](x))))**2).mean()

    def by(m: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD([{"params": m["a"].parameters(), "lr": 0.0}, {"params": m["*"].parameters(), "lr": 0.1},
                                {"params": m["a*"].parameters(), "lr": 0.2}])

    model, eager = made(), made()
    trainer, optimizer = splitcast.torch.compile(model, through, {"x": rows()}, by(model)), by(eager)
    for step in range(3):
        one, other = trainer.step({"x": rows()}), through(eager, X)
        if abs(one - other.item()) > 1e-5:
            return f"step {step}: {one}, eager {other}"
        optimizer.zero_grad()
        other.backward()
        optimizer.step()
    return "ok"


class Shared(nn.Module):

    def __init__(self, how: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        if how == "data":
            self.b.weight.data = self.a.weight.data
        elif how == "parameter":
            self.b.weight = nn.Parameter(self.a.weight.data)
        elif how == "frozen":
            self.b.weight = nn.Parameter(self.a.weight.data, requires_grad=False)
        elif how == "buffer":
            self.register_buffer("w", self.a.weight.data)
        elif how == "transposed":
            self.b.weight = nn.Parameter(self.a.weight.data.t())
        self.how = how

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.b(torch.tanh(self.a(x)))
        return y @ self.w if self.how == "buffer" else y


def shared_memory() -> str:
    for how in ("data", "parameter", "frozen", "buffer"):
        model, eager = Shared(how), Shared(how)
        trainer, optimizer = compiled(model, square), torch.optim.SGD(eager.parameters(), 0.1)
        for step in range(3):
            one, other = trainer.step({"x": rows()}), square(eager, X)
            if abs(one - other.item()) > 1e-5:
                return f"{how}, step {step}: {one}, eager {other}"
            optimizer.zero_grad()
            other.backward()
            optimizer.step()
        if not torch.allclose(trainer.state_dict()["b.weight"], eager.b.weight, atol=1e-6):
            return f"{how}: another weight"
    said = refused("'a.weight' and 'b.weight' share memory, but", lambda: compiled(Shared("transposed"), square))
    model = Shared("data")
    adam = torch.optim.AdamW(model.parameters())
    return said if said != "ok" else refused(
        "a.weight, b.weight share memory but are several",
        lambda: splitcast.torch.compile(model, square, {"x": rows()}, adam))


def surroundings() -> str:
    trainer = compiled(line(), square)

    def within(context: Any, call: Callable[[], Any]) -> Callable[[], Any]:

        def run() -> None:
            with context:
                call()

        return run

    def step() -> float:
        return trainer.step({"x": rows()})

    half = torch.autocast("cpu", torch.bfloat16)
    checks = [refused("autocast is on around step", within(half, step)),
              refused("gradients are off", within(torch.no_grad(), step)),
              refused("gradients are off", within(torch.no_grad(), lambda: compiled(line(), square)))]
    with torch.no_grad():
        trainer.evaluate({"x": rows()})
    return next((each for each in checks if each != "ok"), "ok")


def several_shapes() -> str:
    """Batches of each shape follow what was changed before another shape's; each is refused by itself."""
    ours = Scene()
    eager = copy.deepcopy(ours)
    eager.optimizer = torch.optim.SGD(eager.model.parameters(), RATE)
    trainer = splitcast.torch.compile(ours.model, ours.loss(), {"x": rows()}, ours.optimizer, enable_zero=3,
                                      other_inputs=[{"x": rows(X[:5])}])
    try:
        for count in (6, 5, 5, 6):
            for scene in (ours, eager):
                scene.model.weights = scene.model.weights.flip(0) + 1.0
                scene.tensor.mul_(1.5)
                scene.optimizer.param_groups[0]["lr"] *= 0.9
            found, right = trainer.step({"x": rows(X[:count])}), eager.loss()(eager.model.train(), X[:count])
            eager.optimizer.zero_grad()
            right.backward()
            eager.optimizer.step()
            evaluated, of_eager = trainer.evaluate({"x": rows()}), eager.loss()(eager.model.eval(), X).item()
            if abs(found - right.item()) > 1e-9 * abs(right.item()) or abs(evaluated - of_eager) > 1e-9 * abs(of_eager):
                return f"{count} rows: {found}, {evaluated}, eager {right.item()}, {of_eager}"
        set_global(ours)
        outcomes = [refused("SCALE is 3.0", lambda count=count: trainer.step({"x": rows(X[:count])})) for count in (5, 6)]
        return next((each for each in outcomes if each != "ok"), "ok")
    finally:
        forget(ours)


def price() -> str:
    """Prints what comparing takes before each step: the processor's time of this thread, the least of ten times a hundred."""
    import time
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.0)) for _ in range(24)]
    model = nn.Sequential(*blocks)
    trainer = compiled(model, square, evaluate=False)
    best = float("inf")
    for _ in range(10):
        start = time.thread_time()
        for _ in range(100):
            trainer._compare("train")
        best = min(best, (time.thread_time() - start) / 100)
    count = len(list(model.parameters()))
    print(f"PRICE {best * 1e6:.1f} us for {count} parameters", flush=True)
    return "ok"


OTHERS: dict[str, Callable[[], str]] = {
    "what tracing changes": what_tracing_changes, "stale values": stale_values, "modes of compile": modes_of_compile,
    "files": files, "files of other models": files_of_other_models, "rates of files": rates_of_files,
    "code in no file": code_in_no_file, "names that are patterns": names_that_are_patterns,
    "shared memory": shared_memory, "surroundings": surroundings, "several shapes": several_shapes,
    "state of an optimizer": state_of_an_optimizer}
MEASURED = {"price": price}  # run only where the command line names it


SUITE = Suite({**{name: lambda of=of: after(*of) for name, of in CHANGES.items()}, **OTHERS}, ranks=(1, 3), measured=MEASURED)

if __name__ == "__main__":
    SUITE.run()
