"""What the files torch_cases*.py share: how a case's model is made, trained beside eager PyTorch, and judged."""
import copy
import re

import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn

from torch_suite import Suite

X = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    """A linear layer, and what a function makes of its result."""

    def __init__(self, after, **parts):
        super().__init__()
        torch.manual_seed(0)
        self.l = nn.Linear(8, 8)
        for name, part in parts.items():
            setattr(self, name, part)
        self.after = after

    def forward(self, x):
        return self.after(self, self.l(x))


class Buffer(Net):

    def __init__(self, after):
        super().__init__(after)
        self.register_buffer("n", torch.zeros(()))


def square(model, x):
    return (model(x)**2).mean()


def small_square(m, x):
    return 0.01 * square(m, x)


def square_from_1(m, x):
    return ((m(x) - 1)**2).mean()


def image(h):
    return h.reshape(2, 3, 2, 4)


class Doubled(torch.autograd.Function):  # which still works after a compilation

    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


class Cases:
    """models: by name, a model, its loss, and the error that it must be; None: it trains as eager PyTorch does.

    inputs: those that are not X. optimizers: of the model, where they are not SGD. changes: what a program does to the
    model and the optimizer after the compilation. others: functions that return 'ok' or what is wrong.
    """

    def __init__(self, models, inputs=None, optimizers=None, changes=None, others=None):
        self.models = models
        self.inputs = inputs or {}
        self.optimizers = optimizers or {}
        self.changes = changes or {}
        self.others = others or {}


def outcome(cases, name):
    if name in cases.others:
        return cases.others[name]()
    model, loss, expected = cases.models[name]
    x = cases.inputs.get(name, X)
    modes = [part.training for part in model.modules()]
    before = copy.deepcopy(model.state_dict())
    eager = None if expected else copy.deepcopy(model)
    rate = 1e-4 if name == "an integer input" else 0.05
    make_optimizer = cases.optimizers.get(name, lambda m: torch.optim.SGD(m.parameters(), lr=rate))
    attributes = {key: value for key, value in vars(model).items() if key != "training"}
    try:
        optimizer = make_optimizer(model)
        trainer = splitcast.torch.compile(model, loss, {"x": x}, optimizer, enable_zero=0, whole_batch=True,
                                          clip_norm=1.0 if "clipping" in name else None)
        if {key: value for key, value in vars(model).items() if key != "training"} != attributes:
            return "the model's attributes were changed"
        if modes != [part.training for part in model.modules()]:
            return "the model's modes were changed"
        cases.changes.get(name, lambda m, o: None)(model, optimizer)
        if expected:  # some errors come when it runs
            trainer.step({"x": x})
    except sc.Error as error:
        text = str(error)
        return "ok" if expected and re.search(expected, text) else "raises " + text[:300]
    if expected:
        return "is no error"
    if Doubled.apply(torch.ones(1)) != 2:
        return "functions of one's own are broken"
    if any(not torch.equal(value, before[key]) for key, value in model.state_dict().items()):
        return "the model was changed"
    optimizer = make_optimizer(eager)
    for step in range(5):
        ours = trainer.step({"x": x})
        optimizer.zero_grad()
        theirs = loss(eager, x)
        theirs.backward()
        optimizer.step()
        if not abs(ours - theirs.item()) <= 1e-5 * abs(theirs.item()):
            return f"step {step}: loss {ours!r}, eager {theirs.item()!r}"
    for key, value in trainer.state_dict().items():
        if not torch.allclose(value, eager.state_dict()[key], rtol=1e-4, atol=1e-6):
            return f"parameter or buffer {key} differs"
    # As it is now, in evaluation.
    ours, theirs = trainer.evaluate({"x": x}), loss(eager.eval(), x).item()
    if not abs(ours - theirs) <= 1e-5 * abs(theirs):
        return f"evaluated: {ours!r}, eager {theirs!r}"
    return "ok"


def suite(cases):
    return Suite({name: lambda name=name: outcome(cases, name) for name in [*cases.models, *cases.others]}, ranks=(1,))
