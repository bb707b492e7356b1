"""Reads PTX: the accesses of its functions, and what ptxas makes of them."""
import collections
import os
import re
import shutil
import subprocess
import sys

CHIP = "sm_90"
ACCESS = re.compile(r"\b(?:ld|st)\.global(?:\.nc)?(?:\.L1::\w+)?(?:\.(v2|v4))?\.[a-z]+(\d+)")


def entriesOf(ptx):
    """The body of each entry function, by name."""
    parts = re.split(r"\.entry (\w+)\(", ptx)
    return dict(zip(parts[1::2], parts[2::2]))


def bytesByWidth(body):
    """Bytes that one run of each global load and store moves, by how many at a time."""
    widths = collections.Counter()
    for vector, bits in ACCESS.findall(body):
        width = int(bits) // 8 * int(vector[1:] if vector else 1)
        widths[width] += width
    return widths


def wideShare(widths):
    total = sum(widths.values())
    return sum(count for width, count in widths.items() if width >= 16) / total if total else 1.0


def assemble(ptx, ptxas, directory):
    """Registers and spilled bytes, by function."""
    path = os.path.join(directory, "kernels.ptx")
    with open(path, "w") as file:
        file.write(ptx)
    command = [ptxas, "-v", "-arch=" + CHIP, path, "-o", path + ".cubin"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {result.returncode}: {result.stdout.strip()}")
    found, name, spills = {}, None, 0
    for line in result.stdout.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            name = match.group(1)
        if match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spills = int(match.group(1)) + int(match.group(2))
        if match := re.search(r"Used (\d+) registers", line):
            found[name] = (int(match.group(1)), spills)
    return found


def findPtxas():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [shutil.which("ptxas")] + [os.path.join(home, "bin", "ptxas") for home in homes if home]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)
