"""Whether planted bugs still apply: each hunk of a patch in tests/property/mutations has its old lines in its file."""
import glob
import os
import re

FOLDER = "tests/property/mutations"


def hunksOf(text):
    """(file, old lines) of each hunk."""
    hunks, path = [], ""
    for line in text.splitlines():
        if line.startswith("--- a/"):
            path = line[len("--- a/"):]
        elif re.match(r"@@ .* @@", line):
            hunks.append((path, []))
        elif hunks and line[:1] in (" ", "-", "") and not line.startswith("--- "):
            hunks[-1][1].append(line[1:])
    return hunks


def check(root):
    """Findings, one for each hunk whose lines are not there."""
    findings = []
    for patch in sorted(glob.glob(os.path.join(root, FOLDER, "*.patch"))):
        with open(patch, encoding="utf-8") as file:
            hunks = hunksOf(file.read())
        name = os.path.relpath(patch, root)
        if not hunks:
            findings.append(f"{name}: changes nothing; write it with 'git diff'")
        for path, old in hunks:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                lines = file.read().splitlines()
            if not any(lines[at:at + len(old)] == old for at in range(len(lines))):
                findings.append(f"{name}: {path} has no such lines any more; bring the planted bug to where they are now")
    return findings
