"""Small models that are easily trained wrong, by their ops. Each trains as eager PyTorch does, or is an error that says
why. Run as one rank by pytest (conftest.py)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

import torch_cases_common as common
from torch_cases_common import Net, image, small_square, square, square_from_1

LABELS = torch.tensor([0, 3, 7, 3, 1, 2])


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


def attention_of_widths(model, h):
    """Values that are wider and narrower than the keys, and several dimensions of samples."""
    q, mask = h.view(2, 3, 2, 4).transpose(1, 2), torch.arange(9.0).view(3, 3)
    wide = F.scaled_dot_product_attention(q, q, torch.cat([q, q * q], -1)[..., :7], is_causal=True)
    narrow = F.scaled_dot_product_attention(q, q * 2, q[..., :3], attn_mask=mask, scale=0.7)
    x = h.view(1, 2, 3, 2, 4)
    masks = (torch.arange(2)[:, None] >= torch.arange(2)) | (torch.arange(6).view(1, 2, 3, 1, 1) == 2)
    of_batch = h.mean(1).view(1, 2, 3, 1, 1) * torch.arange(2.0)
    many = sum(F.scaled_dot_product_attention(x, x * 2, x, attn_mask=each) for each in (
        None, masks, of_batch, of_batch[0, 0], masks[0], of_batch[0]))
    return wide.mean() + narrow.mean() + many


def images(model, h):
    """[6, 8] to 2 images of 3 channels, larger by what is repeated."""
    return model.body(image(h).repeat(1, 1, 3, 2)).flatten(1)


def recurrent(model, h):
    """Results, and the states at the end."""
    results, states = model.r(h.view(3, 4, 4))
    states = states if isinstance(states, tuple) else [states]
    return results.sum(-1, keepdim=True) + sum(state.mean() for state in states)


def of_images(*layers):
    return Net(images, body=nn.Sequential(*layers))


def set_at_indices(model, h):
    y = h.clone()
    y[torch.arange(6), torch.tensor([0, 1, 2, 3, -1, 5])] = 0.0
    y[torch.tensor([1, 3, 1])] = torch.arange(24.0).view(3, 8)
    y[torch.arange(8) % 6 == 2 if len(y) == 8 else torch.arange(6) % 4 == 2] = h[0] * 2
    return y.index_put((torch.tensor([2, 2, 4]), torch.tensor([0, 0, 1])), h[0, :3], accumulate=True).index_put(
        (torch.tensor([0, 5]),), h[1], accumulate=True)


def set_behind_the_first(model, h):
    y, z = h * 1, h.view(2, 3, 8) * 1
    y[:, torch.arange(8) % 2 == 0] = h[:, 4:] * 2
    y[:, torch.tensor([1, -1])] += 1
    z[:, torch.tensor([[0], [2]]), torch.tensor([3, 5])] = h[:2, :4].view(2, 2, 2)
    z[:, torch.arange(3) == 1] = h[0]
    twice = torch.ops.aten.index_put(h, [None, torch.tensor([2, 2])], h[:, :2], True)
    return y * z.view(6, 8) + twice


def set_by_masks(model, h):
    y = h.clone()
    y[h.detach() > 0.5] = 0.1
    y[h[:, 0] < 0] = h[1]
    return y.index_put((h.detach() < -0.5,), h.sum(), accumulate=True)


def diagonals_are_set(model, h):
    products = (h.T @ h).fill_diagonal_(0.5)
    y = h * 1
    y.fill_diagonal_(2.0)
    torch.diagonal(y, 1).mul_(h[:, 0])
    cube = h.view(2, 3, 8) * 1
    cube.diagonal(-1, 2, 1).add_(h[:2, :3])
    tall = torch.cat([h, h])[:, :3].contiguous()
    tall.fill_diagonal_(0.1, wrap=True)
    x = (h * 9).long()
    x.diagonal().neg_()
    return y + products.mean(1) + cube.view(6, 8) + tall.mean() + x * h * 0.1


def every_other_is_set(model, h):
    y = h * 1
    y[:, 1::3] = h[:, :3] * 2
    y[::4] = 1.0
    return y


def masked_by_numbers(model, h):
    """Masks of the least number and of -1e9 whose rows see several keys, one, or but such keys. Without gradient: that
    of PyTorch's fused attention on CPUs is too large where all scores of a row are far below 0."""
    x = h.detach()
    least, low = torch.finfo(h.dtype).min, torch.full((6, 6), -1e9).tril(2)
    padding = torch.zeros(6, 6).index_fill(1, torch.tensor([0, 1]), least)
    causal = torch.full((6, 6), -torch.inf).triu(1)
    return h + attended(x, padding) + attended(x, padding + causal) + attended(x, low) + attended(x, low + causal) + attended(
        x, torch.full((6, 6), least)) + attended(x, torch.full((6, 6), least).triu(1) + low)


