"""Cases of gen_vectors.py at the ends of ranges: of products, norms and gradients, each operand in turn.

Beside an end are other numbers and zeros: an infinity times 0 is no number, and no library may leave a product out. No
sum depends on its order: none becomes infinite on the way to a number that is not.
"""
import math

import numpy as np
from attention import attentionOf, keptOf
from ends import FLUSHED, INF, NAN, NORMAL, SIZES, SUBNORMAL, TOLERANCE, WIDE, quiet
from ends_moved import FEWER, setsOf
from tensors import case, realText, rounded

TAPS = "strides = array<i64: 1, 1>, padding = array<i64: 0, {}>, dilation = array<i64: 1, 1>"


def product(op, operands, result, element, attributes=""):
    """Exact, but for the sign of a zero, and of tiny numbers, which a sum may lose to 0."""
    case(op, [(rounded(x, element), element) for x in operands], [(rounded(result + 0.0, element), element)], attributes, 0,
         FLUSHED[element] or SUBNORMAL[element] / 4)


@quiet
def matmuls():
    for element in SIZES:
        for x in setsOf(element):
            wide = x.astype(np.float64)
            one, zero = np.ones_like(wide), np.zeros_like(wide)
            a, b = np.stack([wide, one, zero], 1), np.array([[1.0, 0.5, 0.0], [2.0, 0.0, 1.0], [-1.0, 4.0, 3.0]])
            product("nn.matmul", [a, b], a @ b, element)
            product("nn.matmul", [b.T, a], b.T @ a.T, element, "transpose_b")
            if element == "f16":
                continue
            product("nn.matmul", [a.T, b], a @ b, element, "transpose_a")
            many = np.stack([a, a[::-1]])
            product("nn.matmul", [many, np.stack([b, b])], many @ b, element)


@quiet
def convolutions():
    for element in FEWER:
        for x in setsOf(element):
            wide, count = x.astype(np.float64), x.size
            beside = np.stack([wide, np.ones(count)], 1)
            taps, ones = np.array([1.0, 0.0]), np.array([1.0, 0.0, 2.0])
            # The input, with a tap of 1 and one of 0 each; the weight, over a 1, a 0 and a 2.
            product("nn.convolution", [beside.reshape(count, 1, 1, 2), taps.reshape(2, 1, 1, 1)],
                    (beside[:, None, :] * taps[:, None]).reshape(count, 2, 1, 2), element, TAPS.format(0))
            windows = np.stack([wide * 1 + 0, wide * 0 + 2], 1)
            product("nn.convolution", [ones.reshape(1, 1, 1, 3), beside.reshape(count, 1, 1, 2)],
                    windows.reshape(1, count, 1, 2), element, TAPS.format(0))
            product("nn.convolution_data_grad", [wide.reshape(count, 1, 1, 1), taps.reshape(1, 1, 1, 2)],
                    (wide[:, None] * taps).reshape(count, 1, 1, 2), element, TAPS.format(0))
            product("nn.convolution_data_grad", [taps.reshape(2, 1, 1, 1), wide.reshape(1, 1, 1, count)],
                    (taps[:, None] * wide).reshape(2, 1, 1, count), element, TAPS.format(0))
            product("nn.convolution_weight_grad", [wide.reshape(1, count, 1, 1), taps.reshape(1, 1, 1, 2)],
                    (wide[:, None] * taps).reshape(count, 1, 1, 2), element, TAPS.format(0))
            product("nn.convolution_weight_grad", [taps.reshape(1, 2, 1, 1), wide.reshape(1, 1, 1, count)],
                    (taps[:, None] * wide).reshape(2, 1, 1, count), element, TAPS.format(0))
        # Around an image there are zeros, which the gradient of the input does not have.
        x, w, g = np.array([1.0, NAN, 3.0]), np.array([2.0, 1.0, -1.0]), np.array([1.0, 2.0, 4.0])
        product("nn.convolution", [x.reshape(1, 1, 1, 3), w.reshape(1, 1, 1, 3)], np.full((1, 1, 1, 3), NAN), element,
                TAPS.format(1))
        w = np.array([INF, 1.0, -1.0])
        product("nn.convolution_data_grad", [g.reshape(1, 1, 1, 3), w.reshape(1, 1, 1, 3)],
                np.array([INF, INF, 2.0]).reshape(1, 1, 1, 3), element, TAPS.format(1))


