"""Cases of ops over windows (NnWindows.td), of comparisons and of erf, for gen_vectors.py."""
import itertools
import math

import numpy as np
from tensors import NUMPY_TYPES, case, eighths, integers, reals, rounded

TOLERANCES = {"f32": 1e-6, "f64": 1e-14, "bf16": 2**-8, "f16": 2**-10}

# Shapes of input and weight; strides, padding, dilation; groups.
CONVOLUTIONS = [((2, 3, 5, 6), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1)),
                ((1, 2, 7, 5), (3, 2, 3, 2), (2, 1), (0, 1), (1, 2)),
                ((2, 4, 6, 6), (6, 2, 2, 3), (2, 2), (1, 0), (2, 1)),
                ((1, 3, 5, 5), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
                ((1, 3, 4, 4), (6, 1, 2, 2), (2, 2), (0, 0), (1, 1)),
                ((2, 2, 4, 4), (3, 2, 1, 1), (2, 2), (0, 0), (1, 1)),
                ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1)),
                ((1, 1, 1, 1), (1, 1, 3, 3), (3, 3), (2, 2), (1, 1)),
                ((0, 2, 3, 3), (2, 2, 2, 2), (1, 1), (0, 0), (1, 1)),
                ((2, 0, 3, 3), (2, 0, 2, 2), (1, 1), (0, 0), (1, 1)),
                ((2, 2, 3, 3), (0, 2, 2, 2), (1, 1), (0, 0), (1, 1)),
                ((2, 0, 3, 3), (0, 2, 2, 2), (1, 1), (0, 0), (1, 1)),
                ((1, 2, 0, 3), (2, 2, 2, 2), (1, 1), (1, 0), (1, 1))]

