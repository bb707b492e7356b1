"""Cases of gen_vectors.py at the ends of ranges: NaN, infinities, the largest and the smallest normal and subnormal
numbers, and both zeros.

Functions of f32 may give 0 where the result is subnormal, so that such cases allow for an error of FLUSHED. What ops do
otherwise than NumPy, their descriptions say: nn.log of a subnormal f32, nn.layer_norm whose squares are not finite.
"""
import itertools
import math

import numpy as np
from attention import attentionOf, keptOf
from tensors import case, realText, rounded

TOLERANCE = {"f32": 1e-6, "f64": 1e-14, "bf16": 2**-8, "f16": 2**-10}
# Largest, smallest normal, smallest subnormal and another subnormal number.
SIZES = {"f32": (2 - 2.0**-23) * 2.0**127, "f64": (2 - 2.0**-52) * 2.0**1023, "bf16": (2 - 2.0**-7) * 2.0**127,
         "f16": 65504.0}
NORMAL = {"f32": 2.0**-126, "f64": 2.0**-1022, "bf16": 2.0**-126, "f16": 2.0**-14}
SUBNORMAL = {"f32": 2.0**-149, "f64": 2.0**-1074, "bf16": 2.0**-133, "f16": 2.0**-24}
FLUSHED = {"f32": 2.5e-38, "f64": 0, "bf16": 2.5e-38, "f16": 0}  # exp of -86.6, from where GPUs give 0
WIDE = {"f32": np.float32, "f64": np.float64, "bf16": np.float32, "f16": np.float32}
INF, NAN = np.inf, np.nan


def endsOf(element):
    sizes = [INF, SIZES[element], 1.0, NORMAL[element], 3 * SUBNORMAL[element], SUBNORMAL[element], 0.0]
    return rounded([NAN] + [sign * size for size in sizes for sign in (1, -1)], element)


def quiet(function):
    """Overflow and what is no number are the subject here, no reason for warnings."""
    def inner(*operands):
        with np.errstate(all="ignore"):
            return function(*operands)
    return inner


@quiet
def arithmetic():
    """One rounding of the exact result, and moved elements: the bits are those of NumPy."""
    for element in SIZES:
        x, wide = endsOf(element), WIDE[element]
        column = x.reshape(-1, 1)
        for op, function in [("nn.add", np.add), ("nn.sub", np.subtract), ("nn.mul", np.multiply), ("nn.div", np.divide)]:
            case(op, [(column, element), (x, element)],
                 [(rounded(function(column.astype(wide), x.astype(wide)), element), element)])
        case("nn.neg", [(x, element)], [(-x, element)])
        case("nn.relu", [(x, element)], [(np.where(x > 0, x, np.where(np.isnan(x), x, 0)).astype(x.dtype), element)])
        case("nn.sqrt", [(x, element)], [(rounded(np.sqrt(x.astype(wide)), element), element)])
        case("nn.stop_gradient", [(x, element)], [(x, element)])
        case("nn.clamp", [(x, element)], [(np.clip(x, -1.5, np.inf), element)],
             "least = -1.5 : f64, most = 0x7FF0000000000000 : f64")
        for value in (-2.0, 0.0):
            attributes = f"value = {value!r} : f64"
            case("nn.scale", [(x, element)], [(rounded(x.astype(wide) * wide(value), element), element)], attributes)
            case("nn.shift", [(x, element)], [(rounded(x.astype(wide) + wide(value), element), element)], attributes)
        case("nn.select", [(x, element), (x, element), (-x, element)], [(np.where(x != 0, x, -x), element)])
        case("nn.relu_grad", [(x, element), (x[::-1], element)],
             [(np.where(x[::-1] <= 0, 0, x).astype(x.dtype), element)])
        case("nn.nonfinite", [(x, element)], [(np.array(3.0), "f64")])
        for name, function in [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("ge", np.greater_equal)]:
            case("nn.compare", [(column, element), (x, element)], [(function(column, x).astype(np.float32), "f32")],
                 f'predicate = "{name}"')


