#!/usr/bin/env python3
"""What Python gives and is given: arrays without copies, variables, files, options, and errors that name things."""
import gc
import json
import math
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import splitcast as sc

import jobs


def graph_of(optimizer, accumulate=1):
    graph = sc.Graph()
    graph.function("train")
    x = graph.input("x", sc.f32, (6, 5), sc.split(0))
    y = sc.linear(sc.gelu(sc.linear(x, "a", 4)), "b", 3)
    loss = sc.mean(y * y)
    graph.minimize(loss, optimizer, accumulate=accumulate)
    graph.output("loss", loss)
    graph.output("y", y)
    return graph


def sum_of(element_type, optimizer):
    """The loss is the sum of x times w, which is 1: twelve addends."""
    graph = sc.Graph()
    graph.function("train")
    x = graph.input("x", element_type, (12,), sc.split(0))
    loss = sc.sum(x * graph.variable("w", (), sc.Init.constant(1.0), dtype=element_type))
    graph.minimize(loss, optimizer, accumulate=12)
    graph.output("loss", loss)
    return graph


class Sessions(unittest.TestCase):

    def test_results_are_views_of_one_place(self):
        session = graph_of(sc.Adam(0.1)).compile(enable_zero=1)
        x = np.arange(30, dtype=np.float32).reshape(6, 5)
        first = session.step(x=x)
        second = session.step()
        self.assertTrue(np.shares_memory(first["y"], second["y"]))
        self.assertFalse(first["y"].flags.writeable)
        self.assertLess(float(second["loss"]), 1e9)
        self.assertTrue(np.shares_memory(session.input("train", "x"), session.input("train", "x")))
        self.assertTrue((session.input("train", "x") == x).all())

    def test_numbers_stay(self):
        session = graph_of(sc.Sgd(0.1)).compile()
        losses = [session.step(x=np.ones((6, 5), np.float32))["loss"] for _ in range(3)]
        self.assertEqual(len({float(loss) for loss in losses}), 3)
        self.assertEqual((losses[0].shape, losses[0].dtype), ((), np.float32))

    def test_what_is_converted(self):
        session = graph_of(sc.Sgd(0.1)).compile()
        expected = float(session.step(x=np.ones((6, 5), np.float32))["loss"])
        for x in ([[1.0] * 5] * 6, [[1] * 5] * 6, np.ones((6, 5), np.float16), np.ones((6, 5), bool)):
            again = graph_of(sc.Sgd(0.1)).compile()
            self.assertEqual(float(again.step(x=x)["loss"]), expected)
        for x in ([[1j] * 5] * 6, np.ones((6, 5)), np.ones((6, 5), np.int64)):
            self.assertRaisesRegex(ValueError, r"it must be float32 \[6, 5\]", session.step, x=x)
        session.write("optimizer.learning_rate", 1e-3)
        self.assertEqual(session.read("optimizer.learning_rate"), np.float32(1e-3))

    def test_only_what_loses_nothing_is_converted(self):
        most = 2**53
        for dtype, right, wrong in (
            (sc.f64, ([1, most], np.array([1, -most]), np.float32([0.5, 2])), ([1, most + 1], np.array([1, most + 1]))),
            (sc.f32, ([1, 2**24], [0.1, 0.2], np.int16([1, 2])), ([1, 2**24 + 1], [1.0, 1e300], np.int32([1, 2]))),
            (sc.i32, ([1, 2**31 - 1], np.uint8([1, 2])), ([1, 2**40], [1.5, 2.0], np.array([1, 2]))),
            # Bits of bf16, and no integers.
            (sc.bf16, (np.uint16([0x3F80, 0]),), ([1.0, 2.0], np.uint8([1, 2]), np.float32([1, 2]))),
            (sc.i64, (np.uint32([1, 2]),), (np.uint16([1, 2]), np.uint64([1, 2]), np.float16([1, 2])))):
            graph = sc.Graph()
            graph.output("y", sc.named(graph.input("x", dtype, (2,)), "y"))
            session = graph.compile()
            for x in right:
                y = session.run("main", x=x)["y"]
                self.assertTrue((y == np.asarray(x, y.dtype)).all(), x)
            for x in wrong:
                self.assertRaisesRegex(ValueError, r"input 'x' of 'main'.* is \w+ \[2\]; it must be \w+ \[2\]",
                                       session.run, "main", x=x)

    def test_one_thread_at_a_time(self):
        graph = sc.Graph()
        x = graph.input("x", sc.f32, (1500, 1500))
        graph.output("y", sc.matmul(x, sc.matmul(x, sc.matmul(x, x))))
        session, x = graph.compile(), np.ones((1500, 1500), np.float32)
        running = threading.Thread(target=lambda: [session.run("main", x=x) for _ in range(20)])
        running.start()
        found = set()
        while running.is_alive() and not found:
            try:
                session.run("main", x=x)
            except sc.Error as error:
                found.add(str(error))
        running.join()
        self.assertRegex(found.pop(), "another thread is using splitcast")
        session.run("main", x=x)

    def test_signals_do_not_disturb_products(self):
        graph = sc.Graph()
        x = graph.input("x", sc.f32, (600, 600))
        graph.output("y", sc.matmul(x, sc.matmul(x, x)))
        session, numbers = graph.compile(), np.random.default_rng(1).standard_normal((600, 600)).astype(np.float32)
        expected, count = session.run("main", x=numbers)["y"].copy(), []
        before = signal.signal(signal.SIGALRM, lambda *of: count.append(1))
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        for _ in range(100):
            self.assertTrue((session.run("main", x=numbers)["y"] == expected).all())
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        self.assertGreater(len(count), 20)

    def test_an_interrupt_is_pythons(self):
        text = """if True:
            import os, signal, threading
            import numpy as np, splitcast as sc
            graph = sc.Graph()
            x = graph.input("x", sc.f32, (800, 800))
            graph.output("y", sc.matmul(x, sc.matmul(x, x)))
            session, x = graph.compile(), np.ones((800, 800), np.float32)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    session.run("main", x=x)
            except KeyboardInterrupt:
                print("saved", session.run("main", x=x)["y"][0, 0])
        """
        result = jobs.run(1, text)
        self.assertEqual((result.returncode, result.stdout), (0, "saved 640000.0\n"), result.stderr)

    def test_the_end_waits_for_a_thread(self):
        text = """if True:
            import threading, time
            import numpy as np, splitcast as sc
            graph = sc.Graph()
            x = graph.input("x", sc.f32, (1000, 1000))
            graph.output("y", sc.matmul(x, sc.matmul(x, x)))
            session, x = graph.compile(), np.ones((1000, 1000), np.float32)
            def work():
                while True:
                    session.run("main", x=x)
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            print("done")
        """
        result = jobs.run(1, text)
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)

    def test_what_ranks_have_in_common_is_equal(self):
        text = """if True:
            import numpy as np, splitcast as sc
            graph = sc.Graph()
            x, rows = graph.input("x", sc.f32, (2,)), graph.input("rows", sc.f32, (3, 2), sc.split(0))
            v = graph.variable("v", (2,), sc.Init.zeros())
            graph.output("y", sc.sum(rows * x + v))
            session = graph.compile()
            own = np.full(session.inputs("main")["rows"]["local_shape"], sc.rank(), np.float32)
            for call in (lambda: session.run("main", x=[sc.rank(), 1], rows=own),
                         lambda: session.write("v", [1, sc.rank()])):
                try:
                    call()
                except sc.InvalidError as error:
                    print("refused:", error)
            session.write("v", [1, 2])
            print(session.run("main", x=[1, 1], rows=own)["y"])
        """
        result = jobs.run(3, text)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(sorted(line for line in lines if "refused" not in line), ["15.0"] * 3)
        for what in ("ranks 0 and 1 give different values for input 'x' of 'main'", "ranks 0 and 1 write different values to variable 'v'"):
            self.assertEqual(sum("refused" in line and what in line for line in lines), 3, result.stdout)

    def test_views_outlive_what_made_them(self):
        view = graph_of(sc.Sgd(0.1)).compile().step(x=np.ones((6, 5), np.float32))["y"]
        other = graph_of(sc.Sgd(0.1)).compile().step(x=np.zeros((6, 5), np.float32))["y"]
        self.assertTrue((view[0] == view[5]).all() and (view[0] != other[0]).any())

    def test_variables(self):
        session = graph_of(sc.AdamW(0.1, weight_decay=0.5)).compile()
        self.assertEqual(session.variables["a.weight"], (sc.f32, (5, 4)))
        value = np.arange(20, dtype=np.float32).reshape(4, 5).T  # not contiguous
        session.write("a.weight", value)
        self.assertTrue((session.read("a.weight") == value).all())
        session.step(x=np.ones((6, 5), np.float32))
        changed = session.read("a.weight")
        self.assertTrue((changed != value).any())
        with tempfile.TemporaryDirectory() as directory:
            session.save(directory + "/all")
            other = graph_of(sc.AdamW(0.1, weight_decay=0.5)).compile(seed=7)
            self.assertTrue((other.read("a.weight") != changed).any())
            other.load(directory + "/all")
            self.assertTrue((other.read("a.weight") == changed).all())
            slower = graph_of(sc.AdamW(0.01, weight_decay=0.5)).compile()
            rate = "optimizer.learning_rate"
            with self.assertRaisesRegex(sc.InvalidError, f"{rate} is 0.1 in the file, but 0.01 here; say rates=saved"):
                slower.load(directory + "/all")
            with self.assertRaisesRegex(sc.InvalidError, "rates is 'mine'; it must be saved or command"):
                slower.load(directory + "/all", rates="mine")
            slower.write(rate, np.float32(0.01))
            slower.load(directory + "/all", rates="command")
            self.assertEqual(slower.read(rate), np.float32(0.01))
            self.assertTrue((slower.read("a.weight") == changed).all())
            slower.load_known(directory + "/all", rates="saved")
            self.assertEqual(slower.read(rate), np.float32(0.1))
            third = graph_of(sc.Sgd(0.1)).compile(seed=7)
            left = third.load_weights(directory + "/all", [("b.*", "b.*")])
            self.assertIn("a.weight.exp_avg", left)
            self.assertTrue((third.read("a.weight") == changed).all())
            with self.assertRaisesRegex(sc.InvalidError, "'a.weight' is renamed to 'c', so that none is left"):
                third.load_weights(directory + "/all", [("a.weight", "c")])
            third.write("a.weight", value)
            kept, unused = third.load_known(directory + "/all")
            self.assertIn("a.weight.exp_avg", unused)
            self.assertNotIn("a.weight", kept)
            self.assertTrue((third.read("a.weight") == changed).all())

    def test_keeps_the_norm_of_gradients(self):
        x = np.arange(30, dtype=np.float32).reshape(6, 5) / 16
        for options in ({}, {"clip_norm": 0.25}, {"clip_value": 0.01}, {"accumulate": 3}, {"loss_scale": sc.LossScale()}):
            graph = sc.Graph()
            graph.function("train")
            z = sc.matmul(graph.input("x", sc.f32, (6, 5), sc.split(0)), graph.variable("w", (5, 4), sc.Init.constant(0.5)))
            graph.minimize(sc.mean(z * z), sc.Sgd(1e-3), gradient_norm=True, **options)
            session = graph.compile()
            session.step(x=x)
            expected = np.linalg.norm(2 * x.T @ (x @ np.full((5, 4), 0.5)) / 24)
            self.assertAlmostEqual(float(session.read("optimizer.gradient_norm")), expected, places=5)

    def test_reproducible_sums_lose_nothing(self):
        for addends in ([1e-23] * 12, [1e-40] * 12, [1e30, 1e-40, -1e30] * 4, [3e38, 3e38, -3e38, -3e38, 1.0, 1e-30] * 2):
            x = np.array(addends, np.float32)
            session = sum_of(sc.f32, sc.Lion(0.125)).compile(enable_zero={"reproducible": "yes"})
            exact = math.fsum(map(float, x))
            self.assertEqual(session.step(x=x)["loss"], np.float32(exact))
            self.assertEqual(session.read("w"), 1 - 0.125 * np.sign(exact))
            self.assertNotIn("optimizer.inexact_sums", session.variables)

    def test_counts_what_is_rounded_away_of_f64(self):
        for addend, counts in ((1e-30, [0, 0, 0]), (1.1e-45, [2, 4, 6])):
            script = f"""
import sys
sys.path[:0] = {sys.path!r}
import numpy as np, session_test, splitcast as sc
session = session_test.sum_of(sc.f64, sc.Sgd(0.125)).compile(enable_zero={{"reproducible": "yes"}})
for step in range(3):
    session.step(x=np.full(12, {addend}))
    print(int(session.read("optimizer.inexact_sums")))
"""
            made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            self.assertEqual(made.stdout.split(), [str(count) for count in counts])
            notes = [line for line in made.stderr.splitlines() if "optimizer.inexact_sums" in line]
            self.assertEqual(len(notes), 2 if counts[0] else 0, made.stderr)  # at 2 and at 4
            if notes:
                self.assertRegex(notes[0], r"@train is reproducible, but has rounded digits of f64 below 2\^-149 away in 2")

    def test_tensors_outlive_their_graphs(self):

        def made():
            graph = sc.Graph()
            return graph.input("x", sc.f32, (6, 5), sc.split(0)), sc.concat([graph.iota(sc.f32, (2,), 0)] * 2, 0)

        tensors = [made() for _ in range(3)]
        gc.collect()
        for x, y in tensors:
            self.assertEqual(((x + x) * 2.0).shape, (6, 5))
            self.assertEqual(sc.relu(y).shape, (4,))

    def test_micro_batches_and_whole_batches(self):
        x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
        one, three = [graph_of(sc.Sgd(0.1), accumulate=count).compile() for count in (1, 3)]
        losses = [float(session.step(x=x, whole=True)["loss"]) for session in (one, three)]
        self.assertAlmostEqual(losses[0], losses[1], places=5)
        self.assertEqual(len(three.inputs()["x"]["boxes"]), 3)
        self.assertEqual(three.inputs()["x"]["local_shape"], (6, 5))

    def test_options_as_numbers_texts_and_dicts(self):
        plans = [graph_of(sc.Adam(1e-3)).compile(enable_zero=said).plan()
                 for said in (2, "stage=2", {"stage": 2}, {"stage": 2, "compute_type": "bf16"})]
        self.assertEqual(len(set(plans[:3])), 1)
        self.assertNotEqual(plans[0], plans[3])
        self.assertGreater(graph_of(sc.Adam(1e-3)).compile().report()["peak_bytes"], 0)

    def test_ir_of_each_level(self):
        session = graph_of(sc.Adam(1e-3)).compile(enable_zero=3)
        for level, has, lacks in (("source", "nn.minimize", "sbp.boxing"), ("zero", "sbp.assign", "nn.minimize"),
                                  ("global", "sbp.boxing", "nn.minimize"),
                                  ("local", "ccl.read", "sbp.boxing"), ("plan", "exec.", "nn.minimize")):
            self.assertIn(has, session.ir(level), level)
            self.assertNotIn(lacks, session.ir(level), level)
        self.assertEqual(session.ir("plan"), session.plan())
        with self.assertRaisesRegex(sc.InvalidError, "must be source, zero, global, local or plan"):
            session.ir("locale")

    def test_each_optimizer_and_schedule(self):
        x = np.ones((6, 5), np.float32)
        losses = {}
        for optimizer in (sc.Sgd, sc.Momentum, sc.Nesterov, sc.Adam, sc.AdamW, sc.Adagrad, sc.RmsProp, sc.Lion, sc.Lamb):
            session = graph_of(optimizer(lr=0.01)).compile()
            losses[optimizer.__name__] = [float(session.step(x=x)["loss"]) for _ in range(3)]
        self.assertTrue(all(first > last for first, _, last in losses.values()), losses)
        self.assertEqual(len({tuple(of) for of in losses.values()}), len(losses))
        self.assertIn("steps=10", repr(sc.CosineRate(10, warmup=2)))


