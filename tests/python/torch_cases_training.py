"""Small models that are easily trained wrong, by what they do beside their ops: state, hooks, optimizers, changes after
the compilation, errors. Run as one rank by pytest (conftest.py)."""
import contextlib
import copy
import inspect
import io
import re
import types
import typing
import warnings

import numpy as np
import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
import torch.nn.functional as F

import torch_cases_common as common
from torch_cases_common import Buffer, Net, X, square


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


def moving(model, h):
    model.n = 0.9 * model.n + 0.1 * h.detach().mean()
    return h - model.n


def moving_without_gradient(model, h):
    with torch.no_grad():
        model.n += h.mean()
    return h * model.n


def constant_that_changes(model, h):
    c = torch.arange(8.0)
    y = h + c
    c += 1
    return y * h + c * 0.1


def attribute_that_changes(model, h):
    model.k *= 0.9
    return h * model.k


class Reversed(torch.autograd.Function):

    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return -gradient


class Of_grouped_mm(Reversed):
    """As transformers' op for experts is called."""


def attribute_in_a_dict(model, h):
    model.state["n"] += 1
    return h * model.state["n"]


def attribute_of_an_object(model, h):
    model.state.n *= 2.0
    return h * model.state.n


def checked_log(h):
    """As distributions check their arguments."""
    scale = h.abs() + 1
    torch._assert_async((scale > 0).all(), "scales must be above 0")
    return torch.distributions.Normal(h, scale).log_prob(h.detach() + 1)


def hooked(part):
    part.register_full_backward_hook(lambda module, given, received: None)
    return part


def saved_map(model, h):
    model.map = (h @ h.T).softmax(-1)
    model.maps.append(model.map)
    return model.map @ h


def saved_and_read(model, h):
    h = h if model.state is None else h + model.state
    model.state = h.detach()
    return h


def cached_constant(model, h):
    """What some models make positions of, once."""
    model.state = torch.arange(8.0) if model.state is None else model.state
    return h * model.state


def saved_losses(model, x):
    """Extra losses of parts, which the loss collects."""
    model.maps.clear()
    loss = square(model, x)
    return loss + sum(each.mean() for each in model.maps)


def gradient_of_inputs(model, x):
    """As penalties of gradients are."""
    x = x.clone().requires_grad_()
    return torch.autograd.grad(model(x).tanh().sum(), x, create_graph=True)[0].pow(2).mean()


def backward_of_a_part(model, x):
    loss = square(model, x)
    loss.backward(retain_graph=True)
    return loss


def packed(model, h):
    lengths = torch.tensor([2, 2, 2, 1, 1, 1])
    return model.r(nn.utils.rnn.pack_padded_sequence(h.view(6, 2, 4), lengths, batch_first=True))[1]


