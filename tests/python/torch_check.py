#!/usr/bin/env python3
"""transformers' models under Splitcast beside eager PyTorch: torch_check.py [--minutes=N]. Run by scripts/test_torch.sh,
which has the virtual environment. Prints a table and, last, 'N passed, N failed'.

With --minutes only the small models run, as many as fit in that time (conftest.py); how many there were is said."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

import jobs

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "torch_models.py")
README, MINIMAL = os.path.join(HERE, "../../README.md"), os.path.join(HERE, "../../examples/python/minimal_torch.py")
FINE_TUNE = os.path.join(HERE, "../../examples/python/finetune_gpt2.py")
COSTS = os.path.join(jobs.ROOT, "tests/examples/training_costs_test")
STEPS, TOLERANCE = 20, 1e-4
MODELS = ["gpt2", "llama", "vit", "bert", "t5", "mistral", "qwen2", "gemma", "phi", "deit", "swin", "convnext", "resnet18"]


class Checks:

    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, holds, what, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what} {detail}", flush=True)


def result_of(name, ranks, stage, case=""):
    """What rank 0 printed, or None with what was said of errors."""
    run = jobs.run(ranks, PROGRAM, name, stage, STEPS, *([case] if case else []), timeout=600)
    lines = [line for line in run.stdout.splitlines() if line.startswith("RESULT ")]
    return (json.loads(lines[0][7:]) if run.returncode == 0 and lines else None), run.stderr


def expect_as_eager(checks, name, ranks, stage, case=""):
    what = f"{name}, {ranks} ranks, stage {stage} {case}"
    result, errors = result_of(name, ranks, stage, case)
    checks.expect(result is not None, what, errors[-1500:])
    if result is None:
        return None
    print(f"{name:<9} {ranks} ranks, stage {stage} {case}: losses of {STEPS} steps within {result['worst']:.1e} of "
          "eager PyTorch's", flush=True)
    checks.expect(result["worst"] < TOLERANCE and result["evaluation"] < TOLERANCE, what, str(result)[:300])
    for each in ("round trip", "loads in torch", "frozen unchanged"):
        checks.expect(result[each], what + ": " + each)
    return result["bits"]


def expect_costs(checks, name):
    """What three ranks send and hold in each way of ZeRO is what was predicted, to the byte."""
    with tempfile.TemporaryDirectory() as directory:
        run = jobs.run(3, PROGRAM, name, "module", directory + "/model.mlir", timeout=300)
        checks.expect(run.returncode == 0, f"the module of {name}", run.stderr[-800:])
        if run.returncode == 0:
            run = subprocess.run(jobs.MPIRUN + ["3", COSTS, directory + "/model.mlir"], env=jobs.ENVIRONMENT, timeout=600,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            checks.expect(run.returncode == 0, f"costs of {name}", run.stdout[-800:])
            print(f"{name:<9} bytes sent and held in eight ways of ZeRO: "
                  f"{'as predicted' if run.returncode == 0 else 'not as predicted'}", flush=True)


# A GPT-2 of transformers in a directory; and what a directory's predicts of the text.
MAKES = """
import sys, torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
GPT2LMHeadModel(GPT2Config(n_positions=64, n_embd=32, n_layer=2, n_head=2, vocab_size=256, attn_pdrop=0,
                           bos_token_id=1, eos_token_id=1)).save_pretrained(sys.argv[1])
