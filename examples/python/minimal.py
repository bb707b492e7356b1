#!/usr/bin/env python3
"""Trains a classifier on all ranks of the job. ZeRO stage 3 splits parameters, gradients and optimizer state among
them. examples/minimal is the same program in C++.

    mpirun -n 2 python3 minimal.py
"""
import numpy as np
import splitcast as sc

ROWS, FEATURES, CLASSES, STEPS = 64, 16, 4, 20

graph = sc.Graph({"dp": sc.size()})
x = graph.input("x", sc.f32, (ROWS, FEATURES), sc.split(0))
labels = graph.input("labels", sc.i64, (ROWS,), sc.split(0))
logits = sc.linear(sc.relu(sc.linear(x, "hidden", 32)), "classes", CLASSES)
loss = sc.mean(sc.softmax_cross_entropy(logits, labels))
graph.minimize(loss, sc.AdamW(lr=1e-2))
graph.output("loss", loss)
session = graph.compile(enable_zero=3)

# With whole=True each rank passes the whole batch, and its own rows are used; otherwise it passes only its own rows.
row, feature = np.mgrid[0:ROWS, 0:FEATURES]
all_x = np.where(feature % CLASSES == row % CLASSES, 1, 0.125 * ((row + feature) % 5)).astype(np.float32)
all_labels = np.arange(ROWS) % CLASSES
for step in range(1, STEPS + 1):
    value = session.run("main", whole=True, x=all_x, labels=all_labels)["loss"]
    if sc.rank() == 0:
        print(f"step {step:2d}  loss {value:.6f}")
