#!/usr/bin/env python3
"""Compares the size of the examples' arenas with the largest number of bytes that are live at once. For the same order
of ops, no arena can be smaller.

    python3 benchmarks/arena.py [--only=MODEL] [--ranks=2]

Run it from the root of the project, after `bazel build //examples/... //compiler/tools/...`. The examples have the
sizes of memory.py; nothing is trained. Prints a row for each function whose arena is larger than its live bytes, in MB
of rank 0, and then how many of all arenas these are.
"""
import argparse
import re
import tempfile

from launch import mpirun, run
from memory import EXAMPLES

SETTINGS = ["stage=0", "stage=1", "stage=2", "stage=3", *(f"stage={stage},strategy=tensor" for stage in (1, 2, 3))]
REPORT = re.compile(r"^@(\S+), rank 0.*?^  arena in all +([0-9.]+) MB\n  live at once +([0-9.]+) MB$",
                    re.MULTILINE | re.DOTALL)


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="bazel-bin", help="the directory of the built programs (%(default)s)")
    parser.add_argument("--only", choices=EXAMPLES, help="run only this model; without this flag all are run")
    parser.add_argument("--ranks", default=2, type=int, help="the number of ranks (%(default)s)")
    return parser.parse_args()


def arenasOf(arguments, module, setting):
    """Returns (name, MB of its arena, MB that are live at once) of each function of a module."""
    text = run([
        f"{arguments.bin}/compiler/tools/splitcast-opt", module, f"--enable-zero={setting}", "--sbp-localize=rank=0",
        "--local-pipeline", "--exec-lower", "--exec-report", "-o", "/dev/null"
    ],
               withErrors=True)
    return [(name, float(arena), float(live)) for name, arena, live in REPORT.findall(text)]


def main():
    arguments = parseArguments()
    count = larger = 0
    print("| model | ZeRO | function | arena, MB | live at once, MB | more |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        for name in [arguments.only] if arguments.only else EXAMPLES:
            module = f"{directory}/{name}.mlir"
            run(
                mpirun(arguments.ranks) + [
                    f"{arguments.bin}/examples/{name}/{name}", f"--write-mlir={module}", "--steps=0",
                    f"--kernel-cache={directory}/kernels", *EXAMPLES[name][0]
                ])
            for setting in SETTINGS:
                for function, arena, live in arenasOf(arguments, module, setting):
                    count += 1
                    if arena > live:
                        larger += 1
                        print(
                            f"| {name} | {setting} | {function} | {arena:,.1f} | {live:,.1f} | {arena / live - 1:.1%} |"
                        )
    print(f"{larger} of {count} arenas are larger than what is live in them at once")


if __name__ == "__main__":
    main()
