#!/usr/bin/env python3
"""Networks on GPUs: the CPU's losses, the same bits at all stages, and other losses only with tf32."""
import ast
import os
import subprocess
import sys
import unittest

import jobs

IMAGES = '''
import hashlib, sys
import numpy as np
import splitcast as sc

device, stage, dtype = sys.argv[1:]
BATCH = 7
sc.init(device=device, timeout=60)
graph = sc.Graph({"dp": sc.size()})
graph.function("train")
x = graph.input("x", sc.f32, (BATCH, 3, 12, 12), sc.split(0))
labels = graph.input("labels", sc.i64, (BATCH,), sc.split(0))
h = sc.relu(sc.batch_norm(sc.convolution(x, "c1", 8, [3, 3], padding=[1, 1]), "n1"))
h = sc.relu(sc.convolution(sc.max_pool(h, [2, 2]), "c2", 12, [3, 3], strides=[2, 2], groups=4))
h = sc.transposed_convolution(h, graph.variable("c3.w", (12, 5, 2, 3), sc.Init.normal(0, 0.1)), strides=[2, 1])
loss = sc.mean(sc.softmax_cross_entropy(sc.linear(sc.reshape(h, [BATCH, -1]), "out", 10), labels))
graph.minimize(loss, sc.AdamW(lr=1e-2))
graph.output("loss", loss)
session = graph.compile(enable_zero={"stage": int(stage), "compute_type": None if dtype == "f32" else dtype})
rows = session.inputs("train")["x"]["boxes"][0][0]
random = np.random.default_rng(0)
losses = []
for step in range(4):  # the second step captures a CUDA graph
    x, labels = random.standard_normal((BATCH, 3, 12, 12)).astype(np.float32), random.integers(0, 10, BATCH)
    losses.append(float(session.run("train", x=x[rows], labels=labels[rows])["loss"]))
bits = [np.asarray(session.read(name)).tobytes() for name in sorted(session.variables)]
if sc.rank() == 0:
    print((losses, hashlib.sha256(b"".join(bits)).hexdigest()))
'''
# Heads that are wider than what cuDNN takes with a mask, so that scores are in memory.
WIDE = '''
import sys
import numpy as np
import splitcast as sc

device, stage, dtype = sys.argv[1:]
sc.init(device=device, timeout=60)
graph = sc.Graph({"dp": sc.size()})
graph.function("train")
x = graph.input("x", sc.f32, (3, 5, 2, 72), sc.split(0))
mask = graph.input("mask", sc.i64, (3, 5), sc.split(0))
q, k, v = [x * sc.broadcast_to(graph.variable(name, (72,), sc.Init.uniform(0.5, 1)), [3, 5, 2, 72]) for name in "qkv"]
y = sc.attention(q, k, v, causal=True, mask=mask)
loss = sc.mean(y * y)
graph.minimize(loss, sc.Sgd(0.5))
graph.output("loss", loss)
session = graph.compile(enable_zero={"stage": int(stage), "compute_type": None if dtype == "f32" else dtype})
rows = session.inputs("train")["x"]["boxes"][0][0]
random = np.random.default_rng(0)
losses = []
for step in range(4):
    x = random.standard_normal((3, 5, 2, 72)).astype(np.float32)
    mask = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    losses.append(float(session.run("train", x=x[rows], mask=mask[rows])["loss"]))
bits = [np.asarray(session.read(name)).tobytes().hex() for name in "qkv"]
if sc.rank() == 0:
    print((losses, bits))
'''
# A wrong index in a micro-batch in the midst of a step, on one rank: the other ranks' collectives are answered, and both
# go on.
WRONG = '''
import sys
import numpy as np
import splitcast as sc

device, stage, dtype = sys.argv[1:]
sc.init(device=device, timeout=20)
graph = sc.Graph({"dp": sc.size()})
graph.function("train")
x = graph.input("x", sc.i64, (8,), sc.split(0))
loss = sc.sum(sc.embedding(graph.variable("table", (6, 3), sc.Init.constant(1.0)), x))
graph.minimize(loss, sc.Sgd(0.0), accumulate=4, accumulate_order="per-micro-batch")
graph.output("loss", loss)
session = graph.compile(enable_zero={"stage": int(stage)})
rows = 8 // sc.size()
losses, errors = [], []
for step in range(5):
    x = np.arange(rows) % 6
    if step in (0, 2) and sc.rank() == 0:
        x[1] = 77
    try:
        losses.append(float(session.run("train", x=x)["loss"]))
    except sc.InvalidError as error:
        errors.append((step, str(error)))
if sc.rank() == 0:
    print((losses, errors))
'''
CUDA = {"LD_PRELOAD": os.path.join(jobs.ROOT, "tests/cuda_on_cpu/libcuda_on_cpu.so"),
        "SPLITCAST_CUDA_BACKEND": os.path.join(jobs.ROOT, "compiler/launch/libsplitcast-cuda.so"),
        "SPLITCAST_SHARE_GPUS": "1"}


class Network(unittest.TestCase):

    def train(self, ranks, device, stage, dtype="f32", **environment):
        """The losses, and the bits of all variables, or a digest of them."""
        program = jobs.write(self.network)
        variables = ["{}={}".format(*each) for each in dict(CUDA, **environment).items()] if device == "cuda" else []
        done = subprocess.run(jobs.MPIRUN + [str(ranks), "env"] + variables +
                              [sys.executable, program, device, str(stage), dtype], env=jobs.ENVIRONMENT,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ast.literal_eval(done.stdout)

    def close(self, found, expected, within):
        for a, b in zip(found, expected):
            self.assertLess(abs(a - b), within, (found, expected))


class Images(Network):
    network = IMAGES

    def test_of_three_ranks(self):
        expected, _ = self.train(3, "cpu", 1)
        losses, bits = self.train(3, "cuda", 0)
        self.close(losses, expected, 1e-5)
        for stage in (1, 3):
            self.assertEqual(self.train(3, "cuda", stage), (losses, bits))

    def test_of_types(self):
        expected, _ = self.train(1, "cpu", 0)
        tf32, _ = self.train(1, "cuda", 0, SPLITCAST_TF32="1")
        self.assertGreater(max(abs(a - b) for a, b in zip(tf32, expected)), 1e-5)  # convolutions take it, too
        self.close(tf32, expected, 1e-2)
        expected, _ = self.train(1, "cpu", 0, "bf16")
        self.close(self.train(1, "cuda", 0, "bf16")[0], expected, 1e-2)

    def test_of_no_deterministic_way(self):
        with self.assertRaisesRegex(AssertionError, "library call 'convolution': each of the .* other bits"):
            self.train(1, "cuda", 0, SPLITCAST_CUDA_ON_CPU_NONDETERMINISTIC="1")


class Wide(Network):
    network = WIDE

    def test_of_types(self):
        for dtype, within in (("f32", 1e-5), ("bf16", 1e-2)):
            expected, _ = self.train(3, "cpu", 2, dtype)
            found = self.train(3, "cuda", 0, dtype)
            self.close(found[0], expected, within)
            self.assertEqual(self.train(3, "cuda", 3, dtype), found)


class WrongIndices(Network):
    network = WRONG

    def test_are_found_once(self):
        for ranks, stage in ((1, 0), (2, 0), (2, 2)):
            with self.subTest(ranks=ranks, stage=stage):
                losses, errors = self.train(ranks, "cuda", stage)
                self.assertEqual(losses, [24.0] * 3)
                self.assertEqual([step for step, _ in errors], [0, 2])
                for _, error in errors:
                    self.assertIn("is 77; it must be from 0 to 5", error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