def geluSlope(x, tanh):
    if not tanh:
        erf = np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64) / math.sqrt(2))
        return (1 + erf) / 2 + x * np.exp(-(x.astype(np.float64)**2) / 2) / math.sqrt(2 * math.pi)
    number = x.dtype.type
    inner = number(math.sqrt(2 / math.pi)) * (x + x * x * x * number(0.044715))
    t, slope = np.tanh(inner), number(math.sqrt(2 / math.pi)) * (1 + number(3 * 0.044715) * (x * x))
    return (1 + t) / 2 + x / 2 * (1 - t * t) * slope


@quiet
def gelus():
    for element in FEWER:
        tolerance = 8 * TOLERANCE[element]
        for x in setsOf(element):
            for tanh in (False, True):
                attributes = "tanh" if tanh else ""
                column, points = x[:, None], rounded([0.5, -2.0], element)
                slopes = column.astype(np.float64) * geluSlope(points.astype(np.float64), tanh)
                case("nn.gelu_grad", [(column, element), (points, element)], [(rounded(slopes, element), element)],
                     attributes, tolerance, FLUSHED[element] or SUBNORMAL[element])
                slopes = geluSlope(x.astype(WIDE[element]), tanh)
                case("nn.gelu_grad", [(np.ones_like(x), element), (x, element)], [(rounded(slopes, element), element)],
                     attributes, tolerance, tolerance)
            wide = x.astype(WIDE[element])
            number = wide.dtype.type
            inner = number(math.sqrt(2 / math.pi)) * (wide + wide * wide * wide * number(0.044715))
            case("nn.gelu", [(x, element)], [(rounded(wide / 2 * (1 + np.tanh(inner)), element), element)], "tanh",
                 tolerance, FLUSHED[element] or SUBNORMAL[element])


@quiet
def softmaxGrads():
    for element in FEWER:
        tolerance = 8 * TOLERANCE[element]
        for x in setsOf(element):
            beside = np.stack([x, np.ones_like(x), 2 * np.ones_like(x)], 1)
            others = np.broadcast_to(rounded([0.5, 0.25, 0.25], element), beside.shape)
            for g, y in ((beside, others), (others, beside)):
                wide, weights = g.astype(np.float64), y.astype(np.float64)
                slope = weights * (wide - (wide * weights).sum(-1, keepdims=True))
                case("nn.softmax_grad", [(g, element), (y, element)], [(rounded(slope, element), element)], "", tolerance,
                     tolerance)
            logits = np.broadcast_to(rounded([0.5, 0.0, -1.0], element), beside.shape)
            logSum = np.log(np.exp(logits[0].astype(np.float64)).sum())
            softmax = np.exp(logits.astype(np.float64) - logSum)
            labels = np.zeros(x.size, np.int64)
            slope = (softmax - np.eye(3)[labels]) * x.astype(np.float64)[:, None]
            operands = [(x, element), (logits, element), (labels, "i64")]
            case("nn.softmax_cross_entropy_grad", operands, [(rounded(slope, element), element)], "", tolerance, tolerance)
            softmax = np.exp(logits.astype(np.float64) - x.astype(np.float64)[:, None])
            operands = [(np.ones_like(x), element), (logits, element), (labels, "i64"), (x, element)]
            case("nn.softmax_cross_entropy_grad", operands, [(rounded(softmax - np.eye(3)[labels], element), element)], "",
                 tolerance, tolerance)


def normOf(x, epsilon):
    """Mean, 1 / sqrt(variance + epsilon) and what is normalized, in the type of x, as ops compute them."""
    number = x.dtype.type
    mean = x.sum(-1, keepdims=True) * number(1 / x.shape[-1])
    variance = ((x - mean)**2).sum(-1, keepdims=True) * number(1 / x.shape[-1])
    scale = 1 / np.sqrt(variance + number(epsilon))
    return mean, scale, (x - mean) * scale


def rowsOfEnds(element):
    most, least, tiny = SIZES[element], NORMAL[element], SUBNORMAL[element]
    large = {"f64": 1e150}.get(element, 1e18)  # whose square is finite
    small = [[NAN, 0, 1], [INF, 0, 1], [-INF, 0, 1], [INF, -INF, 0], [least, -least, 0], [tiny, -tiny, 0], [0.0, -0.0, 0.0]]
    return [rounded(rows, element) for rows in (small, [[most, -most, 0], [-most, -most, -most], [most, 0, 0], [large, -large, 0]])]


