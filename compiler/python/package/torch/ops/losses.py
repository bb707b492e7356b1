"""Losses."""
import splitcast as sc

from splitcast.torch.ops.elementwise import softplus_of
from splitcast.torch.ops.shapes import checked, transposed
from splitcast.torch.ops.table import Missing, as_type, is_integer, op

def _reduced_loss(importer, losses, reduction):
    """PyTorch's reductions: 0 none, 1 the mean, 2 the sum."""
    return losses if reduction == 0 else sc.mean(losses) if reduction == 1 else sc.sum(losses)


def _classes_last(importer, x):
    """Logits [samples, classes, ...] with the classes last."""
    order = [0] + list(range(2, len(x.shape))) + [1]
    return x if len(x.shape) <= 2 else transposed(importer, x, order)


@op("aten.cross_entropy_loss.default")
def cross_entropy(importer, logits, labels, weight=None, reduction=1, ignored=-100, smoothing=0.0):
    labels = importer.tensor(labels)
    if weight is not None or not is_integer(labels):
        raise Missing("weights and probabilities as labels are not supported")
    logits = _classes_last(importer, logits)
    if reduction == 1 and not smoothing:
        return sc.mean_cross_entropy(logits, labels, ignored)
    losses = sc.softmax_cross_entropy(logits, labels, ignored)
    if smoothing:  # over all classes equally (Szegedy et al. 2016, arXiv:1512.00567)
        counts = as_type(sc.not_equal(labels, ignored), losses.dtype)
        even = sc.log_sum_exp(logits) - sc.mean(logits, [len(logits.shape) - 1])
        losses = losses * (1.0 - smoothing) + sc.select(counts, even, importer.constant(0, counts.dtype)) * smoothing
    if reduction != 1:
        return _reduced_loss(importer, losses, reduction)
    return sc.sum(losses) / as_type(sc.sum(sc.not_equal(labels, ignored)), losses.dtype)


@op("aten.nll_loss_nd.default", "aten.nll_loss.default")
def nll(importer, x, labels, weight=None, reduction=1, ignored=-100):
    """Minus the log-probability of the label; x holds log-probabilities."""
    labels = importer.tensor(labels)
    if weight is not None:
        raise Missing("weights are not supported")
    x = _classes_last(importer, x)
    last = len(x.shape) - 1
    classes = importer.graph.iota(labels.dtype, [1] * last + [x.shape[last]], last)
    is_label = as_type(sc.compare(sc.reshape(labels, tuple(labels.shape) + (1,)), classes, "eq"), x.dtype)
    counts = sc.not_equal(labels, ignored)
    counted = sc.select(as_type(counts, labels.dtype), labels, importer.constant(0, labels.dtype))
    losses = -sc.sum(sc.select(is_label, x, importer.constant(0, x.dtype)), [last])
    losses = sc.select(as_type(counts, x.dtype), losses * checked(importer, counted, x.shape[last], x.dtype),
                       importer.constant(0, x.dtype))
    if reduction != 1:
        return _reduced_loss(importer, losses, reduction)
    return sc.sum(losses) / as_type(sc.sum(counts), x.dtype)


@op("aten.mse_loss.default")
def mse(importer, x, target, reduction=1):
    difference = x - importer.tensor(target)
    return _reduced_loss(importer, difference * difference, reduction)


@op("aten.l1_loss.default")
def l1_loss(importer, x, target, reduction=1):
    return _reduced_loss(importer, sc.abs(x - importer.tensor(target)), reduction)


@op("aten.smooth_l1_loss.default", "aten.huber_loss.default")
def huber_loss(importer, x, target, reduction=1, delta=1.0):
    """Quadratic up to a distance of `delta` and linear beyond; smooth_l1 is the same divided by delta."""
    distance = sc.abs(x - importer.tensor(target))
    near = sc.minimum(distance, importer.constant(delta, x.dtype))
    losses = near * (distance - near * 0.5)
    return _reduced_loss(importer, losses / delta if "smooth" in str(importer.node.target) else losses, reduction)


@op("aten.binary_cross_entropy_with_logits.default")
def binary_cross_entropy(importer, x, target, weight=None, pos_weight=None, reduction=1):
    if pos_weight is not None:
        raise Missing("pos_weight is not supported")
    target = as_type(importer.tensor(target), x.dtype)
    losses = softplus_of(importer, x) - x * target
    return _reduced_loss(importer, losses if weight is None else losses * importer.tensor(weight), reduction)
