"""What the descriptions in .td files promise: labelled constraints and snippets of IR."""
import os
import re

DEF = re.compile(r"^def (\w+)\s*:\s*(.*)$")
# The first base of a def or class; a colon of C++ comes in pairs.
BASE = re.compile(r"^(?:def|class) (\w+)[^{;]*?(?<!:):(?!:)\s*(\w+)")
LABEL = re.compile(r"^\s*- (C\d+): ")
# "From tests/a/b.mlir" may break its line after "From".
SOURCE = re.compile(r"[Ff]rom\s+(tests/\S+\.mlir)")
NUMBER = re.compile(r"(?<![\w.])(-?\d+\.\d+(?:[eE][+-]?\d+)?)(?: : f64)?")


class Entry:
    """A def of a .td file: its name in tests, labels, and the lines of its snippets as (line, 'before', 'after' or '').

    An op has its name in IR as `op`, which is None for all else.
    """

    def __init__(self, path, name, op=None):
        self.path, self.name, self.op = path, name, op
        self.labels, self.snippet, self.source = [], [], None


def nameOf(header, body):
    """How tests call a def: an op or attribute by its mnemonic, a pass by its argument without the dialect."""
    mnemonic = re.search(r'let mnemonic = "(\w+)"', body)
    if mnemonic:
        return mnemonic.group(1)
    strings = re.findall(r'"([^"]*)"', header)
    if not strings:
        return None
    if "Attr<" in header and len(strings) > 1:
        return strings[1]
    if "Interface<" in header:
        return re.sub(r"(Op|Attr)?Interface$", "", strings[0]).lower()
    if "Pass<" in header:
        return strings[0].split("-", 1)[1].replace("-", "_")
    return strings[0]


def snippetOf(body):
    lines = []
    for block in re.findall(r"```mlir\n(.*?)```", body, re.S):
        state = ""
        for line in block.splitlines():
            code, _, comment = line.partition("//")
            words = comment.split()
            if words and re.match(r"(before|after)\b", words[0]):
                state = re.match(r"(before|after)", words[0]).group(1)
            if code.strip():
                lines.append((code.strip(), state))
    return lines


def chunksOf(text):
    return re.split(r"^(?=def |class |defvar )", text, flags=re.M)


def basesIn(texts):
    """The first base of each def and class, by name."""
    return {match.group(1): match.group(2) for text in texts for chunk in chunksOf(text) if (match := BASE.match(chunk))}


def isOp(name, bases):
    while name in bases:
        name = bases[name]
    return name == "Op"


def entriesOf(path, text, bases):
    """The defs of a .td file, in order."""
    entries = []
    for chunk in chunksOf(text):
        match = DEF.match(chunk.split("\n", 1)[0])
        name = match and nameOf(chunk.split("{", 1)[0], chunk)
        if not name:
            continue
        dialect = os.path.basename(os.path.dirname(path))
        entry = Entry(path, name, f"{dialect}.{name}" if isOp(match.group(1), bases) else None)
        entry.labels = [found.group(1) for line in chunk.splitlines() if (found := LABEL.match(line))]
        entry.snippet = snippetOf(chunk)
        source = SOURCE.search(chunk)
        entry.source = source and source.group(1)
        entries.append(entry)
    return entries


def entries(root):
    """Of all .td files of dialects/ and passes/."""
    texts = {}
    for top in ("dialects", "passes"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(".td"):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        texts[os.path.relpath(path, root)] = file.read()
    bases = basesIn(texts.values())
    return [entry for path, text in texts.items() for entry in entriesOf(path, text, bases)]


def testsOf(root, folder):
    """Text of each .mlir file of a folder of tests, by path."""
    texts, full = {}, os.path.join(root, folder)
    for name in sorted(os.listdir(full)) if os.path.isdir(full) else []:
        if name.endswith(".mlir"):
            with open(os.path.join(full, name), encoding="utf-8") as file:
                texts[os.path.join(folder, name)] = file.read()
    return texts


def sameForm(line):
    """A line of IR as it is compared: one blank between words, numbers in their shortest form."""
    line = NUMBER.sub(lambda match: repr(float(match.group(1))), line)
    return " ".join(line.split())


def linesOf(text):
    """(lines of the input, lines that the output is checked for) of a test, FileCheck's variables by their names.

    A variable's name cannot begin with a digit: [[_0]] stands for 0.
    """
    given, checked = [], []
    for line in text.splitlines():
        match = re.match(r"\s*//\s*[A-Z0-9_-]+:(.*)$", line)
        if match:
            plain = re.sub(r"\[\[_?(\w+?)(:.*?)?\]\]", r"\1", match.group(1))
            checked.append(sameForm(re.sub(r"\{\{.*?\}\}", "...", plain)))
        elif line.strip():
            given.append(sameForm(line.split(" //")[0]))
    return given, checked


def occurs(line, lines):
    """Whether a line of a snippet, in which ... stands for anything, is one of these."""
    pattern = ".*".join(re.escape(part.strip()) for part in sameForm(line).split("..."))
    return any(re.fullmatch(r"\s*" + pattern + r"\s*", other) for other in lines)
