#!/usr/bin/env python3
"""Operators and indices of tensors, and ops that take numbers: values and gradients are NumPy's."""
import unittest

import numpy as np
import splitcast as sc

from checked import BOTH, Functions, above, apart, normal, values

BLOCK = (3, 4, 5)


class Numbers(Functions):

    def test_beside_floats(self):
        for function, formula in (
            (lambda x: 1 + x, lambda x: 1 + x),
            (lambda x: 2 - x, lambda x: 2 - x),
            (lambda x: 3 * x - 0.5, lambda x: 3 * x - 0.5),
            (lambda x: 2 / x, lambda x: 2 / x),
            (lambda x: x / 4, lambda x: x / 4),
            (lambda x: x**2, lambda x: x**2),
            (lambda x: x**-0.5, lambda x: x**-0.5),
            (abs, np.abs),
        ):
            self.check(function, formula, above(2, 3), types=BOTH)
        for function, formula in (
            (lambda x: sc.maximum(x, 0.5), lambda x: np.maximum(x, 0.5)),
            (lambda x: sc.minimum(0.5, x), lambda x: np.minimum(0.5, x)),
            (lambda x: sc.select(x > 0, x, -1.5), lambda x: np.where(x > 0, x, -1.5)),
            (lambda x: sc.select(x <= 0.2, 3.0, x), lambda x: np.where(x <= 0.2, 3.0, x)),
            (lambda x: sc.select(sc.compare(x, 0.1, "lt"), 2.0 * x, x), lambda x: np.where(x < 0.1, 2 * x, x)),
        ):
            self.check(function, formula, apart(3, 4), types=BOTH)

    def test_beside_integers(self):
        for dtype in (np.int32, np.int64):
            x = np.array([-3, 0, 2, 7], dtype)
            for function in (lambda x: x + 1, lambda x: 5 - x, lambda x: 2 * x - 1, lambda x: x * True, lambda x: -x):
                found = values(function, x)
                self.assertEqual((found.dtype, found.tolist()), (dtype, function(x).tolist()))
            self.assertEqual(values(lambda x: sc.maximum(x, 1), x).tolist(), [1, 1, 2, 7])
        with self.assertRaisesRegex(sc.InvalidError, "i64 meets 0.5, which is no integer; cast"):
            values(lambda x: x + 0.5, np.array([1]))

    def test_of_large_numbers(self):
        """Sums of f16 are wide, and large logits lose no digits."""
        x = np.full((2, 300), 300, np.float16)
        for function, expected in (
            (sc.mean, 300),
            (lambda x: sc.variance(x, [1]), [0, 0]),
            (lambda x: sc.mse(x, x - 200), 40000),
            (lambda x: sc.rms_norm(x, x[0] - 299), np.ones_like(x)),
            (lambda x: sc.group_norm(x, x[0] - 299, x[0] - 299, 2), np.ones_like(x)),
        ):
            found = values(function, x)
            self.assertEqual((found.dtype, found.tolist()), (np.float16, np.asarray(expected).tolist()))
        logits = np.array([[1e4, 1e4], [1e7, 1e7 + 1], [-3e4, -3e4 - 1]], np.float32)
        found = values(lambda x: sc.softmax_cross_entropy(x, sc.cast(sc.sum(0 * x, [1]), sc.i64)), logits)
        np.testing.assert_allclose(found, [0.6931472, 1.3132617, 0.3132617], rtol=1e-6)

    def test_conditions_of_any_type(self):
        x, condition = normal(4), np.array([0.25, 0, np.nan, -1])
        for dtype in (np.float32, np.float64):
            found = values(sc.select, condition.astype(dtype), x, -x)
            self.assertEqual(found.tolist(), np.where(condition != 0, x, -x).tolist())
        found = values(sc.select, condition.astype(np.float32), np.arange(4), np.full(4, 9))
        self.assertEqual(found.tolist(), [0, 9, 2, 3])


