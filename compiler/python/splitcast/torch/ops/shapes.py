"""Ops that change shapes or choose elements by indices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.elementwise import where
from splitcast.torch.ops.table import (
    Missing,
    Sizes,
    Value,
    as_type,
    expand_to,
    is_integer,
    op,
    positive,
    product_of,
    type_of,
)

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


# ---- Shapes ----
@op("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.unsqueeze.default",
    "aten.squeeze.dim", "aten.squeeze.default", "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int",
    "aten.view_as.default", "aten.reshape_as.default")
def reshape(importer: Importer, x: sc.Tensor, *ignored: object) -> sc.Tensor:
    shape = importer.shape()
    return x if x.shape == shape else sc.reshape(x, shape)


def transposed(importer: Importer, x: sc.Tensor, permutation: list[int]) -> sc.Tensor:
    """Transposes x. A transpose of a transpose becomes a single one, or none."""
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
def transpose(importer: Importer, x: sc.Tensor, first: int, second: int) -> sc.Tensor:
    permutation = list(range(len(x.shape)))
    first, second = [positive(dim, len(permutation)) for dim in (first, second)]
    permutation[first], permutation[second] = second, first
    return transposed(importer, x, permutation)


@op("aten.mT.default")
def transposed_matrices(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return transpose(importer, x, -2, -1)


@op("aten.permute.default")
def permute(importer: Importer, x: sc.Tensor, dims: Sequence[int]) -> sc.Tensor:
    return transposed(importer, x, [positive(dim, len(x.shape)) for dim in dims])


@op("aten.t.default", "aten.numpy_T.default")
def t(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return transposed(importer, x, list(range(len(x.shape)))[::-1])


@op("aten.expand.default", "aten.expand_as.default")
def expand(importer: Importer, x: sc.Tensor, *ignored: object, **also_ignored: object) -> sc.Tensor:
    return expand_to(importer, x, importer.shape())


@op("aten.repeat.default", "aten.tile.default")
def repeat(importer: Importer, x: Value, times: Sequence[int]) -> sc.Tensor:
    x = importer.tensor(x)
    times = [1] * (len(x.shape) - len(times)) + list(times)
    shape = [1] * (len(times) - len(x.shape)) + list(x.shape)
    pairs = [each for pair in zip([1] * len(shape), shape) for each in pair]
    wide = [each for pair in zip(times, shape) for each in pair]
    return sc.reshape(expand_to(importer, sc.reshape(x, pairs), wide), importer.shape())


@op("aten.repeat_interleave.self_int")
def repeat_interleave(importer: Importer, x: sc.Tensor, times: int, dim: int | None = None,
                      **ignored: object) -> sc.Tensor:
    x = x if dim is not None else sc.reshape(x, [product_of(x.shape)])
    dim = positive(dim or 0, len(x.shape))
    shape = list(x.shape)
    return sc.reshape(expand_to(importer, sc.reshape(x, shape[:dim + 1] + [1] + shape[dim + 1:]),
                                shape[:dim + 1] + [times] + shape[dim + 1:]), importer.shape())


@op("aten.stack.default")
def stack(importer: Importer, parts: Sequence[Value], dim: int = 0) -> sc.Tensor:
    wanted = importer.result_type()
    tensors = [as_type(importer.tensor(part), wanted) for part in parts]
    dim = positive(dim, len(tensors[0].shape) + 1)
    return sc.concat([sc.reshape(each, list(each.shape[:dim]) + [1] + list(each.shape[dim:])) for each in tensors], dim)


@op("aten.unbind.int")
def unbind(importer: Importer, x: sc.Tensor, dim: int = 0) -> list[sc.Tensor]:
    dim = positive(dim, len(x.shape))
    shape = list(x.shape[:dim]) + list(x.shape[dim + 1:])
    return [sc.reshape(sc.slice(x, dim, index, 1), shape) for index in range(x.shape[dim])]


@op("aten.roll.default")
def roll(importer: Importer, x: sc.Tensor, shifts: Sizes, dims: Sizes = ()) -> sc.Tensor:
    if not dims:
        raise Missing("rolling all elements is not supported, only along given dimensions")
    for shift, dim in zip(shifts if isinstance(shifts, (list, tuple)) else [shifts],
                          dims if isinstance(dims, (list, tuple)) else [dims]):
        dim = positive(dim, len(x.shape))
        extent = x.shape[dim]
        shift %= max(extent, 1)
        if shift:
            x = sc.concat([sc.slice(x, dim, extent - shift, shift), sc.slice(x, dim, 0, extent - shift)], dim)
    return x


@op("aten.unfold.default")
def unfold(importer: Importer, x: sc.Tensor, dim: int, size: int, step: int) -> sc.Tensor:
    """The windows along `dim`, whose elements are the last dimension."""
    rank = len(x.shape)
    dim = positive(dim, rank)
    windows = torch.arange(x.shape[dim]).unfold(0, size, step)
    rows = rows_at(importer, x, dim, windows)
    return transposed(importer, rows, [each for each in range(rank + 1) if each != dim + 1] + [dim + 1])


@op("aten.flip.default")
def flip(importer: Importer, x: sc.Tensor, dims: Sizes) -> sc.Tensor:
    for dim in [dims] if isinstance(dims, int) else dims:
        dim = positive(dim, len(x.shape))
        x = rows_at(importer, x, dim, torch.arange(x.shape[dim] - 1, -1, -1))
    return x


@op("aten.diagonal.default")
def diagonal_of(importer: Importer, x: sc.Tensor, offset: int = 0, first: int = 0, second: int = 1) -> sc.Tensor:
    """The elements whose two indices differ by `offset`, along a new last dimension."""
    rank = len(x.shape)
    first, second = positive(first, rank), positive(second, rank)
    x = transposed(importer, x, [dim for dim in range(rank) if dim not in (first, second)] + [first, second])
    rows, columns = x.shape[-2:]
    at = torch.arange(rows * columns).view(rows, columns).diagonal(offset)
    if not len(at):
        raise Missing("a diagonal without elements is not supported")
    return rows_at(importer, sc.reshape(x, list(x.shape[:-2]) + [rows * columns]), rank - 2, at)


@op("aten.tril.default", is_lower=True)
@op("aten.triu.default", is_lower=False)
def triangle(importer: Importer, x: sc.Tensor, diagonal: int = 0, *, is_lower: bool) -> sc.Tensor:
    keep = torch.ones(tuple(x.shape[-2:]))
    keep = keep.tril(diagonal) if is_lower else keep.triu(diagonal)
    return where(importer, keep, x, 0)


@op("aten.select_scatter.default")
def select_scatter(importer: Importer, x: sc.Tensor, source: Value, dim: int, index: int) -> sc.Tensor:
    shape = list(x.shape)
    dim = positive(dim, len(shape))
    shape[dim] = 1
    index = positive(index, x.shape[dim])
    return _scattered(importer, x, sc.reshape(importer.tensor(source), shape), dim, index, index + 1)


@op("aten.slice_scatter.default")
def slice_scatter(importer: Importer, x: sc.Tensor, source: Value, dim: int = 0, start: int | None = None,
                  end: int | None = None, step: int = 1) -> sc.Tensor:
    dim = positive(dim, len(x.shape))
    if step != 1:
        return _scattered_by_steps(importer, importer.tensor(x), importer.tensor(source), dim, slice(start, end, step))
    start, end, _ = slice(start, end).indices(x.shape[dim])
    return _scattered(importer, x, importer.tensor(source), dim, start, max(start, end))


def _scattered_by_steps(importer: Importer, x: sc.Tensor, source: sc.Tensor, dim: int, at: slice) -> sc.Tensor:
    """x with the elements at a slice along `dim` replaced by `source`, which a row is chosen of for each element."""
    extent = x.shape[dim]
    places = torch.arange(extent)[at]
    row, is_replaced = torch.zeros(extent, dtype=torch.long), torch.zeros(extent, dtype=torch.bool)
    row[places], is_replaced[places] = torch.arange(len(places)), True
    is_replaced = is_replaced.view([extent] + [1] * (len(x.shape) - 1 - dim))
    return where(importer, is_replaced, rows_at(importer, as_type(source, x.dtype), dim, row), x)


def _scattered(importer: Importer, x: sc.Tensor, source: sc.Tensor, dim: int, start: int, end: int) -> sc.Tensor:
    """x with the elements from `start` to `end` along `dim` replaced by `source`."""
    x = importer.tensor(x)
    source = as_type(source, x.dtype)
    before = [sc.slice(x, dim, 0, start)] if start > 0 else []
    after = [sc.slice(x, dim, end, x.shape[dim] - end)] if end < x.shape[dim] else []
    return sc.concat(before + [source] + after, dim) if before or after else source


# ---- Elements at indices ----
@op("aten.one_hot.default")
def one_hot(importer: Importer, x: sc.Tensor, classes: int = -1) -> sc.Tensor:
    shape = importer.shape()
    numbers = importer.graph.iota(type_of(x), [1] * len(x.shape) + [shape[-1]], len(x.shape))
    is_class = sc.compare(sc.reshape(x, tuple(x.shape) + (1,)), numbers, "eq")
    return as_type(is_class * sc.reshape(checked(importer, x, shape[-1], sc.f32), tuple(x.shape) + (1,)), sc.i64)


def checked(importer: Importer, index: sc.Tensor, extent: int, dtype: sc.ElementType | None) -> sc.Tensor:
    """1 for each integer of `index`. Running it is an error where one is not from 0 to extent - 1."""
    ones = importer.tensor(torch.ones(extent, 1, dtype=importer.torch_type(dtype)))
    return sc.reshape(sc.embedding(ones, index), index.shape)


def _or_none(importer: Importer, place: sc.Tensor, index: sc.Tensor, extent: int) -> sc.Tensor:
    """`place` where `index` is from 0 to extent - 1, else -1, which no table has."""
    is_within = sc.compare(index, importer.constant(0, index.dtype), "ge") * sc.compare(
        index, importer.constant(extent, index.dtype), "lt")
    return sc.select(as_type(is_within, place.dtype), place, importer.constant(-1, place.dtype))


def rows_at(importer: Importer, x: sc.Tensor, dim: int, index: Value) -> sc.Tensor:
    """The elements of x at the integers `index` along `dim`, which is replaced by the dimensions of `index`."""
    if is_integer(x):  # exact up to 2^53
        return as_type(rows_at(importer, as_type(x, sc.f64), dim, index), x.dtype)
    index = importer.tensor(index)
    rank = len(x.shape)
    order = [dim] + [each for each in range(rank) if each != dim]
    first = transposed(importer, x, order) if dim else x
    rest = list(first.shape[1:])
    rows = sc.embedding(sc.reshape(first, (x.shape[dim], product_of(rest))), index)
    result = sc.reshape(rows, list(index.shape) + rest)
    if not dim:
        return result
    count = len(index.shape)
    back = list(range(count, count + dim)) + list(range(count)) + list(range(count + dim, count + len(rest)))
    return transposed(importer, result, back)


def _wrapped(importer: Importer, index: Value, extent: int) -> Value:
    """Replaces negative indices, which count from the end, by those from the beginning."""
    if isinstance(index, torch.Tensor):
        beyond = index[(index < -extent) | (index >= extent)]
        if beyond.numel():
            raise sc.InvalidError(f"index {int(beyond.reshape(-1)[0])} is not within a dimension of size {extent}")
        return torch.where(index < 0, index + extent, index)
    is_below = as_type(sc.compare(index, importer.constant(0, index.dtype), "lt"), index.dtype)
    return sc.select(is_below, index + importer.constant(extent, index.dtype), index)


@op("aten.index_select.default")
def index_select(importer: Importer, x: Value, dim: int, index: Value) -> sc.Tensor:
    return rows_at(importer, importer.tensor(x), positive(dim, len(x.shape)), index)


def _chosen(mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """By dimension, the indices of the elements that a mask chooses."""
    if not mask.any():
        raise Missing("a mask that chooses no element is not supported")
    return mask.nonzero(as_tuple=True)


def _without_masks(index: Value | None) -> Sequence[Value | None]:
    """The indices of the elements that a constant mask chooses, or the index itself."""
    return _chosen(index) if isinstance(index, torch.Tensor) and index.dtype == torch.bool else [index]


@op("aten.masked_select.default", keeps_constants=True)
def masked_select(importer: Importer, x: Value, mask: Value) -> sc.Tensor:
    if not isinstance(mask, torch.Tensor):
        raise Missing("a value decides a size, but a graph has the same in every step; use torch.where or masks that "
                      "are multiplied")
    shape = torch.broadcast_shapes(tuple(x.shape), mask.shape)
    flat = sc.reshape(expand_to(importer, x, shape), [product_of(shape)])
    return rows_at(importer, flat, 0, _chosen(mask.expand(shape).flatten())[0])


@op("aten.sym_size.int")
def size(importer: Importer, x: sc.Tensor, dim: int) -> int:
    return x.shape[dim]


def _joined(importer: Importer, together: Value, one: Value, extent: int) -> Value:
    """The index of the dimensions before and of one more, which has this extent, taken together."""
    if isinstance(together, torch.Tensor) and isinstance(one, torch.Tensor):
        return together * extent + one
    before, last = [as_type(importer.tensor(part), sc.i64) for part in (together, one)]
    place = before * importer.constant(extent, sc.i64) + last
    last = last if last.shape == place.shape else expand_to(importer, last, place.shape)
    return _or_none(importer, place, last, extent)  # what is below 0 before the last dimension stays so


@op("aten.index.Tensor", keeps_constants=True)
def index(importer: Importer, x: Value, indices: Sequence[Value | None]) -> sc.Tensor:
    x = importer.tensor(x)
    if any(importer.is_boolean(node) and not isinstance(each, torch.Tensor)
           for each, node in zip(indices, importer.args[1])):
        raise Missing("indexing by booleans is not supported: the size of the result depends on values; use "
                      "torch.where or masks that are multiplied")
    of_dims = [each for one in indices for each in _without_masks(one)]
    given = [dim for dim, each in enumerate(of_dims) if each is not None]
    if given != list(range(given[0], given[0] + len(given))):
        raise Missing("indices of dimensions that are not adjacent are not supported")
    # Indices of several dimensions become a single index into these dimensions taken together.
    dim = given[0]
    together, *others = [_wrapped(importer, one, extent) for one, extent in zip(of_dims[dim:], x.shape[dim:])
                         if one is not None]
    for one, extent in zip(others, x.shape[dim + 1:]):
        together = _joined(importer, together, one, extent)
    shape = list(x.shape)
    extent = product_of(shape[dim:dim + len(given)])
    x = sc.reshape(x, shape[:dim] + [extent] + shape[dim + len(given):]) if len(given) > 1 else x
    return rows_at(importer, x, dim, together)


@op("aten.gather.default")
def gather(importer: Importer, x: Value, dim: int, index: Value, sparse_grad: bool = False) -> sc.Tensor:
    """Looks elements up in a table with one element per row, after computing each element's row number."""
    x, index = importer.tensor(x), importer.tensor(index)
    if is_integer(x):  # exact up to 2^53
        return as_type(gather(importer, as_type(x, sc.f64), dim, index), x.dtype)
    rank = len(x.shape)
    dim = positive(dim, rank)
    place: sc.Tensor | None = None
    for each in range(rank):
        one = as_type(index, sc.i64)
        if each != dim:
            extents = [1] * rank
            extents[each] = index.shape[each]
            one = importer.graph.iota(sc.i64, extents, each)
        place = one if place is None else place * importer.constant(x.shape[each], sc.i64) + one
    assert place is not None  # an index has a dimension
    place = place if tuple(place.shape) == tuple(index.shape) else expand_to(importer, place, index.shape)
    place = _or_none(importer, place, as_type(index, sc.i64), x.shape[dim])
    return sc.reshape(sc.embedding(sc.reshape(x, (product_of(x.shape), 1)), place), importer.shape())


