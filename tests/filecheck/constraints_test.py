#!/usr/bin/env python3
"""Every constraint that a description labels has a test on each side of its bound.

For 'C2' of 'boxing' in dialects/sbp, a section (between // -----) of a test in tests/dialects/sbp that names @boxing_c2
and expects an error, and one that names @boxing_c2_legal and expects none. Attributes, interfaces and passes likewise.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
import descriptions


def sectionsOf(texts):
    return [section for text in texts.values() for section in re.split(r"^// -----.*$", text, flags=re.M)]


def missing(entry, sections):
    """What the labels of an entry lack, as text."""
    found = []
    for label in entry.labels:
        name = f"@{entry.name}_{label.lower()}"
        bad = [s for s in sections if re.search(re.escape(name) + r"\b", s) and "expected-error" in s]
        good = [s for s in sections if re.search(re.escape(name) + r"_legal\b", s) and "expected-error" not in s]
        if not bad:
            found.append(f"{name}: no section of that name expects an error")
        if not good:
            found.append(f"{name}_legal: no section of that name, without an error")
    return found


def findingsIn(root):
    """(number of labels, findings)"""
    labels, findings = 0, []
    for entry in descriptions.entries(root):
        folder = os.path.join("tests", os.path.dirname(entry.path))
        labels += len(entry.labels)
        for finding in missing(entry, sectionsOf(descriptions.testsOf(root, folder))):
            findings.append(f"{entry.path}: {folder}: {finding}")
    return labels, findings


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    labels, findings = findingsIn(root)
    print("\n".join(findings))
    print(f"{len(findings)} findings for {labels} constraints")
    sys.exit(1 if findings or not labels else 0)


if __name__ == "__main__":
    main()
