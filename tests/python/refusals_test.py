#!/usr/bin/env python3
"""What functions of graphs refuse: errors that name the call and its line, and no crash."""
import math
import subprocess
import sys
import unittest

import numpy as np
import splitcast as sc

import jobs
from checked import values

#===----------------------------------------------------------------------===//
# Errors
#===----------------------------------------------------------------------===//

LARGE, MOST = 2**62, 2**31 - 1


def graph_with(*inputs):
    """A graph and inputs x0, x1, ...: f64 unless the shape is given with a type."""
    graph = sc.Graph()
    graph.function("main")
    with_types = [of if len(of) == 2 and isinstance(of[0], tuple) else (of, sc.f64) for of in inputs]
    return graph, [graph.input(f"x{i}", kind, shape) for i, (shape, kind) in enumerate(with_types)]


class Refused(unittest.TestCase):

    def fails(self, name, call, *inputs):
        """By an error that begins with the line of the call and the name of the function."""
        graph, tensors = graph_with(*inputs)
        with self.subTest(name, inputs=inputs), self.assertRaisesRegex(
                sc.InvalidError, rf"^\S*\w+_test\S*:\d+: {name}"):
            y = call(*tensors)
            self.assertFalse(y.is_valid)
            graph.output("y", y)
            graph.compile()


