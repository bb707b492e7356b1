"""Elementwise ops, comparisons and selections."""
import functools
import math

import splitcast as sc
import torch

from splitcast.torch.ops.random import dropped_features, uniform
from splitcast.torch.ops.table import Missing, OPS, as_type, expand_to, is_integer, is_tensor, op, positive

# ---- Elementwise ----
def _with_type_of_result(importer, *values):
    """Casts the operands to the result's type, in which PyTorch computes."""
    wanted = importer.element_type(importer.node.meta["val"].dtype)
    return [as_type(importer.tensor(value), wanted) if is_tensor(value) or isinstance(value, torch.Tensor) else value
            for value in values]


def _elementwise(name, of_tensors, of_number, of_reversed):
    """Registers an op of two tensors, or of a tensor and a number on either side."""

    def apply(importer, a, b, *, alpha=1):
        a, b = importer.scalar_or_tensor(a), importer.scalar_or_tensor(b)
        a, b = _with_type_of_result(importer, a, b)
        if name in ("add", "maximum") and importer.is_boolean(importer.node):  # the logical or of booleans
            return sc.maximum(*[each if is_tensor(each) else importer.constant(bool(each), sc.f32) for each in (a, b)])
        if alpha != 1:
            b = OPS["aten.mul.Tensor"](importer, b, alpha) if is_tensor(b) else b * alpha
        if is_tensor(a) and is_tensor(b):
            return of_tensors(a, b)
        x = a if is_tensor(a) else b
        if is_integer(x) or of_number is None:
            a, b = [each if is_tensor(each) else importer.constant(each, x.dtype) for each in (a, b)]
            return of_tensors(a, b)
        return of_number(a, b) if is_tensor(a) else of_reversed(a, b)

    names = ["aten.%s%s.%s" % (name, place, overload) for place in ("", "_") for overload in ("Tensor", "Scalar")]
    op(*names, keeps_constants=True)(apply)


_elementwise("add", sc.add, lambda x, number: x + number, lambda number, x: x + number)
_elementwise("sub", sc.sub, lambda x, number: x - number, lambda number, x: number - x)
_elementwise("mul", sc.mul, lambda x, number: x * number, lambda number, x: x * number)
_elementwise("div", sc.div, lambda x, number: x / number, lambda number, x: sc.pow(x, -1) * number)


def _in_equal_parts(of):
    """The maximum or minimum of two tensors. Of equal ones each gets half of the gradient, and NaN stays NaN: `of` gives
    all of it to its second operand, and its second operand if one of them is NaN."""
    return lambda a, b: of(a, b) if is_integer(a) else of(a, b) * 0.5 + of(b, a) * 0.5


_elementwise("maximum", _in_equal_parts(sc.maximum), None, None)
_elementwise("minimum", _in_equal_parts(sc.minimum), None, None)
OPS["aten.max.other"], OPS["aten.min.other"] = OPS["aten.maximum.Tensor"], OPS["aten.minimum.Tensor"]
OPS["aten.maximum.default"], OPS["aten.minimum.default"] = OPS["aten.max.other"], OPS["aten.min.other"]

for _name, _of in (("neg", sc.neg), ("exp", sc.exp), ("log", sc.log), ("sqrt", sc.sqrt), ("tanh", sc.tanh),
                   ("sin", sc.sin), ("cos", sc.cos), ("relu", sc.relu), ("erf", sc.erf), ("abs", sc.abs),
                   ("rsqrt", sc.rsqrt), ("sigmoid", sc.sigmoid), ("silu", sc.silu)):
    OPS["aten.%s.default" % _name] = OPS["aten.%s_.default" % _name] = functools.partial(
        lambda of, importer, x: of(x), _of)


@op("aten.reciprocal.default")
def reciprocal(importer, x):
    return sc.pow(as_type(x, importer.element_type(importer.node.meta["val"].dtype)), -1)


@op("aten.sign.default", "aten.sgn.default")
def sign(importer, x):
    """Its gradient is 0."""
    zero = importer.constant(0, x.dtype)
    above, below = [as_type(sc.compare(x, zero, predicate), x.dtype) for predicate in ("gt", "lt")]
    return above - below


@op("aten.isnan.default")
def isnan(importer, x):
    return sc.compare(x, x, "ne")


@op("aten.isinf.default", "aten.isposinf.default", "aten.isneginf.default")
def isinf(importer, x):
    if is_integer(x):
        return sc.compare(x, x, "ne")
    name = str(importer.node.target)
    value = sc.abs(x) if "isinf" in name else x
    return sc.compare(value, importer.constant(-math.inf if "neg" in name else math.inf, x.dtype), "eq")