class Errors(unittest.TestCase):

    def fails(self, kind, pattern, call, *arguments, **keywords):
        with self.assertRaisesRegex(kind, pattern):
            call(*arguments, **keywords)

    def test_of_graphs_name_the_line(self):
        graph = sc.Graph()
        x = graph.input("x", sc.f32, (6, 5))
        bad = sc.matmul(x, x)
        self.assertFalse(bad.is_valid)
        self.assertIn("invalid", repr(sc.relu(bad)))
        graph.output("y", bad)
        self.fails(ValueError, r"session_test\S*:\d+: matmul", graph.compile)

    def test_of_arrays(self):
        session = graph_of(sc.Sgd(0.1)).compile()
        self.fails(sc.InvalidError, "input 'x' of 'train' is not given.*its inputs are x", session.step)
        ones = np.ones((6, 5), np.float32)
        self.fails(ValueError, r"rows, is float64 \[6, 5\]; it must be float32 \[6, 5\]", session.step, x=np.ones((6, 5)))
        self.fails(ValueError, r"is float32 \[5, 5\]; it must be float32 \[6, 5\]", session.step, x=ones[:5])
        self.fails(ValueError, r"has no input 'z'; its inputs are x", session.step, x=ones, z=ones)
        self.fails(KeyError, "no variable 'c'", session.read, "c")
        self.fails(ValueError, r"variable 'b.bias' is float32 \[2\]; it must be float32 \[3\]", session.write, "b.bias",
                   ones[0, :2])
        self.fails(sc.Error, "nowhere", session.save, "/nowhere/else")
        self.fails(sc.NotFoundError, "predict", session.run, "predict")

    def test_of_options(self):
        self.fails(ValueError, "enable_zero is 'stage=4'; .*0, 1, 2 or 3", graph_of(sc.Sgd(0.1)).compile, enable_zero=4)
        self.fails(ValueError, "'stages'", graph_of(sc.Sgd(0.1)).compile, enable_zero={"stages": 1})
        self.fails(ValueError, "adam has no 'rate'", sc.Adam, 0.1, rate=1)
        self.fails(ValueError, "'lr' is given twice", sc.Adam, 0.1, lr=1)
        self.fails(ValueError, "lr", sc.Adam)
        self.fails(ValueError, "beta1", sc.Adam, 0.1, beta1=2)
        self.fails(sc.Error, "call init.. once", sc.init, threads=1)
        graph, adam = sc.Graph(), sc.Adam(0.1)
        loss = sc.sum(graph.variable("w", (2,), sc.Init.zeros(), dtype=sc.f32))
        self.fails(ValueError, "minimize has no option 'clip'; it has accumulate,.*groups", graph.minimize, loss, adam, clip=1)
        self.fails(ValueError, "minimize: clip_norm is 'much', which has the wrong type", graph.minimize, loss, adam,
                   clip_norm="much")
        self.fails(ValueError, "'often'; it must be per-micro-batch or per-step", graph.minimize, loss, adam,
                   accumulate_order="often")
        self.fails(ValueError, "stage", graph.variable, "v", (2,), sc.Init.zeros(), policy=7)


