"""Runs the checks of layers.py, names.py, hygiene.py, prose.py and patches.py over the project: structure.py ROOT.

Exits 1 if there are findings.
"""
import os
import sys

import hygiene
import layers
import names
import patches
import prose
import sources


def findingsIn(root):
    """(number of files read, findings)"""
    paths = sources.sources(root)
    findings = names.check(paths) + patches.check(root)
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
            text = file.read()
        findings += hygiene.check(path, text) + layers.check(path, text) + prose.check(path, text)
    return len(paths), findings


def main():
    count, findings = findingsIn(sys.argv[1])
    print("\n".join(findings))
    print(f"{len(findings)} findings in {count} files")
    # Without files nothing was checked, which is no success.
    sys.exit(1 if findings or count == 0 else 0)


if __name__ == "__main__":
    main()
