"""What a program changes between steps: random programs on small models, each beside eager PyTorch. A program's losses
and its last state are those of eager PyTorch, or it ends in an error; there is no third outcome. Run on one and on
three ranks by pytest (conftest.py): programs with one kind of action, then of all kinds. How more programs end:

    python3 torch_programs.py NUMBER_OF_PROGRAMS FIRST_SEED STAGE
"""
from __future__ import annotations

import collections
import copy
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_suite import Suite

torch.set_default_dtype(torch.float64)  # so that a batch norm of few rows does not amplify rounding
ROWS, STEPS = 6, 4
RANKS, RANK = sc.size(), sc.rank()
activation = F.relu


class Plain(nn.Module):
    """Numbers, settings, buffers and tensors of all kinds, and a batch norm."""
    scale = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.l, self.bn, self.out = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.register_buffer("tau", torch.tensor(1.5))
        self.register_buffer("weights", torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.register_buffer("hidden", torch.ones(4), persistent=False)
        self.cfg = types.SimpleNamespace(tau=1.0, kinds={"main": [1.0, 0.5]})
        self.plain = torch.ones(4)
        self.steps_seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.bn(torch.tanh(self.l(x))) * self.weights / self.tau + self.frozen(x) * (1 / self.tau)
        return self.out(h * self.hidden * self.scale) / self.cfg.tau * self.cfg.kinds["main"][0] * self.plain


class Model(nn.Module):
    """What the models below have in common: settings, and a buffer by which they divide."""

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self.cfg = types.SimpleNamespace(tau=1.0, kinds={"main": [1.0, 0.5]})
        self.register_buffer("tau", torch.tensor(1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.computed(x)
        return y / self.tau / self.cfg.tau


class Images(Model):

    def __init__(self) -> None:
        super().__init__(body=nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(),
                                            nn.Linear(2, 4)))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x.view(-1, 1, 2, 2))


class Depthwise(Model):
    """Convolutions of each channel by itself, and a norm of groups of channels."""

    def __init__(self) -> None:
        super().__init__(into=nn.Conv1d(1, 4, 1), each=nn.Conv1d(4, 4, 3, padding=1, groups=4), norm=nn.GroupNorm(2, 4),
                         out=nn.Conv1d(4, 1, 1))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        h = self.into(x[:, None])
        return self.out(h + F.silu(self.norm(self.each(h))))[:, 0]


class Tied(Model):
    """Two layers with one weight, and a layer norm."""

    def __init__(self) -> None:
        super().__init__(l=nn.Linear(4, 4), out=nn.Linear(4, 4), norm=nn.LayerNorm(4))
        self.out.weight = self.l.weight

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.norm(F.gelu(self.l(x))))


