"""What holds among the names of all files: no two sources of the product share one."""
import os

FOLDERS = ("compiler/", "dialects/", "examples/", "passes/", "runtime/")
SUFFIXES = (".h", ".cc", ".td", ".cu")

# Each folder of passes declares its own, under the name that MLIR gives such files.
EXCEPTIONS = {"Passes"}


def check(paths):
    """Findings, as 'path: message', among the paths of the project. A header and its source in one folder are one name."""
    folders = {}
    for path in sorted(paths):
        base, suffix = os.path.splitext(os.path.basename(path))
        if path.startswith(FOLDERS) and suffix in SUFFIXES and base not in EXCEPTIONS:
            folders.setdefault(base, {}).setdefault(os.path.dirname(path), path)
    findings = []
    for base, found in sorted(folders.items()):
        first, *others = found.values()
        findings += [f"{other}: '{base}' is the name of {first}, too; name each by what it does" for other in others]
    return findings
