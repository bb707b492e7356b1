"""Runs the recipe in Splitcast and in PyTorch, in turns, and prints step times, their ratios, and peak memory.

    python3 benchmarks/recipe.py --python=PYTHON [--ranks=2] [--rounds=3] [--steps=12] [--stage=1] [--mode=zero1]
                                 [--compute-type=own|bf16]

PYTHON is a Python that has PyTorch. Both sides compute in f32, or with --compute-type=bf16 in bf16, with weights,
optimizer state and sums over ranks in f32. Run it from the root of the project, after `bazel build //examples/recipe`.
"""
import argparse
import json
import re
import statistics

from launch import beside, fail, mpirun, run, torchrun

WARMUP = 3


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="a Python that has PyTorch")
    parser.add_argument("--ranks", type=int, default=2, help="the number of ranks of each side (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how many times each side is run (%(default)s)")
    parser.add_argument("--steps", type=int, default=12, help="the number of counted steps per round (%(default)s)")
    parser.add_argument("--stage", type=int, default=1, help="our stage of ZeRO, 0 to 3 (%(default)s)")
    parser.add_argument("--mode", choices=["ddp", "zero1"], default="zero1",
                        help="the peer: DistributedDataParallel, without or with ZeroRedundancyOptimizer (%(default)s)")
    parser.add_argument("--compute-type", choices=["own", "bf16"], default="own",
                        help="own: compute in f32, the type of the variables (%(default)s)")
    parser.add_argument("--recipe", default="bazel-bin/examples/recipe/recipe", help="our program (%(default)s)")
    parser.add_argument("--peer", default=beside("torch_recipe.py"), help="the peer's script (%(default)s)")
    return parser.parse_args()


def runSplitcast(arguments):
    """Returns (seconds of each counted step, high-water mark of rank 0 in MB)."""
    steps = WARMUP + arguments.steps
    text = run(mpirun(arguments.ranks) + [arguments.recipe, f"--steps={steps}",
                                          f"--enable-zero=stage={arguments.stage},compute-type={arguments.compute_type}"])
    seconds = [float(value) for value in re.findall(r"^step \d+: loss \S+, (\S+) s,", text, re.MULTILINE)]
    peaks = [float(value) for value in re.findall(r", after (\S+) MB", text)]
    if len(seconds) != steps or not peaks:
        fail(f"{arguments.recipe} printed {len(seconds)} steps, not {steps}:\n{text}")
    return seconds[WARMUP:], max(peaks)


def runTorch(arguments):
    text = run(torchrun(arguments.python, arguments.ranks) +
               [arguments.python, arguments.peer, f"--mode={arguments.mode}", f"--steps={arguments.steps}",
                f"--warmup={WARMUP}", f"--dtype={'bf16' if arguments.compute_type == 'bf16' else 'f32'}"])
    result = json.loads(text.strip().split("\n")[-1])
    return result["seconds"], result["peak_mb"]


def main():
    arguments = parseArguments()
    ours, theirs = [], []
    for number in range(arguments.rounds):
        ours.append(runSplitcast(arguments))
        theirs.append(runTorch(arguments))
        print(f"round {number + 1}: splitcast {statistics.median(ours[-1][0]):.4f} s, "
              f"torch {statistics.median(theirs[-1][0]):.4f} s", flush=True)
    for name, summary in (("median", statistics.median), ("minimum", min)):
        mine = summary([seconds for run, _ in ours for seconds in run])
        other = summary([seconds for run, _ in theirs for seconds in run])
        print(f"{name}: splitcast stage {arguments.stage} {mine:.4f} s, torch {arguments.mode} {other:.4f} s, "
              f"ratio {other / mine:.2f}")
    print(f"high-water mark of rank 0: splitcast {max(peak for _, peak in ours):.1f} MB, "
          f"torch {max(peak for _, peak in theirs):.1f} MB")


if __name__ == "__main__":
    main()
