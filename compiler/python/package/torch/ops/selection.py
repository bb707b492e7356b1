"""The positions of elements by their size, and elements that are set at indices."""
import math

import splitcast as sc
import torch

from splitcast.torch.ops.elementwise import where
from splitcast.torch.ops.shapes import checked, rows_at, transposed
from splitcast.torch.ops.table import Missing, as_type, expand_to, is_integer, is_tensor, op, positive, product_of

FEW = 16  # elements that are found one after the other
PAIRS = 1 << 27  # the most pairs of elements that sorting compares
ENTRIES = 64  # the most elements of a row that scatter sets


# ---- By size ----
def _scores(importer, x):
    """x in a float type, without gradient. A NaN is infinity, and infinity the largest number, since PyTorch finds a NaN
    first."""
    x = as_type(x, sc.f64) if is_integer(x) else sc.stop_gradient(x)
    largest = importer.constant(torch.finfo(importer.torch_type(x.dtype)).max, x.dtype)
    below = sc.select(as_type(sc.compare(x, largest, "gt"), x.dtype), largest, x)
    return sc.select(as_type(sc.compare(x, x, "ne"), x.dtype), importer.constant(math.inf, x.dtype), below)


def _numbers(importer, x, dim):
    """0, 1, ... along `dim`, in i64."""
    extents = [1] * len(x.shape)
    extents[dim] = x.shape[dim]
    return importer.graph.iota(sc.i64, extents, dim)


