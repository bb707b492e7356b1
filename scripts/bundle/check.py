"""Checks and times everything on a machine with GPUs. Prints a table, and writes it as JSON.

    python3 check.py [--device=cuda] [--parts=kernels,conformance,examples,figures] [--ranks=4,2,1] [--steps=20]
                     [--json=results.json] [--peer=SCRIPT [--rounds=2]] [--program-limit=90] [--limit=480]

kernels      Compares every op on a GPU with NumPy, in all element types, also with calls of CUDA's libraries.
conformance  Checks the device's communicator, at each number of ranks, for what every communicator must do.
examples     Trains the examples with stages of ZeRO at each number of ranks. Their losses must be those of the CPU
             within 1e-3 (1e-2 if they compute in bf16, f16 or tf32), and all bits must be the same at every stage, with
             CUDA graphs and without, and with sums in rounds of any size.
figures      Runs only if --parts names it. Compares AdamW with a copy, a chain of products with direct library calls,
             and measures GPT-2 124M on one rank, in f32 (with products in tf32, like the peer's) and in bf16, with a
             profile of each. Its first losses in both types must agree within 1e-2. SCRIPT is that model in PyTorch,
             the peer, and is run in turns with ours. It takes the flags --mode, --device, --compile, --dtype, --layers,
             --heads, --width, --vocab, --tokens, --batch, --steps and --warmup, and its last line must be JSON with
             median_s and min_s.

After each check its row is printed, and the JSON file is rewritten. Beside it, in a file with '.log' for '.json', is
what each program printed. A program may take --program-limit seconds (every op twice that, a training of GPT-2 three
times). After --limit seconds no further program begins, and checks that are not done have failed. If there are more
ranks than GPUs, ranks share them. The exit status is 0 only if there was a check and every check passed.
--device=cpu checks the bundle itself, without a GPU.

CUDA's libraries (cuBLASLt, NCCL, the runtime) are found in CUDA_HOME, in /usr/local/cuda, or in Python's packages.
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
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
# The largest allowed relative difference of a loss from the CPU's, by the type in which products are computed.
TOLERANCES = {"f32": 1e-3, "tf32": 1e-2, "bf16": 1e-2, "f16": 1e-2}
GPT = ["--text=TEXT", "--sample=0", "--layers=2", "--batch=24"]
# Several tiles of attention, rows as long as a block's, norms that blocks add up.
LONG_GPT = ["--text=TEXT", "--sample=0", "--layers=1", "--batch=4", "--context=200", "--heads=2", "--width=128",
            "--vocabulary=5000", "--clip-norm=1"]
ALL_STAGES, FIRST_AND_LAST = (0, 1, 2, 3), (0, 3)
# For each example: its program, its flags, the type of products, and the stages. What can go wrong most comes first.
EXAMPLES = {
    "gpt": ("gpt", GPT + ["--dropout=0.1"], "f32", ALL_STAGES),
    "gpt in bf16": ("gpt", GPT + ["--heads=2"], "bf16", ALL_STAGES),
    "long gpt": ("gpt", LONG_GPT, "f32", FIRST_AND_LAST),
    "long gpt in bf16": ("gpt", LONG_GPT, "bf16", FIRST_AND_LAST),
    "long gpt in tf32": ("gpt", LONG_GPT, "tf32", FIRST_AND_LAST),
    "gpt in f16": ("gpt", GPT + ["--heads=2", "--loss-scale=initial=1024"], "f16", FIRST_AND_LAST),
    "text_model": ("text_model", ["--text=TEXT"], "f32", FIRST_AND_LAST),
    "classifier": ("classifier", [], "f32", FIRST_AND_LAST),
}
PARTS = ("kernels", "conformance", "examples", "figures")
LAYERS, HEADS, WIDTH, VOCABULARY, CONTEXT, BATCH = 12, 12, 768, 50257, 1024, 16  # GPT-2 124M
WARMUP_STEPS, COUNTED_STEPS = 3, 10
# The vendor's peak rates of tensor cores on dense matrices, in TFLOP/s.
PEAK_TFLOPS = {"H200": {"f32": 494.5, "bf16": 989.4}, "H100": {"f32": 494.5, "bf16": 989.4},
               "A100": {"f32": 156.0, "bf16": 312.0}}
# The flags of device_figures: the elements of AdamW's variable, and matrices whose product takes less time than its
# launch.
DEVICE_FIGURES = {"cuda": ["--elements=134217728", "--size=256", "--products=200"], "cpu": []}


def parseArguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="the device to check (%(default)s)")
    parser.add_argument("--ranks", default="4,2,1", help="the numbers of ranks to check (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="the number of steps that examples train (%(default)s)")
    parser.add_argument("--json", default="results.json", help="the file for the table (%(default)s)")
    parser.add_argument("--parts", default="kernels,conformance,examples", help="the parts to run (%(default)s)")
    parser.add_argument("--peer", metavar="SCRIPT", help="GPT-2 in PyTorch, to compare with")
    parser.add_argument("--rounds", type=int, default=2, help="how many times GPT-2 and the peer are run (%(default)s)")
    parser.add_argument("--program-limit", type=float, default=90, help="seconds that a program may take (%(default)s)")
    parser.add_argument("--limit", type=float, default=480, help="seconds after which no program begins (%(default)s)")
    arguments = parser.parse_args()
    arguments.log = os.path.splitext(arguments.json)[0] + ".log"
    arguments.end = time.monotonic() + arguments.limit
    arguments.parts = arguments.parts.split(",")
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"--parts has '{part}'; it takes {', '.join(PARTS)}")
    return arguments


def environment():
    """Returns the environment of the programs. It says where CUDA's libraries are, and that ranks may share a GPU."""
    packages = sysconfig.get_paths()["purelib"]
    folders = sorted(glob.glob(os.path.join(packages, "nvidia", "*", "lib")))
    variables = dict(os.environ, SPLITCAST_SHARE_GPUS="1")
    variables.setdefault("NCCL_DEBUG", "WARN")
    variables.setdefault("SPLITCAST_CUDA_LIBRARIES", ":".join(folders))
    return variables


