"""Imports run one way: who may include whom, folder by folder, and which of BUILD files' labels are legal.

A room is a folder with a line in this table; a path belongs to the longest room that contains it. Each folder of the
product is a room of its own: a new one needs a line here, which says what is true in it.
"""
import os
import re

ALGEBRA = {"dialects/sbp/algebra"}
SBP = {"dialects/sbp"} | ALGEBRA
COLLECTIVES = {"dialects/ccl/algebra"} | ALGEBRA
DIALECTS = {"dialects/ccl", "dialects/exec", "dialects/nn"} | SBP | COLLECTIVES
PASSES = {"passes/global", "passes/local", "passes/plan"}

# What a room may use besides itself.
MAY_USE = {
    # ---- What can be said ----
    "dialects/sbp/algebra": set(),
    "dialects/sbp": ALGEBRA,
    # Ops say which calls of a library they become.
    "dialects/nn": {"dialects/exec"} | SBP,
    # What a collective is, to the plan and to those that do it.
    "dialects/ccl/algebra": ALGEBRA,
    "dialects/ccl": SBP | COLLECTIVES,
    "dialects/exec": SBP | COLLECTIVES,
    # ---- A level and the one above it; none knows who runs it ----
    # What a transport takes for a boxing is a cost of signatures; collectives themselves come later.
    "passes/global": {"dialects/nn"} | SBP | COLLECTIVES,
    "passes/local": {"passes/global", "dialects/nn", "dialects/ccl"} | SBP | COLLECTIVES,
    "passes/plan": {"passes/local"} | DIALECTS,
    # ---- How a plan is run: knows no graph and no pass ----
    "runtime/process": set(),
    "runtime/codegen": set(),
    # The contract, and what all who implement it would say in the same words.
    "runtime/api": {"dialects/exec"} | COLLECTIVES,
    "runtime/io": {"runtime/api"},
    # Sees devices and ranks through the contract alone.
    "runtime/executor": {"runtime/api", "runtime/io", "runtime/process", "dialects/exec"} | SBP | COLLECTIVES,
    # Who implements the contract. None of them includes another, but for those who move what lies on a device: NCCL that
    # of CUDA's, and ranks that read each other's memory that of the host's.
    "runtime/host/communicator": {"runtime/api", "runtime/process"} | COLLECTIVES,
    "runtime/workers": set(),
    "runtime/pull": {"runtime/api", "runtime/host", "runtime/io", "runtime/process"},
    "runtime/host/jit": {"runtime/api", "runtime/codegen", "runtime/io", "runtime/workers", "dialects/exec"},
    "runtime/host/calls": {"runtime/api", "runtime/workers", "dialects/exec"},
    "runtime/host": {"runtime/api", "runtime/workers", "runtime/host/calls", "runtime/host/jit"},
    "runtime/mpi": {"runtime/api", "runtime/process"},
    "runtime/tcp": {"runtime/api", "runtime/process"},
    "runtime/gpu": {"runtime/api", "runtime/codegen", "runtime/io", "dialects/exec"} | ALGEBRA,
    "runtime/cuda": {"runtime/api", "runtime/gpu", "runtime/process", "dialects/exec"},
    "runtime/nccl": {"runtime/api", "runtime/gpu", "runtime/cuda", "runtime/process"} | COLLECTIVES,
    # The one place that knows all kinds of jobs.
    "runtime/job": {"runtime/api", "runtime/mpi", "runtime/tcp"},
    # ---- From a model to a plan, and to ranks that run it ----
    # To compile needs no runtime.
    "compiler": DIALECTS | PASSES,
    "compiler/graph": {"compiler", "dialects/nn", "runtime/api", "runtime/io"} | SBP,
    # The one place that knows all kinds of devices.
    "compiler/launch": {
        "compiler",
        "passes/global",
        "passes/plan",
        "dialects/exec",
        "dialects/nn",
        "runtime/api",
        "runtime/cuda",
        "runtime/executor",
        "runtime/host",
        "runtime/host/communicator",
        "runtime/io",
        "runtime/job",
        "runtime/nccl",
        "runtime/process",
        "runtime/pull",
    } | SBP,
    # What an editor shows is said by the module itself: it needs no pass.
    "compiler/language_server": set(DIALECTS),
    "compiler/tools": {
        "compiler",
        "compiler/graph",
        "compiler/language_server",
        "compiler/launch",
        "dialects/exec",
        "dialects/nn",
        "runtime/gpu",
        "runtime/io",
    } | PASSES | SBP,
    "compiler/python": {
        "compiler",
        "compiler/graph",
        "compiler/launch",
        "dialects/nn",
        "runtime/api",
        "runtime/io",
        "runtime/job",
    },
    # ---- What a user writes ----
    "examples": {"compiler/graph", "compiler/launch", "runtime/io"},
    # They take a plan apart, and time its ops beside what does the same alone.
    "benchmarks": {
        "compiler",
        "compiler/graph",
        "compiler/launch",
        "compiler/tools",
        "dialects/exec",
        "runtime/executor",
        "runtime/host",
    },
    # ---- Who judges ----
    # The oracle runs the levels from their dialects; it shares nothing with the passes and the runtime that it judges.
    "tests/reference": DIALECTS,
    "tests/reference/tests": {"tests/reference", "tests/vectors"} | DIALECTS,
    "tests/vectors": set(),
}
# Tests look everywhere, and nothing else looks at them.
MAY_USE["tests"] = set(MAY_USE)

