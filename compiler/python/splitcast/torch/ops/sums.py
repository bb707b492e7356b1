"""Reductions, statistics and norms."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.shapes import transposed
from splitcast.torch.ops.table import Missing, Sizes, Unary, Value, as_type, is_integer, op, positive, product_of

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


def _as_result(x: sc.Tensor, wanted: sc.ElementType | None) -> sc.Tensor:
    """Sums in the result's type. Those of integers are in f64; one that 32 bits cannot hold wraps around, as an i64."""
    return as_type(as_type(x, sc.i64) if wanted == sc.i32 else x, wanted)


def _reduced(importer: Importer, of: Callable[..., sc.Tensor], x: sc.Tensor, dims: Sizes | None) -> sc.Tensor:
    """A reduction in the result's type. Integers, which `of` does not take, are computed in f64, exact up to 2^53."""
    wanted = importer.result_type()
    x = as_type(x, sc.f64 if wanted in (sc.i32, sc.i64) else wanted)
    dims = list(range(len(x.shape))) if not dims and dims != 0 else [dims] if isinstance(dims, int) else dims
    result = _as_result(of(x, [positive(dim, len(x.shape)) for dim in dims]), wanted)
    return sc.reshape(result, importer.shape()) if result.shape != importer.shape() else result


@op("aten.mean.dim", "aten.mean.default")
def mean(importer: Importer, x: sc.Tensor, dims: Sizes | None = None, keepdim: bool = False, *,
         dtype: torch.dtype | None = None) -> sc.Tensor:
    return _reduced(importer, sc.mean, x, dims)


@op("aten.sum.dim_IntList", "aten.sum.default")
def sum_(importer: Importer, x: sc.Tensor, dims: Sizes | None = None, keepdim: bool = False, *,
         dtype: torch.dtype | None = None) -> sc.Tensor:
    return _reduced(importer, sc.sum, x, dims)


@op("aten.prod.dim_int", "aten.prod.default")
def prod(importer: Importer, x: sc.Tensor, dim: int | None = None, keepdim: bool = False, *,
         dtype: torch.dtype | None = None) -> sc.Tensor:
    """Products of halves, again and again."""
    x = as_type(x, importer.result_type())
    x, dim = (sc.reshape(x, [product_of(x.shape)]), 0) if dim is None else (x, positive(dim, len(x.shape)))
    while x.shape[dim] > 1:
        half, odd = divmod(x.shape[dim], 2)
        both = sc.slice(x, dim, 0, half) * sc.slice(x, dim, half, half)
        x = sc.concat([both, sc.slice(x, dim, 2 * half, 1)], dim) if odd else both
    return sc.reshape(x, importer.shape())


def _dims_of(x: sc.Tensor, dims: Sizes | None) -> list[int]:
    """The dimensions of a reduction, of which none means all."""
    dims = [dims] if isinstance(dims, int) else dims or range(len(x.shape))
    return [positive(dim, len(x.shape)) for dim in dims]


@op("aten.var.correction", "aten.var.dim")
@op("aten.std.correction", "aten.std.dim", is_root=True)
def var(importer: Importer, x: sc.Tensor, dims: Sizes | None = None, *unbiased: bool, correction: float | None = 1,
        keepdim: bool = False, is_root: bool = False) -> sc.Tensor:
    result = _variance(_wide(x), _dims_of(x, dims), float(unbiased[0]) if unbiased else correction)
    result = _root(importer, result) if is_root else result
    return as_type(sc.reshape(result, importer.shape()), x.dtype)


@op("aten.var_mean.correction", "aten.var_mean.dim")
@op("aten.std_mean.correction", "aten.std_mean.dim", is_root=True)
def var_mean(importer: Importer, x: sc.Tensor, dims: Sizes | None = None, *unbiased: bool,
             correction: float | None = 1, keepdim: bool = False, is_root: bool = False) -> list[sc.Tensor]:
    dims = _dims_of(x, dims)
    spread = _variance(_wide(x), dims, float(unbiased[0]) if unbiased else correction)
    spread = _root(importer, spread) if is_root else spread
    shape = tuple(importer.node.meta["val"][0].shape)
    return [as_type(sc.reshape(each, shape), x.dtype) for each in (spread, sc.mean(_wide(x), dims))]


