"""Ops that change shapes or choose elements by indices."""
import splitcast as sc
import torch

from splitcast.torch.ops.elementwise import where
from splitcast.torch.ops.table import Missing, as_type, expand_to, is_integer, op, positive, product_of

# ---- Shapes ----
@op("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.unsqueeze.default",
    "aten.squeeze.dim", "aten.squeeze.default", "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int",
    "aten.view_as.default", "aten.reshape_as.default")
def reshape(importer, x, *ignored):
    shape = importer.shape()
    return x if x.shape == shape else sc.reshape(x, shape)


def transposed(importer, x, permutation):
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
def transpose(importer, x, first, second):
    permutation = list(range(len(x.shape)))
    first, second = [positive(dim, len(permutation)) for dim in (first, second)]
    permutation[first], permutation[second] = second, first
    return transposed(importer, x, permutation)


@op("aten.mT.default")
def transposed_matrices(importer, x):
    return transpose(importer, x, -2, -1)


@op("aten.permute.default")
def permute(importer, x, dims):
    return transposed(importer, x, [positive(dim, len(x.shape)) for dim in dims])


@op("aten.t.default", "aten.numpy_T.default")
def t(importer, x):
    return transposed(importer, x, list(range(len(x.shape)))[::-1])


@op("aten.expand.default", "aten.expand_as.default")
def expand(importer, x, *ignored, **also_ignored):
    return expand_to(importer, x, importer.shape())


@op("aten.repeat.default", "aten.tile.default")
def repeat(importer, x, times):
    x = importer.tensor(x)
    times = [1] * (len(x.shape) - len(times)) + list(times)
    shape = [1] * (len(times) - len(x.shape)) + list(x.shape)
    pairs = [each for pair in zip([1] * len(shape), shape) for each in pair]
    wide = [each for pair in zip(times, shape) for each in pair]
    return sc.reshape(expand_to(importer, sc.reshape(x, pairs), wide), importer.shape())


@op("aten.repeat_interleave.self_int")
def repeat_interleave(importer, x, times, dim=None, **ignored):
    x = x if dim is not None else sc.reshape(x, [product_of(x.shape)])
    dim = positive(dim or 0, len(x.shape))
    shape = list(x.shape)
    return sc.reshape(expand_to(importer, sc.reshape(x, shape[:dim + 1] + [1] + shape[dim + 1:]),
                                shape[:dim + 1] + [times] + shape[dim + 1:]), importer.shape())


@op("aten.stack.default")
def stack(importer, parts, dim=0):
    parts = [importer.tensor(part) for part in parts]
    dim = positive(dim, len(parts[0].shape) + 1)
    return sc.concat([sc.reshape(part, list(part.shape[:dim]) + [1] + list(part.shape[dim:])) for part in parts], dim)


@op("aten.unbind.int")
def unbind(importer, x, dim=0):
    dim = positive(dim, len(x.shape))
    shape = list(x.shape[:dim]) + list(x.shape[dim + 1:])
    return [sc.reshape(sc.slice(x, dim, index, 1), shape) for index in range(x.shape[dim])]


@op("aten.roll.default")
def roll(importer, x, shifts, dims=()):
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
def unfold(importer, x, dim, size, step):
    """The windows along `dim`, whose elements are the last dimension."""
    rank = len(x.shape)
    dim = positive(dim, rank)
    windows = torch.arange(x.shape[dim]).unfold(0, size, step)
    rows = rows_at(importer, x, dim, windows)
    return transposed(importer, rows, [each for each in range(rank + 1) if each != dim + 1] + [dim + 1])


@op("aten.flip.default")
def flip(importer, x, dims):
    for dim in [dims] if isinstance(dims, int) else dims:
        dim = positive(dim, len(x.shape))
        x = rows_at(importer, x, dim, torch.arange(x.shape[dim] - 1, -1, -1))
    return x


@op("aten.diagonal.default")
def diagonal_of(importer, x, offset=0, first=0, second=1):
    """The elements whose two indices differ by `offset`, along a new last dimension."""
    rank = len(x.shape)
    first, second = positive(first, rank), positive(second, rank)
    x = transposed(importer, x, [dim for dim in range(rank) if dim not in (first, second)] + [first, second])
    rows, columns = x.shape[-2:]
    at = torch.arange(rows * columns).view(rows, columns).diagonal(offset)
    if not len(at):
        raise Missing("a diagonal without elements is not supported")
    return rows_at(importer, sc.reshape(x, list(x.shape[:-2]) + [rows * columns]), rank - 2, at)