CASES = {
    "detach": (Net(lambda m, h: h * h.detach()), square, None),
    "no_grad": (Net(without_gradient), square, None),
    "no_grad, and in place on a part": (Net(lambda m, h: scaled_in_place(m, without_gradient(m, h))), square, None),
    "a parameter named constant.0": (Net(lambda m, h: h * m.constant[0] * torch.arange(8).float(),
                                         constant=nn.ParameterList([nn.Parameter(torch.ones(8))])), square, None),
    "in place on a part": (Net(scaled_in_place), square, None),
    "in place under a view": (Net(changed_under_a_view), square, None),
    "in place on its own": (Net(lambda m, h: F.relu(h * 2, inplace=True)), square, None),
    "a counter": (Buffer(counted), square, None),
    "a buffer that is assigned": (Buffer(moving), square, None),
    "a buffer that changes without gradient": (Buffer(moving_without_gradient), square, None),
    "a constant that changes": (Net(constant_that_changes), square, None),
    "an attribute that changes": (Net(attribute_that_changes, k=1.0), square, "k changes while"),
    "a number in a dict that changes": (Net(attribute_in_a_dict, state={"n": 0}), square, "state.n changes while"),
    "a number of an object that changes": (Net(attribute_of_an_object, state=types.SimpleNamespace(n=1.0)), square,
                                           "state.n changes while"),
    "a list of numbers that changes": (Net(lambda m, h: h * m.state.pop(), state=[1.0, 2.0, 3.0]), square,
                                       "state.2 changes while"),
    "saved maps": (Net(saved_map, map=None, maps=[]), square, None),
    "saved maps that are not there before": (Net(saved_map, maps=[]), square, None),
    "saved maps for the loss": (Net(saved_map, maps=[]), saved_losses, None),
    "saved maps for the next step": (Net(saved_map, maps=[]), lambda m, x: square(m, x) + sum(
        each.mean() for each in m.maps), "saves .*map.* and reads"),
    "a state of no parameter": (Net(saved_and_read, state=None), square, "saves state in one step and reads it"),
    "a cached constant": (Net(cached_constant, state=None), square, None),
    "a backward hook": (Net(lambda m, h: m.k(h), k=hooked(nn.Linear(8, 8))), square, "part 'k', a Linear, has a backward hook"),
    "the old weight_norm": (Net(lambda m, h: m.k(h), k=nn.utils.weight_norm(nn.Linear(8, 8))), square,
                            "part 'k'.*torch.nn.utils.weight_norm.*parametrizations.weight_norm"),
    "the old spectral_norm": (Net(lambda m, h: m.k(h), k=nn.utils.spectral_norm(nn.Linear(8, 8))), square,
                              "part 'k'.*torch.nn.utils.spectral_norm.*parametrizations.spectral_norm"),
    "the new weight_norm": (Net(lambda m, h: m.k(h), k=nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))), square, None),
    "computed again": (Net(lambda m, h: torch.utils.checkpoint.checkpoint(lambda x: x * m.p.sigmoid() + x**2, h, use_reentrant=True),
                           p=nn.Parameter(torch.ones(8))), square, None),
    "an op that is not there, in a Sequential": (Net(lambda m, h: m.k(h.view(1, 1, 3, 4, 4)), k=nn.Sequential(nn.FractionalMaxPool3d(
        2, output_size=1))), square, "fractional_max_pool3d.*(in part 'k.0'|torch_cases)"),
    "an inverse": (Net(lambda m, h: torch.linalg.inv(h.view(-1, 4, 4)) @ h.view(3, 4, 4)), square,
                   "linalg_inv_ex.*no mapping"),
    "an op that is not there, in the loss": (Net(lambda m, h: h), lambda m, x: torch.kthvalue(m(x), 2, 1)[0].mean(),
                                             r'kthvalue.*: no mapping; take the last .* \(File ".*torch_cases_training.py", line'),
    "a value that decides": (Net(lambda m, h: h * 2 if h.sum() > 0 else h), square,
                             "(?s)Could not guard.*torch_cases.*torch.where, masks"),
    "a size that values decide": (Net(lambda m, h: h * h[: (h[:, 0] > 0).sum().item()].sum()), square,
                                  "local_scalar_dense.*torch.where"),
    # After the compilation
    "a momentum that changes": (Net(lambda m, h: h), square, "momentum of group 0 .* is 0.5, but it was 0"),
    "a group that comes later": (Net(lambda m, h: h), square, "2 parameter groups, but it had 1"),
    "a temperature that the loop changes": (Net(lambda m, h: h / m.t, t=1.0), square, "t is 0.5, but it was 1.0"),
    "a dropout that the loop changes": (Net(lambda m, h: m.d(h), d=nn.Dropout(0.0)), square, "d.p is 0.5, but it was 0.0"),
    "a parameter that is frozen later": (Net(lambda m, h: h), square, "parameter 'l.weight' is frozen, but it was trained"),
    # Optimizers
    "SGD with decay": (Net(lambda m, h: h), square, None),
    "SGD with decay and groups": (Net(lambda m, h: h * m.p, p=nn.Parameter(torch.ones(8))), square, None),
    "decay of what has no gradient": (Net(lambda m, h: h * m.p.detach() + 0 * m.q, p=nn.Parameter(torch.ones(8)),
                                          q=nn.Parameter(torch.ones(8))), square, None),
    "Adam with decay": (Net(lambda m, h: h), square, None),
    "AdamW": (Net(lambda m, h: h), square, None),
    "Adam that is AdamW": (Net(lambda m, h: h), square, "decoupled_weight_decay"),
    "RMSprop": (Net(lambda m, h: h), square, None),
    "RMSprop that is centered": (Net(lambda m, h: h), square, "RMSprop has centered=True"),
    "Adagrad": (Net(lambda m, h: h), square, None),
    "Adagrad that slows down": (Net(lambda m, h: h), square, "Adagrad has lr_decay=0.1"),
    "decay with clipping": (Net(lambda m, h: h), square, "clip_norm together with weight_decay .*AdamW"),
    "what changes nothing": (Net(lambda m, h: h / m.t, t=1.0), square, None),
    "a backward of its own": (Net(lambda m, h: Reversed.apply(h)), square, "Reversed has a backward of its own"),
    "experts by grouped_mm": (Net(lambda m, h: Of_grouped_mm.apply(h)), square,
                              'set_experts_implementation."batched_mm"'),
    "a random constant of a kind that is not there": (Net(lambda m, h: h + torch.randint(0, 5, (8,))), square,
                                                      "aten.randint"),
    "two losses": (Net(lambda m, h: h), lambda m, x: (square(m, x), m(x).mean()), "2 values"),
    "almost GELU": (Net(gelu_but_not_quite), square, None),
    "GELU written out": (Net(lambda m, h: 0.5 * h * (1.0 + torch.tanh(0.7978845608028654 *
                                                                      (h + 0.044715 * torch.pow(h, 3.0))))), square, None),
    "mse": (Net(lambda m, h: h), lambda m, x: F.mse_loss(m(x), x), None),
    "a number less a tensor": (Net(lambda m, h: 1 - h), square, None),
    "alpha": (Net(lambda m, h: torch.sub(h, h * h, alpha=0.5)), square, None),
    "a part in evaluation": (Net(lambda m, h: m.d(h), d=nn.Dropout(0.5).eval()), square, None),
    "an unused parameter": (Net(lambda m, h: h, other=nn.Linear(3, 3)), square, None),
    "attention of three dimensions": (Net(lambda m, h: F.scaled_dot_product_attention(h[None], h[None], h[None]) +
                                          F.scaled_dot_product_attention(h, h * 2, h) + F.scaled_dot_product_attention(*[
                                              h.view(2, 3, 8)] * 3, attn_mask=torch.arange(18.).view(2, 3, 3)).view(6, 8)),
                                      square, None),
    "attention of five dimensions": (Net(lambda m, h: F.scaled_dot_product_attention(*[h.view(1, 1, 2, 3, 8)] * 3)), square,
                                     None),
    "integers by floats": (Net(lambda m, h: h * torch.arange(8)), square, None),
    "an integer input": (Net(lambda m, h: h), lambda m, x: (m(x.float())**2).mean(), None),
    "a boolean input": (Net(lambda m, h: h), lambda m, x: (m(x.float())**2).mean(), None),
    "an op that is not there": (Net(lambda m, h: torch.kthvalue(h, 3, dim=1).values), square,
                                "aten.kthvalue.default.*torch_cases"),
    "ops that PyTorch makes of others": (Net(lambda m, h: torch.lerp(h, h * h, h.sigmoid()) + F.celu(h) + F.selu(h) + F.glu(
        torch.cat([h, h], 1)) + F.softshrink(h) + torch.addcmul(h, h, h, value=0.5) + F.logsigmoid(h)), square,
                                         None),
    "checks of values": (Net(lambda m, h: h + checked_log(h)), square, None),
    "a label beyond the classes": (Net(lambda m, h: h.log_softmax(1)), lambda m, x: F.nll_loss(m(x), x[:, 0].long() * 0 + 8),
                                   "index 0 of its input is 8"),
    "an element beyond the row": (Net(lambda m, h: h.gather(1, (h[:, :1] * 0).long() + 8)), square, "index 0 of its input is -1"),
    "a pair beyond the row": (Net(lambda m, h: h[torch.arange(6), (h[:, 0] * 0).long() + 8]), square,
                              "index 0 of its input is -1"),
    "a constant pair beyond the row": (Net(lambda m, h: h[torch.tensor([0, 1]), torch.tensor([5, -9])]), square,
                                       "index -9 is not within a dimension of size 8"),
    "a gradient of a parameter": (Net(lambda m, h: h), lambda m, x: 0.1 * torch.autograd.grad(
        m(x).pow(2).sum(), m.l.weight, create_graph=True)[0].pow(2).mean(), None),
    "a gradient of inputs": (Net(lambda m, h: h), gradient_of_inputs, "torch.autograd.grad or.*write the formula"),
    "a Jacobian": (Net(lambda m, h: h), lambda m, x: torch.func.vmap(torch.func.jacrev(m))(x).mean(),
                   "torch.func.jacrev, are supported for.*write the formula"),
    "a backward in the loss": (Net(lambda m, h: h), backward_of_a_part, r"the loss calls backward\(\)"),
    "packed sequences": (Net(packed, r=nn.GRU(4, 4, batch_first=True)), square,
                         "pack_padded_sequence.*padded sequences"),
    "a convolution of volumes": (Net(lambda m, h: m.c(h.view(2, 1, 2, 3, 4)) + m.t(h.view(2, 1, 2, 3, 4)).mean(),
                                     c=nn.Conv3d(1, 2, 2), t=nn.ConvTranspose3d(1, 2, 2)), square,
                                 "(?s)conv3d.*three dimensions.*conv_transpose3d.*of one and two"),
    "a complex parameter": (Net(lambda m, h: torch.view_as_real(m.p * torch.view_as_complex(h.view(6, 4, 2))),
                                p=nn.Parameter(torch.ones(4, dtype=torch.cfloat))), square,
                            "'p' has elements of torch.complex64"),
    "a hook after": (Net(lambda m, h: h, hooked=[nn.Parameter(torch.ones(8))][0]), lambda m, x: (
        m.hooked.register_post_accumulate_grad_hook(lambda p: None), (m(x) * m.hooked).mean())[1], "gradient hook"),
    "values by .data": (Net(lambda m, h: h * m.l.weight.data.sum()), square, r"uses \.data.*use \.detach\(\).*torch_cases"),
    "a parameter that .data changes": (Net(lambda m, h: (m.l.weight.data.clamp_(-1, 1), h)[1]), square, r"uses \.data"),
    "an embedding that is scaled": (Net(lambda m, h: h + m.e(torch.arange(6)), e=nn.Embedding(9, 8, max_norm=0.5)), square,
                                    "max_norm=0.5, whose forward changes"),
    "elements that a mask of values chooses": (Net(lambda m, h: h[h > 0]), square, "booleans.*torch.where"),
    "an if of values": (Net(lambda m, h: h if h.sum() > 0 else -h), square, "(?s)torch_cases.*torch.where"),
    "a hook": (Net(lambda m, h: (h.register_hook(torch.neg), h)[1]), square, "gradient hook"),
    "a number of elements that values decide": (Net(lambda m, h: h[h > 0]), square, "values|booleans"),
    "what a number of elements decides": (Net(lambda m, h: torch.lerp(h, h, h) + (h[:, h[0] > 0] * h[:, :5]).sum()),
                                          square, "(?s)(?!.*_assert)(?!.*sym_).*indexing by booleans"),
}

