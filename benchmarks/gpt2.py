"""Trains GPT-2 124M in Splitcast and in PyTorch, in turns, and prints tokens per second, peak memory, and their ratios.

    python3 benchmarks/gpt2.py --python=PYTHON --peer=SCRIPT [--ranks=2] [--rounds=3] [--steps=5] [--stage=2]
                               [--modes=ddp,zero1,fsdp] [--compute-type=own|bf16]
                               [--recompute=elementwise]
    python3 benchmarks/gpt2.py --python=PYTHON --peer=SCRIPT --ranks=1 --modes=single,single+compile

PYTHON is a Python that has PyTorch. SCRIPT is the model in PyTorch. It takes the flags --mode, --layers, --heads,
--width, --vocab, --tokens (the context length), --batch (sequences per rank), --steps and --warmup; with
--compute-type=bf16 also --dtype=bf16, and for a mode that ends in +compile also --compile. The last line that it prints
is JSON with median_s and min_s (seconds per counted step), losses, and parameters (their number). Run it from the root
of the project, after `bazel build //examples/gpt`.

Both sides compute without dropout, in f32, or with --compute-type=bf16 in bf16 with weights, optimizer state and sums
over ranks in f32. They need not read the same tokens: ours are the bytes of a text, whatever the vocabulary size. Our
table of position embeddings has only as many rows as the context is long; if the peer's has 1024 rows, it has 0.5% more
parameters.
"""
import argparse
import dataclasses
import json
import math
import os
import re
import statistics
import tempfile
import time

