#!/usr/bin/env python3
"""transformers' models under Splitcast beside eager PyTorch: torch_check.py [--minutes=N]. Run by scripts/test_torch.sh,
which has the virtual environment. Prints a table and, last, 'N passed, N failed'.

With --minutes only the small models run, as many as fit in that time; how many there were is said."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import jobs

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "torch_models.py")
README, MINIMAL = os.path.join(HERE, "../../README.md"), os.path.join(HERE, "../../examples/python/minimal_torch.py")
FINE_TUNE = os.path.join(HERE, "../../examples/python/finetune_gpt2.py")
CASES = ["torch_cases.py", "torch_cases_training.py", "torch_refusals.py"]
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


CHANGES = ["torch_cases_changes.py", "torch_cases_reads.py", "torch_programs.py", "torch_cases_values.py"]


def cases_of(program, ranks, seconds):
    """(name, outcome) of each case that ran within so many seconds, and what is wrong if not all ran: "" if they did, or
    if the time was over."""
    started = time.monotonic()
    command = [*jobs.LAUNCH, str(ranks), os.path.join(HERE, program)]
    with subprocess.Popen(command, env=jobs.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as run:
        try:
            output, errors = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGTERM)
            output, errors = run.communicate()
    cases = re.findall(r"^CASE (.*?): (.*)$", output, re.MULTILINE)
    is_whole = run.returncode == 0 and f"\nALL {len(cases)}\n" in output and cases
    return cases, "" if is_whole or time.monotonic() - started >= seconds else errors[-800:] or "not all cases ran"


def expect_cases(checks, seconds=None):
    """Small models, each as eager PyTorch or an error; and those of several ranks. seconds: the time for all of them."""
    programs = [(each, ranks) for each in CHANGES for ranks in (1, 3)]
    of_ranks = [("torch_cases_ranks.py", 3)] + [("torch_cases_ir.py", ranks) for ranks in (2, 3)]
    programs = [(each, 1) for each in CASES] + of_ranks + programs
    if seconds is not None:  # what finds most comes first
        programs = programs[::-1][1::2] + programs[::-1][::2]
    begun, finished = time.monotonic(), 0
    for program, ranks in programs:
        left = 900 if seconds is None else seconds - (time.monotonic() - begun)
        if left < 20:
            break
        cases, wrong = cases_of(program, ranks, left)
        for name, outcome in cases:
            checks.expect(outcome == "ok", f"case '{name}' of {program}, {ranks} ranks:", outcome)
        checks.expect(not wrong, f"all cases of {program} ran", wrong)
        print(f"{program}, {ranks} ranks: {len(cases)} small models that are easily trained wrong", flush=True)
        finished += 1
    if seconds is not None:
        print(f"{finished} of {len(programs)} files of cases were begun in {seconds} s", flush=True)


def main():
    checks = Checks()
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=int, help="run the small models only, for so long")
    minutes = parser.parse_args().minutes
    if minutes is not None:
        expect_cases(checks, 60 * minutes)
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
    expect_cases(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
