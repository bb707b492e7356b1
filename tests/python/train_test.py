#!/usr/bin/env python3
"""What is built and trained from Python is what C++ builds and trains: equal IR, and equal losses to the bit."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import jobs

# The classifier of examples/classifier, on the batches that it wrote; prints each loss with all its digits.
CLASSIFIER = """
import sys
import numpy as np
import splitcast as sc

stage, directory, way = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def logits(x):
    return sc.linear(sc.relu(sc.linear(x, "fc1", 128)), "fc2", 10)


graph = sc.Graph({"dp": sc.size()})
graph.function("train")
x = graph.input("x", sc.f32, (128, 256), sc.split(0))
labels = graph.input("labels", sc.i64, (128,), sc.split(0))
loss = sc.mean(sc.softmax_cross_entropy(logits(x), labels))
graph.minimize(loss, sc.Sgd(1e-3))
graph.output("loss", loss)
graph.function("predict")
graph.output("logits", logits(graph.input("x", sc.f32, (1000, 256), sc.split(0))))
if sc.rank() == 0:
    with open(directory + "/python.mlir", "w") as file:
        file.write(graph.text())
session = graph.compile(enable_zero=stage)
all_x, all_labels = np.load(directory + "/x.npy"), np.load(directory + "/labels.npy")
rows = session.inputs()["x"]["boxes"][0][0]
for x, labels in zip(all_x, all_labels):
    if way == "whole":
        results = session.step(whole=True, x=x, labels=labels)
    elif way == "rows":
        results = session.step(x=x[rows], labels=labels[rows])
    else:  # in place, one of them by steps in memory
        session.input("train", "x")[:] = x[rows]
        results = session.step(labels=np.repeat(labels, 2)[::2][rows])
    print("%d: %r" % (sc.rank(), float(results["loss"])), flush=True)
"""

# Two steps that train what the other leaves alone, beside the same in NumPy, in powers of two.
ADVERSARIES = """
import sys
import numpy as np
import splitcast as sc

graph = sc.Graph()
for step, sign in (("judge", -1.0), ("make", 1.0)):
    graph.function(step)
    x = graph.input("x", sc.f32, (6, 5), sc.split(0))
    made = x * sc.broadcast_to(graph.variable("make.w", (5,), sc.Init.constant(1.0)), [6, 5])
    score = sc.sum((made - x * 0.5) * sc.broadcast_to(graph.variable("judge.w", (5,), sc.Init.constant(1.0)), [6, 5]))
    other = [sc.ParameterGroup("judge", ["judge.*"], sc.Momentum(0.25))] if step == "judge" else []
    graph.minimize(score * sign, sc.Sgd(0.125), variables=[step + ".*"], groups=other)
    graph.output("score", score)
session = graph.compile(enable_zero=int(sys.argv[1]))
rows = session.inputs("make")["x"]["boxes"][0][0]
make, judge = np.ones(5), np.ones(5)
for turn in range(3):
    x = np.exp2(np.random.default_rng(turn).integers(-2, 3, (6, 5))).astype(np.float32)
    speed = -(x.sum(0) * (make - 0.5)) + (0.9 * speed if turn else 0)
    for step in ("judge", "make"):
        expected = float((x.sum(0) * (make - 0.5) * judge).sum())
        found = float(session.run(step, x=x[rows])["score"])
        assert abs(found - expected) <= 1e-5 * abs(expected), (turn, step, found, expected)
        if step == "judge":
            judge = judge - 0.25 * speed
        else:
            make = make - 0.125 * x.sum(0) * judge
