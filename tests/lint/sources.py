"""The project's own text files: what the lint checks read.

As a program: sources.py ROOT [SUFFIX...] prints their paths relative to ROOT, one per line.
"""
import os
import re
import sys

# Text written by hand. Data files and committed vectors (txt, json, safetensors) are not.
SUFFIXES = (".h", ".cc", ".cu", ".td", ".mlir", ".py", ".sh", ".bzl", ".md", "BUILD", "WORKSPACE", ".ci/run")

# Nor are the pages that mlir-tblgen makes of .td files: it makes them longer and wider than a person should.
MADE = re.compile(r"docs/reference/(?!README\.md$)")


def isOurs(directory):
    """Bazel's links point out of the tree; hidden directories are tools' own, .ci excepted."""
    name = os.path.basename(directory)
    if os.path.islink(directory) or name.startswith("bazel-"):
        return False
    return name == ".ci" or not name.startswith((".", "__pycache__"))


def sources(root, suffixes=SUFFIXES):
    """Sorted paths, relative to root, of the files whose names end in one of the suffixes."""
    found = []
    for directory, children, names in os.walk(root):
        children[:] = [child for child in children if isOurs(os.path.join(directory, child))]
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), root)
            isLink = os.path.islink(os.path.join(root, path))
            if path.endswith(tuple(suffixes)) and not isLink and not MADE.match(path):
                found.append(path)
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(sources(sys.argv[1], sys.argv[2:] or SUFFIXES)))
