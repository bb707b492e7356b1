#!/usr/bin/env python3
"""Compares the peak memory that is predicted of the examples, and of modules with large inputs, with what the system counts.

    python3 benchmarks/memory.py [--only=MODEL] [--stages=0,1,2,3] [--ranks=2,3] [--transports=messages,memory]

Run from the root of the project, after `bazel build //examples/... //compiler/tools/...`. On 2 ranks tensors are split one by
one, on other numbers by bucket; batches do not divide by 3. Each model runs as a user runs it, small and large: what the
high-water mark of each rank's process, without pages of files, rises by from the one to the other is held against what the
predicted peak of that rank rises by. Only so is what any process holds (libraries, the compiler's modules) left out. The
prediction is splitcast-opt's, of the module that the program itself wrote, and rank 0's must be what its --report says. To it
comes what library calls hold on this processor, which no plan knows and rank 0 reports. What a rank maps of others the system
counts as its own. Ranks report it: of what they read, some megabytes, the most they had mapped at a time; of memory that they
share, the blocks of others, which are there all the time. Over messages they map nothing.

Prints a table, and exits 1 when what a rank has less what was predicted is surely below LEAST_MB or above MOST_MB.
"""
import argparse
import itertools
import os
import re
import sys
import tempfile

from launch import fail, mpirun, run, runMeasured

# What one run frees before its peak and another does not.
LEAST_MB = -1.5
# The C library's, and the plan's own text. A twentieth of any of these peaks is more.
MOST_MB = 2
# While oneDNN's sgemm runs it copies operands in parts, of at most 15.9 MB per thread, which shows where products are large at
# the peak, and of which it tells nobody: with AVX2 the classifier has 7 MB more than predicted, with AVX-512 nothing.
MOST_MB_OF_PRODUCTS = 16
LARGE_PRODUCTS = ("classifier", "gpt")
# What oneDNN frees, the C library keeps some of for the next product, which is nobody's buffer; unless it is told this.
GIVE_BACK = ["-x", "MALLOC_MMAP_THRESHOLD_=1048576"]

SMALL_TEXT = "--text=/usr/share/common-licenses/GPL-3"
# Each program with what makes it large, and what makes it small with as many ops. Small ones, too, have products of more than
# 128 rows: oneDNN generates its sgemm's code, 3.4 MB with AVX-512, at the first of them.
EXAMPLES = {
    "recipe": (["--layers=10", "--width=2000"], ["--layers=10", "--width=144"]),
    "classifier": (["--hidden=100000"], ["--hidden=144"]),
    "text_model": ([SMALL_TEXT, "--batch=100", "--window=50", "--width=100", "--hidden=8000"],
                   [SMALL_TEXT, "--batch=100", "--window=5", "--width=8", "--hidden=144"]),
    "gpt": ([SMALL_TEXT, "--batch=7", "--layers=4", "--width=768", "--heads=12", "--context=128", "--sample=3"],
            [SMALL_TEXT, "--batch=7", "--layers=4", "--width=144", "--heads=12", "--context=16", "--sample=3"]),
}
# Inputs by name: rows, columns, small columns. The second lies on 3 ranks as 334, 333 and 333 rows, and nothing reads @unused.
INPUTS = {
    "inputs": {"x": (4096, 4096, 16), "y": (4096, 12288, 16)},
    "inputs_unused": {"x": (1000, 50000, 16), "unused": (1000, 16800, 16)},
}


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="bazel-bin")
    parser.add_argument("--only", choices=[*EXAMPLES, *INPUTS], help="one model; all without it")
    parser.add_argument("--stages", default="0,1,2,3")
    parser.add_argument("--ranks", default="2,3")
    parser.add_argument("--transports", default="messages,memory")
    return parser.parse_args()


