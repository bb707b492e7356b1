"""Writes vectors.json: inputs and expected outputs of every op of `nn`, computed with NumPy.

    python3 tests/vectors/gen_vectors.py            (needs NumPy; the build and the tests do not)

A case is {op, attributes, operands, results, tolerance, absolute}. A tensor is {type, data}, in row-major order; numbers
that JSON lacks are the strings "nan", "inf" and "-inf", and numbers of f32 are to be rounded to it. An element is right when
|found - expected| <= tolerance |expected| + absolute; with both 0, when its bits are right.

Results are exact (tolerance 0) where IEEE arithmetic leaves no choice: single operations, moved elements, and sums and
products of small multiples of 1/8, which no order of summation rounds. What has an operand of bf16 or f16 is computed in
f32, numbers that attributes give included, and rounded once.
"""
import itertools
import json
import math
import os

import numpy as np
from attention import HALF_TOLERANCE, TOLERANCE, addAttention, attentions, keptStatistics
from ends import ends
from ends_moved import movedEnds
from ends_products import productEnds
from exact_sums import exactParts, squareParts
from parts import logSumExps, partsOfClasses, partsOfTables, takes
from random_words import placedWords
from tensors import CASES, NUMPY_TYPES, RNG, case, eighths, integers, reals, realText, rounded, roundedOnce
from windows import windows

UNARY_SHAPES = [(), (1,), (7,), (2, 3), (0, 3), (2, 1, 2)]
BINARY_SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((1,), (4,)), ((), (2, 2)),
                 ((), ()), ((1, 1), (1, 1)), ((0, 3), (0, 3)), ((0, 3), (1, 3)), ((0, 3), (3,)), ((2, 1, 3), (4, 1))]


# --- Elementwise ------------------------------------------------------------------------------------------------------

def wide(element):
    """The type in which an operation is computed before it is rounded to the element type."""
    return np.float32 if element in ("bf16", "f16") else NUMPY_TYPES[element]


def binary():
    functions = {"nn.add": np.add, "nn.sub": np.subtract, "nn.mul": np.multiply, "nn.div": np.divide}
    for (op, function), element in itertools.product(functions.items(), ["f32", "f64", "bf16", "f16"]):
        for left, right in BINARY_SHAPES if element == "f32" else BINARY_SHAPES[:4]:
            a, b = reals(left, element), rounded(reals(right, "f64", 0.5, 3), element)
            case(op, [(a, element), (b, element)], [(rounded(function(a.astype(wide(element)), b), element), element)])
    for (op, function), element in itertools.product(functions.items(), ["i32", "i64"]):
        for left, right in [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2,))]:
            a, b = integers(left, element), integers(right, element, 1, 9)
            if op == "nn.div":  # towards zero
                quotient = np.abs(a) // b
                case(op, [(a, element), (b, element)], [(np.where(a < 0, -quotient, quotient), element)])
            else:
                case(op, [(a, element), (b, element)], [(function(a, b), element)])
    most = np.array([2**31 - 1, -2**31, 65536], np.int32)
    with np.errstate(over="ignore"):
        case("nn.add", [(most, "i32"), (most, "i32")], [(most + most, "i32")])
        case("nn.mul", [(most, "i32"), (most, "i32")], [(most * most, "i32")])
    zero, one = np.array([0.0, -0.0, 1.0, -1.0], np.float32), np.array([0.0, 1.0, 0.0, -0.0], np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        case("nn.div", [(zero, "f32"), (one, "f32")], [(zero / one, "f32")])
    for element, least in [("i32", -2**31), ("i64", -2**63)]:
        a, b = (np.array(values, NUMPY_TYPES[element])
                for values in ([7, -7, 0, least, least, 7, least], [0, 0, 0, -1, 0, -1, 1]))
        with np.errstate(divide="ignore", over="ignore"):
            case("nn.div", [(a, element), (b, element)], [(a // b, element)])
    huge = np.array([3e38, -3e38, 1e-45], np.float32)
    with np.errstate(over="ignore"):
        case("nn.mul", [(huge, "f32"), (huge, "f32")], [(huge * huge, "f32")])


def unary():
    for element, shape in itertools.product(["f32", "f64", "f16", "bf16"], UNARY_SHAPES):
        x = reals(shape, element)
        positive = reals(shape, element, 0.05, 9)
        case("nn.neg", [(x, element)], [(-x, element)])
        case("nn.sqrt", [(positive, element)], [(rounded(np.sqrt(positive.astype(wide(element))), element), element)])
        case("nn.relu", [(x, element)], [(np.where(x > 0, x, 0).astype(x.dtype), element)])
        for value in (0.1, -2.0, 1.0 / 3.0):
            number, attributes = wide(element)(value), f"value = {value!r} : f64"
            case("nn.scale", [(x, element)], [(rounded(x.astype(wide(element)) * number, element), element)], attributes)
            case("nn.shift", [(x, element)], [(rounded(x.astype(wide(element)) + number, element), element)], attributes)
    for element, shape in itertools.product(["f32", "f64"], UNARY_SHAPES):
        tolerance = TOLERANCE[element]
        x, positive = reals(shape, element), reals(shape, element, 0.05, 9)
        for op, function, argument in [("nn.exp", math.exp, x), ("nn.log", math.log, positive), ("nn.tanh", math.tanh, x)]:
            result = np.vectorize(function, otypes=[np.float64])(argument.astype(np.float64))
            case(op, [(argument, element)], [(rounded(result, element), element)], "", tolerance)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40], np.float32)
    case("nn.relu", [(special, "f32")], [(np.array([np.nan, np.inf, 0, 0, 0, 1e-40], np.float32), "f32")])
    case("nn.neg", [(special, "f32")], [(-special, "f32")])
    with np.errstate(invalid="ignore"):
        case("nn.sqrt", [(special[1:5], "f32")], [(np.sqrt(special[1:5]), "f32")])
        case("nn.exp", [(special[1:5], "f32")], [(np.exp(special[1:5]), "f32")])
    with np.errstate(divide="ignore"):
        case("nn.log", [(special[3:4], "f32")], [(np.log(special[3:4]), "f32")])


def gelu(x, tanh):
    if tanh:
        return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))