def _wide(x: sc.Tensor) -> sc.Tensor:
    """16-bit floats in f32, in which PyTorch computes: their squares may be infinite where the root is none."""
    return as_type(x, sc.f32) if x.dtype in (sc.f16, sc.bf16) else x


def _variance(x: sc.Tensor, dims: list[int], correction: float | None) -> sc.Tensor:
    correction = 1 if correction is None else correction
    count = product_of(x.shape[dim] for dim in dims)
    if count <= correction:
        raise Missing(f"the variance of {count} elements with correction {correction} is not defined")
    return sc.variance(x, dims) * (count / (count - correction))


@op("aten.linalg_vector_norm.default")
def vector_norm(importer: Importer, x: sc.Tensor, order: float = 2, dims: Sizes | None = None, keepdim: bool = False, *,
                dtype: torch.dtype | None = None) -> sc.Tensor:
    """Its gradient is 0 where the length is 0, as in PyTorch."""
    wanted = importer.result_type()
    x = as_type(x, sc.f32 if wanted in (sc.f16, sc.bf16) else wanted)
    dims = _dims_of(x, dims)
    if order == 2:
        result = _root(importer, sc.sum(x * x, dims))
    elif order == 1:
        result = sc.sum(sc.abs(x), dims)
    elif math.isinf(order):
        result = -_largest(importer, -sc.abs(x), dims) if order < 0 else _largest(importer, sc.abs(x), dims)
    else:
        raise Missing(f"norms of order {order} are not supported, only of 1, 2 and infinity")
    return as_type(sc.reshape(result, importer.shape()), wanted)


@op("aten.cdist.default")
def cdist(importer: Importer, x: Value, y: Value, order: float = 2.0, mode: int | None = None) -> sc.Tensor:
    """The distances of all pairs of rows, by their differences: exact for close rows, and of gradient 0 for equals."""
    if order not in (1, 2):
        raise Missing(f"distances of order {order} are not supported, only of 1 and 2")
    x, y = importer.tensor(x), importer.tensor(y)
    x, y = [sc.reshape(each, list(each.shape[:-2]) + shape + list(each.shape[-1:]))
            for each, shape in ((x, [x.shape[-2], 1]), (y, [1, y.shape[-2]]))]
    difference = x - y
    last = [len(difference.shape) - 1]
    return sc.sum(sc.abs(difference), last) if order == 1 else _root(importer, sc.sum(difference * difference, last))