@op("aten.tril.default", "aten.triu.default")
def triangle(importer, x, diagonal=0):
    keep = torch.ones(tuple(x.shape[-2:]))
    keep = keep.tril(diagonal) if "tril" in str(importer.node.target) else keep.triu(diagonal)
    return where(importer, keep, x, 0)


@op("aten.select_scatter.default")
def select_scatter(importer, x, source, dim, index):
    shape = list(x.shape)
    dim = positive(dim, len(shape))
    shape[dim] = 1
    index = positive(index, x.shape[dim])
    return _scattered(importer, x, sc.reshape(importer.tensor(source), shape), dim, index, index + 1)


@op("aten.slice_scatter.default")
def slice_scatter(importer, x, source, dim=0, start=None, end=None, step=1):
    dim = positive(dim, len(x.shape))
    if step != 1:
        return _scattered_by_steps(importer, importer.tensor(x), importer.tensor(source), dim, slice(start, end, step))
    start, end, _ = slice(start, end).indices(x.shape[dim])
    return _scattered(importer, x, importer.tensor(source), dim, start, max(start, end))


def _scattered_by_steps(importer, x, source, dim, at):
    """x with the elements at a slice along `dim` replaced by `source`, which a row is chosen of for each element."""
    extent = x.shape[dim]
    places = torch.arange(extent)[at]
    row, is_replaced = torch.zeros(extent, dtype=torch.long), torch.zeros(extent, dtype=torch.bool)
    row[places], is_replaced[places] = torch.arange(len(places)), True
    is_replaced = is_replaced.view([extent] + [1] * (len(x.shape) - 1 - dim))
    return where(importer, is_replaced, rows_at(importer, as_type(source, x.dtype), dim, row), x)


def _scattered(importer, x, source, dim, start, end):
    """x with the elements from `start` to `end` along `dim` replaced by `source`."""
    x = importer.tensor(x)
    source = as_type(source, x.dtype)
    before = [sc.slice(x, dim, 0, start)] if start > 0 else []
    after = [sc.slice(x, dim, end, x.shape[dim] - end)] if end < x.shape[dim] else []
    return sc.concat(before + [source] + after, dim) if before or after else source


# ---- Elements at indices ----
@op("aten.one_hot.default")
def one_hot(importer, x, classes=-1):
    shape = importer.shape()
    numbers = importer.graph.iota(x.dtype, [1] * len(x.shape) + [shape[-1]], len(x.shape))
    is_class = sc.compare(sc.reshape(x, tuple(x.shape) + (1,)), numbers, "eq")
    return as_type(is_class * sc.reshape(checked(importer, x, shape[-1], sc.f32), tuple(x.shape) + (1,)), sc.i64)


def checked(importer, index, extent, dtype):
    """1 for each integer of `index`. Running it is an error where one is not from 0 to extent - 1."""
    ones = importer.tensor(torch.ones(extent, 1, dtype=importer.torch_type(dtype)))
    return sc.reshape(sc.embedding(ones, index), index.shape)


def _or_none(importer, place, index, extent):
    """`place` where `index` is from 0 to extent - 1, else -1, which no table has."""
    is_within = sc.compare(index, importer.constant(0, index.dtype), "ge") * sc.compare(
        index, importer.constant(extent, index.dtype), "lt")
    return sc.select(as_type(is_within, place.dtype), place, importer.constant(-1, place.dtype))


def rows_at(importer, x, dim, index):
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


def _wrapped(importer, index, extent):
    """Replaces negative indices, which count from the end, by those from the beginning."""
    if isinstance(index, torch.Tensor):
        beyond = index[(index < -extent) | (index >= extent)]
        if beyond.numel():
            raise sc.InvalidError("index %d is not within a dimension of size %d" % (beyond.reshape(-1)[0], extent))
        return torch.where(index < 0, index + extent, index)
    is_below = as_type(sc.compare(index, importer.constant(0, index.dtype), "lt"), index.dtype)
    return sc.select(is_below, index + importer.constant(extent, index.dtype), index)


@op("aten.index_select.default")
def index_select(importer, x, dim, index):
    return rows_at(importer, importer.tensor(x), positive(dim, len(x.shape)), index)


def _without_masks(index):
    """The indices of the elements that a constant mask chooses, or the index itself."""
    if index is None or index.dtype != torch.bool:
        return [index]
    if not index.any():
        raise Missing("a mask that chooses no element is not supported")
    return index.nonzero(as_tuple=True)


@op("aten.masked_select.default", keeps_constants=True)
def masked_select(importer, x, mask):
    if not isinstance(mask, torch.Tensor):
        raise Missing("a value decides a size, but a graph has the same in every step; use torch.where or masks that "
                      "are multiplied")
    shape = torch.broadcast_shapes(tuple(x.shape), mask.shape)
    flat = sc.reshape(expand_to(importer, x, shape), [product_of(shape)])
    return rows_at(importer, flat, 0, _without_masks(mask.expand(shape).flatten())[0])


