#!/usr/bin/env python3
"""Measures memory and time of training linear layers of equal size with Adam, against random targets.

    python3 recipe.py                                     one rank
    mpirun -n 4 python3 recipe.py --enable-zero=stage=3   four ranks split parameters, gradients and optimizer state

examples/recipe is the same program in C++, with the same graph and the same losses.
"""
import argparse
import statistics
import time

import splitcast as sc


def build(layers, width, rows):
    graph = sc.Graph({"dp": sc.size()})
    graph.function("train")
    x = graph.input("x", sc.f32, (rows, width), sc.split(0))
    target = graph.input("target", sc.f32, (rows, width), sc.split(0))
    y = x
    for layer in range(layers):
        y = sc.linear(y, f"layer{layer}", width)
    loss = sc.mse(y, target)
    graph.minimize(loss, sc.Adam(lr=0.01))
    graph.output("loss", loss)
    return graph


def normal_batch(width, rows, seed):
    """Returns this rank's rows of each input: standard normal numbers, which are initial values of variables. These
    depend only on the seed, the variable's name and the index, and so not on the number of ranks."""
    graph = sc.Graph({"dp": sc.size()})
    graph.function("batch")
    for name in ("x", "target"):
        graph.output(name, graph.variable("data." + name, (rows, width), sc.Init.normal(0, 1), layout=sc.split(0)))
    return graph.compile(seed=seed).run("batch")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=20, help="the number of linear layers (%(default)s)")
    parser.add_argument("--width", type=int, default=2000,
                        help="the number of inputs and of outputs of each layer (%(default)s)")
    parser.add_argument("--batch", type=int, default=20, help="the number of samples per rank in a batch (%(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="the number of training steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of initial values and of the data (%(default)s)")
    parser.add_argument("--enable-zero", metavar="OPTIONS",
                        help="options of ZeRO, such as stage=3,strategy=tensor; without this flag ZeRO is off")
    parser.add_argument("--write-mlir", metavar="FILE.mlir", help="write the graph as MLIR text")
    flags = parser.parse_args()

    rows = flags.batch * sc.size()
    graph = build(flags.layers, flags.width, rows)
    if flags.write_mlir and sc.rank() == 0:
        with open(flags.write_mlir, "w") as file:
            file.write(graph.text())
    session = graph.compile(enable_zero=flags.enable_zero, seed=flags.seed)
    if sc.rank() == 0:
        print(session.report()["text"], end="", flush=True)
    batch = normal_batch(flags.width, rows, flags.seed)
    seconds = []
    for step in range(flags.steps):
        begin = time.perf_counter()
        loss = float(session.step(**batch)["loss"])
        seconds.append(time.perf_counter() - begin)
        if sc.rank() == 0:
            print(f"step {step + 1}: loss {loss:.9g}, {seconds[-1]:.4f} s", flush=True)
    if sc.rank() == 0 and flags.steps > 1:  # the first step is not counted: it touches all memory for the first time
        print(f"step time: median {statistics.median(seconds[1:]):.4f} s of {flags.steps - 1} steps")


if __name__ == "__main__":
    main()
