"""Reductions, statistics and norms."""
import math

import splitcast as sc
import torch

from splitcast.torch.ops.shapes import transposed
from splitcast.torch.ops.products import rows_of
from splitcast.torch.ops.table import Missing, as_type, is_integer, op, positive, product_of

def _reduced(importer, of, x, dims):
    """A reduction in the result's type. Integers, which `of` does not take, are computed in f64, exact up to 2^53."""
    wanted = importer.element_type(importer.node.meta["val"].dtype)
    x = as_type(x, sc.f64 if wanted in (sc.i32, sc.i64) else wanted)
    dims = list(range(len(x.shape))) if not dims and dims != 0 else [dims] if isinstance(dims, int) else dims
    result = as_type(of(x, [positive(dim, len(x.shape)) for dim in dims]), wanted)
    return sc.reshape(result, importer.shape()) if result.shape != importer.shape() else result


@op("aten.mean.dim", "aten.mean.default")
def mean(importer, x, dims=None, keepdim=False, *, dtype=None):
    return _reduced(importer, sc.mean, x, dims)


@op("aten.sum.dim_IntList", "aten.sum.default")
def sum_(importer, x, dims=None, keepdim=False, *, dtype=None):
    return _reduced(importer, sc.sum, x, dims)


@op("aten.prod.dim_int", "aten.prod.default")
def prod(importer, x, dim=None, keepdim=False, *, dtype=None):
    """Products of halves, again and again."""
    x = as_type(x, importer.element_type(importer.node.meta["val"].dtype))
    x, dim = (sc.reshape(x, [product_of(x.shape)]), 0) if dim is None else (x, positive(dim, len(x.shape)))
    while x.shape[dim] > 1:
        half, odd = divmod(x.shape[dim], 2)
        both = sc.slice(x, dim, 0, half) * sc.slice(x, dim, half, half)
        x = sc.concat([both, sc.slice(x, dim, 2 * half, 1)], dim) if odd else both
    return sc.reshape(x, importer.shape())


def _dims_of(x, dims):
    """The dimensions of a reduction, of which none means all."""
    dims = [dims] if isinstance(dims, int) else dims or range(len(x.shape))
    return [positive(dim, len(x.shape)) for dim in dims]


@op("aten.var.correction", "aten.var.dim", "aten.std.correction", "aten.std.dim")
def var(importer, x, dims=None, *unbiased, correction=1, keepdim=False):
    result = _variance(x, _dims_of(x, dims), float(unbiased[0]) if unbiased else correction)
    result = _root(importer, result) if ".std." in str(importer.node.target) else result
    return sc.reshape(result, importer.shape())


@op("aten.var_mean.correction", "aten.var_mean.dim", "aten.std_mean.correction", "aten.std_mean.dim")
def var_mean(importer, x, dims=None, *unbiased, correction=1, keepdim=False):
    dims = _dims_of(x, dims)
    spread = _variance(x, dims, float(unbiased[0]) if unbiased else correction)
    spread = _root(importer, spread) if ".std_mean." in str(importer.node.target) else spread
    shape = tuple(importer.node.meta["val"][0].shape)
    return [sc.reshape(spread, shape), sc.reshape(sc.mean(x, dims), shape)]


def _variance(x, dims, correction):
    correction = 1 if correction is None else correction
    count = product_of(x.shape[dim] for dim in dims)
    if count <= correction:
        raise Missing("the variance of %d elements with correction %s is not defined" % (count, correction))
    return sc.variance(x, dims) * (count / (count - correction))


@op("aten.linalg_vector_norm.default")
def vector_norm(importer, x, order=2, dims=None, keepdim=False, *, dtype=None):
    """Its gradient is 0 where the length is 0, as in PyTorch."""
    wanted = importer.element_type(importer.node.meta["val"].dtype)
    x = as_type(x, sc.f32 if wanted in (sc.f16, sc.bf16) else wanted)
    dims = _dims_of(x, dims)
    if order == 2:
        result = _root(importer, sc.sum(x * x, dims))
    elif order == 1:
        result = sc.sum(sc.abs(x), dims)
    elif math.isinf(order):
        result = -_largest(importer, -sc.abs(x), dims) if order < 0 else _largest(importer, sc.abs(x), dims)
    else:
        raise Missing("norms of order %s are not supported, only of 1, 2 and infinity" % order)
    return as_type(sc.reshape(result, importer.shape()), wanted)


