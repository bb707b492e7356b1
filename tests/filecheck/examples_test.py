#!/usr/bin/env python3
"""The IR in descriptions is that of tests.

A snippet comes from the test that its description names ('From tests/...'), or from any of the tests of its dialect; not
from a test of errors, unless it is that of a pass. What it calls 'before' is input there, what it calls 'after' is a line
that FileCheck looks for; FileCheck's variables stand for their names, '...' for anything. Every op and every pass has such
an example; that of an op shows the op.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
import descriptions


def isWithoutExample(entry):
    if entry.op:
        return not any(re.search(re.escape(entry.op) + r"(?![\w.])", line) for line, _ in entry.snippet)
    return entry.path.startswith("passes/") and not entry.snippet


def missing(entry, texts):
    """What the snippet of an entry lacks, as text."""
    if isWithoutExample(entry):
        return [f"'{entry.op or entry.name}' shows no example: a block of ```mlir in its description"]
    if entry.source and entry.source not in texts:
        return [f"'{entry.name}' cites {entry.source}, which does not exist"]
    given, checked, findings = [], [], []
    tests = [texts[entry.source]] if entry.source else texts.values()
    if not entry.path.startswith("passes/"):
        tests = [text for text in tests if "-verify-diagnostics" not in text]
    for text in tests:
        more = descriptions.linesOf(text)
        given += more[0]
        checked += more[1]
    for line, state in entry.snippet:
        lines = {"before": given, "after": checked}.get(state, given + checked)
        if not descriptions.occurs(line, lines):
            where = entry.source or "the tests"
            findings.append(f"'{entry.name}' shows, {state or 'as text'}, what is not in {where}:\n    {line}")
    return findings


def findingsIn(root):
    """(number of lines of snippets, findings)"""
    lines, findings = 0, []
    for entry in descriptions.entries(root):
        folder = os.path.join("tests", os.path.dirname(entry.path))
        lines += len(entry.snippet)
        findings += [f"{entry.path}: {finding}" for finding in missing(entry, descriptions.testsOf(root, folder))]
    return lines, findings


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    lines, findings = findingsIn(root)
    print("\n".join(findings))
    print(f"{len(findings)} findings in {lines} lines")
    sys.exit(1 if findings or not lines else 0)


if __name__ == "__main__":
    main()
