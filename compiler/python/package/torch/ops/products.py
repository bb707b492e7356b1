"""Matrix products and attention."""
import functools
import math
import operator

import splitcast as sc
import torch

from splitcast.torch.ops.shapes import transposed
from splitcast.torch.ops.table import Missing, as_type, expand_to, op, product_of

# ---- Products ----
def rows_of(x):
    """x as a matrix whose rows are those along its last dimension."""
    rows = functools.reduce(operator.mul, x.shape[:-1], 1)
    return x if len(x.shape) == 2 else sc.reshape(x, (rows, x.shape[-1]))


@op("aten.linear.default")
def linear(importer, x, weight, bias=None):
    y = sc.matmul(rows_of(x), weight, transpose_b=True)
    y = y if bias is None else y + bias
    return y if y.shape == importer.shape() else sc.reshape(y, importer.shape())


@op("aten.addmm.default")
def addmm(importer, bias, a, b, *, beta=1, alpha=1):
    if (beta, alpha) != (1, 1):
        raise Missing("beta %s and alpha %s are not supported, only 1 and 1" % (beta, alpha))
    return sc.matmul(a, b) + importer.tensor(bias)


@op("aten.mm.default", "aten.bmm.default")
def mm(importer, a, b):
    return sc.matmul(importer.tensor(a), importer.tensor(b))


@op("aten.baddbmm.default")
def baddbmm(importer, bias, a, b, *, beta=1, alpha=1):
    if (beta, alpha) != (1, 1):
        raise Missing("beta %s and alpha %s are not supported, only 1 and 1" % (beta, alpha))
    return sc.matmul(importer.tensor(a), importer.tensor(b)) + importer.tensor(bias)


@op("aten.matmul.default")
def matmul(importer, a, b):
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
def einsum(importer, equation, operands, path=None):
    """An einsum of two tensors as a single batched product: letters of both operands and the result are the batch."""
    equation = equation.replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    inputs = inputs.split(",")
    if len(inputs) != 2 or not arrow or "." in equation or any(len(set(each)) != len(each) for each in inputs + [result]):
        raise Missing("'%s' is not supported; the equation must have two operands, a result, and no letter twice in "
                      "any of them" % equation)
    x, y = [importer.tensor(operand) for operand in operands]
    extents = dict(zip(inputs[0] + inputs[1], tuple(x.shape) + tuple(y.shape)))
    for number, each in enumerate(inputs):  # letters that only one operand has are summed first
        alone = [dim for dim, letter in enumerate(each) if letter not in inputs[1 - number] + result]
        if alone:
            x, y = [sc.sum(value, alone) if which == number else value for which, value in enumerate((x, y))]
            inputs[number] = "".join(letter for dim, letter in enumerate(each) if dim not in alone)
    both = [letter for letter in inputs[0] if letter in inputs[1] and letter in result]
    summed = [letter for letter in inputs[0] if letter in inputs[1] and letter not in result]
    rows = [letter for letter in inputs[0] if letter not in inputs[1]]
    columns = [letter for letter in inputs[1] if letter not in inputs[0]]

    def matrix(value, letters, first, second):
        value = transposed(importer, value, [letters.index(letter) for letter in both + first + second])
        return sc.reshape(value, [extents[letter] for letter in both] + [
            product_of(extents[letter] for letter in part) for part in (first, second)])

    product = sc.matmul(matrix(x, inputs[0], rows, summed), matrix(y, inputs[1], summed, columns))
    made = both + rows + columns
    product = sc.reshape(product, [extents[letter] for letter in made])
    return transposed(importer, product, [made.index(letter) for letter in result])


@op("aten.embedding.default")
def embedding(importer, table, ids, padding=-1, by_frequency=False, sparse=False):
    if by_frequency:
        raise Missing("scale_grad_by_freq is not supported; gradients are sums here")
    ids = importer.tensor(ids)
    rows = sc.embedding(table, ids)
    if padding < 0:
        return rows
    is_used = sc.reshape(as_type(sc.not_equal(ids, padding), rows.dtype), tuple(ids.shape) + (1,))
    return sc.select(is_used, rows, sc.stop_gradient(rows))  # the row of the padding index is not trained


# ---- Attention ----
def _sees_causally(mask, positions, keys):
    """True if a constant mask is causal, None if it masks nothing, False otherwise."""
    sees = mask if mask.dtype == torch.bool else mask == 0
    if mask.dtype != torch.bool and not (sees | (mask <= torch.finfo(mask.dtype).min / 2)).all():
        return False
    if sees.all():
        return None
    return bool(positions == keys and (sees == torch.ones(positions, keys, dtype=torch.bool).tril()).all())


def _bias_of(importer, mask, dtype):
    """(the bias that a mask adds to the scores, 1 for positions that see a key, else 0), both of four dimensions."""
    unseen = -6e4  # the bias of a key that is not seen: f16 can hold it, too
    if importer.is_boolean_value(mask, importer.node.args[3:4]):
        seen = importer.tensor(mask)
        bias = (seen - 1.0) * -unseen
    else:  # the largest entry of a row becomes 0, which changes no share, so that only what lies far below it is cut off
        mask = importer.tensor(mask)
        seen = sc.compare(mask, importer.constant(-math.inf, mask.dtype), "gt")
        finite = sc.maximum(importer.constant(torch.finfo(importer.torch_type(mask.dtype)).min, mask.dtype), mask)
        rows = (product_of(mask.shape[:-1]), 1, mask.shape[-1])
        largest = sc.stop_gradient(sc.max_pool(sc.reshape(finite, rows), [1, mask.shape[-1]]))
        distance = finite - sc.reshape(largest, tuple(mask.shape[:-1]) + (1,))
        bias = sc.maximum(importer.constant(unseen, mask.dtype), distance)
    shape = [1] * (4 - len(bias.shape)) + list(bias.shape)
    sees = sc.compare(sc.sum(seen, [len(seen.shape) - 1]), importer.constant(0, sc.f32), "gt")
    return as_type(sc.reshape(bias, shape), dtype), as_type(sc.reshape(sees, shape[:3] + [1]), dtype)


@op("aten.scaled_dot_product_attention.default", keeps_constants=True)
def attention(importer, query, key, value, mask=None, p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    query, key, value = [importer.tensor(x) for x in (query, key, value)]
    if not len(query.shape) == len(key.shape) == len(value.shape) == 4 or query.shape[0] != key.shape[0]:
        raise Missing("query %s and key %s are not supported; they must be [samples, heads, positions, width]" % (
            list(query.shape), list(key.shape)))
    bias = sees = None
    if isinstance(mask, torch.Tensor):
        causal = _sees_causally(mask, query.shape[2], key.shape[2])
        is_causal = is_causal or causal is True
        mask = mask if causal is False else None
    if mask is not None:
        bias, sees = _bias_of(importer, mask, query.dtype)
    if value.shape[3] != query.shape[3]:
        raise Missing("values must have the same width as keys")
    query, key, value = [transposed(importer, x, [0, 2, 1, 3]) for x in (query, key, value)]
    result = sc.attention(query, key, value, causal=is_causal, bias=bias, dropout=p, scale=scale)
    result = transposed(importer, result, [0, 2, 1, 3])
    return result if sees is None else sc.select(sees, result, importer.constant(0, result.dtype))
