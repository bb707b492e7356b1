#!/usr/bin/env python3
"""Functions of models: their values are NumPy's, and their gradients the central differences of these formulas."""
import math
import unittest

import numpy as np
import splitcast as sc

from checked import BOTH, NUMBERS, Functions, above, apart, normal, per_channel, values


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf, otypes=[np.float64])

ODD_SHAPES = [(), (1,), (7,), (3, 5), (2, 1, 3)]


class Elementwise(Functions):

    def test_of_one(self):
        for function, formula, numbers in (
            (sc.erf, erf, normal),
            (sc.sigmoid, sigmoid, normal),
            (sc.silu, lambda x: x * sigmoid(x), normal),
            (sc.rsqrt, lambda x: 1 / np.sqrt(x), above),
            (sc.abs, np.abs, apart),
        ):
            for shape in ODD_SHAPES:
                with self.subTest(function.__name__, shape=shape):
                    self.check(function, formula, numbers(*shape), types=BOTH)
            self.assertEqual(values(function, np.zeros((0, 3))).shape, (0, 3))

    def test_of_one_at_the_ends(self):
        far = np.array([-np.inf, -1e300, -1000, 0, 1000, 1e300, np.inf])
        self.close(values(sc.sigmoid, far), [0, 0, 0, 0.5, 1, 1, 1], 0)
        self.close(values(sc.silu, far)[1:], [0, 0, 0, 1000, 1e300, np.inf], 0)
        self.close(values(sc.erf, far), [-1, -1, -1, 0, 1, 1, 1], 0)
        self.close(values(sc.abs, far), np.abs(far), 0)
        self.close(values(sc.rsqrt, far[3:]), [np.inf, 1 / np.sqrt(1000), 1e-150, 0], 1e-15)
        nan = np.array([np.nan])
        for function in (sc.sigmoid, sc.silu, sc.erf, sc.abs, sc.rsqrt):
            self.assertTrue(np.isnan(values(function, nan)).all(), function.__name__)

    def test_pow(self):
        for exponent in (-8, -3, -1, 1, 2, 3, 8):
            for x in (above(2, 3), -above(5), above()):
                with self.subTest(exponent):
                    self.check(lambda x: sc.pow(x, exponent), lambda x: x**float(exponent), x)
        for exponent in (-9, -2.5, -0.5, 0.3, 0.5, 1.5, 9):
            with self.subTest(exponent):
                self.check(lambda x: sc.pow(x, exponent), lambda x: x**exponent, above(2, 3))
        self.close(values(lambda x: sc.pow(x, 0), np.array([0.0, -2.0, np.nan])), [1, 1, 1], 0)
        self.close(values(lambda x: sc.pow(x, 3), np.array([0.0, -2.0])), [0, -8], 0)
        self.close(values(lambda x: sc.pow(x, -2), np.array([0.0, -2.0])), [np.inf, 0.25], 0)
        for dtype in (np.float32, np.float64):
            self.close(values(lambda x: sc.pow(x, math.nan), np.array([2.0, 0.5], dtype)), [np.nan, np.nan], 0)
            self.close(values(lambda x: sc.exp(sc.constant_like(x, math.nan)) + 0 * x, np.ones(19, dtype)), [np.nan] * 19, 0)
            for exponent in range(-8, 9):
                self.close(values(lambda x: sc.pow(x, exponent), np.array([-2.0, 2.0], dtype)),
                           [(-2.0)**exponent, 2.0**exponent], 0)

    def test_of_two(self):
        for function, formula in ((sc.maximum, np.maximum), (sc.minimum, np.minimum)):
            for a, b in (((3, 5), (3, 5)), ((3, 5), (5,)), ((4, 1), (1, 3)), ((), (2, 3)), ((2, 1, 3), (5, 1)),
                         ((), ())):
                both = apart(math.prod(a) + math.prod(b))
                a, b = both[:math.prod(a)].reshape(a), both[math.prod(a):].reshape(b)
                with self.subTest(function.__name__, a=a.shape, b=b.shape):
                    self.check(function, formula, a, b, types=BOTH)
            self.assertEqual(values(function, np.zeros((0, 3)), np.zeros(3)).shape, (0, 3))
            nan = values(function, np.array([np.nan, 1]), np.array([1, np.nan]))
            self.assertEqual((nan[0], np.isnan(nan[1])), (1, True))  # the second
            integers = np.array([[3, -2, 7]]), np.array([[0], [5]])
            self.assertTrue((values(function, *integers) == formula(*integers)).all())

    def test_who_has_the_gradient_where_two_are_equal(self):
        for function, expected in ((sc.maximum, (0, 1)), (sc.minimum, (0, 1)),
                                   (lambda a, b: sc.abs(a) + 0.0 * b, (0, 0))):
            graph = sc.Graph()
            graph.function("train")
            a, b = [graph.variable(name, (3,), sc.Init.zeros(), dtype=sc.f64) for name in "ab"]
            graph.minimize(sc.sum(function(a, b)), sc.Sgd(1.0))
            session = graph.compile()
            session.step()
            for name, gradient in zip("ab", expected):
                self.assertTrue((session.read(name) == -gradient).all(), name)

    def test_compare(self):
        by = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
              "ge": np.greater_equal}
        floats = np.array([[1.0, 2.0, np.nan, -np.inf, 0.0]]), np.array([[2.0], [1.0], [np.nan], [np.inf], [-0.0]])
        integers = np.array([[-3, 0, 2**62]]), np.array([[0], [2**62 + 1], [-3]])
        for predicate, formula in by.items():
            for a, b in (floats, integers, [of.astype(np.float32) for of in floats], (floats[0][0, 0], floats[1])):
                with self.subTest(predicate, dtype=a.dtype):
                    found = values(lambda a, b: sc.compare(a, b, predicate), np.asarray(a), b)
                    self.assertEqual(found.dtype, np.float32)
                    self.assertTrue((found == formula(a, b)).all())

    def test_gradients_end_where_they_are_stopped(self):
        self.check(sc.stop_gradient, lambda x: x, normal(3, 5), gradients=False)
        x, y = normal(3, 5), normal(3, 5)
        graph = sc.Graph()
        graph.function("train")
        a, b = [graph.variable(name, (3, 5), sc.Init.zeros(), dtype=sc.f64) for name in "ab"]
        of_comparison = sc.cast(sc.compare(a, b, "lt"), sc.f64)
        graph.minimize(sc.sum(sc.stop_gradient(a * b) * a + of_comparison * b), sc.Sgd(1.0))
        session = graph.compile()
        session.write("a", x)
        session.write("b", y)
        session.step()
        self.close(x - session.read("a"), x * y, 1e-14)
        self.close(y - session.read("b"), x < y, 1e-14)

    def test_what_is_named(self):
        graph = sc.Graph()
        x = graph.input("x", sc.f32, (4, 3))
        hidden = sc.named(sc.exp(x), "hidden")
        graph.output("y", hidden * 2.0)
        self.assertIn("%hidden = nn.exp", graph.text())
        self.assertIn("return %y", graph.text())


