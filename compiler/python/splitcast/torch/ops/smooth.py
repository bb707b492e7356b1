"""Smooth functions that are computed in f64, with the slope that each is known to have: hyperbolic functions and their
inverses, lengths of pairs, powers, what the error function leaves to 1. And the sign of another number."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.arithmetic import in_f64, sign_of, with_slopes
from splitcast.torch.ops.elementwise import expm1, log1p, rounded_towards, sign
from splitcast.torch.ops.table import Missing, Operand, Value, as_type, expand_to, is_tensor, op

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


LARGE = 1e9  # where the square of a number plus 1 is the square in f64; larger ones may have none


@op("aten.sinh.default")
@op("aten.cosh.default", is_cosine=True)
def sinh(importer: Importer, x: sc.Tensor, *, is_cosine: bool = False) -> sc.Tensor:
    """From exponentials of half of x, which are finite where the result is one."""
    wide = in_f64(x)
    size = sc.abs(wide)
    up, down = sc.exp(size * 0.5), sc.exp(size * -0.5)
    is_small = as_type(sc.compare(size, importer.constant(1.0, sc.f64), "lt"), sc.f64)
    small = (expm1(importer, size) - expm1(importer, -size)) * 0.5  # near 0, a difference of others has no digits
    sine = sc.select(is_small, small, up * 0.5 * up - down * 0.5 * down) * sign_of(importer, wide)
    cosine = up * 0.5 * up + down * 0.5 * down
    value, slope = (cosine, sine) if is_cosine else (sine, cosine)
    dtype = importer.result_type()
    is_endless = as_type(sc.compare(sc.abs(wide), importer.constant(math.inf, sc.f64), "eq"), dtype)
    steep = as_type(x, dtype) * sc.select(is_endless, as_type(slope, dtype), importer.constant(0.0, dtype))
    return sc.select(is_endless, steep, with_slopes(importer, value, (x, slope)))


@op("aten.asinh.default")
def asinh(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    wide = in_f64(x)
    size, root = sc.abs(wide), sc.sqrt(wide * wide + 1.0)
    is_large = as_type(sc.compare(size, importer.constant(LARGE, sc.f64), "gt"), sc.f64)
    small = log1p(importer, size + wide / (root + 1.0) * wide)
    value = sc.select(is_large, sc.log(size) + math.log(2.0), small) * sign_of(importer, wide)
    return with_slopes(importer, value, (x, sc.pow(root, -1)))


@op("aten.acosh.default")
def acosh(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    wide = in_f64(x)
    root = sc.sqrt(wide - 1.0) * sc.sqrt(wide + 1.0)  # not a number below 1
    slope = sc.pow(sc.sqrt(wide * wide - 1.0), -1)  # a number below -1, as in PyTorch
    is_large = as_type(sc.compare(wide, importer.constant(LARGE, sc.f64), "gt"), sc.f64)
    value = sc.select(is_large, sc.log(wide) + math.log(2.0), log1p(importer, wide - 1.0 + root))
    return with_slopes(importer, value, (x, slope))


@op("aten.atanh.default")
def atanh(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    wide = in_f64(x)
    size = sc.abs(wide)
    value = log1p(importer, size * 2.0 / (1.0 - size)) * sign_of(importer, wide) * 0.5
    return with_slopes(importer, value, (x, sc.pow((1.0 - wide) * (wide + 1.0), -1)))


@op("aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def pow_of_tensors(importer: Importer, base: Operand, exponent: Operand) -> sc.Tensor:
    """The slope is 0 of a base to the power of 0, and of an exponent above 0 whose base is 0, as in PyTorch."""
    if not importer.node.meta["val"].dtype.is_floating_point:
        raise Missing("powers of integers are not supported, only of floats")
    dtype, shape = importer.result_type(), importer.shape()
    given = [each if is_tensor(each) or isinstance(each, torch.Tensor) else torch.tensor(
        each, dtype=importer.torch_type(dtype)) for each in (base, exponent)]
    x, y = [expand_to(importer, as_type(importer.tensor(each), dtype), shape) for each in given]
    of_x, of_y = in_f64(x), in_f64(y)
    zero, value = importer.constant(0, sc.f64), _power(importer, of_x, of_y)
    is_zero, is_positive, is_nothing = [as_type(sc.compare(each, zero, predicate), sc.f64) for each, predicate in (
        (of_x, "eq"), (of_y, "ge"), (of_y, "eq"))]
    slope_of_x = sc.select(is_nothing, zero, of_y * _power(importer, of_x, of_y - 1.0))
    slope_of_y = sc.select(is_zero * is_positive, zero, value * sc.log(of_x))
    return with_slopes(importer, value, *((each, slope) for number, each, slope in (
        (base, x, slope_of_x), (exponent, y, slope_of_y)) if is_tensor(number)))


def _power(importer: Importer, x: sc.Tensor, y: sc.Tensor) -> sc.Tensor:
    """exp(y log |x|) in f64, with the sign of odd powers: what C's pow returns (C17, F.10.4.4)."""
    zero, one, infinity, nan = [importer.constant(each, sc.f64) for each in (0.0, 1.0, math.inf, math.nan)]

    def holds(a: sc.Tensor, predicate: str, b: sc.Tensor) -> sc.Tensor:
        return as_type(sc.compare(a, b, predicate), sc.f64)

    size, half = sc.abs(x), y * 0.5
    is_whole, is_even = [holds(rounded_towards(importer, each, "floor"), "eq", each) for each in (y, half)]
    result = sc.exp(y * sc.log(size))
    result = sc.select(holds(size, "eq", one), sc.select(holds(x, "eq", one), one, y * 0.0 + 1.0), result)
    result = sc.select(holds(size, "eq", one) * holds(sc.abs(y), "eq", infinity), one, result)
    result = sc.select(holds(y, "eq", zero), one, result)
    is_odd = is_whole * (1.0 - is_even)
    result = sc.select(is_odd, result * sign_of(importer, x), result)
    has_no_power = holds(x, "lt", zero) * holds(size, "lt", infinity) * (1.0 - is_whole)
    return sc.select(has_no_power, nan, result)