def _rounded(importer, x):
    """x rounded to the nearest integer, of two the even one: adding 1.5 * 2^52 in f64 leaves no digits below 1.

    Numbers as large as 2^51, which are taken as they are, infinities and NaN have none.
    """
    wide = as_type(sc.stop_gradient(x), sc.f64)
    is_small = sc.compare(sc.abs(wide), importer.constant(2.0**51, sc.f64), "lt")
    return sc.select(as_type(is_small, sc.f64), (wide + 1.5 * 2.0**52) - 1.5 * 2.0**52, wide)


@op("aten.round.default")
def round_(importer, x):
    return x if is_integer(x) else as_type(_rounded(importer, x), x.dtype)


@op("aten.floor.default", "aten.ceil.default", "aten.trunc.default", "aten.fix.default")
def floor(importer, x):
    """The gradient is 0, as in PyTorch."""
    name = str(importer.node.target)
    way = next((each for each in ("floor", "ceil") if each in name), "trunc")
    return x if is_integer(x) else as_type(rounded_towards(importer, x, way), x.dtype)


def rounded_towards(importer, x, way):
    """x rounded down ("floor"), up ("ceil") or towards 0 ("trunc"), in f64 and without gradient."""
    near, wide = _rounded(importer, x), as_type(sc.stop_gradient(x), sc.f64)
    down = near - as_type(sc.compare(near, wide, "gt"), sc.f64)
    up = near + as_type(sc.compare(near, wide, "lt"), sc.f64)
    if way != "trunc":
        return down if way == "floor" else up
    return sc.select(as_type(sc.compare(wide, importer.constant(0, sc.f64), "lt"), sc.f64), up, down)


def _of_floats(name, of):
    """Registers a function of one tensor, which is computed in the result's type."""

    @op("aten.%s.default" % name)
    def apply(importer, x):
        return of(importer, as_type(x, importer.element_type(importer.node.meta["val"].dtype)))


_of_floats("sinh", lambda importer, x: (expm1(importer, x) - expm1(importer, -x)) * 0.5)
_of_floats("cosh", lambda importer, x: (sc.exp(x) + sc.exp(-x)) * 0.5)
_of_floats("tan", lambda importer, x: sc.sin(x) / sc.cos(x))
_of_floats("log2", lambda importer, x: sc.log(x) / math.log(2))
_of_floats("log10", lambda importer, x: sc.log(x) / math.log(10))
_of_floats("exp2", lambda importer, x: sc.exp(x * math.log(2)))


@op("aten.square.default")
def square(importer, x):
    return x * x


def _exact_near_0(importer, x, plain, exact):
    """`plain`, but exact(x) where x is near 0, with the gradient of `plain`."""
    bound = importer.constant(0.5, x.dtype)
    near = sc.minimum(sc.maximum(x, -bound), bound)
    is_near = as_type(sc.compare(near, x, "eq"), x.dtype)
    return sc.select(is_near, plain + sc.stop_gradient(exact(near) - plain), plain)


@op("aten.log1p.default")
def log1p(importer, x):
    """The rounding of 1 + x to u is undone: log(1 + x) is log(u) x / (u - 1) (Goldberg 1991, doi:10.1145/103162.103163)."""
    one = importer.constant(1.0, x.dtype)

    def exact(x):
        u = x + 1.0
        is_one = as_type(sc.compare(u, one, "eq"), x.dtype)
        return sc.select(is_one, x, sc.log(u) * x / sc.select(is_one, one, u - 1.0))

    return _exact_near_0(importer, x, sc.log(x + 1.0), exact)


@op("aten.expm1.default")
def expm1(importer, x):
    """As log1p: exp(x) - 1 is (u - 1) x / log(u), where u is exp(x), rounded."""
    one = importer.constant(1.0, x.dtype)

    def exact(x):
        u = sc.exp(x)
        is_one = as_type(sc.compare(u, one, "eq"), x.dtype)
        return sc.select(is_one, x, (u - 1.0) * x / sc.select(is_one, one, sc.log(u)))

    return _exact_near_0(importer, x, sc.exp(x) - 1.0, exact)


@op("aten.softplus.default")
def softplus(importer, x, beta=1, threshold=20):
    """log(1 + exp(x)); x above the threshold, as in PyTorch."""
    scaled = x if beta == 1 else x * beta
    result = softplus_of(importer, scaled)
    result = result if beta == 1 else result / beta
    if threshold >= 20:  # there the formula is already x in f32
        return result
    return sc.select(as_type(sc.compare(scaled, importer.constant(threshold, x.dtype), "gt"), x.dtype), x, result)