INPUTS = {"an integer input": torch.arange(48).reshape(6, 8), "a boolean input": X > 0}

# Optimizers of cases, where they are not SGD; by the model.
OPTIMIZERS = {
    "SGD with decay": lambda m: torch.optim.SGD(m.parameters(), 0.05, momentum=0.9, nesterov=True, weight_decay=0.3),
    "SGD with decay and groups": lambda m: torch.optim.SGD([{"params": m.l.parameters()}, {
        "params": [m.p], "weight_decay": 0.0, "lr": 0.1}], 0.05, momentum=0.9, weight_decay=0.3),
    "decay of what has no gradient": lambda m: torch.optim.SGD(m.parameters(), 0.05, weight_decay=0.3),
    "Adam with decay": lambda m: torch.optim.Adam(m.parameters(), 0.01, betas=(0.5, 0.75), eps=1e-4, weight_decay=0.3),
    "AdamW": lambda m: torch.optim.AdamW(m.parameters(), 0.01, betas=(0.5, 0.75), eps=1e-4, weight_decay=0.3),
    "Adam that is AdamW": lambda m: torch.optim.Adam(m.parameters(), weight_decay=0.3, decoupled_weight_decay=True),
    "RMSprop": lambda m: torch.optim.RMSprop(m.parameters(), 0.01, alpha=0.7, eps=1e-3, momentum=0.5, weight_decay=0.3),
    "RMSprop that is centered": lambda m: torch.optim.RMSprop(m.parameters(), 0.01, centered=True),
    "Adagrad": lambda m: torch.optim.Adagrad(m.parameters(), 0.05, eps=1e-3, weight_decay=0.3),
    "Adagrad that slows down": lambda m: torch.optim.Adagrad(m.parameters(), 0.05, lr_decay=0.1),
    "decay with clipping": lambda m: torch.optim.SGD(m.parameters(), 0.05, weight_decay=0.3),
}