def large_scores_and_masks(model, h):
    """Without gradient, for which PyTorch keeps too few digits of large scores."""
    q, seen = h.detach().view(1, 2, 6, 4), torch.arange(36).view(6, 6) % 3 > 0
    return h + sum(F.scaled_dot_product_attention(q * factor, q * 1e3, q, attn_mask=mask).view(6, 8)
               for factor in (1e3, -1e3) for mask in (seen, torch.zeros(6, 6).masked_fill(~seen, -torch.inf)))


def ends_by_size(model, h):
    """Elements next to infinities and the largest number, which no number may stand for."""
    most = torch.finfo(h.dtype).max
    x = torch.tensor([-most, -torch.inf, most, torch.inf, torch.nan, 1, 0, -1]) + 0 * h
    some = torch.tensor([most, -torch.inf, -most, torch.inf, -torch.inf, torch.inf, -most, most]) + 0 * h
    positions = [x.argmax(1), some.argmax(1), x.argmin(1), (-some).argmin(1), (x * 0 - torch.inf).argmax(1)]
    positions += [x.topk(8, 1).indices]
    positions += [torch.sort(each, dim=1, descending=of, stable=True)[1] for each in (x, some) for of in (True, False)]
    return h * sum((number + 1) * 8.0**-(number % 4) * each.view(6, -1) for number, each in enumerate(positions))


def rows_that_see_nothing(model, h):
    q = h.reshape(1, 6, 2, 4).transpose(1, 2)
    seen = torch.ones(6, 6, dtype=torch.bool)
    seen[2] = False
    unseen = torch.zeros(6, 6).masked_fill(~seen, -torch.inf)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=seen) + F.scaled_dot_product_attention(q, q, q, attn_mask=unseen)


def last_of_rows(model, h):
    return h[torch.arange(6), (h > 0).sum(1).clamp(max=2) - 3]


def attended(h, mask):
    q = h.view(1, 2, 6, 4)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask).view(6, 8)


def products_of_elements(model, h):
    of_one = (h[:, :1] * 2).prod(1, keepdim=True)
    return (h.prod(1)[:, None] + (h + 1).prod(0, keepdim=True) + (h[0] + 1).prod() + of_one +
            (h > 9).long().prod(1)[:, None])


def pools_of_values(model, h):
    x = h.view(2, 3, 8)
    return (F.max_pool1d(x, 3, 2, 1) + F.avg_pool1d(x, 3, 2, 1) + F.max_pool1d(x, 2) + F.adaptive_max_pool1d(x, 4) +
            F.max_pool1d(x, 3, 2, ceil_mode=True) + F.avg_pool1d(x, 3, 2, 1, True, False).mean())


def largest_of_parts(model, h):
    x = image(h)
    return (F.adaptive_max_pool2d(x, (2, 2)).mean((2, 3)) + F.adaptive_max_pool2d(x, (None, 1)).sum((2, 3)) +
            F.adaptive_max_pool2d(x, 1)[..., 0, 0])


def given_states(model, h):
    x = h.view(2, 3, 8)
    of_lstm = model.r(x, (h[:3, :4].view(1, 3, 4), h[3:].view(1, 3, 8)))[0]
    return 0.1 * (of_lstm + model.g(x, h[None, :3, :4])[0].sum() + model.c(h, h[:, :4]).sum())


def remainders(model, h):
    return (h % 0.3 + torch.remainder(h, -0.7) + torch.fmod(h, 0.3) + torch.remainder(h, 1 + h * h) +
            torch.fmod(h, torch.arange(1.0, 9.0) / 9) + torch.remainder(torch.tensor(3.0), h.abs() + 1))