class InSmallTypes(Functions):

    def test_what_is_compared_has_lost_equal_digits(self):
        for way in ("stage=0", "compute-type=bf16"):
            graph = sc.Graph()
            graph.function("main")
            w = graph.variable("w", (50,), sc.Init.normal(0, 1))
            graph.output("same", sc.compare(w, sc.reshape(sc.reshape(w, (5, 10)), (50,)), "eq"))
            self.assertTrue(graph.compile(enable_zero=way).run("main")["same"].all(), way)

    def test_log_softmax_of_rows_in_micro_batches(self):
        x = normal(6, 7).astype(np.float32)
        found = []
        for count in (1, 3):
            graph = sc.Graph()
            y = sc.log_softmax(sc.linear(graph.input("x", sc.f32, x.shape, sc.split(0)), "a", 5))
            loss = sc.mean(y * y)
            graph.minimize(loss, sc.Sgd(0.1), accumulate=count)
            graph.output("loss", loss)
            session = graph.compile()
            found.append([float(session.run("main", x=x)["loss"]) for _ in range(3)])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


class Shapes(Functions):

    def test_broadcast_to(self):
        for shape, to in (((), ()), ((), (3,)), ((), (2, 1, 3)), ((1,), (5,)), ((3,), (2, 3)), ((3, 1), (3, 4)),
                          ((1, 3), (7, 3)), ((1, 1), (2, 3)), ((2, 1, 3), (4, 2, 5, 3)), ((3, 4), (3, 4)),
                          ((1, 2), (1, 1, 1, 2))):
            with self.subTest(shape=shape, to=to):
                self.check(lambda x: sc.broadcast_to(x, to), lambda x: np.broadcast_to(x, to), normal(*shape))
        self.assertTrue((values(lambda x: sc.broadcast_to(x, [2, 3]), np.arange(3)) == np.arange(3)).all())
        self.assertEqual(values(lambda x: sc.broadcast_to(x, [0, 3]), np.zeros((1, 3))).shape, (0, 3))

    def test_variance(self):
        for shape, dims in (((7,), [0]), ((3, 5), [0]), ((3, 5), [1]), ((3, 5), [0, 1]), ((2, 3, 5), [0, 2]),
                            ((2, 3, 5), [2, 0]), ((2, 3, 5), [1]), ((1, 3), [0]), ((3, 2), [])):
            with self.subTest(shape=shape, dims=dims):
                self.check(lambda x: sc.variance(x, dims), lambda x: x.var(tuple(dims)), normal(*shape),
                           types=BOTH)
        self.close(values(lambda x: sc.variance(x, [0]), 1e8 + np.arange(5.0)), 2.0, 1e-15)  # nothing is lost

    def test_log_softmax(self):
        for shape in ((7,), (3, 5), (2, 1, 3), (4, 1)):
            with self.subTest(shape=shape):
                self.check(sc.log_softmax, lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)), 3 * normal(*shape),
                           types=BOTH)
        self.close(values(sc.log_softmax, np.array([[1e4, 0.0], [-1e4, -1e4], [-np.inf, 0.0]])),
                   [[0, -1e4], [-math.log(2)] * 2, [-np.inf, 0]], 1e-12)