def left_alone(m, optimizer):
    """A scheduler that has not changed anything yet, and numbers that are set to what they were."""
    torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    m.t = 1.0
    m.eval()
    optimizer.param_groups[0]["lr"] = 0.05


# What a program does to the model and the optimizer after the compilation.
CHANGES = {
    "a momentum that changes": lambda m, o: o.param_groups[0].update(momentum=0.5),
    "a group that comes later": lambda m, o: o.add_param_group({"params": [nn.Parameter(torch.ones(1))]}),
    "a temperature that the loop changes": lambda m, o: setattr(m, "t", 0.5),
    "a dropout that the loop changes": lambda m, o: setattr(m.d, "p", 0.5),
    "a parameter that is frozen later": lambda m, o: m.l.weight.requires_grad_(False),
    "what changes nothing": left_alone,
}


def batches_without_names():
    model = Net(lambda m, h: h)
    for name, call in (("example_inputs is a tuple", lambda: compiled(model, (X,))),
                       ("the batch is a tuple", lambda: compiled(model, {"x": X}).step((X,)))):
        try:
            call()
        except sc.InvalidError as error:
            if name not in str(error) or "dict of tensors" not in str(error):
                return "raises " + str(error)
        else:
            return name + ", which is no error"
    return "ok"


def autocast(call):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        call()