def geluSlope(x, tanh):
    if tanh:
        t = math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return (1 + t) / 2 + x / 2 * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    return (1 + math.erf(x / math.sqrt(2))) / 2 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelus():
    for element, shape, tanh in itertools.product(["f32", "f64"], UNARY_SHAPES, [False, True]):
        x, g = reals(shape, element), reals(shape, element)
        attributes, tolerance = "tanh" if tanh else "", TOLERANCE[element]
        # The factor 1 + erf or 1 + tanh cancels for negative x, hence the absolute bound.
        values = np.vectorize(lambda v: gelu(v, tanh), otypes=[np.float64])(x.astype(np.float64))
        slopes = np.vectorize(lambda v: geluSlope(v, tanh), otypes=[np.float64])(x.astype(np.float64))
        case("nn.gelu", [(x, element)], [(rounded(values, element), element)], attributes, tolerance, tolerance)
        case("nn.gelu_grad", [(g, element), (x, element)], [(rounded(g * slopes, element), element)], attributes,
             tolerance, 3 * tolerance)
        case("nn.relu_grad", [(g, element), (x, element)], [(np.where(x > 0, g, 0).astype(g.dtype), element)])
    x = np.array([0.0, -0.0, np.nan, 1.0], np.float32)
    case("nn.relu_grad", [(np.full(4, 2, np.float32), "f32"), (x, "f32")], [(np.array([0, 0, 2, 2], np.float32), "f32")])


def casts():
    numbers = np.array([0.0, -0.0, 1.0, -2.5, 0.1, 3.14159274, 1e-8, 6.1e-5, 65504.0, 1e30, 1.00390625, 1.01171875,
                        np.inf, -np.inf, np.nan, 2049.0, 2051.0], np.float32)
    with np.errstate(over="ignore"):
        for to in ["f32", "f64", "bf16", "f16"]:
            for source in ["f32", "f64", "bf16", "f16"]:
                x = rounded(numbers, source)
                result = rounded(x.astype(np.float32), to) if source == "f16" else rounded(x, to)
                case("nn.cast", [(x, source)], [(result, to)])
    # Near ties between two bf16 or f16, which a rounding to f32 on the way would make ties; too large; too small.
    near = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40, -1 - 2.0**-11 - 2.0**-40,
                     1 + 2.0**-11, 1 + 3 * 2.0**-11 - 2.0**-40, 1e40, -1e300, 65520 - 2.0**-20, 65520.0, 1e-320, 2.0**-134,
                     2.0**-134 + 2.0**-180, -3 * 2.0**-25, 2.0**-25 + 2.0**-60, np.nan, np.inf, -np.inf, -0.0, 3.4e38])
    for to, bits, least, most in [("bf16", 8, -126, 3.3895313892515355e38), ("f16", 11, -14, 65504.0)]:
        case("nn.cast", [(near, "f64")], [(np.array([roundedOnce(x, bits, least, most) for x in near], np.float64), to)])
    # Just above and below the tie between two f32, which bf16 or a second rounding would lose.
    close = np.array([1 + 2.0**-24 + 2.0**-50, 1 + 2.0**-24, 1 - 2.0**-25, 1e40, 1e-320], np.float64)
    with np.errstate(over="ignore"):
        case("nn.cast", [(close, "f64")], [(close.astype(np.float32), "f32")])
    x = np.array([2.9, -2.9, 0.5, -0.5, 100.0], np.float32)
    for to in ["i32", "i64"]:
        case("nn.cast", [(x, "f32")], [(x.astype(NUMPY_TYPES[to]), to)])
    n = np.array([0, 1, -1, 16777217, -2**31, 2**31 - 1], np.int32)
    for to in ["f32", "f64", "i64", "i32"]:
        case("nn.cast", [(n, "i32")], [(n.astype(NUMPY_TYPES[to]), to)])
    long = np.array([0, -1, 2**31, 2**40 + 5, 2**53 + 1, 2**24 + 1, 2**62 + 2**38 + 1], np.int64)
    for to in ["f32", "f64", "i32"]:
        case("nn.cast", [(long, "i64")], [(long.astype(NUMPY_TYPES[to]), to)])
    for shape in [(), (0, 2), (2, 1, 3)]:
        x = reals(shape, "f32")
        case("nn.cast", [(x, "f32")], [(x.astype(np.float64), "f64")])


# --- Shape ------------------------------------------------------------------------------------------------------------

def listAttribute(name, numbers):
    return f"{name} = array<i64" + (": " + ", ".join(map(str, numbers)) if numbers else "") + ">"


