"""Smooth functions that are computed in f64, with the slope that each is known to have: inverses of hyperbolic
functions, lengths of pairs, what the error function leaves to 1. And the sign of another number."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import splitcast as sc
import torch
from splitcast.torch.ops.arithmetic import in_f64, sign_of, with_slopes
from splitcast.torch.ops.elementwise import log1p, sign
from splitcast.torch.ops.table import Operand, Value, as_type, op

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


LARGE = 1e9  # where the square of a number plus 1 is the square in f64; larger ones may have none


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
