"""Computes on paper how long each kernel and library call of a step takes at least on a GPU, without one.

    python3 benchmarks/gpu_roofline.py MODULE.mlir [--function=train] [--enable-zero=stage=0,...] [--bytes-per-s=4.0e12]
                                       [--flops-per-s=8.0e14] [--processors=132]

MODULE.mlir is a module at the global level, such as `gpt --steps=0 --write-mlir=FILE` writes; its placement is taken to
be of GPUs. An op takes the longer of two times: its bytes (each range that it reads or writes, once) at the rate of
memory, and its FLOPs, which only library calls are taken to have, at that of the tensor cores. Ops on the same kernel
are one row: how often it runs, its bytes and time per step, the blocks of its launches, and, where ptxas is found, its
registers, spilled bytes and the share of bytes that its loads and stores name 16 at a time. A kernel that moves more
than 1 MB should fill the device: rows whose largest launch has fewer blocks than --processors are marked with '<'.

Run from the root of the project, after `bazel build //compiler/tools:splitcast-opt //compiler/tools:splitcast-kernels`.
"""
import argparse
import collections
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/gpu"))
import ptx_reading

RANGE = re.compile(r"#exec\.range<\w+, \d+, (\d+)>")
OP = re.compile(r"^\s*exec\.(launch|library|copy|clear) (.*)$")
FIELDS = re.compile(r"(\w+) = (\d+|true|false)")
SHAPES = re.compile(r"(\w+) = \[([\d, ]+)\]")


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--function", default="train")
    parser.add_argument("--enable-zero", default="stage=0")
    parser.add_argument("--bytes-per-s", type=float, default=4.0e12)
    parser.add_argument("--flops-per-s", type=float, default=8.0e14)
    parser.add_argument("--processors", type=int, default=132)
    parser.add_argument("--bin", default="bazel-bin")
    return parser.parse_args()


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(
            f"gpu_roofline: error: {' '.join(command)} exited with {result.returncode}: {result.stderr.strip()[-2000:]}"
        )
    return result.stdout


def flopsOf(call):
    """The multiplications and additions of a library call's products."""
    fields = {name: int(value) for name, value in FIELDS.findall(call) if value.isdigit()}
    if call.startswith("#exec.matmul"):
        return 2 * fields["m"] * fields["n"] * fields["k"] * fields.get("products", 1)
    if call.startswith("#exec.attention"):
        pairs = fields["samples"] * fields["heads"] * fields["positions"] * fields["keys"]
        isHalf = "causal = true" in call and fields["positions"] == fields["keys"]
        products = 5 if "gradient = true" in call else 2
        return products * 2 * pairs * fields["width"] // (2 if isHalf else 1)
    if call.startswith("#exec.convolution"):
        shapes = {name: [int(size) for size in sizes.split(",")] for name, sizes in SHAPES.findall(call)}
        return 2 * math.prod(shapes["output"]) * math.prod(shapes["weight"][1:])
    return 0


def bytesOf(text):
    """Each range that an op reads or writes; a result that is computed in place is also read."""
    writes = [int(size) for size in RANGE.findall(text[text.index(" writes ") :])] if " writes " in text else []
    inPlace = re.search(r"in_place = array<i64: ([-\d, ]+)>", text)
    again = [writes[int(index)] for index in inPlace.group(1).split(",") if int(index) >= 0] if inPlace else []
    return sum(int(size) for size in RANGE.findall(text)) + sum(again)


def opsOf(plan, function):
    """(what, bytes, FLOPs) of each op of the function's plan that the device executes."""
    isInside = False
    for line in plan.splitlines():
        if match := re.match(r"\s*exec\.plan @(\w+)", line):
            isInside = match.group(1) == function
        elif isInside and (match := OP.match(line)):
            kind, text = match.groups()
            if kind == "launch":
                yield re.match(r"@kernels::@(\w+)", text).group(1), bytesOf(text), 0
            elif kind == "library":
                call = text[: text.index(" reads ")]
                yield re.sub(r", workspace = \d+|, scale = [\d.e-]+", "", call), bytesOf(text), flopsOf(call)
            else:
                yield kind, bytesOf(text), 0