@op("aten.slice.Tensor")
def slice_(importer: Importer, x: sc.Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
           step: int = 1) -> sc.Tensor:
    dim = positive(dim, len(x.shape))
    start, end, _ = slice(start, end).indices(x.shape[dim])
    if step != 1:
        return _every(x, dim, start, end, step)
    return x if (start, end) == (0, x.shape[dim]) else sc.slice(x, dim, start, end - start)


def _every(x: sc.Tensor, dim: int, start: int, end: int, step: int) -> sc.Tensor:
    """The first element of each group of `step` elements; the last group may have fewer."""
    count = -(-(end - start) // step)
    whole = min(count, (x.shape[dim] - start) // step)  # complete groups
    shape = list(x.shape)
    groups = sc.reshape(sc.slice(x, dim, start, whole * step), shape[:dim] + [whole, step] + shape[dim + 1:])
    firsts = sc.reshape(sc.slice(groups, dim + 1, 0, 1), shape[:dim] + [whole] + shape[dim + 1:])
    return firsts if whole == count else sc.concat([firsts, sc.slice(x, dim, start + whole * step, 1)], dim)


@op("aten.narrow.default")
def narrow(importer: Importer, x: sc.Tensor, dim: int, start: int, length: int) -> sc.Tensor:
    return slice_(importer, x, dim, start, start + length)


@op("aten.select.int")
def select(importer: Importer, x: sc.Tensor, dim: int, index: int) -> sc.Tensor:
    dim = positive(dim, len(x.shape))
    return sc.reshape(sc.slice(x, dim, positive(index, x.shape[dim]), 1), importer.shape())


@op("aten.split.Tensor")
def split(importer: Importer, x: sc.Tensor, size: int, dim: int = 0) -> list[sc.Tensor]:
    dim = positive(dim, len(x.shape))
    return [slice_(importer, x, dim, start, start + size) for start in range(0, x.shape[dim], size)]


@op("aten.split_with_sizes.default", "aten.split.sizes")
def split_with_sizes(importer: Importer, x: sc.Tensor, sizes: Sequence[int], dim: int = 0) -> list[sc.Tensor]:
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [slice_(importer, x, dim, start, start + size) for start, size in zip(starts, sizes)]


@op("aten.chunk.default")
def chunk(importer: Importer, x: sc.Tensor, count: int, dim: int = 0) -> list[sc.Tensor]:
    dim = positive(dim, len(x.shape))
    return split(importer, x, -(-x.shape[dim] // count), dim)


@op("aten.cat.default")
def cat(importer: Importer, parts: Sequence[Value], dim: int = 0) -> sc.Tensor:
    """Parts of several types are cast to the result's."""
    wanted = importer.result_type()
    left = [as_type(importer.tensor(part), wanted) for part in parts
            if not (isinstance(part, torch.Tensor) and part.numel() == 0)]
    return left[0] if len(left) == 1 else sc.concat(left, positive(dim, len(left[0].shape)))


@op("aten.pad.default", "aten.constant_pad_nd.default")
def pad(importer: Importer, x: sc.Tensor, sizes: Sequence[int], mode: str = "constant",
        value: float | None = None) -> sc.Tensor:
    if mode != "constant":
        return _padded_by_rows(importer, x, sizes, mode)
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


def _padded_by_rows(importer: Importer, x: sc.Tensor, sizes: Sequence[int], mode: str) -> sc.Tensor:
    """Padding by x's own elements: PyTorch says which, from their numbers."""
    for pair, both in enumerate(zip(sizes[::2], sizes[1::2])):
        dim = len(x.shape) - 1 - pair
        numbers = torch.arange(x.shape[dim], dtype=torch.float64).view(1, 1, -1)
        x = rows_at(importer, x, dim, torch.nn.functional.pad(numbers, both, mode=mode).long().view(-1))
    return x


@op("aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default")
def reflection_pad(importer: Importer, x: sc.Tensor, sizes: Sequence[int]) -> sc.Tensor:
    return _padded_by_rows(importer, x, sizes, "reflect")


@op("aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default")
def replication_pad(importer: Importer, x: sc.Tensor, sizes: Sequence[int]) -> sc.Tensor:
    return _padded_by_rows(importer, x, sizes, "replicate")
