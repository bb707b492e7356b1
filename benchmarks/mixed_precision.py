"""Compares losses of the GPT example in bf16 with PyTorch's in bf16 (autocasting), on the same weights and batches.

    python3 benchmarks/mixed_precision.py --python=PYTHON [--ranks=3] [--stage=2] [--steps=200] [--window=20] [-- FLAGS]

PYTHON is one that has PyTorch and NumPy; FLAGS are further ones of the example. Losses are averaged over windows of
steps. Exits 1 when a window's mean is further from PyTorch's in bf16 than twice what PyTorch's own means in f32 and bf16
are apart at most. Run from the root of the project, after `bazel build //examples/gpt`.
"""
import argparse
import sys
import tempfile

from launch import fail
from models import runExample, runPeer


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--stage", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--examples", default="bazel-bin/examples")
    parser.add_argument("flags", nargs="*", help="of the example, after --")
    return parser.parse_args()


def meansOf(losses, window):
    return [sum(losses[begin:begin + window]) / window for begin in range(0, len(losses) - window + 1, window)]


def main():
    arguments = parseArguments()
    with tempfile.TemporaryDirectory() as directory:
        sides = {"splitcast bf16": runExample(arguments, "gpt", directory, f"stage={arguments.stage},compute-type=bf16")}
        for elements in ("bf16", "f32"):
            sides[f"torch {elements}"] = runPeer(arguments, "gpt", directory, elements)
    for name, losses in sides.items():
        if len(losses) != arguments.steps:
            fail(f"{name} gave {len(losses)} losses, not {arguments.steps}")
    ours, bf16, f32 = (meansOf(losses, arguments.window) for losses in sides.values())
    print("steps        splitcast bf16   torch bf16    torch f32")
    for number, means in enumerate(zip(ours, bf16, f32)):
        last = (number + 1) * arguments.window
        print(f"{last - arguments.window + 1:4} to {last:4}  " + "  ".join(f"{mean:11.6f}" for mean in means))
    difference = max(abs(a - b) for a, b in zip(ours, bf16))
    spread = max(abs(a - b) for a, b in zip(bf16, f32))
    print(f"largest difference from PyTorch in bf16 {difference:.2e}; PyTorch's f32 and bf16 are {spread:.2e} apart; "
          f"ratio {difference / spread:.2f}")
    sys.exit(0 if difference <= 2 * spread else 1)


if __name__ == "__main__":
    main()
