"""Times from the start of Python to the first step: splitcast.torch beside eager PyTorch and torch.compile, in turns.

    PYTHONPATH=bazel-bin/compiler/python PYTHON benchmarks/first_step.py [--rounds=3] [MODEL]

PYTHON is a Python that has PyTorch and NumPy. Each side is a process of its own that imports what it needs, makes the
model (of small.py, gpt-65 by default) and its optimizer, and takes one step. It prints the medians of seconds: of
imports, of the model and the optimizer, of the compilation, of the first step, and of all with Python's own start.
torch.compile and splitcast begin with empty caches ("first") or with those of the run before ("second").
"""
from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time

PARTS = ("imports", "model", "compile", "step")
SIDES = ("eager", "splitcast, first", "splitcast, second", "torch.compile, first", "torch.compile, second")


def run(side: str, name: str) -> None:
    """One side, in this process: prints the seconds of each part."""
    times = [time.perf_counter()]
    import small
    import torch
    if side == "splitcast":
        import splitcast.torch
    times.append(time.perf_counter())
    torch.manual_seed(0)
    make, loss, draw = small.MODELS[name]
    model, batch = make(), draw()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    times.append(time.perf_counter())
    if side == "splitcast":
        trainer = splitcast.torch.compile(model, loss, batch, optimizer)
    computed = torch.compile(loss) if side == "torch.compile" else loss
    times.append(time.perf_counter())
    if side == "splitcast":
        trainer.step(batch)
    else:
        computed(model, **batch).backward()
        optimizer.step()
    times.append(time.perf_counter())
    print(*(after - before for before, after in itertools.pairwise(times)))


def measured(side: str, name: str, cache: str) -> list[float]:
    """The seconds of the parts of a process, and of all of it."""
    begin = time.perf_counter()
    environment = dict(os.environ, XDG_CACHE_HOME=cache, TORCHINDUCTOR_CACHE_DIR=f"{cache}/inductor")
    result = subprocess.run([sys.executable, __file__, f"--side={side}", name], env=environment, capture_output=True,
                            text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{side} has failed:\n{result.stderr}")
    return [*map(float, result.stdout.split()[-len(PARTS):]), time.perf_counter() - begin]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side (%(default)s)")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("model", nargs="?", default="gpt-65", help="of small.py (%(default)s)")
    arguments = parser.parse_args()
    if arguments.side:
        run(arguments.side, arguments.model)
        return
    found: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as cache:
            for side in SIDES:
                found[side].append(measured(side.split(",")[0], arguments.model, cache))
    print(f"{'seconds':22} " + " ".join(f"{part:>8}" for part in (*PARTS, "all")))
    for side, times in found.items():
        print(f"{side:22} " + " ".join(f"{statistics.median(each):8.2f}" for each in zip(*times)))


if __name__ == "__main__":
    main()