#===----------------------------------------------------------------------===//
# Norms
#===----------------------------------------------------------------------===//


def rms_norm(x, weight, epsilon=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def group_norm(x, weight, bias, groups, epsilon=1e-5):
    rows = x.reshape(len(x), groups, -1)
    normed = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + epsilon)
    return normed.reshape(x.shape) * per_channel(weight, x.ndim) + per_channel(bias, x.ndim)


def batch_norm(x, weight, bias, mean, variance, epsilon=1e-5):
    weight, bias, mean, variance = [per_channel(of, x.ndim) for of in (weight, bias, mean, variance)]
    return (x - mean) / np.sqrt(variance + epsilon) * weight + bias


def own_batch_norm(x, weight, bias):
    return batch_norm(x, weight, bias, x.mean((0, 2, 3)), x.var((0, 2, 3)))


class Norms(Functions):

    def test_rms_norm(self):
        for shape in ((7,), (3, 5), (2, 3, 4), (2, 1)):
            with self.subTest(shape=shape):
                self.check(sc.rms_norm, rms_norm, normal(*shape), normal(shape[-1]), types=BOTH)
        self.check(lambda x, w: sc.rms_norm(x, w, 0.5), lambda x, w: rms_norm(x, w, 0.5), normal(3, 5), normal(5))
        self.check(sc.rms_norm, rms_norm, np.zeros((2, 3)), normal(3), gradients=False)

    def test_group_norm(self):
        for shape, groups in (((2, 6, 3, 5), 3), ((2, 6, 5), 1), ((3, 4), 2), ((1, 3, 2, 2), 3), ((2, 4, 1, 3, 2), 2)):
            with self.subTest(shape=shape, groups=groups):
                self.check(lambda *of: sc.group_norm(*of, groups), lambda *of: group_norm(*of, groups), normal(*shape),
                           normal(shape[1]), normal(shape[1]), types=BOTH)
        self.check(lambda *of: sc.group_norm(*of, 2, 0.5), lambda *of: group_norm(*of, 2, 0.5), normal(2, 4, 3),
                   normal(4), normal(4))

    def test_batch_norm_by_numbers_given(self):
        for shape in ((3, 2), (2, 3, 5), (2, 3, 4, 5), (1, 1, 1, 1)):
            c = shape[1]
            with self.subTest(shape=shape):
                self.check(sc.batch_norm, batch_norm, normal(*shape), normal(c), normal(c), normal(c), above(c),
                           types=BOTH)
        self.check(lambda *of: sc.batch_norm(*of, 0.5), lambda *of: batch_norm(*of, 0.5), normal(2, 3, 5), normal(3),
                   normal(3), normal(3), above(3))

    def test_batch_norm_by_its_own(self):
        for shape in ((3, 2, 5, 3), (2, 1, 1, 1), (1, 3, 2, 1)):
            with self.subTest(shape=shape):
                self.check(lambda x: sc.batch_norm(x, "bn"), own_batch_norm, normal(*shape), types=BOTH,
                           made={"bn.weight": normal(shape[1]), "bn.bias": normal(shape[1])})
                self.check(lambda x, w, b: sc.batch_norm(x, w, b, sc.mean(x, [0, 2, 3]), sc.variance(x, [0, 2, 3])),
                           own_batch_norm, normal(*shape), normal(shape[1]), normal(shape[1]))

    def session_of_layer(self, shape, kind=sc.f64, accumulate=1, **options):
        graph = sc.Graph()
        graph.function("train")
        x = graph.input("x", kind, shape, sc.split(0))
        y = sc.batch_norm(x, "bn", **options)
        graph.minimize(sc.sum(y * x), sc.Sgd(0.01), accumulate=accumulate)
        graph.output("y", y)
        graph.function("evaluate")
        x = graph.input("x", kind, (1,) + shape[1:])
        graph.output("y", sc.batch_norm(x, "bn", training=False, **options))
        return graph.compile()

    def test_running_statistics(self):
        for shape, options, kind, accumulate in (((5, 3, 2, 4), {}, sc.f64, 1), ((5, 3, 2, 4), {}, sc.f32, 1),
                                                 ((4, 2, 3, 1), {"momentum": 0.3, "epsilon": 0.1}, sc.f64, 1),
                                                 ((4, 3, 2, 2), {}, sc.f64, 2), ((2, 1, 1, 1), {}, sc.f64, 1)):
            with self.subTest(shape=shape, **options):
                dtype, near = (np.float64, 1e-12) if kind == sc.f64 else (np.float32, 1e-5)
                session = self.session_of_layer(shape, kind, accumulate, **options)
                for name, first in (("running_mean", 0), ("running_var", 1), ("weight", 1), ("bias", 0)):
                    self.assertTrue((session.read("bn." + name) == first).all(), name)
                momentum, epsilon = options.get("momentum", 0.1), options.get("epsilon", 1e-5)
                mean, variance = np.zeros(shape[1]), np.ones(shape[1])
                for _ in range(3):
                    x = 2 * normal(*shape) + 3
                    weight, bias = session.read("bn.weight").copy(), session.read("bn.bias").copy()
                    y = session.step(whole=True, x=x.astype(dtype))["y"]
                    self.close(y, batch_norm(x, weight, bias, x.mean((0, 2, 3)), x.var((0, 2, 3)), epsilon), 10 * near)
                    mean = (1 - momentum) * mean + momentum * x.mean((0, 2, 3))
                    variance = (1 - momentum) * variance + momentum * x.var((0, 2, 3), ddof=1)
                self.close(session.read("bn.running_mean"), mean, near)
                self.close(session.read("bn.running_var"), variance, near)
                x = normal(1, *shape[1:])
                weight, bias = session.read("bn.weight").copy(), session.read("bn.bias").copy()
                self.assertTrue((weight != 1).all())
                for _ in range(2):  # the second time the same: it changes nothing
                    self.close(session.run("evaluate", x=x.astype(dtype))["y"],
                               batch_norm(x, weight, bias, mean, variance, epsilon), 10 * near)
                self.close(session.read("bn.running_mean"), mean, near)

    def test_of_one_element_the_variance_is_finite(self):
        session = self.session_of_layer((1, 2, 1, 1))
        session.step(x=normal(1, 2, 1, 1))
        self.close(session.read("bn.running_var"), [0.9, 0.9], 1e-15)


