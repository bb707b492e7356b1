"""The one command for a machine with GPUs: checks and times everything, prints a table, and writes it as JSON.

    python3 check.py [--device=cuda] [--ranks=1,2,4] [--steps=20] [--json=results.json] [--figures [--peer=SCRIPT]]

Runs what every communicator must do, on the device's. Trains the examples with ZeRO stages 0 to 3 at each number of
ranks: their losses must be those of the CPU within 1e-3, and the same bits at every stage, with CUDA graphs and without.
With --figures it then compares AdamW with a copy, and a chain of products with bare library calls, and times GPT-2 124M
on one rank. SCRIPT is that model in PyTorch, run in turns with it: it takes --mode, --device, --compile, --dtype, --layers,
--heads, --width, --vocab, --tokens, --batch, --steps and --warmup, and its last line is JSON with median_s and min_s.
Ranks that outnumber the GPUs share them. Exits 0 only if every check passed. --device=cpu checks the bundle itself,
without a GPU.

CUDA's libraries (cuBLASLt, NCCL, the runtime) are found in CUDA_HOME, in /usr/local/cuda, or among Python's packages.
"""
import argparse
import datetime
import glob
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import sysconfig
import tempfile

ROOT = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 1e-3
LIMIT_SECONDS = 600  # of one program
EXAMPLES = {
    "text_model": ["--text=TEXT"],
    "classifier": [],
    "gpt": ["--text=TEXT", "--layers=2", "--batch=24", "--dropout=0.1", "--sample=0"],
}
LAYERS, HEADS, WIDTH, VOCABULARY, CONTEXT, BATCH = 12, 12, 768, 50257, 256, 4  # GPT-2 124M
WARMUP_STEPS, COUNTED_STEPS, ROUNDS = 3, 10, 3
# Of f32 outside of tensor cores, in TFLOP/s, as the vendor states it.
PEAK_TFLOPS = {"H200": 67.0, "H100": 67.0, "A100": 19.5}
# Of AdamW's variable, and of matrices that take less time than their launch.
DEVICE_FIGURES = {"cuda": ["--elements=134217728", "--size=256", "--products=200"], "cpu": []}


def parseArguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", default="results.json")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--peer", help="GPT-2 in PyTorch")
    return parser.parse_args()


def environment():
    """Of the programs: where CUDA's libraries are, and that ranks may share a GPU."""
    packages = sysconfig.get_paths()["purelib"]
    folders = sorted(glob.glob(os.path.join(packages, "nvidia", "*", "lib")))
    variables = dict(os.environ, SPLITCAST_SHARE_GPUS="1")
    variables.setdefault("SPLITCAST_CUDA_LIBRARIES", ":".join(folders))
    return variables


def gpuName():
    """The first GPU and its driver, as nvidia-smi names them, or None."""
    try:
        result = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip().split("\n")[0] if result.returncode == 0 and result.stdout.strip() else None


class Failure(Exception):
    """A program that did not end well: its last lines."""


def run(ranks, program, flags, directory, **variables):
    """What it prints."""
    command = [os.path.join(ROOT, "bin", "ranks"), str(ranks), os.path.join(ROOT, "bin", program)] + flags
    command = [word.replace("TEXT", os.path.join(directory, "text")) for word in command]
    return outputOf(command, cwd=directory, env=dict(environment(), **variables))


