"""What each of ATen's ops is in Splitcast: one function per op, under its name.

A function takes the importer, the node's arguments, and gives the node's value. Arguments are graph tensors
(splitcast.Tensor), constants (torch.Tensor: what depends on no input and no parameter is computed by PyTorch while the
graph is imported), numbers and lists. It raises Missing for a case that it has no answer for.
"""
import functools
import operator
import warnings

import splitcast as sc
import torch

OPS = {}


class Missing(Exception):
    """A case of an op that has no mapping, and why."""


def op(*names):
    def add(function):
        for name in names:
            OPS[name] = function
        return function

    return add


def is_tensor(value):
    return isinstance(value, sc.Tensor)


def positive(dim, rank):
    return dim + rank if dim < 0 else dim


# ---- Elementwise ----


def _elementwise(name, of_tensors, of_number, of_reversed):
    """An op of two tensors, or of one and a number on either side."""

    def apply(importer, a, b, *, alpha=1):
        a, b = importer.scalar_or_tensor(a), importer.scalar_or_tensor(b)
        if alpha != 1:
            b = b * alpha
        if is_tensor(a) and is_tensor(b):
            return of_tensors(a, b)
        return of_number(a, b) if is_tensor(a) else of_reversed(a, b)

    for overload in ("Tensor", "Scalar"):
        OPS["aten.%s.%s" % (name, overload)] = OPS["aten.%s_.%s" % (name, overload)] = apply


_elementwise("add", sc.add, lambda x, number: x + number, lambda number, x: x + number)
_elementwise("sub", sc.sub, lambda x, number: x - number, lambda number, x: number - x)
_elementwise("mul", sc.mul, lambda x, number: x * number, lambda number, x: x * number)
_elementwise("div", sc.div, lambda x, number: x / number, lambda number, x: _inverse(x) * number)

for _name, _of in (("neg", sc.neg), ("exp", sc.exp), ("log", sc.log), ("sqrt", sc.sqrt), ("tanh", sc.tanh),
                   ("sin", sc.sin), ("cos", sc.cos), ("relu", sc.relu)):
    OPS["aten.%s.default" % _name] = OPS["aten.%s_.default" % _name] = functools.partial(
        lambda of, importer, x: of(x), _of)


def _inverse(x):
    return sc.div(x * 0.0 + 1.0, x)


@op("aten.rsqrt.default")
def rsqrt(importer, x):
    return _inverse(sc.sqrt(x))


@op("aten.reciprocal.default")
def reciprocal(importer, x):
    return _inverse(x)


@op("aten.sigmoid.default")
def sigmoid(importer, x):
    return sc.tanh(x * 0.5) * 0.5 + 0.5  # overflows nowhere


@op("aten.silu.default", "aten.silu_.default")
def silu(importer, x):
    return x * sigmoid(importer, x)


@op("aten.gelu.default")
def gelu(importer, x, approximate="none"):
    return sc.gelu(x, approximate=approximate == "tanh")


@op("aten.pow.Tensor_Scalar")
def pow_(importer, x, exponent):
    if exponent == 0.5:
        return sc.sqrt(x)
    if exponent == -0.5:
        return rsqrt(importer, x)
    if exponent != int(exponent) or not 1 <= exponent <= 8:
        raise Missing("exponent %s; 0.5, -0.5 and whole numbers from 1 to 8 are known" % exponent)
    return functools.reduce(sc.mul, [x] * int(exponent))


@op("aten.dropout.default", "aten.dropout_.default")
def dropout(importer, x, p, is_training):
    if is_training and p == 1:
        raise Missing("probability 1; less is known")
    return sc.dropout(x, p) if is_training and p > 0 else x


@op("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default", "aten.type_as.default")
def to(importer, x, *ignored, **also_ignored):
    wanted = importer.element_type(importer.node.meta["val"].dtype)
    return x if x.dtype == wanted else sc.cast(x, wanted)


@op("aten.contiguous.default", "aten.alias.default", "aten.lift_fresh_copy.default", "aten.clone.default")
def same(importer, x, *ignored, **also_ignored):
    return x


@op("aten.detach.default", "aten.detach_.default")
def detach(importer, x):
    raise Missing("backward would go through what is detached; there is no such op here")


