#!/usr/bin/env python3
"""Convolution and pooling beside formulas of NumPy; and a network of them on several ranks."""
import os
import tempfile
import unittest

import numpy as np
import splitcast as sc

import jobs
from checked import BOTH, Functions, apart, normal, per_channel, values

#===----------------------------------------------------------------------===//
# Images
#===----------------------------------------------------------------------===//


def windows(x, kernel, strides, padding, dilation, beside):
    """[..., windows down, windows across, rows, columns]"""
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(each, each) for each in padding], constant_values=beside)
    ends = [extent - d * (k - 1) for extent, d, k in zip(x.shape[-2:], dilation, kernel)]
    taps = [[x[..., row * dilation[0]:row * dilation[0] + ends[0]:strides[0],
               column * dilation[1]:column * dilation[1] + ends[1]:strides[1]] for column in range(kernel[1])]
            for row in range(kernel[0])]
    return np.moveaxis(np.array(taps), (0, 1), (-2, -1))


def convolution(x, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1)):
    groups = x.shape[1] // weight.shape[1]
    covered = windows(x.reshape(len(x), groups, weight.shape[1], *x.shape[2:]), weight.shape[2:], strides, padding,
                      dilation, 0.0)
    result = np.einsum("ngchwij,gocij->ngohw", covered, weight.reshape(groups, -1, *weight.shape[1:]), optimize=True)
    return result.reshape(len(x), len(weight), *result.shape[3:])


def transposed_convolution(x, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), output_padding=(0, 0), groups=1):
    """Each element adds the weight, times it, to what lies under its window."""
    outputs, (rows, columns) = weight.shape[1], weight.shape[2:]
    whole = [(extent - 1) * s + d * (k - 1) + 1 + o
             for extent, s, d, k, o in zip(x.shape[2:], strides, dilation, weight.shape[2:], output_padding)]
    result = np.zeros([len(x), groups, outputs] + whole)
    by_group = x.reshape(len(x), groups, -1, *x.shape[2:])
    for row in range(rows):
        for column in range(columns):
            down, across = [slice(tap * d, tap * d + (extent - 1) * s + 1, s)
                            for tap, d, extent, s in zip((row, column), dilation, x.shape[2:], strides)]
            result[..., down, across] += np.einsum("ngchw,gco->ngohw", by_group,
                                                   weight.reshape(groups, -1, *weight.shape[1:])[..., row, column])
    result = result[..., padding[0]:whole[0] - padding[0], padding[1]:whole[1] - padding[1]]
    return result.reshape(len(x), groups * outputs, *result.shape[3:])


def max_pool(x, kernel, strides=None, padding=(0, 0), dilation=(1, 1)):
    return windows(x, kernel, strides or kernel, padding, dilation, -np.inf).max((-2, -1))


def average_pool(x, kernel, strides=None, padding=(0, 0), dilation=(1, 1)):
    return windows(x, kernel, strides or kernel, padding, dilation, 0.0).mean((-2, -1))


