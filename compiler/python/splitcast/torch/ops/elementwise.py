"""Elementwise ops, comparisons and selections."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import splitcast as sc
import torch
from splitcast.torch.ops.random import dropped_features, uniform
from splitcast.torch.ops.table import (
    ATEN,
    OPS,
    Binary,
    Function,
    Missing,
    Operand,
    Unary,
    Value,
    as_type,
    expand_to,
    is_integer,
    is_tensor,
    op,
    positive,
)

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


SMALL = (sc.f16, sc.bf16)  # whose functions are computed in f32 and rounded once


# ---- Elementwise ----
def _with_type_of_result(importer: Importer, *values: Operand) -> list[sc.Tensor | float]:
    """Casts the operands to the result's type, in which PyTorch computes."""
    wanted = importer.result_type()
    return [as_type(importer.tensor(value), wanted) if is_tensor(value) or isinstance(value, torch.Tensor) else value
            for value in values]


def _tensors_of_result(importer: Importer, *values: Value) -> list[sc.Tensor]:
    wanted = importer.result_type()
    return [as_type(importer.tensor(value), wanted) for value in values]


def _is_wide_number(value: Operand) -> bool:
    """Whether it is a tensor without dimensions, which does not decide the result's type, of a wider one. PyTorch
    computes with its f32, and rounds the result."""
    if isinstance(value, torch.Tensor):
        return value.dim() == 0 and value.dtype in (torch.float32, torch.float64)
    return is_tensor(value) and not value.shape and value.dtype in (sc.f32, sc.f64)


def _elementwise(name: str, overloads: Sequence[str], of_tensors: Binary,
                 of_number: Callable[[sc.Tensor, float], sc.Tensor] | None = None,
                 of_reversed: Callable[[float, sc.Tensor], sc.Tensor] | None = None) -> None:
    """Registers an op of two tensors, or of a tensor and a number on either side."""

    def apply(importer: Importer, first: Operand, second: Operand, *, alpha: float = 1) -> sc.Tensor:
        wanted = importer.result_type()
        if wanted in SMALL and any(_is_wide_number(each) for each in (first, second)):
            wide = [as_type(importer.tensor(each), sc.f32) if not isinstance(each, (bool, int, float)) else
                    importer.constant(each, sc.f32) for each in (first, second)]
            return as_type(of_tensors(wide[0], wide[1] if alpha == 1 else wide[1] * alpha), wanted)
        a, b = _with_type_of_result(importer, *(importer.scalar_or_tensor(each) for each in (first, second)))
        if name in ("add", "maximum") and importer.is_boolean(importer.node):  # the logical or of booleans
            return sc.maximum(*[each if is_tensor(each) else importer.constant(bool(each), sc.f32) for each in (a, b)])
        if alpha != 1:
            b = OPS[ATEN.mul.Tensor](importer, b, alpha) if is_tensor(b) else b * alpha
        if isinstance(a, sc.Tensor):
            if isinstance(b, sc.Tensor):
                return of_tensors(a, b)
            return of_tensors(a, importer.constant(b, a.dtype)) if is_integer(a) or not of_number else of_number(a, b)
        assert isinstance(b, sc.Tensor)  # PyTorch computes what depends on numbers alone
        return of_tensors(importer.constant(a, b.dtype), b) if is_integer(b) or not of_reversed else of_reversed(a, b)

    op(*(f"aten.{overload}" for overload in overloads), keeps_constants=True)(apply)


def _with_numbers(name: str) -> list[str]:
    return [f"{name}{place}.{overload}" for place in ("", "_") for overload in ("Tensor", "Scalar")]


_elementwise("add", _with_numbers("add"), sc.add, lambda x, number: x + number, lambda number, x: x + number)
_elementwise("sub", _with_numbers("sub"), sc.sub, lambda x, number: x - number, lambda number, x: number - x)
_elementwise("mul", _with_numbers("mul"), sc.mul, lambda x, number: x * number, lambda number, x: x * number)
_elementwise("div", _with_numbers("div"), sc.div, lambda x, number: x / number,
             lambda number, x: sc.pow(x, -1) * number)


def _in_equal_parts(of: Binary) -> Binary:
    """The maximum or minimum of two tensors. Of equal ones each gets half of the gradient, and NaN stays NaN: `of`
    gives all of it to its second operand, and its second operand if one of them is NaN."""
    return lambda a, b: of(a, b) if is_integer(a) else of(a, b) * 0.5 + of(b, a) * 0.5