@op("aten.cdist.default")
def cdist(importer, x, y, order=2.0, mode=None):
    """The distances of all pairs of rows, by their differences: exact for close rows; the gradient of equal ones is 0."""
    if order not in (1, 2):
        raise Missing("distances of order %s are not supported, only of 1 and 2" % order)
    x, y = importer.tensor(x), importer.tensor(y)
    x, y = [sc.reshape(each, list(each.shape[:-2]) + shape + list(each.shape[-1:]))
            for each, shape in ((x, [x.shape[-2], 1]), (y, [1, y.shape[-2]]))]
    difference = x - y
    last = [len(difference.shape) - 1]
    return sc.sum(sc.abs(difference), last) if order == 1 else _root(importer, sc.sum(difference * difference, last))


def _root(importer, x):
    """The square root, with gradient 0 at 0."""
    is_above = as_type(sc.compare(x, importer.constant(0.0, x.dtype), "ne"), x.dtype)
    return sc.select(is_above, sc.sqrt(sc.select(is_above, x, importer.constant(1.0, x.dtype))),
                     importer.constant(0.0, x.dtype))


@op("aten.amax.default", "aten.max.default", "aten.amin.default", "aten.min.default")
def largest(importer, x, dims=None, keepdim=False):
    """The gradient goes to all elements that are the largest, in equal parts, as in PyTorch."""
    dims = _dims_of(x, dims)
    floats = as_type(x, sc.f64) if is_integer(x) else x  # exact up to 2^53
    is_least = "min" in str(importer.node.target)
    result = -_largest(importer, -floats, dims) if is_least else _largest(importer, floats, dims)
    return as_type(sc.reshape(result, importer.shape()), x.dtype)


def _largest(importer, x, dims):
    """The maximum over `dims`, which its result lacks, computed by max_pool with a window as wide as the tensor."""
    kept = [dim for dim in range(len(x.shape)) if dim not in dims]
    rows, count = product_of(x.shape[dim] for dim in kept), product_of(x.shape[dim] for dim in dims)
    values = sc.reshape(transposed(importer, x, kept + dims), (rows, 1, count))
    result = sc.stop_gradient(sc.max_pool(values, [1, count]))
    is_largest = as_type(sc.compare(values, result, "eq"), x.dtype)
    # The sum that is added is 0; only its gradient matters. It has none where the largest is infinite.
    is_finite = as_type(sc.compare(sc.abs(result), importer.constant(math.inf, x.dtype), "lt"), x.dtype)
    distance = sc.select(is_largest * is_finite, values - result, importer.constant(0, x.dtype))
    result = sc.reshape(result, (rows,)) + sc.sum(distance, [1, 2]) / sc.sum(is_largest, [1, 2])
    return sc.reshape(result, [x.shape[dim] for dim in kept])


@op("aten.cumsum.default")
def cumsum(importer, x, dim, *, dtype=None):
    """Cumulative sums as a matrix product with a triangle of ones."""
    dim, rank = positive(dim, len(x.shape)), len(x.shape)
    wanted = importer.element_type(importer.node.meta["val"].dtype)
    order = [each for each in range(rank) if each != dim] + [dim]
    rows = transposed(importer, x, order)
    of = sc.f64 if wanted in (sc.i32, sc.i64) else wanted
    triangle = importer.tensor(torch.ones(x.shape[dim], x.shape[dim], dtype=importer.torch_type(of)).triu())
    sums = sc.reshape(sc.matmul(rows_of(as_type(rows, of)), triangle), rows.shape)
    return as_type(transposed(importer, sums, [order.index(each) for each in range(rank)]), wanted)


def _along_last(importer, of, x, dim):
    """Applies an op of the last dimension along `dim`, in the result's type."""
    x = as_type(x, importer.element_type(importer.node.meta["val"].dtype))
    rank, dim = len(x.shape), positive(dim, len(x.shape))
    order = [each for each in range(rank) if each != dim] + [dim]
    return transposed(importer, of(transposed(importer, x, order)), [order.index(each) for each in range(rank)])


@op("aten.softmax.int", "aten._softmax.default")
def softmax(importer, x, dim, *ignored, **also_ignored):
    return _along_last(importer, sc.softmax, x, dim)


