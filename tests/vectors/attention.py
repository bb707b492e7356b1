"""Cases of attention and its gradient, without and with statistics, for gen_vectors.py."""
import itertools
import math

import numpy as np
from tensors import case, integers, reals, realText, rounded

TOLERANCE = {"f32": 1e-6, "f64": 1e-14}
HALF_TOLERANCE = {"f16": 1e-3, "bf16": 8e-3}


def attentionOf(q, k, v, g, mask, scale, causal):
    """Result, and gradients of query, key and value; mask is None or [samples, keys]."""
    samples, positions, heads, _width = q.shape
    keys = k.shape[1]
    seen = np.ones((samples, heads, positions, keys), bool)
    if causal:
        seen &= np.arange(keys)[None, :] <= np.arange(positions)[:, None]
    if mask is not None:
        seen &= (mask != 0)[:, None, None, :]
    scores = np.where(seen, scale * np.einsum("bthe,bshe->bhts", q, k), -np.inf)
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.where(seen, np.exp(scores - np.where(np.isneginf(largest), 0, largest)), 0)
    total = weights.sum(axis=-1, keepdims=True)
    p = weights / np.where(total == 0, 1, total)
    dp = np.einsum("bthe,bshe->bhts", g, v)
    ds = scale * p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    return (np.einsum("bhts,bshe->bthe", p, v), np.einsum("bhts,bshe->bthe", ds, k),
            np.einsum("bhts,bthe->bshe", ds, q), np.einsum("bhts,bthe->bshe", p, g))


def addAttention(sizes, scale, causal, mask, maskType, element, tolerance):
    samples, positions, keys, heads, width = sizes
    query, key = (samples, positions, heads, width), (samples, keys, heads, width)
    q, k, v, g = reals(query, element), reals(key, element), reals(key, element), reals(query, element)
    results = attentionOf(*(x.astype(np.float64) for x in (q, k, v, g)), mask, scale, causal)
    attributes = ("causal, " if causal else "") + f"scale = {realText(scale)} : f64"
    masks = [] if mask is None else [(rounded(mask, maskType), maskType)]
    # Scores are at most 9 width scale, and exp turns their rounding into a relative error.
    error = tolerance * (10 + 9 * width * abs(scale))
    out, *gradients = [(rounded(x, element), element) for x in results]
    case("nn.attention", [(q, element), (k, element), (v, element)] + masks, [out], attributes, tolerance, error)
    size = max([1.0] + [np.abs(x).max(initial=0) for x in results])
    operands = [(x, element) for x in (g, q, k, v)]
    case("nn.attention_grad", operands + masks, gradients, attributes, tolerance, error * size)


def attentions():
    # (samples, positions, keys, heads, width)
    sizes = [(1, 1, 1, 1, 1), (2, 3, 3, 2, 4), (2, 3, 5, 1, 2), (1, 5, 3, 2, 2), (1, 17, 18, 1, 2), (3, 1, 4, 1, 3)]
    empty = [(0, 2, 2, 1, 1), (2, 0, 3, 1, 2), (2, 3, 0, 1, 2), (2, 2, 2, 0, 3), (1, 2, 2, 1, 0)]
    for size, causal, maskType in itertools.product(sizes + empty, [False, True], [None, "i32", "i64"]):
        element = "f64" if maskType == "i64" else "f32"
        # Neither only 0 and 1, nor only positive.
        mask = None if maskType is None else integers((size[0], size[2]), maskType, -1, 2)
        addAttention(size, 0.5, causal, mask, maskType, element, TOLERANCE[element])
    # A sample that sees nothing; positions that see nothing, since the keys before them are masked; a single key.
    for causal, element in itertools.product([False, True], ["f32", "f64"]):
        mask = np.array([[0, 0, 0, 0], [0, 0, 7, 1], [0, 0, 0, -2]])
        addAttention((3, 4, 4, 2, 2), 0.75, causal, mask, "i64", element, TOLERANCE[element])
        # More positions than a library works on at once, and scores that no exp could take.
        addAttention((1, 67, 66, 1, 2), 1 / math.sqrt(2), causal, None, None, element, TOLERANCE[element])
        addAttention((1, 3, 4, 1, 3), -60.0, causal, None, None, element, TOLERANCE[element])
    for element, tolerance in HALF_TOLERANCE.items():
        addAttention((1, 3, 4, 1, 2), 0.5, True, None, None, element, tolerance)
        addAttention((1, 3, 4, 1, 2), 0.5, True, np.array([[0, 1, 2, 1]]), "i32", element, tolerance)


