"""Small models that are easily trained wrong: torch_cases.py. Each trains as eager PyTorch does, or is an error that says
why. Run as one rank by torch_check.py; prints 'CASE name: ok' or what is wrong of each."""
import copy
import re
import sys
import types
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

import splitcast as sc
import splitcast.torch

X = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
LABELS = torch.tensor([0, 3, 7, 3, 1, 2])


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


def cumulative(model, h):
    """What some models make positions of."""
    seen = (h > 0).long()
    return model.e(torch.cumsum(seen, 1) * seen) + h[:, :, None]


def shifted_right(model, h):
    """What T5 does with its labels."""
    shifted = h.new_zeros(h.shape)
    shifted[..., 1:] = h[..., :-1].clone()
    shifted[..., 0] = 2.0
    return shifted.masked_fill(shifted == 2.0, -1.0)


def relative_attention(model, h):
    q = h.reshape(1, 6, 2, 4).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q * 0.5, q, attn_mask=model.bias[None])


def attention_of_seen(model, h):
    q = h.reshape(2, 3, 2, 4).transpose(1, 2)
    seen = (torch.arange(3)[None, :] <= torch.tensor([[0], [2]]))[:, None, None, :]
    return F.scaled_dot_product_attention(q, q, q, attn_mask=seen.expand(2, 1, 3, 3)) * h.mean()


def grouped_heads(model, h):
    q = h.reshape(1, 6, 4, 2).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q[:, :2], q[:, 2:], is_causal=True, enable_gqa=True)


def image(h):
    return h.reshape(2, 3, 2, 4)


def images(model, h):
    """[6, 8] to 2 images of 3 channels, larger by what is repeated."""
    return model.body(image(h).repeat(1, 1, 3, 2)).flatten(1)


def of_images(*layers):
    return Net(images, body=nn.Sequential(*layers))


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


def set_at_indices(model, h):
    y = h.clone()
    y[torch.arange(6), torch.tensor([0, 1, 2, 3, -1, 5])] = 0.0
    y[torch.tensor([1, 3, 1])] = torch.arange(24.0).view(3, 8)
    y[torch.arange(8) % 6 == 2 if len(y) == 8 else torch.arange(6) % 4 == 2] = h[0] * 2
    return y.index_put((torch.tensor([2, 2, 4]), torch.tensor([0, 0, 1])), h[0, :3], accumulate=True).index_put(
        (torch.tensor([0, 5]),), h[1], accumulate=True)


def set_by_masks(model, h):
    y = h.clone()
    y[h.detach() > 0.5] = 0.1
    y[h[:, 0] < 0] = h[1]
    return y.index_put((h.detach() < -0.5,), h.sum(), accumulate=True)


def every_other_is_set(model, h):
    y = h * 1
    y[:, 1::3] = h[:, :3] * 2
    y[::4] = 1.0
    return y


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


def rows_that_see_nothing(model, h):
    q = h.reshape(1, 6, 2, 4).transpose(1, 2)
    seen = torch.ones(6, 6, dtype=torch.bool)
    seen[2] = False
    unseen = torch.zeros(6, 6).masked_fill(~seen, -torch.inf)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=seen) + F.scaled_dot_product_attention(q, q, q, attn_mask=unseen)


def last_of_rows(model, h):
    return h[torch.arange(6), (h > 0).sum(1).clamp(max=2) - 3]


class Buffer(Net):

    def __init__(self, after):
        super().__init__(after)
        self.register_buffer("n", torch.zeros(()))


# Name: a model, its loss, and the error that it must be; None: it trains as eager PyTorch does.
def attended(h, mask):
    q = h.view(1, 2, 6, 4)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask).view(6, 8)


def small_square(m, x):
    return 0.01 * square(m, x)