class Errors(Refused):

    def test_of_elements_and_shapes(self):
        self.fails("erf", sc.erf, ((3,), sc.i64))
        self.fails("compare", lambda a, b: sc.compare(a, b, "less"), (3,), (3,))
        self.fails("compare", lambda a, b: sc.compare(a, b, "lt"), (3,), (4,))
        self.fails("compare", lambda a, b: sc.compare(a, b, "lt"), (3,), ((3,), sc.f32))
        for to in ([], [3], [4, 3], [2, 4, 3], [-1, 4], [3, -4], [LARGE, 4], [LARGE, LARGE, 4]):
            self.fails("broadcastTo", lambda x: sc.broadcast_to(x, to), (1, 4))
        for rate in (-0.1, 1.0, math.nan, math.inf):
            self.fails("dropout", lambda x: sc.dropout(x, rate), (3,))

    def test_of_values_of_other_kinds(self):
        """An array is not taken apart; numbers of a loss scale have defaults; reports are of functions there are."""
        graph, (x,) = graph_with((3,))
        with self.assertRaises(TypeError):
            np.ones(3) + x
        self.assertEqual(repr(sc.LossScale(interval=3)), repr(sc.LossScale(initial=65536, interval=3)))
        self.assertIn("interval=3", repr(sc.LossScale(interval=3)))
        with self.assertRaisesRegex(sc.InvalidError, "variables is empty"):
            graph.minimize(sc.sum(x), sc.Sgd(0.5), variables=[])
        graph.output("y", sc.exp(x))
        session = graph.compile()
        with self.assertRaisesRegex(sc.NotFoundError, "nope"):
            session.report("nope")

        class NoArray:

            def __array__(self, *ignored, **also_ignored):
                raise TypeError("has no such type")

        with self.assertRaisesRegex(sc.InvalidError, "type NoArray does not become an array: has no such type"):
            session.run("main", x0=NoArray())

    def test_of_norms(self):
        for epsilon in (-1e-5, math.nan, math.inf):
            self.fails("layerNorm", lambda *of: sc.layer_norm(*of, epsilon), (2, 3), (3,), (3,))
        for x, weight in (((), ()), ((2, 3), (2,)), ((2, 3), (1, 3)), ((3,), ())):
            self.fails("rmsNorm", sc.rms_norm, x, weight)
        for groups in (0, -1, 3, 5, LARGE, -LARGE):
            self.fails("groupNorm", lambda *of: sc.group_norm(*of, groups), (2, 4, 3), (4,), (4,))
        for x, weight in (((), (4,)), ((4,), (4,)), ((0, 4), (4,)), ((2, 4, 0), (4,)), ((2, 4, 3), (3,)),
                          ((2, 4), (4, 1))):
            self.fails("groupNorm", lambda *of: sc.group_norm(*of, 1), x, weight, (4,))
        for wrong in range(5):
            shapes = [(2, 4, 3)] + [(4,)] * 4
            shapes[wrong] = (4,) if wrong == 0 else (1, 4, 1)
            self.fails("batchNorm", sc.batch_norm, *shapes)
        for x in ((), (4,), (2, 4), (2, 4, 3), (0, 4, 1, 1), (2, 0, 1, 1), ((2, 4, 3, 3), sc.i64)):
            self.fails("batchNorm 'bn'", lambda x: sc.batch_norm(x, "bn"), x)
        graph, (x,) = graph_with((2, 3, 4, 4))
        graph.output("y", sc.batch_norm(sc.batch_norm(x, "bn"), "bn"))  # whose statistics would be two
        with self.assertRaisesRegex(sc.InvalidError, "batchNorm 'bn'.* assigns variable 'bn.running_mean' a second time"):
            graph.compile()

    def test_of_windows(self):
        x = (2, 3, 5, 4)
        calls = [("convolution", sc.convolution, [x, (4, 3, 2, 2)]),
                 ("transposedConvolution", sc.transposed_convolution, [x, (3, 4, 2, 2)]),
                 ("maxPool", lambda x, **of: sc.max_pool(x, [2, 2], **of), [x]),
                 ("averagePool", lambda x, **of: sc.average_pool(x, [2, 2], **of), [x])]
        for name, call, inputs in calls:
            for option in ("strides", "padding", "dilation"):
                less = [-1, 1] if option == "padding" else [0, 1]
                for numbers in ([], [1], [1, 1, 1], less, less[::-1], [-LARGE, -LARGE], [MOST + 1, 1], [1, LARGE]):
                    if numbers or option != "strides" or "Pool" not in name:  # pools then take the kernel
                        self.fails(name, lambda *of: call(*of, **{option: numbers}), *inputs)
            self.fails(name, call, *([()] + inputs[1:]))
            self.fails(name, call, *([(4,)] + inputs[1:]))
            self.fails(name, call, *[(of, sc.i32) for of in inputs])
        for name, call in (("maxPool", sc.max_pool), ("averagePool", sc.average_pool)):
            for kernel in ([], [2], [2, 2, 2], [0, 1], [1, -1], [-LARGE, 1], [MOST + 1, 1]):
                self.fails(name, lambda x: call(x, kernel), x)
        self.fails("maxPool", lambda x: sc.max_pool(x, [6, 1]), x)
        self.fails("maxPool", lambda x: sc.max_pool(x, [MOST, MOST]), x)
        self.fails("averagePool", lambda x: sc.average_pool(x, [2, 2]), (3, 5, 4))

    def test_of_convolutions(self):
        x = (2, 6, 5, 4)
        for weight in ((), (4, 6, 2), (4, 6, 2, 2, 1), (4, 4, 2, 2), (3, 3, 2, 2), (4, 7, 2, 2), (4, 0, 2, 2),
                       (4, 6, 0, 2), (4, 6, 6, 2), ((4, 6, 2, 2), sc.f32)):
            self.fails("convolution", sc.convolution, x, weight)
        for weight in ((), (6, 4, 2), (6, 4, 2, 2, 1), (4, 6, 2, 2), (6, 4, 0, 2), ((6, 4, 2, 2), sc.f32)):
            self.fails("transposedConvolution", sc.transposed_convolution, x, weight)
        for options in ({"groups": 0}, {"groups": -LARGE}, {"groups": 4}, {"groups": LARGE}, {"output_padding": []},
                        {"output_padding": [1, 0]}, {"output_padding": [-1, 0], "strides": [2, 2]},
                        {"output_padding": [2, 0], "strides": [2, 2]}, {"padding": [3, 0]}, {"padding": [MOST, MOST]},
                        {"strides": [MOST, MOST]}):
            self.fails("transposedConvolution", lambda *of: sc.transposed_convolution(*of, **options), x, (6, 4, 2, 2))
        for outputs, kernel, options in ((0, [2, 2], {}), (-LARGE, [2, 2], {}), (4, [], {}), (4, [2], {}),
                                         (4, [2, 0], {}), (4, [2, -LARGE], {}), (4, [2, 2], {"groups": 0}),
                                         (4, [2, 2], {"groups": 4}), (4, [2, 2], {"groups": -6}),
                                         (4, [2, 2], {"groups": LARGE})):
            self.fails("convolution 'c'", lambda x: sc.convolution(x, "c", outputs, kernel, **options), x)
        self.fails("convolution", lambda x: sc.convolution(x, "c", 4, [2, 2], groups=3), x)  # 4 outputs in 3 groups
        self.fails("convolution", lambda x: sc.convolution(x, "c", 4, [2, 2], strides=[0, 1]), x)
        for x in ((), (6, 5, 4), ((2, 6, 5, 4), sc.i64), (2, 0, 5, 4)):
            self.fails("convolution 'c'", lambda x: sc.convolution(x, "c", 4, [2, 2]), x)

    def test_of_attention(self):
        q, k = (2, 3, 4, 5), (2, 6, 4, 5)
        for dropout in (-0.1, 1.0, math.nan, math.inf):
            self.fails("attention", lambda *of: sc.attention(*of, dropout=dropout), q, k, k)
        for wrong in ((), (2, 3, 4), (2, 3, 4, 5, 1), (2, 3, 4, 0)):
            self.fails("attention", sc.attention, wrong, k, k)
            self.fails("attention", lambda *of: sc.attention(*of[:3], bias=of[3]), wrong, k, k, (6,))
        for wrong in ((), (2, 6, 20), (2, 6, 4, 5, 1), (2, 6, 3, 5), (2, 6, 8, 5), (2, 6, 0, 5), (3, 6, 4, 5),
                      (2, 6, 4, 7)):
            self.fails("attention", sc.attention, q, wrong, wrong)
            self.fails("attention", sc.attention, q, k, wrong)
        for mask in ((6, 2), (12,), (), (2, 1, 1, 6), (2, 5), (1, 6)):
            self.fails("attention", lambda *of: sc.attention(*of[:3], mask=of[3]), q, k, k, (mask, sc.i64))
        self.fails("attention", lambda *of: sc.attention(*of[:3], mask=of[3]), q, k, k, (2, 6))
        self.fails("attention", sc.attention, (q, sc.i64), (k, sc.i64), (k, sc.i64))

    def test_of_tensors_of_elsewhere(self):
        calls = [("compare", lambda a, b: sc.compare(a, b, "lt")), ("rmsNorm", sc.rms_norm),
                 ("groupNorm", lambda a, b: sc.group_norm(a, a, b, 1)), ("convolution", sc.convolution),
                 ("batchNorm", lambda a, b: sc.batch_norm(a, b, b, b, b)),
                 ("transposedConvolution", sc.transposed_convolution),
                 ("attention", lambda a, b: sc.attention(a, a, b)),
                 ("attention", lambda a, b: sc.attention(a, a, a, bias=b)),
                 ("attention", lambda a, b: sc.attention(a, a, a, mask=b))]
        for name, call in calls:
            _, (far,) = graph_with((2, 3))
            self.fails(name, lambda x: call(x, far), (2, 3))

            def of_another_function(x):
                graph.function("other")
                return call(x, graph.input("x", sc.f64, (2, 3)))

            graph, (x,) = graph_with((2, 3))
            graph.output("y", of_another_function(x))
            with self.assertRaisesRegex(sc.InvalidError, name + r".*operands of two functions"):
                graph.compile()

    def test_of_assign(self):
        for pattern, assign in (
            ("'w'.*assigns variable 'w', which does not exist", lambda graph, x: graph.assign("w", x)),
            ("'trained'.*assigns variable 'trained', which an optimizer trains", lambda graph, x: graph.assign("trained", x)),
            ("'v'.*assigns variable 'v' a second time", lambda graph, x: [graph.assign("v", x) for _ in range(2)]),
            ("'v'.*of another type to variable 'v', which is 2x3",
             lambda graph, x: graph.assign("v", sc.transpose(x, [1, 0]))),
            ("'v'.*of another type to variable 'v', which is 2x3", lambda graph, x: graph.assign("v", sc.cast(x, sc.f32))),
            ("'v'.*after the graph was finished", lambda graph, x: graph.text() and graph.assign("v", x)),
        ):
            with self.subTest(pattern):
                graph, (x,) = graph_with((2, 3))
                for name in ("v", "trained"):
                    graph.variable(name, (2, 3), sc.Init.zeros(), dtype=sc.f64, trainable=name != "v")
                graph.output("y", x)
                assign(graph, x)
                with self.assertRaisesRegex(sc.InvalidError, r"\w+_test\S*:\d+: assign " + pattern):
                    graph.compile()