def softplus_of(importer, x):
    """log(1 + exp(x)) without overflow. Below -15 it is exp(x), since adding 1 would lose its digits."""
    largest = sc.stop_gradient(sc.relu(x))
    result = largest + sc.log(sc.exp(x - largest) + sc.exp(-largest))
    is_small = as_type(sc.compare(x, importer.constant(-15.0, x.dtype), "lt"), x.dtype)
    return sc.select(is_small, sc.exp(sc.minimum(x, importer.constant(-15.0, x.dtype))), result)


@op("aten.leaky_relu.default", "aten.leaky_relu_.default")
def leaky_relu(importer, x, slope=0.01):
    return sc.select(_is_above_0(importer, x), x, x * slope)


@op("aten.rrelu.default", "aten.rrelu_.default")
def rrelu(importer, x, lower=1 / 8, upper=1 / 3, is_training=False, generator=None):
    """In training, the slope is drawn for each element."""
    slope = (lower + upper) / 2 if not is_training else uniform(importer, x, lower, upper)
    return leaky_relu(importer, x, slope)


def _is_above_0(importer, x):
    return as_type(sc.compare(x, importer.constant(0.0, x.dtype), "gt"), x.dtype)


@op("aten.elu.default", "aten.elu_.default")
def elu(importer, x, alpha=1.0, scale=1.0, input_scale=1.0):
    below = sc.minimum(importer.constant(0.0, x.dtype), x)
    below = expm1(importer, below if input_scale == 1 else below * input_scale)
    result = sc.select(_is_above_0(importer, x), x, below * alpha)
    return result if scale == 1 else result * scale


@op("aten.clamp.default", "aten.clamp_.default", "aten.clip.default")
def clamp(importer, x, least=None, most=None):
    """At a bound the gradient is 0, as in PyTorch: it goes to the constant, the second operand. NaN stays NaN."""
    result = x if least is None else sc.maximum(x, importer.constant(least, x.dtype))
    result = result if most is None else sc.minimum(result, importer.constant(most, x.dtype))
    return result if is_integer(x) else sc.select(as_type(sc.compare(x, x, "ne"), x.dtype), x, result)


@op("aten.hardtanh.default", "aten.hardtanh_.default")
def hardtanh(importer, x, least=-1.0, most=1.0):
    return clamp(importer, x, least, most)


@op("aten.clamp.Tensor")
def clamp_between(importer, x, least=None, most=None):
    for bound, of in ((least, sc.maximum), (most, sc.minimum)):
        if bound is not None:
            x = _in_equal_parts(of)(*_with_type_of_result(importer, x, importer.tensor(bound)))
    return x


@op("aten.clamp_max.default", "aten.clamp_max_.default")
def clamp_max(importer, x, most):
    return clamp(importer, x, None, most)


@op("aten.clamp_min.default", "aten.clamp_min_.default")
def clamp_min(importer, x, least):
    return clamp(importer, x, least)


@op("aten.relu6.default", "aten.relu6_.default")
def relu6(importer, x):
    return clamp(importer, x, 0.0, 6.0)


@op("aten.hardsigmoid.default", "aten.hardsigmoid_.default")
def hardsigmoid(importer, x):
    return relu6(importer, x + 3.0) / 6.0


@op("aten.hardswish.default", "aten.hardswish_.default")
def hardswish(importer, x):
    return x * hardsigmoid(importer, x)


@op("aten.mish.default", "aten.mish_.default")
def mish(importer, x):
    return x * sc.tanh(softplus(importer, x))


@op("aten.gelu.default")
def gelu(importer, x, approximate="none"):
    return sc.gelu(x, approximate=approximate == "tanh")


@op("aten.pow.Tensor_Scalar")
def pow_(importer, x, exponent):
    """Whole powers by squaring, where sc.pow takes only positive numbers. Negative ones of 1 / x: the power of x may be
    infinite, and its gradient then is not a number."""
    if abs(exponent) <= 8 or not math.isfinite(exponent) or exponent != int(exponent):
        return sc.pow(x, exponent)
    wide = as_type(x, sc.f32) if x.dtype in (sc.f16, sc.bf16) else x  # so that it is rounded once
    result, square, left = None, wide if exponent > 0 else sc.pow(wide, -1), abs(int(exponent))
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        square = square * square if left else square
    return as_type(result, x.dtype)


