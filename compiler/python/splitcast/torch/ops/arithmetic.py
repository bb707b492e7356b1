"""Division to integers and what remains of it, and inverses of sine, cosine and tangent."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.elementwise import SMALL, rounded_towards
from splitcast.torch.ops.table import ATEN, OPS, Operand, Value, as_type, is_integer, op

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


# ---- Division ----
SPLITTER = 2.0**27 + 1  # Dekker 1971, doi:10.1007/BF01397083


def _operands(importer: Importer, a: Operand, b: Operand, small: bool = True) -> list[sc.Tensor]:
    """Both as tensors: integers as they are, others in f64. PyTorch rounds numbers to the result's type; where not
    `small`, only to f32."""
    dtype = importer.result_type()
    wide = dtype if dtype in (sc.i32, sc.i64) else sc.f64
    of_numbers = torch.float32 if dtype in SMALL and not small else importer.torch_type(dtype)
    return [importer.constant(torch.tensor(each, dtype=of_numbers).item(), wide)
            if isinstance(each, (bool, int, float)) else as_type(as_type(importer.tensor(each), dtype), wide)
            for each in (a, b)]


def _chosen(importer: Importer, condition: sc.Tensor, a: sc.Tensor, b: sc.Tensor) -> sc.Tensor:
    return sc.select(as_type(condition, sc.f64), a, b)


def _product(a: sc.Tensor, b: sc.Tensor) -> tuple[sc.Tensor, sc.Tensor]:
    """The product in f64, and what its rounding has lost."""
    product = a * b
    tops = [each * SPLITTER - (each * SPLITTER - each) for each in (a, b)]
    (a1, b1), (a2, b2) = tops, [each - top for each, top in zip((a, b), tops)]
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _divided(importer: Importer, a: sc.Tensor, b: sc.Tensor) -> tuple[sc.Tensor, sc.Tensor]:
    """How often b in f64 fits into a, towards 0, and what remains: exact where that is less than 2^104 times, and
    beyond it not a number."""
    counts, remains = _divided_once(importer, a, b)
    more, remains = _divided_once(importer, remains, b)
    is_done = sc.compare(sc.abs(remains), sc.abs(b), "lt")
    nan = importer.constant(math.nan, sc.f64)
    is_whole = sc.compare(sc.abs(a), sc.abs(b), "lt")  # whose product might overflow
    remains = _chosen(importer, is_whole, a, _chosen(importer, is_done, remains, nan))
    return _chosen(importer, is_whole, importer.constant(0.0, sc.f64), counts + more), remains


def _divided_once(importer: Importer, a: sc.Tensor, b: sc.Tensor) -> tuple[sc.Tensor, sc.Tensor]:
    """The same where it is less than 2^52 times; beyond it, what remains is less than 2^-51 of a. The rounded quotient
    may be 1 off."""
    zero, one, endless = [importer.constant(each, sc.f64) for each in (0.0, 1.0, math.inf)]
    is_endless = as_type(sc.compare(sc.abs(b), endless, "eq"), sc.f64)
    divisor = sc.select(is_endless, one, b)
    count = rounded_towards(importer, sc.div(a, divisor), "trunc") * (1.0 - is_endless)
    product, lost = _product(count, divisor)
    remains = (a - product) - lost
    size, a_is_below = sc.abs(b), sc.compare(a, zero, "lt")
    once = _chosen(importer, a_is_below, -size, size)  # one divisor, with the sign of a
    step = _chosen(importer, sc.compare(a_is_below, sc.compare(b, zero, "lt"), "ne"), -one, one)
    is_over = sc.compare(remains, zero, "ne") * sc.compare(sc.compare(remains, zero, "lt"), a_is_below, "ne")
    is_under = sc.compare(sc.abs(remains), size, "ge")
    count = count - as_type(is_over, sc.f64) * step + as_type(is_under, sc.f64) * step
    remains = _chosen(importer, is_over, remains + once, _chosen(importer, is_under, remains - once, remains))
    return count, remains


def _below(importer: Importer, a: sc.Tensor, b: sc.Tensor) -> tuple[sc.Tensor, sc.Tensor]:
    """The largest integer that is not above the quotient, and what remains, which has the sign of b."""
    zero = importer.constant(0, a.dtype)
    if is_integer(a):
        count = sc.div(a, b)
        remains = sc.compare(count * b, a, "ne")
        is_negative = sc.compare(sc.compare(a, zero, "lt"), sc.compare(b, zero, "lt"), "ne")
        count = count - as_type(remains * is_negative, a.dtype)
        return count, a - count * b
    count, remains = _divided(importer, a, b)
    has_wrong_sign = sc.compare(remains, zero, "ne") * sc.compare(
        sc.compare(remains, zero, "lt"), sc.compare(b, zero, "lt"), "ne")
    return count - as_type(has_wrong_sign, sc.f64), _chosen(importer, has_wrong_sign, remains + b, remains)


@op("aten.remainder.Scalar", "aten.remainder.Tensor", "aten.remainder.Scalar_Tensor", keeps_constants=True)
@op("aten.fmod.Scalar", "aten.fmod.Tensor", keeps_constants=True, towards_0=True)
def remainder(importer: Importer, a: Operand, b: Operand, *, towards_0: bool = False) -> sc.Tensor:
    """a less as many b as fit into it. The gradient of b is that number, times -1.

    towards_0: whether that number is rounded so, not down.
    """
    given = (a, b)
    a, b = _operands(importer, a, b)
    if is_integer(a):
        return a - sc.div(a, b) * b if towards_0 else _below(importer, a, b)[1]
    of_a, of_b = sc.stop_gradient(a), sc.stop_gradient(b)
    count, remains = (_divided if towards_0 else _below)(importer, of_a, of_b)
    # From there on, what remains has no digits, and the quotient is its own count. By 0 it is infinite or no number.
    quotient = sc.div(of_a, of_b)
    is_counted = sc.compare(sc.abs(quotient), importer.constant(2.0**104, sc.f64), "lt")
    slopes = (importer.constant(1.0, sc.f64), -_chosen(importer, is_counted, count, quotient))
    return with_slopes(importer, remains, *((x, slope) for number, x, slope in zip(given, (a, b), slopes)
                                            if not isinstance(number, (bool, int, float))))


@op("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.floor_divide.default", "aten.floor_divide.Scalar",
    keeps_constants=True)
def div_to_integers(importer: Importer, a: Operand, b: Operand, *, rounding_mode: str | None = "floor") -> sc.Tensor:
    """The gradient is 0, as in PyTorch. Towards 0, PyTorch rounds the quotient of the result's type."""
    if rounding_mode is None:
        quotient: sc.Tensor = OPS[ATEN.div.Tensor](importer, a, b)
        return quotient
    a, b = [each if is_integer(each) else sc.stop_gradient(each) for each in _operands(importer, a, b, small=False)]
    dtype = importer.result_type()
    if rounding_mode == "trunc":
        if is_integer(a):
            return as_type(sc.div(a, b), dtype)
        narrow = sc.f64 if dtype == sc.f64 else sc.f32  # of 16-bit floats, too, whose quotient is then rounded
        quotient = as_type(sc.div(as_type(a, narrow), as_type(b, narrow)), dtype)
        return as_type(rounded_towards(importer, quotient, "trunc"), dtype)
    count, _ = _below(importer, a, b)
    if not is_integer(a):
        count = _chosen(importer, sc.compare(b, importer.constant(0.0, sc.f64), "eq"), sc.div(a, b), count)
    return as_type(count, dtype)