class Broadcasts(Functions):

    def test_small_shapes(self):
        """LLVM's SLP joined wrong elements of f64 in vectors of 512 bits, of 5 x 3 elements among others."""
        for i, j, k in ((5, 4, 3), (3, 4, 5), (5, 1, 3), (3, 2, 5), (5, 6, 3), (7, 3, 2), (9, 2, 7)):
            a, b = normal(i, 1), normal(j, 1, k)
            for function in (lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a * b - a):
                self.close(values(function, a, b), function(a, b), 1e-15, (i, j, k))


class Comparisons(Functions):

    def test_are_numpys(self):
        a, b = np.array([[1.0, 2.0, np.nan]]), np.array([[2.0], [1.0]])
        for compared in (lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b,
                         lambda a, b: a > b, lambda a, b: a >= b):
            self.assertTrue((values(compared, a, b) == compared(a, b)).all())
            self.assertTrue((values(lambda a: compared(a, 2), a) == compared(a, 2)).all())
            self.assertTrue((values(lambda a: compared(2, a), a) == compared(2, a)).all())

    def test_mask(self):
        self.assertEqual(values(lambda x, t: sc.sum(x * (t != 0)), np.ones(3, np.float32), np.arange(3)), 2)

    def test_have_no_truth(self):
        graph = sc.Graph()
        x, y = graph.input("x", sc.f32, (3,)), graph.input("y", sc.f32, (3,))
        for call in (lambda: bool(x), lambda: x and y, lambda: 0 < x < 1, lambda: x in [y]):
            self.assertRaisesRegex(TypeError, "neither true nor false", call)
        self.assertEqual({x: 1, y: 2}[x], 1)


class Indices(Functions):

    def test_are_numpys(self):
        for index in (0, -1, slice(1, 3), slice(None), slice(2, 2), slice(-2, None), (slice(None), slice(1, -1)),
                      (1, 2, 3), (..., 0), (0, ...), (None, 1), (slice(None), None, 2), (0, ..., None, -2), ...,
                      (slice(0, 99), -1), np.int64(2), None):
            with self.subTest(str(index)):
                self.check(lambda x: x[index], lambda x: x[index], normal(*BLOCK))
        self.check(lambda x: sum(row[0] for row in x), lambda x: sum(row[0] for row in x), normal(*BLOCK))

    def test_that_do_not_fit(self):
        graph = sc.Graph()
        x = graph.input("x", sc.f32, BLOCK)
        for index, kind in ((3, IndexError), (-4, IndexError), ((0, 0, 0, 0), IndexError), ((..., ...), IndexError),
                            (slice(None, None, 2), IndexError), ("x", TypeError), (0.5, TypeError), (x, TypeError)):
            self.assertRaises(kind, lambda: x[index])

    def test_dimensions_from_the_end(self):
        for function, formula in (
            (lambda x: sc.sum(x, [-1]), lambda x: np.sum(x, -1)),
            (lambda x: sc.mean(x, [-1, 0]), lambda x: np.mean(x, (0, 2))),
            (lambda x: sc.variance(x, [-2]), lambda x: np.var(x, -2)),
            (lambda x: sc.concat([x, 2.0 * x], -1), lambda x: np.concatenate([x, 2 * x], -1)),
            (lambda x: sc.slice(x, -2, 1, 2), lambda x: x[:, 1:3]),
            (lambda x: sc.transpose(x, [0, -1, -2]), lambda x: x.swapaxes(1, 2)),
            (lambda x: sc.reshape(x, [-1, 5]), lambda x: x.reshape(-1, 5)),
            (lambda x: sc.reshape(x, [2, -1]), lambda x: x.reshape(2, -1)),
        ):
            self.check(function, formula, normal(*BLOCK))
        for shape in ([-1, 7], [-1, -1], [-2, 30], [0, -1]):
            with self.assertRaisesRegex(sc.InvalidError, "reshape"):
                values(lambda x: sc.reshape(x, shape), normal(*BLOCK))


if __name__ == "__main__":
    unittest.main(verbosity=2)
