"""Whether patches still apply: each hunk has its old lines in its file, and a new file is not there yet; and whether
each mutation says what finds it."""
import glob
import os
import re

# Folders of patches, and what to do with one that does not apply.
FOLDERS = {
    "tests/howto": "bring the patch, and what CONTRIBUTING.md shows of it, to where they are now",
    "tests/property/mutations": "bring the planted bug to where they are now",
}
MUTATIONS = "tests/property/mutations"
FINDS = r"^(?:Level: (?:local|plan)|Test: //[\w/]+:\w+)$"


def hunksOf(text):
    """(file, old lines, added lines) of each hunk."""
    hunks, path = [], ""
    for line in text.splitlines():
        if line.startswith("+++ b/"):
            path = line[len("+++ b/"):]
        elif re.match(r"@@ .* @@", line):
            hunks.append((path, [], []))
        elif hunks and line[:1] == "+":
            hunks[-1][2].append(line[1:])
        elif hunks and line[:1] in (" ", "-", "") and not line.startswith("--- "):
            hunks[-1][1].append(line[1:])
    return hunks


def problemOf(root, path, old):
    """What is wrong with a hunk, or nothing."""
    full = os.path.join(root, path)
    if not old:
        return f"{path} is there already" if os.path.exists(full) else ""
    lines = []
    if os.path.isfile(full):
        with open(full, encoding="utf-8") as file:
            lines = file.read().splitlines()
    applies = any(lines[at:at + len(old)] == old for at in range(len(lines)))
    return "" if applies else f"{path} has no such lines any more"


def check(root):
    """Findings, one for each hunk that does not apply."""
    findings = []
    for folder, advice in sorted(FOLDERS.items()):
        for patch in sorted(glob.glob(os.path.join(root, folder, "*.patch"))):
            with open(patch, encoding="utf-8") as file:
                text = file.read()
            hunks, name = hunksOf(text), os.path.relpath(patch, root)
            if folder == MUTATIONS and len(re.findall(FINDS, text, re.MULTILINE)) != 1:
                findings.append(f"{name}: does not say what finds it; write one line 'Level: local', 'Level: plan' or "
                                "'Test: //FOLDER:NAME' (scripts/mutations.sh)")
            if not hunks:
                findings.append(f"{name}: changes nothing; write it with 'git diff'")
            for path, old, _ in hunks:
                problem = problemOf(root, path, old)
                if problem:
                    findings.append(f"{name}: {problem}; {advice}")
    return findings
