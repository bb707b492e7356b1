"""Random numbers. Each step draws others than PyTorch would: they have its distributions, not its values."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import splitcast as sc
from splitcast.torch.ops.table import Missing, Unary, as_type, op, type_of

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


def _like(importer: Importer, of: Unary, shape: Sequence[int] | None = None) -> sc.Tensor:
    """Draws by `of`, in f32 or f64, and rounds to the type of the node's value."""
    wanted = importer.result_type()
    drawn = sc.f64 if wanted == sc.f64 else sc.f32
    numbers = of(importer.graph.constant(drawn, tuple(importer.shape() if shape is None else shape), 0.0))
    return as_type(numbers, wanted)


@op("aten.rand.default", "aten.rand_like.default")
def rand(importer: Importer, *ignored: object, **also_ignored: object) -> sc.Tensor:
    return _like(importer, sc.uniform)


@op("aten.randn.default", "aten.randn_like.default")
def randn(importer: Importer, *ignored: object, **also_ignored: object) -> sc.Tensor:
    return _like(importer, sc.normal)


@op("aten.uniform.default")
def uniform(importer: Importer, x: sc.Tensor, low: float = 0.0, high: float = 1.0, **ignored: object) -> sc.Tensor:
    return low + (high - low) * _like(importer, sc.uniform)


@op("aten.normal_functional.default")
def normal(importer: Importer, x: sc.Tensor, mean: float = 0.0, std: float = 1.0, **ignored: object) -> sc.Tensor:
    return mean + std * _like(importer, sc.normal)


@op("aten.exponential.default")
def exponential(importer: Importer, x: sc.Tensor, rate: float = 1.0, **ignored: object) -> sc.Tensor:
    """-log(1 - u) / rate, where 1 - u is above 0."""
    return -sc.log(1.0 - _like(importer, sc.uniform)) * (1 / rate)


@op("aten.bernoulli.default", "aten.bernoulli.p")
def bernoulli(importer: Importer, x: sc.Tensor, p: float | None = None, **ignored: object) -> sc.Tensor:
    """1 with probability x, or p if it is given."""
    drawn = _like(importer, sc.uniform)
    return as_type(sc.compare(drawn, importer.tensor(x) if p is None else importer.constant(p, drawn.dtype), "lt"),
                   drawn.dtype)


def dropped_features(importer: Importer, x: sc.Tensor, p: float) -> sc.Tensor:
    """Drops whole features of [samples, features, ...]."""
    if len(x.shape) < 2:
        raise Missing(f"dropout of whole features takes at least two dimensions, but has {len(x.shape)}")
    shape = list(x.shape[:2]) + [1] * (len(x.shape) - 2)
    return x * sc.dropout(importer.graph.constant(type_of(x), shape, 1.0), p)