def outputOf(command, **options):
    """Of a program; when it takes too long, all that it started is ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                          **options) as process:
        try:
            text, _ = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failure(f"not done after {LIMIT_SECONDS} s") from late
    if process.returncode != 0:
        raise Failure(" | ".join(text.strip().split("\n")[-3:]))
    return text


class Training:
    """What a training leaves: losses, exactly, and the bytes of all variables."""

    def __init__(self, program, ranks, device, stage, steps, directory, **variables):
        flags = EXAMPLES[program] + [f"--device={device}", f"--enable-zero=stage={stage}", f"--steps={steps}",
                                     "--losses=losses", "--save-variables=variables", "--timeout=120"]
        for name in ("losses", "variables"):
            if os.path.exists(os.path.join(directory, name)):
                os.remove(os.path.join(directory, name))
        run(ranks, program, flags, directory, **variables)
        with open(os.path.join(directory, "losses"), encoding="utf-8") as file:
            self.losses = [float.fromhex(line.split()[2]) for line in file]
        with open(os.path.join(directory, "variables"), "rb") as file:
            self.variables = file.read()


def largestDifference(losses, expected):
    return max(abs(loss - other) / abs(other) for loss, other in zip(losses, expected))


def checkExample(program, ranks, arguments, directory):
    """(whether it is right, what was found)"""
    reference = Training(program, ranks, "cpu", 0, arguments.steps, directory)
    found = [Training(program, ranks, arguments.device, stage, arguments.steps, directory) for stage in range(4)]
    if arguments.device == "cuda":
        found.append(Training(program, ranks, "cuda", 3, arguments.steps, directory, SPLITCAST_CUDA_GRAPHS="0"))
    difference = largestDifference(found[0].losses, reference.losses)
    same = all(other.losses == found[0].losses and other.variables == found[0].variables for other in found)
    isRight = same and len(found[0].losses) == arguments.steps and difference <= TOLERANCE
    return isRight, f"stages 0-3 {'same bits' if same else 'DIFFER'}; CPU within {difference:.1e}"


def checkConformance(ranks, arguments, directory):
    text = run(ranks, "conformance", [f"--device={arguments.device}", "--timeout=120"], directory)
    *_, size, last = text.strip().split("\n")
    return size == f"on {ranks} ranks" and re.fullmatch(r"[1-9]\d* passed, 0 failed", last) is not None, last


def compareWithBare(arguments, directory):
    """Lines of device_figures, and a text of them."""
    text = run(1, "device_figures", [f"--device={arguments.device}"] + DEVICE_FIGURES[arguments.device], directory)
    results = [json.loads(line) for line in text.strip().split("\n")]
    names = {"executor": "launches in a plan: {:.2f} x the speed of bare ones (best {:.2f})",
             "adamw": "AdamW: {:.2f} x a copy's bandwidth (best {:.2f})",
             "products": "products: {:.2f} x the speed of bare calls (best {:.2f})"}
    return True, "; ".join(names[r["what"]].format(r["ratio_median"], r["ratio_min"]) for r in results), results


def timeGpt(arguments, directory):
    """Seconds of the counted steps, the number of parameters, and the predicted megabytes."""
    sizes = {"layers": LAYERS, "heads": HEADS, "width": WIDTH, "vocabulary": VOCABULARY, "context": CONTEXT, "batch": BATCH,
             "steps": WARMUP_STEPS + COUNTED_STEPS, "sample": 0, "dropout": 0}
    flags = ["--text=TEXT", f"--device={arguments.device}", "--metrics=metrics", "--report"]
    text = run(1, "gpt", flags + [f"--{name}={value}" for name, value in sizes.items()], directory)
    with open(os.path.join(directory, "metrics"), encoding="utf-8") as file:
        seconds = [json.loads(line)["seconds"] for line in file][WARMUP_STEPS:]
    return seconds, int(re.search(r"^(\d+) parameters", text, re.MULTILINE)[1]), re.search(
        r"predicted peak (\S+) MB", text)[1]


def timePeer(arguments):
    """Its last line."""
    sizes = {"layers": LAYERS, "heads": HEADS, "width": WIDTH, "vocab": VOCABULARY, "tokens": CONTEXT, "batch": BATCH,
             "steps": COUNTED_STEPS, "warmup": WARMUP_STEPS}
    text = outputOf(
        [sys.executable, arguments.peer, "--mode=single", f"--device={arguments.device}", "--compile", "--dtype=f32"] +
        [f"--{name}={value}" for name, value in sizes.items()])
    lines = text.strip().split("\n")
    if not lines[-1].startswith("{"):
        raise Failure(" | ".join(lines[-3:]))
    return json.loads(lines[-1])


def timeGpt2(arguments, directory):
    ours, theirs, tokens = [], [], BATCH * CONTEXT
    for _ in range(ROUNDS):
        seconds, parameters, predicted = timeGpt(arguments, directory)
        ours.append(seconds)
        if arguments.peer:
            theirs.append(timePeer(arguments))
    median, best = statistics.median(sum(ours, [])), min(sum(ours, []))
    flops = 6 * parameters + 12 * LAYERS * WIDTH * CONTEXT  # per token, of the products alone
    text = (f"f32, {BATCH} x {CONTEXT} tokens: median {tokens / median:.0f}, best {tokens / best:.0f} tokens/s; "
            f"{flops * tokens / median / 1e12:.1f} TFLOP/s; predicted {predicted} MB")
    peak = next((peak for name, peak in PEAK_TFLOPS.items() if name in (gpuName() or "")), None)
    if arguments.device == "cuda" and peak:
        text += f"; {flops * tokens / median / peak / 1e10:.1f}% of the GPU's f32"
    if theirs:
        other = statistics.median(result["median_s"] for result in theirs), min(result["min_s"] for result in theirs)
        text += f"; {other[0] / median:.2f} x PyTorch compiled (best {other[1] / best:.2f})"
    return True, text, {"ours_s": ours, "peer": theirs}


def runAll(arguments):
    """Rows of the table, as they come."""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "text"), "wb") as file:
            with open(os.path.abspath(__file__), "rb") as source:
                file.write(source.read())
        jobs = []
        for ranks in map(int, arguments.ranks.split(",")):
            suffix = f", {ranks} rank{'s' if ranks > 1 else ''}"
            jobs.append(("conformance" + suffix, lambda ranks=ranks: checkConformance(ranks, arguments, directory)))
            for program in EXAMPLES:
                jobs.append((program + suffix, lambda program=program, ranks=ranks: checkExample(
                    program, ranks, arguments, directory)))
        if arguments.figures:
            jobs.append(("against the bare device", lambda: compareWithBare(arguments, directory)))
            jobs.append(("GPT-2 124M, 1 rank", lambda: timeGpt2(arguments, directory)))
        for name, job in jobs:
            try:
                isRight, text, *figures = job()
            except Exception as failure:  # the others' results are wanted all the same
                isRight, text, figures = False, f"{type(failure).__name__}: {failure}", []
            yield {"what": name, "passed": isRight, "found": text, "figures": figures}


def main():
    arguments = parseArguments()
    gpu = gpuName()
    if arguments.device == "cuda" and gpu is None:
        sys.exit("check: error: nvidia-smi shows no GPU, so nothing of CUDA was run; --device=cpu checks the bundle alone")
    print(f"{datetime.date.today()}  {arguments.device}  {gpu or platform.processor() or platform.machine()}", flush=True)
    rows = []
    for row in runAll(arguments):
        rows.append(row)
        print(f"{row['what']:24} {'passed' if row['passed'] else 'FAILED'}  {row['found']}", flush=True)
    failed = sum(not row["passed"] for row in rows)
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump({"date": str(datetime.date.today()), "device": arguments.device, "gpu": gpu, "rows": rows}, file, indent=1)
    print(f"{len(rows) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