def gpuName():
    """Returns the names of the first GPU and its driver, as nvidia-smi prints them, or None."""
    try:
        result = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip().split("\n")[0] if result.returncode == 0 and result.stdout.strip() else None


class Failure(Exception):
    """Raised with the last lines of a program that failed, and all of its output."""

    def __init__(self, what, text=""):
        super().__init__(what)
        self.text = text


def run(ranks, program, flags, arguments, directory, limit=None, **variables):
    """Runs a program as `ranks` ranks, and returns its output. Raises Failure if it fails."""
    command = [os.path.join(ROOT, "bin", "ranks"), str(ranks), os.path.join(ROOT, "bin", program)] + flags
    command = [word.replace("TEXT", os.path.join(directory, "text")) for word in command]
    return outputOf(command, arguments, limit, cwd=directory, env=dict(environment(), **variables))


def outputOf(command, arguments, limit=None, **options):
    """Runs a command, adds its output to the log, and returns it. Raises Failure if it fails, or if it takes more than
    `limit` seconds; then it is ended with all processes that it started."""
    limit = limit or arguments.program_limit
    if time.monotonic() > arguments.end:
        raise Failure(f"not begun: the limit of {arguments.limit:.0f} s was reached")
    with open(arguments.log, "a", encoding="utf-8") as log:
        log.write("$ " + " ".join(command) + "\n")
        log.flush()
        try:
            text = ended(command, limit, **options)
        except Failure as failure:
            log.write(f"{failure.text}\nFAILED\n")
            raise
        log.write(text)
    return text


