"""Imports run one way: what each folder may include, and which of its BUILD files' labels are legal.

A zone is a folder with rules of its own; a path belongs to the longest zone that contains it.
"""
import re

DIALECTS = {"dialects", "dialects/sbp", "dialects/sbp/algebra", "dialects/exec"}
RUNTIME = {"runtime"}

MAY_USE = {
    # Pure C++: also the runtime reads it, and it must not bring MLIR there.
    "dialects/sbp/algebra": {"dialects/sbp/algebra"},
    "dialects/sbp": DIALECTS,
    "dialects/exec": DIALECTS,
    "dialects": DIALECTS,
    "passes": DIALECTS | {"passes"},
    "compiler": DIALECTS | RUNTIME | {"passes", "compiler"},
    # The executor runs plans; it knows no graph and no pass.
    "runtime": {"runtime", "dialects/exec", "dialects/sbp", "dialects/sbp/algebra"},
    "examples": DIALECTS | RUNTIME | {"passes", "compiler", "examples"},
    "tests": DIALECTS | RUNTIME | {"passes", "compiler", "examples", "tests", "tests/reference", "tests/vectors"},
    # The oracle interprets every level, and shares nothing with the passes and the runtime that it judges.
    "tests/reference": DIALECTS | {"tests/reference", "tests/vectors"},
    "tests/vectors": {"tests/vectors"},
}

WITHOUT_MLIR = {"dialects/sbp/algebra"}

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
LABEL = re.compile(r'"(?:@splitcast)?//([A-Za-z0-9_/.+-]*)')


def zoneOf(path):
    """The longest zone that contains the path, or None: the path is not of the project's layers."""
    folders = [zone for zone in MAY_USE if path == zone or path.startswith(zone + "/")]
    return max(folders, key=len, default=None)


def usesOf(path, line):
    """Paths that a line of the file refers to."""
    if path.endswith("BUILD"):
        # Visibility and test data point in any direction; they import nothing.
        return [] if "visibility" in line or "__" in line else LABEL.findall(line)
    match = INCLUDE.match(line)
    return [match.group(1)] if match else []


def check(path, text):
    """Findings, as 'path:line: message', in the text of the file at this path of the project."""
    zone = zoneOf(path)
    if zone is None or not path.endswith((".h", ".cc", ".td", ".cu", "BUILD")):
        return []
    findings = []
    for number, line in enumerate(text.split("\n"), 1):
        for used in usesOf(path, line):
            usedZone = zoneOf(used)
            if usedZone is not None and usedZone not in MAY_USE[zone]:
                allowed = ", ".join(sorted(MAY_USE[zone]))
                findings.append(f"{path}:{number}: {zone} may not use '{used}' (of {usedZone}); it may use {allowed}")
            if zone in WITHOUT_MLIR and used.startswith(("mlir/", "llvm/")):
                findings.append(f"{path}:{number}: {zone} is C++ without MLIR, but includes '{used}'")
    return findings