class Recurrent(Model):

    def __init__(self) -> None:
        super().__init__(r=nn.GRU(2, 3, batch_first=True), out=nn.Linear(3, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.r(x.view(-1, 2, 2))[0][:, -1])


class ByHand(Model):
    """A recurrent cell in a loop of Python, with a state that is made anew."""

    def __init__(self) -> None:
        super().__init__(cell=nn.LSTMCell(1, 4), out=nn.Linear(4, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        state = (x.new_zeros(len(x), 4), x.new_zeros(len(x), 4))
        for t in range(4):
            state = self.cell(x[:, t:t + 1], state)
        return self.out(state[0])


class Transformer(Model):

    def __init__(self) -> None:
        super().__init__(block=nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), out=nn.Linear(4, 1))
        self.positions = nn.Parameter(torch.linspace(-1.0, 1.0, 16).view(4, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
        return self.out(self.block(x[:, :, None] + self.positions, src_mask=mask))[:, :, 0]


class Experts(Model):
    """A mixture of experts, of which each row takes all, by the weights of a router."""

    def __init__(self) -> None:
        super().__init__(router=nn.Linear(4, 3), experts=nn.ModuleList(nn.Linear(4, 4) for _ in range(3)),
                         out=nn.Linear(4, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.router(x).softmax(-1)
        return self.out(sum(weights[:, i:i + 1] * activation(expert(x)) for i, expert in enumerate(self.experts)))


class Adapted(Model):
    """A frozen layer with an adapter of low rank, in lists and dicts of parameters."""

    def __init__(self) -> None:
        super().__init__(base=nn.Linear(4, 4).requires_grad_(False), out=nn.Linear(4, 4))
        self.parts = nn.ParameterList([torch.randn(2, 4) * 0.3, torch.randn(4, 2) * 0.3])
        self.scales = nn.ParameterDict({"all": torch.tensor(0.5)})

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.base(x) + x @ self.parts[0].T @ self.parts[1].T * self.scales["all"]))


class Parametrized(Model):

    def __init__(self) -> None:
        super().__init__(l=nn.utils.parametrizations.weight_norm(nn.Linear(4, 6)), out=nn.Linear(6, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.elu(self.l(x)))


class Words(Model):
    """Rows of tables by the signs of the input."""

    def __init__(self) -> None:
        super().__init__(table=nn.Embedding(2, 3), out=nn.Linear(12, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.table((x > 0).long()).flatten(1))


class Pair(Model):
    """A generator and a critic of what it makes."""

    def __init__(self) -> None:
        super().__init__(l=nn.Linear(4, 4), critic=nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1)),
                         out=nn.Linear(4, 4))

    def computed(self, x: torch.Tensor) -> torch.Tensor:
        made = self.out(torch.tanh(self.l(x)))
        return made + F.softplus(-self.critic(made)) - F.softplus(self.critic(x))


MODELS: list[Callable[[], nn.Module]] = [Plain, Images, Depthwise, Tied, Recurrent, ByHand, Transformer, Experts,
                                         Adapted, Parametrized, Words, Pair]


def distilled(model: nn.Module, x: torch.Tensor, w: World) -> torch.Tensor:
    y = model(x)
    return w.criterion(y * w.weights, x) + w.beta[0] * ((y - w.teacher(x))**2).mean()


def contrasted(model: nn.Module, x: torch.Tensor, w: World) -> torch.Tensor:
    """Rows of the batch against each other."""
    y, other = F.normalize(model(x) * w.weights, dim=1), F.normalize(w.teacher(x), dim=1)
    return F.cross_entropy(y @ other.T / w.beta[0], torch.arange(len(x))) + w.criterion(y, other)


def mixed(model: nn.Module, x: torch.Tensor, w: World) -> torch.Tensor:
    y = model(x)
    return w.criterion(y, x) + w.beta[0] * F.cross_entropy(y, (x > 0).long().sum(1) % 4, weight=w.weights) + (
        1e-2 * sum(each.abs().sum() for each in model.parameters() if each.dim() > 1))


LOSSES = [distilled, distilled, mixed, contrasted]


class World:
    """A model with what a program has around it: a teacher, a criterion, numbers, an optimizer."""

    def __init__(self, seed: int, kind: Callable[[], nn.Module], momentum: float, of: OfWorld) -> None:
        torch.manual_seed(seed)
        self.of, self.model = of, kind()
        self.teacher = copy.deepcopy(self.model).requires_grad_(False).eval()
        self.criterion = nn.MSELoss()
        self.weights = torch.tensor([1.0, 1.0, 1.0, 2.0])
        self.beta = [0.3]
        self.optimizer = torch.optim.SGD([each for each in self.model.parameters() if each.requires_grad], 0.05,
                                         momentum=momentum)

    def loss(self) -> Callable[[nn.Module, torch.Tensor], torch.Tensor]:
        return lambda model, x: self.of(model, x, self)


OfWorld = Callable[[nn.Module, torch.Tensor, World], torch.Tensor]


# ---- What a program does; each gets a World and the same random numbers for ours and eager's ----


def load(w: World, draw: random.Random) -> None:
    generator = torch.Generator().manual_seed(draw.randrange(1000))
    w.model.load_state_dict({name: value if not value.is_floating_point() or "running" in name else
                             value + 0.1 * torch.randn(value.shape, generator=generator)
                             for name, value in w.model.state_dict().items()})


def clamp(w: World, draw: random.Random) -> None:
    with torch.no_grad():
        for parameter in w.model.parameters():
            parameter.clamp_(-0.3, 0.3)


def clamp_data(w: World, draw: random.Random) -> None:
    for parameter in w.model.parameters():
        parameter.data.clamp_(-0.25, 0.25)


def set_data(w: World, draw: random.Random) -> None:
    parameter = next(iter(w.model.parameters()))
    parameter.data = parameter.data * 0.5


def set_buffer(w: World, draw: random.Random) -> None:
    w.model.get_buffer("tau").fill_(draw.choice([0.5, 2.0]))


def assign_buffer(w: World, draw: random.Random) -> None:
    w.model.tau = torch.tensor(draw.choice([0.7, 3.0]))


def ema_of_teacher(w: World, draw: random.Random) -> None:
    for teacher, parameter in zip(w.teacher.parameters(), w.model.parameters()):
        teacher.data.mul_(0.9).add_(parameter.data, alpha=0.1)


def weights(w: World, draw: random.Random) -> None:
    w.weights[draw.randrange(4)] = draw.choice([0.5, 3.0])


def number(w: World, draw: random.Random) -> None:
    w.beta[0] = draw.choice([0.3, 0.3, 0.9])


def setting(w: World, draw: random.Random) -> None:
    w.model.cfg.tau = draw.choice([1.0, 1.0, 2.0])


def inner_setting(w: World, draw: random.Random) -> None:
    w.model.cfg.kinds["main"][draw.randrange(2)] *= 2.0


def class_attribute(w: World, draw: random.Random) -> None:
    w.model.scale = draw.choice([1.0, 2.0])


def unread(w: World, draw: random.Random) -> None:
    w.model.steps_seen = getattr(w.model, "steps_seen", 0) + 1


def rate(w: World, draw: random.Random) -> None:
    w.optimizer.param_groups[0]["lr"] = draw.choice([0.01, 0.05, 0.1])


def momentum(w: World, draw: random.Random) -> None:
    w.optimizer.param_groups[0]["momentum"] = draw.choice([0.0, 0.9])


def freeze(w: World, draw: random.Random) -> None:
    (w.model.out if hasattr(w.model, "out") else w.model.body[4]).requires_grad_(False)


def mode(w: World, draw: random.Random) -> None:
    part = draw.choice(list(w.model.modules()))
    part.eval() if draw.random() < 0.5 else part.train()


def all_modes(w: World, draw: random.Random) -> None:
    w.model.eval()
    w.model.train()


def forward_hook(w: World, draw: random.Random) -> None:
    draw.choice(list(w.model.children())).register_forward_hook(
        lambda part, given, result: result * 2 if isinstance(result, torch.Tensor) else None)


def parameter_hook(w: World, draw: random.Random) -> None:
    next(each for each in w.model.parameters() if each.requires_grad).register_hook(lambda gradient: gradient * 0.5)


def optimizer_hook(w: World, draw: random.Random) -> None:

    def halve(optimizer: Any, arguments: Any, keywords: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad.mul_(0.5)

    w.optimizer.register_step_pre_hook(halve)


def reduction(w: World, draw: random.Random) -> None:
    w.criterion.reduction = draw.choice(["mean", "sum"])


def replace_part(w: World, draw: random.Random) -> None:
    torch.manual_seed(draw.randrange(100))
    if hasattr(w.model, "norm"):
        w.model.norm = nn.LayerNorm(4, eps=0.1)


def tie(w: World, draw: random.Random) -> None:
    if isinstance(w.model, Plain):
        w.model.out.weight.data = w.model.l.weight.data


def other_state(w: World, draw: random.Random) -> None:
    other = copy.deepcopy(w.model)
    optimizer = torch.optim.SGD([each for each in other.parameters() if each.requires_grad], 0.02, momentum=0.9)
    for each in other.parameters():
        each.grad = torch.ones_like(each)
    optimizer.step()
    state = optimizer.state_dict()
    w.optimizer.load_state_dict(state)


def default_type(w: World, draw: random.Random) -> None:
    torch.set_default_dtype(draw.choice([torch.float32, torch.float64]))


def autocast(w: World, draw: random.Random) -> None:
    torch.set_autocast_enabled("cpu", draw.random() < 0.8)


def gradients_off(w: World, draw: random.Random) -> None:
    """As a program that has left an evaluation too early."""
    torch.set_grad_enabled(draw.random() < 0.3)


def other_type(w: World, draw: random.Random) -> None:
    w.model.to(draw.choice([torch.float32, torch.float64]))


def part_of_other_type(w: World, draw: random.Random) -> None:
    draw.choice(list(w.model.children())).float()


def patched_forward(w: World, draw: random.Random) -> None:
    part = draw.choice([each for each in w.model.modules() if isinstance(each, (nn.Linear, nn.LayerNorm))] or [w.model])
    before = part.forward
    part.forward = lambda *arguments: before(*arguments) * 2.0


def initialize(w: World, draw: random.Random) -> None:
    torch.manual_seed(draw.randrange(100))
    for part in w.model.modules():
        if isinstance(part, (nn.Linear, nn.LayerNorm, nn.Embedding)) and not hasattr(part, "parametrizations"):
            part.reset_parameters()


def exchange_part(w: World, draw: random.Random) -> None:
    name, part = draw.choice(list(w.model.named_children()))
    setattr(w.model, name, copy.deepcopy(part))


def exchange_parameter(w: World, draw: random.Random) -> None:
    part = draw.choice([each for each in w.model.modules() if list(each.parameters(recurse=False))])
    name, parameter = draw.choice(list(part.named_parameters(recurse=False)))
    setattr(part, name, nn.Parameter(parameter.detach() * 0.5, parameter.requires_grad))


def through_numpy(w: World, draw: random.Random) -> None:
    array = next(iter(w.model.parameters())).detach().numpy()
    array *= 0.5


def through_view(w: World, draw: random.Random) -> None:
    flat = next(iter(w.model.parameters())).data.view(-1)
    flat[draw.randrange(len(flat))] = 0.25


def through_vector(w: World, draw: random.Random) -> None:
    vector = nn.utils.parameters_to_vector(w.model.parameters())
    nn.utils.vector_to_parameters(vector.detach() * 0.9, w.model.parameters())


def scheduler(w: World, draw: random.Random) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.optim.lr_scheduler.StepLR(w.optimizer, 1, gamma=0.5).step()


def decay(w: World, draw: random.Random) -> None:
    w.optimizer.param_groups[0]["weight_decay"] = draw.choice([0.0, 0.1])


def added_group(w: World, draw: random.Random) -> None:
    w.optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))], "lr": 0.1})


