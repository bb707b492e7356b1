"""Runs the recipe in Splitcast and in PyTorch, in turns, and prints step times, their ratios, and peak memory.

    python3 benchmarks/recipe.py --python=PYTHON [--ranks=2] [--rounds=3] [--steps=12] [--stage=1] [--mode=zero1]
                                 [--compute-type=own|bf16]

PYTHON is one that has PyTorch. Both sides compute in f32, or in bf16 with weights, state and sums over ranks in f32. Run from the root of the project, after `bazel build //examples/recipe`.
"""
import argparse
import json
import re
import statistics

from launch import beside, fail, mpirun, run, torchrun

WARMUP = 3


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12, help="counted steps per round")
    parser.add_argument("--stage", type=int, default=1)
    parser.add_argument("--mode", choices=["ddp", "zero1"], default="zero1")
    parser.add_argument("--compute-type", choices=["own", "bf16"], default="own")
    parser.add_argument("--recipe", default="bazel-bin/examples/recipe/recipe")
    parser.add_argument("--peer", default=beside("torch_recipe.py"))
    return parser.parse_args()


def runSplitcast(arguments):
    """(seconds of each counted step, high-water mark in MB)"""
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