_elementwise("maximum", ["maximum.default", "max.other"], _in_equal_parts(sc.maximum))
_elementwise("minimum", ["minimum.default", "min.other"], _in_equal_parts(sc.minimum))

for _name, _of in (("neg", sc.neg), ("exp", sc.exp), ("log", sc.log), ("sqrt", sc.sqrt), ("tanh", sc.tanh),
                   ("sin", sc.sin), ("cos", sc.cos), ("relu", sc.relu), ("erf", sc.erf), ("abs", sc.abs),
                   ("rsqrt", sc.rsqrt), ("sigmoid", sc.sigmoid), ("silu", sc.silu)):
    op(f"aten.{_name}.default", f"aten.{_name}_.default")(functools.partial(
        lambda of, importer, x: of(as_type(x, importer.result_type())), _of))


@op("aten.reciprocal.default")
def reciprocal(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return sc.pow(as_type(x, importer.result_type()), -1)


@op("aten.sign.default", "aten.sgn.default")
def sign(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """Its gradient is 0."""
    zero = importer.constant(0, x.dtype)
    above, below = [as_type(sc.compare(x, zero, predicate), x.dtype) for predicate in ("gt", "lt")]
    return above - below


@op("aten.isnan.default")
def isnan(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return sc.compare(x, x, "ne")


@op("aten.isinf.default", of=sc.abs)
@op("aten.isposinf.default", of=lambda x: x)
@op("aten.isneginf.default", of=sc.neg)
def isinf(importer: Importer, x: sc.Tensor, *, of: Unary) -> sc.Tensor:
    """Whether of(x) is infinity."""
    if is_integer(x):
        return sc.compare(x, x, "ne")
    return sc.compare(of(x), importer.constant(math.inf, x.dtype), "eq")


def _rounded(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """x rounded to the nearest integer, of two the even one: adding 2^52 in f64 leaves no digits below 1.

    Numbers as large as that, which are taken as they are, infinities and NaN have none.
    """
    wide = as_type(sc.stop_gradient(x), sc.f64)
    size = sc.abs(wide)
    is_small = sc.compare(size, importer.constant(2.0**52, sc.f64), "lt")
    near, zero = (size + 2.0**52) - 2.0**52, importer.constant(0.0, sc.f64)
    near = sc.select(as_type(sc.compare(wide, zero, "lt"), sc.f64), -near, near)
    return sc.select(as_type(is_small, sc.f64), near, wide)


@op("aten.round.default")
def round_(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return x if is_integer(x) else as_type(_rounded(importer, x), x.dtype)


@op("aten.floor.default", way="floor")
@op("aten.ceil.default", way="ceil")
@op("aten.trunc.default", "aten.fix.default", way="trunc")
def floor(importer: Importer, x: sc.Tensor, *, way: str) -> sc.Tensor:
    """The gradient is 0, as in PyTorch."""
    return x if is_integer(x) else as_type(rounded_towards(importer, x, way), x.dtype)


def rounded_towards(importer: Importer, x: sc.Tensor, way: str) -> sc.Tensor:
    """x rounded down ("floor"), up ("ceil") or towards 0 ("trunc"), in f64 and without gradient."""
    near, wide = _rounded(importer, x), as_type(sc.stop_gradient(x), sc.f64)
    down = near - as_type(sc.compare(near, wide, "gt"), sc.f64)
    up = near + as_type(sc.compare(near, wide, "lt"), sc.f64)
    if way != "trunc":
        return down if way == "floor" else up
    return sc.select(as_type(sc.compare(wide, importer.constant(0, sc.f64), "lt"), sc.f64), up, down)


def _of_floats(name: str, of: Callable[[Importer, sc.Tensor], sc.Tensor]) -> None:
    """Registers a function of one tensor, which is computed in the result's type."""

    @op(f"aten.{name}.default")
    def apply(importer: Importer, x: sc.Tensor) -> sc.Tensor:
        return of(importer, as_type(x, importer.result_type()))


_of_floats("tan", lambda importer, x: sc.sin(x) / sc.cos(x))
_of_floats("log2", lambda importer, x: sc.log(x) / math.log(2))
_of_floats("log10", lambda importer, x: sc.log(x) / math.log(10))
_of_floats("exp2", lambda importer, x: sc.exp(x * math.log(2)))


@op("aten.square.default")
def square(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return x * x


def _exact_near_0(importer: Importer, x: sc.Tensor, plain: sc.Tensor, exact: Unary) -> sc.Tensor:
    """`plain`, but exact(x) where x is near 0, with the gradient of `plain`."""
    bound = importer.constant(0.5, x.dtype)
    near = sc.minimum(sc.maximum(x, -bound), bound)
    is_near = as_type(sc.compare(near, x, "eq"), x.dtype)
    return sc.select(is_near, plain + sc.stop_gradient(exact(near) - plain), plain)


@op("aten.log1p.default")
def log1p(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """The rounding of 1 + x to u is undone: log(1 + x) is log(u) x / (u - 1).

    Goldberg 1991, doi:10.1145/103162.103163.
    """
    if x.dtype in SMALL:
        return as_type(log1p(importer, as_type(x, sc.f32)), x.dtype)
    one = importer.constant(1.0, x.dtype)

    def exact(x: sc.Tensor) -> sc.Tensor:
        u = x + 1.0
        is_one = as_type(sc.compare(u, one, "eq"), x.dtype)
        return sc.select(is_one, x, sc.log(u) * x / sc.select(is_one, one, u - 1.0))

    return _exact_near_0(importer, x, sc.log(x + 1.0), exact)


@op("aten.expm1.default")
def expm1(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """As log1p: exp(x) - 1 is (u - 1) x / log(u), where u is exp(x), rounded."""
    if x.dtype in SMALL:
        return as_type(expm1(importer, as_type(x, sc.f32)), x.dtype)
    one = importer.constant(1.0, x.dtype)

    def exact(x: sc.Tensor) -> sc.Tensor:
        u = sc.exp(x)
        is_one = as_type(sc.compare(u, one, "eq"), x.dtype)
        return sc.select(is_one, x, (u - 1.0) * x / sc.select(is_one, one, sc.log(u)))

    return _exact_near_0(importer, x, sc.exp(x) - 1.0, exact)


@op("aten.softplus.default")
def softplus(importer: Importer, x: sc.Tensor, beta: float = 1, threshold: float = 20) -> sc.Tensor:
    """log(1 + exp(x)); x above the threshold, as in PyTorch."""
    scaled = x if beta == 1 else x * beta
    result = softplus_of(importer, scaled)
    result = result if beta == 1 else result / beta
    if threshold >= 20 and x.dtype != sc.f64:  # there the formula is already x
        return result
    return sc.select(as_type(sc.compare(scaled, importer.constant(threshold, x.dtype), "gt"), x.dtype), x, result)


def softplus_of(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """log(1 + exp(x)) without overflow, which is max(x, 0) + log1p(exp(-|x|)). Above 40 it is x in all types."""
    if x.dtype in SMALL:
        return as_type(softplus_of(importer, as_type(x, sc.f32)), x.dtype)
    most = importer.constant(40.0, x.dtype)
    bounded = sc.minimum(most, x)  # x if they are equal, with its gradient, and if it is NaN
    largest = sc.stop_gradient(sc.relu(bounded))
    plain = largest + sc.log(sc.exp(bounded - largest) + sc.exp(-largest))  # has the gradient
    exact = largest + log1p(importer, sc.exp(-sc.abs(bounded)))
    return sc.select(as_type(sc.compare(x, most, "gt"), x.dtype), x, plain + sc.stop_gradient(exact - plain))


@op("aten.leaky_relu.default", "aten.leaky_relu_.default")
def leaky_relu(importer: Importer, x: sc.Tensor, slope: sc.Tensor | float = 0.01) -> sc.Tensor:
    return sc.select(_is_above_0(importer, x), x, x * slope)


@op("aten.rrelu.default", "aten.rrelu_.default")
def rrelu(importer: Importer, x: sc.Tensor, lower: float = 1 / 8, upper: float = 1 / 3, is_training: bool = False,
          generator: object = None) -> sc.Tensor:
    """In training, the slope is drawn for each element."""
    slope = (lower + upper) / 2 if not is_training else uniform(importer, x, lower, upper)
    return leaky_relu(importer, x, slope)


def _is_above_0(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return as_type(sc.compare(x, importer.constant(0.0, x.dtype), "gt"), x.dtype)


@op("aten.elu.default", "aten.elu_.default")
def elu(importer: Importer, x: sc.Tensor, alpha: float = 1.0, scale: float = 1.0,
        input_scale: float = 1.0) -> sc.Tensor:
    below = sc.minimum(importer.constant(0.0, x.dtype), x)
    below = expm1(importer, below if input_scale == 1 else below * input_scale)
    result = sc.select(_is_above_0(importer, x), x, below * alpha)
    return result if scale == 1 else result * scale


@op("aten.celu.default", "aten.celu_.default")
def celu(importer: Importer, x: sc.Tensor, alpha: float = 1.0) -> sc.Tensor:
    return elu(importer, x, alpha, 1.0, 1.0 / alpha)


@op("aten.clamp.default", "aten.clamp_.default", "aten.clip.default")
def clamp(importer: Importer, x: sc.Tensor, least: float | None = None, most: float | None = None) -> sc.Tensor:
    """At a bound the gradient is 0, as in PyTorch: it goes to the constant, the second operand. NaN stays NaN."""
    x = as_type(x, importer.result_type())
    result = x if least is None else sc.maximum(x, importer.constant(least, x.dtype))
    result = result if most is None else sc.minimum(result, importer.constant(most, x.dtype))
    return result if is_integer(x) else sc.select(as_type(sc.compare(x, x, "ne"), x.dtype), x, result)


@op("aten.hardtanh.default", "aten.hardtanh_.default")
def hardtanh(importer: Importer, x: sc.Tensor, least: float = -1.0, most: float = 1.0) -> sc.Tensor:
    return clamp(importer, x, least, most)


@op("aten.clamp.Tensor")
def clamp_between(importer: Importer, x: sc.Tensor, least: Value | None = None, most: Value | None = None) -> sc.Tensor:
    """Of an element that is a bound, each gets half of the gradient, but all between bounds that are equal, and if one
    of three is no number."""
    x, *bounds = _tensors_of_result(importer, x, *(each for each in (least, most) if each is not None))
    if least is None or most is None:
        return _in_equal_parts(sc.minimum if least is None else sc.maximum)(x, *bounds)
    low, high = bounds
    within = _in_equal_parts(sc.minimum)(_in_equal_parts(sc.maximum)(x, low), high)
    if is_integer(x):
        return within

    def where(one: sc.Tensor, relation: str, other: sc.Tensor, then: sc.Tensor, otherwise: sc.Tensor) -> sc.Tensor:
        return sc.select(as_type(sc.compare(one, other, relation), then.dtype), then, otherwise)

    one_place = where(x, "lt", low, low, where(x, "gt", high, high, x))
    no_number = x + sc.stop_gradient(low + high)
    result = where(low, "eq", high, one_place, within)
    for each in (x, low, high):
        result = where(each, "ne", each, no_number, result)
    return result


@op("aten.clamp_max.default", "aten.clamp_max_.default")
def clamp_max(importer: Importer, x: sc.Tensor, most: float) -> sc.Tensor:
    return clamp(importer, x, None, most)


@op("aten.clamp_min.default", "aten.clamp_min_.default")
def clamp_min(importer: Importer, x: sc.Tensor, least: float) -> sc.Tensor:
    return clamp(importer, x, least)


@op("aten.relu6.default", "aten.relu6_.default")
def relu6(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return clamp(importer, x, 0.0, 6.0)


@op("aten.hardsigmoid.default", "aten.hardsigmoid_.default")
def hardsigmoid(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return relu6(importer, x + 3.0) / 6.0


@op("aten.hardswish.default", "aten.hardswish_.default")
def hardswish(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return x * hardsigmoid(importer, x)


@op("aten.sinc.default")
def sinc(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """sin(pi x) / (pi x), and 1 with a gradient of 0 at 0."""
    scaled = as_type(x, importer.result_type()) * math.pi
    one = importer.constant(1.0, scaled.dtype)
    is_zero = as_type(sc.compare(scaled, importer.constant(0.0, scaled.dtype), "eq"), scaled.dtype)
    divisor = sc.select(is_zero, one, scaled)
    return sc.select(is_zero, one, sc.sin(divisor) / divisor)


@op("aten.mish.default", "aten.mish_.default")
def mish(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return x * sc.tanh(softplus(importer, x))


@op("aten.gelu.default")
def gelu(importer: Importer, x: sc.Tensor, approximate: str = "none") -> sc.Tensor:
    return sc.gelu(x, approximate=approximate == "tanh")


@op("aten.pow.Tensor_Scalar")
def pow_(importer: Importer, x: sc.Tensor, exponent: float) -> sc.Tensor:
    """Whole powers by squaring, where sc.pow takes only positive numbers. Negative ones of 1 / x: the power of x may be
    infinite, and its gradient then is not a number."""
    if abs(exponent) <= 8 or not math.isfinite(exponent) or exponent != int(exponent):
        return sc.pow(x, exponent)
    wide = as_type(x, sc.f32) if x.dtype in (sc.f16, sc.bf16) else x  # so that it is rounded once
    square, left = wide if exponent > 0 else sc.pow(wide, -1), abs(int(exponent))
    result: sc.Tensor | None = None
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        square = square * square if left else square
    assert result is not None  # the exponent is not 0
    return as_type(result, x.dtype)


@op("aten.dropout.default", "aten.dropout_.default")
@op("aten.feature_dropout.default", of_features=True)
def dropout(importer: Importer, x: sc.Tensor, p: float, is_training: bool, *, of_features: bool = False) -> sc.Tensor:
    if not is_training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    return dropped_features(importer, x, p) if of_features else sc.dropout(x, p)


@op("aten.native_dropout.default")
def native_dropout(importer: Importer, x: sc.Tensor, p: float, is_training: bool | None) -> list[sc.Tensor | None]:
    return [dropout(importer, x, p, is_training is not False), None]


@op("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default", "aten.type_as.default")
def to(importer: Importer, x: sc.Tensor, *ignored: object, **also_ignored: object) -> sc.Tensor:
    dtype = importer.node.meta["val"].dtype
    if dtype == torch.bool and not importer.is_boolean(importer.args[0]):
        return ne(importer, x, 0)
    return as_type(x, importer.element_type(dtype))


@op("aten.contiguous.default", "aten.alias.default", "aten.lift_fresh_copy.default", "aten.clone.default",
    "aten.positive.default")
def same(importer: Importer, x: sc.Tensor, *ignored: object, **also_ignored: object) -> sc.Tensor:
    return x


@op("aten.lerp.Scalar", "aten.lerp_.Scalar")
def lerp(importer: Importer, x: sc.Tensor, end: sc.Tensor, weight: float) -> sc.Tensor:
    """From the nearer end, so that the weights 0 and 1 give the ends themselves."""
    return x + (end - x) * weight if abs(weight) < 0.5 else end - (end - x) * (1 - weight)


@op("aten.detach.default", "aten.detach_.default")
def detach(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return x if is_integer(x) else sc.stop_gradient(x)


# ---- Comparisons and choices ----
def _type_of_operands(importer: Importer) -> torch.dtype:
    """The type in which PyTorch compares the first two operands of the node."""
    values: Any = [each.meta["val"] if isinstance(each, torch.fx.Node) else each for each in importer.node.args[:2]]
    return torch.result_type(values[0], values[1])


def _compare(predicate: str) -> Function:

    def with_number(importer: Importer, x: sc.Tensor, number: float) -> tuple[sc.Tensor, sc.Tensor]:
        """Both as tensors of one type, which has the number."""
        if is_integer(x) and (not math.isfinite(number) or number != int(number)):
            x = sc.cast(x, sc.f64)
        return x, importer.constant(number, x.dtype)

    def apply(importer: Importer, first: Operand, second: Operand) -> sc.Tensor:
        a, b = importer.scalar_or_tensor(first), importer.scalar_or_tensor(second)
        if isinstance(a, sc.Tensor) and isinstance(b, sc.Tensor):
            dtype = a.dtype if a.dtype == b.dtype else importer.element_type(_type_of_operands(importer))
            return sc.compare(as_type(a, dtype), as_type(b, dtype), predicate)
        if isinstance(a, sc.Tensor):
            assert not isinstance(b, sc.Tensor)
            a, b = with_number(importer, a, b)
        else:
            assert isinstance(b, sc.Tensor)  # PyTorch computes what depends on numbers alone
            b, a = with_number(importer, b, a)
        return sc.compare(a, b, predicate)

    return apply


for _predicate in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _overload in ("Tensor", "Scalar"):
        op(f"aten.{_predicate}.{_overload}", keeps_constants=True)(_compare(_predicate))
ne: Callable[[Importer, Operand, Operand], sc.Tensor] = OPS[ATEN.ne.Tensor]


def as_condition(importer: Importer, x: Value, node: object = None) -> sc.Tensor:
    """The condition x as 0 or 1 in f32. `node`: x's node, given if x may be a float rather than a boolean."""
    if isinstance(x, torch.Tensor):
        return importer.tensor(x != 0)
    return ne(importer, x, 0) if is_integer(x) or (node is not None and not importer.is_boolean(node)) else x


def _conditions(importer: Importer, *values: Value) -> list[sc.Tensor]:
    _require_boolean(importer)
    return [as_condition(importer, value, node) for value, node in zip(values, importer.args)]


@op("aten.logical_and.default", "aten.bitwise_and.Tensor", "aten.__and__.Tensor", keeps_constants=True)
def logical_and(importer: Importer, a: Value, b: Value) -> sc.Tensor:
    return sc.mul(*_conditions(importer, a, b))


@op("aten.logical_or.default", "aten.bitwise_or.Tensor", "aten.__or__.Tensor", keeps_constants=True)
def logical_or(importer: Importer, a: Value, b: Value) -> sc.Tensor:
    return sc.maximum(*_conditions(importer, a, b))


@op("aten.logical_xor.default", "aten.bitwise_xor.Tensor", "aten.__xor__.Tensor", keeps_constants=True)
def logical_xor(importer: Importer, a: Value, b: Value) -> sc.Tensor:
    one, other = _conditions(importer, a, b)
    return sc.compare(one, other, "ne")


@op("aten.logical_not.default", "aten.bitwise_not.default")
def logical_not(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    return 1.0 - _conditions(importer, x)[0]


@op("aten.any.default", "aten.any.dim")
@op("aten.all.default", "aten.all.dim", is_all=True)
def any_(importer: Importer, x: sc.Tensor, dim: int | None = None, keepdim: bool = False, *,
         is_all: bool = False) -> sc.Tensor:
    """any: whether the count of true elements is above 0; all: whether that of false ones is 0."""
    holds = as_condition(importer, x, importer.args[0])
    holds = 1.0 - holds if is_all else holds
    count = sc.sum(holds) if dim is None else sc.sum(holds, [positive(dim, len(x.shape))])
    return sc.reshape(sc.compare(count, importer.constant(0, sc.f32), "eq" if is_all else "gt"), importer.shape())


def _require_boolean(importer: Importer) -> None:
    if importer.node.meta["val"].dtype != torch.bool:
        raise Missing("bits of integers are not supported, only booleans")


@op("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar", keeps_constants=True)
def where(importer: Importer, condition: Value, chosen: Operand, other: Operand) -> sc.Tensor:
    dtype = importer.result_type()
    chosen, other = [importer.constant(each, dtype) if isinstance(each, (bool, int, float)) else as_type(
        importer.tensor(each), dtype) for each in (chosen, other)]
    return sc.select(as_type(as_condition(importer, condition), dtype), chosen, other)


@op("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", "aten.masked_fill_.Scalar", "aten.masked_fill_.Tensor",
    keeps_constants=True)
def masked_fill(importer: Importer, x: Value, mask: Value, value: Operand) -> sc.Tensor:
    value = importer.scalar_or_tensor(value)
    return where(importer, mask, value, x)


@op("aten.fill.Scalar", "aten.fill.Tensor", "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.full_like.default",
    "aten.new_full.default", keeps_constants=True)
@op("aten.zeros_like.default", "aten.new_zeros.default", "aten.zero.default", "aten.zero_.default",
    keeps_constants=True, number=0)
@op("aten.ones_like.default", "aten.new_ones.default", keeps_constants=True, number=1)
def filled(importer: Importer, x: Value, *arguments: Any, number: int | None = None, **ignored: object) -> Value:
    """A tensor with the result's shape and type, of one value: the number, or else the last argument."""
    of = importer.node.meta["val"]
    value = arguments[-1] if number is None else number
    if is_tensor(value):
        return expand_to(importer, as_type(value, importer.element_type(of.dtype)), importer.shape())
    return torch.full(importer.shape(), value.item() if isinstance(value, torch.Tensor) else value, dtype=of.dtype)


@op("aten.copy.default", "aten.copy_.default")
def copy(importer: Importer, x: sc.Tensor, source: Value, non_blocking: bool = False) -> sc.Tensor:
    return expand_to(importer, as_type(importer.tensor(source), importer.result_type()),
                     importer.shape())


@op("aten.broadcast_tensors.default")
def broadcast_tensors(importer: Importer, values: Sequence[Value]) -> list[Value]:
    shapes = [tuple(value.shape) for value in importer.node.meta["val"]]
    return [value if tuple(value.shape) == shape else expand_to(importer, value, shape)
            for value, shape in zip(values, shapes)]


@op("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(importer: Importer, a: Operand, b: Operand, alpha: float = 1) -> sc.Tensor:
    result: sc.Tensor = OPS[ATEN.sub.Tensor](importer, b, a if alpha == 1 else a * alpha)
    return result


@op("aten._assert_tensor_metadata.default")
def nothing(importer: Importer, *ignored: object, **also_ignored: object) -> None:
    return None
