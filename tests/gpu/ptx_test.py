"""Compiles the kernels of all examples for a GPU, assembles them where ptxas is found, and prints a table of them.

    ptx_test.py KERNELS_TOOL EXAMPLE...

Fails when a kernel spills registers, when arithmetic is approximate (but for what exp and tanh are made of,
runtime/gpu/MathUnits.h), or when less than WIDE_SHARE of the bytes that an example's load and store instructions name are
moved 16 at a time. Without ptxas it says so, and checks the PTX alone.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ptx_reading import CHIP, assemble, bytesByWidth, entriesOf, findPtxas, wideShare

MATH_UNITS = {"ex2.approx.ftz.f32", "rcp.approx.ftz.f32"}
WIDE_SHARE = 0.4  # embeddings, attention and sums over rows move 4 bytes per thread, side by side
TEXT = "/usr/share/common-licenses/GPL-3"
ARGUMENTS = {"gpt": ["--sample=0", "--dropout=0.1"], "text_model": [], "classifier": [], "recipe": ["--layers=2"]}


def fail(text):
    sys.exit(f"ptx_test: {text}")


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        fail(f"{' '.join(command)} exited with {result.returncode}: {result.stderr.strip()}")
    return result


def moduleOf(example, directory):
    """The example's module, on two GPUs."""
    name = os.path.basename(example)
    path = os.path.join(directory, name + ".mlir")
    text = ["--text=" + TEXT] if name in ("gpt", "text_model") else []
    run([example, "--steps=1", "--write-mlir=" + path] + text + ARGUMENTS[name])
    with open(path) as file:
        module = file.read()
    moved = re.sub(r'placement<"cpu", \[dp = 1\]>', 'placement<"cuda", [dp = 2]>', module)
    if moved == module:
        fail(f"the module of {name} has no placement of one processor")
    with open(path, "w") as file:
        file.write(moved)
    return path


def checkAccesses(name, ptx):
    entries = entriesOf(ptx)
    if not entries:
        return f"{name} has no kernels"
    approximate = set(re.findall(r"\b\w+\.approx\S*", ptx)) - MATH_UNITS
    if approximate:
        return f"{name} computes with {min(approximate)}"
    widths = sum((bytesByWidth(body) for body in entries.values()), collections.Counter())
    if wideShare(widths) < WIDE_SHARE:
        return f"{name} moves {wideShare(widths):.0%} of its bytes 16 at a time; at least {WIDE_SHARE:.0%} are wanted"
    return None


def check(tool, example, ptxas, directory):
    name = os.path.basename(example)
    ptx = run([tool, moduleOf(example, directory), "--enable-zero=stage=2", "--chip=" + CHIP]).stdout
    if wrong := checkAccesses(name, ptx):
        fail(wrong)
    if not checkAccesses(name, ptx.replace(".v4.", ".")) or not checkAccesses(name, ptx + "sqrt.approx.f32"):
        fail("narrow accesses or approximate arithmetic would not be noticed")
    assembled = assemble(ptx, ptxas, directory) if ptxas else {}
    entries = entriesOf(ptx)
    if ptxas and set(assembled) != set(entries):
        fail(f"ptxas says nothing of {sorted(set(entries) - set(assembled))}")
    for function, body in sorted(entries.items(), key=lambda entry: int(entry[0][1:])):
        widths = bytesByWidth(body)
        registers, spills = assembled.get(function, ("-", "-"))
        print(f"{name:12} {function:5} {registers:>9} {spills:>7} {wideShare(widths):10.0%}   "
              f"{' '.join(str(width) for width in sorted(widths))}")
    if spilled := [function for function, (_, spills) in assembled.items() if spills]:
        fail(f"{name}: {', '.join(spilled)} spill registers")
    widths = sum((bytesByWidth(body) for body in entries.values()), collections.Counter())
    print(f"{name}: {len(entries)} kernels, {wideShare(widths):.0%} of the bytes 16 at a time")
    return len(entries)


CAST = """#p = #sbp.placement<"cuda", [dp = 1]>
#B = #sbp.nd<#p, [B]>
func.func @cast(%x: tensor<4096xf32, #B>) -> tensor<4096xbf16> {
  %y = nn.cast %x : (tensor<4096xf32, #B>) -> tensor<4096xbf16>
  return %y : tensor<4096xbf16>
}
"""


def checkCast(tool, directory):
    """A thread of a cast to bf16 loads its elements at once."""
    path = os.path.join(directory, "cast.mlir")
    with open(path, "w") as file:
        file.write(CAST)
    loads = re.findall(r"ld\.global\S*", run([tool, path, "--chip=" + CHIP]).stdout)
    if loads != ["ld.global.nc.v4.f32"]:
        fail(f"a cast loads by {loads}")


def main():
    tool, examples = sys.argv[1], sys.argv[2:]
    ptxas = findPtxas()
    print(f"{'example':12} {'entry':5} {'registers':>9} {'spilled':>7} {'16 bytes':>10}   widths of accesses, in bytes")
    with tempfile.TemporaryDirectory() as directory:
        checkCast(tool, directory)
        count = sum(check(tool, example, ptxas, directory) for example in examples)
    print(f"{count} kernels for {CHIP}" + ("" if ptxas else "; no ptxas was found, so none was assembled"))


main()
