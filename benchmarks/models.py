"""Compares the losses of two examples with those of the same models in PyTorch, on the same batches.

    python3 benchmarks/models.py --python=PYTHON [--ranks=2] [--steps=20] [--tolerance=1e-4]

PYTHON is one that has PyTorch and NumPy. Run from the root of the project, after `bazel build //examples/...`. Exits 1 when
a loss differs by more than the tolerance, relative.
"""
import argparse
import os
import subprocess
import sys
import tempfile

EXAMPLES = {"classifier": [], "text_model": ["--text=/usr/share/common-licenses/GPL-3"]}


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--stage", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--examples", default="bazel-bin/examples")
    return parser.parse_args()


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"models: error: {' '.join(command)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def runExample(arguments, name, directory):
    """Losses of the steps; leaves the variables before the first step and all batches in the directory."""
    mpi = ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(arguments.ranks)]
    if os.geteuid() == 0:
        mpi.append("--allow-run-as-root")
    command = mpi + [os.path.join(arguments.examples, name, name), f"--zero-stage={arguments.stage}"] + EXAMPLES[name]
    run(command + ["--steps=0", f"--save-variables={directory}/variables"])
    run(command + [f"--steps={arguments.steps}", f"--losses={directory}/losses", f"--write-inputs={directory}"])
    with open(f"{directory}/losses", encoding="utf-8") as file:
        return [float(line.split()[1]) for line in file]


def compare(arguments, name):
    """The largest relative difference of a loss."""
    with tempfile.TemporaryDirectory() as directory:
        ours = runExample(arguments, name, directory)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_models.py")
        theirs = [float(line.split()[1]) for line in run([arguments.python, script, name, directory]).splitlines()]
    if len(ours) != len(theirs) or len(ours) != arguments.steps:
        sys.exit(f"models: error: {name} gave {len(ours)} losses and PyTorch {len(theirs)}, not {arguments.steps}")
    difference = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
    print(f"{name}: {len(ours)} steps, losses {ours[0]:.6f} to {ours[-1]:.6f}, largest relative difference {difference:.2e}")
    return difference


def main():
    arguments = parseArguments()
    differences = [compare(arguments, name) for name in EXAMPLES]
    sys.exit(0 if max(differences) <= arguments.tolerance else 1)


if __name__ == "__main__":
    main()