# Shape; kernel, strides, padding, dilation.
POOLS = [((2, 3, 5, 6), (2, 2), (2, 2), (0, 0), (1, 1)), ((2, 7, 7), (3, 3), (2, 2), (1, 1), (1, 1)),
         ((5, 4), (3, 2), (1, 1), (1, 0), (2, 1)), ((1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
         ((0, 3, 3), (2, 2), (1, 1), (0, 0), (1, 1)), ((1, 0, 2), (1, 1), (1, 1), (1, 1), (1, 1))]


def count(extent, kernel, stride, padding, dilation):
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def covered(window, tap, along, extent):
    """The element that a tap covers, or None."""
    _, stride, padding, dilation = along
    at = window * stride + tap * dilation - padding
    return at if 0 <= at < extent else None


def products(x_shape, w_shape, strides, padding, dilation):
    """All (output, input, weight) indices of which a product is part of a convolution."""
    along = [(w_shape[2 + i], strides[i], padding[i], dilation[i]) for i in (0, 1)]
    windows = [count(x_shape[2 + i], *along[i]) for i in (0, 1)]
    groups = x_shape[1] // w_shape[1] if w_shape[1] else 1
    per_group = w_shape[0] // groups if groups else 0
    for n, o, i, j, c, k, m in itertools.product(range(x_shape[0]), range(w_shape[0]), range(windows[0]),
                                                 range(windows[1]), range(w_shape[1]), range(w_shape[2]),
                                                 range(w_shape[3])):
        row, column = covered(i, k, along[0], x_shape[2]), covered(j, m, along[1], x_shape[3])
        if row is not None and column is not None:
            yield (n, o, i, j), (n, o // per_group * w_shape[1] + c, row, column), (o, c, k, m)


def attribute(name, numbers):
    return f"{name} = array<i64: {', '.join(str(number) for number in numbers)}>"


def convolutions():
    for element in ["f32", "f64", "bf16", "f16"]:
        # Of small floats with few products each: tests add up addends that are rounded.
        few = [CONVOLUTIONS[4]] + CONVOLUTIONS[6:] + [((1, 2, 2, 2), (2, 1, 2, 1), (1, 2), (0, 0), (1, 1))]
        for x_shape, w_shape, strides, padding, dilation in few if element in ("bf16", "f16") else CONVOLUTIONS:
            along = [(w_shape[2 + i], strides[i], padding[i], dilation[i]) for i in (0, 1)]
            y_shape = (x_shape[0], w_shape[0]) + tuple(count(x_shape[2 + i], *along[i]) for i in (0, 1))
            # Sums of small multiples, which no order rounds; of small floats the sum is, so it is of smaller ones.
            unit = 1 if element in ("f32", "f64") else 0.125
            x, w, g = [rounded(eighths(shape, element) * unit, element) for shape in (x_shape, w_shape, y_shape)]
            y, dx, dw = np.zeros(y_shape), np.zeros(x_shape), np.zeros(w_shape)
            for at_y, at_x, at_w in products(x_shape, w_shape, strides, padding, dilation):
                y[at_y] += float(x[at_x]) * float(w[at_w])
                dx[at_x] += float(g[at_y]) * float(w[at_w])
                dw[at_w] += float(g[at_y]) * float(x[at_x])
            attributes = ", ".join([attribute("strides", strides), attribute("padding", padding),
                                    attribute("dilation", dilation)])
            for op, operands, result in [("nn.convolution", (x, w), y), ("nn.convolution_data_grad", (g, w), dx),
                                         ("nn.convolution_weight_grad", (g, x), dw)]:
                case(op, [(each, element) for each in operands], [(rounded(result, element), element)], attributes)


def pools():
    for element in ["f32", "f64", "bf16", "f16"]:
        for shape, kernel, strides, padding, dilation in POOLS:
            along = [(kernel[i], strides[i], padding[i], dilation[i]) for i in (0, 1)]
            windows = [count(shape[len(shape) - 2 + i], *along[i]) for i in (0, 1)]
            x = eighths(shape, element)  # with ties
            y = np.full(shape[:-2] + tuple(windows), -np.inf)
            positions = np.full(y.shape, kernel[0] * kernel[1], np.int64)
            g, dx = eighths(y.shape, element), np.zeros(shape)
            for before in itertools.product(*[range(extent) for extent in shape[:-2]]):
                for window in itertools.product(*[range(extent) for extent in windows]):
                    places = [tuple(covered(window[i], tap[i], along[i], shape[len(shape) - 2 + i]) for i in (0, 1))
                              for tap in itertools.product(*[range(extent) for extent in kernel])]
                    places = {number: before + place for number, place in enumerate(places) if None not in place}
                    if places:
                        largest = max(places, key=lambda number: x[places[number]])  # the first of them
                        y[before + window], positions[before + window] = x[places[largest]], largest
                        dx[places[largest]] += float(g[before + window])
            attributes = ", ".join([attribute("kernel", kernel), attribute("strides", strides),
                                    attribute("padding", padding), attribute("dilation", dilation)])
            case("nn.max_pool", [(x, element)], [(rounded(y, element), element)], attributes)
            case("nn.max_pool_positions", [(x, element), (rounded(y, element), element)], [(positions, "i64")],
                 attributes)
            case("nn.max_pool_grad", [(g, element), (positions, "i64")], [(rounded(dx, element), element)],
                 attribute("extents", shape[-2:]) + ", " + attributes)
    x = np.array([[np.nan, 1, 2], [3, -np.inf, np.inf]], np.float32)
    attributes = ", ".join([attribute("kernel", (2, 2)), attribute("strides", (1, 1)), attribute("padding", (0, 0)),
                            attribute("dilation", (1, 1))])
    y, g = np.array([[np.nan, np.inf]], np.float32), np.array([[2, 3]], np.float32)
    case("nn.max_pool", [(x, "f32")], [(y, "f32")], attributes)
    case("nn.max_pool_positions", [(x, "f32"), (y, "f32")], [(np.array([[0, 3]]), "i64")], attributes)
    attributes = attribute("extents", (2, 3)) + ", " + attributes
    case("nn.max_pool_grad", [(g, "f32"), (np.array([[4, 3]]), "i64")],
         [(np.array([[0, 0, 0], [0, 0, 3]], np.float32), "f32")], attributes)
    case("nn.max_pool_grad", [(g, "f32"), (np.array([[-1, 2]]), "i32")],
         [(np.array([[0, 0, 0], [0, 3, 0]], np.float32), "f32")], attributes)


def elementwise():
    for element, shape in itertools.product(["f32", "f64", "bf16", "f16"], [(), (7,), (2, 3), (0, 3)]):
        x = reals(shape, element)
        y = np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))
        sigmoid = 1 / (1 + np.exp(-x.astype(np.float64)))
        case("nn.sigmoid", [(x, element)], [(rounded(sigmoid, element), element)], "", TOLERANCES[element])
        case("nn.erf", [(x, element)], [(rounded(y, element), element)], "", TOLERANCES[element])
        case("nn.stop_gradient", [(x, element)], [(x, element)])
    ends = np.array([-200, -80, -20, 0, 20, 200, -np.inf, np.inf, np.nan], np.float32)
    with np.errstate(over="ignore"):
        case("nn.sigmoid", [(ends, "f32")], [((1 / (1 + np.exp(-ends.astype(np.float64)))).astype(np.float32), "f32")], "",
             TOLERANCES["f32"], 1e-37)
    comparisons = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                   "ge": np.greater_equal}
    for (name, function), element in itertools.product(comparisons.items(), ["f32", "f64", "bf16", "f16", "i32", "i64"]):
        of = eighths if element[0] in "fb" else integers
        for left, right in [((3, 4), (4,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 3), (1, 3))]:
            a, b = of(left, element), of(right, element)
            b = np.where(isEqualAt(b.shape), np.resize(a, b.shape) if a.size else b, b).astype(b.dtype)
            result = "f32" if element != "i64" else "i32"
            case("nn.compare", [(a, element), (b, element)],
                 [(function(a, b).astype(NUMPY_TYPES[result]), result)], f'predicate = "{name}"')
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
        if element == "f32":
            case("nn.compare", [(special[:, None], "f32"), (special, "f32")],
                 [(function(special[:, None], special).astype(np.float32), "f32")], f'predicate = "{name}"')


def isEqualAt(shape):
    """Where operands of a comparison are made equal."""
    return integers(shape, "i32", 0, 2) == 1


def windows():
    convolutions()
    pools()
    elementwise()