def what_compile_refuses():
    """Each error says what to do."""
    net = Net(lambda m, h: h)
    calls = {
        "DataParallel.*give model.module": lambda: compiled(nn.DataParallel(net), {"x": X}),
        "example input 'x' has elements of torch.uint8.*by .float": lambda: compiled(net, {"x": X.byte()}),
        "example input 'x' is a list; it must be a tensor": lambda: compiled(net, {"x": [1.0]}),
        "the group 'm', which.*its groups are 'l'": lambda: compiled(net, {"x": X}, policies={"m": 3}),
        "autocast is on around compile": lambda: autocast(lambda: compiled(net, {"x": X})),
        "autocast is on around step": lambda: (lambda trainer: autocast(lambda: trainer.step({"x": X})))(
            compiled(net, {"x": X})),
        "compiled with evaluate=False": lambda: compiled(net, {"x": X}, evaluate=False).evaluate({"x": X}),
        "5 rows of input 'x' on this rank; evaluate needs 6.*other_inputs":
            lambda: compiled(net, {"x": X}).evaluate({"x": X[:5]}),
    }
    for pattern, call in calls.items():
        try:
            call()
        except sc.InvalidError as error:
            if not re.search(pattern, str(error)):
                return f"raises {error}, not {pattern}"
        else:
            return "is no error: " + pattern
    return "ok"


def types_of_batches():
    """A batch of another type is converted without loss, or refused with both types."""
    net, x = Net(lambda m, h: h), X.bfloat16()
    of_floats = compiled(net, {"x": X})
    right = square(net, x.float()).item()
    for given in (x, x.half(), x.half().numpy(), x.float().numpy()):
        if abs(of_floats.step({"x": given}) - right) > 1e-5 * right:
            return f"{given.dtype}: another loss"
        del of_floats
        of_floats = compiled(net, {"x": X})
    embedding, ids = nn.Embedding(70000, 3), torch.arange(6)
    of_integers = splitcast.torch.compile(embedding, square, {"x": ids}, torch.optim.SGD(embedding.parameters(), 0.1),
                                          whole_batch=True)
    right = square(embedding, ids).item()
    for given in (ids.int(), ids.byte(), ids.to(torch.int16), ids.numpy().astype("uint8"), ids.numpy().astype("int32")):
        if abs(of_integers.evaluate({"x": given}) - right) > 1e-6:
            return f"{given.dtype}: another loss"
    for trainer, wanted, refused in (
        (of_floats, "float32", (X.double(), X.double().numpy(), X.long(), X.int(), X.long().numpy(), X.to(torch.complex64))),
        (of_integers, "int64", (ids.bfloat16(), ids.float(), ids.half(), ids.numpy().astype("uint16"), ids.numpy() + 0.5,
                                ids.bfloat16().view(torch.uint16).numpy()))):
        for given in refused:
            try:
                trainer.step({"x": given})
            except sc.InvalidError as error:
                name = str(given.dtype).split(".")[-1]
                if wanted not in str(error) or name not in str(error):
                    return f"{name} for {wanted}: raises {error}"
            else:
                return f"{given.dtype} for {wanted} is no error"
    return "ok"


