"""Compares losses of the GPT example in bf16 with PyTorch's in bf16 (autocast), on the same weights and batches.

    python3 benchmarks/mixed_precision.py --python=PYTHON [--ranks=3] [--stage=2] [--steps=200] [--window=20] [-- FLAGS]

PYTHON is a Python that has PyTorch and NumPy; FLAGS are further flags of the example. Losses are averaged over windows
of steps. The exit status is 1 if the largest difference between our means and PyTorch's in bf16 is more than twice the
largest difference between PyTorch's means in f32 and in bf16. Run it from the root of the project, after `bazel build
//examples/gpt`.
"""
import argparse
import sys
import tempfile

from launch import fail
from models import runExample, runPeer


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="a Python that has PyTorch and NumPy")
    parser.add_argument("--ranks", type=int, default=3, help="the number of our ranks (%(default)s)")
    parser.add_argument("--stage", type=int, default=2, help="our stage of ZeRO, 0 to 3 (%(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="the number of training steps (%(default)s)")
    parser.add_argument("--window", type=int, default=20, help="the number of steps per mean (%(default)s)")
    parser.add_argument("--examples", default="bazel-bin/examples", help="the directory of the examples (%(default)s)")
    parser.add_argument("flags", nargs="*", help="further flags of the example, after --")
    return parser.parse_args()


def meansOf(losses, window):
    return [sum(losses[begin:begin + window]) / window for begin in range(0, len(losses) - window + 1, window)]


def main():
    arguments = parseArguments()
    with tempfile.TemporaryDirectory() as directory:
        sides = {
            "splitcast bf16": runExample(arguments, "gpt", directory, f"stage={arguments.stage},compute-type=bf16")
        }
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
