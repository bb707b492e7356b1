"""Cases of gen_vectors.py at the ends of ranges: of ops that move elements, select them or add them up.

Numbers near the largest have cases of their own: RulesTest makes addends of the others, too, so that a NaN or an
infinity is seen in every row of every op.
"""
import numpy as np
from ends import INF, NAN, NORMAL, SIZES, SUBNORMAL, WIDE, endsOf, quiet
from exact_sums import cut, partsOfSquares, unitsOf
from random_words import placedWords
from tensors import case, rounded

FEWER = ("f32", "f64", "bf16")  # f16 is moved, and computed in f32, as bf16 is
WINDOWS = "kernel = array<i64: 1, 2>, strides = array<i64: 1, {}>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>"


def smallEndsOf(element):
    """8 numbers: all ends but the largest."""
    return rounded([NAN, INF, -INF, 1.0, NORMAL[element], -SUBNORMAL[element], 0.0, -0.0], element)


def largestOf(element):
    return rounded([SIZES[element], -SIZES[element]], element)


def setsOf(element):
    """Both kinds of numbers, as vectors."""
    return smallEndsOf(element), largestOf(element)


def cases(op, operands, result, element, attributes=""):
    """One case, exact, of operands of one element type, but for those that are integers."""
    typed = [(x, element if x.dtype.kind == "f" else "i64") for x in operands]
    case(op, typed, [(result, element)], attributes)


@quiet
def moved():
    for element in FEWER:
        for x in setsOf(element):
            pairs, rows = x.reshape(2, -1), np.stack([x, x[::-1]])
            cases("nn.reshape", [x], pairs, element)
            cases("nn.transpose", [pairs], pairs.T, element, "permutation = array<i64: 1, 0>")
            cases("nn.broadcast", [x], rows[:1].repeat(3, 0), element, "dims = array<i64: 0>")
            cases("nn.slice", [x], x[1:], element, "dim = 0 : i64, start = 1 : i64")
            cases("nn.concat", [pairs, rows], np.concatenate([pairs, rows], 1), element, "dim = 1 : i64")
            case("nn.cast", [(x, element)], [(x.astype(np.float64), "f64")])
    least, most = np.array([-2**31, 2**31 - 1], np.int32), np.array([-2**63, 2**63 - 1], np.int64)
    for x, element in [(least, "i32"), (most, "i64")]:
        case("nn.cast", [(x, element)], [(x.astype(np.float64), "f64")])
        case("nn.not_equal", [(x, element)], [(np.array([0, 1], np.float32), "f32")], f"value = {x[0]} : i64")


@quiet
def lookedUp():
    """What is not looked up has no influence, nor has what another rank has."""
    for element in FEWER:
        for x in setsOf(element):
            ids = np.arange(x.size)
            beside = np.stack([x, np.full_like(x, NAN)], 1)
            cases("nn.take", [beside, 0 * ids], x, element)
            cases("nn.take", [beside[:, ::-1], 1 + 0 * ids], x, element)
            cases("nn.embedding", [x[:, None], ids[::-1]], x[::-1, None], element)
            cases("nn.embedding_grad", [x[:, None], ids[::-1]], x[::-1, None] + 0, element)  # a sum begins with 0
        x = rounded([INF, -INF, NAN, 1, INF, 2], element)
        added = rounded([NAN, NAN, INF, 0], element)
        cases("nn.embedding_grad", [x[:, None], np.array([0, 0, 1, 1, 2, 2])], added[:, None], element)


@quiet
def dropped():
    """As in PyTorch, what is dropped is multiplied by 0."""
    for element in SIZES:
        for x in setsOf(element):
            x = np.stack([x] * 3)
            isKept = placedWords(x.shape, 3, None, None) >= np.uint32(2**31)
            assert isKept.any(0).all() and not isKept.all(0).any()
            result = rounded(x.astype(WIDE[element]) * np.where(isKept, 2, 0).astype(WIDE[element]), element)
            case("nn.dropout", [(x, element), (np.int64(3), "i64")], [(result, element)], "rate = 0.5 : f64")