def _root(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """The square root, with gradient 0 at 0."""
    is_above = as_type(sc.compare(x, importer.constant(0.0, x.dtype), "ne"), x.dtype)
    return sc.select(is_above, sc.sqrt(sc.select(is_above, x, importer.constant(1.0, x.dtype))),
                     importer.constant(0.0, x.dtype))


@op("aten.amax.default", "aten.max.default")
@op("aten.amin.default", "aten.min.default", is_least=True)
def largest(importer: Importer, x: sc.Tensor, dims: Sizes | None = None, keepdim: bool = False, *,
            is_least: bool = False) -> sc.Tensor:
    """The gradient goes to all elements that are the largest, in equal parts, as in PyTorch."""
    dims = _dims_of(x, dims)
    floats = as_type(x, sc.f64) if is_integer(x) else x  # exact up to 2^53
    result = -_largest(importer, -floats, dims) if is_least else _largest(importer, floats, dims)
    return as_type(sc.reshape(result, importer.shape()), x.dtype)


def _largest(importer: Importer, x: sc.Tensor, dims: list[int]) -> sc.Tensor:
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
def cumsum(importer: Importer, x: sc.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> sc.Tensor:
    """Cumulative sums: each element gets that of 1, 2, 4 ... places before it added. (A product with a triangle of
    ones would make a NaN of an infinity that comes later.)"""
    wanted = importer.result_type()
    of = {sc.i32: sc.f64, sc.i64: sc.f64, sc.f16: sc.f32, sc.bf16: sc.f32}.get(wanted, wanted)
    x, dim, distance = as_type(x, of), positive(dim, len(x.shape)), 1
    while distance < x.shape[dim]:
        zeros = importer.graph.constant(of, [distance if each == dim else extent for each, extent in
                                             enumerate(x.shape)], 0.0)
        x, distance = x + sc.concat([zeros, sc.slice(x, dim, 0, x.shape[dim] - distance)], dim), 2 * distance
    return _as_result(x, wanted)


def _along_last(importer: Importer, of: Unary, x: sc.Tensor, dim: int) -> sc.Tensor:
    """Applies an op of the last dimension along `dim`, in the result's type."""
    x = as_type(x, importer.result_type())
    rank, dim = len(x.shape), positive(dim, len(x.shape))
    order = [each for each in range(rank) if each != dim] + [dim]
    return transposed(importer, of(transposed(importer, x, order)), [order.index(each) for each in range(rank)])


@op("aten.softmax.int", "aten._softmax.default")
def softmax(importer: Importer, x: sc.Tensor, dim: int, *ignored: object, **also_ignored: object) -> sc.Tensor:
    return _along_last(importer, sc.softmax, x, dim)


@op("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(importer: Importer, x: sc.Tensor, dim: int, *ignored: object, **also_ignored: object) -> sc.Tensor:
    return _along_last(importer, sc.log_softmax, x, dim)


@op("aten.logsumexp.default")
def logsumexp(importer: Importer, x: sc.Tensor, dims: Sequence[int], keepdim: bool = False) -> sc.Tensor:
    if len(dims) != 1:
        raise Missing(f"logsumexp over {len(dims)} dimensions is not supported, only over one")
    dim = positive(dims[0], len(x.shape))
    order = [each for each in range(len(x.shape)) if each != dim] + [dim]
    return sc.reshape(sc.log_sum_exp(transposed(importer, x, order)), importer.shape())


def _of_rows(of: Callable[..., sc.Tensor], x: sc.Tensor, shape: Sequence[int], *more: sc.Tensor) -> sc.Tensor:
    """Applies an op of the last dimension to the last dimensions, of this shape, taken together."""
    count = len(shape)
    if count == 1:
        return of(x, *more)
    flat = sc.reshape(x, list(x.shape[:-count]) + [product_of(shape)])
    return sc.reshape(of(flat, *[sc.reshape(each, [product_of(shape)]) for each in more]), x.shape)


@op("aten.layer_norm.default")
def layer_norm(importer: Importer, x: sc.Tensor, shape: Sequence[int], weight: sc.Tensor | None = None,
               bias: sc.Tensor | None = None, epsilon: float = 1e-5, *ignored: object) -> sc.Tensor:
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
def rms_norm(importer: Importer, x: sc.Tensor, shape: Sequence[int], weight: Value | None = None,
             epsilon: float | None = None) -> sc.Tensor:
    dtype = importer.torch_type(x.dtype)
    if epsilon is None:  # PyTorch's default: that of the type in which it computes
        epsilon = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
    weight = importer.tensor(torch.ones(shape, dtype=dtype) if weight is None else weight)
    return _of_rows(lambda x, weight: sc.rms_norm(x, weight, epsilon), x, shape, weight)


def _weight_and_bias(importer: Importer, x: sc.Tensor, channels: int, weight: Value | None,
                     bias: Value | None) -> list[sc.Tensor]:
    dtype = importer.torch_type(x.dtype)
    return [importer.tensor(torch.full((channels,), float(default), dtype=dtype) if value is None else value)
            for value, default in ((weight, 1), (bias, 0))]


@op("aten.group_norm.default")
def group_norm(importer: Importer, x: sc.Tensor, groups: int, weight: Value | None = None, bias: Value | None = None,
               epsilon: float = 1e-5, *ignored: object) -> sc.Tensor:
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    return sc.group_norm(x, weight, bias, groups, epsilon)


@op("aten.instance_norm.default")
def instance_norm(importer: Importer, x: sc.Tensor, weight: Value | None, bias: Value | None, mean: sc.Tensor | None,
                  variance: sc.Tensor | None, use_input: bool, momentum: float, epsilon: float,
                  *ignored: object) -> sc.Tensor:
    if not use_input or mean is not None:
        raise Missing("running statistics are not supported, only those of each sample")
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    return sc.group_norm(x, weight, bias, x.shape[1], epsilon)


@op("aten._native_batch_norm_legit_no_training.default")
def batch_norm_in_evaluation(importer: Importer, x: sc.Tensor, weight: Value | None, bias: Value | None,
                             mean: sc.Tensor, variance: sc.Tensor, momentum: float,
                             epsilon: float) -> list[sc.Tensor | None]:
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    return [sc.batch_norm(x, weight, bias, mean, variance, epsilon), None, None]


@op("aten._native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(importer: Importer, x: sc.Tensor, weight: Value | None, bias: Value | None,
                                  training: bool, momentum: float, epsilon: float) -> list[sc.Tensor | None]:
    return [_batch_normed(importer, x, weight, bias, None, None, True, momentum, epsilon)[0], None, None]


@op("aten._native_batch_norm_legit_functional.default")
def functional_batch_norm(importer: Importer, x: sc.Tensor, weight: Value | None, bias: Value | None, mean: sc.Tensor,
                          variance: sc.Tensor, training: bool, momentum: float,
                          epsilon: float) -> list[sc.Tensor | None]:
    """batch_norm in the form that also returns the running statistics."""
    result, running = _batch_normed(importer, x, weight, bias, mean, variance, training, momentum, epsilon)
    return [result, None, None] + list(running)


@op("aten.batch_norm.default")
def batch_norm(importer: Importer, x: sc.Tensor, weight: Value | None, bias: Value | None, mean: sc.Tensor | None,
               variance: sc.Tensor | None, training: bool, momentum: float | None, epsilon: float,
               *ignored: object) -> sc.Tensor:
    """In training, uses the statistics of the global batch, not of a rank's part, and updates the running ones."""
    result, running = _batch_normed(importer, x, weight, bias, mean, variance, training, momentum, epsilon)
    for node, before, after in zip(importer.args[3:5], (mean, variance), running):
        if after is not None and after is not before:
            importer.assign(node, after)
    return result


def _batch_normed(importer: Importer, x: sc.Tensor, weight: Value | None, bias: Value | None, mean: sc.Tensor | None,
                  variance: sc.Tensor | None, training: bool, momentum: float | None,
                  epsilon: float) -> tuple[sc.Tensor, tuple[sc.Tensor | None, sc.Tensor | None]]:
    """(the result, (the running mean, the running variance) after the step)."""
    weight, bias = _weight_and_bias(importer, x, x.shape[1], weight, bias)
    if not training:
        if mean is None or variance is None:
            raise Missing("a batch norm that is not in training needs running statistics")
        return sc.batch_norm(x, weight, bias, mean, variance, epsilon), (mean, variance)
    dims = [dim for dim in range(len(x.shape)) if dim != 1]
    count = product_of(x.shape[dim] for dim in dims)
    if count < 2:
        raise Missing("a batch with one value per channel has no variance")
    of_batch = sc.mean(x, dims), sc.variance(x, dims)
    result = sc.batch_norm(x, weight, bias, of_batch[0], of_batch[1], epsilon)
    if mean is None or variance is None:
        return result, (mean, variance)
    if momentum is None:
        raise Missing("momentum None, the mean of all batches, is not supported")
    return result, (_moved(mean, of_batch[0], momentum), _moved(variance, of_batch[1], momentum, count / (count - 1)))


def _moved(running: sc.Tensor, batch: sc.Tensor, momentum: float, factor: float = 1.0) -> sc.Tensor:
    """The running statistic after a batch with this one."""
    return running * (1.0 - momentum) + sc.stop_gradient(batch) * (momentum * factor)