print("%d: %r" % (sc.rank(), found))
"""


def losses_of(text, rank):
    return [float(line.split(": ")[1]) for line in re.findall(f"{rank}: [-0-9.e]+", text)]


class Classifier(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.losses = {}
        for ranks in (1, 3):
            directory = f"{cls.directory}/{ranks}"
            os.mkdir(directory)
            program = "examples/classifier/classifier"
            subprocess.run(jobs.MPIRUN + [str(ranks), program, "--steps=4", "--write-inputs=" + directory,
                                          f"--write-mlir={directory}/cpp.mlir", f"--losses={directory}/losses"],
                           env=jobs.ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
            cls.losses[ranks] = open(directory + "/losses").read()

    def test_is_the_one_of_cpp(self):
        for ranks, ways in ((1, ((0, "rows"),)), (3, ((0, "whole"), (1, "rows"), (2, "in place"), (3, "rows")))):
            directory = f"{self.directory}/{ranks}"
            for stage, way in ways:
                with self.subTest(ranks=ranks, stage=stage, way=way):
                    result = jobs.run(ranks, CLASSIFIER, stage, directory, way)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(open(directory + "/python.mlir").read(), open(directory + "/cpp.mlir").read())
                    expected = [float.fromhex(line.split()[-1]) for line in self.losses[ranks].split("\n") if line]
                    self.assertEqual(len(expected), 4)
                    for rank in range(ranks):
                        self.assertEqual(losses_of(result.stdout, rank), expected)

    def test_of_ranks_that_torchrun_would_start(self):
        text = CLASSIFIER.replace("int(sys.argv[1]), sys.argv[2], sys.argv[3]", f"2, {self.directory + '/3'!r}, 'rows'")
        statuses, outputs = jobs.run_as_torchrun_does(3, text, 29000 + os.getpid() % 2000)
        self.assertEqual(statuses, [0, 0, 0])
        expected = [float.fromhex(line.split()[-1]) for line in self.losses[3].split("\n") if line]
        for rank in range(3):
            self.assertEqual(losses_of(outputs[rank], rank), expected)


class Example(unittest.TestCase):

    def test_says_the_same_on_any_number_of_ranks(self):
        losses, right = set(), set()
        for ranks, stage in ((1, 0), (3, 0), (3, 3)):
            result = jobs.run(ranks, "examples/python/classifier.py", "--steps=30", f"--stage={stage}")
            self.assertEqual(result.returncode, 0, result.stderr)
            found = re.findall(r"step \d+: loss (\S+)", result.stdout)
            self.assertEqual(len(found), 30)
            self.assertLess(float(found[-1]), 0.5 * float(found[0]))
            losses.add(found[-1])
            right.add(sum(int(count) for count in re.findall(r"(\d+) of \d+ unseen", result.stdout)))
        self.assertEqual(len(losses), 1, losses)
        self.assertEqual(len(right), 1, right)
        self.assertGreater(right.pop(), 900)


class Recipe(unittest.TestCase):

    def test_is_the_one_of_cpp(self):
        directory = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        sizes = ["--layers=3", "--width=51", "--batch=5", "--steps=4"]
        programs = (["examples/recipe/recipe"], [sys.executable, "examples/python/recipe.py"])
        files = [directory + "/cpp.mlir", directory + "/python.mlir"]
        for ranks, zero in ((1, "stage=0"), (3, "stage=0"), (3, "stage=2"), (3, "stage=3,one-copy=no,strategy=tensor")):
            with self.subTest(ranks=ranks, zero=zero):
                outputs = [subprocess.run(jobs.MPIRUN + [str(ranks)] + program + sizes +
                                          ["--enable-zero=" + zero, "--write-mlir=" + file], env=jobs.ENVIRONMENT,
                                          check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
                           for program, file in zip(programs, files)]
                losses = [re.findall(r"step \d+: loss (\S+),", output) for output in outputs]
                self.assertEqual(len(losses[0]), 4)
                self.assertEqual(losses[0], losses[1])
                self.assertEqual(open(files[0]).read(), open(files[1]).read())


class Adversaries(unittest.TestCase):

    def test_train_what_is_theirs(self):
        for ranks, stage in ((1, 0), (3, 1), (3, 3)):
            with self.subTest(ranks=ranks, stage=stage):
                run = jobs.run(ranks, ADVERSARIES, stage)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(len(losses_of(run.stdout, ranks - 1)), 1)


class Minimal(unittest.TestCase):

    def test_is_the_same_in_both_languages(self):
        for ranks in (1, 3):
            texts = []
            for program in (["examples/minimal/minimal"], [sys.executable, "examples/python/minimal.py"]):
                run = subprocess.run(jobs.MPIRUN + [str(ranks)] + program, env=jobs.ENVIRONMENT,
                                     capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, 0, run.stderr)
                texts.append(run.stdout)
            self.assertEqual(*texts)
            losses = [float(line.split()[-1]) for line in texts[0].splitlines()]
            self.assertEqual(len(losses), 20)
            self.assertLess(losses[-1], losses[0] / 2)


class Pages(unittest.TestCase):

    def test_quote_the_examples(self):
        text = open("docs/from_others.md").read()
        blocks = re.findall(r"^From `(examples/python/\w+\.py)`:\n\n```python\n(.*?)^```", text, re.M | re.S)
        self.assertGreaterEqual(len(blocks), 5)
        for path, block in blocks:
            self.assertIn(block, open(path).read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
