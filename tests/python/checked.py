"""Functions of graphs beside formulas of NumPy: values, and gradients by central differences."""
import math
import unittest

import numpy as np
import splitcast as sc

NUMBERS = np.random.default_rng(20)
BOTH = (sc.f64, sc.f32)  # of which a library has convolutions, products and attention of f32 alone


def normal(*shape):
    return NUMBERS.standard_normal(shape)


def apart(*shape):
    """Numbers of which no two are close, nor one to 0: where there are kinks, differences do not see them."""
    count = math.prod(shape)
    return (NUMBERS.permutation(count) - 0.5 * count + 0.25).reshape(shape) * 0.1


def above(*shape):
    return 0.3 + np.abs(normal(*shape))


def per_channel(x, rank):
    return x.reshape([1, -1] + [1] * (rank - 2))


#===----------------------------------------------------------------------===//
# What is computed
#===----------------------------------------------------------------------===//


def values(function, *arrays, name="y"):
    """Of a graph that takes the arrays as inputs, as views that outlive it."""
    graph = sc.Graph()
    graph.function("main")
    types = {"float64": sc.f64, "float32": sc.f32, "float16": sc.f16, "int64": sc.i64, "int32": sc.i32}
    inputs = [graph.input(f"x{i}", types[array.dtype.name], array.shape) for i, array in enumerate(arrays)]
    graph.output(name, function(*inputs))
    return graph.compile().run("main", **{f"x{i}": array for i, array in enumerate(arrays)})[name]


def gradients_of(formula, arrays, weights, step=1e-5):
    """By central differences, of sum(formula(...) * weights)."""
    results = []
    for array in arrays:
        result = np.empty_like(array)
        for index in np.ndindex(array.shape):
            kept, sums = array[index], []
            for moved in (kept + step, kept - step):
                array[index] = moved
                sums.append(np.sum(formula(*arrays) * weights))
            array[index] = kept
            result[index] = (sums[0] - sums[1]) / (2 * step)
        results.append(result)
    return results


class Functions(unittest.TestCase):

    def setUp(self):
        NUMBERS.bit_generator.state = np.random.default_rng(20).bit_generator.state  # a test alone sees what it did

    def close(self, found, expected, tolerance, what=""):
        expected = np.asarray(expected)
        self.assertEqual(found.shape, expected.shape, what)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=what)

    def check(self, function, formula, *arrays, made=None, inputs=(), types=(sc.f64,), gradients=True):
        """`function` of tensors is `formula` of arrays of f64; both take `inputs`, which are integers, last. The
        function makes the variables `made` itself, which the formula takes after `arrays`."""
        made = made or {}
        arrays = [np.array(array, np.float64) for array in list(arrays) + list(made.values())]
        names = [f"v{i}" for i in range(len(arrays) - len(made))]
        expected = np.asarray(formula(*arrays, *inputs), np.float64)
        weights = normal(*expected.shape)
        if gradients:
            differences = gradients_of(lambda *of: formula(*of, *inputs), arrays, weights)
        for kind in types:
            dtype, near = (np.float64, 1e-11) if kind == sc.f64 else (np.float32, 2e-5)
            graph = sc.Graph()
            for each in ("values", "train")[:1 + gradients]:
                graph.function(each)
                variables = [graph.variable(name, array.shape, sc.Init.zeros(), dtype=kind)
                             for name, array in zip(names, arrays)]
                integers = [graph.input(f"i{i}", sc.i64, array.shape) for i, array in enumerate(inputs)]
                y = function(*variables, *integers)
                if each == "train":
                    graph.minimize(sc.sum(y * graph.input("weights", kind, y.shape)), sc.Sgd(1.0))
                graph.output("y", y)
            session = graph.compile()
            for name, array in zip(names + list(made), arrays):
                session.write(name, array.astype(dtype))
            feeds = {f"i{i}": array for i, array in enumerate(inputs)}
            found = session.run("values", **feeds)["y"]
            self.assertEqual(found.dtype, dtype)
            self.close(found, expected, near, "values")
            if not gradients:
                continue
            self.close(session.step(weights=weights.astype(dtype), **feeds)["y"], expected, near, "values of the step")
            for name, array, difference in zip(names + list(made), arrays, differences):
                self.close(array.astype(dtype) - session.read(name), difference,
                           1e-6 if kind == sc.f64 else 1e-4, "gradient of " + name)