def launchesOf(plan):
    """By kernel, the blocks of each of its launches."""
    blocks, kernel, constants = collections.defaultdict(list), None, {}
    for line in plan.splitlines():
        if match := re.match(r"\s*func\.func @(\w+)\(", line):
            kernel = match.group(1)
        elif match := re.match(r"\s*(%\w+) = arith\.constant (\d+) : index", line):
            constants[match.group(1)] = int(match.group(2))
        elif match := re.search(r"gpu\.launch blocks\([^)]*\) in \(%\w+ = (%\w+), %\w+ = (%\w+), %\w+ = (%\w+)\)",
                                line):
            blocks[kernel].append(constants[match.group(1)] * constants[match.group(2)] * constants[match.group(3)])
    return blocks


def assembledOf(arguments, module, directory):
    """By kernel, (registers, spilled bytes, share of bytes moved 16 at once) of its worst launch; without ptxas {}."""
    text = run(f"{arguments.bin}/compiler/tools/splitcast-kernels", module, f"--enable-zero={arguments.enable_zero}")
    ptxas = ptx_reading.findPtxas()
    functions = ptx_reading.assemble(text, ptxas, directory) if ptxas else {}
    entries, found = ptx_reading.entriesOf(text), {}
    for kernel, names in re.findall(r"^// (\w+)((?: f\d+)*)$", text, re.MULTILINE):
        names = names.split()
        if names and functions:
            widths = sum((ptx_reading.bytesByWidth(entries[name]) for name in names), collections.Counter())
            found[kernel] = (max(functions[n][0] for n in names), sum(functions[n][1] for n in names),
                             ptx_reading.wideShare(widths))
    return found


def main():
    arguments = parseArguments()
    with tempfile.TemporaryDirectory() as directory:
        module = os.path.join(directory, "module.mlir")
        with open(arguments.module, encoding="utf-8") as source, open(module, "w", encoding="utf-8") as target:
            target.write(source.read().replace('placement<"cpu"', 'placement<"cuda"'))
        options = arguments.enable_zero.replace(",", " ")
        plan = run(f"{arguments.bin}/compiler/tools/splitcast-opt", module, f"--enable-zero={options}",
                   "--sbp-localize=rank=0", "--local-pipeline", "--exec-lower")
        assembled = assembledOf(arguments, module, directory)
    launches = launchesOf(plan)
    rows = collections.defaultdict(lambda: [0, 0, 0, 0.0])
    ops = list(opsOf(plan, arguments.function))
    if not ops:
        sys.exit(f"gpu_roofline: error: the module has no function '{arguments.function}' that does anything")
    for what, size, flops in ops:
        row = rows[what]
        row[0] += 1
        row[1] += size
        row[2] += flops
        row[3] += max(size / arguments.bytes_per_s, flops / arguments.flops_per_s)
    print(
        f"{'ms':>8} {'runs':>5} {'MB':>9} {'GFLOP':>8} {'blocks':>14} {'registers':>9} {'spilled':>7} {'wide':>5}  what"
    )
    for what, (count, size, flops, seconds) in sorted(rows.items(), key=lambda row: -row[1][3]):
        grid = launches.get(what, [])
        mark = "<" if grid and size / count > 1e6 and max(grid) < arguments.processors else ""
        registers, spilled, share = assembled.get(what, ("", "", None))
        blocks = ",".join(map(str, grid)) + mark
        print(
            f"{seconds * 1e3:8.3f} {count:5} {size / 1e6:9.1f} {flops / 1e9:8.1f} {blocks:>14} "
            f"{registers:>9} {spilled:>7} {'' if share is None else f'{share:.0%}':>5}  {what}")
    for title, isMember in (("kernels", lambda what: what in launches),
                            ("products and other calls", lambda what: "#" in what), ("all", lambda what: True)):
        members = [row for what, row in rows.items() if isMember(what)]
        print(f"{sum(row[3] for row in members) * 1e3:8.3f} {sum(row[0] for row in members):5} "
              f"{sum(row[1] for row in members) / 1e6:9.1f} {sum(row[2] for row in members) / 1e9:8.1f}  {title}")


main()