def square_from_1(m, x):
    return ((m(x) - 1)**2).mean()


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
    "an op that is not there, in the loss": (Net(lambda m, h: h), lambda m, x: torch.kthvalue(m(x), 2, 1)[0].mean(),
                                             r"kthvalue.*\(in the loss"),
    "a value that decides": (Net(lambda m, h: h * 2 if h.sum() > 0 else h), square,
                             "(?s)Could not guard.*torch_cases.*torch.where, masks"),
    "a size that values decide": (Net(lambda m, h: h * h[: (h[:, 0] > 0).sum().item()].sum()), square,
                                  "local_scalar_dense.*torch.where"),
    # After the compilation
    "a rate that the loop changes": (Net(lambda m, h: h), square, "lr of group 0 .* is 0.01, but it was 0.05 .*schedule="),
    "a momentum that changes": (Net(lambda m, h: h), square, "momentum of group 0 .* is 0.5, but it was 0"),
    "a rate of a tensor that changes": (Net(lambda m, h: h), square, "lr of group 0"),
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
                                     "scaled_dot_product_attention.*positions, width"),
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
    "a hook after": (Net(lambda m, h: h, hooked=[nn.Parameter(torch.ones(8))][0]), lambda m, x: (
        m.hooked.register_post_accumulate_grad_hook(lambda p: None), (m(x) * m.hooked).mean())[1], "gradient hook"),
    "a hook": (Net(lambda m, h: (h.register_hook(torch.neg), h)[1]), square, "gradient hook"),
    "a number of elements that values decide": (Net(lambda m, h: h[h > 0]), square, "values|booleans"),
    # Choices
    "where": (Net(lambda m, h: torch.where(h > 0.1, h * 2, torch.where(h < -0.1, h, 0.5))), square, None),
    "booleans": (Net(lambda m, h: h * ((h > 0) & ~(h > 1) | (h <= -1)).float()), square, None),
    "masked_fill": (Net(lambda m, h: h.masked_fill(h < 0, -2.0)), square, None),
    "comparisons": (Net(lambda m, h: h * (h >= 0) + h * h.ne(0) + h * h.gt(h.mean())), square, None),
    "clamp": (Net(lambda m, h: h.clamp(-0.3, 0.4) + h.clamp(min=0.1) + torch.minimum(h, h * h)), square, None),
    "largest": (Net(lambda m, h: h.amax(1) + h.max(dim=1).values - h.amin(1) + h.max()), square, None),
    "triangles": (Net(lambda m, h: torch.tril(h) + torch.triu(h, 1) * 2), square, None),
    # Shapes
    "shifted right": (Net(shifted_right), square, None),
    "every other": (Net(lambda m, h: h[:, ::2] + h[:, 1::2] * h[::5, 3:4].mean() + h[:, :7:3].mean()), square, None),
    "rolled": (Net(lambda m, h: h * torch.roll(h, (1, -2), (0, 1))), square, None),
    "repeated": (Net(lambda m, h: h.repeat(2, 1, 3).mean(0) + h.repeat_interleave(2, 0)[:6].repeat(1, 3)), square, None),
    "stacked": (Net(lambda m, h: torch.stack(h.unbind(1)[1:4], 1) * h[:, :3]), square, None),
    "expanded": (Net(lambda m, h: h[:, None].expand(6, 5, 8) * h[:, :5, None]), square, None),
    # Elements at indices
    "indices": (Net(lambda m, h: h[:, torch.tensor([1, 1, -1])] + h[torch.tensor([[5, 0, 5]])].mean()), square, None),
    "pairs of indices": (Net(lambda m, h: h[torch.arange(6), torch.tensor([0, 7, 3, 3, 1, 0])]), square, None),
    "gathered": (Net(lambda m, h: torch.gather(h, 1, torch.arange(18).reshape(6, 3) % 8)), square, None),
    "positions": (Net(cumulative, e=nn.Embedding(9, 8, padding_idx=0)), square, None),
    # Functions
    "activations": (Net(lambda m, h: F.silu(h) + F.softplus(h) + F.leaky_relu(h) + F.elu(h) + F.hardswish(h) + F.mish(h) +
                        F.relu6(h * 9) + F.sigmoid(h) + torch.erf(h) + h.abs() + F.hardtanh(h * 2)), square, None),
    "powers": (Net(lambda m, h: (h * h + 1)**0.5 + (h * h + 1)**-0.5 + (h * h + 2)**-1 + h**3 + (h * h + 1)**1.7),
               square, None),
    "spread": (Net(lambda m, h: h.var(1) + h.std(0).mean() + 0.1 * h.var(dim=(0, 1), correction=0)), square, None),
    "products": (Net(lambda m, h: 0.1 * h.T @ h @ h[0] + torch.einsum("ij,kj->ik", h, h).mean() +
                     torch.einsum("bi,bj->bij", h, h).mean() + (h.view(3, 2, 8) @ h.view(1, 6, 8).mT).mean()), square, None),
    "products with factors": (Net(lambda m, h: 0.01 * h + 0.1 * torch.addmm(m.p, h, m.l.weight, beta=0.5, alpha=2.0) + torch.baddbmm(
        h.view(2, 3, 8), h.view(2, 3, 8), m.l.weight.expand(2, 8, 8), alpha=0.3).view(6, 8) + torch.addmv(
            h[:, 0], h, m.p, beta=3, alpha=0.5)[:, None] + torch.mv(h, m.p)[:, None] + torch.dot(m.p, h[0]) + torch.addmm(
                torch.full((8,), torch.nan), h, m.l.weight, beta=0), p=nn.Parameter(torch.arange(8.0) / 8)), small_square, None),
    "einsums": (Net(lambda m, h: 0.1 * torch.einsum("ij,jk,lk->il", h, m.l.weight, h).mean() + torch.einsum("ii->i", h[:, :6]).sum() +
                    torch.einsum("ij->ji", h).T + torch.einsum("ij->i", h)[:, None] + torch.einsum(
                        "b i, j i -> b j", h, m.l.weight) + 0.1 * torch.einsum("ij,ij", h, h) + torch.einsum("ba,a", h, h[0])[:, None] +
                    torch.einsum("iij,jk->ik", h[:2].view(2, 2, 4), m.l.weight[:4]).mean() + 0.1 * torch.einsum("i,ij", h[:, 0], h)),
                small_square, None),
    "einsums with dots": (Net(lambda m, h: torch.einsum("...hd,hde->...he", h.view(6, 2, 4), m.l.weight.view(2, 4, 8)).flatten(
        1)[:, :8] + torch.einsum("...d,d->...d", h, h[0]) + torch.einsum("...i->...", h)[:, None] + torch.einsum(
            "b...d,...d->b", h.view(6, 2, 4), h[0].view(2, 4))[:, None] + torch.einsum("...ij->...ji", h.view(6, 2, 4)).reshape(
                6, 8) + torch.einsum("b...,...", h.view(6, 2, 4), h[:2, :4]).mean()), small_square, None),
    "bags of embeddings": (Net(lambda m, h: h * (m.s(torch.arange(12).view(6, 2)) + m.a(
        torch.tensor([1, 1, 3, 0, 2]), torch.tensor([0, 1, 1, 3, 3, 3])) + m.s(torch.arange(12).view(
            6, 2) % 5, per_sample_weights=h[:, :2].contiguous())), s=nn.EmbeddingBag(12, 8, mode="sum"), a=nn.EmbeddingBag(
                5, 8, mode="mean")), square, None),
    "bags of the largest": (Net(lambda m, h: h * m.s(torch.arange(12).view(6, 2)), s=nn.EmbeddingBag(12, 8, mode="max")), square,
                            "embedding_bag.*max"),
    "lengths": (Net(lambda m, h: h / h.norm(dim=-1, keepdim=True) + h / (h.norm(2) + 1) + 0.1 * h.norm(p=1, dim=1, keepdim=True) +
                    torch.linalg.vector_norm(h, dim=(0, 1)) + h.norm(torch.inf, 0) + F.normalize(h, dim=0) +
                    torch.linalg.vector_norm(h, -torch.inf, 1, True)), square, None),
    "lengths of 0": (Net(lambda m, h: (h * 0).norm(dim=1, keepdim=True) + F.normalize(h - h.detach(), dim=1) + (
        h - h.detach()).norm(torch.inf, 1, True) + (h - h.detach()).norm(1, 1, True)), square_from_1, None),
    "a length by cubes": (Net(lambda m, h: h.norm(3, 1)), square, "norms of order 3"),
    "means and variances": (Net(lambda m, h: (lambda v, mean: (h - mean) * torch.rsqrt(v + 1e-5))(*torch.var_mean(
        h, dim=-1, keepdim=True, unbiased=False)) + torch.var_mean(h, 0)[0] * torch.var_mean(h)[1] + torch.var_mean(h)[0]),
                            square, None),
    "the largest and where": (Net(lambda m, h: (lambda a, b: 0.1 * (a.values + b.values * a.indices + h[:, 0] * b[1]))(
        h.max(1), h.min(1))[:, None] * h + h.max(0, keepdim=True)[0]), small_square, None),
    "equal elements and where": (Net(lambda m, h: torch.cat([h[:, :2], h[:, :2], h[:, 1:2]], 1).max(1).values * 2 + torch.cat(
        [h, h], 0).min(0).values[:6] + torch.cat([h, h], 1).amax(1) + (h * 0 - torch.inf).max(1).indices), square, None),
    "layer norm of other types": (Net(lambda m, h: 1e-3 * F.layer_norm(h.bfloat16(), (8,), m.w, m.w).float() + F.layer_norm(
        h, (8,)), w=nn.Parameter(torch.ones(8))), square, None),
    # Elements by their size, and those that are set
    "positions of the largest": (Net(lambda m, h: m.e(h.argmax(1)) + m.e(h.argmin(0))[:6] + h * h.argmax() + h[
        torch.arange(6), h.argmax(1)][:, None] + h * (h * 0).argmax(1, keepdim=True) + m.e((h > 0).long().argmax(1)), e=nn.Embedding(
            9, 8)), square, None),
    "the largest few": (Net(lambda m, h: (lambda values, index: values.softmax(1) * m.e(index).mean(2))(*h.topk(3, 1)).sum(
        1, keepdim=True) + h.topk(8, 1, largest=False).values + h.topk(2, 0)[0].mean() + torch.cat([h, h * 0 - torch.inf], 1).topk(
            8, 1).indices * h @ m.e.weight[:8], e=nn.Embedding(16, 8)), small_square, None),
    "sorted": (Net(lambda m, h: h.sort(1).values + 2 * h.sort(0, descending=True)[0] + 0.1 * m.e(h.argsort(1)).mean(2) * h + torch.sort(torch.cat(
            [h.round(), h], 1), dim=1, stable=True)[1][:, :8] * 0.01 * h, e=nn.Embedding(8, 8)), square, None),
    "sorted, too many": (Net(lambda m, h: h.repeat(1, 999).sort(1).values), square, "topk of at most 16"),
    "what is below the largest few": (Net(lambda m, h: h.masked_fill(h < h.topk(3, -1).values[:, -1:], 0)), square, None),
    "scattered": (Net(lambda m, h: torch.zeros(6, 8).scatter(1, torch.arange(12).view(6, 2) % 8, h[:, :2]) + h * torch.zeros_like(
        h).scatter_(1, (h[:, :1] > 0).long(), 1.0) + h.scatter(0, h[:1].argmax(0)[None] * 0 + 2, -1.0) + torch.zeros(6, 8).scatter_add(
            1, (h[:, :3] > 0).long(), h[:, :3])), square, None),
    "scattered beyond the row": (Net(lambda m, h: h.scatter(1, (h[:, :1] * 0).long() + 8, 1.0)), square, "of its input is 8"),
    "scattered into a part": (Net(lambda m, h: h.scatter(1, torch.tensor([[0, 1]]), h)), square, "as many as the tensor in other"),
    "set at indices": (Net(set_at_indices), square, None),
    "set twice": (Net(lambda m, h: h.index_put((torch.tensor([1, 1]),), h[:2] * 2)), square, "index_put.*occurs twice"),
    "set by masks": (Net(set_by_masks), square, None),
    "set at indices of the batch": (Net(lambda m, h: h.index_put(((h[:, 0] > 0).long(),), torch.ones(8))), square,
                                    "index_put.*indices that depend on the batch"),
    "set to elements of a mask": (Net(lambda m, h: h.masked_scatter(h > 0, h * 2)), square, "masked_scatter|mask|values"),
    "every other is set": (Net(every_other_is_set), square, None),
    "flipped": (Net(lambda m, h: h * h.flip(1) + h.flip(0, -1) + torch.arange(8).flip(0) * h + m.e((h > 0).long().flip(1)).mean(2),
                    e=nn.Embedding(2, 3)), square, None),
    "diagonals": (Net(lambda m, h: h.diagonal().sum() + h.diagonal(2).mean() + h.view(6, 2, 4).diagonal(-1, 1, 2) * h[
        :, :1] + h.view(2, 3, 8).diagonal(1, 2, 0).sum() + torch.trace(h[:, :6]) + torch.diag(h[:, :6])[:, None]), small_square, None),
    "padded by elements": (Net(lambda m, h: F.pad(image(h), (1, 2, 1, 0), mode="reflect") * F.pad(
        image(h), (1, 2, 1, 0), mode="replicate") + F.pad(image(h), (3, 0, 0, 1), mode="circular") + F.pad(
            h.view(2, 3, 8), (3, 2), mode="reflect").mean() + m.c(h.view(2, 3, 8)).mean(), c=nn.Conv1d(
                3, 2, 3, padding=1, padding_mode="circular")), square, None),
    "softmax along the first": (Net(lambda m, h: h.softmax(0) + h.log_softmax(0) + h.logsumexp(0)), square, None),
    # Norms, images
    "norms": (Net(lambda m, h: m.g(image(h)).flatten(1) + m.r(h).view(2, 24) + m.n(h.view(2, 3, 8)).view(2, 24),
                  g=nn.GroupNorm(3, 3), r=nn.RMSNorm(8), n=nn.LayerNorm((3, 8))), square, None),
    "batch norm": (Net(lambda m, h: m.b(m.a(h).view(6, 2, 4)), a=nn.BatchNorm1d(8), b=nn.BatchNorm1d(2, momentum=0.3)), square,
                   None),
    "batch norm twice": (Net(lambda m, h: m.b(h) + m.b(h * h), b=nn.BatchNorm1d(8)), square, None),
    "batch norm, frozen statistics": (Net(lambda m, h: m.b(h), b=nn.BatchNorm1d(8).eval()), square, None),
    "convolutions": (of_images(nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.ReLU(), nn.Conv2d(4, 4, (1, 3), groups=2),
                               nn.Conv2d(4, 4, 2, padding="same", groups=4, bias=False)), square, None),
    "a transposed convolution": (of_images(nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)), square, None),
    "pools": (of_images(nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2, 1), nn.AdaptiveAvgPool2d((1, None))), square, None),
    "pools of unequal parts": (Net(lambda m, h: F.adaptive_avg_pool2d(h.view(2, 1, 3, 8), (2, 5)).flatten(1) + F.adaptive_avg_pool1d(
        h.view(2, 3, 8), 3).mean()), square, None),
    "larger images": (Net(lambda m, h: sum(F.interpolate(image(h), mode=mode, **how).mean((2, 3)) * k + F.interpolate(
        image(h), mode=mode, **how).square().mean() for k, (mode, how) in enumerate((
            ("nearest", {"scale_factor": 2}), ("nearest", {"size": (5, 3)}), ("nearest", {"scale_factor": 1.7}),
            ("nearest-exact", {"size": (5, 3)}), ("bilinear", {"scale_factor": (2, 1.5)}), ("bilinear", {"size": (3, 7)}),
            ("bilinear", {"size": (3, 7), "align_corners": True}), ("bicubic", {"scale_factor": 2})), 1))), small_square, None),
    "a row of values": (Net(lambda m, h: m.c(h.view(2, 3, 8)).flatten(1), c=nn.Conv1d(3, 2, 3, padding=1, dilation=1)), square,
                        None),
    # Attention
    "relative positions": (Net(relative_attention, bias=nn.Parameter(torch.randn(2, 6, 6))), square, None),
    "keys that are seen": (Net(attention_of_seen), square, None),
    "heads for several": (Net(grouped_heads), square, None),
    "biases far below 0": (Net(lambda m, h: attended(h, -20 * torch.arange(6.)[None] - 7e4) + attended(
        h, torch.tensor([[-2e9, -1e9, -torch.inf, -3e9, -3e38, -4e9]])) + attended(h, torch.full((6, 6), -3e38).triu(1))),
                           square, None),
    "positions that see no key": (Net(rows_that_see_nothing), square, None),
    "the last of each row": (Net(last_of_rows), square, None),
    # At kinks, and of other types
    "a head of zeros": (Net(lambda m, h: F.elu(h * 0) + F.leaky_relu(h * 0) + (h * 0).abs() + (h * 0).clamp(0, 1) +
                            F.relu6(h * 0) + F.softplus(h * 0)), square, None),
    "at bounds": (Net(lambda m, h: sum(of(h - h.detach()) for of in (
        lambda x: x.clamp(0, 1), lambda x: x.clamp(min=0) * 3, lambda x: x.clamp(max=0) * 5, F.relu6, F.hardsigmoid,
        lambda x: torch.clamp(x, torch.zeros(8), torch.ones(8)) * 7))), square_from_1, None),
    "as large as the other": (Net(lambda m, h: torch.maximum(h, h.detach()) + torch.minimum(2 * h, h + h.detach())), square,
                              None),
    "equal elements": (Net(lambda m, h: torch.cat([h[:5], h[5:] * 0]).std(1) + h.std(1)), square, None),
    "large powers": (Net(lambda m, h: h**9 / 99 + h**10 / 99 + (h * h + 1)**-9.0 + h**16 / 999 + (h * h * 1e5 + 1e5)**-12 +
                         (h - 3)**-9), square, None),
    "close to 0": (Net(lambda m, h: torch.log1p(h * 1e-9) * 1e9 + F.elu(h * 1e-7) * 1e7 + torch.expm1(h * 1e-9) * 1e9 +
                       torch.log1p(h.abs()) + torch.expm1(h) + F.elu(h * 3)), square, None),
    "infinities": (Net(lambda m, h: h.masked_fill(torch.arange(8) >= 0, -torch.inf).amax(1, keepdim=True).exp() + torch.log1p(
        h.abs() * 0 + torch.inf).clamp(max=1) + torch.expm1(h * 0 - torch.inf) + h), square, None),
    "far below 0": (Net(lambda m, h: 0.01 * (torch.log(F.softplus(h - 20)) + torch.log(torch.sigmoid(h - 20)))), square, None),
    "sums of booleans": (Net(lambda m, h: h * (h > 0).sum(1, keepdim=True) + h * ((h > 0).any(1) & ~(h > 9).all()).float()[
        :, None] + h * ((h > 0) + (h < 1)) + h * torch.logical_not(torch.relu(h))), square, None),
    "one over integers": (Net(lambda m, h: h * (1 / (1 + (h > 0).long())) + h / (h > 0).sum()), square, None),
    "more functions": (Net(lambda m, h: torch.sinh(h) + torch.cosh(h) + torch.tan(h / 9) + torch.log2(h * h + 1) + torch.log10(
        h * h + 2) + torch.exp2(h) + torch.pow(3, h) + torch.sinh(h * 1e-9) * 1e9 + h * torch.isnan(h / 0 * 0)), square, None),
    "steps": (Net(lambda m, h: 0.1 * sum(h * of(h.detach() * 3) + of(h) for k, of in enumerate((
        torch.sign, torch.floor, torch.ceil, torch.trunc, torch.round), 1))), square, None),
    "steps at their ends": (Net(lambda m, h: 0.1 * h * sum(k * of(torch.tensor([-2.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.5, 1e30]) + 0 * h)
                                                     .clamp(-9, 9) for k, of in enumerate((
                                                         torch.sign, torch.floor, torch.ceil, torch.trunc, torch.round), 1))),
                            square, None),
    "powers of tensors": (Net(lambda m, h: 0.1 * (h * h + 0.5)**h + 0.1 * h.abs()**(h * h + 1) + h**torch.tensor(
        [0, 1, 2, 3, 4, -1, -2, 5]) * torch.tensor([1, 1, 0.1, 0.1, 0.01, 1e-5, 1e-7, 1e-3])), square, None),
    "powers of 0": (Net(lambda m, h: (h - h.detach())**torch.tensor([0.0, 1.0, 1.5, 2.0, 3.0, 1.0, 4.0, 2.5]) +
                        (h * 0 + 2)**(h - h.detach())), square_from_1, None),
    # Losses
    "yes or no, by positives": (Net(lambda m, h: h), lambda m, x: F.binary_cross_entropy_with_logits(
        m(x), (x > 0).float(), pos_weight=torch.arange(1.0, 9.0)) + F.binary_cross_entropy_with_logits(
            m(x), x.sigmoid(), weight=torch.arange(8.0), pos_weight=torch.tensor(3.0), reduction="sum"), None),
    "probabilities of yes": (Net(lambda m, h: h.sigmoid()), lambda m, x: F.binary_cross_entropy(
        m(x), (x > 0).float(), torch.arange(8.0)) + F.binary_cross_entropy(m(x), x.sigmoid(), reduction="sum"), None),
    "sure of yes or no": (Net(lambda m, h: torch.where(torch.arange(8) > 3, (h * 1e3).sigmoid(), h.sigmoid())), lambda m, x: (
        F.binary_cross_entropy(m(x), (x > 0).float()) + F.binary_cross_entropy(x.sigmoid(), m(x))), None),
    "cross-entropy by classes": (Net(lambda m, h: h), lambda m, x: sum(F.cross_entropy(
        m(x), LABELS, weight=torch.arange(1.0, 9.0), ignore_index=3, label_smoothing=part, reduction=of).mean()
        for part in (0.0, 0.3) for of in ("mean", "sum", "none")), None),
    "cross-entropy of images by classes": (Net(lambda m, h: h.view(2, 4, 3, 2)), lambda m, x: F.cross_entropy(
        m(x), torch.arange(12).view(2, 3, 2) % 4, weight=torch.arange(1.0, 5.0)) + F.nll_loss(
            m(x), torch.arange(12).view(2, 3, 2) % 4, weight=torch.arange(1.0, 5.0), ignore_index=1), None),
    "a weighted label beyond the classes": (Net(lambda m, h: h), lambda m, x: F.cross_entropy(
        m(x), x[:, 0].long() * 0 + 8, weight=torch.ones(8)), "index 0 of its input is 8"),
    "cross-entropy of probabilities": (Net(lambda m, h: h), lambda m, x: F.cross_entropy(
        m(x), x.softmax(1)) + F.cross_entropy(m(x), m(x).softmax(1), weight=torch.arange(8.0), label_smoothing=0.2) +
        F.cross_entropy(m(x).view(2, 4, 6), x.view(2, 4, 6).softmax(1), reduction="sum") + F.cross_entropy(
            m(x)[0], x[0].softmax(0)), None),
    "cross-entropy": (Net(lambda m, h: h), lambda m, x: F.cross_entropy(m(x), LABELS, ignore_index=3) + F.cross_entropy(
        m(x), LABELS, label_smoothing=0.1) + F.cross_entropy(m(x), LABELS, reduction="sum"), None),
    "NLL without a class": (Net(lambda m, h: h.log_softmax(1)), lambda m, x: F.nll_loss(m(x), LABELS, ignore_index=3) + sum(
        F.nll_loss(m(x), LABELS, ignore_index=3, reduction=of).mean() for of in ("sum", "none")), None),
    "NLL": (Net(lambda m, h: h), lambda m, x: F.nll_loss(F.log_softmax(m(x), 1), LABELS) + F.nll_loss(m(x), LABELS), None),
    "regressions": (Net(lambda m, h: h), lambda m, x: F.l1_loss(m(x), x) + F.huber_loss(m(x), x, delta=0.7) +
                    F.smooth_l1_loss(m(x), x, beta=0.6), None),
    "NLL of what cannot be": (Net(lambda m, h: h), lambda m, x: F.nll_loss(
        F.log_softmax(m(x), 1).masked_fill(torch.arange(8) == 5, -torch.inf), LABELS), None),
    "yes or no": (Net(lambda m, h: h), lambda m, x: F.binary_cross_entropy_with_logits(m(x), (x > 0).float()), None),
}


