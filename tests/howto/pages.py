"""The sections of CONTRIBUTING.md that say how to add something, and the patches that add what they say."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lint"))

import patches

PAGE = "CONTRIBUTING.md"
# Names of patches, and the headings of their sections.
SECTIONS = {
    "op": "How to add an op",
    "pass": "How to add a pass",
    "optimizer": "How to add an optimizer",
    "collective": "How to add a collective",
}


def textOf(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def patchPath(name):
    return f"tests/howto/{name}.patch"


def sectionOf(page, heading):
    """The text between a heading of the second level and the next one."""
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S).group(1)


def blocksOf(section):
    """(language, text of the section before the block, lines) of each block of code."""
    return [(match.group(2), section[:match.start()], match.group(3).splitlines())
            for match in re.finditer(r"^(```+)(\w+)\n(.*?)^\1$", section, re.M | re.S)]


def addedOf(patch):
    """The lines that a patch adds, by file."""
    added = {}
    for path, _, lines in patches.hunksOf(patch):
        added.setdefault(path, []).extend(lines)
    return added


def fileOf(before, paths):
    """The last of the paths that the text names, or nothing."""
    named = [path for path in re.findall(r"`([^`\n]+)`", before) if path in paths]
    return named[-1] if named else ""


def missing(block, added):
    """The first line of a block that is not among the added lines, behind the lines before it; or nothing."""
    rest = iter(added)
    return next((line for line in block if line.strip() and line not in rest), "")


def labelsOf(section):
    """What the commands 'bazel test LABEL...' of a section name."""
    commands = [line for language, _, lines in blocksOf(section) if language == "bash"
                for line in "\n".join(lines).replace("\\\n", " ").splitlines()]
    return [word for line in commands if line.startswith("bazel test ") for word in line.split()[2:]]
