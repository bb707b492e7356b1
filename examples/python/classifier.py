#!/usr/bin/env python3
"""Trains a classifier of points around ten centers, with layers of 256, 128 and 10 elements.

    python3 classifier.py                         one rank
    mpirun -n 4 python3 classifier.py --stage=3   four ranks split parameters, gradients and optimizer state

Each rank makes only its own rows of each batch. A point depends only on its number, so training is the same for any
number of ranks.
"""
import argparse

import numpy as np
import splitcast as sc

INPUTS, HIDDEN, CLASSES, BATCH = 256, 128, 10, 128
UNSEEN = 1000  # the number of points to predict after training


def logits(x):
    return sc.linear(sc.relu(sc.linear(x, "fc1", HIDDEN)), "fc2", CLASSES)


def build():
    graph = sc.Graph({"dp": sc.size()})
    graph.function("train")
    x = graph.input("x", sc.f32, (BATCH, INPUTS), sc.split(0))
    labels = graph.input("labels", sc.i64, (BATCH,), sc.split(0))
    loss = sc.mean(sc.softmax_cross_entropy(logits(x), labels))
    graph.minimize(loss, sc.AdamW(lr=1e-3))
    graph.output("loss", loss)
    graph.function("predict")
    graph.output("logits", logits(graph.input("x", sc.f32, (UNSEEN, INPUTS), sc.split(0))))
    return graph


def points(numbers):
    """Returns the points with these numbers, and their labels. A point depends only on its number."""
    centers = np.random.default_rng(0).standard_normal((CLASSES, INPUTS))
    x = np.empty((len(numbers), INPUTS), np.float32)
    labels = np.empty(len(numbers), np.int64)
    for row, number in enumerate(numbers):
        random = np.random.default_rng((1, number))
        labels[row] = random.integers(CLASSES)
        x[row] = centers[labels[row]] + 2 * random.standard_normal(INPUTS)
    return x, labels


def rows_of(session, function):
    """Returns the indices of this rank's rows in a batch of `function`."""
    return range(session.inputs(function)["x"]["shape"][0])[session.inputs(function)["x"]["boxes"][0][0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="the number of training steps (%(default)s)")
    parser.add_argument("--stage", type=int, default=0, help="the stage of ZeRO, 0 to 3 (%(default)s)")
    flags = parser.parse_args()

    session = build().compile(enable_zero=flags.stage)
    if sc.rank() == 0:
        print(f"predicted peak: {session.report()['peak_bytes'] / 1e6:.2f} MB per rank")
    rows = rows_of(session, "train")
    for step in range(flags.steps):
        x, labels = points([step * BATCH + row for row in rows])
        loss = float(session.step(x=x, labels=labels)["loss"])
        if sc.rank() == 0:
            print(f"step {step + 1}: loss {loss:.6g}")

    rows = rows_of(session, "predict")
    x, labels = points([10**9 + row for row in rows])
    found = session.run("predict", x=x)["logits"].argmax(axis=1)
    print(f"rank {sc.rank()}: {(found == labels).sum()} of {len(rows)} unseen points are right")


if __name__ == "__main__":
    main()