def remainders_of_integers(model, h):
    x = (h * 9).long()
    remainder = x % 3 + x.remainder(-4) + x.fmod(3) + x % torch.arange(1, 9)
    quotient = x // 2 + 7 // (x * x + 1) + torch.div(x, -3, rounding_mode="floor")
    return h * (remainder + quotient + torch.div(x, 4, rounding_mode="trunc"))


def quotients_without_fractions(model, h):
    return (h * (h.detach() // 0.3) + torch.div(h, 0.3, rounding_mode="trunc") +
            h * torch.div(h.detach(), h.mean(), rounding_mode="floor"))


def chosen_integers(model, h):
    """As RoBERTa chooses the types of its tokens."""
    x, at = (h * 9).long(), (h[:, :3] > 0).long()
    chosen = torch.gather(x, 1, at) + torch.gather(torch.arange(8).expand(6, 8), 1, at) + torch.take_along_dim(
        x.int(), at, 1) + F.embedding(at, x[0][:, None])[..., 0]
    placed = x.scatter(1, at, 5).scatter_add(1, at, -x) + x.index_put((torch.tensor([1, 1]),), x[0], accumulate=True)
    return 0.1 * h * placed + 0.1 * (h[:, :3] * chosen).mean()


def elements_of_masks(model, h):
    """The masks are constants, so that the numbers of elements are known."""
    parts = torch.cat([h[:, model.mask], h[:, ~model.mask]], 1) + h
    of_pairs = h.view(2, 3, 8)[:, torch.arange(24).view(3, 8) % 5 == 0].sum() + h[torch.where(torch.eye(6) > 0)].sum()
    rows = h[torch.arange(6) % 2 == 0]
    selected = torch.masked_select(h, model.mask)
    at_ones = h[:, torch.nonzero(torch.arange(8) % 2)[:, 0]].reshape(-1)
    return parts * rows.mean(0) / rows.shape[0] + of_pairs + (selected * at_ones).mean()


def angles(model, h):
    of_points = torch.atan2(h, h.flip(1)) + torch.atan2(h, -h.abs() * 1e-3)
    near_0 = torch.atan(h * 1e-9) * 1e9 + torch.asin(h * 1e-9) * 1e9 + torch.acos(1 - h.abs() * 1e-3 - 1e-4)
    return torch.atan(h * 3) + torch.asin(h / 9) + torch.acos(h / 9) + torch.atan(h * 1e9) + of_points + near_0


def gaussian(model, x):
    h = model(x)
    of_sum = nn.GaussianNLLLoss(reduction="sum")(h, x, h[:, :1].square() + 0.1)
    return F.gaussian_nll_loss(h, x, h.exp(), full=True) + 0.01 * of_sum


CASES = {
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
    "integers at indices": (Net(chosen_integers), small_square, None),
    "elements of constant masks": (Net(elements_of_masks, mask=nn.Buffer(torch.arange(8) % 2 == 0)), small_square,
                                   None),
    "elements of a mask that has none": (Net(lambda m, h: h[torch.zeros(6, dtype=torch.bool)].sum() + h), square,
                                         "index.*a mask that chooses no element"),
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
        h, dim=-1, keepdim=True, unbiased=False)) + torch.var_mean(h, 0)[0] * torch.var_mean(h)[1] + torch.var_mean(h)[0] +
        torch.std_mean(h, 0)[0] * torch.std_mean(h, 0, correction=0)[1]), square, None),
    "the largest and where": (Net(lambda m, h: (lambda a, b: 0.1 * (a.values + b.values * a.indices + h[:, 0] * b[1]))(
        h.max(1), h.min(1))[:, None] * h + h.max(0, keepdim=True)[0]), small_square, None),
    "equal elements and where": (Net(lambda m, h: torch.cat([h[:, :2], h[:, :2], h[:, 1:2]], 1).max(1).values * 2 + torch.cat(
        [h, h], 0).min(0).values[:6] + torch.cat([h, h], 1).amax(1) + (h * 0 - torch.inf).max(1).indices), square, None),
    "layer norm of other types": (Net(lambda m, h: 1e-3 * F.layer_norm(h.bfloat16(), (8,), m.w, m.w).float() + F.layer_norm(
        h, (8,)), w=nn.Parameter(torch.ones(8))), square, None),
    "products of elements": (Net(products_of_elements), small_square, None),
    "distances of rows": (Net(lambda m, h: 0.1 * (torch.cdist(h, h * 2) + torch.cdist(h, h).mean() + torch.cdist(
        h.view(2, 3, 8), h[None, :2], p=1).mean())), square, None),  # small, or its steps grow from each to the next
    "distances by cubes": (Net(lambda m, h: torch.cdist(h, h, p=3)), square, "cdist.*order 3"),
    "a bilinear layer": (Net(lambda m, h: m.b(h, h[:, :3]) + m.c(h.view(2, 3, 8), h.view(2, 3, 8)).mean(),
                             b=nn.Bilinear(8, 3, 5), c=nn.Bilinear(8, 8, 2, bias=False)), square, None),
    # Elements by their size, and those that are set
    "positions of the largest": (Net(lambda m, h: m.e(h.argmax(1)) + m.e(h.argmin(0))[:6] + h * h.argmax() + h[
        torch.arange(6), h.argmax(1)][:, None] + h * (h * 0).argmax(1, keepdim=True) + m.e((h > 0).long().argmax(1)), e=nn.Embedding(
            9, 8)), square, None),
    "the largest few": (Net(lambda m, h: (lambda values, index: values.softmax(1) * m.e(index).mean(2))(*h.topk(3, 1)).sum(
        1, keepdim=True) + h.topk(8, 1, largest=False).values + h.topk(2, 0)[0].mean() + torch.cat([h, h * 0 - torch.inf], 1).topk(
            8, 1).indices * h @ m.e.weight[:8], e=nn.Embedding(16, 8)), small_square, None),
    "sorted": (Net(lambda m, h: h.sort(1).values + 2 * h.sort(0, descending=True)[0] + 0.1 * m.e(h.argsort(1)).mean(2) * h + torch.sort(torch.cat(
            [h.round(), h], 1), dim=1, stable=True)[1][:, :8] * 0.01 * h, e=nn.Embedding(8, 8)), square, None),
    "the ends, by size": (Net(ends_by_size), small_square, None),
    "sorted, too many": (Net(lambda m, h: h.repeat(1, 999).sort(1).values), square, "topk of at most 16"),
    "what is below the largest few": (Net(lambda m, h: h.masked_fill(h < h.topk(3, -1).values[:, -1:], 0)), square, None),
    "scattered": (Net(lambda m, h: torch.zeros(6, 8).scatter(1, torch.arange(12).view(6, 2) % 8, h[:, :2]) + h * torch.zeros_like(
        h).scatter_(1, (h[:, :1] > 0).long(), 1.0) + h.scatter(0, h[:1].argmax(0)[None] * 0 + 2, -1.0) + torch.zeros(6, 8).scatter_add(
            1, (h[:, :3] > 0).long(), h[:, :3])), square, None),
    "scattered beyond the row": (Net(lambda m, h: h.scatter(1, (h[:, :1] * 0).long() + 8, 1.0)), square, "of its input is 8"),
    "scattered into a part": (Net(lambda m, h: h.scatter(1, torch.tensor([[0, 1]]), h)), square, "as many as the tensor in other"),
    "set at indices": (Net(set_at_indices), square, None),
    "set at indices behind the first": (Net(set_behind_the_first), small_square, None),
    "set twice": (Net(lambda m, h: h.index_put((torch.tensor([1, 1]),), h[:2] * 2)), square, "index_put.*occurs twice"),
    "set by masks": (Net(set_by_masks), square, None),
    "set at indices of the batch": (Net(lambda m, h: h.index_put(((h[:, 0] > 0).long(),), torch.ones(8))), square,
                                    "index_put.*indices that depend on the batch"),
    "set to elements of a mask": (Net(lambda m, h: h.masked_scatter(h > 0, h * 2)), square, "masked_scatter|mask|values"),
    "diagonals are set": (Net(diagonals_are_set), small_square, None),
    "every other is set": (Net(every_other_is_set), square, None),
    "indices that are filled": (Net(lambda m, h: h.index_fill(1, torch.tensor([1, -1]), 0.5) + h.index_fill(
        0, torch.tensor([2]), torch.tensor(0.1))), square, None),
    "along a dimension": (Net(lambda m, h: torch.take_along_dim(h, h.argsort(1), 1) + torch.take_along_dim(
        h, torch.tensor([[1, -2, 0]]), 1).mean()), square, None),
    "windows": (Net(lambda m, h: h.unfold(1, 4, 2).mean(2) @ h[:3] + h.unfold(0, 3, 1).sum() + h.view(2, 3, 8).unfold(
        -1, 3, 3)[..., 1].mean()), small_square, None),
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
    "batch norm with the mean of all batches": (Net(
        lambda m, h: m.b(m.a(h).view(6, 2, 4)), a=nn.BatchNorm1d(8, momentum=None),
        b=nn.BatchNorm1d(2, momentum=None, affine=False)), square, None),
    "norms of neighbouring channels": (Net(lambda m, h: F.local_response_norm(image(h), 2, alpha=0.5, k=0.7)), square,
                                       None),
    "pools of values": (Net(pools_of_values), square, None),
    "windows that reach beyond the image": (of_images(nn.MaxPool2d(3, 2, ceil_mode=True), nn.AvgPool2d(
        2, ceil_mode=True)), square, None),
    "windows with padding": (Net(lambda m, h: sum(of(image(h)).mean((2, 3)) for of in (
        nn.MaxPool2d((2, 3), 2, 1, ceil_mode=True), nn.AvgPool2d(2, 1, 1, count_include_pad=False), nn.AvgPool2d(
            (2, 3), 2, (1, 1), ceil_mode=True), nn.AvgPool2d(2, 1, 1, ceil_mode=True, count_include_pad=False),
        nn.AvgPool2d(2, 1, divisor_override=3)))), square, None),
    "pools of volumes": (Net(lambda m, h: F.avg_pool3d(h.view(2, 1, 2, 3, 4), 2, 1, 1).mean(1) + F.max_pool3d(
        h.view(2, 1, 2, 3, 4), (1, 2, 2), (2, 1, 1), (0, 1, 1)).mean()), square, None),
    "the largest of parts": (Net(largest_of_parts), square, None),
    "the largest of unequal parts": (Net(lambda m, h: F.adaptive_max_pool1d(h.view(2, 3, 8), 3)), square,
                                     "adaptive_max_pool1d.*equal parts"),
    "positions of the largest in windows": (Net(
        lambda m, h: F.max_pool2d(image(h), 2, return_indices=True)[1] * h.mean()), square,
        "max_pool2d_with_indices.*not the positions"),
    "a transposed convolution of values": (Net(lambda m, h: m.c(h.view(2, 3, 8)), c=nn.ConvTranspose1d(
        3, 4, 3, 2, padding=1, output_padding=1, dilation=2)), square, None),
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
    # Recurrent
    **{f"{kind.__name__}, {options}": (Net(recurrent, r=kind(4, 4, **options)), square, None)
       for kind in (nn.LSTM, nn.GRU, nn.RNN)
       for options in ({}, {"num_layers": 2, "batch_first": True}, {"bidirectional": True, "bias": False})},
    "an RNN of relu": (Net(recurrent, r=nn.RNN(4, 4, nonlinearity="relu")), square, None),
    "given states": (Net(given_states, r=nn.LSTM(8, 8, proj_size=4), g=nn.GRU(8, 4), c=nn.GRUCell(8, 4)), square, None),
    "an LSTM of images": (Net(lambda m, h: m.r(m.c(h.view(2, 3, 2, 4)).flatten(2).mT.contiguous())[1][0], c=nn.Conv2d(
        3, 4, (1, 2)), r=nn.LSTM(4, 8, 2, batch_first=True)), square, None),
    # Attention
    "relative positions": (Net(relative_attention, bias=nn.Parameter(torch.randn(2, 6, 6))), square, None),
    "keys that are seen": (Net(attention_of_seen), square, None),
    "heads for several": (Net(grouped_heads), square, None),
    "biases far below 0": (Net(lambda m, h: attended(h, -20 * torch.arange(6.)[None] - 7e4) + attended(
        h, torch.tensor([[-2e9, -1e9, -torch.inf, -3e9, -3e38, -4e9]])) + attended(h, torch.full((6, 6), -3e38).triu(1))),
                           square, None),
    "attention masked by numbers": (Net(masked_by_numbers), square, None),
    "large scores and masks": (Net(large_scores_and_masks), square, None),
    "attention of several widths": (Net(attention_of_widths), square, None),
    "attention of one key for all samples": (Net(lambda m, h: F.scaled_dot_product_attention(
        h.view(2, 3, 2, 4), h[:3].view(1, 3, 2, 4), h[:3].view(1, 3, 2, 4))), square,
                                              "scaled_dot_product_attention.*positions, width"),
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
    "inverses of hyperbolic functions": (Net(lambda m, h: torch.asinh(h * 9) + torch.acosh(1 + h.abs()) + torch.atanh(
        h / 9) + torch.asinh(h * 1e-9) * 1e9 + torch.atanh(h * -1e-9) * 1e9 + torch.isnan(torch.acosh(
            h.detach()) + torch.acosh(h.detach() - 5) + torch.atanh(h.detach() * 3)) * h), small_square, None),
    "what the error function leaves": (Net(lambda m, h: torch.erfc(h) + 1e9 * torch.erfc(4.4 + h / 9) + torch.log(
        torch.erfc(h * 3)) + torch.special.erfc(h * 0 - torch.inf)), small_square, None),
    "lengths of pairs and signs of others": (Net(lambda m, h: torch.hypot(h, h[:1] + 1) + torch.copysign(h, h.flip(0)) +
                                             torch.copysign(h, -2) + torch.hypot(h * 1e30, h * 2e30) * 1e-30 +
                                             torch.copysign(h - h.detach(), h) + torch.copysign(h + 9, -h.relu())),
                                             small_square, None),
    "what is infinite": (Net(lambda m, h: torch.where(torch.isinf(h / (h > 0)), 0.1, h) + h * torch.isinf(
        (h * 9).long()) + h * (torch.isposinf(h / (h > 0)) + 2.0 * torch.isneginf(h / (h > 0)) + 4.0 * torch.isfinite(
            h / (h > 0)))), square, None),
    "remainders": (Net(remainders), square_from_1, None),
    "remainders of integers": (Net(remainders_of_integers), small_square, None),
    "quotients without fractions": (Net(quotients_without_fractions), small_square, None),
    "angles": (Net(angles), small_square, None),
    "angles of what has none": (Net(lambda m, h: h + torch.atan(torch.where(h > 0, torch.inf, -torch.inf)) + torch.asin(
        torch.arange(8.0) / 7 + 0 * h.detach()) + torch.atan2(h.detach() * 0, h.detach()) +
        torch.isnan(torch.acos(h.detach() * 3)) * h), square, None),
    "a slope between two": (Net(lambda m, h: F.rrelu(h) + m.r(h), r=nn.RReLU(0.1, 0.4).eval()), square, None),
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
    "cross-entropy of large logits": (Net(lambda m, h: h.round().detach() + (h - h.detach()) + 1e4), lambda m, x: F.cross_entropy(
        m(x), LABELS, label_smoothing=0.1) + F.binary_cross_entropy_with_logits(m(x) - 9980, (x > 0).float()), None),
    "NLL without a class": (Net(lambda m, h: h.log_softmax(1)), lambda m, x: F.nll_loss(m(x), LABELS, ignore_index=3) + sum(
        F.nll_loss(m(x), LABELS, ignore_index=3, reduction=of).mean() for of in ("sum", "none")), None),
    "NLL": (Net(lambda m, h: h), lambda m, x: F.nll_loss(F.log_softmax(m(x), 1), LABELS) + F.nll_loss(m(x), LABELS), None),
    "a Gaussian": (Net(lambda m, h: h), gaussian, None),
    "regressions": (Net(lambda m, h: h), lambda m, x: F.l1_loss(m(x), x) + F.huber_loss(m(x), x, delta=0.7) +
                    F.smooth_l1_loss(m(x), x, beta=0.6), None),
    "NLL of what cannot be": (Net(lambda m, h: h), lambda m, x: F.nll_loss(
        F.log_softmax(m(x), 1).masked_fill(torch.arange(8) == 5, -torch.inf), LABELS), None),
    "yes or no": (Net(lambda m, h: h), lambda m, x: F.binary_cross_entropy_with_logits(m(x), (x > 0).float()), None),
}


SUITE = common.suite(common.Cases(CASES))

if __name__ == "__main__":
    SUITE.run()