PRODUCT = {"compiler", "dialects", "passes", "runtime"}

# The runtime reads the algebra, and whoever waits asks the process: neither may bring MLIR there.
WITHOUT_MLIR = {"dialects/sbp/algebra", "dialects/ccl/algebra", "runtime/process"}
MLIR = ("mlir/", "llvm/", "@llvm//")

# Who may use a library, by the beginnings of its headers and labels: some machines lack it, and another may replace it.
ONLY_IN = {
    ("cuda_runtime_api.h", "cublasLt.h", "cudnn.h", "nccl.h", "@cuda//:"): {"runtime/cuda", "runtime/nccl", "tests"},
    ("mpi.h", "@openmpi//"): {"runtime/mpi", "tests"},
    ("dnnl.h", "//third_party:dnnl"): {"runtime/host/calls", "benchmarks"},
    ("openssl/",): {"runtime/tcp"},
}

INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]')
LABEL = re.compile(r'"(?:@splitcast)?((?:@\w+)?//[^"]*)"')


def roomOf(path):
    """The longest room that contains the path, or None: the path is not of the project's layers."""
    rooms = [room for room in MAY_USE if path == room or path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def usesOf(path, line):
    """Headers, or labels, that a line of the file refers to."""
    if path.endswith("BUILD"):
        # Visibility points in any direction; what is loaded says how to build, not with what.
        return [] if "visibility" in line or "__" in line or line.startswith("load(") else LABEL.findall(line)
    match = INCLUDE.match(line)
    return [match.group(1)] if match else []


def objection(room, used):
    """Why files of the room may not use that header or label, or None."""
    usedRoom = roomOf(used[2:].split(":")[0] if used.startswith("//") else used)
    if usedRoom is not None and usedRoom != room and usedRoom not in MAY_USE[room]:
        allowed = ", ".join(sorted(MAY_USE[room])) or "nothing but itself"
        return f"{room} may not use '{used}' (of {usedRoom}); it may use {allowed}"
    if room in WITHOUT_MLIR and used.startswith(MLIR):
        return f"{room} is C++ without MLIR, but uses '{used}'"
    for beginnings, rooms in ONLY_IN.items():
        if used.startswith(beginnings) and room not in rooms:
            return f"{room} may not use '{used}', a library of {', '.join(sorted(rooms))}"
    return None


def check(path, text):
    """Findings, as 'path:line: message', in the text of the file at this path of the project."""
    if not path.endswith((".h", ".cc", ".td", ".cu", "BUILD")):
        return []
    folder = os.path.dirname(path)
    if path.split("/")[0] in PRODUCT and folder not in MAY_USE:
        return [f"{path}:1: '{folder}' has no line in the table of tests/lint/layers.py; say there what it may use"]
    room = roomOf(path)
    if room is None:
        return []
    findings = []
    for number, line in enumerate(text.split("\n"), 1):
        for used in usesOf(path, line):
            reason = objection(room, used)
            if reason:
                findings.append(f"{path}:{number}: {reason}")
    return findings
