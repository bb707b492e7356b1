"""What holds in every text file by itself: length, blanks, marks of unfinished work, header guards."""
import re

MAX_LINES = 700

# In two parts each, for this file is checked too.
UNFINISHED = re.compile(r"\b(" + "TO" + "DO|FIX" + r"ME)\b")


# MLIR's reader of files takes bytecode, too, which is safe only from files that the user trusts. Tests read their own.
READS_FILES = re.compile(r"\bparseSource" + r"File\b")
MAY_READ_FILES = re.compile(r"tests/|compiler/tools/ModuleFile\.cc$")


def guardOf(path):
    return "SPLITCAST_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper()


def checkGuard(path, lines):
    """The first two directives of a header are its guard."""
    directives = [(number, line.split()) for number, line in enumerate(lines, 1) if line.startswith("#")][:2]
    expected = [["#ifndef", guardOf(path)], ["#define", guardOf(path)]]
    if [words for _, words in directives] == expected:
        return []
    number = directives[0][0] if directives else 1
    return [f"{path}:{number}: the header must open with '#ifndef {guardOf(path)}' and its #define"]


def checkLine(path, number, line):
    findings = []
    if line != line.rstrip():
        findings.append(f"{path}:{number}: blanks at the line's end")
    if "\t" in line:
        findings.append(f"{path}:{number}: a tab; indent with spaces")
    match = UNFINISHED.search(line)
    if match:
        findings.append(f"{path}:{number}: '{match.group(0)}': finish it, or describe the limit in plain words")
    if READS_FILES.search(line) and not MAY_READ_FILES.match(path):
        findings.append(f"{path}:{number}: read modules by compiler/tools/ModuleFile.h, which refuses bytecode")
    return findings


def check(path, text):
    """Findings, as 'path:line: message', in the text of the file at this path of the project."""
    lines = text.split("\n")
    findings = []
    if text and not text.endswith("\n"):
        findings.append(f"{path}:{len(lines)}: no newline at the end of the file")
    lineCount = len(lines) - 1
    if lineCount > MAX_LINES:
        findings.append(f"{path}: {lineCount} lines; split it, {MAX_LINES} are allowed")
    for number, line in enumerate(lines, 1):
        findings += checkLine(path, number, line)
    if path.endswith(".h"):
        findings += checkGuard(path, lines)
    return findings
