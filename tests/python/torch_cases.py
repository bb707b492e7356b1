"""Small models that are easily trained wrong: torch_cases.py. Each trains as eager PyTorch does, or is an error that says
why. Run as one rank by torch_check.py; prints 'CASE name: ok' or what is wrong of each."""
import copy
import re
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

import splitcast as sc
import splitcast.torch

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


def square(model, x):
    return (model(x)**2).mean()


def scaled_in_place(model, h):
    y = h * 1
    y[:, :4].mul_(3.0)
    return y


def changed_under_a_view(model, h):
    y = h * 1
    z = y.view(6, 2, 4)
    y.add_(1.0)
    return z * 2


def counted(model, h):
    model.n.add_(1.0)
    return h * model.n


def without_gradient(model, h):
    with torch.no_grad():
        t = h * 2
    return h * t


def gelu_but_not_quite(model, h):
    return (0.5 * h) * torch.add(torch.tanh(0.7978845608028654 * (h + 0.044715 * torch.pow(h, 3))), 1.0, alpha=7)


class Buffer(Net):

    def __init__(self, after):
        super().__init__(after)
        self.register_buffer("n", torch.zeros(()))


# Name: a model, its loss, and the error that it must be; None: it trains as eager PyTorch does.
CASES = {
    "detach": (Net(lambda m, h: h * h.detach()), square, "aten.detach.*backward"),
    "no_grad": (Net(without_gradient), square, "no mapping"),
    "a parameter named constant.0": (Net(lambda m, h: h * m.constant[0] * torch.arange(8).float(),
                                         constant=nn.ParameterList([nn.Parameter(torch.ones(8))])), square, None),
    "in place on a part": (Net(scaled_in_place), square, "in place"),
    "in place under a view": (Net(changed_under_a_view), square, "in place"),
    "in place on its own": (Net(lambda m, h: F.relu(h * 2, inplace=True)), square, None),
    "a counter": (Buffer(counted), square, "in place|buffer"),
    "a random constant": (Net(lambda m, h: h + torch.randn(8)), square, "random"),
    "two losses": (Net(lambda m, h: h), lambda m, x: (square(m, x), m(x).mean()), "2 values"),
    "almost GELU": (Net(gelu_but_not_quite), square, None),
    "GELU written out": (Net(lambda m, h: 0.5 * h * (1.0 + torch.tanh(0.7978845608028654 *
                                                                      (h + 0.044715 * torch.pow(h, 3.0))))), square, None),
    "mse": (Net(lambda m, h: h), lambda m, x: F.mse_loss(m(x), x), None),
    "a number less a tensor": (Net(lambda m, h: 1 - h), square, None),
    "alpha": (Net(lambda m, h: torch.sub(h, h * h, alpha=0.5)), square, None),
    "a part in evaluation": (Net(lambda m, h: m.d(h), d=nn.Dropout(0.5).eval()), square, None),
    "an unused parameter": (Net(lambda m, h: h, other=nn.Linear(3, 3)), square, None),
    "attention of three dimensions": (Net(lambda m, h: F.scaled_dot_product_attention(h[None], h[None], h[None])), square,
                                      "scaled_dot_product_attention"),
    "integers by floats": (Net(lambda m, h: h * torch.arange(8)), square, "mul"),
    "an integer input": (Net(lambda m, h: h), lambda m, x: (m(x.float())**2).mean(), None),
    "a boolean input": (Net(lambda m, h: h), lambda m, x: (m(x.float())**2).mean(), "torch.bool"),
}
INPUTS = {"an integer input": torch.arange(48).reshape(6, 8), "a boolean input": X > 0}


def outcome(name):
    model, loss, expected = CASES[name]
    x = INPUTS.get(name, X)
    modes = [part.training for part in model.modules()]
    before = copy.deepcopy(model.state_dict())
    eager = copy.deepcopy(model)
    rate = 1e-4 if name == "an integer input" else 0.05
    try:
        trainer = splitcast.torch.compile(model, loss, {"x": x}, torch.optim.SGD(model.parameters(), lr=rate),
                                          enable_zero=0, whole_batch=True)
    except sc.InvalidError as error:
        text = str(error)
        return "ok" if expected and re.search(expected, text) else "raises " + text[:300]
    if expected:
        return "is no error"
    if modes != [part.training for part in model.modules()] or any(
            not torch.equal(value, before[key]) for key, value in model.state_dict().items()):
        return "the model was changed"
    optimizer = torch.optim.SGD(eager.parameters(), lr=rate)
    for step in range(5):
        ours = trainer.step({"x": x})
        optimizer.zero_grad()
        theirs = loss(eager, x)
        theirs.backward()
        optimizer.step()
        if not abs(ours - theirs.item()) <= 1e-5 * abs(theirs.item()):
            return "step %d: loss %r, eager %r" % (step, ours, theirs.item())
    for key, value in trainer.state_dict().items():
        if not torch.allclose(value, eager.state_dict()[key], rtol=1e-4, atol=1e-6):
            return "parameter %s differs" % key
    return "ok"


def main():
    warnings.filterwarnings("ignore")
    for name in CASES:
        print("CASE %s: %s" % (name, outcome(name).replace("\n", " ")), flush=True)


main()