@quiet
def functions():
    def gelu(v):
        return v / 2 * (1 + math.erf(v / math.sqrt(2)))
    for element in SIZES:
        x = np.concatenate([endsOf(element), rounded([-80.0, -88.5, -95.0, -103.0, -1000.0, 80.0, 1000.0], element)])
        wide = x.astype(np.float64)
        isSmall = (np.abs(x) < NORMAL[element]) & (x != 0) if element in ("f32", "bf16") else np.zeros(x.shape, bool)
        for op, function, of in [("nn.exp", np.exp, wide), ("nn.log", np.log, np.where(isSmall, 2.0, wide)),
                                 ("nn.tanh", np.tanh, wide), ("nn.sigmoid", lambda v: 1 / (1 + np.exp(-v)), wide),
                                 ("nn.erf", np.vectorize(math.erf), wide),
                                 ("nn.sin", np.sin, wide), ("nn.cos", np.cos, wide)]:
            case(op, [(rounded(of, element), element)], [(rounded(function(of), element), element)], "",
                 4 * TOLERANCE[element], FLUSHED[element])
        of = np.where(np.isneginf(wide), -50.0, wide)  # -inf * 0 is NaN
        case("nn.gelu", [(rounded(of, element), element)], [(rounded(np.vectorize(gelu)(of), element), element)], "",
             4 * TOLERANCE[element], max(FLUSHED[element], TOLERANCE[element]))


def rowsOfEnds(element):
    """Rows of which no function of them all overflows, and what makes them infinite or no number."""
    most, least, tiny = SIZES[element], NORMAL[element], SUBNORMAL[element]
    return rounded([[most, -most, 0], [most, most, most], [-most, -most, -most], [least, -least, 0], [tiny, -tiny, 0],
                    [0.0, -0.0, 0.0], [-INF, 0, 1], [-INF, -most, -INF], [-INF, -INF, -INF], [INF, 0, 1], [INF, -INF, INF],
                    [NAN, 0, 1], [NAN, -INF, INF], [-INF, NAN, -INF], [-90, 0, 0], [1e4, 1e4 - 1, 1e4 - 3]], element)