# One rank fails in Python, another in the library, a third does not fail; each job ends on all ranks, in seconds.
FAILS = """
import sys
import numpy as np
import splitcast as sc

what = sys.argv[1]
sc.init(timeout=30)
graph = sc.Graph({"dp": 4} if what == "mesh" else {"dp": sc.size()})
graph.function("train")
x = graph.input("x", sc.f32, (7, 5 + (what == "graph" and sc.rank() == 1)), sc.split(0))
graph.output("sum", sc.sum(x))
session = graph.compile()
rows = session.inputs()["x"]["local_shape"][0]
if what == "python" and sc.rank() == 1:
    raise KeyError("no batch left")
if what == "shape" and sc.rank() == 1:
    rows += 1
print(float(session.step(x=np.ones((rows, 5), np.float32))["sum"]))
"""

class Ranks(unittest.TestCase):

    def test_all_end_when_one_fails(self):
        for what, expected in (("mesh", "4 ranks, but 3 are running"), ("graph", "ranks were started with different"),
                               ("python", "rank 1: error: KeyError: 'no batch left'"),
                               ("shape", "rank 1: error: InvalidError: input 'x' of 'train'")):
            with self.subTest(what):
                result = jobs.run(3, FAILS, what, timeout=40)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(expected, result.stderr)
        result = jobs.run(3, FAILS.replace('raise KeyError("no batch left")', "sys.exit(3)"), "python", timeout=40)
        self.assertIn("rank 1: error: sys.exit(3)", result.stderr)
        result = jobs.run(3, FAILS, "nothing")
        self.assertEqual((result.returncode, result.stdout.split()), (0, ["35.0"] * 3), result.stderr)