@op("aten.hypot.default")
def hypot(importer: Importer, x: Value, y: Value) -> sc.Tensor:
    """Infinite where one of them is, whatever the other. The gradient at the origin is not a number, as in PyTorch."""
    x, y = importer.tensor(x), importer.tensor(y)
    across, up = in_f64(x), in_f64(y)
    infinity, far, near, one, up_by, down_by = [importer.constant(each, sc.f64) for each in (
        math.inf, 2.0**500, 2.0**-500, 1.0, 2.0**600, 2.0**-600)]
    most = sc.maximum(sc.abs(across), sc.abs(up))
    is_far, is_near = [as_type(sc.compare(*each), sc.f64) for each in ((most, far, "gt"), (most, near, "lt"))]
    by = sc.select(is_far, down_by, sc.select(is_near, up_by, one))  # so that squares are numbers
    length = sc.sqrt((across * by) * (across * by) + (up * by) * (up * by)) / by
    is_infinite = sc.maximum(*(as_type(sc.compare(sc.abs(each), infinity, "eq"), sc.f64) for each in (across, up)))
    length = sc.select(is_infinite, infinity, length)
    return with_slopes(importer, length, (x, across / length), (y, up / length))


TERMS = 28  # of the polynomial below: its error is that of f64


def _series() -> list[float]:
    """log(erfc(z) exp(z^2) / t) of z from 0 to infinity, where t is 2 / (2 + z), as a sum of Chebyshev's polynomials of
    2 t - 1, of which the first counts half."""
    angle = (torch.arange(TERMS, dtype=torch.float64) + 0.5) * math.pi / TERMS
    t = (torch.cos(angle) + 1) / 2
    values = torch.log(torch.special.erfcx(2 / t - 2) / t)
    return [float((values * torch.cos(angle * order)).sum() * 2 / TERMS) for order in range(TERMS)]


@op("aten.erfc.default", "aten.special_erfc.default")
def erfc(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """1 - erf(x), whose digits remain where it is close to 0."""
    wide, numbers = in_f64(x), _series()
    size = sc.abs(wide)
    t = sc.pow(size + 2.0, -1) * 2.0
    twice = t * 4.0 - 2.0  # of what the polynomials take
    later: sc.Tensor | float = 0.0
    result = twice * 0.0 + numbers[-1]
    for number in numbers[-2:0:-1]:  # Clenshaw's sum
        later, result = result, twice * result - later + number
    exponent = twice * result * 0.5 - later + numbers[0] / 2
    value = t * sc.exp(exponent - wide * wide)
    is_below = as_type(sc.compare(wide, importer.constant(0, sc.f64), "lt"), sc.f64)
    slope = sc.exp(-(wide * wide)) * (-2 / math.sqrt(math.pi))
    return with_slopes(importer, sc.select(is_below, 2.0 - value, value), (x, slope))


@op("aten.copysign.Tensor", "aten.copysign.Scalar", keeps_constants=True)
def copysign(importer: Importer, x: Value, other: Operand) -> sc.Tensor:
    """The gradient is 0 where x is."""
    dtype = importer.result_type()
    x = as_type(importer.tensor(x), dtype)
    of_other: sc.Tensor | float
    if isinstance(other, (bool, int, float)):
        of_other = math.copysign(1.0, other)
    else:
        of_other = as_type(sign_of(importer, in_f64(importer.tensor(other))), dtype)
    return x * (sign(importer, sc.stop_gradient(x)) * of_other)