@op("aten.pow.Scalar")
def pow_of_number(importer, base, exponent):
    wanted = importer.node.meta["val"].dtype
    if base <= 0 or not wanted.is_floating_point:
        raise Missing("%s to the power of a tensor with a result of %s is not supported; the number must be above 0 and "
                      "the result a float" % (base, wanted))
    return sc.exp(as_type(exponent, importer.element_type(wanted)) * math.log(base))


@op("aten.pow.Tensor_Tensor")
def pow_of_tensors(importer, x, exponent):
    """exp(y log |x|), with the sign of odd powers; NaN for a negative number and an exponent that is no integer."""
    if not importer.node.meta["val"].dtype.is_floating_point:
        raise Missing("powers of integers are not supported, only of floats")
    x, y = _with_type_of_result(importer, importer.tensor(x), importer.tensor(exponent))
    x, y = [expand_to(importer, each, importer.shape()) for each in (x, y)]
    zero, one = importer.constant(0, x.dtype), importer.constant(1.0, x.dtype)

    def holds(a, predicate, b):
        return as_type(sc.compare(a, b, predicate), x.dtype)

    is_zero = holds(x, "eq", zero)
    result = sc.exp(y * sc.log(sc.select(is_zero, one, sc.abs(x))))
    half = y * 0.5
    is_even = holds(as_type(_rounded(importer, half), x.dtype), "eq", half)
    is_whole = holds(as_type(_rounded(importer, y), x.dtype), "eq", y)
    is_below = holds(x, "lt", zero)
    result = sc.select(is_below * (1.0 - is_even), -result, result)
    result = sc.select(is_below * (1.0 - is_whole), importer.constant(math.nan, x.dtype), result)

    def power_of_zero(holding, of, before):
        """of(x) has the value and the gradient that the power has where x is 0 and `holding` is 1."""
        return sc.select(is_zero * holding, of(sc.select(is_zero * holding, x, one)), before)

    result = power_of_zero(holds(y, "gt", one), lambda x: x * x, result)
    result = power_of_zero(holds(y, "gt", zero) * holds(y, "lt", one), sc.sqrt, result)
    result = power_of_zero(holds(y, "eq", one), lambda x: x, result)
    result = power_of_zero(holds(y, "lt", zero), lambda x: sc.pow(x, -2), result)
    return power_of_zero(holds(y, "eq", zero), lambda x: x * 0.0 + 1.0, result)


@op("aten.dropout.default", "aten.dropout_.default", "aten.feature_dropout.default")
def dropout(importer, x, p, is_training):
    if not is_training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    return dropped_features(importer, x, p) if "feature" in str(importer.node.target) else sc.dropout(x, p)


@op("aten.native_dropout.default")
def native_dropout(importer, x, p, is_training):
    return [dropout(importer, x, p, is_training is not False), None]


@op("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default", "aten.type_as.default")
def to(importer, x, *ignored, **also_ignored):
    dtype = importer.node.meta["val"].dtype
    if dtype == torch.bool and not importer.is_boolean(importer.node.args[0]):
        return ne(importer, x, 0)
    return as_type(x, importer.element_type(dtype))


@op("aten.contiguous.default", "aten.alias.default", "aten.lift_fresh_copy.default", "aten.clone.default",
    "aten.positive.default")
def same(importer, x, *ignored, **also_ignored):
    return x


@op("aten.lerp.Scalar", "aten.lerp_.Scalar")
def lerp(importer, x, end, weight):
    return x + (end - x) * weight


@op("aten.detach.default", "aten.detach_.default")
def detach(importer, x):
    return x if is_integer(x) else sc.stop_gradient(x)


# ---- Comparisons and choices ----
def _compare(predicate):

    def apply(importer, a, b):
        a, b = importer.scalar_or_tensor(a), importer.scalar_or_tensor(b)
        x = a if is_tensor(a) else b
        if is_tensor(a) and is_tensor(b):
            dtype = sc.f32 if a.dtype != b.dtype and is_integer(a) != is_integer(b) else max(
                a.dtype, b.dtype, key=lambda each: (each in (sc.f32, sc.i64), each == sc.f64))
            return sc.compare(as_type(a, dtype), as_type(b, dtype), predicate)
        number = b if is_tensor(a) else a
        if is_integer(x) and (not math.isfinite(number) or number != int(number)):
            x = sc.cast(x, sc.f64)
        number = importer.constant(number, x.dtype)
        return sc.compare(x, number, predicate) if is_tensor(a) else sc.compare(number, x, predicate)

    return apply


