"""Judges the reports of clang-tidy: tidy_report.py SOURCE_LIST EXPECTED FOLDERS, with the reports' paths on stdin.

Prints each finding once (a header's is in the report of every source that includes it). Exits 0 if there are exactly
EXPECTED findings, some source was checked, and every source under FOLDERS (comma-separated) is in SOURCE_LIST. An entry
that begins with - exempts the paths that begin so.

Without arguments, judges the reports that there are, of which others may be missing: exits 0 if they have no finding.
"""
import os
import re
import sys

import sources

FINDING = re.compile(r"^(\S+:\d+:\d+): (warning|error): .*$")
# Of misc-include-cleaner only what is included in vain counts: see .clang-tidy.
LEFT_OUT = re.compile(r": no header providing .* \[misc-include-cleaner\]$")


def split(report):
    """(first line, whole text) of each finding in a report."""
    findings = []
    for line in report.splitlines():
        if FINDING.match(line):
            findings.append([line])
        elif findings:
            findings[-1].append(line)
    return [(lines[0], "\n".join(lines)) for lines in findings if not LEFT_OUT.search(lines[0])]


def unreached(folders, checked):
    """Sources under the folders of the project's tree that are not among those checked."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    complete = tuple(folder + "/" for folder in folders)
    exempt = tuple(folder[1:] for folder in folders if folder.startswith("-"))
    present = [
        path for path in sources.sources(root, [".cc"])
        if path.startswith(complete) and not path.startswith(exempt)
    ]
    return sorted(set(present) - set(checked))


def findingsIn(reports):
    """{first line: whole text} of the findings in the reports at these paths; each stands there once."""
    findings = {}
    for path in reports:
        with open(path, encoding="utf-8") as file:
            findings.update(split(file.read()))
    print("\n".join(findings.values()))
    return findings


def judgeSome():
    reports = sys.stdin.read().split()
    findings = findingsIn(reports)
    print(f"{len(findings)} findings in the {len(reports)} reports that are finished")
    sys.exit(1 if findings else 0)


def judgeAll(listPath, expected, folders):
    with open(listPath, encoding="utf-8") as file:
        checked = file.read().split()
    findings = findingsIn(sys.stdin.read().split())
    missing = unreached(folders.split(","), checked)
    for path in missing:
        print(f"{path}: no target of this test's deps reaches this source; add one")
    print(f"{len(findings)} findings in {len(checked)} sources; {int(expected)} expected")
    sys.exit(1 if len(findings) != int(expected) or missing or not checked else 0)


if __name__ == "__main__":
    judgeAll(*sys.argv[1:]) if len(sys.argv) > 1 else judgeSome()
