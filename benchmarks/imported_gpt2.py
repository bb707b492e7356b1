#!/usr/bin/env python3
"""Compares the step times of transformers' GPT-2 124M, imported by splitcast.torch, with those of the C++ example.

    PYTHONPATH=bazel-bin/compiler/python python3 benchmarks/imported_gpt2.py --python=PYTHON [--rounds=3] [--steps=5]

PYTHON is a Python that has PyTorch and transformers. Run it from the root of the project, after `bazel build
//compiler/python //examples/gpt`. Each side is one process on all processors, and they run in turns. Both train on
batches of 4 sequences of 256 tokens, in f32, with AdamW and without dropout. The first step of a process is not
counted.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

IMPORTED = """
import sys, time
import torch, transformers
import splitcast as sc
import splitcast.torch

model = transformers.GPT2LMHeadModel(
    transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, n_positions=256))
tokens = torch.randint(0, 50257, (4, 256))
trainer = splitcast.torch.compile(model, lambda model, tokens: model(input_ids=tokens, labels=tokens).loss,
                                  {"tokens": tokens}, sc.AdamW(lr=3e-4), enable_zero=0, evaluate=False)
for step in range(int(sys.argv[1]) + 1):
    start = time.perf_counter()
    trainer.step({"tokens": tokens})
    print("SECONDS", time.perf_counter() - start)
"""


def imported(arguments):
    run = subprocess.run([arguments.python, "-c", IMPORTED, str(arguments.steps)], capture_output=True,
                         text=True)
    seconds = [float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("SECONDS ")]
    if run.returncode or len(seconds) != arguments.steps + 1:
        sys.exit("the imported model failed:\n" + run.stderr[-2000:])
    return seconds[1:]


def example(arguments):
    with tempfile.TemporaryDirectory() as directory:
        metrics = os.path.join(directory, "metrics.jsonl")
        subprocess.run(["bazel-bin/examples/gpt/gpt", "--text=" + arguments.text, "--batch=4", "--dropout=0",
                        "--weight-decay=0.01", f"--steps={arguments.steps + 1}", "--sample=0", "--layers=12",
                        "--heads=12", "--width=768", "--vocabulary=50257", "--context=256", "--metrics=" + metrics],
                       check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line)["seconds"] for line in open(metrics)][1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="a Python that has PyTorch and transformers")
    parser.add_argument("--rounds", type=int, default=3, help="how many times each side is run (%(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="the number of counted steps per round (%(default)s)")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3",
                        help="the file on whose bytes the C++ example trains (%(default)s)")
    arguments = parser.parse_args()
    times = {"imported": [], "C++ example": []}
    for _ in range(arguments.rounds):
        times["imported"] += imported(arguments)
        times["C++ example"] += example(arguments)
    for name, seconds in times.items():
        print(f"{name:<12} median {statistics.median(seconds):.3f} s, minimum {min(seconds):.3f} s")
    ours, theirs = times.values()
    by_medians, by_minima = statistics.median(theirs) / statistics.median(ours), min(theirs) / min(ours)
    print(f"tokens/s of the imported model relative to the C++ example: {by_medians:.3f} by the medians, "
          f"{by_minima:.3f} by the minima")


if __name__ == "__main__":
    main()
