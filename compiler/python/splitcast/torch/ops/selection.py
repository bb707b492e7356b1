"""The positions of elements by their size, and elements that are set at indices."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.elementwise import where
from splitcast.torch.ops.shapes import checked, rows_at, transposed
from splitcast.torch.ops.table import (
    Missing,
    Operand,
    Value,
    as_type,
    expand_to,
    is_integer,
    is_tensor,
    op,
    positive,
    product_of,
)

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


FEW = 16  # elements that are found one after the other
PAIRS = 1 << 27  # the most pairs of elements that sorting compares
ENTRIES = 64  # the most elements of a row that scatter sets


# ---- By size ----
def _scores(x: sc.Tensor) -> sc.Tensor:
    """x in a float type, without gradient."""
    return as_type(x, sc.f64) if is_integer(x) else sc.stop_gradient(x)


def _is_nan(x: sc.Tensor) -> sc.Tensor:
    """1 where x is a NaN, which PyTorch takes for larger than any number, else 0."""
    return sc.compare(x, x, "ne")


def _numbers(importer: Importer, x: sc.Tensor, dim: int) -> sc.Tensor:
    """0, 1, ... along `dim`, in i64."""
    extents = [1] * len(x.shape)
    extents[dim] = x.shape[dim]
    return importer.graph.iota(sc.i64, extents, dim)


def _first_largest(importer: Importer, scores: sc.Tensor, dim: int, is_left: sc.Tensor | None = None) -> sc.Tensor:
    """The index of the largest element along `dim`, whose extent becomes 1; of equal elements the first one's, and of
    NaN, where there is one. Only elements count where `is_left` is not 0."""
    rank, extent = len(scores.shape), scores.shape[dim]
    order = [each for each in range(rank) if each != dim] + [dim]

    def as_rows(x: sc.Tensor) -> sc.Tensor:
        return sc.reshape(transposed(importer, x, order), (product_of(x.shape) // extent, 1, extent))

    rows = as_rows(scores)
    if is_left is not None:
        is_left = as_rows(is_left)
        rows = sc.select(is_left, rows, importer.constant(-math.inf, rows.dtype))
    largest = sc.max_pool(rows, [1, extent])  # NaN, to which nothing is equal, if there is one
    is_largest = sc.compare(rows, largest, "eq") + _is_nan(rows)
    is_largest = is_largest if is_left is None else is_largest * as_type(is_left, is_largest.dtype)
    numbers = as_type(importer.graph.iota(sc.i64, [1, 1, extent], 2), sc.f64)
    candidates = sc.select(is_largest, -numbers, importer.constant(-math.inf, sc.f64))
    shape = list(scores.shape)
    shape[dim] = 1
    return as_type(sc.reshape(-sc.max_pool(candidates, [1, extent]), shape), sc.i64)


def _elements_at(importer: Importer, x: sc.Tensor, index: sc.Tensor, dim: int) -> sc.Tensor:
    """The elements of x at an index along `dim`, whose extent becomes 1. Their gradient is that of the element."""
    floats = as_type(x, sc.f64) if is_integer(x) else x
    is_there = as_type(sc.compare(_numbers(importer, x, dim), index, "eq"), floats.dtype)
    picked = sc.sum(sc.select(is_there, floats, importer.constant(0, floats.dtype)), [dim])
    return as_type(sc.reshape(picked, index.shape), x.dtype)


@op("aten.argmax.default")
@op("aten.argmin.default", is_least=True)
def argmax(importer: Importer, x: sc.Tensor, dim: int | None = None, keepdim: bool = False, *,
           is_least: bool = False) -> sc.Tensor:
    x, dim = (sc.reshape(x, [product_of(x.shape)]), 0) if dim is None else (x, positive(dim, len(x.shape)))
    x = as_type(x, sc.f64) if is_integer(x) else x
    scores = _scores(-x if is_least else x)
    return sc.reshape(_first_largest(importer, scores, dim), importer.shape())


@op("aten.max.dim")
@op("aten.min.dim", is_least=True)
def max_along(importer: Importer, x: sc.Tensor, dim: int, keepdim: bool = False, *,
              is_least: bool = False) -> list[sc.Tensor]:
    """The gradient goes to the element of the index, unlike that of amax."""
    dim = positive(dim, len(x.shape))
    floats = as_type(x, sc.f64) if is_integer(x) else x
    scores = _scores(-floats if is_least else floats)
    index = _first_largest(importer, scores, dim)
    shape = tuple(importer.node.meta["val"][0].shape)
    return [sc.reshape(each, shape) for each in (_elements_at(importer, x, index, dim), index)]


@op("aten.topk.default")
def topk(importer: Importer, x: sc.Tensor, count: int, dim: int = -1, largest: bool = True,
         is_sorted: bool = True) -> list[sc.Tensor]:
    dim = positive(dim, len(x.shape))
    if not 0 < count <= FEW:
        values, index = _sorted(importer, x, dim, largest)
        return [sc.slice(values, dim, 0, count), sc.slice(index, dim, 0, count)]
    floats = as_type(x, sc.f64) if is_integer(x) else x
    scores = _scores(floats if largest else -floats)
    numbers, found = _numbers(importer, x, dim), []
    is_left: sc.Tensor | None = None
    for _ in range(count):
        found.append(_first_largest(importer, scores, dim, is_left))
        is_other = sc.broadcast_to(sc.compare(numbers, found[-1], "ne"), x.shape)
        is_left = is_other if is_left is None else is_left * is_other
    picked = [_elements_at(importer, x, place, dim) for place in found]
    return [parts[0] if count == 1 else sc.concat(parts, dim) for parts in (picked, found)]


@op("aten.multinomial.default")
def multinomial(importer: Importer, x: sc.Tensor, count: int, replacement: bool = False,
                **ignored: object) -> sc.Tensor:
    """Indices, drawn in proportion to x: that of the largest x / e, where e is exponentially distributed. Without
    replacement they are those of the largest few (Efraimidis and Spirakis 2006, doi:10.1016/j.ipl.2005.11.003).
    """
    x, last = as_type(sc.stop_gradient(x), sc.f32), len(x.shape)
    x = sc.reshape(x, list(x.shape[:-1]) + [1, x.shape[-1]])
    shape = list(x.shape)
    shape[-2] = count if replacement else 1
    drawn = -sc.log(1.0 - sc.uniform(importer.graph.constant(sc.f32, shape, 0.0)))
    scores = x / sc.maximum(drawn, 2**-25)  # it may be 0, and is else at least 2^-24
    found = _first_largest(importer, scores, last) if replacement or count == 1 else topk(
        importer, sc.reshape(scores, shape[:-2] + shape[-1:]), count)[1]
    return sc.reshape(found, importer.shape())


@op("aten.sort.default", "aten.sort.stable")
def sort(importer: Importer, x: sc.Tensor, dim: int = -1, descending: bool = False, *,
         stable: bool | None = None) -> list[sc.Tensor]:
    return _sorted(importer, x, positive(dim, len(x.shape)), descending)


@op("aten.argsort.default", "aten.argsort.stable")
def argsort(importer: Importer, x: sc.Tensor, dim: int = -1, descending: bool = False, *,
            stable: bool | None = None) -> sc.Tensor:
    return _sorted(importer, x, positive(dim, len(x.shape)), descending)[1]


def _sorted(importer: Importer, x: sc.Tensor, dim: int, descending: bool) -> list[sc.Tensor]:
    """[the elements in order, their indices]. An element's place is the number of those that come before it: of less
    or larger ones, and of equal ones with a smaller index."""
    extent, rank = x.shape[dim], len(x.shape)
    if product_of(x.shape) * extent > PAIRS:
        raise Missing(
            f"sorting {list(x.shape)} along dimension {dim} compares each element with {extent} others, more than 2^27 "
            f"pairs in all; use topk of at most {FEW} elements")
    floats = as_type(x, sc.f64) if is_integer(x) else x
    order = [each for each in range(rank) if each != dim] + [dim]
    back = [order.index(each) for each in range(rank)]
    rows = transposed(importer, floats, order)
    scores, sides = _scores(rows), ([1, extent], [extent, 1])
    across, down = [sc.reshape(scores, list(rows.shape[:-1]) + shape) for shape in sides]
    is_nan = _is_nan(scores)
    nan_across, nan_down = [sc.reshape(is_nan, list(rows.shape[:-1]) + shape) for shape in sides]
    is_before = torch.ones(extent, extent, dtype=torch.float32).tril(-1)
    order_of = "gt" if descending else "lt"  # a NaN counts as larger than any number
    comes_first = sc.compare(across, down, order_of) + sc.compare(nan_across, nan_down, order_of)
    is_equal = sc.compare(across, down, "eq") + nan_across * nan_down
    comes_before = comes_first + is_equal * importer.tensor(is_before)
    place = as_type(sc.sum(comes_before, [rank]), sc.i64)  # by the element
    places = importer.graph.iota(sc.i64, [1] * (rank - 1) + [extent, 1], rank - 1)
    is_at = sc.compare(places, sc.reshape(place, list(rows.shape[:-1]) + [1, extent]), "eq")  # [..., place, element]
    elements = sc.reshape(rows, list(rows.shape[:-1]) + [1, extent])
    values = sc.sum(sc.select(as_type(is_at, rows.dtype), elements, importer.constant(0, rows.dtype)), [rank])
    index = sc.sum(is_at * importer.tensor(torch.arange(extent, dtype=torch.float32)), [rank])
    return [as_type(transposed(importer, each, back), dtype) for each, dtype in ((values, x.dtype), (index, sc.i64))]


# ---- Elements that are set ----
@op("aten.scatter.value", "aten.scatter.src", keeps_constants=True)
@op("aten.scatter_add.default", keeps_constants=True, adds=True)
def scatter(importer: Importer, x: Value, dim: int, index: Value, source: Operand, *, adds: bool = False) -> sc.Tensor:
    """Sets or adds the elements of a row one after the other."""
    x, dim = importer.tensor(x), positive(dim, len(x.shape))
    if is_integer(x):  # exact up to 2^53
        return as_type(scatter(importer, as_type(x, sc.f64), dim, index, source, adds=adds), x.dtype)
    count = index.shape[dim]
    if count > ENTRIES or any(index.shape[each] != x.shape[each] for each in range(len(x.shape)) if each != dim):
        raise Missing(
            f"an index {list(index.shape)} of {list(x.shape)} along dimension {dim} is not supported; it must have at "
            f"most {ENTRIES} elements there, and as many as the tensor in other dimensions")
    index = importer.tensor(index)
    numbers = as_type(_numbers(importer, x, dim), index.dtype)
    is_valid = checked(importer, index, x.shape[dim], x.dtype)
    is_number = isinstance(source, (bool, int, float))
    values = importer.constant(source, x.dtype) if isinstance(source, (bool, int, float)) else as_type(
        importer.tensor(source), x.dtype)
    for number in range(count):
        part, valid = [sc.slice(each, dim, number, 1) for each in (index, is_valid)]
        is_there = as_type(sc.compare(numbers, part, "eq"), x.dtype) * valid
        value = values if is_number else sc.slice(values, dim, number, 1)
        x = sc.select(is_there, x + value if adds else value, x)
    return x


@op("aten.index_put.default", keeps_constants=True)
def index_put(importer: Importer, x: Value, indices: Sequence[Value | None], values: Value,
              accumulate: bool = False) -> sc.Tensor:
    are_constant = isinstance(values, torch.Tensor)
    x = importer.tensor(x)
    values = as_type(importer.tensor(values), x.dtype)
    given = [dim for dim, each in enumerate(indices) if each is not None]
    before = given[0]  # the number of dimensions before them
    if given != list(range(before, before + len(given))):
        raise Missing("indices of dimensions that are not adjacent are not supported")
    first = indices[before]
    if not before and len(given) == 1 and is_tensor(first) and importer.is_boolean(importer.args[1][0]):
        return _put_where(importer, x, first, values, accumulate)
    constants = [each for each in indices if isinstance(each, torch.Tensor)]
    if len(constants) != len(given):
        raise Missing("indices that depend on the batch are not supported, only constant ones and a mask; use scatter "
                      "or torch.where")
    of_dims: list[torch.Tensor] = []
    for each in constants:
        of_dims += each.nonzero(as_tuple=True) if each.dtype == torch.bool else [each]
    rank = len(of_dims)
    places = _flat(torch.broadcast_tensors(*of_dims), x.shape[before:])
    if not accumulate and not are_constant and len(places.unique()) < places.numel():
        raise Missing("an index occurs twice, and it is not defined which of its values is set")
    if not before:
        return _put_at(importer, x, rank, places, values, accumulate)
    # The dimensions of the indices become the first ones, of x and of the values.
    shape, count = list(x.shape), len(places.shape)
    values = expand_to(importer, values, shape[:before] + list(places.shape) + shape[before + rank:])
    order = _with_first(len(shape), before, rank)
    put = _put_at(importer, transposed(importer, x, order), rank, places,
                  transposed(importer, values, _with_first(len(values.shape), before, count)), accumulate)
    return transposed(importer, put, [order.index(dim) for dim in range(len(shape))])


def _with_first(rank: int, start: int, count: int) -> list[int]:
    """The numbers of `rank` dimensions, with `count` of them from `start` on as the first."""
    moved = list(range(start, start + count))
    return moved + [dim for dim in range(rank) if dim not in moved]


@op("aten.diagonal_scatter.default")
def diagonal_scatter(importer: Importer, x: Value, source: Value, offset: int = 0, first: int = 0,
                     second: int = 1) -> sc.Tensor:
    x = importer.tensor(x)
    rank = len(x.shape)
    first, second = positive(first, rank), positive(second, rank)
    order = [first, second] + [dim for dim in range(rank) if dim not in (first, second)]
    rows, columns = x.shape[first], x.shape[second]
    places = torch.arange(rows * columns).view(rows, columns).diagonal(offset)
    values = transposed(importer, as_type(importer.tensor(source), x.dtype), [rank - 2] + list(range(rank - 2)))
    put = _put_at(importer, transposed(importer, x, order), 2, places, values, False)
    return transposed(importer, put, [order.index(dim) for dim in range(rank)])


@op("aten.fill_diagonal_.default")
def fill_diagonal(importer: Importer, x: sc.Tensor, value: float, wrap: bool = False) -> sc.Tensor:
    return where(importer, torch.zeros(tuple(x.shape), dtype=torch.bool).fill_diagonal_(True, wrap), value, x)


def _places_in(importer: Importer, x: sc.Tensor, size: Sequence[int], strides: Sequence[int],
               offset: int | None) -> torch.Tensor:
    """The places of a view's elements among those of x. PyTorch makes such views of diagonals that are filled."""
    said = importer.args[0].meta["val"]
    if not said.is_contiguous() or said.storage_offset():
        raise Missing("a view by strides is only supported of a tensor that is contiguous itself")
    return torch.arange(product_of(x.shape)).as_strided(size, strides, offset or 0)