#===----------------------------------------------------------------------===//
# Attention
#===----------------------------------------------------------------------===//


def attention(query, key, value, bias=None, mask=None, causal=False, scale=None):
    key, value = [np.repeat(of, query.shape[2] // key.shape[2], 2) for of in (key, value)]
    scores = np.einsum("nphw,nkhw->nhpk", query, key) * (query.shape[3]**-0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    seen = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask[:, None, None, :] != 0, scores.shape)
    if causal:
        seen = seen & np.tri(*scores.shape[2:], dtype=bool)
    scores = np.where(seen, scores, -np.inf)
    largest = scores.max(3, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))
    total = weights.sum(3, keepdims=True)
    return np.einsum("nhpk,nkhw->nphw", weights / np.where(total == 0, 1.0, total), value)


class Attention(Functions):
    MASK = np.array([[1, 0, -3, 1, 0], [0, 0, 0, 0, 0], [0, 2**40, 0, 0, 0]])

    def operands(self, samples=3, positions=4, keys=5, heads=2, width=3, of_keys=None):
        return [normal(samples, positions, heads, width)] + [
            normal(samples, keys, of_keys or heads, width) for _ in "kv"]

    def test_without_bias(self):
        for sizes, options in (({}, {}), ({}, {"causal": True}), ({"positions": 6, "keys": 3}, {"causal": True}),
                               ({}, {"scale": 0.7}), ({}, {"scale": -0.7, "causal": True}),
                               ({"of_keys": 1}, {}), ({"heads": 6, "of_keys": 3}, {"causal": True}),
                               ({"samples": 1, "positions": 1, "keys": 1, "heads": 1, "width": 1}, {})):
            with self.subTest(**sizes, **options):
                self.check(lambda *of: sc.attention(*of, **options), lambda *of: attention(*of, **options),
                           *self.operands(**sizes), types=BOTH)

    def test_with_mask(self):
        for bias in (None, (4, 5)):
            for causal in (False, True):
                with self.subTest(bias=bias, causal=causal):
                    named = lambda of: dict(zip(["bias", "mask"] if bias else ["mask"], of[3:]), causal=causal)
                    self.check(lambda *of: sc.attention(*of[:3], **named(of)),
                               lambda *of: attention(*of[:3], **named(of)),
                               *self.operands(), *([normal(*bias)] if bias else []), inputs=[self.MASK], types=BOTH)

    def test_with_bias(self):
        for shape, sizes, options in (((3, 2, 4, 5), {}, {}), ((1, 2, 4, 5), {}, {"causal": True}), ((5,), {}, {}),
                                      ((2, 1, 1), {}, {}), ((), {}, {}), ((3, 1, 4, 1), {}, {"scale": 1.5}),
                                      ((4, 1, 5), {"heads": 4, "of_keys": 2}, {"causal": True}),
                                      ((6, 3), {"positions": 6, "keys": 3}, {"causal": True})):
            with self.subTest(shape=shape, **sizes, **options):
                self.check(lambda *of: sc.attention(*of[:3], bias=of[3], **options),
                           lambda *of: attention(*of[:3], of[3], **options), *self.operands(**sizes), normal(*shape),
                           types=BOTH)

    def test_bias_by_distance(self):
        """As T5's: a table of buckets for each head, which is trained."""
        distance = np.clip(np.arange(5)[None, :] - np.arange(4)[:, None], -2, 2) + 2
        bias = lambda table, distance: sc.transpose(sc.embedding(table, distance), [2, 0, 1])
        self.check(lambda q, k, v, table, ids: sc.attention(q, k, v, bias=bias(table, ids)),
                   lambda q, k, v, table, ids: attention(q, k, v, np.moveaxis(table[ids], 2, 0)), *self.operands(),
                   normal(5, 2), inputs=[distance], types=BOTH)

    def test_a_position_that_sees_no_key_gives_0(self):
        operands = self.operands()
        operands[2] += 100
        for bias in ([], [np.zeros(())]):
            found = values(lambda q, k, v, mask, *bias: sc.attention(q, k, v, mask=mask, causal=True,
                                                                     **dict(zip(["bias"], bias))),
                           *operands, self.MASK, *bias)
            self.assertTrue((found[1] == 0).all() and (found[2, 0] == 0).all())
            self.assertTrue((found[0] > 90).all() and (found[2, 1:] > 90).all())

    def test_what_is_not_seen_has_no_influence(self):
        """Whatever a bias holds there and elsewhere: positions whose seen keys have but low scores see these alike.
        Scores are exact, so that f32 rounds their sums with the bias as NumPy does."""
        q, k, v = [np.round(4 * of) / 4 for of in self.operands(samples=1)]
        mask, causal = np.array([[1, 0, 1, 0, 5]]), np.tri(4, 5, dtype=bool)
        for low in (-1e9, -6.5e4, float(np.finfo(np.float32).min), -np.inf, 1e30):
            bias = np.round(8 * normal(2, 4, 5)) / 8
            bias[0, :, :3] += low
            bias[1, 2:] += low
            for unseen in (1e30, np.nan):
                for seen, options, masks in ((causal, {"causal": True}, []), (mask != 0, {}, [mask]),
                                             (causal & (mask != 0), {"causal": True}, [mask])):
                    for dtype, near in ((np.float64, 1e-11), (np.float32, 2e-5)):
                        with self.subTest(low=low, unseen=unseen, masks=len(masks), dtype=dtype, **options):
                            arrays = [each.astype(dtype) for each in (q, k, v, np.where(seen, bias, unseen))]
                            function = lambda *of: sc.attention(*of[:3], bias=of[3], scale=0.5, **options, **dict(
                                zip(["mask"], of[4:])))
                            self.close(values(function, *arrays, *masks),
                                       attention(*arrays, *masks, scale=0.5, **options), near)

    def test_low_scores_of_seen_keys(self):
        for dtype, low in ((np.float32, -3e38), (np.float64, -1e300)):
            q, k = np.full((1, 3, 1, 1), low, dtype), np.ones((1, 3, 1, 1), dtype)
            v = np.array([1, 2, 4], dtype).reshape(1, 3, 1, 1)
            found = values(lambda *of: sc.attention(*of, causal=True), q, k, v)
            self.close(found[0, :, 0, 0], [1, 1.5, 7 / 3], 1e-6)

    def test_all_ways_give_the_same(self):
        q, k, v = [of.astype(np.float32) for of in self.operands(positions=37, keys=37, heads=4, width=8, of_keys=2)]
        mask = (NUMBERS.random((3, 37)) < 0.7).astype(np.int32)
        zero = np.zeros((1, 4, 1, 37), np.float32)
        repeated = [np.repeat(of, 2, 2) for of in (k, v)]
        for causal in (False, True):
            fused = values(lambda *of: sc.attention(*of[:3], mask=of[3], causal=causal), q, k, v, mask)
            by_scores = values(lambda *of: sc.attention(*of[:3], mask=of[3], bias=of[4], causal=causal), q, k, v, mask,
                               zero)
            by_heads = values(lambda *of: sc.attention(*of[:3], mask=of[3], causal=causal), q, *repeated, mask)
            self.close(by_scores, fused, 1e-5)
            self.assertTrue((by_heads == fused).all())

    def test_dropout(self):
        graph = sc.Graph()
        graph.function("train")
        q, k = [graph.input(name, sc.f32, (8, 16, 4, 4)) for name in "qk"]
        v = graph.variable("v", (8, 16, 4, 4), sc.Init.constant(1.0))
        y = sc.attention(q, k, v, dropout=0.5)
        loss = sc.sum(y)
        graph.minimize(loss, sc.Sgd(1.0))
        for name, tensor in (("y", y), ("loss", loss)):
            graph.output(name, tensor)
        session = graph.compile()
        feeds = {name: normal(8, 16, 4, 4).astype(np.float32) for name in "qk"}
        seen = []
        for _ in range(8):
            before = np.ones((8, 16, 4, 4), np.float32)
            session.write("v", before)
            result = session.step(**feeds)
            seen.append(result["y"].copy())
            # The gradient drops what the values dropped: the loss is linear in v.
            self.assertAlmostEqual(float(np.sum(before - session.read("v"))) / float(result["loss"]), 1, places=4)
        self.assertFalse((seen[0] == seen[1]).all())
        self.assertFalse((seen[0][0] == seen[0][1]).all())
        self.assertGreater(np.std(seen), 0.1)
        self.assertAlmostEqual(np.mean(seen), 1, delta=0.03)  # six times what 8 x 512 rows deviate by
        none = [values(lambda *of: sc.attention(*of, dropout=rate), feeds["q"], feeds["k"], feeds["q"])
                for rate in (0.0, 1e-300)]
        self.close(none[0], none[1], 1e-5)


#===----------------------------------------------------------------------===//
# Variables that functions assign
#===----------------------------------------------------------------------===//


class Assign(Functions):

    def test_is_what_a_variable_holds_after_the_function(self):
        graph = sc.Graph()
        for name, factor in (("train", 2.0), ("twice", 3.0)):
            graph.function(name)
            x = graph.input("x", sc.f64, (2, 3), sc.split(0))
            v, w = [graph.variable(of, (2, 3), sc.Init.constant(1.0), dtype=sc.f64, trainable=False) for of in "vw"]
            trained = graph.variable("trained", (3,), sc.Init.constant(1.0), dtype=sc.f64)
            graph.assign("v", x * factor + w)
            graph.assign("w", v * trained)
            graph.output("v", v)
            if name == "train":
                graph.minimize(sc.sum(sc.mul(x, trained)), sc.Sgd(1.0))
        session = graph.compile()
        v, w, trained = np.ones((2, 3)), np.ones((2, 3)), np.ones(3)
        for name, factor in (("train", 2), ("twice", 3), ("train", 2)):
            x = normal(2, 3)
            self.close(session.run(name, x=x)["v"], v, 1e-14)  # as it was at first
            v, w = factor * x + w, v * trained
            if name == "train":
                trained = trained - x.sum(0)
            for of, expected in (("v", v), ("w", w), ("trained", trained)):
                self.close(session.read(of), expected, 1e-13)


if __name__ == "__main__":
    unittest.main(verbosity=2)