def types_of_numbers():
    """Floats are rounded to the type of the example; nothing else may change."""
    net = nn.Linear(8, 1)
    loss = lambda m, x, n: (m(x)**2).mean() * n
    for example, right, wrong in ((torch.tensor(1.0), (0.3, 2, True, 2**24, float("inf")), (2**24 + 1, 1e300, 10**400)),
                                  (torch.tensor(1), (2, True, 3.0, -2**63), (0.5, 2**63, float("nan"), float("inf"))),
                                  (torch.tensor(True), (False, 1, 0.0), (2, 0.5, -1))):
        trainer = splitcast.torch.compile(net, loss, {"x": X, "n": example}, torch.optim.SGD(net.parameters(), 0.0),
                                          whole_batch=True)
        for n in right:
            ours, theirs = trainer.evaluate({"x": X, "n": n}), loss(net, X, torch.tensor(n, dtype=example.dtype)).item()
            if not abs(ours - theirs) <= 1e-5 * abs(theirs) and ours != theirs:
                return f"{n!r} as {example.dtype}: {ours!r}, eager {theirs!r}"
        for n in wrong:
            try:
                trainer.evaluate({"x": X, "n": n})
            except sc.InvalidError as error:
                if str(example.dtype) not in str(error) or repr(n) not in str(error):
                    return f"raises {error}"
            else:
                return f"{n!r} as {example.dtype} is no error"
    return "ok"


class Gradients(nn.Module):
    """Parameters with a gradient, with one of zeros, and with none."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.key, self.only_evaluated = [nn.Linear(8, 8) for _ in range(3)]
        self.detached, self.zero, self.unused, self.rounded, self.sign, self.compared, self.random, self.frozen = [
            nn.Parameter(torch.ones(8)) for _ in range(8)]
        self.frozen.requires_grad_(False)

    def forward(self, x):
        h = self.l(x) + self.detached.detach() + 0 * self.zero + self.rounded.round() + self.sign.sign() + self.frozen
        h = h + (self.compared > 0) + 0 * torch.rand_like(self.random)
        with torch.no_grad():
            k = self.key(x)
        h = h * k.sigmoid()
        return h if self.training else self.only_evaluated(h)


def gradients_that_are_not_there():
    """Each optimizer decays and steps what PyTorch's does: not None and 0 alike."""
    for of in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.5), lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.5),
               lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.5), lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5),
               lambda p: torch.optim.Adagrad(p, 0.1, weight_decay=0.5)):
        model, eager = Gradients(), Gradients()
        trainer, optimizer = compiled(model, {"x": X}, optimizer=of(model.parameters())), of(eager.parameters())
        for _ in range(3):
            ours, theirs = trainer.step({"x": X}), square(eager, X)
            if abs(ours - theirs.item()) > 1e-4 * theirs.item():
                return f"{type(optimizer).__name__}: {ours!r}, eager {theirs.item()!r}"
            optimizer.zero_grad()
            theirs.backward()
            optimizer.step()
        for name, value in trainer.state_dict().items():
            if not torch.allclose(value, eager.state_dict()[name], rtol=1e-4, atol=1e-6):
                return f"{type(optimizer).__name__}: {name} differs"
    return "ok"


def rates_in_f64():
    """A model in f64 has rates in f64: steps of SGD are exact to its digits, also with a rate that a scheduler sets."""
    model = Net(lambda m, h: h).double()
    eager, x = copy.deepcopy(model), X.double()
    optimizers = [torch.optim.SGD(each.parameters(), 0.1) for each in (model, eager)]
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(each, 0.7) for each in optimizers]
    trainer = compiled(model, {"x": x}, optimizer=optimizers[0])
    for _ in range(3):
        trainer.step({"x": x})
        square(eager, x).backward()
        optimizers[1].step()
        optimizers[1].zero_grad()
        for scheduler in schedulers:
            scheduler.step()
    off = max((trainer.state_dict()[name] - value).abs().max().item() for name, value in eager.state_dict().items())
    return "ok" if off < 1e-14 else f"parameters are off by {off:.2g}"