@quiet
def pooled():
    for element in FEWER:
        for x in setsOf(element):
            positions = np.arange(x.size) % 2
            result = np.zeros((1, 2 * x.size), x.dtype)
            result[0, 2 * np.arange(x.size) + positions] += x
            cases("nn.max_pool_grad", [x[None], positions[None]], result, element,
                  f"extents = array<i64: 1, {2 * x.size}>, " + WINDOWS.format(2))
        zeros = rounded([[-0.0, -0.0, -1.0]], element)
        pool = WINDOWS.format(1)
        cases("nn.max_pool", [zeros], zeros[:, :2], element, pool)
        case("nn.max_pool_positions", [(zeros, element), (zeros[:, :2], element)], [(np.array([[0, 0]]), "i64")], pool)
        g, positions = rounded([[INF, -INF, NAN, 1, NAN]], element), np.array([[1, 0, 2, 0, 1]])  # there is no tap 2
        result = rounded([[0, NAN, 0, 1, 0, NAN]], element)
        cases("nn.max_pool_grad", [g, positions], result, element, "extents = array<i64: 1, 6>, " + pool)


@quiet
def exactParts():
    """From 2^128 on a number counts as infinite; the last unit is 2^-153."""
    for element in ("f64", "bf16"):
        x = np.concatenate(setsOf(element))
        wide = np.where(np.abs(x) < 2.0**128, x.astype(np.float64), x * np.float64(INF))
        parts = cut(np.where(np.isfinite(wide), wide, 0), unitsOf(6))
        for number, part in enumerate(parts):
            part = np.where(np.isnan(wide), NAN, np.where(np.isinf(wide) & (number == 0), wide, part))
            case("nn.exact_part", [(x, element)], [(part, "f64")], f"of = 6 : i64, part = {number} : i64")
        if element == "f64":
            rest = np.where(np.isfinite(wide) & (np.abs(wide) < 2.0**-153) & (wide != 0), INF, 0.0)
            case("nn.exact_rest", [(x, "f64")], [(rest, "f64")], "of = 6 : i64")
    for element in SIZES:  # a number in one part; what is infinite or no number is so from the first part on
        parts = [rounded([NAN, INF, -INF, 0.0, -0.0], "f64")] + 5 * [rounded([0.0] * 4 + [-0.0], "f64")]
        parts[1:] = [np.where(np.isnan(parts[0]), NAN, part) for part in parts[1:]]
        case("nn.exact_sum", [(part, "f64") for part in parts], [(rounded(parts[0] + 0.0, element), element)])


@quiet
def squares():
    for element in ("f32", "bf16", "f64"):
        small, largest = setsOf(element)
        finite = small[np.isfinite(small)]
        count = 103 if element == "f64" else 28
        infinite = np.zeros(count)
        infinite[0] = INF
        case("nn.square_parts", [(finite, element)], [(partsOfSquares(finite, element), "f64")])
        case("nn.square_parts", [(largest, element)],
             [(infinite if element == "f64" else partsOfSquares(largest, element), "f64")])
        case("nn.square_parts", [(small[1:3], element)], [(infinite, "f64")])
        case("nn.square_parts", [(small[:1], element)], [(np.full(count, NAN), "f64")])
    x = endsOf("f64")
    case("nn.sum_parts", [(x, "f64"), (x[::-1], "f64")], [(x + x[::-1], "f64")])
    for value in (NAN, INF, -INF, SIZES["f64"], NORMAL["f64"], SUBNORMAL["f64"], 0.0, -0.0):
        parts = np.zeros(28)
        parts[3] = value
        case("nn.total_of_parts", [(parts, "f64")], [(np.array(value + 0.0), "f64")])


def movedEnds():
    for family in (moved, lookedUp, dropped, pooled, exactParts, squares):
        family()