class Composed(Refused):
    """What functions of several ops refuse, and how they say it."""

    def test_functions_of_functions_are_named(self):
        for name, call in (("sigmoid", sc.sigmoid), ("silu", sc.silu), ("rsqrt", sc.rsqrt),
                           ("pow", lambda x: sc.pow(x, 0.3)), ("logSoftmax", sc.log_softmax)):
            self.fails(name, call, ((2, 3), sc.i64))
        self.fails("logSoftmax", sc.log_softmax, ())
        for name, call in (("maximum", sc.maximum), ("minimum", sc.minimum)):
            self.fails(name, call, (2, 3), (2, 4))
            self.fails(name, call, (2, 3), ((2, 3), sc.f32))
        for dims in ([-3], [2], [0, 0], [1, -1], [LARGE], [-LARGE]):
            self.fails("variance", lambda x: sc.variance(x, dims), (2, 3))
        self.fails("rmsNorm", sc.rms_norm, (2, 3), ((3,), sc.f32))
        self.fails("groupNorm", lambda *of: sc.group_norm(*of, 1), *[(of, sc.i64) for of in ((2, 3), (3,), (3,))])
        self.fails("batchNorm", sc.batch_norm, (2, 3), *[((3,), sc.f32)] * 4)
        self.fails("averagePool", lambda x: sc.average_pool(x, [6, 1]), (2, 3, 5, 4))

    def test_attention_by_scores_takes_what_the_op_takes(self):
        q, k = (2, 3, 4, 5), (2, 6, 4, 5)
        for options in ({"bias": True}, {"dropout": 0.5}):

            def call(q, k, v, bias, *mask):
                return sc.attention(q, k, v, **dict(options, **{"bias": bias} if "bias" in options else {}),
                                    mask=mask[0] if mask else None)

            for mask in ((6, 2), (12,), (), (2, 1, 1, 6), (2, 5), (1, 6)):
                self.fails("attention", call, q, k, k, (6,), (mask, sc.i64))
            for wrong in ((), (2, 6, 20), (2, 6, 4, 5, 1), (2, 6, 3, 5), (3, 6, 4, 5), (2, 6, 4, 7)):
                self.fails("attention", call, q, wrong, wrong, (6,))
                self.fails("attention", call, q, k, wrong, (6,))
            self.fails("attention", call, (q, sc.i64), (k, sc.i64), (k, sc.i64), ((6,), sc.i64))
        for bias in ((5,), (3, 4, 3, 6), (1, 5, 3, 6), (2, 2, 4, 3, 6), (0,), ((6,), sc.i64)):
            self.fails("attention", lambda *of: sc.attention(*of[:3], bias=of[3]), q, k, k, bias)
        one = (1, 1, 1, 5)
        self.fails("attention", lambda *of: sc.attention(*of[:3], bias=of[3]), one, one, one, (1, 1, 9, 1))

    def test_no_tensor_is_assigned_in_another_graph(self):
        graphs = [graph_with((2, 3)) for _ in range(2)]
        for graph, (x,) in graphs:
            graph.variable("v", (2, 3), sc.Init.zeros(), dtype=sc.f64, trainable=False)
            graph.output("y", x)
        graphs[0][0].assign("v", graphs[1][1][0])
        with self.assertRaisesRegex(sc.InvalidError, "assign 'v'.* of another graph"):
            graphs[0][0].compile()

    def test_abs_of_0_is_not_below_0(self):
        self.assertFalse(np.signbit(values(sc.abs, np.array([0.0, -0.0]))).any())

    def ends(self, pattern, text):
        """A process that would be killed here: its error is one of the package's."""
        text = ("import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nimport splitcast as sc\n"
                "graph = sc.Graph()\nf = lambda name, *shape: graph.input(name, sc.f32, shape)\n" + text)
        result = subprocess.run([sys.executable, "-c", text], env=jobs.ENVIRONMENT, capture_output=True,
                                text=True, timeout=60)
        self.assertRegex(result.stderr, r"splitcast\._errors\.\w+: .*" + pattern)
        self.assertEqual(result.returncode, 1)

    def test_attention_with_a_bias_and_a_mask_of_floats(self):
        self.ends("attention", """if True:
            q = f("q", 2, 3, 1, 4)
            graph.output("y", sc.attention(q, q, q, bias=f("b", 1), mask=f("m", 2, 3)))
            graph.compile()
        """)

    def test_convolution_of_more_than_its_library_can_count(self):
        text = """if True:
            import splitcast as sc
            graph = sc.Graph()
            x, w = [graph.input(name, sc.f32, (1, 1, 1, 1)) for name in "xw"]
            graph.output("y", sc.convolution(x, w, padding=[2**30, 0]))
            print(graph.compile().report("main")["text"] != "")
        """
        result = jobs.run(1, text)
        self.assertEqual((result.returncode, result.stdout), (0, "True\n"), result.stderr)



if __name__ == "__main__":
    unittest.main(verbosity=2)