for _predicate in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _overload in ("Tensor", "Scalar"):
        op("aten.%s.%s" % (_predicate, _overload), keeps_constants=True)(_compare(_predicate))
ne = OPS["aten.ne.Tensor"]


def as_condition(importer, x, node=None):
    """The condition x as 0 or 1 in f32. `node`: x's node, given if x may be a float rather than a boolean."""
    if isinstance(x, torch.Tensor):
        return importer.tensor(x != 0)
    return ne(importer, x, 0) if is_integer(x) or node is not None and not importer.is_boolean(node) else x


def _conditions(importer, *values):
    _require_boolean(importer)
    return [as_condition(importer, value, node) for value, node in zip(values, importer.node.args)]


@op("aten.logical_and.default", "aten.bitwise_and.Tensor", "aten.__and__.Tensor", keeps_constants=True)
def logical_and(importer, a, b):
    return sc.mul(*_conditions(importer, a, b))


@op("aten.logical_or.default", "aten.bitwise_or.Tensor", "aten.__or__.Tensor", keeps_constants=True)
def logical_or(importer, a, b):
    return sc.maximum(*_conditions(importer, a, b))


@op("aten.logical_xor.default", "aten.bitwise_xor.Tensor", "aten.__xor__.Tensor", keeps_constants=True)
def logical_xor(importer, a, b):
    return sc.compare(*_conditions(importer, a, b), "ne")


@op("aten.logical_not.default", "aten.bitwise_not.default")
def logical_not(importer, x):
    return 1.0 - _conditions(importer, x)[0]


@op("aten.any.default", "aten.any.dim", "aten.all.default", "aten.all.dim")
def any_(importer, x, dim=None, keepdim=False):
    """any: whether the count of true elements is above 0; all: whether that of false ones is 0."""
    is_all = ".all." in str(importer.node.target)
    holds = as_condition(importer, x, importer.node.args[0])
    holds = 1.0 - holds if is_all else holds
    count = sc.sum(holds) if dim is None else sc.sum(holds, [positive(dim, len(x.shape))])
    return sc.reshape(sc.compare(count, importer.constant(0, sc.f32), "eq" if is_all else "gt"), importer.shape())


def _require_boolean(importer):
    if importer.node.meta["val"].dtype != torch.bool:
        raise Missing("bits of integers are not supported, only booleans")


@op("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar", keeps_constants=True)
def where(importer, condition, chosen, other):
    dtype = importer.element_type(importer.node.meta["val"].dtype)
    chosen, other = [importer.constant(each, dtype) if isinstance(each, (bool, int, float)) else as_type(
        importer.tensor(each), dtype) for each in (chosen, other)]
    return sc.select(as_type(as_condition(importer, condition), dtype), chosen, other)


@op("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", "aten.masked_fill_.Scalar", "aten.masked_fill_.Tensor", keeps_constants=True)
def masked_fill(importer, x, mask, value):
    value = importer.scalar_or_tensor(value)
    return where(importer, mask, value, x)


@op("aten.fill.Scalar", "aten.fill.Tensor", "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.zeros_like.default",
    "aten.ones_like.default", "aten.full_like.default", "aten.new_zeros.default", "aten.new_ones.default",
    "aten.new_full.default", "aten.zero.default", "aten.zero_.default", keeps_constants=True)
def filled(importer, x, *arguments, **ignored):
    """A tensor with the result's shape and type, of one value."""
    of = importer.node.meta["val"]
    name = str(importer.node.target)
    value = arguments[-1] if "full" in name or "fill" in name else 1 if "ones" in name else 0
    if is_tensor(value):
        return expand_to(importer, as_type(value, importer.element_type(of.dtype)), importer.shape())
    return torch.full(importer.shape(), value.item() if isinstance(value, torch.Tensor) else value, dtype=of.dtype)


@op("aten.copy.default", "aten.copy_.default")
def copy(importer, x, source, non_blocking=False):
    return expand_to(importer, as_type(importer.tensor(source), importer.element_type(importer.node.meta["val"].dtype)),
                     importer.shape())


@op("aten.broadcast_tensors.default")
def broadcast_tensors(importer, values):
    shapes = [tuple(value.shape) for value in importer.node.meta["val"]]
    return [value if tuple(value.shape) == shape else expand_to(importer, value, shape)
            for value, shape in zip(values, shapes)]


@op("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(importer, a, b, *, alpha=1):
    return OPS["aten.sub.Tensor"](importer, b, a if alpha == 1 else a * alpha)


@op("aten._assert_tensor_metadata.default")
def nothing(importer, *ignored, **also_ignored):
    return None