class Images(Functions):

    def test_convolution(self):
        for x, weight, options in (
            ((2, 3, 5, 4), (4, 3, 3, 2), {}),
            ((1, 1, 1, 1), (1, 1, 1, 1), {}),
            ((1, 2, 5, 5), (3, 2, 1, 1), {"strides": [3, 2]}),
            ((2, 2, 7, 5), (3, 2, 3, 3), {"strides": [2, 3], "padding": [1, 2]}),
            ((1, 2, 7, 6), (2, 2, 2, 3), {"dilation": [3, 2], "padding": [0, 1]}),
            ((2, 6, 5, 3), (4, 3, 2, 2), {"strides": [2, 1]}),  # two groups
            ((2, 3, 4, 4), (6, 1, 3, 3), {"padding": [1, 1]}),  # each channel by itself
            ((1, 2, 2, 3), (2, 2, 3, 3), {"padding": [3, 4], "strides": [2, 2], "dilation": [2, 1]}),
            ((3, 1, 2, 9), (1, 1, 2, 4), {"strides": [9, 2]}),
        ):
            with self.subTest(x=x, weight=weight, **options):
                self.check(lambda *of: sc.convolution(*of, **options), lambda *of: convolution(*of, **options),
                           normal(*x), normal(*weight), types=BOTH)
        for x, weight in (((0, 3, 4, 4), (2, 3, 2, 2)), ((2, 3, 4, 4), (0, 3, 2, 2)), ((2, 0, 4, 4), (2, 0, 2, 2))):
            found = values(sc.convolution, np.ones(x, np.float32), np.ones(weight, np.float32))
            self.assertEqual((found.shape, found.sum()), ((x[0], weight[0], 3, 3), 0))

    def test_convolution_layer(self):
        for x, outputs, kernel, options in (
            ((2, 3, 5, 4), 4, [3, 2], {}),
            ((1, 4, 6, 5), 6, [2, 3], {"groups": 2, "strides": [2, 1], "padding": [1, 0], "dilation": [1, 2]}),
            ((2, 2, 3, 3), 1, [3, 3], {"bias": False}),
        ):
            channels = x[1] // options.get("groups", 1)
            made = {"c.weight": normal(outputs, channels, *kernel), "c.bias": normal(outputs)}
            if not options.get("bias", True):
                del made["c.bias"]

            def formula(x, weight, bias=np.zeros(outputs)):  # noqa: B008 (it is not changed)
                only = {key: of for key, of in options.items() if key not in ("groups", "bias")}
                return convolution(x, weight, **only) + per_channel(bias, 4)

            with self.subTest(x=x, **options):
                self.check(lambda x: sc.convolution(x, "c", outputs, kernel, **options), formula, normal(*x), made=made,
                           types=BOTH)
        graph = sc.Graph()
        graph.output("y", sc.convolution(graph.input("x", sc.f32, (1, 8, 3, 3)), "c", 32, [3, 3], groups=2))
        session = graph.compile()
        self.assertEqual(session.variables, {"c.weight": (sc.f32, (32, 4, 3, 3)), "c.bias": (sc.f32, (32,))})
        for name in session.variables:  # uniform in +-1/6
            found = session.read(name)
            self.assertTrue(0.15 < np.abs(found).max() <= 1 / 6 and abs(found.mean()) < 0.04, name)

    def test_transposed_convolution(self):
        for x, weight, options in (
            ((2, 3, 3, 4), (3, 4, 3, 2), {}),
            ((1, 1, 1, 1), (1, 1, 1, 1), {}),
            ((2, 2, 3, 2), (2, 3, 3, 3), {"strides": [2, 3], "padding": [1, 2]}),
            ((2, 2, 3, 2), (2, 3, 3, 3), {"strides": [2, 3], "padding": [1, 0], "output_padding": [1, 2]}),
            ((1, 2, 3, 4), (2, 1, 2, 3), {"dilation": [3, 2], "padding": [0, 1]}),
            ((2, 6, 2, 3), (6, 2, 2, 2), {"groups": 3, "strides": [2, 1]}),
            ((1, 4, 3, 3), (4, 1, 3, 3), {"groups": 4, "padding": [1, 1]}),
            ((1, 2, 2, 2), (2, 2, 1, 1), {"strides": [3, 3], "output_padding": [2, 2]}),
        ):
            with self.subTest(x=x, weight=weight, **options):
                self.check(lambda *of: sc.transposed_convolution(*of, **options),
                           lambda *of: transposed_convolution(*of, **options), normal(*x), normal(*weight), types=BOTH)

    def test_max_pool(self):
        for x, kernel, options in (
            ((2, 3, 5, 4), [2, 2], {}),
            ((7, 5), [3, 2], {}),
            ((3, 4, 5), [1, 1], {}),
            ((2, 1, 7, 5), [3, 3], {"strides": [2, 1], "padding": [1, 1]}),
            ((1, 2, 7, 6), [2, 3], {"dilation": [3, 2], "strides": [1, 1]}),
            ((2, 1, 1, 3, 3), [3, 3], {"strides": [1, 2], "padding": [2, 1]}),
            ((1, 1, 6, 6), [2, 2], {"strides": [3, 4]}),  # some elements are in no window
        ):
            with self.subTest(x=x, kernel=kernel, **options):
                self.check(lambda x: sc.max_pool(x, kernel, **options), lambda x: max_pool(x, kernel, **options),
                           apart(*x), types=BOTH)
        beside = values(lambda x: sc.max_pool(x, [1, 1], padding=[1, 1]), np.ones((1, 1)))
        self.assertEqual(beside.tolist(), [[-np.inf] * 3, [-np.inf, 1, -np.inf], [-np.inf] * 3])
        nan = values(lambda x: sc.max_pool(x, [1, 2], strides=[1, 1]), np.array([[np.nan, 1, 2, np.inf]]))
        self.assertEqual(repr(nan.tolist()), "[[nan, 2.0, inf]]")

    def test_the_first_of_the_largest_has_the_gradient(self):
        graph = sc.Graph()
        graph.function("train")
        x = graph.variable("x", (3, 4), sc.Init.constant(2.0), dtype=sc.f64)
        graph.minimize(sc.sum(sc.max_pool(x, [2, 2], strides=[1, 2])), sc.Sgd(1.0))
        session = graph.compile()
        session.step()
        self.assertEqual((2 - session.read("x")).tolist(), [[1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]])

    def test_average_pool(self):
        for x, kernel, options in (
            ((2, 3, 5, 4), [2, 2], {}),
            ((1, 2, 3, 3), [3, 3], {}),
            ((2, 1, 7, 5), [3, 2], {"strides": [2, 1], "padding": [1, 2]}),
            ((1, 2, 7, 6), [2, 3], {"dilation": [3, 2], "strides": [1, 1]}),
            ((1, 1, 1, 1), [1, 1], {"padding": [1, 0]}),
        ):
            with self.subTest(x=x, kernel=kernel, **options):
                self.check(lambda x: sc.average_pool(x, kernel, **options),
                           lambda x: average_pool(x, kernel, **options), normal(*x), types=BOTH)


