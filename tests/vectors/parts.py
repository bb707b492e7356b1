"""Vectors of ops whose places may be divided among ranks: tables and classes, whole and parts of them."""
import itertools

import numpy as np
from tensors import case, eighths, integers, reals, rounded

TOLERANCE = {"f32": 1e-6, "f64": 1e-14, "f16": 1e-3, "bf16": 8e-3}
ROW_SHAPES = [(1,), (7,), (2, 3), (0, 3), (3, 0), (4, 1), (2, 1, 17), (2, 3, 2, 5), (1, 40)]
PARTS = [(9, 3, 4, (11,)), (9, 0, 4, (2, 5)), (9, 5, 4, (7,)), (5, 2, 0, (4,)), (3, 0, 3, (6,)), (150, 60, 70, (12,))]


def logSumExpOf(x):
    """Along the last axis, in f64; -inf where there is nothing but that."""
    wide = x.astype(np.float64)
    largest = wide.max(axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isneginf(largest), 0, largest)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(wide - shift).sum(axis=-1)) + shift[..., 0]


def logSumExps():
    for element, shape, factor in itertools.product(["f32", "f64"], ROW_SHAPES, [1, 30]):
        x = rounded(reals(shape, "f64") * factor, element)
        case("nn.log_sum_exp", [(x, element)], [(rounded(logSumExpOf(x), element), element)], "", TOLERANCE[element],
             TOLERANCE[element])
    for element in ["f16", "bf16"]:
        x = reals((3, 6), element)
        case("nn.log_sum_exp", [(x, element)], [(rounded(logSumExpOf(x), element), element)], "", TOLERANCE[element],
             TOLERANCE[element])
    special = np.array([[3e38, -3e38, 3e38], [1e30, 1e30, -np.inf], [88.0, -1000.0, 88.0], [-np.inf] * 3])
    for element in ["f32", "f64"]:
        x = rounded(special, element)
        case("nn.log_sum_exp", [(x, element)], [(rounded(logSumExpOf(x), element), element)], "", TOLERANCE[element], 1e-6)


def takenOf(x, ids, first=0):
    """Elements of the last axis, which begins at `first`; 0 where an index is elsewhere."""
    isHere = (ids >= first) & (ids < first + x.shape[-1])
    if x.shape[-1] == 0:
        return np.zeros(ids.shape)
    at = np.where(isHere, ids - first, 0).astype(np.int64)
    return np.where(isHere, np.take_along_axis(x.astype(np.float64), at[..., None], -1)[..., 0], 0)


def takes():
    for element, index in itertools.product(["f32", "f64", "bf16", "f16"], ["i32", "i64"]):
        for shape in [(5,), (3, 4), (2, 3, 6), (0, 3), (4, 1)]:
            x, ids = reals(shape, element), integers(shape[:-1], index, 0, shape[-1])
            case("nn.take", [(x, element), (ids, index)], [(rounded(takenOf(x, ids), element), element)])
        x, ids = reals((6, 3), element), integers((6,), index, 0, 3)
        ids[1], ids[4] = -100, -100
        case("nn.take", [(x, element), (ids, index)], [(rounded(takenOf(x, ids), element), element)], "ignored = -100 : i64")
        for places, first, count, rows in PARTS:
            x, ids = reals(rows + (count,), element), integers(rows, index, 0, places)
            case("nn.take", [(x, element), (ids, index)], [(rounded(takenOf(x, ids, first), element), element)],
                 f"first = {first} : i64, places = {places} : i64")


def partsOfTables():
    for element, index in itertools.product(["f32", "f64", "bf16"], ["i32", "i64"]):
        for places, first, count, idsShape in PARTS:
            table, ids = reals((places, 3), element), integers(idsShape, index, 0, places)
            attributes = f"first = {first} : i64, places = {places} : i64"
            isHere = (ids >= first) & (ids < first + count)
            found = np.where(isHere[..., None], table.astype(np.float64)[ids], 0)
            case("nn.embedding", [(table[first:first + count], element), (ids, index)],
                 [(rounded(found, element), element)], attributes)
            gradient, total = eighths(idsShape + (3,), element), np.zeros((places, 3))
            np.add.at(total, ids, gradient.astype(np.float64))
            case("nn.embedding_grad", [(gradient, element), (ids, index)],
                 [(rounded(total[first:first + count], element), element)], attributes)


def partsOfClasses():
    for element, index in itertools.product(["f32", "f64", "bf16"], ["i32", "i64"]):
        for classes, first, count, rows in PARTS:
            logits, gradient = reals(rows + (classes,), element), reals(rows, element)
            labels, logSum = integers(rows, index, 0, classes), rounded(logSumExpOf(logits), element)
            softmax = np.exp(logits.astype(np.float64) - logSum.astype(np.float64)[..., None])
            slope = (softmax - np.eye(classes)[labels]) * gradient.astype(np.float64)[..., None]
            case("nn.softmax_cross_entropy_grad",
                 [(gradient, element), (logits[..., first:first + count], element), (labels, index), (logSum, element)],
                 [(rounded(slope[..., first:first + count], element), element)],
                 f"first = {first} : i64, places = {classes} : i64", 4 * TOLERANCE[element], 4 * TOLERANCE[element])
    logits, labels = reals((4, 5), "f32"), np.array([1, -1, 4, -1], np.int64)
    gradient, logSum = reals((4,), "f32"), rounded(logSumExpOf(logits), "f32")
    softmax = np.exp(logits.astype(np.float64) - logSum.astype(np.float64)[..., None])
    slope = np.where(labels[:, None] >= 0, (softmax - np.eye(5)[labels]) * gradient.astype(np.float64)[:, None], 0)
    case("nn.softmax_cross_entropy_grad", [(gradient, "f32"), (logits, "f32"), (labels, "i64"), (logSum, "f32")],
         [(rounded(slope, "f32"), "f32")], "ignored = -1 : i64", 4e-6, 4e-6)