IMPORTS = """
import sys
before = sys.exit, sys.excepthook
import splitcast as sc
assert (sys.exit, sys.excepthook) == before
sc.rank()
assert (sys.exit, sys.excepthook) != before
print(sc.__version__)
"""


class Package(unittest.TestCase):

    def test_importing_it_changes_nothing(self):
        result = jobs.run(1, IMPORTS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^\d+\.\d+\.\d+$")

    def launch(self, *arguments):
        return subprocess.run([sys.executable, "-m", "splitcast.launch"] + list(arguments), env=jobs.ENVIRONMENT,
                              capture_output=True, text=True, timeout=60)

    def test_starts_ranks_by_itself(self):
        program = jobs.write(FAILS)
        result = self.launch("-n", "3", program, "nothing")
        self.assertEqual((result.returncode, result.stdout.split()), (0, ["35.0"] * 3), result.stderr)
        result = self.launch("-n", "3", program, "python")
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 1: error: KeyError", result.stderr)
        result = self.launch("-n", "0", program)
        self.assertIn("must be at least 1", result.stderr)
        self.assertEqual(self.launch("-n", "2", "nowhere.py").returncode, 2)

    def test_writes_a_profile_when_the_job_ends(self):
        with tempfile.TemporaryDirectory() as directory:
            result = jobs.run(2, """if True:
                import sys
                import numpy as np
                import splitcast as sc
                sc.init(profile=sys.argv[1])
                graph = sc.Graph({"dp": sc.size()})
                x = graph.input("x", sc.f32, (4, 3), sc.split(0))
                graph.output("y", sc.linear(x, "a", 2))
                session = graph.compile()
                for _ in range(3):  # of which the first is not counted
                    session.run("main", x=np.ones((2, 3), np.float32))
            """, directory + "/profile.json")
            self.assertEqual(result.returncode, 0, result.stderr)
            events = json.load(open(directory + "/profile.json"))["traceEvents"]
            kernels = {event["name"]: event["args"]["at"] for event in events if event.get("cat") == "kernel"}
            self.assertEqual({event["pid"] for event in events if "matmul" in event["name"]}, {0, 1})
            [(name, line)] = kernels.items()
            self.assertRegex(name, r"^k\d+_\w*add")
            self.assertRegex(line, r":8:?")

    def test_says_that_torch_is_missing(self):
        with self.assertRaisesRegex(ImportError, "needs PyTorch.*pip install torch"):
            import splitcast.torch  # noqa: F401 (Debian's Python has no PyTorch)

    def test_ops_have_what_the_header_says(self):
        self.assertIn("transpose_a: bool = False", sc.matmul.__doc__)
        self.assertIn("0 where the label is `ignored`", sc.softmax_cross_entropy.__doc__)
        self.assertIn("ignored: int | None = None", sc.softmax_cross_entropy.__doc__)
        self.assertIn("beta1: float = 0.9", sc.AdamW.__doc__)


if __name__ == "__main__":
    unittest.main(verbosity=2)