class Setting:
    """Where and how a model runs: programs, ranks, ZeRO."""

    def __init__(self, arguments, directory, ranks, stage, transport):
        self.bin, self.directory, self.ranks, self.transport = arguments.bin, directory, ranks, transport
        self.zero = f"stage={stage},strategy={'tensor' if ranks == 2 else 'bucket'}"

    def flags(self, steps):
        return [f"--steps={steps}", f"--enable-zero={self.zero}", "--threads=1", "--report", f"--transport={self.transport}",
                f"--kernel-cache={self.directory}/kernels"]

    def predicted(self, module, rank):
        """The peak in MB."""
        shares = self.transport == "memory"
        zero = f"{self.zero.replace(',', ' ')} one-copy={'yes' if shares else 'no'}"
        text = run([f"{self.bin}/compiler/tools/splitcast-opt", module, f"--enable-zero={zero}", f"--sbp-localize=rank={rank}",
                    "--local-pipeline", "--exec-lower"] + ["--exec-share-gathers"] * shares +
                   ["--exec-report", "-o", "/dev/null"], withErrors=True)
        peaks = set(re.findall(r"^  peak +([0-9.]+) MB$", text, re.MULTILINE))
        if len(peaks) != 1:
            fail(f"rank {rank} of {module}: expected one peak for all functions, found {sorted(peaks)}")
        return float(peaks.pop())

    def measure(self, command, module, steps):
        """(predicted, counted, mapped of others) of each rank in MB, of a run whose kernels an earlier one has compiled."""
        launcher = mpirun(self.ranks) + ["--mca", "mpi_yield_when_idle", "1"] + GIVE_BACK
        run(launcher + command + self.flags(0))
        text, measured = runMeasured(launcher, command + self.flags(steps), how=["--without-files"])
        predicted = [self.predicted(module, rank) for rank in range(self.ranks)]
        if (said := re.search(r"predicted peak ([0-9.]+) MB", text)[1]) != f"{predicted[0]:.3f}":
            fail(f"rank 0 of {module}: --report says {said} MB, splitcast-opt {predicted[0]:.3f} MB")
        scratch = re.search(r"^scratch of library calls.*: ([0-9.]+) MB$", text, re.MULTILINE)
        viewed, shared = (self.ofRanks(module, text, what) for what in (
            "most memory of other ranks that was mapped", "blocks of other ranks in shared memory"))
        return [(peak + (float(scratch[1]) if scratch else 0), counted - ofAll, of)
                for peak, counted, of, ofAll in zip(predicted, measured, viewed, shared)]

    def ofRanks(self, module, text, what):
        """Numbers of MB that a run printed at its end, by rank."""
        found = re.search(rf"^{what}, by rank: (.*)$", text, re.MULTILINE)[1].split(", ")
        if len(found) != self.ranks:
            fail(f"{module}: {len(found)} of {self.ranks} ranks say what they had of others")
        return [float(number.removesuffix(" MB")) for number in found]


def risesOf(large, small):
    """Of each rank in MB: by how much its own memory rises more than is predicted, (at least, at most). What it had mapped of
    others at most, the system has counted too, but perhaps not when the rank's own memory was at its peak."""
    rises = []
    for (predicted, counted, viewed), (smallPredicted, smallCounted, smallViewed) in zip(large, small):
        more = counted - smallCounted - (predicted - smallPredicted)
        rises.append((more - viewed, more + smallViewed))
    return rises


def measureExample(setting, name):
    """The large one's, and by how much its counted peak rises above the small one's more than is predicted: see risesOf."""
    module = f"{setting.directory}/{name}.mlir"
    command = [f"{setting.bin}/examples/{name}/{name}", f"--write-mlir={module}"]
    large, small = (setting.measure(command + flags, module, 2) for flags in EXAMPLES[name])
    return large, risesOf(large, small)