from launch import fail, mpirun, runMeasured, torchrun


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="a Python that has PyTorch")
    parser.add_argument("--peer", required=True, help="the peer's script; see the docstring of gpt2.py")
    parser.add_argument("--ranks", type=int, default=2, help="the number of ranks of each side (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how many times each side is run (%(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="the number of counted steps per round (%(default)s)")
    parser.add_argument("--warmup", type=int, default=2, help="the number of uncounted first steps (%(default)s)")
    parser.add_argument("--stage", type=int, default=2, help="our stage of ZeRO, 0 to 3 (%(default)s)")
    parser.add_argument("--compute-type", choices=["own", "bf16"], default="own",
                        help="own: compute in f32, the type of the variables (%(default)s)")
    parser.add_argument("--recompute", choices=["no", "yes", "elementwise"], default="elementwise",
                        help="which activations our side recomputes in backward (%(default)s)")
    parser.add_argument("--modes", default="ddp,zero1,fsdp",
                        help="the modes of the peer; one that ends in +compile is compiled (%(default)s)")
    parser.add_argument("--layers", type=int, default=12, help="the number of blocks (%(default)s)")
    parser.add_argument("--heads", type=int, default=12, help="the number of attention heads per block (%(default)s)")
    parser.add_argument("--width", type=int, default=768, help="the width of the embedding (%(default)s)")
    parser.add_argument("--vocabulary", type=int, default=50257, help="the vocabulary size (%(default)s)")
    parser.add_argument("--context", type=int, default=256, help="the context length in tokens (%(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="the batch size of a rank, in sequences (%(default)s)")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3",
                        help="the file on whose bytes our side trains (%(default)s)")
    parser.add_argument("--gpt", default="bazel-bin/examples/gpt/gpt", help="our program (%(default)s)")
    return parser.parse_args()


@dataclasses.dataclass
class Round:
    """One run of one side."""
    medianSeconds: float
    bestSeconds: float
    peaksMb: list  # per rank
    parameters: int
    losses: list
    aroundSeconds: float = math.nan  # the time before the first step and after the last; ours only, like those below
    predictedMb: float = math.nan
    report: str = ""  # what the program printed before the first step


def readMetrics(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def runSplitcast(arguments):
    sizes = [f"--{name}={getattr(arguments, name)}" for name in ("layers", "heads", "width", "vocabulary", "context")]
    with tempfile.TemporaryDirectory() as directory:
        metrics = os.path.join(directory, "metrics")
        begin = time.perf_counter()
        text, peaks = runMeasured(mpirun(arguments.ranks), [
            arguments.gpt, f"--text={arguments.text}", f"--batch={arguments.ranks * arguments.batch}", "--dropout=0",
            "--lr=3e-4", "--weight-decay=0.1", f"--steps={arguments.warmup + arguments.steps}", "--sample=0",
            f"--enable-zero=stage={arguments.stage},compute-type={arguments.compute_type},recompute={arguments.recompute}",
            "--report", f"--metrics={metrics}"] + sizes)
        wall = time.perf_counter() - begin
        lines = readMetrics(metrics)
    seconds = [line["seconds"] for line in lines]
    parameters = re.search(r"^(\d+) parameters", text, re.MULTILINE)
    predicted = re.search(r"^function 'train'.*\n.*predicted peak (\S+) MB", text, re.MULTILINE)
    if len(seconds) != arguments.warmup + arguments.steps or not parameters or not predicted:
        fail(f"{arguments.gpt} wrote {len(seconds)} lines of metrics, and printed:\n{text}")
    counted = seconds[arguments.warmup:]
    return Round(statistics.median(counted), min(counted), peaks, int(parameters[1]), [line["loss"] for line in lines],
                 wall - sum(seconds), float(predicted[1]), re.split(r"^step ", text, maxsplit=1, flags=re.MULTILINE)[0])


def resultOf(text):
    """Returns the result in the last line that the peer printed, or None if that line is not JSON."""
    lines = text.strip().split("\n")
    return json.loads(lines[-1]) if lines[-1].startswith("{") else None


def runTorch(arguments, mode):
    sizes = [f"--{name}={getattr(arguments, name)}" for name in ("layers", "heads", "width", "batch")]
    text, peaks = runMeasured(torchrun(arguments.python, arguments.ranks), [
        arguments.python, arguments.peer, f"--mode={mode.removesuffix('+compile')}", f"--vocab={arguments.vocabulary}",
        f"--tokens={arguments.context}", f"--steps={arguments.steps}", f"--warmup={arguments.warmup}",
        *(["--compile"] if mode.endswith("+compile") else []),
        *(["--dtype=bf16"] if arguments.compute_type == "bf16" else [])] + sizes,
        # With ZeroRedundancyOptimizer over gloo, a rank sometimes aborts while it ends, after all steps are done.
        suffices=lambda text: resultOf(text) is not None)
    result = resultOf(text)
    if result is None:
        fail(f"{arguments.peer} printed no result:\n{text}")
    return Round(result["median_s"], result["min_s"], peaks, result["parameters"], result["losses"])


def checkRound(arguments, name, result):
    """Checks that all ranks ran, and by the losses that they trained this model."""
    if len(result.peaksMb) != arguments.ranks:
        fail(f"{name} ran as {len(result.peaksMb)} ranks, not {arguments.ranks}")
    guess = math.log(arguments.vocabulary)
    if not abs(result.losses[0] - guess) < 0.1 * guess or not result.losses[-1] < result.losses[0]:
        fail(f"{name}: the losses {result.losses} do not begin at about {guess:.2f} and fall")


@dataclasses.dataclass
class Summary:
    """All rounds of one side."""
    median: float  # tokens per second
    best: float
    peaksMb: list


def summarize(arguments, rounds):
    tokens = arguments.ranks * arguments.batch * arguments.context
    return Summary(tokens / statistics.median([result.medianSeconds for result in rounds]),
                   tokens / min(result.bestSeconds for result in rounds),
                   [max(peaks) for peaks in zip(*(result.peaksMb for result in rounds))])


def runAll(arguments):
    """Returns the rounds of each side, by the side's name. Ours is the first."""
    sides = {f"splitcast stage {arguments.stage}": lambda: runSplitcast(arguments)}
    for mode in arguments.modes.split(","):
        sides[f"torch {mode}"] = lambda mode=mode: runTorch(arguments, mode)
    rounds = {name: [] for name in sides}
    for number in range(arguments.rounds):
        for name, runSide in sides.items():
            result = runSide()
            checkRound(arguments, name, result)
            rounds[name].append(result)
            around = "" if math.isnan(result.aroundSeconds) else f", {result.aroundSeconds:.1f} s around the steps"
            print(f"round {number + 1}: {name}: median {result.medianSeconds:.3f} s per step, best "
                  f"{result.bestSeconds:.3f} s, losses {result.losses[0]:.3f} to {result.losses[-1]:.3f}{around}",
                  flush=True)
    return rounds


def main():
    arguments = parseArguments()
    rounds = runAll(arguments)
    summaries = {name: summarize(arguments, results) for name, results in rounds.items()}
    ours, *theirs = summaries
    print(f"\nbefore its first step, {ours} printed:\n{rounds[ours][0].report}")
    print("                      parameters  tokens/s: median      best  peak MB of each rank")
    for name, summary in summaries.items():
        peaks = " ".join(f"{peak:.0f}" for peak in summary.peaksMb)
        print(f"{name:20}  {rounds[name][0].parameters:10}  {summary.median:16.1f}  {summary.best:8.1f}  {peaks}")
    print(f"\n{ours} predicted a peak of {rounds[ours][0].predictedMb:.0f} MB, without the program itself")
    for name in theirs:
        mine, other = summaries[ours], summaries[name]
        print(f"{ours} to {name}: tokens/s median {mine.median / other.median:.2f}, best {mine.best / other.best:.2f}, "
              f"peak {max(mine.peaksMb) / max(other.peaksMb):.2f}")


if __name__ == "__main__":
    main()