@op("aten.as_strided.default")
def as_strided(importer: Importer, x: sc.Tensor, size: Sequence[int], strides: Sequence[int],
               offset: int | None = None) -> sc.Tensor:
    return rows_at(importer, sc.reshape(x, [product_of(x.shape)]), 0, _places_in(importer, x, size, strides, offset))


@op("aten.as_strided_scatter.default")
def as_strided_scatter(importer: Importer, x: sc.Tensor, source: Value, size: Sequence[int], strides: Sequence[int],
                       offset: int | None = None) -> sc.Tensor:
    places = _places_in(importer, x, size, strides, offset)
    if len(places.unique()) < places.numel():
        raise Missing("a view by strides that has an element twice is not supported")
    flat, values = sc.reshape(x, [product_of(x.shape)]), as_type(importer.tensor(source), x.dtype)
    return sc.reshape(_put_at(importer, flat, 1, places, values, False), x.shape)


@op("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor", keeps_constants=True)
def index_fill(importer: Importer, x: Value, dim: int, index: Value, value: Operand) -> sc.Tensor:
    if not isinstance(index, torch.Tensor):
        raise Missing("an index that depends on the batch is not supported; use torch.where")
    x, dim = importer.tensor(x), positive(dim, len(x.shape))
    is_filled = torch.zeros(x.shape[dim], dtype=torch.bool).index_fill(0, index, True)
    is_filled = is_filled.view([x.shape[dim]] + [1] * (len(x.shape) - dim - 1))
    return where(importer, is_filled, value, x)