def ended(command, limit, **options):
    """Runs a command to its end, and returns its output; see outputOf."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                          **options) as process:
        try:
            text, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            raise Failure(f"not done after {limit:.0f} s: {lastLines(text)}", text) from late
    if process.returncode != 0:
        raise Failure(lastLines(text), text)
    return text


def lastLines(text):
    """Returns the last lines that a failed program printed: those that say what is wrong, if there are any."""
    lines = text.strip().split("\n")
    return " | ".join(([line for line in lines if "rror" in line or "expected" in line] or lines)[-4:])[:2000]


class Training:
    """Trains an example, and keeps its exact losses and the bytes of all variables."""

    def __init__(self, example, ranks, device, stage, arguments, directory, **variables):
        program, more, computes, _ = EXAMPLES[example]
        zero = f"stage={stage}" + (f" compute-type={computes}" if computes in ("bf16", "f16") else "")
        if computes == "tf32":
            variables["SPLITCAST_TF32"] = "1"
        flags = more + [f"--device={device}", f"--enable-zero={zero}", f"--steps={arguments.steps}", "--losses=losses",
                        "--save-variables=variables", f"--timeout={max(10, arguments.program_limit // 3):.0f}"]
        for name in ("losses", "variables"):
            if os.path.exists(os.path.join(directory, name)):
                os.remove(os.path.join(directory, name))
        run(ranks, program, flags, arguments, directory, **variables)
        with open(os.path.join(directory, "losses"), encoding="utf-8") as file:
            self.losses = [float.fromhex(line.split()[2]) for line in file]
        with open(os.path.join(directory, "variables"), "rb") as file:
            self.variables = file.read()


def largestDifference(losses, expected):
    return max(abs(loss - other) / abs(other) for loss, other in zip(losses, expected))


def differences(first, others):
    """Returns a text for each of `others`, pairs (name, training), that differs from the first training."""
    texts = []
    for name, other in others:
        steps = [step for step, (loss, own) in enumerate(zip(other.losses, first.losses), 1) if loss != own]
        if steps:
            texts.append(f"{name} from step {steps[0]} on, by {largestDifference(other.losses, first.losses):.1e}")
        elif other.variables != first.variables:
            texts.append(f"{name} in variables alone")
    return texts


def settingsOf(example, ranks, device):
    """Returns the settings under which an example must have the same bits: pairs (name, arguments of Training)."""
    settings = [(f"stage {stage}", {"stage": stage}) for stage in EXAMPLES[example][3]]
    if device == "cuda":
        settings.append(("without graphs", {"stage": 3, "SPLITCAST_CUDA_GRAPHS": "0"}))
        if ranks > 1:
            settings.append(("in short rounds", {"stage": 1, "SPLITCAST_NCCL_ROUND_KIB": "64"}))
    return settings


def checkExample(example, ranks, arguments, directory):
    """Returns (whether the example is right, a text for its row). What fails in one setting does not keep the others
    from being tried."""
    def train(name, device, **setting):
        try:
            return Training(example, ranks, device, arguments=arguments, directory=directory, **setting)
        except Failure as failure:
            texts.append(f"{name} failed: {failure}")
            return None

    texts = []
    reference = train("the CPU", "cpu", stage=0)
    found = [(name, train(name, arguments.device, **setting))
             for name, setting in settingsOf(example, ranks, arguments.device)]
    found = [(name, training) for name, training in found if training]
    if not reference or not found:
        return False, "; ".join(texts)
    (firstName, first), *others = found
    different = differences(first, others)
    if different:  # train the first again, to see whether it gives the same bits every time
        again = train(f"{firstName} again", arguments.device, **settingsOf(example, ranks, arguments.device)[0][1])
        different += differences(first, [(f"{firstName} again", again)] if again else [])
    difference = largestDifference(first.losses, reference.losses)
    isNear = len(first.losses) == arguments.steps and difference <= TOLERANCES[EXAMPLES[example][2]]
    texts += [f"DIFFERENT BITS: {'; '.join(different)}" if different else f"{len(found)} settings, same bits",
              f"CPU within {difference:.1e}"]
    return isNear and not different and len(texts) == 2, "; ".join(texts)


def checkConformance(ranks, arguments, directory):
    # Rounds as short as the tests' tensors need, so that sums have several.
    text = run(ranks, "conformance", [f"--device={arguments.device}", "--timeout=60"], arguments, directory,
               SPLITCAST_NCCL_ROUND_KIB="1024")
    *_, size, last = text.strip().split("\n")
    return size == f"on {ranks} ranks" and re.fullmatch(r"[1-9]\d* passed, 0 failed", last) is not None, last


def checkKernels(arguments):
    """Returns (whether all ops are right, a text for the row). The program reads NumPy's results below its
    directory."""
    command = [os.path.join(ROOT, "bin", "cuda_kernel_vectors"), "--gtest_filter=*/1"]
    text = outputOf(command, arguments, 2 * arguments.program_limit, cwd=ROOT, env=environment())
    last = text.strip().split("\n")[-1]
    return re.search(r"PASSED.* [1-9]\d* test", last) is not None, last.strip()


def compareWithBare(arguments, directory):
    """Runs device_figures. Returns (True, a text for the row, its results)."""
    text = run(1, "device_figures", [f"--device={arguments.device}"] + DEVICE_FIGURES[arguments.device], arguments,
               directory)
    results = [json.loads(line) for line in text.strip().split("\n")]
    names = {"executor": "launches in a plan: {:.2f} x the speed of direct ones (best {:.2f})",
             "adamw": "AdamW: {:.2f} x a copy's bandwidth (best {:.2f})",
             "products": "products: {:.2f} x the speed of direct calls (best {:.2f})"}
    return True, "; ".join(names[r["what"]].format(r["ratio_median"], r["ratio_min"]) for r in results), results


class GptRun:
    """A training of our GPT-2. Keeps the seconds of the counted steps, the first loss, the number of parameters, the
    predicted peak in MB, and the table of its profile, if `flags` ask for one."""

    def __init__(self, computes, arguments, directory, *flags):
        sizes = {"layers": LAYERS, "heads": HEADS, "width": WIDTH, "vocabulary": VOCABULARY, "context": CONTEXT,
                 "batch": BATCH, "steps": WARMUP_STEPS + COUNTED_STEPS, "sample": 0, "dropout": 0}
        command = ["--text=TEXT", f"--device={arguments.device}", "--metrics=metrics", "--report", *flags]
        if computes != "f32":
            command.append(f"--enable-zero=stage=1 compute-type={computes}")
        text = run(1, "gpt", command + [f"--{name}={value}" for name, value in sizes.items()], arguments, directory,
                   limit=3 * arguments.program_limit, SPLITCAST_TF32="1")
        with open(os.path.join(directory, "metrics"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.loss = lines[0]["loss"]
        self.seconds = [line["seconds"] for line in lines][WARMUP_STEPS:]
        self.parameters = int(re.search(r"^(\d+) parameters", text, re.MULTILINE)[1])
        self.predicted = re.search(r"predicted peak (\S+) MB", text)[1]
        self.profile = text[text.index("rank 0's ops"):].split("\n") if "rank 0's ops" in text else []


def timePeer(computes, arguments):
    """Runs the peer, and returns the result in its last line."""
    sizes = {"layers": LAYERS, "heads": HEADS, "width": WIDTH, "vocab": VOCABULARY, "tokens": CONTEXT, "batch": BATCH,
             "steps": COUNTED_STEPS, "warmup": WARMUP_STEPS}
    text = outputOf(
        [sys.executable, arguments.peer, "--mode=single", f"--device={arguments.device}", "--compile",
         f"--dtype={computes}"] + [f"--{name}={value}" for name, value in sizes.items()], arguments,
        3 * arguments.program_limit)
    lines = text.strip().split("\n")
    if not lines[-1].startswith("{"):
        raise Failure(lastLines(text))
    return json.loads(lines[-1])


def timeGpt2(computes, arguments, directory, losses):
    """Returns (whether the first loss is near those of other types in `losses`, to which it is added; a text; the
    figures)."""
    ours, theirs, tokens = [], [], BATCH * CONTEXT
    for _ in range(arguments.rounds):
        ours.append(GptRun(computes, arguments, directory))
        if arguments.peer:
            theirs.append(timePeer(computes, arguments))
    seconds = [one for each in ours for one in each.seconds]
    median, best, one = statistics.median(seconds), min(seconds), ours[0]
    flops = 6 * one.parameters + 12 * LAYERS * WIDTH * CONTEXT  # per token; only products count
    text = (f"{BATCH} x {CONTEXT} tokens: median {tokens / median:.0f}, best {tokens / best:.0f} tokens/s; "
            f"{flops * tokens / median / 1e12:.1f} TFLOP/s; predicted {one.predicted} MB; first loss {one.loss:.5f}")
    peak = next((peaks[computes] for name, peaks in PEAK_TFLOPS.items() if name in (gpuName() or "")), None)
    if arguments.device == "cuda" and peak:
        text += f"; {flops * tokens / median / peak / 1e10:.1f}% of the tensor cores"
    if theirs:
        other = statistics.median(result["median_s"] for result in theirs), min(result["min_s"] for result in theirs)
        text += f"; {other[0] / median:.2f} x PyTorch compiled (best {other[1] / best:.2f})"
    losses.append(one.loss)
    return max(losses) - min(losses) <= 1e-2 * min(losses), text, {"ours_s": seconds, "peer": theirs}


def profileGpt2(computes, arguments, directory):
    """Returns (whether there is a profile, its three longest kinds of ops, its table)."""
    table = GptRun(computes, arguments, directory, "--profile=profile.json").profile
    return len(table) > 5, " | ".join(" ".join(line.split()) for line in table[2:5]), table


def jobsOf(arguments, directory):
    """Yields (name, function) for each check, the cheapest and most informative first. The function runs it."""
    if "kernels" in arguments.parts and arguments.device == "cuda":
        yield "every op", lambda: checkKernels(arguments)
    numbers = [(ranks, f", {ranks} rank{'s' if ranks > 1 else ''}") for ranks in map(int, arguments.ranks.split(","))]
    if "conformance" in arguments.parts:
        for ranks, suffix in numbers:
            yield "conformance" + suffix, lambda ranks=ranks: checkConformance(ranks, arguments, directory)
    if "examples" in arguments.parts:
        for example in EXAMPLES:
            for ranks, suffix in numbers:
                yield example + suffix, lambda example=example, ranks=ranks: checkExample(example, ranks, arguments,
                                                                                          directory)
    if "figures" in arguments.parts:
        losses = []
        for computes in ("bf16", "f32"):
            yield f"GPT-2 124M in {computes}", lambda computes=computes: timeGpt2(
                computes, arguments, directory, losses)
        for computes in ("bf16", "f32"):
            yield f"profile in {computes}", lambda computes=computes: profileGpt2(computes, arguments, directory)
        yield "direct use of the device", lambda: compareWithBare(arguments, directory)


def runAll(arguments):
    """Runs all checks, and yields the rows of the table."""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "text"), "wb") as file, open(os.path.abspath(__file__), "rb") as source:
            file.write(source.read())
        for name, job in jobsOf(arguments, directory):
            started = time.monotonic()
            try:
                isRight, text, *figures = job()
            except Exception as failure:  # the other checks must still run
                isRight, text, figures = False, f"{type(failure).__name__}: {failure}", []
            seconds = round(time.monotonic() - started, 1)
            yield {"what": name, "passed": isRight, "found": text, "seconds": seconds, "figures": figures}


def write(rows, gpu, arguments):
    """Writes the rows so far. The file is complete at any time, since it is renamed from a temporary one."""
    content = {"date": str(datetime.date.today()), "device": arguments.device, "gpu": gpu, "rows": rows}
    with open(arguments.json + ".unfinished", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    os.replace(arguments.json + ".unfinished", arguments.json)


def main():
    arguments = parseArguments()
    gpu = gpuName()
    if arguments.device == "cuda" and gpu is None:
        sys.exit("check: error: nvidia-smi shows no GPU, so nothing was run; use --device=cpu to check only the bundle")
    print(f"{datetime.date.today()}  {arguments.device}  {gpu or platform.processor() or platform.machine()}",
          flush=True)
    rows = []
    write(rows, gpu, arguments)
    with open(arguments.log, "w", encoding="utf-8"):
        pass
    for row in runAll(arguments):
        rows.append(row)
        write(rows, gpu, arguments)
        print(f"{row['what']:24} {'passed' if row['passed'] else 'FAILED'}  {row['seconds']:5.1f} s  {row['found']}",
              flush=True)
    failed = sum(not row["passed"] for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not rows else 0)


if __name__ == "__main__":
    main()
