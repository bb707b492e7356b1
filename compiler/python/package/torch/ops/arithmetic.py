"""Division to integers and what remains of it, and inverses of sine, cosine and tangent."""
import math

import splitcast as sc
import torch

from splitcast.torch.ops.elementwise import rounded_towards
from splitcast.torch.ops.table import Missing, as_type, is_integer, op

# ---- Division ----
def _operands(importer, a, b):
    """Both as tensors, of the result's type if that is one of integers, else in f64."""
    dtype = importer.element_type(importer.node.meta["val"].dtype)
    dtype = dtype if dtype in (sc.i32, sc.i64) else sc.f64
    return [as_type(importer.tensor(each), dtype) if not isinstance(each, (bool, int, float)) else
            importer.constant(each, dtype) for each in (a, b)]


def _towards_0(importer, a, b):
    """The quotient of `_operands`, without its fraction. That of integers has none."""
    return sc.div(a, b) if is_integer(a) else rounded_towards(importer, sc.div(a, b), "trunc")


def _below(importer, a, b):
    """The largest integer that is not above the quotient of `_operands`."""
    if not is_integer(a):
        return rounded_towards(importer, sc.div(a, b), "floor")
    quotient, zero = sc.div(a, b), importer.constant(0, a.dtype)
    remains = sc.compare(quotient * b, a, "ne")
    is_negative = sc.compare(sc.compare(a, zero, "lt"), sc.compare(b, zero, "lt"), "ne")
    return quotient - as_type(remains * is_negative, a.dtype)


@op("aten.remainder.Scalar", "aten.remainder.Tensor", "aten.remainder.Scalar_Tensor", "aten.fmod.Scalar",
    "aten.fmod.Tensor", keeps_constants=True)
def remainder(importer, a, b):
    """a less as many b as fit into it. In f64 this is exact for f32, where they are fewer than 2^28."""
    a, b = _operands(importer, a, b)
    count = (_towards_0 if "fmod" in str(importer.node.target) else _below)(importer, a, b)
    return as_type(a - count * b, importer.element_type(importer.node.meta["val"].dtype))


@op("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.floor_divide.default", "aten.floor_divide.Scalar",
    keeps_constants=True)
def div_to_integers(importer, a, b, *, rounding_mode="floor"):
    """The gradient is 0, as in PyTorch."""
    if rounding_mode is None:
        raise Missing("rounding_mode None is not supported; use /")
    a, b = _operands(importer, a, b)
    result = (_below if rounding_mode == "floor" else _towards_0)(importer, a, b)
    return as_type(result, importer.element_type(importer.node.meta["val"].dtype))


# ---- Angles ----
# atan x, from -tan(pi / 8) to tan(pi / 8), is x + x^3 times a polynomial in x^2: of Moshier's Cephes library (atanf.c).
ATAN = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
LARGEST = 1e300  # whose angle is that of infinity, which would have no product with 0


def _atan(importer, x):
    """The angle of x in f64, without gradient."""
    x = sc.minimum(sc.maximum(x, importer.constant(-LARGEST, sc.f64)), importer.constant(LARGEST, sc.f64))
    size = sc.abs(x)
    is_large, is_middle = [as_type(sc.compare(size, importer.constant(math.tan(bound), sc.f64), "gt"), sc.f64)
                           for bound in (3 * math.pi / 8, math.pi / 8)]
    near = sc.select(is_middle, (size - 1.0) / (size + 1.0), size)
    near = sc.select(is_large, -sc.pow(sc.maximum(size, 1.0), -1), near)
    square, polynomial = near * near, ATAN[0]
    for number in ATAN[1:]:
        polynomial = square * polynomial + number
    angle = (is_large + is_middle) * (math.pi / 4) + near + near * square * polynomial
    # What is left to x is a small angle, which is its own tangent.
    angle = angle + (size * sc.cos(angle) - sc.sin(angle)) / (sc.cos(angle) + size * sc.sin(angle))
    return sc.select(as_type(sc.compare(x, importer.constant(0, sc.f64), "lt"), sc.f64), -angle, angle)


def sign_of(importer, x):
    """-1 or 1 for x in f64; -0 is negative."""
    zero = importer.constant(0, sc.f64)
    is_below, is_minus_0 = [as_type(sc.compare(each, zero, "lt"), sc.f64) for each in (x, sc.pow(x, -1))]
    return 1.0 - sc.maximum(is_below, is_minus_0) * 2.0


def with_slopes(importer, value, *operands):
    """`value`, with the gradient that is said of each operand: pairs of the operand and its slope, which is finite."""
    dtype = importer.element_type(importer.node.meta["val"].dtype)
    result = as_type(sc.stop_gradient(value), dtype)
    most = importer.constant(torch.finfo(importer.torch_type(dtype)).max, sc.f64)
    for x, slope in operands:
        x, slope = as_type(x, dtype), sc.maximum(sc.minimum(slope, most), -most)
        is_finite = as_type(sc.compare(sc.abs(x), importer.constant(math.inf, dtype), "lt"), dtype)
        distance = sc.select(is_finite, x - sc.stop_gradient(x), importer.constant(0, dtype))  # is 0
        result = result + distance * as_type(sc.stop_gradient(slope), dtype)
    return result


def in_f64(x):
    """x without gradient."""
    return as_type(sc.stop_gradient(x) if not is_integer(x) else x, sc.f64)


@op("aten.atan.default")
def atan(importer, x):
    wide = in_f64(x)
    return with_slopes(importer, _atan(importer, wide), (x, sc.pow(wide * wide + 1.0, -1)))


@op("aten.asin.default", "aten.acos.default")
def asin(importer, x):
    wide = in_f64(x)
    left = sc.sqrt((1.0 - wide) * (wide + 1.0))
    if "acos" in str(importer.node.target):
        angle, slope = _atan(importer, sc.sqrt((1.0 - wide) / (wide + 1.0))) * 2.0, -sc.pow(left, -1)
    else:
        angle, slope = _atan(importer, wide / left), sc.pow(left, -1)
    is_angle = as_type(sc.compare(sc.abs(wide), importer.constant(1.0, sc.f64), "le"), sc.f64)
    return with_slopes(importer, sc.select(is_angle, angle, importer.constant(math.nan, sc.f64)), (x, slope))


@op("aten.atan2.default")
def atan2(importer, y, x):
    """The angle of the point (x, y); 0 at the origin, where the gradient is not a number, as in PyTorch."""
    y, x = importer.tensor(y), importer.tensor(x)
    up, right = in_f64(y), in_f64(x)
    zero = importer.constant(0, sc.f64)
    is_left = as_type(sc.compare(right, zero, "lt"), sc.f64)
    is_origin = as_type(sc.compare(up, zero, "eq") * sc.compare(right, zero, "eq"), sc.f64)
    ratio = up / sc.select(is_origin, importer.constant(1.0, sc.f64), right)
    angle = sc.select(is_origin, zero, _atan(importer, ratio))
    angle = angle + is_left * sign_of(importer, up) * math.pi
    square = up * up + right * right
    return with_slopes(importer, angle, (y, right / square), (x, -up / square))
