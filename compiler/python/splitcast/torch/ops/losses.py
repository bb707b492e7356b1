"""Losses."""
from __future__ import annotations

from typing import TYPE_CHECKING

import splitcast as sc
from splitcast.torch.ops.elementwise import log1p, softplus_of
from splitcast.torch.ops.shapes import checked, transposed
from splitcast.torch.ops.table import Value, as_type, is_integer, op, type_of

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


def _reduced_loss(importer: Importer, losses: sc.Tensor, reduction: int) -> sc.Tensor:
    """PyTorch's reductions: 0 none, 1 the mean, 2 the sum."""
    return losses if reduction == 0 else sc.mean(losses) if reduction == 1 else sc.sum(losses)


def _classes_last(importer: Importer, x: sc.Tensor) -> sc.Tensor:
    """Logits [samples, classes, ...] with the classes last."""
    order = [0] + list(range(2, len(x.shape))) + [1]
    return x if len(x.shape) <= 2 else transposed(importer, x, order)


@op("aten.cross_entropy_loss.default")
def cross_entropy(importer: Importer, logits: sc.Tensor, labels: Value, weight: Value | None = None, reduction: int = 1,
                  ignored: int = -100, smoothing: float = 0.0) -> sc.Tensor:
    labels = importer.tensor(labels)
    logits = _classes_last(importer, logits)
    if not is_integer(labels):
        return _of_probabilities(importer, logits, labels, weight, reduction, smoothing)
    if weight is not None:
        return _of_weighted_classes(importer, sc.log_softmax(logits), labels, weight, reduction, ignored, smoothing)
    if reduction == 1 and not smoothing:
        return sc.mean_cross_entropy(logits, labels, ignored)
    losses = sc.softmax_cross_entropy(logits, labels, ignored)
    if smoothing:  # over all classes equally (Szegedy et al. 2016, arXiv:1512.00567)
        counts = as_type(sc.not_equal(labels, ignored), losses.dtype)
        even = -sc.mean(sc.log_softmax(logits), [len(logits.shape) - 1])
        losses = losses * (1.0 - smoothing) + sc.select(counts, even, importer.constant(0, counts.dtype)) * smoothing
    if reduction != 1:
        return _reduced_loss(importer, losses, reduction)
    return sc.sum(losses) / as_type(sc.sum(sc.not_equal(labels, ignored)), losses.dtype)


def _of_probabilities(importer: Importer, logits: sc.Tensor, labels: sc.Tensor, weight: Value | None, reduction: int,
                      smoothing: float) -> sc.Tensor:
    """The cross-entropy with a probability of each class; the mean is over samples, whatever the weights."""
    labels = _classes_last(importer, as_type(labels, logits.dtype))
    classes = logits.shape[-1]
    if smoothing:
        labels = labels * (1.0 - smoothing) + smoothing / classes
    shares = labels * sc.log_softmax(logits)
    shares = shares if weight is None else shares * as_type(importer.tensor(weight), logits.dtype)
    losses = -sc.sum(shares, [len(logits.shape) - 1])
    return _reduced_loss(importer, losses, reduction if losses.shape else 0)


def _of_weighted_classes(importer: Importer, x: sc.Tensor, labels: sc.Tensor, weight: Value, reduction: int,
                         ignored: int, smoothing: float = 0.0) -> sc.Tensor:
    """Minus the log-probability of the label, times the weight of its class; the mean is by the weights of labels."""
    last = len(x.shape) - 1
    zero = importer.constant(0, x.dtype)
    weight = as_type(importer.tensor(weight), x.dtype)
    is_label, counts = _labels_of(importer, x, labels, ignored)
    of_label = sc.sum(sc.select(is_label, weight, zero), [last])
    losses = -sc.sum(sc.select(is_label, x * weight, zero), [last])
    if smoothing:
        even = -sc.sum(x * weight, [last]) / x.shape[last]
        losses = losses * (1.0 - smoothing) + sc.select(counts, even, zero) * smoothing
    if reduction != 1:
        return _reduced_loss(importer, losses, reduction)
    return (sc.sum(losses) if losses.shape else losses) / (sc.sum(of_label) if of_label.shape else of_label)


