"""Compares the losses of the examples with those of the same models in PyTorch, on the same batches.

    python3 benchmarks/models.py --python=PYTHON [--only=EXAMPLE] [--ranks=2] [--steps=20] [--tolerance=1e-4] [-- FLAGS]

PYTHON is a Python that has PyTorch and NumPy; FLAGS are further flags of the examples. Run it from the root of the
project, after `bazel build //examples/...`. The exit status is 1 if a loss differs by more than the tolerance
(relative). Also prints how far the losses of both sides are from those of PyTorch in f64: PyTorch's distance shows how
much is rounding.
"""
import argparse
import os
import sys
import tempfile

from launch import beside, fail, mpirun, run

TEXT = "--text=/usr/share/common-licenses/GPL-3"
# With a learning rate of 2e-3, gpt amplifies rounding errors within 20 steps: on some batches PyTorch's losses in f32
# and f64 then differ by 1e-2. With a quarter of that rate they differ by less than 1e-6.
EXAMPLES = {"classifier": [], "text_model": [TEXT], "gpt": [TEXT, "--dropout=0", "--sample=0", "--lr=5e-4"]}


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="a Python that has PyTorch and NumPy")
    parser.add_argument("--ranks", type=int, default=2, help="the number of our ranks (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="the number of training steps (%(default)s)")
    parser.add_argument("--stage", type=int, default=2, help="our stage of ZeRO, 0 to 3 (%(default)s)")
    parser.add_argument("--tolerance", type=float, default=1e-4,
                        help="the largest allowed relative difference of a loss (%(default)s)")
    parser.add_argument("--examples", default="bazel-bin/examples", help="the directory of the examples (%(default)s)")
    parser.add_argument("--only", choices=EXAMPLES, help="run only this example; without this flag all are run")
    parser.add_argument("flags", nargs="*", help="further flags of the examples, after --")
    return parser.parse_args()


def flagsOf(arguments, name):
    """Returns the flags of an example: those of EXAMPLES, unless the command line overrides them, and the given
    ones."""
    given = [flag.split("=")[0] for flag in arguments.flags]
    return [flag for flag in EXAMPLES[name] if flag.split("=")[0] not in given] + arguments.flags


def runExample(arguments, name, directory, zero=None):
    """Runs an example with the options `zero` of --enable-zero, and returns the losses of its steps. Writes the initial
    variables and all batches to the directory."""
    command = mpirun(arguments.ranks) + [os.path.join(arguments.examples, name, name)] + flagsOf(arguments, name)
    command.append(f"--enable-zero={zero or f'stage={arguments.stage}'}")
    run(command + ["--steps=0", f"--save-variables={directory}/variables"])
    run(command + [f"--steps={arguments.steps}", f"--losses={directory}/losses", f"--write-inputs={directory}"])
    with open(f"{directory}/losses", encoding="utf-8") as file:
        return [float(line.split()[1]) for line in file]


def runPeer(arguments, name, directory, elements):
    command = [arguments.python, beside("torch_models.py"), name, directory, f"--elements={elements}"]
    return [float(line.split()[1]) for line in run(command + flagsOf(arguments, name)).splitlines()]


def largestDifference(losses, others):
    return max(abs(a - b) / abs(b) for a, b in zip(losses, others))


def compare(arguments, name):
    """Compares an example with its peer, and returns the largest relative difference of a loss."""
    with tempfile.TemporaryDirectory() as directory:
        ours = runExample(arguments, name, directory)
        theirs = runPeer(arguments, name, directory, "f32")
        exact = runPeer(arguments, name, directory, "f64")
    if len(ours) != len(theirs) or len(ours) != arguments.steps:
        fail(f"{name} gave {len(ours)} losses and PyTorch {len(theirs)}, not {arguments.steps}")
    difference = largestDifference(ours, theirs)
    print(f"{name}: {len(ours)} steps, losses {ours[0]:.6f} to {ours[-1]:.6f}, "
          f"largest relative difference {difference:.2e}; from f64, PyTorch {largestDifference(theirs, exact):.2e}, "
          f"splitcast {largestDifference(ours, exact):.2e}", flush=True)
    return difference


def main():
    arguments = parseArguments()
    differences = [compare(arguments, name) for name in ([arguments.only] if arguments.only else EXAMPLES)]
    # A difference that is NaN fails, too.
    sys.exit(0 if all(difference <= arguments.tolerance for difference in differences) else 1)


if __name__ == "__main__":
    main()