# ---- Angles ----
# atan x, from -tan(pi / 8) to tan(pi / 8), is x + x^3 times a polynomial in x^2: of Moshier's Cephes library (atanf.c).
ATAN = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
LARGEST = 1e300  # whose angle is that of infinity, which would have no product with 0


def _atan(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """The angle of x in f64, without gradient. It has the sign of x, that of a zero too."""
    size = sc.minimum(sc.abs(x), importer.constant(LARGEST, sc.f64))
    is_large, is_middle = [as_type(sc.compare(size, importer.constant(math.tan(bound), sc.f64), "gt"), sc.f64)
                           for bound in (3 * math.pi / 8, math.pi / 8)]
    near = sc.select(is_middle, (size - 1.0) / (size + 1.0), size)
    near = sc.select(is_large, -sc.pow(sc.maximum(size, 1.0), -1), near)
    square = near * near
    polynomial = square * ATAN[0] + ATAN[1]
    for number in ATAN[2:]:
        polynomial = square * polynomial + number
    angle = (is_large + is_middle) * (math.pi / 4) + near + near * square * polynomial
    # What is left to x is a small angle, which is its own tangent.
    angle = angle + (size * sc.cos(angle) - sc.sin(angle)) / (sc.cos(angle) + size * sc.sin(angle))
    is_nan = as_type(sc.compare(x, x, "ne"), sc.f64)
    return sc.select(is_nan, x, angle * sign_of(importer, x))


@op("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other", keeps_constants=True)
@op("aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar",
    keeps_constants=True, more=1.0)
def xlogy(importer: Importer, x: Operand, y: Operand, *, more: float = 0.0) -> sc.Tensor:
    """x times the logarithm of y, or of 1 + y, and 0 where x is 0. There the gradient of x is the logarithm all the
    same, but 0 where there is none."""
    given = (x, y)
    x, y = _operands(importer, x, y)
    of_x, of_y = sc.stop_gradient(x), sc.stop_gradient(y)
    zero, whole = importer.constant(0.0, sc.f64), of_y + more
    log: sc.Tensor = OPS[ATEN.log1p.default](importer, of_y) if more else sc.log(of_y)
    is_zero, is_number = sc.compare(of_x, zero, "eq"), sc.compare(of_y, of_y, "eq")
    value = _chosen(importer, is_zero * is_number, zero, of_x * as_type(log, sc.f64))
    slopes = (_chosen(importer, is_zero * sc.compare(whole, zero, "le"), zero, as_type(log, sc.f64)), of_x / whole)
    return with_slopes(importer, value, *((tensor, slope) for number, tensor, slope in zip(given, (x, y), slopes)
                                          if not isinstance(number, (bool, int, float))))


def sign_of(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """-1 or 1 for x in f64; -0 is negative."""
    zero = importer.constant(0, sc.f64)
    is_below, is_minus_0 = [as_type(sc.compare(each, zero, "lt"), sc.f64) for each in (x, sc.pow(x, -1))]
    return 1.0 - sc.maximum(is_below, is_minus_0) * 2.0


def with_slopes(importer: Importer, value: sc.Tensor, *operands: tuple[sc.Tensor, sc.Tensor]) -> sc.Tensor:
    """`value`, with the gradient that is said of each operand: pairs of the operand and its slope.

    A slope is multiplied by a distance of 0. Where it is infinite or no number, that would be no number, and the root
    of the distance is taken instead, whose slope is infinite; what is infinite less itself has none. The gradient is 0
    where an operand is infinite and the value a number. (Of two infinite operands, PyTorch's is none.) What is
    subtracted is 0 and not -0, so that a value of -0 stays one.
    """
    dtype = importer.result_type()
    result = as_type(sc.stop_gradient(value), dtype)
    zero, one, infinity = [importer.constant(each, dtype) for each in (0.0, 1.0, math.inf)]
    is_lost = as_type(sc.compare(result, result, "ne"), dtype)
    for x, slope in operands:
        x, slope = as_type(x, dtype), as_type(sc.stop_gradient(slope), dtype)
        is_finite, has_slope = [as_type(sc.compare(sc.abs(each), infinity, "lt"), dtype) for each in (x, slope)]
        # It is 0, but where x is infinite, which has none; if the value is no number, the gradient need not be one.
        above, below = [sc.select(sc.maximum(is_finite, is_lost), each, zero)
                        for each in (x - sc.stop_gradient(x), sc.stop_gradient(x) - x)]
        root = sc.sqrt(sc.select(has_slope, one, above))
        is_nan, is_below = as_type(sc.compare(slope, slope, "ne"), dtype), as_type(sc.compare(slope, zero, "lt"), dtype)
        steep = sc.select(is_nan, root - root, sc.select(is_below, root, -root))
        distance = sc.select(is_below, above, below)
        result = result - sc.select(has_slope, distance * sc.abs(sc.select(has_slope, slope, one)), steep)
    return result


def in_f64(x: sc.Tensor) -> sc.Tensor:
    """x without gradient."""
    return as_type(sc.stop_gradient(x) if not is_integer(x) else x, sc.f64)


@op("aten.atan.default")
def atan(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    wide = in_f64(x)
    return with_slopes(importer, _atan(importer, wide), (x, sc.pow(wide * wide + 1.0, -1)))


@op("aten.asin.default")
@op("aten.acos.default", is_cosine=True)
def asin(importer: Importer, x: sc.Tensor, *, is_cosine: bool = False) -> sc.Tensor:
    wide = in_f64(x)
    left = sc.sqrt((1.0 - wide) * (wide + 1.0))
    if is_cosine:
        angle, slope = _atan(importer, sc.sqrt((1.0 - wide) / (wide + 1.0))) * 2.0, -sc.pow(left, -1)
    else:
        angle, slope = _atan(importer, wide / left), sc.pow(left, -1)
    is_angle = as_type(sc.compare(sc.abs(wide), importer.constant(1.0, sc.f64), "le"), sc.f64)
    return with_slopes(importer, sc.select(is_angle, angle, importer.constant(math.nan, sc.f64)), (x, slope))


@op("aten.atan2.default")
def atan2(importer: Importer, y: Value, x: Value) -> sc.Tensor:
    """The angle of the point (x, y), also where both are 0 or infinite. At the origin the gradient is 0."""
    y, x = importer.tensor(y), importer.tensor(x)
    up, right = in_f64(y), in_f64(x)
    zero, one = importer.constant(0, sc.f64), importer.constant(1.0, sc.f64)
    width = sc.abs(right)
    is_origin = as_type(sc.compare(up, zero, "eq") * sc.compare(right, zero, "eq"), sc.f64)
    is_far = as_type(sc.compare(sc.minimum(sc.abs(up), width), importer.constant(math.inf, sc.f64), "eq"), sc.f64)
    ratio = sc.select(is_far, sign_of(importer, up), up / sc.select(is_origin, one, width))
    angle = _atan(importer, ratio)
    is_left = (1.0 - sign_of(importer, right)) * 0.5
    angle = sc.select(is_left, sign_of(importer, up) * math.pi - angle, angle)
    for each in (up, right):
        angle = sc.select(as_type(sc.compare(each, each, "ne"), sc.f64), each, angle)
    square = sc.select(is_origin, one, up * up + right * right)
    return with_slopes(importer, angle, (y, right / square), (x, -up / square))