#===----------------------------------------------------------------------===//
# Ranks
#===----------------------------------------------------------------------===//

# Images whose label is the quadrant that is bright; 7 of them, which 3 ranks cannot divide evenly.
CLASSIFIER = """
import sys
import numpy as np
import splitcast as sc

graph = sc.Graph({"dp": sc.size()})


def logits(x, training):
    x = sc.convolution(x, "conv1", 6, [3, 3], padding=[1, 1], bias=False)
    x = sc.max_pool(sc.relu(sc.batch_norm(x, "bn1", training=training)), [3, 3], strides=[2, 2], padding=[1, 1])
    x = sc.convolution(x, "conv2", 4, [2, 2], strides=[2, 1], groups=2)
    x = sc.silu(sc.batch_norm(x, "bn2", training=training))
    x = sc.average_pool(x, [2, 2], strides=[1, 1])
    return sc.linear(sc.reshape(x, [x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]]), "head", 4)


graph.function("train")
x = graph.input("x", sc.f32, (7, 2, 8, 8), sc.split(0))
labels = graph.input("labels", sc.i64, (7,), sc.split(0))
loss = sc.mean_cross_entropy(logits(x, True), labels)
graph.minimize(loss, sc.Momentum(0.1, momentum=0.9))
graph.output("loss", loss)
graph.function("evaluate")
x = graph.input("x", sc.f32, (7, 2, 8, 8), sc.split(0))
labels = graph.input("labels", sc.i64, (7,), sc.split(0))
graph.output("loss", sc.mean_cross_entropy(logits(x, False), labels))
session = graph.compile(enable_zero=int(sys.argv[1]))
numbers, found = np.random.default_rng(3), []
for step in range(6):
    x, labels = numbers.standard_normal((7, 2, 8, 8)).astype(np.float32), numbers.integers(0, 4, 7)
    for image, label in zip(x, labels):
        image[:, 4 * (label // 2):][:, :4, 4 * (label % 2):][:, :, :4] += 1.5
    results = session.run("train" if step < 5 else "evaluate", whole=True, x=x, labels=labels)
    found.append([float(results["loss"])])
found += [session.read("bn%d.running_%s" % (i, of)) for i in (1, 2) for of in ("mean", "var")]
np.save("%s/%d.npy" % (sys.argv[2], sc.rank()), np.concatenate(found))
"""