def _labels_of(importer: Importer, x: sc.Tensor, labels: sc.Tensor, ignored: int) -> tuple[sc.Tensor, sc.Tensor]:
    """(1 at the label's class, which the last dimension of x has, 1 for each label that is not ignored), else 0.

    Running it is an error where a label is no class.
    """
    last = len(x.shape) - 1
    classes = importer.graph.iota(type_of(labels), [1] * last + [x.shape[last]], last)
    is_label = as_type(sc.compare(sc.reshape(labels, tuple(labels.shape) + (1,)), classes, "eq"), x.dtype)
    counts = sc.not_equal(labels, ignored)
    counted = sc.select(as_type(counts, labels.dtype), labels, importer.constant(0, labels.dtype))
    counts = as_type(counts, x.dtype) * checked(importer, counted, x.shape[last], x.dtype)
    return is_label * sc.reshape(counts, tuple(labels.shape) + (1,)), counts


@op("aten.nll_loss_nd.default", "aten.nll_loss.default")
def nll(importer: Importer, x: sc.Tensor, labels: Value, weight: Value | None = None, reduction: int = 1,
        ignored: int = -100) -> sc.Tensor:
    """Minus the log-probability of the label; x holds log-probabilities."""
    labels = importer.tensor(labels)
    x = _classes_last(importer, x)
    if weight is not None:
        return _of_weighted_classes(importer, x, labels, weight, reduction, ignored)
    is_label, counts = _labels_of(importer, x, labels, ignored)
    losses = -sc.sum(sc.select(is_label, x, importer.constant(0, x.dtype)), [len(x.shape) - 1])
    if reduction != 1:
        return _reduced_loss(importer, losses, reduction)
    return sc.sum(losses) / sc.sum(counts)


def _of_one_type(importer: Importer, x: sc.Tensor, target: Value) -> tuple[sc.Tensor, sc.Tensor]:
    dtype = importer.result_type()
    return as_type(x, dtype), as_type(importer.tensor(target), dtype)


@op("aten.mse_loss.default")
def mse(importer: Importer, x: sc.Tensor, target: Value, reduction: int = 1) -> sc.Tensor:
    x, target = _of_one_type(importer, x, target)
    difference = x - target
    return _reduced_loss(importer, difference * difference, reduction)


@op("aten.l1_loss.default")
def l1_loss(importer: Importer, x: sc.Tensor, target: Value, reduction: int = 1) -> sc.Tensor:
    x, target = _of_one_type(importer, x, target)
    return _reduced_loss(importer, sc.abs(x - target), reduction)


@op("aten.huber_loss.default")
@op("aten.smooth_l1_loss.default", of_slope_1=True)
def huber_loss(importer: Importer, x: sc.Tensor, target: Value, reduction: int = 1, delta: float = 1.0, *,
               of_slope_1: bool = False) -> sc.Tensor:
    """Quadratic up to a distance of `delta` and linear beyond, there with a slope of delta, or of 1."""
    x, target = _of_one_type(importer, x, target)
    distance = sc.abs(x - target)
    near = sc.minimum(distance, importer.constant(delta, x.dtype))
    losses = near * (distance - near * 0.5)
    return _reduced_loss(importer, losses / delta if of_slope_1 else losses, reduction)


@op("aten.binary_cross_entropy_with_logits.default")
def binary_cross_entropy_of_logits(importer: Importer, x: sc.Tensor, target: Value, weight: Value | None = None,
                                   pos_weight: Value | None = None, reduction: int = 1) -> sc.Tensor:
    """The logarithms of both probabilities, neither as a difference: small losses and gradients keep their digits."""
    target = as_type(importer.tensor(target), x.dtype)
    of_true = softplus_of(importer, -x) * target
    if pos_weight is not None:
        of_true = of_true * as_type(importer.tensor(pos_weight), x.dtype)
    losses = of_true + softplus_of(importer, x) * (1.0 - target)
    return _reduced_loss(importer, losses if weight is None else losses * importer.tensor(weight), reduction)


@op("aten.binary_cross_entropy.default")
def binary_cross_entropy(importer: Importer, x: sc.Tensor, target: Value, weight: Value | None = None,
                         reduction: int = 1) -> sc.Tensor:
    """As in PyTorch, logarithms are at least -100, and x (1 - x), by which the gradient is divided, at least 1e-12."""
    target = as_type(importer.tensor(target), x.dtype)
    least = importer.constant(-100.0, x.dtype)
    of_true, of_false = [sc.stop_gradient(sc.maximum(least, each)) for each in (sc.log(x), log1p(importer, -x))]
    slope = (x - target) / sc.maximum(importer.constant(1e-12, x.dtype), x * (1.0 - x))
    losses = sc.stop_gradient(slope) * (x - sc.stop_gradient(x)) - target * of_true - (1.0 - target) * of_false
    return _reduced_loss(importer, losses if weight is None else losses * importer.tensor(weight), reduction)