def shapes():
    for element, value in itertools.product(["f32", "f64", "bf16", "f16", "i32", "i64"], [0.0, 2.0, 0.1, -7.0]):
        if element[0] == "i" and value != math.trunc(value):
            continue  # an error: no integer is that
        number = rounded(value, element)
        for shape in [(), (3,), (2, 2), (0,)]:
            case("nn.constant", [], [(np.full(shape, number, number.dtype), element)], f"value = {value!r} : f64")
    for element, (source, target) in itertools.product(
            ["f32", "i64"], [((2, 6), (3, 4)), ((12,), (2, 3, 2)), ((2, 3), (6,)), ((), (1, 1)), ((1,), ()),
                             ((0, 5), (3, 0)), ((2, 3), (2, 3)), ((4,), (4, 1))]):
        x = reals(source, element) if element == "f32" else integers(source, element)
        case("nn.reshape", [(x, element)], [(x.reshape(target), element)])
    for element, (target, dims) in itertools.product(
            ["f32", "i32"], [((2, 3), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((2, 3), ()), ((2, 1, 3), (0, 2)),
                             ((0, 2), (0,)), ((2, 0), (0,)), ((2, 3, 4), (1,))]):
        kept = tuple(extent for dim, extent in enumerate(target) if dim not in dims)
        x = reals(kept, element) if element == "f32" else integers(kept, element)
        case("nn.broadcast", [(x, element)], [(np.broadcast_to(np.expand_dims(x, dims), target), element)],
             listAttribute("dims", dims))
    for element, (shape, dim, start, count) in itertools.product(
            ["f32", "i64"], [((5,), 0, 1, 3), ((5,), 0, 0, 5), ((5,), 0, 5, 0), ((2, 6), 1, 4, 2), ((3, 4), 0, 2, 1),
                             ((2, 3, 4), 1, 1, 2), ((2, 3, 4), 2, 0, 1), ((0, 3), 1, 1, 1)]):
        x = reals(shape, element) if element == "f32" else integers(shape, element)
        case("nn.slice", [(x, element)], [(np.take(x, range(start, start + count), dim), element)],
             f"dim = {dim} : i64, start = {start} : i64")
    for element, (dim, parts) in itertools.product(
            ["f32", "i32"], [(0, [(2,), (3,)]), (0, [(2,), (0,), (1,)]), (0, [(0,), (0,)]), (1, [(2, 1), (2, 3), (2, 2)]),
                             (0, [(1, 3)]), (1, [(0, 2), (0, 3)]), (2, [(2, 1, 3), (2, 1, 1)]), (0, [(0,), (4,)])]):
        xs = [reals(s, element) if element == "f32" else integers(s, element) for s in parts]
        case("nn.concat", [(x, element) for x in xs], [(np.concatenate(xs, dim), element)], f"dim = {dim} : i64")


# --- Reductions, products, lookups ------------------------------------------------------------------------------------

def sums():
    subsets = [dims for count in range(4) for dims in itertools.combinations(range(3), count)]
    for element, dims in itertools.product(["f32", "f64"], subsets):
        for shape in [(2, 3, 4), (1, 1, 1), (2, 0, 3), (3, 1, 2)]:
            x = eighths(shape, element)
            case("nn.reduce_sum", [(x, element)], [(x.sum(axis=dims), element)], listAttribute("dims", dims))
    for element, (shape, dims) in itertools.product(["f32", "f64"], [((40,), (0,)), ((5, 17), (1,)), ((17, 5), (0,))]):
        x = reals(shape, element)
        absolute = TOLERANCE[element] * np.abs(x).sum(axis=dims).max()
        exact = x.astype(np.float64).sum(axis=dims)
        case("nn.reduce_sum", [(x, element)], [(rounded(exact, element), element)], listAttribute("dims", dims),
             TOLERANCE[element], absolute)
    case("nn.reduce_sum", [(np.float32(1.5), "f32")], [(np.float32(1.5), "f32")], listAttribute("dims", ()))


def matmuls():
    extents = [(2, 3, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 5, 2), (3, 1, 9)]
    for element, (m, n, k), ta, tb in itertools.product(["f32", "f64"], extents, [False, True], [False, True]):
        a, b = eighths((m, k), element), eighths((k, n), element)
        attributes = ", ".join(name for name, isOn in [("transpose_a", ta), ("transpose_b", tb)] if isOn)
        case("nn.matmul", [(a.T if ta else a, element), (b.T if tb else b, element)], [(a @ b, element)], attributes)
    for element, ta, tb in itertools.product(["f32", "f64"], [False, True], [False, True]):
        a, b = reals((5, 17), element), reals((17, 3), element)
        absolute = TOLERANCE[element] * (np.abs(a) @ np.abs(b)).max()
        attributes = ", ".join(name for name, isOn in [("transpose_a", ta), ("transpose_b", tb)] if isOn)
        product = a.astype(np.float64) @ b.astype(np.float64)
        case("nn.matmul", [(a.T if ta else a, element), (b.T if tb else b, element)], [(rounded(product, element), element)],
             attributes, TOLERANCE[element], absolute)


def embeddings():
    for element, index in itertools.product(["f32", "f64"], ["i32", "i64"]):
        for rows, width, idsShape in [(5, 3, (4,)), (5, 3, (2, 3)), (1, 1, (2,)), (4, 2, ()), (3, 2, (0,)), (2, 0, (3,)),
                                      (6, 2, (2, 1, 2))]:
            table = reals((rows, width), element)
            ids = integers(idsShape, index, 0, rows)
            case("nn.embedding", [(table, element), (ids, index)], [(table[ids], element)])
            gradient = eighths(idsShape + (width,), element)
            result = np.zeros((rows, width), NUMPY_TYPES[element])
            np.add.at(result, ids, gradient)
            case("nn.embedding_grad", [(gradient, element), (ids, index)], [(result, element)])


def crossEntropies():
    for element, index in itertools.product(["f32", "f64"], ["i32", "i64"]):
        for shape, factor in [((3, 4), 1), ((2, 2, 5), 1), ((4,), 1), ((0, 3), 1), ((3, 1), 1), ((2, 6), 300)]:
            logits = rounded(reals(shape, "f64") * factor, element)
            labels = integers(shape[:-1], index, 0, shape[-1])
            gradient = reals(shape[:-1], element)
            x = logits.astype(np.float64)
            shifted = x - x.max(axis=-1, keepdims=True)
            sumExp = np.exp(shifted).sum(axis=-1, keepdims=True)
            oneHot = np.eye(shape[-1])[labels]
            loss = np.log(sumExp)[..., 0] - (shifted * oneHot).sum(axis=-1)
            slope = (np.exp(shifted) / sumExp - oneHot) * gradient.astype(np.float64)[..., None]
            tolerance = TOLERANCE[element]
            case("nn.softmax_cross_entropy", [(logits, element), (labels, index)], [(rounded(loss, element), element)], "",
                 tolerance, tolerance * 3 * factor)
            case("nn.softmax_cross_entropy_grad", [(gradient, element), (logits, element), (labels, index)],
                 [(rounded(slope, element), element)], "", tolerance, tolerance * 3)


# --- Elementwise: angles, comparisons ---------------------------------------------------------------------------------

def angles():
    functions = {"nn.sin": math.sin, "nn.cos": math.cos}

    def add(op, x, element, tolerance):
        result = np.vectorize(functions[op], otypes=[np.float64])(x.astype(np.float64))
        case(op, [(x, element)], [(rounded(result, element), element)], "", tolerance)

    # Far from 0, and close to a multiple of pi / 2, where the angle must be reduced with many digits of pi.
    multiples = np.array([1, 2, 3, 100, 31831, 63661, -20001]) * (math.pi / 2)
    large = {"f32": [1e5, -1e5, 99999.0, 65536.0, -31415.926, 47123.89],
             "f64": [1e9, -1e9, 999999999.0, 2.0**30, 314159265.35897931, -1e8 / 3]}
    for op in functions:
        for element, shape in itertools.product(["f32", "f64"], UNARY_SHAPES + [(19,)]):
            add(op, reals(shape, element), element, TOLERANCE[element])
        for element in ["f32", "f64"]:
            add(op, rounded(large[element], element), element, TOLERANCE[element])
            add(op, rounded(multiples, element), element, TOLERANCE[element])
        add(op, reals((2, 5), "f16", -100, 100), "f16", 1e-3)
        add(op, reals((2, 5), "bf16", -100, 100), "bf16", 8e-3)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    with np.errstate(invalid="ignore"):
        case("nn.sin", [(special, "f32")], [(np.sin(special), "f32")])
        case("nn.cos", [(special, "f32")], [(np.cos(special), "f32")])


def comparisons():
    for source, to in itertools.product(["i32", "i64"], ["f32", "f64", "bf16", "f16", "i32", "i64"]):
        for shape, value in [((), 0), ((7,), -100), ((0, 3), 1), ((2, 1, 17), 1), ((2, 3), -1)]:
            x = integers(shape, source, -2, 2)
            x = np.where(x == -2, value, x).astype(x.dtype)
            case("nn.not_equal", [(x, source)], [(rounded(x != value, to), to)], f"value = {value} : i64")
    ends = np.array([-2**31, 2**31 - 1, 0], np.int32)
    long = np.array([2**40 + 1, 1, 2**63 - 1, -2**63], np.int64)
    for value in (-2**31, 2**31 - 1, 2**32, -2**63):  # no i32 is one of the last two
        case("nn.not_equal", [(ends, "i32")], [(rounded(ends != value, "f32"), "f32")], f"value = {value} : i64")
    for value in (1, 2**40 + 1, -2**63):
        case("nn.not_equal", [(long, "i64")], [(rounded(long != value, "f32"), "f32")], f"value = {value} : i64")


def clamps():
    for element in ("f32", "f64", "bf16", "f16"):
        x = np.concatenate([reals((9,), element), rounded([np.nan, np.inf, -np.inf, 0.5, -1.5], element)])
        case("nn.clamp", [(x, element)], [(np.clip(x, -1.5, 0.5), element)], "least = -1.5 : f64, most = 0.5 : f64")


def selects():
    for element in ("f32", "f64", "bf16", "f16"):
        condition = rounded([0.0, 1.0, -0.0, np.nan, -np.inf, 0.5], element)
        x, y = (np.where(where, rounded([v] * 6, element), reals((6,), element)).astype(rounded([v], element).dtype)
                for v, where in ((np.nan, condition == 0), (np.inf, condition != 0)))
        case("nn.select", [(condition, element), (x, element), (y, element)], [(np.where(condition != 0, x, y), element)])
    condition, x, y = np.array(1.0, np.float32), reals((2, 3), "f32"), reals((3,), "f32")
    case("nn.select", [(condition, "f32"), (x, "f32"), (y, "f32")], [(np.where(condition != 0, x, y), "f32")])
    a, b, c = np.array([[0], [2]], np.int64), np.array([[1, 2, 3]], np.int64), np.array([[-1], [-2]], np.int64)
    case("nn.select", [(a, "i64"), (b, "i64"), (c, "i64")], [(np.where(a != 0, b, c), "i64")])


def nonfinites():
    for element in ("f32", "f64", "bf16", "f16"):
        x = np.concatenate([reals((9,), element), rounded([np.nan, np.inf, -np.inf, 0.0, -1.5], element)])
        case("nn.nonfinite", [(x, element)], [(np.array(3.0), "f64")])
    for shape in ((0, 3), (2, 1, 40)):
        case("nn.nonfinite", [(reals(shape, "f32"), "f32")], [(np.array(0.0), "f64")])
    case("nn.nonfinite", [(np.array(np.inf, np.float32), "f32")], [(np.array(1.0), "f64")])
    case("nn.nonfinite", [(rounded([3e38, -3e38], "f32"), "f32")], [(np.array(0.0), "f64")])


# --- Transposes and products of many matrices -------------------------------------------------------------------------

def transposes():
    for element, (shape, permutation) in itertools.product(
            ["f32", "bf16", "i64"],
            [((), ()), ((5,), (0,)), ((2, 3), (1, 0)), ((2, 3), (0, 1)), ((1, 1), (1, 0)), ((17, 2), (1, 0)),
             ((0, 3), (1, 0)), ((3, 2, 4), (2, 0, 1)), ((3, 2, 4), (1, 2, 0)), ((3, 2, 4), (0, 2, 1)),
             ((2, 3, 1, 4), (3, 1, 0, 2)), ((2, 3, 0, 4), (2, 3, 1, 0)), ((2, 1, 2, 3, 2), (4, 2, 0, 3, 1))]):
        x = integers(shape, element) if element == "i64" else reals(shape, element)
        case("nn.transpose", [(x, element)], [(np.transpose(x, permutation), element)],
             listAttribute("permutation", permutation))


def manyMatmuls():
    def swapped(x, isTransposed):
        return x.swapaxes(-1, -2) if isTransposed else x

    batches = [((1,), (2, 3, 4)), ((3,), (2, 2, 3)), ((2, 3), (1, 4, 2)), ((2, 1, 2), (3, 1, 2)), ((0,), (2, 3, 4)),
               ((2, 0), (2, 3, 4)), ((2,), (0, 3, 2)), ((2,), (2, 0, 3)), ((2,), (2, 3, 0))]
    for element, (batch, (m, n, k)), ta, tb in itertools.product(["f32", "f64"], batches, [False, True], [False, True]):
        a, b = eighths(batch + (m, k), element), eighths(batch + (k, n), element)
        attributes = ", ".join(name for name, isOn in [("transpose_a", ta), ("transpose_b", tb)] if isOn)
        case("nn.matmul", [(swapped(a, ta), element), (swapped(b, tb), element)], [(a @ b, element)], attributes)
    for element in ["f32", "f64"]:
        a, b = reals((3, 4, 19), element), reals((3, 19, 2), element)
        absolute = TOLERANCE[element] * (np.abs(a) @ np.abs(b)).max()
        product = a.astype(np.float64) @ b.astype(np.float64)
        case("nn.matmul", [(a, element), (b, element)], [(rounded(product, element), element)], "", TOLERANCE[element],
             absolute)


# --- Rows -------------------------------------------------------------------------------------------------------------

ROW_SHAPES = [(1,), (7,), (2, 3), (0, 3), (3, 0), (4, 1), (2, 1, 17), (2, 3, 2, 5), (1, 40)]
# One unit in the last place: the only rounding to 11 or 8 bits may fall to the other side.


def softmaxOf(x):
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
        return weights / weights.sum(axis=-1, keepdims=True)


def addSoftmaxGrad(g, y, element, tolerance, absolute):
    g64, y64 = g.astype(np.float64), y.astype(np.float64)
    slope = y64 * (g64 - (g64 * y64).sum(axis=-1, keepdims=True))
    case("nn.softmax_grad", [(g, element), (y, element)], [(rounded(slope, element), element)], "", tolerance, absolute)


def softmaxes():
    for element, shape, factor in itertools.product(["f32", "f64"], ROW_SHAPES, [1, 30]):
        x = rounded(reals(shape, "f64") * factor, element)
        tolerance = TOLERANCE[element]
        # exp turns the rounding of its argument, of up to 180, into a relative error.
        y = rounded(softmaxOf(x.astype(np.float64)), element)
        case("nn.softmax", [(x, element)], [(y, element)], "", 30 * tolerance, tolerance * 1e-3)
        addSoftmaxGrad(reals(shape, element), y, element, tolerance, 10 * tolerance)
    for element, tolerance in HALF_TOLERANCE.items():
        x = reals((3, 6), element)
        y = rounded(softmaxOf(x.astype(np.float64)), element)
        case("nn.softmax", [(x, element)], [(y, element)], "", tolerance, tolerance * 0.1)
        addSoftmaxGrad(reals((3, 6), element), y, element, tolerance, tolerance)
    # Differences that are infinite in f32; rows of one value, whatever its size; nothing but -inf; an infinity.
    huge = np.array([[3e38, -3e38, 3e38, -3e38], [1e30, 1e30, 1e30, 1e30], [-3e38, -3e38, -3e38, -3e38],
                     [0, -np.inf, -np.inf, 0], [-np.inf, -np.inf, -np.inf, -np.inf], [np.inf, 0, 1, 2],
                     [np.nan, 0, 1, 2], [88.0, -88.0, -1000.0, 88.0]])
    for element in ["f32", "f64"]:
        x = rounded(huge, element)
        y = rounded(softmaxOf(x.astype(np.float64)), element)
        case("nn.softmax", [(x, element)], [(y, element)], "", TOLERANCE[element], 1e-37)


def layerNorms():
    rows = [(shape, 0, 1) for shape in ROW_SHAPES]
    rows += [((3, 18), 1000, 1), ((2, 5), 0, 0), ((2, 9), 0, 1e4), ((2, 9), 0, 1e-4)]
    for element, (shape, mean, spread), epsilon in itertools.product(["f32", "f64"], rows, [1e-5, 0.5]):
        x = rounded(mean + spread * reals(shape, "f64"), element)
        w, b, g = reals(shape[-1:], element), reals(shape[-1:], element), reals(shape, element)
        addLayerNorm(x, w, b, g, epsilon, element, TOLERANCE[element])
    for element, tolerance in HALF_TOLERANCE.items():
        x, w, b, g = reals((3, 6), element), reals((6,), element), reals((6,), element), reals((3, 6), element)
        addLayerNorm(x, w, b, g, 0.125, element, tolerance)


def addLayerNorm(x, w, b, g, epsilon, element, tolerance):
    columns = max(x.shape[-1], 1)
    x64, w64, b64, g64 = (values.astype(np.float64) for values in (x, w, b, g))
    mean = x64.sum(axis=-1, keepdims=True) / columns
    scale = 1 / np.sqrt(((x64 - mean)**2).sum(axis=-1, keepdims=True) / columns + epsilon)
    z, h = (x64 - mean) * scale, g64 * w64
    slope = scale * (h - h.sum(axis=-1, keepdims=True) / columns - z * ((h * z).sum(axis=-1, keepdims=True) / columns))
    # The mean of several is off by its last digits; scale magnifies that.
    shift = np.abs(x64).max(initial=0) * tolerance if columns > 1 else 0
    error = shift * scale.max(initial=0)
    attributes = f"epsilon = {realText(epsilon)} : f64"
    case("nn.layer_norm", [(x, element), (w, element), (b, element)], [(rounded(z * w64 + b64, element), element)],
         attributes, tolerance, 5 * (tolerance + error))
    moments = [(rounded(mean[..., 0], element), element), (rounded(scale[..., 0], element), element)]
    case("nn.row_moments", [(x, element)], moments, attributes, 5 * (tolerance + error**2), shift)
    case("nn.layer_norm_grad", [(g, element), (x, element), (w, element)], [(rounded(slope, element), element)],
         attributes, tolerance, 20 * (tolerance + error) * max(1, scale.max(initial=0)))


def ignoredLabels():
    """Labels outside of the classes, and one that is a class; a row that is ignored may hold anything."""
    for element, index in itertools.product(["f32", "f64"], ["i32", "i64"]):
        for shape, ignored in [((4, 3), -100), ((2, 3, 5), 5), ((5, 4), 2), ((6,), -1), ((0, 3), -1),
                               ((3, 18), 2**31 - 1)]:
            logits, gradient = reals(shape, element), reals(shape[:-1], element)
            labels = integers(shape[:-1], index, 0, shape[-1])
            isIgnored = RNG.integers(0, 2, shape[:-1]) == 1 if len(shape) > 1 else np.array(True)
            labels = np.where(isIgnored, np.array(ignored, labels.dtype), labels)
            isIgnored = labels == ignored
            addIgnored(logits, labels, gradient, isIgnored, ignored, element, index)
        logits = np.array([[np.nan, 1, 2], [np.inf, 0, 0], [1, 2, 3], [-np.inf, -np.inf, -np.inf]])
        addIgnored(rounded(logits, element), rounded([-1, -1, 2, -1], index), reals((4,), element),
                   np.array([True, True, False, True]), -1, element, index)
        # The lower half of this number is a label.
        addIgnored(reals((4, 3), element), rounded([0, 1, 2, 1], index), reals((4,), element), np.zeros(4, bool),
                   2**32 + 1, element, index)


def addIgnored(logits, labels, gradient, isIgnored, ignored, element, index):
    x = np.where(isIgnored[..., None], 0, logits.astype(np.float64))
    oneHot = np.eye(logits.shape[-1])[np.where(isIgnored, 0, labels)]
    loss = np.where(isIgnored, 0, np.log(np.exp(x).sum(axis=-1)) - (x * oneHot).sum(axis=-1))
    slope = np.where(isIgnored[..., None], 0, (softmaxOf(x) - oneHot) * gradient.astype(np.float64)[..., None])
    attributes, tolerance = f"ignored = {ignored} : i64", TOLERANCE[element]
    case("nn.softmax_cross_entropy", [(logits, element), (labels, index)], [(rounded(loss, element), element)],
         attributes, tolerance, 3 * tolerance)
    case("nn.softmax_cross_entropy_grad", [(gradient, element), (logits, element), (labels, index)],
         [(rounded(slope, element), element)], attributes, tolerance, 3 * tolerance)


def paddedClasses():
    """Whatever the columns beyond the classes hold counts for nothing."""
    for element, (shape, classes) in itertools.product(
            ["f32", "f64"], [((3, 8), 5), ((2, 3, 20), 19), ((5,), 1), ((4, 36), 36), ((2, 40), 7)]):
        logits, gradient = reals(shape, element), reals(shape[:-1], element)
        labels = integers(shape[:-1], "i64", 0, classes)
        logits[..., classes:] = 100
        x = logits[..., :classes].astype(np.float64)
        oneHot = np.eye(classes)[labels]
        loss = np.log(np.exp(x).sum(axis=-1)) - (x * oneHot).sum(axis=-1)
        slope = np.zeros(shape)
        slope[..., :classes] = (softmaxOf(x) - oneHot) * gradient.astype(np.float64)[..., None]
        attributes, tolerance = f"classes = {classes} : i64", TOLERANCE[element]
        case("nn.softmax_cross_entropy", [(logits, element), (labels, "i64")], [(rounded(loss, element), element)],
             attributes, tolerance, 3 * tolerance)
        case("nn.softmax_cross_entropy_grad", [(gradient, element), (logits, element), (labels, "i64")],
             [(rounded(slope, element), element)], attributes, tolerance, 3 * tolerance)


# --- Random numbers ---------------------------------------------------------------------------------------------------

def placeText(offsets, globalShape):
    return ", ".join([listAttribute("offsets", offsets)] * bool(offsets) +
                     [listAttribute("global_shape", globalShape)] * bool(globalShape))


def addUniform(shape, key, element, offsets=None, globalShape=None):
    bits = 32 if element == "f64" else 24
    words = placedWords(shape, key, offsets, globalShape) >> np.uint32(32 - bits)
    result = rounded(words.astype(np.float64) * 2.0**-bits, element)
    case("nn.uniform", [(np.zeros_like(result), element), (np.int64(key), "i64")], [(result, element)],
         placeText(offsets, globalShape))


def addDropout(shape, key, rate, element, offsets=None, globalShape=None):
    x = reals(shape, element)
    isKept = placedWords(shape, key, offsets, globalShape) >= np.uint32(int(rate * 2.0**32))
    scale = wide(element)(1 / (1 - rate))
    result = rounded(x.astype(wide(element)) * np.where(isKept, scale, 0).astype(wide(element)), element)
    attributes = f"rate = {realText(rate)} : f64"
    attributes += ", " + placeText(offsets, globalShape) if offsets or globalShape else ""
    case("nn.dropout", [(x, element), (np.int64(key), "i64")], [(result, element)], attributes)


KEYS = [0, 1, -1, 2**32, 2**63 - 1, -2**63, 123456789012345]
# Pieces of one tensor of 7 x 6: each what the whole has there.
PIECES = [((0, 0), (7, 6)), ((0, 0), (3, 6)), ((3, 0), (4, 6)), ((2, 3), (5, 2)), ((7, 0), (0, 6)), ((6, 5), (1, 1))]


def dropouts():
    for element, shape in itertools.product(["f32", "f64", "f16", "bf16"], UNARY_SHAPES + [(5, 17)]):
        for rate in (0.1, 0.5):
            addDropout(shape, KEYS[len(CASES) % len(KEYS)], rate, element)
    for key in KEYS:
        addDropout((40,), key, 0.25, "f32")
    for rate in (0.0, 0.9, 1 - 2.0**-33):
        addDropout((30,), 7, rate, "f32")
    for offsets, shape in PIECES:
        addDropout(shape, 42, 0.5, "f32", offsets, (7, 6))
    addDropout((2, 3, 4), 42, 0.5, "f64", (1, 0, 4), (5, 3, 9))
    addDropout((4, 3), 42, 0.5, "f32", None, (4, 3))
    # Indices of more than 32 bits, and a piece that begins below 2^32 and ends above.
    addDropout((3, 8), 42, 0.5, "f32", (2**19, 17), (2**20, 2**20))
    addDropout((20,), 42, 0.5, "f32", (2**32 - 9,), (2**33,))
    addDropout((2, 3), -5, 0.5, "f64", (2**30, 2**31 - 3), (2**31, 2**31))


def uniforms():
    kinds = itertools.product(["f32", "f64", "f16", "bf16"], UNARY_SHAPES + [(5, 17)])
    for number, (element, shape) in enumerate(kinds):
        addUniform(shape, KEYS[number % len(KEYS)], element)
    for offsets, shape in PIECES:
        addUniform(shape, 42, "f32", offsets, (7, 6))


# --- Small floats -----------------------------------------------------------------------------------------------------

def halves():
    for element, tolerance in HALF_TOLERANCE.items():
        halfElements(element, tolerance)
        halfSums(element, tolerance)
        halfRows(element, tolerance)


def halfElements(element, tolerance):
    def result(values):
        return [(rounded(values, element), element)]

    for shape in [(7,), (3, 17), (0, 3)]:
        x, g, positive = reals(shape, element), reals(shape, element), reals(shape, element, 0.05, 9)
        for op, function, argument in [("nn.exp", np.exp, x), ("nn.log", np.log, positive), ("nn.tanh", np.tanh, x)]:
            case(op, [(argument, element)], result(function(argument.astype(np.float64))), "", tolerance)
        for tanh in [False, True]:
            values = np.vectorize(lambda v: gelu(v, tanh), otypes=[np.float64])(x.astype(np.float64))
            slopes = np.vectorize(lambda v: geluSlope(v, tanh), otypes=[np.float64])(x.astype(np.float64))
            attributes = "tanh" if tanh else ""
            case("nn.gelu", [(x, element)], result(values), attributes, tolerance, 1e-6)
            case("nn.gelu_grad", [(g, element), (x, element)], result(g * slopes), attributes, tolerance, 1e-5)
        case("nn.relu_grad", [(g, element), (x, element)], result(np.where(x > 0, g, 0)))
    x, y = reals((2, 6), element), reals((1, 6), element)
    case("nn.reshape", [(x, element)], result(x.reshape((3, 4))))
    case("nn.broadcast", [(x, element)], result(np.broadcast_to(x[:, None], (2, 3, 6))), listAttribute("dims", (1,)))
    case("nn.slice", [(x, element)], result(x[:, 4:]), "dim = 1 : i64, start = 4 : i64")
    case("nn.concat", [(x, element), (y, element)], result(np.concatenate([x, y], 0)), "dim = 0 : i64")
    for index in ["i32", "i64"]:
        ids = integers((2, 9), index, 0, 5)
        table, gradient = reals((5, 6), element), reals((2, 9, 6), element)
        case("nn.embedding", [(table, element), (ids, index)], result(table[ids]))
        total = np.zeros((5, 6))
        np.add.at(total, ids, gradient.astype(np.float64))
        case("nn.embedding_grad", [(gradient, element), (ids, index)], result(total), "", tolerance, 1e-5)


def halfSums(element, tolerance):
    """So many addends that sums of the element type itself would be far off."""
    def addends(shape):
        return rounded(RNG.integers(0, 33, shape) / 16.0, element)

    for shape, dims in [((400,), (0,)), ((2, 300), (1,)), ((300, 2), (0,)), ((20, 2, 9), (0, 2)), ((0, 4), (0,)), ((4, 1), ())]:
        x = addends(shape)
        case("nn.reduce_sum", [(x, element)], [(rounded(x.astype(np.float64).sum(axis=dims), element), element)],
             listAttribute("dims", dims), tolerance, 1e-5)
    for (batch, m, n, k), ta, tb in itertools.product([((), 2, 3, 150), ((2,), 3, 4, 17), ((), 2, 3, 0)], [False, True], [False, True]):
        a, b = addends(batch + (m, k)), addends(batch + (k, n))
        attributes = ", ".join(name for name, isOn in [("transpose_a", ta), ("transpose_b", tb)] if isOn)
        operands = [(x.swapaxes(-1, -2) if isOn else x, element) for x, isOn in [(a, ta), (b, tb)]]
        product = a.astype(np.float64) @ b.astype(np.float64)
        case("nn.matmul", operands, [(rounded(product, element), element)], attributes, tolerance, 1e-5)


def halfRows(element, tolerance):
    for shape, index in [((3, 40), "i32"), ((2, 2, 5), "i64"), ((0, 3), "i64")]:
        logits, gradient = reals(shape, element), reals(shape[:-1], element)
        labels = integers(shape[:-1], index, 0, shape[-1])
        x = logits.astype(np.float64)
        oneHot = np.eye(shape[-1])[labels]
        loss = np.log(np.exp(x).sum(axis=-1)) - (x * oneHot).sum(axis=-1)
        slope = (softmaxOf(x) - oneHot) * gradient.astype(np.float64)[..., None]
        case("nn.softmax_cross_entropy", [(logits, element), (labels, index)], [(rounded(loss, element), element)], "",
             tolerance, 1e-5)
        case("nn.softmax_cross_entropy_grad", [(gradient, element), (logits, element), (labels, index)],
             [(rounded(slope, element), element)], "", tolerance, 1e-6)
    x, w, b, g = reals((2, 70), element), reals((70,), element), reals((70,), element), reals((2, 70), element)
    addLayerNorm(x, w, b, g, 0.125, element, tolerance)
    y = rounded(softmaxOf(x.astype(np.float64)), element)
    case("nn.softmax", [(x, element)], [(y, element)], "", tolerance, 1e-6)
    addAttention((1, 5, 9, 2, 8), 0.3, True, None, None, element, tolerance)


def iotas():
    for element in ["f32", "f64", "bf16", "f16", "i32", "i64"]:
        for shape, dim in [((5,), 0), ((3, 4, 2), 1), ((2, 0), 1)]:
            along = np.arange(shape[dim]).reshape([-1 if d == dim else 1 for d in range(len(shape))])
            result = np.broadcast_to(along, shape).astype(NUMPY_TYPES.get(element, np.float32))
            case("nn.iota", [], [(rounded(result, element), element)], f"dim = {dim} : i64")


def main():
    for family in [binary, unary, gelus, casts, shapes, sums, matmuls, embeddings, crossEntropies, angles, comparisons,
                   transposes, manyMatmuls, softmaxes, layerNorms, ignoredLabels, attentions, dropouts, halves,
                   exactParts, squareParts, clamps, selects, nonfinites, iotas, paddedClasses,
                   logSumExps, takes, partsOfTables, partsOfClasses, keptStatistics, windows, uniforms, ends, movedEnds,
                   productEnds]:
        family()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"cases": [\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]}\n")
    print(f"{len(CASES)} cases of {len({c['op'] for c in CASES})} ops, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
