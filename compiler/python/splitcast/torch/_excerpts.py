"""Parts of a module's text, to be read."""
from __future__ import annotations

import re

import splitcast as sc

VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
DEFINED = re.compile(r"^\s*(%[^=]*?)\s=\s")


def _base(value: str) -> str:
    return value.split("#")[0].split(":")[0]


def _symbol(name: str) -> re.Pattern[str]:
    return re.compile(rf'[@"](?:[\w.]*\.)?{re.escape(name)}(?![\w])')


def around(text: str, name: str) -> str:
    """The lines with a symbol of this name, of its state, or of the bucket or storage that holds it, and those that use
    their results directly, in each function that has any.

    Raises InvalidError if there is no such line.
    """
    symbols = [_symbol(name)]
    for holder, members in re.findall(r"\b(?:sbp\.bucket|ccl\.storage) @([\w.$-]+) .*holds \[([^\]]*)\]", text):
        if symbols[0].search(members):
            symbols.append(_symbol(holder))
    kept: list[str] = []
    known: set[str] = set()
    head: str | None = None
    for line in text.splitlines():
        if re.match(r"\s*(?:func\.func|sbp\.schedule|exec\.\w+ @)", line):
            head, known = line, set()
        has_name = any(each.search(line) for each in symbols)
        defined = DEFINED.match(line)
        used = {_base(each) for each in VALUE.findall(line[defined.end():] if defined else line)}
        if not has_name and not used & known:
            continue
        if head is not None and head is not line:
            kept.append(head)
        head = None
        kept.append(line)
        if has_name and defined:
            known |= {_base(each.strip()) for each in defined.group(1).split(",")}
    if not kept:
        raise sc.InvalidError(f"nothing at this level is called '{name}'; give the name of a parameter")
    return "\n".join(kept) + "\n"