class Doubled(torch.autograd.Function):  # which still works after a compilation

    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


INPUTS = {"an integer input": torch.arange(48).reshape(6, 8), "a boolean input": X > 0}


# Optimizers of cases, where they are not SGD; by the model.
OPTIMIZERS = {
    "a rate of a tensor that changes": lambda m: torch.optim.Adam(m.parameters(), lr=torch.tensor(0.05)),
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
    "a rate that the loop changes": lambda m, o: o.param_groups[0].update(lr=0.01),
    "a momentum that changes": lambda m, o: o.param_groups[0].update(momentum=0.5),
    "a rate of a tensor that changes": lambda m, o: o.param_groups[0]["lr"].mul_(0.5),
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


DRAWS = {  # with their mean and the mean of their squares
    "rand": (lambda x: torch.rand(300, 400), 1 / 2, 1 / 3),
    "rand_like": (lambda x: torch.rand_like(x.expand(8000, 6, 8)), 1 / 2, 1 / 3),
    "rand_like of bf16": (lambda x: torch.rand_like(x.expand(8000, 6, 8).bfloat16()).float(), 1 / 2, 1 / 3),
    "randn": (lambda x: torch.randn(300, 400), 0, 1),
    "uniform_": (lambda x: torch.empty(300, 400).uniform_(-1, 3), 1, 7 / 3),
    "normal_": (lambda x: torch.empty(300, 400).normal_(2, 0.5), 2, 4.25),
    "exponential_": (lambda x: torch.empty(300, 400).exponential_(2.0), 1 / 2, 1 / 2),
    "bernoulli": (lambda x: torch.bernoulli(torch.full((300, 400), 0.25)), 1 / 4, 1 / 4),
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
                return "the mean of %s to the power of %d is %r, not %g" % (name, power, losses, expected)
    return "ok"


def compiled(model, example):
    return splitcast.torch.compile(model, square, example, torch.optim.SGD(model.parameters(), lr=0.1), enable_zero=0,
                                   whole_batch=True)


OTHERS = {"batches without names": batches_without_names, "random numbers": random_numbers}


def outcome(name):
    if name in OTHERS:
        return OTHERS[name]()
    model, loss, expected = CASES[name]
    x = INPUTS.get(name, X)
    modes = [part.training for part in model.modules()]
    before = copy.deepcopy(model.state_dict())
    eager = None if expected else copy.deepcopy(model)
    rate = 1e-4 if name == "an integer input" else 0.05
    make_optimizer = OPTIMIZERS.get(name, lambda m: torch.optim.SGD(m.parameters(), lr=rate))
    attributes = {key: value for key, value in vars(model).items() if key != "training"}
    try:
        optimizer = make_optimizer(model)
        trainer = splitcast.torch.compile(model, loss, {"x": x}, optimizer, enable_zero=0, whole_batch=True,
                                          clip_norm=1.0 if "clipping" in name else None)
        if {key: value for key, value in vars(model).items() if key != "training"} != attributes:
            return "the model's attributes were changed"
        if modes != [part.training for part in model.modules()]:
            return "the model's modes were changed"
        CHANGES.get(name, lambda m, o: None)(model, optimizer)
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
            return "step %d: loss %r, eager %r" % (step, ours, theirs.item())
    for key, value in trainer.state_dict().items():
        if not torch.allclose(value, eager.state_dict()[key], rtol=1e-4, atol=1e-6):
            return "parameter or buffer %s differs" % key
    # As it is now, in evaluation.
    ours, theirs = trainer.evaluate({"x": x}), loss(eager.eval(), x).item()
    if not abs(ours - theirs) <= 1e-5 * abs(theirs):
        return "evaluated: %r, eager %r" % (ours, theirs)
    return "ok"


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or list(CASES) + list(OTHERS):
        print("CASE %s: %s" % (name, outcome(name).replace("\n", " ")), flush=True)
    print("ALL %d" % (len(CASES) + len(OTHERS)))


main()