SHARES = torch.tensor([2.0, 0, 1, 1])
DRAWS = {  # with their mean and the mean of their squares
    "rand": (lambda x: torch.rand(300, 400), 1 / 2, 1 / 3),
    "rand_like": (lambda x: torch.rand_like(x.expand(8000, 6, 8)), 1 / 2, 1 / 3),
    "rand_like of bf16": (lambda x: torch.rand_like(x.expand(8000, 6, 8).bfloat16()).float(), 1 / 2, 1 / 3),
    "randn": (lambda x: torch.randn(300, 400), 0, 1),
    "uniform_": (lambda x: torch.empty(300, 400).uniform_(-1, 3), 1, 7 / 3),
    "normal_": (lambda x: torch.empty(300, 400).normal_(2, 0.5), 2, 4.25),
    "exponential_": (lambda x: torch.empty(300, 400).exponential_(2.0), 1 / 2, 1 / 2),
    "bernoulli": (lambda x: torch.bernoulli(torch.full((300, 400), 0.25)), 1 / 4, 1 / 4),
    "multinomial": (lambda x: torch.multinomial(SHARES.expand(60000, 4), 1).float(), 1.25, 3.25),
    "multinomial of several": (lambda x: torch.multinomial(SHARES.expand(30000, 4), 4, True).float(), 1.25, 3.25),
    "multinomial without replacement": (lambda x: torch.multinomial(
        torch.tensor([1.0, 0, 1]).expand(60000, 3), 2)[:, 1].float(), 1, 2),
    "Categorical": (lambda x: torch.distributions.Categorical(
        logits=torch.zeros(60000, 3) + 0 * x[0, 0]).sample().float(), 1, 5 / 3),
    "rrelu": (lambda x: F.rrelu(x[0, 0] * 0 - torch.ones(300, 400), training=True), -11 / 48, 0.0561343),
    "dropout2d": (lambda x: F.dropout2d(torch.ones(300, 400, 2, 2), 0.5), 1, 2),
}


def random_numbers():
    """Their moments are right, and each step draws others."""
    for name, (draw, mean, square_mean) in DRAWS.items():
        for power, expected in ((1, mean), (2, square_mean)):
            model = Net(lambda m, h: h)
            trainer = splitcast.torch.compile(model, lambda m, x: (draw(x)**power).mean() + 0 * m(x).sum(), {"x": X},
                                              torch.optim.SGD(model.parameters(), lr=0.1), enable_zero=0,
                                              whole_batch=True)
            losses = [trainer.step({"x": X}) for _ in range(3)]
            if len(set(losses)) == 1 or any(abs(loss - expected) > 0.04 for loss in losses):
                return f"the mean of {name} to the power of {power} is {losses!r}, not {expected:g}"
    return "ok"


RATES = torch.optim.lr_scheduler
SCHEDULERS = {
    "none": lambda o: None,
    "a warm-up from 0": lambda o: RATES.LambdaLR(o, [lambda step: step / 4, lambda step: 1.0]),
    "warm restarts": lambda o: RATES.CosineAnnealingWarmRestarts(o, 2),
    "one cycle": lambda o: RATES.OneCycleLR(o, [0.2, 0.1], total_steps=6, cycle_momentum=False),
    "one after the other": lambda o: RATES.SequentialLR(o, [RATES.ConstantLR(o, 0.5, 2), RATES.ExponentialLR(o, 0.5)], [2]),
    "a plateau": lambda o: RATES.ReduceLROnPlateau(o, patience=0, threshold=10.0),
}


def losses_with(scheduler_of, trains, rate):
    """The losses of 6 steps, of which each is followed by one of the scheduler. trains: a function of the model and the
    optimizer that returns a step."""
    torch.manual_seed(0)
    model = Net(lambda m, h: h * m.p, p=nn.Parameter(torch.ones(8)))
    optimizer = torch.optim.AdamW([{"params": model.l.parameters()}, {"params": [model.p], "lr": 0.3}], rate)
    scheduler = scheduler_of(optimizer)
    step, losses = trains(model, optimizer), []
    for _ in range(6):
        losses.append(step())
        if isinstance(scheduler, RATES.ReduceLROnPlateau):
            scheduler.step(losses[-1])
        elif scheduler:
            scheduler.step()
    return losses


def eagerly(model, optimizer):

    def step():
        optimizer.zero_grad()
        loss = square(model, X)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def by_splitcast(model, optimizer):
    trainer = splitcast.torch.compile(model, square, {"x": X}, optimizer, enable_zero=0, whole_batch=True)
    return lambda: trainer.step({"x": X})