class Large(Functions):
    """Convolutions that are done in parts: of samples, or of the weight's outputs or groups."""

    def test_are_the_sums_of_their_parts(self):
        for groups, kind, near in ((1, sc.f32, 1e-4), (8, sc.f32, 1e-4), (1, sc.bf16, 2e-2)):
            with self.subTest(groups=groups, kind=kind):
                x, weight = normal(9, 64, 24, 23), normal(136, 64 // groups, 3, 3) * 0.1
                if kind == sc.bf16:  # what it holds
                    x, weight = [(each.astype(np.float32).view(np.uint32) & 0xffff0000).view(np.float32).astype(float)
                                 for each in (x, weight)]
                graph = sc.Graph()
                of = [graph.variable(name, array.shape, sc.Init.zeros()) for name, array in (("x", x), ("w", weight))]
                y = sc.convolution(*[sc.cast(each, kind) if kind != sc.f32 else each for each in of], padding=[1, 1])
                y = sc.cast(y, sc.f32) if kind != sc.f32 else y
                graph.minimize(sc.sum(y * graph.input("g", sc.f32, y.shape)), sc.Sgd(1.0))
                graph.output("y", y)
                session = graph.compile()
                session.write("x", x.astype(np.float32))
                session.write("w", weight.astype(np.float32))
                g = np.round(normal(*y.shape))
                found = session.run("main", g=g.astype(np.float32))["y"]
                covered = windows(x.reshape(9, groups, 64 // groups, 24, 23), (3, 3), (1, 1), (1, 1), (1, 1), 0.0)
                by_group = g.reshape(9, groups, -1, 24, 23)
                slopes = np.einsum("ngchwij,ngohw->gocij", covered, by_group, optimize=True).reshape(weight.shape)
                back = transposed_convolution(g, weight, padding=(1, 1), groups=groups)
                for got, expected in ((found, convolution(x, weight, padding=(1, 1))),
                                      (x - session.read("x"), back), (weight - session.read("w"), slopes)):
                    self.assertLess(np.abs(got - expected).max(), near * np.abs(expected).max())


class BeyondTheLibrary(Functions):
    """Numbers that the op allows, and that oneDNN does not count with: generated kernels do these."""

    def test_strides(self):
        for strides in ([2**31 - 1, 2**31 - 2], [2**29, 1]):
            with self.subTest(strides):
                self.check(lambda x, w: sc.convolution(x, w, strides=strides),
                           lambda x, w: x[:, :, ::strides[0], ::strides[1]] * w,
                           normal(2, 1, 3, 3), normal(1, 1, 1, 1), types=(sc.f32,))

    def test_dilation(self):
        """Of the two taps one is beside the image, whatever the window."""
        far = 1_500_000_000
        self.check(lambda x, w: sc.convolution(x, w, padding=[far // 2, 0], dilation=[far, 1], strides=[2**29, 1]),
                   lambda x, w: 0 * x[:, :, :1] * w[:, :, :1], normal(1, 1, 2, 2), normal(1, 1, 2, 1), types=(sc.f32,))


class MicroBatches(unittest.TestCase):

    def test_have_the_statistics_of_all(self):
        """Each mean is over all micro-batches, and so is what flows back through it."""
        x = np.random.default_rng(3).standard_normal((14, 3, 4, 4)).astype(np.float32)
        found = {}
        for count in (1, 2, 7):
            graph = sc.Graph()
            y = graph.input("x", sc.f32, x.shape, sc.split(0))
            for layer in range(2):
                y = sc.batch_norm(sc.convolution(y, f"c{layer}", 4, [3, 3], padding=[1, 1]), f"b{layer}")
            loss = sc.mean(y * y * y)
            graph.minimize(loss, sc.Sgd(0.1), accumulate=count)
            graph.output("loss", loss)
            session = graph.compile()
            losses = [float(session.run("main", x=x)["loss"]) for _ in range(4)]
            found[count] = losses + list(session.read("b1.running_var")) + list(session.read("c0.weight").ravel())
        self.assertLess(found[1][3], found[1][0])
        for count in (2, 7):
            np.testing.assert_allclose(found[count], found[1], rtol=1e-5, atol=1e-5)


class Ranks(unittest.TestCase):

    def test_train_alike(self):
        found = {}
        for ranks, stage in ((1, 0), (3, 0), (3, 3)):
            with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as directory:
                result = jobs.run(ranks, CLASSIFIER, stage, directory)
                self.assertEqual(result.returncode, 0, result.stderr)
                of_ranks = [np.load(f"{directory}/{rank}.npy") for rank in range(ranks)]
            for each in of_ranks:
                self.assertTrue((each == of_ranks[0]).all(), of_ranks)
            found[ranks, stage] = of_ranks[0]
        one, three = found[1, 0], found[3, 0]
        self.assertTrue((three == found[3, 3]).all(), found)
        self.assertEqual(one.shape, (6 + 2 * (6 + 4),))
        self.assertTrue(np.isfinite(one).all() and one[4] < one[0], one)
        np.testing.assert_allclose(three, one, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