@op("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(importer, x, dim, *ignored, **also_ignored):
    return _along_last(importer, sc.log_softmax, x, dim)


@op("aten.logsumexp.default")
def logsumexp(importer, x, dims, keepdim=False):
    if len(dims) != 1:
        raise Missing("logsumexp over %d dimensions is not supported, only over one" % len(dims))
    dim = positive(dims[0], len(x.shape))
    order = [each for each in range(len(x.shape)) if each != dim] + [dim]
    return sc.reshape(sc.log_sum_exp(transposed(importer, x, order)), importer.shape())


def _of_rows(of, x, shape, *more):
    """Applies an op of the last dimension to the last dimensions, of this shape, taken together."""
    count = len(shape)
    if count == 1:
        return of(x, *more)
    flat = sc.reshape(x, list(x.shape[:-count]) + [product_of(shape)])
    return sc.reshape(of(flat, *[sc.reshape(each, [product_of(shape)]) for each in more]), x.shape)


@op("aten.layer_norm.default")
def layer_norm(importer, x, shape, weight=None, bias=None, epsilon=1e-5, *ignored):
    """In the type of the weight, which is f32 where the rest is bf16."""
    said = x.dtype
    x = x if weight is None else as_type(x, weight.dtype)
    dtype = importer.torch_type(x.dtype)
    weight = importer.tensor(torch.ones(shape, dtype=dtype) if weight is None else weight)
    bias = importer.tensor(torch.zeros(shape, dtype=dtype) if bias is None else bias)
    result = _of_rows(lambda x, weight, bias: sc.layer_norm(x, weight, bias, epsilon), x, shape, weight,
                      as_type(bias, x.dtype))
    return as_type(result, said)


@op("aten.rms_norm.default")
def rms_norm(importer, x, shape, weight=None, epsilon=None):
    dtype = importer.torch_type(x.dtype)
    if epsilon is None:  # PyTorch's default: that of the type in which it computes
        epsilon = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
    weight = importer.tensor(torch.ones(shape, dtype=dtype) if weight is None else weight)
    return _of_rows(lambda x, weight: sc.rms_norm(x, weight, epsilon), x, shape, weight)


def _weight_and_bias(importer, x, channels, weight, bias):
    dtype = importer.torch_type(x.dtype)
    return [importer.tensor(torch.full((channels,), float(default), dtype=dtype) if value is None else value)
            for value, default in ((weight, 1), (bias, 0))]


@op("aten.group_norm.default")
def group_norm(importer, x, groups, weight=None, bias=None, epsilon=1e-5, *ignored):
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    return sc.group_norm(x, weight, bias, groups, epsilon)


@op("aten.instance_norm.default")
def instance_norm(importer, x, weight, bias, mean, variance, use_input, momentum, epsilon, *ignored):
    if not use_input or mean is not None:
        raise Missing("running statistics are not supported, only those of each sample")
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    return sc.group_norm(x, weight, bias, x.shape[1], epsilon)


@op("aten._native_batch_norm_legit_no_training.default")
def batch_norm_in_evaluation(importer, x, weight, bias, mean, variance, momentum, epsilon):
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    return [sc.batch_norm(x, weight, bias, mean, variance, epsilon), None, None]


@op("aten._native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(importer, x, weight, bias, training, momentum, epsilon):
    return [_batch_normed(importer, x, weight, bias, None, None, True, momentum, epsilon)[0], None, None]


@op("aten._native_batch_norm_legit_functional.default")
def functional_batch_norm(importer, x, weight, bias, mean, variance, training, momentum, epsilon):
    """batch_norm in the form that also returns the running statistics."""
    result, running = _batch_normed(importer, x, weight, bias, mean, variance, training, momentum, epsilon)
    return [result, None, None] + list(running)


@op("aten.batch_norm.default")
def batch_norm(importer, x, weight, bias, mean, variance, training, momentum, epsilon, *ignored):
    """In training, uses the statistics of the global batch, not of a rank's part, and updates the running ones."""
    result, running = _batch_normed(importer, x, weight, bias, mean, variance, training, momentum, epsilon)
    for node, before, after in zip(importer.node.args[3:5], (mean, variance), running):
        if after is not before:
            importer.assign(node, after)
    return result


def _batch_normed(importer, x, weight, bias, mean, variance, training, momentum, epsilon):
    """(the result, (the running mean, the running variance) after the step)."""
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    if not training:
        return sc.batch_norm(x, weight, bias, importer.tensor(mean), importer.tensor(variance), epsilon), (mean, variance)
    dims = [dim for dim in range(len(x.shape)) if dim != 1]
    count = product_of(x.shape[dim] for dim in dims)
    if count < 2:
        raise Missing("a batch with one value per channel has no variance")
    of_batch = sc.mean(x, dims), sc.variance(x, dims)
    result = sc.batch_norm(x, weight, bias, of_batch[0], of_batch[1], epsilon)
    if mean is None:
        return result, (mean, variance)
    if momentum is None:
        raise Missing("momentum None, the mean of all batches, is not supported")
    return result, tuple(running * (1.0 - momentum) + sc.stop_gradient(batch) * (momentum * factor)
                         for running, batch, factor in zip((mean, variance), of_batch, (1.0, count / (count - 1))))