def schedulers():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*lr_scheduler.step.*before.*optimizer.step")
        for name, scheduler_of in SCHEDULERS.items():
            for rate_of in (float, torch.tensor):
                expected, found = (losses_with(scheduler_of, trains, rate_of(0.05)) for trains in (eagerly, by_splitcast))
                if not np.allclose(found, expected, rtol=1e-5):
                    return f"with {name}: {found}, but eagerly {expected}"
        net = Net(lambda m, h: h, frozen=nn.Parameter(torch.ones(8), requires_grad=False))
        optimizer = torch.optim.SGD([{"params": net.l.parameters()}, {"params": [net.frozen]}], 0.1)
        scheduler = RATES.ExponentialLR(optimizer, 0.5)
        trainer = splitcast.torch.compile(net, square, {"x": X}, optimizer, whole_batch=True)
        for _ in range(2):  # the group of what is frozen changes, too
            trainer.step({"x": X})
            scheduler.step()
        del trainer
        try:
            splitcast.torch.compile(net, square, {"x": X}, optimizer, schedule=sc.CosineRate(10))
        except sc.InvalidError as error:
            return "ok" if "scheduler, and there is a schedule=" in str(error) else "raises " + str(error)
    return "is no error with schedule="


def what_pytorch_prints():
    """Nothing, as the error says what is wrong. (Its graph goes to sys.stderr, its warnings to the stream before.)"""
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        try:
            compiled(Net(lambda m, h: F.mse_loss(h[h > 0], X[X > 0])), {"x": X})
        except sc.InvalidError as error:
            return "ok" if "ata-dependent" in str(error) and not text.getvalue() else "prints " + text.getvalue()
    return "is no error"


def compiled(model, example, optimizer=None, **options):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    return splitcast.torch.compile(model, square, example, optimizer, enable_zero=0, whole_batch=True, **options)


def what_is_printed():
    """repr() of a trainer and of sessions says what they are."""
    net = Net(lambda m, h: h, frozen=nn.Parameter(torch.ones(8), requires_grad=False))
    trainer = compiled(net, {"x": X})
    session = "<splitcast.Session: functions evaluate, train; 3 variables of 73 elements; rank 0 of 1>"
    for count, steps in ((0, "0 steps"), (1, "1 step"), (1, "2 steps")):
        for _ in range(count):
            trainer.step({"x": X})
        said = ("<splitcast.torch.Trainer of Net, 80 parameters (72 trained), enable_zero=0, mesh {'dp': 1}, rank 0 of 1, "
                f"{steps} since compile()>")
        if repr(trainer) != said:
            return f"{trainer!r}, not {said}"
    if repr(trainer.session) != f"<splitcast.torch.TrainedSession of {session}>" or repr(trainer._compiled) != session:
        return f"{trainer.session!r}"
    graph = sc.Graph()
    graph.function("main")
    graph.output("y", graph.input("x", sc.f32, (2, 3), sc.broadcast()))
    said = repr(graph.compile())
    return "ok" if said == "<splitcast.Session: functions main; 0 variables of 0 elements; rank 0 of 1>" else said


def what_help_says():
    """Each argument of compile() has a name, a public type and words; there is no other."""
    parameters = inspect.signature(splitcast.torch.compile).parameters
    types_of = typing.get_type_hints(splitcast.torch.compile)
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or name not in types_of:
            return f"{name} is {parameter}"
        if not re.search(rf"(?m)^    (\w+, )?{name}(, \w+)?: ", splitcast.torch.compile.__doc__):
            return f"nothing is said of {name}"
        if re.search(r"\b_\w", str(parameter.annotation)):
            return f"{name} is a {parameter.annotation}"
    try:
        compiled(Net(lambda m, h: h), {"x": X}, clipnorm=1.0)
    except TypeError as error:
        return "ok" if "'clipnorm'" in str(error) else f"raises {error}"
    return "is no error"


OTHERS = {"what is printed": what_is_printed, "what help says": what_help_says,
          "batches without names": batches_without_names, "what compile() refuses": what_compile_refuses,
          "what PyTorch prints": what_pytorch_prints, "random numbers": random_numbers, "schedulers": schedulers,
          "types of batches": types_of_batches, "types of numbers": types_of_numbers, "rates in f64": rates_in_f64,
          "gradients that are not there": gradients_that_are_not_there}


SUITE = common.suite(common.Cases(CASES, INPUTS, OPTIMIZERS, CHANGES, OTHERS))

if __name__ == "__main__":
    SUITE.run()