def emptied_state(w: World, draw: random.Random) -> None:
    if draw.random() < 0.5:
        w.optimizer.state.clear()
    else:
        w.optimizer.state = collections.defaultdict(dict)


def teacher_mode(w: World, draw: random.Random) -> None:
    w.teacher.train(draw.random() < 0.7)


def other_teacher(w: World, draw: random.Random) -> None:
    w.teacher = copy.deepcopy(w.model).requires_grad_(False).eval()


def other_criterion(w: World, draw: random.Random) -> None:
    w.criterion = draw.choice([nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(beta=0.5)])


def other_loss(w: World, draw: random.Random) -> None:
    w.of = draw.choice(LOSSES)


def seeds(w: World, draw: random.Random) -> None:
    torch.manual_seed(draw.randrange(100))


def gradients(w: World, draw: random.Random) -> None:
    for parameter in w.model.parameters():
        parameter.grad = torch.ones_like(parameter) if draw.random() < 0.5 else None


def global_function(w: World, draw: random.Random) -> None:
    """Another function under a name of this file."""
    global activation
    activation = draw.choice([F.relu, F.gelu])


def slope(w: World, draw: random.Random) -> None:
    for part in w.model.modules():
        for name, value in (("eps", 0.1), ("negative_slope", 0.5), ("momentum", 0.5)):
            if hasattr(part, name) and draw.random() < 0.7:
                setattr(part, name, value)