@op("aten.broadcast_tensors.default")
def broadcast_tensors(importer, values):
    shapes = [tuple(value.shape) for value in importer.node.meta["val"]]
    return [value if tuple(value.shape) == shape else expand_to(importer, value, shape)
            for value, shape in zip(values, shapes)]


@op("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(importer, a, b, *, alpha=1):
    return OPS["aten.sub.Tensor"](importer, b, a if alpha == 1 else a * alpha)


@op("aten._assert_tensor_metadata.default")
def nothing(importer, *ignored, **also_ignored):
    return None


# ---- Shapes ----


@op("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.unsqueeze.default",
    "aten.squeeze.dim", "aten.squeeze.default", "aten.flatten.using_ints", "aten.unflatten.int")
def reshape(importer, x, *ignored):
    shape = importer.shape()
    return x if x.shape == shape else sc.reshape(x, shape)


def _transposed(importer, x, permutation):
    """A transpose of a transpose is one, or none."""
    before = importer.transposes.get(id(x))
    if before:
        x, inner = before[0], before[1]
        permutation = [inner[dim] for dim in permutation]
    if permutation == list(range(len(permutation))):
        return x
    result = sc.transpose(x, permutation)
    importer.transposes[id(result)] = (x, permutation, result)
    return result


@op("aten.transpose.int")
def transpose(importer, x, first, second):
    permutation = list(range(len(x.shape)))
    first, second = [positive(dim, len(permutation)) for dim in (first, second)]
    permutation[first], permutation[second] = second, first
    return _transposed(importer, x, permutation)


@op("aten.permute.default")
def permute(importer, x, dims):
    return _transposed(importer, x, [positive(dim, len(x.shape)) for dim in dims])


@op("aten.t.default")
def t(importer, x):
    return _transposed(importer, x, list(range(len(x.shape)))[::-1])


@op("aten.expand.default")
def expand(importer, x, *ignored, **also_ignored):
    return expand_to(importer, x, importer.shape())


def expand_to(importer, x, shape):
    x = importer.tensor(x)
    if len(x.shape) < len(shape):
        x = sc.reshape(x, (1,) * (len(shape) - len(x.shape)) + tuple(x.shape))
    for dim, (has, wanted) in enumerate(zip(x.shape, shape)):
        if has != wanted:
            ones = [1] * len(shape)
            ones[dim] = wanted
            x = x + importer.graph.iota(x.dtype, ones, dim) * 0.0
    return x


@op("aten.slice.Tensor")
def slice_(importer, x, dim=0, start=None, end=None, step=1):
    if step != 1:
        raise Missing("step %d; 1 is known" % step)
    dim = positive(dim, len(x.shape))
    start, end, _ = slice(start, end).indices(x.shape[dim])
    return x if (start, end) == (0, x.shape[dim]) else sc.slice(x, dim, start, end - start)


@op("aten.narrow.default")
def narrow(importer, x, dim, start, length):
    return slice_(importer, x, dim, start, start + length)


@op("aten.select.int")
def select(importer, x, dim, index):
    dim = positive(dim, len(x.shape))
    return sc.reshape(sc.slice(x, dim, positive(index, x.shape[dim]), 1), importer.shape())


@op("aten.split.Tensor")
def split(importer, x, size, dim=0):
    dim = positive(dim, len(x.shape))
    return [slice_(importer, x, dim, start, start + size) for start in range(0, x.shape[dim], size)]


@op("aten.split_with_sizes.default", "aten.split.sizes")
def split_with_sizes(importer, x, sizes, dim=0):
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [slice_(importer, x, dim, start, start + size) for start, size in zip(starts, sizes)]


@op("aten.chunk.default")
def chunk(importer, x, count, dim=0):
    dim = positive(dim, len(x.shape))
    return split(importer, x, -(-x.shape[dim] // count), dim)


@op("<built-in function getitem>")
def getitem(importer, values, index):
    return values[index]


@op("aten.cat.default")
def cat(importer, parts, dim=0):
    parts = [importer.tensor(part) for part in parts if not (isinstance(part, torch.Tensor) and part.numel() == 0)]
    return parts[0] if len(parts) == 1 else sc.concat(parts, positive(dim, len(parts[0].shape)))


@op("aten.pad.default", "aten.constant_pad_nd.default")
def pad(importer, x, sizes, mode="constant", value=None):
    if mode != "constant":
        raise Missing("mode '%s'; constant is known" % mode)
    for pair, (before, after) in enumerate(zip(sizes[::2], sizes[1::2])):
        dim = len(x.shape) - 1 - pair
        if before < 0 or after < 0:
            x = slice_(importer, x, dim, max(0, -before), x.shape[dim] - max(0, -after))
        parts = []
        for count in (before, None, after):
            if count is None:
                parts.append(x)
            elif count > 0:
                shape = list(x.shape)
                shape[dim] = count
                parts.append(importer.tensor(torch.full(shape, value or 0, dtype=importer.torch_type(x.dtype))))
        x = parts[0] if len(parts) == 1 else sc.concat(parts, dim)
    return x


# ---- Sums ----


def _reduced(importer, of, x, dims):
    dims = list(range(len(x.shape))) if not dims and dims != 0 else [dims] if isinstance(dims, int) else dims
    result = of(x, [positive(dim, len(x.shape)) for dim in dims])
    return sc.reshape(result, importer.shape()) if result.shape != importer.shape() else result


@op("aten.mean.dim", "aten.mean.default")
def mean(importer, x, dims=None, keepdim=False, *, dtype=None):
    return _reduced(importer, sc.mean, x, dims)


@op("aten.sum.dim_IntList", "aten.sum.default")
def sum_(importer, x, dims=None, keepdim=False, *, dtype=None):
    return _reduced(importer, sc.sum, x, dims)


@op("aten.softmax.int", "aten._softmax.default")
def softmax(importer, x, dim, *ignored, **also_ignored):
    if positive(dim, len(x.shape)) != len(x.shape) - 1:
        raise Missing("dimension %d; the last is known" % dim)
    return sc.softmax(x)


@op("aten.layer_norm.default")
def layer_norm(importer, x, shape, weight=None, bias=None, epsilon=1e-5, *ignored):
    if len(shape) != 1:
        raise Missing("over %d dimensions; the last alone is known" % len(shape))
    if weight is None or bias is None:
        weight = importer.tensor(torch.ones(shape)) if weight is None else weight
        bias = importer.tensor(torch.zeros(shape)) if bias is None else bias
    return sc.layer_norm(x, weight, bias, epsilon)


@op("aten.rms_norm.default")
def rms_norm(importer, x, shape, weight=None, epsilon=None):
    if len(shape) != 1:
        raise Missing("over %d dimensions; the last alone is known" % len(shape))
    last = len(x.shape) - 1
    squares = sc.reshape(sc.mean(x * x, [last]), tuple(x.shape[:-1]) + (1,))
    x = x * rsqrt(importer, squares + (torch.finfo(torch.float32).eps if epsilon is None else epsilon))
    return x if weight is None else x * weight


# ---- Products ----


def _rows(x):
    """As a matrix of its rows."""
    rows = functools.reduce(operator.mul, x.shape[:-1], 1)
    return x if len(x.shape) == 2 else sc.reshape(x, (rows, x.shape[-1]))


@op("aten.linear.default")
def linear(importer, x, weight, bias=None):
    y = sc.matmul(_rows(x), weight, transpose_b=True)
    y = y if bias is None else y + bias
    return y if y.shape == importer.shape() else sc.reshape(y, importer.shape())


@op("aten.addmm.default")
def addmm(importer, bias, a, b, *, beta=1, alpha=1):
    if (beta, alpha) != (1, 1):
        raise Missing("beta %s, alpha %s; 1 and 1 are known" % (beta, alpha))
    return sc.matmul(a, b) + importer.tensor(bias)


@op("aten.mm.default", "aten.bmm.default")
def mm(importer, a, b):
    return sc.matmul(importer.tensor(a), importer.tensor(b))


@op("aten.matmul.default")
def matmul(importer, a, b):
    a, b = importer.tensor(a), importer.tensor(b)
    if len(b.shape) == 2 and len(a.shape) > 2:
        return sc.reshape(sc.matmul(_rows(a), b), importer.shape())
    if len(a.shape) != len(b.shape) or len(a.shape) < 2 or a.shape[:-2] != b.shape[:-2]:
        raise Missing("%s by %s; matrices, or equally many of them, are known" % (list(a.shape), list(b.shape)))
    return sc.matmul(a, b)


@op("aten.embedding.default")
def embedding(importer, table, ids, padding=-1, by_frequency=False, sparse=False):
    if by_frequency:
        raise Missing("scale_grad_by_freq; gradients are sums here")
    if padding >= 0:
        warnings.warn("row %d of an embedding is its padding, whose gradient PyTorch drops; here it is trained where "
                      "such ids have a gradient, which losses and masks that leave them out do not give them" % padding)
    return sc.embedding(table, importer.tensor(ids))


@op("aten.conv2d.default", "aten.conv2d.padding")
def conv2d(importer, x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    """Of patches that neither overlap nor leave anything out: a product."""
    samples, channels, height, width = x.shape
    outputs, _, rows, columns = weight.shape
    if list(stride) != [rows, columns] or padding not in ([0, 0], (0, 0), "valid") or groups != 1 \
            or list(dilation) != [1, 1] or height % rows or width % columns:
        raise Missing("kernel [%d, %d], stride %s, padding %s, dilation %s, groups %d; patches, whose stride is the "
                      "kernel's size, are known" % (rows, columns, list(stride), padding, list(dilation), groups))
    down, across = height // rows, width // columns
    x = sc.reshape(x, (samples, channels, down, rows, across, columns))
    x = sc.reshape(sc.transpose(x, (0, 2, 4, 1, 3, 5)), (samples * down * across, channels * rows * columns))
    y = sc.matmul(x, sc.reshape(weight, (outputs, channels * rows * columns)), transpose_b=True)
    y = y if bias is None else y + bias
    return _transposed(importer, sc.reshape(y, (samples, down, across, outputs)), [0, 3, 1, 2])


def _sees_causally(importer, mask, positions, keys):
    """Whether a constant mask lets each position see the keys up to its own; None: it lets all see all."""
    if not isinstance(mask, torch.Tensor):
        raise Missing("a mask that is computed from inputs; a constant one, all or causal, is known")
    sees = mask if mask.dtype == torch.bool else mask == 0
    if mask.dtype != torch.bool and not (sees | (mask <= torch.finfo(mask.dtype).min / 2)).all():
        raise Missing("a mask that adds numbers; one that lets see or not is known")
    if sees.all():
        return None
    if positions == keys and (sees == torch.ones(positions, keys, dtype=torch.bool).tril()).all():
        return True
    raise Missing("a constant mask that is neither causal nor lets all see all")


@op("aten.scaled_dot_product_attention.default")
def attention(importer, query, key, value, mask=None, p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if p > 0:
        raise Missing("dropout of attention's weights with probability %s; 0 is known" % p)
    heads, width = query.shape[1], query.shape[3]
    if mask is not None:
        is_causal = bool(_sees_causally(importer, mask, query.shape[2], key.shape[2]))
    if scale is not None and abs(scale * width**0.5 - 1) > 1e-7:
        query = query * (scale * width**0.5)
    if enable_gqa and key.shape[1] != heads:
        key, value = [_repeated(importer, x, heads // x.shape[1]) for x in (key, value)]
    query, key, value = [_transposed(importer, x, [0, 2, 1, 3]) for x in (query, key, value)]
    return _transposed(importer, sc.attention(query, key, value, causal=is_causal), [0, 2, 1, 3])


def _repeated(importer, x, times):
    """Each head `times` in a row."""
    samples, heads, positions, width = x.shape
    x = sc.concat([sc.reshape(x, (samples, heads, 1, positions, width))] * times, 2)
    return sc.reshape(x, (samples, heads * times, positions, width))


# ---- Losses ----


@op("aten.cross_entropy_loss.default")
def cross_entropy(importer, logits, labels, weight=None, reduction=1, ignored=-100, smoothing=0.0):
    if weight is not None or reduction != 1 or smoothing != 0 or labels.dtype not in (sc.i32, sc.i64):
        raise Missing("with weights, smoothing, probabilities or another reduction; the mean of labels is known")
    return sc.mean_cross_entropy(logits, labels, ignored)


@op("aten.mse_loss.default")
def mse(importer, x, target, reduction=1):
    if reduction != 1:
        raise Missing("another reduction than the mean")
    return sc.mse(x, importer.tensor(target))