def keptOf(q, k, mask, scale, causal):
    """Whether a position sees a key, scaled scores, and the log of the sum of their exponentials: 0 without a key."""
    seen = np.ones((q.shape[0], q.shape[2], q.shape[1], k.shape[1]), bool)
    if causal:
        seen &= np.arange(k.shape[1])[None, :] <= np.arange(q.shape[1])[:, None]
    if mask is not None:
        seen &= (mask != 0)[:, None, None, :]
    scores = scale * np.einsum("bthe,bshe->bhts", q, k)
    largest = np.where(seen, scores, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    largest = np.where(np.isneginf(largest), 0, largest)
    sums = np.where(seen, np.exp(np.where(seen, scores, 0) - largest), 0).sum(axis=-1)
    return seen, scores, np.where(sums == 0, 0, np.log(np.where(sums == 0, 1, sums)) + largest[..., 0])


def addKept(sizes, scale, causal, mask, maskType, element, tolerance, random):
    samples, positions, keys, heads, width = sizes
    draw = lambda *shape: rounded(np.round(random.uniform(-3, 3, shape), 3), element)
    q, k, v, g = (draw(samples, positions, heads, width), draw(samples, keys, heads, width),
                  draw(samples, keys, heads, width), draw(samples, positions, heads, width))
    wide = [x.astype(np.float64) for x in (q, k, v, g)]
    seen, scores, statistics = keptOf(wide[0], wide[1], mask, scale, causal)
    output = rounded(attentionOf(*wide, mask, scale, causal)[0], element)
    statistics, statisticsType = (statistics, "f64") if element == "f64" else (rounded(statistics, "f32"), "f32")
    attributes = ("causal, " if causal else "") + f"scale = {realText(scale)} : f64"
    operands = [(q, element), (k, element), (v, element)] + ([] if mask is None else [(rounded(mask, maskType), maskType)])
    kept = [(output, element), (statistics, statisticsType)]
    error = tolerance * (10 + 9 * width * abs(scale))
    case("nn.attention", operands, kept, attributes, tolerance, error)
    # As the definition says, of the output and the statistics as they are given.
    p = np.where(seen, np.exp(np.where(seen, scores - statistics.astype(np.float64)[..., None], 0)), 0)
    dot = np.einsum("bthe,bthe->bht", wide[3], output.astype(np.float64))
    ds = scale * p * (np.einsum("bthe,bshe->bhts", wide[3], wide[2]) - dot[..., None])
    gradients = (np.einsum("bhts,bshe->bthe", ds, wide[1]), np.einsum("bhts,bthe->bshe", ds, wide[0]),
                 np.einsum("bhts,bthe->bshe", p, wide[3]))
    size = max([1.0] + [np.abs(x).max(initial=0) for x in gradients + (output.astype(np.float64), )])
    case("nn.attention_grad", [(g, element)] + operands + kept, [(rounded(x, element), element) for x in gradients],
         attributes, tolerance, error * size)


def keptStatistics():
    random = np.random.default_rng(20261128)  # of its own, so that the cases behind stay what they are
    sizes = [(1, 1, 1, 1, 1), (2, 3, 5, 3, 2), (2, 5, 3, 2, 4), (1, 67, 66, 1, 2), (2, 3, 0, 1, 2), (0, 2, 2, 1, 1),
             (1, 2, 2, 1, 0)]
    for size, causal, maskType in itertools.product(sizes, [False, True], [None, "i32"]):
        element = "f64" if maskType == "i32" and not causal else "f32"
        mask = None if maskType is None else rounded(random.integers(-1, 2, (size[0], size[2])), maskType)
        addKept(size, 0.5, causal, mask, maskType, element, TOLERANCE[element], random)
    for causal, element in itertools.product([False, True], ["f32", "f64"]):
        # A sample that sees nothing, and positions that see nothing; scores that no exp could take.
        mask = np.array([[0, 0, 0, 0], [0, 0, 7, 1], [0, 0, 0, -2]])
        addKept((3, 4, 4, 2, 2), 0.75, causal, mask, "i64", element, TOLERANCE[element], random)
        addKept((1, 3, 4, 1, 3), -60.0, causal, None, None, element, TOLERANCE[element], random)
    for (element, tolerance), causal in itertools.product(HALF_TOLERANCE.items(), [False, True]):
        addKept((1, 3, 4, 1, 2), 0.5, causal, np.array([[0, 1, 2, 1]]), "i32", element, tolerance, random)
        addKept((1, 3, 4, 1, 2), 0.5, causal, None, None, element, tolerance, random)
        # What cuDNN takes.
        addKept((2, 5, 7, 3, 8), 0.125, causal, None, None, element, tolerance, random)