"""
PREDICTS = """
import sys, torch
from transformers import GPT2LMHeadModel
model = GPT2LMHeadModel.from_pretrained(sys.argv[1]).eval()
tokens = torch.tensor(list(open(sys.argv[2], "rb").read()[:640])).reshape(10, 64)
print("LOSS", model(input_ids=tokens, labels=tokens).loss.item())
"""


def expect_fine_tuning(checks):
    """The example, on 1 and 4 ranks: equal losses, and transformers loads what it wrote."""
    text = jobs.write("Each rank has a part of each parameter, and no rank has all of them.\n" * 60)
    with tempfile.TemporaryDirectory() as directory:
        jobs.run(1, MAKES, directory + "/before", timeout=300)
        losses = {}
        for ranks, stage in ((1, 0), (4, 3)):
            after = f"{directory}/after{ranks}"
            run = jobs.run(ranks, FINE_TUNE, directory + "/before", text, after,
                           f"--stage={stage}", timeout=300)
            found = [float(loss) for loss in re.findall(r"step \d+: loss (\S+)", run.stdout)]
            checks.expect(run.returncode == 0 and len(found) == 50 and found[-1] < 0.7 * found[0],
                          f"fine-tuning on {ranks} ranks", run.stderr[-800:] + str(found[-3:]))
            run = jobs.run(1, PREDICTS, after, text, timeout=300)
            loss = re.findall(r"LOSS (\S+)", run.stdout)
            losses[ranks] = float(loss[0]) if loss else None
            checks.expect(loss and abs(float(loss[0]) - found[-1]) < 0.5, "transformers loads it", run.stderr[-800:])
        print(f"fine-tuned GPT-2 in transformers: losses {losses}", flush=True)
        checks.expect(None not in losses.values() and abs(losses[1] - losses[4]) < 1e-3, "1 and 4 ranks", str(losses))


def expect_minimal(checks):
    """What README.md says that the smallest program prints, but for the last digits of its numbers."""
    with open(README) as file:
        [said] = re.findall(r"^```text\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    run = jobs.run(2, MINIMAL, timeout=300, launcher=jobs.LAUNCH)
    number = re.compile(r"\d+(?:\.\d+)?")
    checks.expect(run.returncode == 0 and number.sub("N", run.stdout) == number.sub("N", said) and all(
        abs(float(found) / float(expected) - 1) < 1e-2
        for found, expected in zip(number.findall(run.stdout), number.findall(said))),
                  "minimal_torch.py prints what README.md says", run.stdout + run.stderr[-800:])
    print("minimal_torch.py: as README.md says", flush=True)


class Counter:
    """A plugin of pytest that counts the cases that passed and failed."""

    def __init__(self):
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed


def expect_cases(checks, options):
    """Small models, each as eager PyTorch or an error, by conftest.py; and those of several ranks."""
    os.environ["PYTHONPATH"] = jobs.ENVIRONMENT["PYTHONPATH"]
    counter = Counter()
    status = pytest.main([HERE, *options], plugins=[counter])
    checks.passed += counter.passed
    checks.failed += counter.failed
    if counter.failed == 0 and (status != 0 or counter.passed == 0):  # an error of pytest's, or none ran
        checks.expect(False, f"pytest: exit status {int(status)}, {counter.passed} cases ran")


def main():
    checks = Checks()
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=int, help="run the small models only, for so long")
    minutes = parser.parse_args().minutes
    if minutes is not None:
        expect_cases(checks, [f"--minutes={minutes}"])
        print(f"{checks.passed} passed, {checks.failed} failed")
        return 1 if checks.failed else 0
    for name in MODELS:
        is_main = name in MODELS[:3]
        expect_as_eager(checks, name, 1, 0)
        for ranks in (3, 4) if is_main else (3,):
            bits = [expect_as_eager(checks, name, ranks, stage) for stage in ((0, 1, 2, 3) if is_main else (0, 3))]
            checks.expect(all(each == bits[0] for each in bits), f"{name}, {ranks} ranks: stages give other bits")
    for name in MODELS:
        expect_costs(checks, name)
    expect_as_eager(checks, "gpt2", 3, 2, "groups")
    expect_as_eager(checks, "llama", 3, 3, "frozen")
    _, errors = result_of("llama", 3, 0, "other-models")
    checks.expect("parameters of the model" in errors and "rank 2: SHA" in errors, "models that differ are an error", errors[-500:])
    expect_minimal(checks)
    expect_fine_tuning(checks)
    expect_cases(checks, [])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