def attribute_of_class(w: World, draw: random.Random) -> None:
    type(w.model).computed = lambda self, x: BODIES[type(self)](self, x) * 0.5


# Those that need the values that training has reached, and the others.
OF_MODEL = [load, clamp, clamp_data, set_data, ema_of_teacher, tie, exchange_part, exchange_parameter, through_numpy,
            through_view, through_vector, other_teacher, other_type, part_of_other_type]
OTHERS = [set_buffer, assign_buffer, weights, number, setting, inner_setting, class_attribute, unread, rate, momentum,
          freeze, mode, all_modes, forward_hook, parameter_hook, optimizer_hook, reduction, replace_part, other_state,
          default_type, autocast, gradients_off, patched_forward, initialize, scheduler, decay, added_group, emptied_state,
          teacher_mode, other_criterion, other_loss, seeds, gradients, global_function, slope, attribute_of_class]
READ_ONLY = [ema_of_teacher, other_teacher]  # of the model
BODIES = {kind: kind.computed for kind in MODELS if kind is not Plain}


def rows_of(x: torch.Tensor) -> torch.Tensor:
    least, more = divmod(len(x), RANKS)
    first = RANK * least + min(RANK, more)
    return x[first:first + least + (more > RANK)]


def step_eagerly(w: World, x: torch.Tensor) -> float:
    w.optimizer.zero_grad()
    loss = w.loss()(w.model, x)
    loss.backward()
    w.optimizer.step()
    return loss.item()