@op("aten.sym_size.int")
def size(importer, x, dim):
    return x.shape[dim]


@op("aten.index.Tensor", keeps_constants=True)
def index(importer, x, indices):
    x = importer.tensor(x)
    if any(importer.is_boolean(node) and not isinstance(each, torch.Tensor)
           for each, node in zip(indices, importer.node.args[1])):
        raise Missing("indexing by booleans is not supported: the size of the result depends on values")
    indices = [each for one in indices for each in _without_masks(one)]
    given = [dim for dim, each in enumerate(indices) if each is not None]
    if given != list(range(given[0], given[0] + len(given))):
        raise Missing("indices of dimensions that are not adjacent are not supported")
    # Indices of several dimensions become a single index into these dimensions taken together.
    dim, together = given[0], None
    for each in given:
        one = _wrapped(importer, indices[each], x.shape[each])
        if together is None:
            together = one
        elif isinstance(together, torch.Tensor) and isinstance(one, torch.Tensor):
            together = together * x.shape[each] + one
        else:
            together, one = [as_type(importer.tensor(part), sc.i64) for part in (together, one)]
            place = together * importer.constant(x.shape[each], sc.i64) + one
            one = one if one.shape == place.shape else expand_to(importer, one, place.shape)
            # What is below 0 before the last dimension stays so.
            together = _or_none(importer, place, one, x.shape[each])
    shape = list(x.shape)
    extent = product_of(shape[dim:dim + len(given)])
    x = sc.reshape(x, shape[:dim] + [extent] + shape[dim + len(given):]) if len(given) > 1 else x
    return rows_at(importer, x, dim, together)


@op("aten.gather.default")
def gather(importer, x, dim, index, sparse_grad=False):
    """Looks elements up in a table with one element per row, after computing each element's row number."""
    x, index = importer.tensor(x), importer.tensor(index)
    if is_integer(x):  # exact up to 2^53
        return as_type(gather(importer, as_type(x, sc.f64), dim, index), x.dtype)
    rank = len(x.shape)
    dim = positive(dim, rank)
    place = None
    for each in range(rank):
        one = as_type(index, sc.i64)
        if each != dim:
            extents = [1] * rank
            extents[each] = index.shape[each]
            one = importer.graph.iota(sc.i64, extents, each)
        place = one if place is None else place * importer.constant(x.shape[each], sc.i64) + one
    place = place if tuple(place.shape) == tuple(index.shape) else expand_to(importer, place, index.shape)
    place = _or_none(importer, place, as_type(index, sc.i64), x.shape[dim])
    return sc.reshape(sc.embedding(sc.reshape(x, (product_of(x.shape), 1)), place), importer.shape())


@op("aten.slice.Tensor")
def slice_(importer, x, dim=0, start=None, end=None, step=1):
    dim = positive(dim, len(x.shape))
    start, end, _ = slice(start, end).indices(x.shape[dim])
    if step != 1:
        return _every(x, dim, start, end, step)
    return x if (start, end) == (0, x.shape[dim]) else sc.slice(x, dim, start, end - start)


def _every(x, dim, start, end, step):
    """The first element of each group of `step` elements; the last group may have fewer."""
    count = -(-(end - start) // step)
    whole = min(count, (x.shape[dim] - start) // step)  # complete groups
    shape = list(x.shape)
    groups = sc.reshape(sc.slice(x, dim, start, whole * step), shape[:dim] + [whole, step] + shape[dim + 1:])
    firsts = sc.reshape(sc.slice(groups, dim + 1, 0, 1), shape[:dim] + [whole] + shape[dim + 1:])
    return firsts if whole == count else sc.concat([firsts, sc.slice(x, dim, start + whole * step, 1)], dim)


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


def _padded_by_rows(importer, x, sizes, mode):
    """Padding by x's own elements: PyTorch says which, from their numbers."""
    for pair, both in enumerate(zip(sizes[::2], sizes[1::2])):
        dim = len(x.shape) - 1 - pair
        numbers = torch.arange(x.shape[dim], dtype=torch.float64).view(1, 1, -1)
        x = rows_at(importer, x, dim, torch.nn.functional.pad(numbers, both, mode=mode).long().view(-1))
    return x


@op("aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default")
def reflection_pad(importer, x, sizes):
    return _padded_by_rows(importer, x, sizes, "reflect")


@op("aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default")
def replication_pad(importer, x, sizes):
    return _padded_by_rows(importer, x, sizes, "replicate")