def _put_where(importer: Importer, x: sc.Tensor, mask: sc.Tensor, values: sc.Tensor, accumulate: bool) -> sc.Tensor:
    """Sets the elements of a mask of the first dimensions, to values that are the same for each of its elements."""
    rest = len(x.shape) - len(mask.shape)
    if len(values.shape) > rest:
        if values.shape[0] != 1:
            raise Missing(
                f"values {list(values.shape)}, one for each element of a mask that depends on the batch, are not "
                "supported; use torch.where")
        values = sc.reshape(values, values.shape[1:])
    mask = sc.reshape(mask, list(mask.shape) + [1] * rest)
    return where(importer, mask, x + values if accumulate else values, x)


def _flat(places: Sequence[torch.Tensor], shape: Sequence[int]) -> torch.Tensor:
    """The indices of the first dimensions as indices of these taken together."""
    flat = torch.zeros_like(places[0])
    for place, extent in zip(places, shape):
        if ((place < -extent) | (place >= extent)).any():
            raise sc.InvalidError(f"an index is not within a dimension of size {extent}")
        flat = flat * extent + place % extent
    return flat


def _put_at(importer: Importer, x: sc.Tensor, rank: int, places: torch.Tensor, values: sc.Tensor,
            accumulate: bool) -> sc.Tensor:
    """Sets or adds to the elements at constant indices of the first `rank` dimensions; of equal ones, the last sets."""
    if is_integer(x):
        floats = [as_type(each, sc.f64) for each in (x, values)]
        return as_type(_put_at(importer, floats[0], rank, places, floats[1], accumulate), x.dtype)
    extents, rest = list(x.shape[:rank]), list(x.shape[rank:])
    count, total = places.numel(), product_of(extents)
    if not count:
        return x
    values = sc.reshape(expand_to(importer, values, list(places.shape) + rest), [count, product_of(rest)])
    row, is_put = torch.zeros(total, dtype=torch.long), torch.zeros(total, dtype=torch.bool)
    for number, place in enumerate(places.reshape(-1).tolist()):
        row[place], is_put[place] = number, True
    if accumulate and int(is_put.sum()) < count:
        into = torch.zeros(total, count, dtype=importer.torch_type(x.dtype))
        into[places.reshape(-1), torch.arange(count)] = 1
        return x + sc.reshape(sc.matmul(importer.tensor(into), values), x.shape)
    put = sc.reshape(rows_at(importer, values, 0, row), x.shape)
    return where(importer, is_put.view(extents + [1] * len(rest)), x + put if accumulate else put, x)