def softmaxOf(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@quiet
def rows():
    for element in SIZES:
        x = rowsOfEnds(element)
        wide, tolerance = x.astype(np.float64), 4 * TOLERANCE[element]
        case("nn.softmax", [(x, element)], [(rounded(softmaxOf(wide), element), element)], "", tolerance, FLUSHED[element])
        y = softmaxOf(wide)
        y = rounded(np.where(np.isnan(y), 0, y), element)
        g = rounded(np.where(np.isnan(wide), 1, np.clip(wide, -1e4, 1e4)), element)
        product = g.astype(np.float64) * y.astype(np.float64)
        slope = y.astype(np.float64) * (g - product.sum(axis=-1, keepdims=True))
        case("nn.softmax_grad", [(g, element), (y, element)], [(rounded(slope, element), element)], "", tolerance,
             1e4 * tolerance)
        largest = wide.max(axis=-1)
        shift = np.where(np.isneginf(largest), 0, largest)
        logSum = np.log(np.exp(wide - shift[:, None]).sum(axis=-1))
        whole = np.where(np.isposinf(largest), largest, shift + logSum)
        case("nn.log_sum_exp", [(x, element)], [(rounded(whole, element), element)], "", tolerance, FLUSHED[element])
        lossesOf(x, largest, logSum, element, tolerance)


def lossesOf(x, largest, logSum, element, tolerance):
    wide = x.astype(np.float64)
    for label in range(x.shape[-1]):
        labels = np.full(x.shape[0], label, np.int64)
        losses = (largest - wide[:, label]) + logSum
        losses[np.isneginf(largest)] = NAN  # no class has a probability
        case("nn.softmax_cross_entropy", [(x, element), (labels, "i64")], [(rounded(losses, element), element)], "",
             tolerance, tolerance)
        slope = softmaxOf(wide) - np.eye(x.shape[-1])[label]
        one = rounded(np.ones(x.shape[0]), element)
        case("nn.softmax_cross_entropy_grad", [(one, element), (x, element), (labels, "i64")],
             [(rounded(slope, element), element)], "", tolerance, tolerance)
    # A padding is not read; a label's class may be the only one that is possible.
    padded = np.concatenate([x, np.flip(x, -1)], -1)
    labels = np.zeros(x.shape[0], np.int64)
    losses = (largest - wide[:, 0]) + logSum
    losses[np.isneginf(largest)] = NAN
    case("nn.softmax_cross_entropy", [(padded, element), (labels, "i64")], [(rounded(losses, element), element)],
         "classes = 3 : i64", tolerance, tolerance)


@quiet
def sums():
    for element in SIZES:
        most, tiny = SIZES[element], SUBNORMAL[element]
        x = rounded([[most, 0, -0.0], [most, most, most], [most, -most, 0], [-most, -most, -most], [tiny, tiny, tiny],
                     [tiny, -tiny, 0], [NORMAL[element], 0, 0], [INF, 1, 2], [-INF, 1, -most], [INF, -INF, 0], [NAN, 1, INF],
                     [-0.0, -0.0, -0.0]], element)
        total = x.astype(WIDE[element]).sum(axis=-1)
        total[-1] = 0.0  # a sum begins with 0
        case("nn.reduce_sum", [(x, element)], [(rounded(total, element), element)], "dims = array<i64: 1>")


@quiet
def maxima():
    attributes = "kernel = array<i64: 1, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 1>, dilation = array<i64: 1, 1>"
    for element in SIZES:
        x = rowsOfEnds(element)[:, None]
        x = np.where(x == 0, rounded(0.0, element), x)  # of both zeros, either is the largest
        y, positions = np.zeros(x.shape), np.full(x.shape, 3, np.int64)
        for row, window in itertools.product(range(x.shape[0]), range(3)):
            taps = {tap: x[row, 0, window + tap - 1] for tap in range(3) if 0 <= window + tap - 1 < 3}
            y[row, 0, window] = NAN if any(np.isnan(v) for v in taps.values()) else max(taps.values())
            for tap in sorted(taps, reverse=True):  # the first of the largest; of NaNs the last
                if taps[tap] == y[row, 0, window]:
                    positions[row, 0, window] = tap
            for tap in sorted(taps):
                if np.isnan(taps[tap]):
                    positions[row, 0, window] = tap
        y = rounded(y, element)
        case("nn.max_pool", [(x, element)], [(y, element)], attributes)
        case("nn.max_pool_positions", [(x, element), (y, element)], [(positions, "i64")], attributes)


@quiet
def attentions():
    """Scores of very unlike size; what is not seen may be anything. (An infinite query or key of f32 gives NaN where
    products are made of two parts.)"""
    for element, causal, masks in itertools.product(("f32", "f64"), (False, True), (False, True)):
        most = math.sqrt(SIZES[element]) / 4
        q = rounded([1.0, most, -most, -1e4, -INF if element == "f64" else -7.0, 0.0], element).reshape(1, 6, 1, 1)
        k = rounded([1.0, most, 1.0, -most, 3e4, 2.0], element).reshape(1, 6, 1, 1)
        v = rounded([3.0, 1.0, -2.0, 0.5, 4.0, 1.5], element).reshape(1, 6, 1, 1)
        if masks:
            k[0, 1], k[0, 4] = NAN, INF
        mask = np.array([[1, 0, 1, 1, 0, -1]]) if masks else None
        g = rounded([1.0, 2.0, -1.0, 0.5, 1.0, 3.0], element).reshape(1, 6, 1, 1)
        scale = 0.5
        addAttention(q, k, v, g, mask, scale, causal, element)
    for element in ("f32", "f64"):  # rows whose scores are all low, or all -inf
        for low in (-SIZES[element] / 2, -1e9) + ((-INF, ) if element == "f64" else ()):
            q, k = rounded([[low, low]], element).reshape(1, 2, 1, 1), rounded([[1.0, 1.0, 1.0]], element).reshape(1, 3, 1, 1)
            v, g = rounded([[1.0, 2.0, 4.0]], element).reshape(1, 3, 1, 1), rounded([[1.0, 1.0]], element).reshape(1, 2, 1, 1)
            for causal, mask in itertools.product((False, True), (None, np.array([[0, 1, 1]]), np.array([[0, 0, 0]]))):
                addAttention(q, k, v, g, mask, 1.0, causal, element)


def addAttention(q, k, v, g, mask, scale, causal, element):
    wide = [x.astype(np.float64) for x in (q, k, v, g)]
    output = attentionOf(*wide, mask, scale, causal)[0]
    statistics = keptOf(wide[0], wide[1], mask, scale, causal)[2]
    operands = [(q, element), (k, element), (v, element)] + ([] if mask is None else [(mask, "i64")])
    attributes = ("causal, " if causal else "") + f"scale = {realText(scale)} : f64"
    tolerance = 8 * TOLERANCE[element]
    result = (rounded(output, element), element)
    case("nn.attention", operands, [result], attributes, tolerance, tolerance)
    case("nn.attention", operands, [result, (rounded(statistics, element), element)], attributes, tolerance, tolerance)


def ends():
    for family in (arithmetic, functions, rows, sums, maxima, attentions):
        family()