def inputModule(name, ranks, isLarge):
    columns = {what: sizes[1] if isLarge else sizes[2] for what, sizes in INPUTS[name].items()}
    rows = next(iter(INPUTS[name].values()))[0]
    text = [f'#p = #sbp.placement<"cpu", [dp = {ranks}]>', "#S0 = #sbp.nd<#p, [S(0)]>",
            f"sbp.variable @w : tensor<{columns['x']}x8xf32, #sbp.nd<#p, [B]>> init #sbp.constant<0.5>"]
    values = [f'%{what}: tensor<{rows}x{count}xf32, #S0> {{sbp.name = "{what}"}}' for what, count in columns.items()]
    results = "%l, %s" if "y" in columns else "%l"
    text += [f"func.func @train({', '.join(values)}) -> ({', '.join('tensor<f32>' for _ in results.split(','))}) {{",
             f"  %w = sbp.read @w : tensor<{columns['x']}x8xf32>",
             f"  %h = nn.matmul %x, %w : (tensor<{rows}x{columns['x']}xf32, #S0>, tensor<{columns['x']}x8xf32>) -> "
             f"tensor<{rows}x8xf32>",
             f"  %l = nn.reduce_sum %h {{dims = array<i64: 0, 1>}} : (tensor<{rows}x8xf32>) -> tensor<f32>"]
    if "y" in columns:
        text.append(f"  %s = nn.reduce_sum %y {{dims = array<i64: 0, 1>}} : (tensor<{rows}x{columns['y']}xf32, #S0>) -> "
                    "tensor<f32>")
    text += ["  nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5>",
             f"  return {results} : {', '.join('tensor<f32>' for _ in results.split(','))}", "}"]
    return "\n".join(text) + "\n"


def writeZeros(path, shape):
    """A .npy file of f32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.truncate(file.tell() + 4 * shape[0] * shape[1] * shape[2])


def measureInputs(setting, name):
    both = []
    for isLarge in (True, False):
        module = f"{setting.directory}/{name}.mlir"
        with open(module, "w", encoding="utf-8") as file:
            file.write(inputModule(name, setting.ranks, isLarge))
        command = [f"{setting.bin}/compiler/tools/splitcast-run", module]
        for what, (rows, large, small) in INPUTS[name].items():
            path = f"{setting.directory}/{what}.npy"
            writeZeros(path, (1, rows, large if isLarge else small))
            command.append(f"--input={what}={path}")
        both.append(setting.measure(command, module, 1))
    return both[0], risesOf(*both)


def main():
    arguments = parseArguments()
    wrong = []
    print("| model | ranks | stage | transport | predicted peak with scratch, MB | counted | counted less predicted |\n"
          "|---|---|---|---|---|---|---|")
    names = [arguments.only] if arguments.only else [*EXAMPLES, *INPUTS]
    for name, ranks, stage, transport in itertools.product(names, arguments.ranks.split(","), arguments.stages.split(","),
                                                           arguments.transports.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            setting = Setting(arguments, directory, int(ranks), int(stage), transport)
            large, rises = (measureExample if name in EXAMPLES else measureInputs)(setting, name)
        most = MOST_MB_OF_PRODUCTS if name in LARGE_PRODUCTS else MOST_MB
        # The peak itself, and the same with what the small model shows beside its own peak taken off.
        row = [", ".join(f"{predicted:,.1f}" for predicted, _, _ in large),
               ", ".join(f"{predicted + least:,.1f}" for (predicted, _, _), (least, _) in zip(large, rises)),
               ", ".join(f"{least:+.1f}" if least == atMost else f"{least:+.1f} to {atMost:+.1f}" for least, atMost in rises)]
        print(f"| {name} | {ranks} | {stage} | {transport} | {' | '.join(row)} |", flush=True)
        wrong += [f"{name} on {ranks} ranks at stage {stage} over {transport}: rank {rank} has {least:+.1f} to {atMost:+.1f} "
                  f"MB, where {LEAST_MB} to {most:+} are allowed; look for what is held and not reported, or reported and not "
                  "held" for rank, (least, atMost) in enumerate(rises) if not (LEAST_MB <= atMost and least <= most)]
    for text in wrong:
        print(f"memory: error: {text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