def state_of(w: World) -> dict[str, torch.Tensor]:
    return {name: value.double() for name, value in w.model.state_dict().items()}


def outcome_of(seed: int, stage: int,
               actions: list[Callable[[World, random.Random], None]] | None = None) -> tuple[str, str]:
    """('equal', ''), ('error', its text) or ('WRONG', what differs)."""
    draw = random.Random(seed)
    kind, inertia = draw.choice(MODELS), draw.choice([0.0, 0.9])
    of = draw.choice(LOSSES)
    ours, eager = World(seed, kind, inertia, of), World(seed, kind, inertia, of)
    x = torch.randn(ROWS, 4, generator=torch.Generator().manual_seed(seed))
    done: list[str] = []
    try:
        trainer = splitcast.torch.compile(ours.model, ours.loss(), {"x": rows_of(x)}, ours.optimizer, enable_zero=stage,
                                          evaluate=False)
        for step in range(STEPS):
            if draw.random() < 0.6 or (step == 1 and actions):
                action = draw.choice(actions or OF_MODEL + OTHERS)
                if action in OF_MODEL and (draw.random() < 0.8 or action in READ_ONLY):
                    done.append("write_back")
                    trainer.write_back()
                done.append(action.__name__)
                state = draw.getstate()
                action(ours, draw)
                draw.setstate(state)
                action(eager, draw)
            one, other = trainer.step({"x": rows_of(x)}), step_eagerly(eager, x)
            if not abs(one - other) <= 1e-5 * abs(other) + 1e-6:
                return "WRONG", f"loss of step {step} is {one}, eager {other}, after {done} on {kind.__name__}"
        found = {name: value.double() for name, value in trainer.state_dict().items()}
        for name, value in state_of(eager).items():
            if not torch.allclose(found[name], value, rtol=1e-4, atol=1e-5):
                return "WRONG", f"{name} is {found[name]}, eager {value}, after {done} on {kind.__name__}"
        trainer.write_back()
        for name, value in state_of(ours).items():
            if not torch.equal(value, found[name]):
                return "WRONG", f"{name} is not written back, after {done} on {kind.__name__}"
        return "equal", ",".join(done)
    except sc.InvalidError as error:
        return ("error", f"{done[-1]}: {error}") if done else ("WRONG", f"{kind.__name__} is refused: {error}")
    finally:
        put_back()


def put_back() -> None:
    """What programs change beyond their World."""
    torch.set_default_dtype(torch.float64)
    torch.set_autocast_enabled("cpu", False)
    torch.set_grad_enabled(True)
    global activation
    activation = F.relu
    for kind, body in BODIES.items():
        kind.computed = body


def of_action(at: int) -> str:
    """A program with one kind of action."""
    kind, text = outcome_of(1 + at, 3, [(OF_MODEL + OTHERS)[at]])
    return "ok" if kind != "WRONG" else text


def of_seeds(seeds: range) -> str:
    outcomes = [(seed, *outcome_of(seed, 3)) for seed in seeds]
    return "\n".join(f"program {seed}: {text}" for seed, kind, text in outcomes if kind == "WRONG") or "ok"


GROUPS = [range(first, first + 10) for first in range(0, 60, 10)]
SUITE = Suite({
    **{action.__name__: lambda at=at: of_action(at) for at, action in enumerate(OF_MODEL + OTHERS)},
    **{f"programs {seeds[0]} to {seeds[-1]}": lambda seeds=seeds: of_seeds(seeds) for seeds in GROUPS},
}, ranks=(1, 3))


def count_outcomes(count: int, first: int, stage: int) -> None:
    """Prints how so many programs from a seed on ended, and those that were wrong."""
    warnings.filterwarnings("ignore")
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        kind, text = outcome_of(seed, stage)
        counts[kind] += 1
        if kind == "error":
            counts["error after " + text.split(":")[0]] += 1
        if kind == "WRONG" and RANK == 0:
            print(f"program {seed}: {text}", flush=True)
    if RANK == 0:
        print(f"PROGRAMS {dict(sorted(counts.items()))}")


if __name__ == "__main__":
    if len(sys.argv) == 4 and all(each.isdigit() for each in sys.argv[1:]):
        count_outcomes(*map(int, sys.argv[1:]))
    else:
        SUITE.run()