def _first_largest(importer, scores, dim):
    """The index of the largest element along `dim`, whose extent becomes 1; of equal elements the first one's."""
    rank, extent = len(scores.shape), scores.shape[dim]
    order = [each for each in range(rank) if each != dim] + [dim]
    rows = sc.reshape(transposed(importer, scores, order), (product_of(scores.shape) // extent, 1, extent))
    largest = sc.max_pool(rows, [1, extent])
    numbers = as_type(importer.graph.iota(sc.i64, [1, 1, extent], 2), sc.f64)
    is_largest = as_type(sc.compare(rows, largest, "eq"), sc.f64)
    candidates = sc.select(is_largest, -numbers, importer.constant(-extent, sc.f64))
    shape = list(scores.shape)
    shape[dim] = 1
    return as_type(sc.reshape(-sc.max_pool(candidates, [1, extent]), shape), sc.i64)


def _elements_at(importer, x, index, dim):
    """The elements of x at an index along `dim`, whose extent becomes 1. Their gradient is that of the element."""
    floats = as_type(x, sc.f64) if is_integer(x) else x
    is_there = as_type(sc.compare(_numbers(importer, x, dim), index, "eq"), floats.dtype)
    picked = sc.sum(sc.select(is_there, floats, importer.constant(0, floats.dtype)), [dim])
    return as_type(sc.reshape(picked, index.shape), x.dtype)


@op("aten.argmax.default", "aten.argmin.default")
def argmax(importer, x, dim=None, keepdim=False):
    x, dim = (sc.reshape(x, [product_of(x.shape)]), 0) if dim is None else (x, positive(dim, len(x.shape)))
    x = as_type(x, sc.f64) if is_integer(x) else x
    scores = _scores(importer, -x if "argmin" in str(importer.node.target) else x)
    return sc.reshape(_first_largest(importer, scores, dim), importer.shape())


@op("aten.max.dim", "aten.min.dim")
def max_along(importer, x, dim, keepdim=False):
    """The gradient goes to the element of the index, unlike that of amax."""
    dim = positive(dim, len(x.shape))
    floats = as_type(x, sc.f64) if is_integer(x) else x
    scores = _scores(importer, -floats if ".min." in str(importer.node.target) else floats)
    index = _first_largest(importer, scores, dim)
    shape = tuple(importer.node.meta["val"][0].shape)
    return [sc.reshape(each, shape) for each in (_elements_at(importer, x, index, dim), index)]


@op("aten.topk.default")
def topk(importer, x, count, dim=-1, largest=True, is_sorted=True):
    dim = positive(dim, len(x.shape))
    if not 0 < count <= FEW:
        values, index = _sorted(importer, x, dim, largest)
        return [sc.slice(values, dim, 0, count), sc.slice(index, dim, 0, count)]
    floats = as_type(x, sc.f64) if is_integer(x) else x
    scores = _scores(importer, floats if largest else -floats)
    least = importer.constant(torch.finfo(importer.torch_type(scores.dtype)).min, scores.dtype)
    left, numbers, found = sc.maximum(scores, least), _numbers(importer, x, dim), []
    for _ in range(count):  # what has been found becomes less than all others
        found.append(_first_largest(importer, left, dim))
        is_found = as_type(sc.compare(numbers, found[-1], "eq"), left.dtype)
        left = sc.select(is_found, importer.constant(-math.inf, left.dtype), left)
    values = [_elements_at(importer, x, index, dim) for index in found]
    return [parts[0] if count == 1 else sc.concat(parts, dim) for parts in (values, found)]


@op("aten.multinomial.default")
def multinomial(importer, x, count, replacement=False, **ignored):
    """Indices, drawn in proportion to x: that of the largest x / e, where e is exponentially distributed. Without
    replacement they are those of the largest few (Efraimidis and Spirakis 2006, doi:10.1016/j.ipl.2005.11.003).
    """
    x, last = as_type(sc.stop_gradient(x), sc.f32), len(x.shape)
    x = sc.reshape(x, list(x.shape[:-1]) + [1, x.shape[-1]])
    shape = list(x.shape)
    shape[-2] = count if replacement else 1
    drawn = -sc.log(1.0 - sc.uniform(importer.graph.constant(sc.f32, shape, 0.0)))
    scores = x / sc.maximum(drawn, 1e-30)  # it may be 0
    found = _first_largest(importer, scores, last) if replacement or count == 1 else topk(
        importer, sc.reshape(scores, shape[:-2] + shape[-1:]), count)[1]
    return sc.reshape(found, importer.shape())


@op("aten.sort.default", "aten.sort.stable")
def sort(importer, x, dim=-1, descending=False, *, stable=None):
    return _sorted(importer, x, positive(dim, len(x.shape)), descending)


@op("aten.argsort.default", "aten.argsort.stable")
def argsort(importer, x, dim=-1, descending=False, *, stable=None):
    return _sorted(importer, x, positive(dim, len(x.shape)), descending)[1]


def _sorted(importer, x, dim, descending):
    """[the elements in order, their indices]. An element's place is the number of those that come before it: of less
    or larger ones, and of equal ones with a smaller index."""
    extent, rank = x.shape[dim], len(x.shape)
    if product_of(x.shape) * extent > PAIRS:
        raise Missing("sorting %s along dimension %d compares each element with %d others, more than 2^27 pairs in all; "
                      "use topk of at most %d elements" % (list(x.shape), dim, extent, FEW))
    floats = as_type(x, sc.f64) if is_integer(x) else x
    order = [each for each in range(rank) if each != dim] + [dim]
    back = [order.index(each) for each in range(rank)]
    rows = transposed(importer, floats, order)
    scores = _scores(importer, rows) * (1.0 if descending else -1.0)
    across, down = [sc.reshape(scores, list(rows.shape[:-1]) + shape) for shape in ([1, extent], [extent, 1])]
    is_before = torch.ones(extent, extent).tril(-1)
    comes_before = sc.compare(across, down, "gt") + sc.compare(across, down, "eq") * importer.tensor(is_before)
    place = as_type(sc.sum(comes_before, [rank]), sc.i64)  # by the element
    places = importer.graph.iota(sc.i64, [1] * (rank - 1) + [extent, 1], rank - 1)
    is_at = sc.compare(places, sc.reshape(place, list(rows.shape[:-1]) + [1, extent]), "eq")  # [..., place, element]
    elements = sc.reshape(rows, list(rows.shape[:-1]) + [1, extent])
    values = sc.sum(sc.select(as_type(is_at, rows.dtype), elements, importer.constant(0, rows.dtype)), [rank])
    index = sc.sum(is_at * importer.tensor(torch.arange(float(extent))), [rank])
    return [as_type(transposed(importer, each, back), dtype) for each, dtype in ((values, x.dtype), (index, sc.i64))]


# ---- Elements that are set ----
@op("aten.scatter.value", "aten.scatter.src", "aten.scatter_add.default", keeps_constants=True)
def scatter(importer, x, dim, index, source):
    """Sets or adds the elements of a row one after the other."""
    x, dim = importer.tensor(x), positive(dim, len(x.shape))
    if is_integer(x):  # exact up to 2^53
        return as_type(scatter(importer, as_type(x, sc.f64), dim, index, source), x.dtype)
    count = index.shape[dim]
    if count > ENTRIES or any(index.shape[each] != x.shape[each] for each in range(len(x.shape)) if each != dim):
        raise Missing("an index %s of %s along dimension %d is not supported; it must have at most %d elements there, and "
                      "as many as the tensor in other dimensions" % (list(index.shape), list(x.shape), dim, ENTRIES))
    index = importer.tensor(index)
    numbers = as_type(_numbers(importer, x, dim), index.dtype)
    is_valid = checked(importer, index, x.shape[dim], x.dtype)
    of_tensor = is_tensor(source) or isinstance(source, torch.Tensor)
    source = as_type(importer.tensor(source), x.dtype) if of_tensor else importer.constant(source, x.dtype)
    for number in range(count):
        part, valid = [sc.slice(each, dim, number, 1) for each in (index, is_valid)]
        is_there = as_type(sc.compare(numbers, part, "eq"), x.dtype) * valid
        value = sc.slice(source, dim, number, 1) if of_tensor else source
        x = sc.select(is_there, x + value if "add" in str(importer.node.target) else value, x)
    return x


@op("aten.index_put.default", keeps_constants=True)
def index_put(importer, x, indices, values, accumulate=False):
    are_constant = isinstance(values, torch.Tensor)
    x = importer.tensor(x)
    values = as_type(importer.tensor(values), x.dtype)
    given = [dim for dim, each in enumerate(indices) if each is not None]
    before = given[0]  # the number of dimensions before them
    if given != list(range(before, before + len(given))):
        raise Missing("indices of dimensions that are not adjacent are not supported")
    if not before and len(given) == 1 and is_tensor(indices[0]) and importer.is_boolean(importer.node.args[1][0]):
        return _put_where(importer, x, indices[0], values, accumulate)
    if not all(isinstance(indices[dim], torch.Tensor) for dim in given):
        raise Missing("indices that depend on the batch are not supported, only constant ones and a mask; use scatter "
                      "or torch.where")
    places = []
    for each in indices[before:before + len(given)]:
        places += each.nonzero(as_tuple=True) if each.dtype == torch.bool else [each]
    rank = len(places)
    places = _flat(torch.broadcast_tensors(*places), x.shape[before:])
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


def _with_first(rank, start, count):
    """The numbers of `rank` dimensions, with `count` of them from `start` on as the first."""
    moved = list(range(start, start + count))
    return moved + [dim for dim in range(rank) if dim not in moved]


@op("aten.diagonal_scatter.default")
def diagonal_scatter(importer, x, source, offset=0, first=0, second=1):
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
def fill_diagonal(importer, x, value, wrap=False):
    return where(importer, torch.zeros(tuple(x.shape), dtype=torch.bool).fill_diagonal_(True, wrap), value, x)


def _places_in(importer, x, size, strides, offset):
    """The places of a view's elements among those of x. PyTorch makes such views of diagonals that are filled."""
    said = importer.node.args[0].meta["val"]
    if not said.is_contiguous() or said.storage_offset():
        raise Missing("a view by strides is only supported of a tensor that is contiguous itself")
    return torch.arange(product_of(x.shape)).as_strided(size, strides, offset or 0)


@op("aten.as_strided.default")
def as_strided(importer, x, size, strides, offset=None):
    return rows_at(importer, sc.reshape(x, [product_of(x.shape)]), 0, _places_in(importer, x, size, strides, offset))


@op("aten.as_strided_scatter.default")
def as_strided_scatter(importer, x, source, size, strides, offset=None):
    places = _places_in(importer, x, size, strides, offset)
    if len(places.unique()) < places.numel():
        raise Missing("a view by strides that has an element twice is not supported")
    flat, values = sc.reshape(x, [product_of(x.shape)]), as_type(importer.tensor(source), x.dtype)
    return sc.reshape(_put_at(importer, flat, 1, places, values, False), x.shape)


@op("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor", keeps_constants=True)
def index_fill(importer, x, dim, index, value):
    if not isinstance(index, torch.Tensor):
        raise Missing("an index that depends on the batch is not supported; use torch.where")
    x, dim = importer.tensor(x), positive(dim, len(x.shape))
    is_filled = torch.zeros(x.shape[dim], dtype=torch.bool).index_fill(0, index, True)
    is_filled = is_filled.view([x.shape[dim]] + [1] * (len(x.shape) - dim - 1))
    return where(importer, is_filled, value, x)


def _put_where(importer, x, mask, values, accumulate):
    """Sets the elements of a mask of the first dimensions, to values that are the same for each of its elements."""
    rest = len(x.shape) - len(mask.shape)
    if len(values.shape) > rest:
        if values.shape[0] != 1:
            raise Missing("values %s, one for each element of a mask that depends on the batch, are not supported; use "
                          "torch.where" % list(values.shape))
        values = sc.reshape(values, values.shape[1:])
    mask = sc.reshape(mask, list(mask.shape) + [1] * rest)
    return where(importer, mask, x + values if accumulate else values, x)


def _flat(places, shape):
    """The indices of the first dimensions as indices of these taken together."""
    flat = torch.zeros_like(places[0])
    for place, extent in zip(places, shape):
        if ((place < -extent) | (place >= extent)).any():
            raise sc.InvalidError("an index is not within a dimension of size %d" % extent)
        flat = flat * extent + place % extent
    return flat


def _put_at(importer, x, rank, places, values, accumulate):
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
