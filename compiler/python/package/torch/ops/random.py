"""Random numbers. Each step draws others than PyTorch would: they have its distributions, not its values."""
import splitcast as sc

from splitcast.torch.ops.table import Missing, as_type, op


def _like(importer, of, shape=None):
    """Draws by `of`, in f32 or f64, and rounds to the type of the node's value."""
    wanted = importer.element_type(importer.node.meta["val"].dtype)
    drawn = sc.f64 if wanted == sc.f64 else sc.f32
    numbers = of(importer.graph.constant(drawn, tuple(importer.shape() if shape is None else shape), 0.0))
    return as_type(numbers, wanted)


@op("aten.rand.default", "aten.rand_like.default")
def rand(importer, *ignored, **also_ignored):
    return _like(importer, sc.uniform)


@op("aten.randn.default", "aten.randn_like.default")
def randn(importer, *ignored, **also_ignored):
    return _like(importer, sc.normal)


@op("aten.uniform.default")
def uniform(importer, x, low=0.0, high=1.0, **ignored):
    return low + (high - low) * _like(importer, sc.uniform)


@op("aten.normal_functional.default")
def normal(importer, x, mean=0.0, std=1.0, **ignored):
    return mean + std * _like(importer, sc.normal)


@op("aten.exponential.default")
def exponential(importer, x, rate=1.0, **ignored):
    """-log(1 - u) / rate, where 1 - u is above 0."""
    return -sc.log(1.0 - _like(importer, sc.uniform)) * (1 / rate)


@op("aten.bernoulli.default", "aten.bernoulli.p")
def bernoulli(importer, x, p=None, **ignored):
    """1 with probability x, or p if it is given."""
    drawn = _like(importer, sc.uniform)
    return as_type(sc.compare(drawn, importer.tensor(x) if p is None else importer.constant(p, drawn.dtype), "lt"),
                   drawn.dtype)


def dropped_features(importer, x, p):
    """Drops whole features of [samples, features, ...]."""
    if len(x.shape) < 2:
        raise Missing("dropout of whole features takes at least two dimensions, but has %d" % len(x.shape))
    shape = list(x.shape[:2]) + [1] * (len(x.shape) - 2)
    return x * sc.dropout(importer.graph.constant(x.dtype, shape, 1.0), p)