def addNorms(x, w, b, g, element):
    epsilon, tolerance = 0.125, 8 * TOLERANCE[element]
    wide = [each.astype(WIDE[element]) for each in (x, w, b, g)]
    mean, scale, z = normOf(wide[0], epsilon)
    number, attributes = mean.dtype.type, f"epsilon = {realText(epsilon)} : f64"
    operands = [(x, element), (w, element), (b, element)]
    absolute = tolerance * max(1.0, *(float(np.abs(each[np.isfinite(each)]).max(initial=0)) for each in wide[1:]))
    case("nn.layer_norm", operands, [(rounded(z * wide[1] + wide[2], element), element)], attributes, tolerance, absolute)
    h, part = wide[3] * wide[1], number(1 / x.shape[-1])
    means = [h.sum(-1, keepdims=True) * part, (h * z).sum(-1, keepdims=True) * part]
    slope = (h - means[0] - z * means[1]) * scale
    case("nn.layer_norm_grad", [(g, element), (x, element), (w, element)], [(rounded(slope, element), element)], attributes,
         tolerance, 8 * absolute)
    if x.shape[-1] > 3:  # and no others than before
        return
    case("nn.row_moments", [(x, element)], [(rounded(mean[:, 0], element), element), (rounded(scale[:, 0], element), element)],
         attributes, tolerance, tolerance)


@quiet
def norms():
    for element in FEWER:
        w, b, g = (rounded(values, element) for values in ([2.0, 0.5, -1.0], [0.0, 1.0, 0.25], [1.0, 2.0, -3.0]))
        for x in rowsOfEnds(element):
            addNorms(x, w, b, np.broadcast_to(g, x.shape), element)
        for ends in setsOf(element):
            x = rounded(np.arange(ends.size)[None] / 4, element)
            one = np.ones_like(ends)
            addNorms(x, ends, one, one[None], element)
            addNorms(x, one, ends, one[None], element)
            g = np.stack([ends, np.ones_like(ends), 2 * np.ones_like(ends)], 1)
            three = rounded([1.0, 1.0, 1.0], element)
            addNorms(np.broadcast_to(rounded([0.5, 0.0, -1.0], element), g.shape), three, three, g, element)


def addAttentions(q, k, v, g, element):
    """A sample for each end; without and with statistics, which have no digits beside a large score."""
    scale, tolerance = 0.5, 8 * TOLERANCE[element]
    size = max(1.0, *(float(np.abs(each[np.isfinite(each)]).max()) for each in (v, g)))  # what differences are of
    hasLargeScores = (np.abs(np.concatenate([q, k], 1)) == SIZES[element]).any()
    q, k, v, g = (rounded(each, element) for each in (q, k, v, g))
    wide = [each.astype(np.float64) for each in (q, k, v, g)]
    results = [rounded(each, element) for each in attentionOf(*wide, None, scale, False)]
    attributes, kept = f"scale = {realText(scale)} : f64", "f64" if element == "f64" else "f32"
    operands = [(q, element), (k, element), (v, element)]
    case("nn.attention", operands, [(results[0], element)], attributes, tolerance, tolerance * size)
    case("nn.attention_grad", [(g, element)] + operands, [(each, element) for each in results[1:]], attributes, tolerance,
         tolerance * size)
    if element != "f32" or hasLargeScores:
        return
    seen, scores, statistics = keptOf(wide[0], wide[1], None, scale, False)
    statistics = rounded(statistics, kept)
    p = np.where(seen, np.exp(scores - statistics.astype(np.float64)[..., None]), 0)
    dot = np.einsum("bthe,bthe->bht", wide[3], results[0].astype(np.float64))
    ds = scale * p * (np.einsum("bthe,bshe->bhts", wide[3], wide[2]) - dot[..., None])
    gradients = (np.einsum("bhts,bshe->bthe", ds, wide[1]), np.einsum("bhts,bthe->bshe", ds, wide[0]),
                 np.einsum("bhts,bthe->bshe", p, wide[3]))
    case("nn.attention_grad", [(g, element)] + operands + [(results[0], element), (statistics, kept)],
         [(rounded(each, element), element) for each in gradients], attributes, tolerance, tolerance * size)


@quiet
def attentions():
    for element in FEWER:
        for x in setsOf(element):
            position, keys = (x.size, 1, 1, 1), (x.size, 2, 1, 1)
            ones, same = np.ones(position), np.ones(keys)
            pair = same * np.array([1.0, -1.0]).reshape(1, 2, 1, 1)
            beside = np.stack([x.astype(np.float64), np.ones(x.size)], 1).reshape(keys)
            addAttentions(x.astype(np.float64).reshape(position), pair, pair, ones, element)
            addAttentions(ones, beside, pair, ones, element)
            addAttentions(ones, same, beside, ones, element)
            addAttentions(ones, same, pair, x.astype(np.float64).reshape(position), element)


def productEnds():
    for family in (matmuls, convolutions, gelus, softmaxGrads, norms, attentions):
        family()
