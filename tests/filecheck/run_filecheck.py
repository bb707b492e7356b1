#!/usr/bin/env python3
"""Runs .mlir tests the way LLVM's lit does: run_filecheck.py SPLITCAST_OPT FILE...

A test names its commands in lines '// RUN: COMMAND'; one that ends in a backslash goes on in the next. %s is the file, %S
its folder, %t a path of the test's own. Commands see splitcast-opt, FileCheck-19 and not; all of a pipeline must succeed.
Exits 1 if a command fails, or if a file could not fail: one without a RUN line, a command whose output nobody judges, a
FileCheck without a line that must match, diagnostics that are verified though none is expected.
"""
import os
import re
import subprocess
import sys
import tempfile

LLVM_BIN = "/usr/lib/llvm-19/bin"
RUN = re.compile(r"^\s*//\s*RUN:\s?(.*)$")
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")
EXPECTED = re.compile(r"//\s*expected-(error|warning|note|remark)")
# -NOT is left out: it holds for an empty output too.
POSITIVE = r"//\s*{}(-NEXT|-SAME|-DAG|-LABEL|-EMPTY|-COUNT-\d+)?:"


def commandsOf(text):
    """The RUN lines of a test, continued ones joined."""
    commands, isContinued = [], False
    for line in text.splitlines():
        match = RUN.match(line)
        if not match:
            continue
        part = match.group(1).strip()
        if isContinued:
            commands[-1] += " " + part.rstrip("\\").strip()
        else:
            commands.append(part.rstrip("\\").strip())
        isContinued = part.endswith("\\")
    return commands


def prefixesOf(command):
    """The check prefixes of each FileCheck in a command."""
    stages = [stage for stage in re.split(r"[|;]|&&", command) if "FileCheck" in stage]
    return [(match.group(1).split(",") if (match := PREFIXES.search(stage)) else ["CHECK"]) for stage in stages]


def reasonsNotToTrust(text):
    """Why the test could pass whatever the tool does."""
    commands, reasons = commandsOf(text), []
    if not commands:
        reasons.append("no '// RUN:' line")
    for command in commands:
        isVerified = "-verify-diagnostics" in command
        if isVerified and not EXPECTED.search(text):
            reasons.append(f"verifies diagnostics, but expects none: {command}")
        if not isVerified and "FileCheck" not in command:
            reasons.append(f"nothing judges the output of: {command}")
        for prefixes in prefixesOf(command):
            for prefix in prefixes:
                if not re.search(POSITIVE.format(re.escape(prefix)), text):
                    reasons.append(f"no line with the prefix {prefix} must match: {command}")
    return reasons


def toolsIn(folder, opt):
    """A folder of links to the tools, by the names that tests call them."""
    for name, path in (
        ("splitcast-opt", os.path.abspath(opt)),
        ("FileCheck-19", LLVM_BIN + "/FileCheck"),
        ("not", LLVM_BIN + "/not"),
    ):
        if not os.path.exists(path):
            sys.exit(f"run_filecheck: error: {path} does not exist; Debian's llvm-19-tools has FileCheck and not")
        os.symlink(path, os.path.join(folder, name))
    return folder


def run(path, tools, scratch):
    """The failures of one test, as text."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    failures = reasonsNotToTrust(text)
    replaced = {"%s": path, "%S": os.path.dirname(path), "%t": os.path.join(scratch, os.path.basename(path))}
    environment = dict(os.environ, PATH=tools + ":" + os.environ["PATH"])
    for command in commandsOf(text):
        for name, value in replaced.items():
            command = command.replace(name, value)
        result = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if result.returncode:
            failures.append(f"exit status {result.returncode}: {command}\n{result.stdout}")
    return failures


def main():
    opt, *files = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        tools = os.path.join(scratch, "bin")
        os.mkdir(tools)
        toolsIn(tools, opt)
        for path in files:
            failures = run(path, tools, scratch)
            failed += bool(failures)
            for failure in failures:
                print(f"{path}: {failure}")
    print(f"{len(files) - failed} of {len(files)} tests passed")
    sys.exit(1 if failed or not files else 0)


if __name__ == "__main__":
    main()
