#!/usr/bin/env python3
"""GPT-2 124M as transformers has it, imported by splitcast.torch, beside the C++ example: seconds per step.

    PYTHONPATH=bazel-bin/compiler/python python3 benchmarks/imported_gpt2.py --python=PYTHON [--rounds=3] [--steps=5]

PYTHON is one that has PyTorch and transformers. Run from the root of the project, after
`bazel build //compiler/python //examples/gpt`. One process on all processors, 4 sequences of 256 tokens, f32, AdamW, no
dropout; both sides in turn, each in a process of its own, and the first step of each is not counted.
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

model = transformers.GPT2LMHeadModel(transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, n_positions=256))
tokens = torch.randint(0, 50257, (4, 256))
trainer = splitcast.torch.compile(model, lambda model, tokens: model(input_ids=tokens, labels=tokens).loss,
                                  {"tokens": tokens}, sc.AdamW(lr=3e-4), enable_zero=0, evaluate=False)
for step in range(int(sys.argv[1]) + 1):
    start = time.perf_counter()
    trainer.step({"tokens": tokens})
    print("SECONDS", time.perf_counter() - start)
"""


def imported(arguments):
    run = subprocess.run([arguments.python, "-c", IMPORTED, str(arguments.steps)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True)
    seconds = [float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("SECONDS ")]
    if run.returncode or len(seconds) != arguments.steps + 1:
        sys.exit("the imported model failed:\n" + run.stderr[-2000:])
    return seconds[1:]


def example(arguments):
    with tempfile.TemporaryDirectory() as directory:
        metrics = os.path.join(directory, "metrics.jsonl")
        subprocess.run(["bazel-bin/examples/gpt/gpt", "--text=" + arguments.text, "--batch=4", "--dropout=0",
                        "--weight-decay=0.01", "--steps=%d" % (arguments.steps + 1), "--sample=0", "--layers=12",
                        "--heads=12", "--width=768", "--vocabulary=50257", "--context=256", "--metrics=" + metrics],
                       check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line)["seconds"] for line in open(metrics)][1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="counted steps per round")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    arguments = parser.parse_args()
    times = {"imported": [], "C++ example": []}
    for _ in range(arguments.rounds):
        times["imported"] += imported(arguments)
        times["C++ example"] += example(arguments)
    for name, seconds in times.items():
        print("%-12s median %.3f s, minimum %.3f s" % (name, statistics.median(seconds), min(seconds)))
    ours, theirs = times.values()
    print("tokens/s of the imported one: %.3f times by the medians, %.3f by the minima" %
          (statistics.median(theirs) / statistics.median(ours), min(theirs) / min(ours)))


if __name__ == "__main__":
    main()
