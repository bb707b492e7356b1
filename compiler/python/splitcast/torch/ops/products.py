"""Matrix products and attention."""
from __future__ import annotations

import functools
import math
import operator
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.shapes import diagonal_of, rows_at, transposed
from splitcast.torch.ops.table import Missing, Value, as_type, expand_to, is_integer, op, product_of, type_of

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


# ---- Products ----
def rows_of(x: sc.Tensor) -> sc.Tensor:
    """x as a matrix whose rows are those along its last dimension."""
    rows = functools.reduce(operator.mul, x.shape[:-1], 1)
    return x if len(x.shape) == 2 else sc.reshape(x, (rows, x.shape[-1]))


@op("aten.linear.default")
def linear(importer: Importer, x: sc.Tensor, weight: sc.Tensor, bias: sc.Tensor | None = None) -> sc.Tensor:
    y = sc.matmul(rows_of(x), weight, transpose_b=True)
    y = y if bias is None else y + bias
    return y if y.shape == importer.shape() else sc.reshape(y, importer.shape())


@op("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def addmm(importer: Importer, addend: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> sc.Tensor:
    """alpha a b + beta addend; with beta 0 the addend has no influence, not even a NaN."""
    product = matmul(importer, a, b)
    product = product if alpha == 1 else product * float(alpha)
    if beta == 0:
        return product
    addend = importer.tensor(addend)
    return product + (addend if beta == 1 else addend * float(beta))


@op("aten.mm.default", "aten.bmm.default")
def mm(importer: Importer, a: Value, b: Value) -> sc.Tensor:
    return sc.matmul(importer.tensor(a), importer.tensor(b))


@op("aten.matmul.default", "aten.mv.default", "aten.dot.default", "aten.vdot.default")
def matmul(importer: Importer, a: Value, b: Value) -> sc.Tensor:
    a, b = importer.tensor(a), importer.tensor(b)
    if len(a.shape) == 1:
        a = sc.reshape(a, (1, a.shape[0]))
    if len(b.shape) == 1:
        b = sc.reshape(b, (b.shape[0], 1))
    if len(b.shape) == 2:
        return sc.reshape(sc.matmul(rows_of(a), b), importer.shape())
    batch = torch.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    a, b = [expand_to(importer, x, tuple(batch) + tuple(x.shape[-2:])) for x in (a, b)]
    return sc.reshape(sc.matmul(a, b), importer.shape())


@op("aten.einsum.default")
def einsum(importer: Importer, equation: str, operands: Sequence[Value],
           path: Sequence[int] | None = None) -> sc.Tensor:
    """Products of two operands at a time, from the left; each keeps the letters that later ones or the result have."""
    tensors = [importer.tensor(operand) for operand in operands]
    inputs, result = _letters_of(equation.replace(" ", ""), [len(tensor.shape) for tensor in tensors])
    for number, (tensor, letters) in enumerate(zip(tensors, inputs)):
        tensors[number], inputs[number] = _without_repetition(importer, tensor, letters)
    x, letters = tensors[0], inputs[0]
    for number, (y, others) in enumerate(zip(tensors[1:], inputs[1:]), 2):
        later = "".join(inputs[number:]) + result
        kept = "".join(letter for letter in dict.fromkeys(letters + others) if letter in later)
        x, letters = _product(importer, (x, y), [letters, others], kept), kept
    alone = [dim for dim, letter in enumerate(letters) if letter not in result]
    x = sc.sum(x, alone) if alone else x
    letters = "".join(letter for letter in letters if letter in result)
    return transposed(importer, x, [letters.index(letter) for letter in result])


@op("aten.bilinear.default")
def bilinear(importer: Importer, x: Value, y: Value, weight: Value, bias: Value | None = None) -> sc.Tensor:
    product = einsum(importer, "...i,oij,...j->...o", [x, weight, y])
    return product if bias is None else product + importer.tensor(bias)


def _letters_of(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """(the letters of each operand, those of the result) of an einsum, with letters in place of its dots.

    Without a result in the equation it has the dots' letters and then those that occur once, sorted.
    """
    operands, arrow, result = equation.partition("->")
    inputs = operands.split(",")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    counts = [rank - len(each.replace("...", "")) if "..." in each else 0 for each, rank in zip(inputs, ranks)]
    dots = "".join(free[:max(counts)])
    inputs = [each.replace("...", dots[len(dots) - count:]) for each, count in zip(inputs, counts)]
    if arrow:
        return inputs, result.replace("...", dots)
    every = "".join(inputs)
    return inputs, dots + "".join(sorted(letter for letter in set(every) - set(dots) if every.count(letter) == 1))


def _without_repetition(importer: Importer, x: sc.Tensor, letters: str) -> tuple[sc.Tensor, str]:
    """(x, its letters) with the diagonals of letters that occur twice, as the last dimensions."""
    while len(set(letters)) != len(letters):
        letter = next(each for each in letters if letters.count(each) > 1)
        first, second = [dim for dim, each in enumerate(letters) if each == letter][:2]
        x = diagonal_of(importer, x, 0, first, second)
        letters = "".join(each for dim, each in enumerate(letters) if dim not in (first, second)) + letter
    return x, letters


def _product(importer: Importer, operands: tuple[sc.Tensor, sc.Tensor], inputs: list[str], result: str) -> sc.Tensor:
    """An einsum of two tensors as a single batched product: letters of both operands and the result are the batch."""
    x, y = operands
    extents: dict[str, int] = {}
    for letter, extent in zip(inputs[0] + inputs[1], tuple(x.shape) + tuple(y.shape)):
        if extents.setdefault(letter, extent) != extent:
            raise Missing("an einsum that repeats a dimension of size 1 is not supported; expand the operand")
    for number, each in enumerate(inputs):  # letters that only one operand has are summed first
        alone = [dim for dim, letter in enumerate(each) if letter not in inputs[1 - number] + result]
        if alone:
            x, y = [sc.sum(value, alone) if which == number else value for which, value in enumerate((x, y))]
            inputs[number] = "".join(letter for dim, letter in enumerate(each) if dim not in alone)
    both = [letter for letter in inputs[0] if letter in inputs[1] and letter in result]
    summed = [letter for letter in inputs[0] if letter in inputs[1] and letter not in result]
    rows = [letter for letter in inputs[0] if letter not in inputs[1]]
    columns = [letter for letter in inputs[1] if letter not in inputs[0]]

    def matrix(value: sc.Tensor, letters: str, first: list[str], second: list[str]) -> sc.Tensor:
        value = transposed(importer, value, [letters.index(letter) for letter in both + first + second])
        return sc.reshape(value, [extents[letter] for letter in both] + [
            product_of(extents[letter] for letter in part) for part in (first, second)])

    product = sc.matmul(matrix(x, inputs[0], rows, summed), matrix(y, inputs[1], summed, columns))
    made = both + rows + columns
    product = sc.reshape(product, [extents[letter] for letter in made])
    return transposed(importer, product, [made.index(letter) for letter in result])


@op("aten.embedding.default")
def embedding(importer: Importer, table: sc.Tensor, ids: Value, padding: int = -1, by_frequency: bool = False,
              sparse: bool = False) -> sc.Tensor:
    if by_frequency:
        raise Missing("scale_grad_by_freq is not supported; gradients are sums here")
    ids = importer.tensor(ids)
    if is_integer(table):
        return rows_at(importer, table, 0, ids)
    rows = sc.embedding(table, ids)
    if padding < 0:
        return rows
    is_used = sc.reshape(as_type(sc.not_equal(ids, padding), rows.dtype), tuple(ids.shape) + (1,))
    return sc.select(is_used, rows, sc.stop_gradient(rows))  # the row of the padding index is not trained


@op("aten.embedding_bag.default", "aten.embedding_bag.padding_idx", keeps_constants=True)
def embedding_bag(importer: Importer, table: Value, ids: Value, offsets: Value, by_frequency: bool = False,
                  mode: int = 0, sparse: bool = False, factors: Value | None = None, has_last: bool = False,
                  padding: int | None = None) -> list[sc.Tensor | None]:
    """The sum or the mean of the rows of each bag. The bags must be constant, as they are for ids of two dimensions."""
    if by_frequency or mode not in (0, 1) or padding not in (None, -1) or not isinstance(offsets, torch.Tensor):
        raise Missing("mode max, scale_grad_by_freq, padding_idx and offsets of the batch are not supported, "
                      "only sums and means of constant bags")
    if any(user.args[1] != 0 for user in importer.node.users if user.users):
        raise Missing("only its first result is supported")
    count = ids.shape[0]
    offsets = offsets[:-1] if has_last else offsets
    bag = torch.bucketize(torch.arange(count), offsets, right=True) - 1
    rows = sc.embedding(importer.tensor(table), importer.tensor(ids))
    rows = rows if factors is None else rows * sc.reshape(importer.tensor(factors), (count, 1))
    sizes = torch.bincount(bag, minlength=len(offsets))
    dtype = importer.torch_type(rows.dtype)
    if (sizes == count // len(offsets)).all():
        result = sc.sum(sc.reshape(rows, (len(offsets), count // len(offsets), rows.shape[1])), [1])
    else:
        is_in = (bag[None] == torch.arange(len(offsets))[:, None]).to(dtype)
        result = sc.matmul(importer.tensor(is_in), rows)
    if mode == 1:
        result = result * importer.tensor((1.0 / sizes.clamp(min=1)[:, None]).to(dtype))
    return [result, None, None, None]


# ---- Attention ----
def _sees_causally(mask: torch.Tensor, positions: int, keys: int) -> bool | None:
    """True if a constant mask is causal, None if it masks nothing, False otherwise.

    The least number of f32 or bf16, which stands for -infinity in many models, is taken as that: a score that is added
    to it has no digits beside it. The least of f16, -65504, is a number as any other.
    """
    sees = mask if mask.dtype == torch.bool else mask == 0
    if mask.dtype != torch.bool and not (sees | (mask <= torch.finfo(torch.bfloat16).min)).all():
        return False
    if sees.all():
        return None
    return bool(positions == keys and (sees == torch.ones(positions, keys, dtype=torch.bool).tril()).all())


def _bias_of(importer: Importer, mask: Value, dtype: sc.ElementType | None) -> sc.Tensor:
    """What a mask adds to the scores: itself, or of booleans -infinity where a key is not seen, as in PyTorch."""
    bias = importer.tensor(mask)
    if importer.is_boolean_value(mask, importer.args[3:4]):
        bias = sc.select(bias, importer.constant(0.0, bias.dtype), importer.constant(-math.inf, bias.dtype))
    return as_type(bias, dtype)


def _with_a_head(x: sc.Tensor) -> sc.Tensor:
    """[samples, positions, width], or without samples, as [samples, 1, positions, width]."""
    return sc.reshape(x, list(x.shape[:-2] or (1,)) + [1] + list(x.shape[-2:]))


def _folded(x: sc.Tensor, count: int) -> sc.Tensor:
    """x with its first `count` dimensions as one."""
    return sc.reshape(x, [product_of(x.shape[:count])] + list(x.shape[count:]))


def _of_each_sample(importer: Importer, mask: Value | None, samples: Sequence[int]) -> Value | None:
    """A mask for several dimensions of samples as one for these taken together."""
    if mask is None or len(mask.shape) <= 3:  # the same for all samples
        return mask
    shape = list(samples) + list(mask.shape[-3:])
    if isinstance(mask, torch.Tensor):
        return mask.expand(shape).flatten(0, len(samples) - 1)
    return _folded(expand_to(importer, mask, shape), len(samples))


def _wider(importer: Importer, x: sc.Tensor, width: int) -> sc.Tensor:
    """x with zeros behind the elements of its last dimension."""
    missing = list(x.shape[:-1]) + [width - x.shape[-1]]
    return sc.concat([x, importer.graph.constant(type_of(x), missing, 0.0)], len(x.shape) - 1) if missing[-1] else x


@op("aten.scaled_dot_product_attention.default", keeps_constants=True)
def attention(importer: Importer, query: Value, key: Value, value: Value, mask: Value | None = None, p: float = 0.0,
              is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> sc.Tensor:
    query, key, value = [importer.tensor(x) for x in (query, key, value)]
    ranks = [len(x.shape) for x in (query, key, value)]
    if ranks in ([2] * 3, [3] * 3):  # without heads
        query, key, value = [_with_a_head(x) for x in (query, key, value)]
        mask = mask if mask is None or len(mask.shape) <= 2 else mask[:, None] if isinstance(
            mask, torch.Tensor) else _with_a_head(mask)
        of_heads = attention(importer, query, key, value, mask, p, is_causal, scale=scale)
        return sc.reshape(of_heads, importer.shape())
    samples = query.shape[:-3]
    if min(ranks) == max(ranks) > 4 and samples == key.shape[:-3] == value.shape[:-3]:
        query, key, value = [_folded(x, len(samples)) for x in (query, key, value)]
        of_samples = attention(importer, query, key, value, _of_each_sample(importer, mask, samples), p, is_causal,
                               scale=scale)
        return sc.reshape(of_samples, importer.shape())
    if not len(query.shape) == len(key.shape) == len(value.shape) == 4 or query.shape[0] != key.shape[0]:
        raise Missing(
            f"query {list(query.shape)} and key {list(key.shape)} are not supported; they must be [samples, heads, "
            "positions, width] or [samples, positions, width]")
    bias = None
    if isinstance(mask, torch.Tensor):
        causal = _sees_causally(mask, query.shape[2], key.shape[2])
        is_causal = is_causal or causal is True
        mask = mask if causal is False else None
    if mask is not None:
        bias = _bias_of(importer, mask, query.dtype)
    width = value.shape[3]
    if width != query.shape[3]:
        scale = 1 / math.sqrt(query.shape[3]) if scale is None else scale
        query, key, value = [_wider(importer, x, max(width, query.shape[3])) for x in (query, key, value)]
    query, key, value = [transposed(importer, x, [0, 2, 1, 3]) for x in (query, key, value)]
    result = sc.attention(query, key, value, causal=is_causal, bias=bias, dropout=p, scale=scale)
    result = transposed(importer, result, [0, 2, 1, 3])
    return result if width == result.shape[3] else sc.slice(result, 3, 0, width)
