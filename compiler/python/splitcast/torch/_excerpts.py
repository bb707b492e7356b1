"""What a module's text says of one parameter: where it is held, how it is read, moved and used, where its gradient
comes from and how it is updated. The rest is left out, so that the excerpt can be read at once."""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

import splitcast as sc

SYMBOL = r'@(?:"([^"]+)"|([\w.$-]+))'
VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
DEFINED = re.compile(r"\s*(%[^=]*?)\s=\s")
AREA = re.compile(r"<(\w+), (\d+), (\d+)>")
BUFFER = re.compile(r'#exec\.buffer<\w+ "([^"]*)", (\w+), (\d+), (\d+), during (-?\d+) to (-?\d+)>')
# Ops that hand on the elements of a parameter, a state or a gradient.
MOVES = re.compile(r"(?:sbp\.(?:read|bucket_\w+|boxing|fence)|ccl\.\w+|nn\.cast)$")
ASSIGNS = ("sbp.assign", "sbp.bucket_assign", "ccl.assign")
READS = ("sbp.read", "sbp.bucket_read", "ccl.read")
DISTANCE = 20  # how many ops the arithmetic before an assignment is followed; the update of Adam has 11


def _symbols(text: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(SYMBOL, text)]


# ---- Where the parameter is held ----


@dataclasses.dataclass
class _Member:
    """The parameter, or a state of it, as a part of a bucket or of a storage. offset: in elements."""
    offset: int
    extent: int | None  # in elements, to the next member; None if members are not one behind the other
    elements: int  # of all members
    type: str


class _Symbols:
    """What holds the parameter and its states: names of variables, buckets and storages."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = [line for line in text.splitlines() if re.match(
            r"\s*(?:sbp\.variable|sbp\.bucket|ccl\.storage|exec\.storage) @", line)]
        self.variables = {name} | {_symbols(line)[0] for line in self.lines if name in self._owner(line)}
        self.buckets: dict[str, _Member] = {}
        self.storages: dict[str, _Member] = {}
        self.find_holders()

    @staticmethod
    def _owner(line: str) -> list[str]:
        return _symbols(line.split(" state_of ")[1])[:1] if " state_of " in line else []

    def find_holders(self) -> None:
        for line in self.lines:
            found = re.match(rf"\s*(\S+) {SYMBOL} : (tensor<[^>#]*?)(?:, #\w+)?> .*holds \[(.*?)\] at \[(.*?)\]", line)
            if found is None:
                continue
            members = _symbols(found[5])
            offsets = [int(each) for each in found[6].split(",")]
            for member, offset in zip(members, offsets):
                if member in self.variables:
                    of = self.buckets if found[1] == "sbp.bucket" else self.storages
                    of[found[2] or found[3]] = self._member(offset, offsets, found[4] + ">")

    @staticmethod
    def _member(offset: int, offsets: Sequence[int], kind: str) -> _Member:
        elements = 1
        for size in re.findall(r"(\d+)x", kind):
            elements *= int(size)
        later = [each for each in offsets if each > offset] + [elements]
        return _Member(offset, min(later) - offset if len(set(offsets)) == len(offsets) else None, elements, kind)

    def offset(self) -> int | None:
        """Of the parameter in its bucket, in elements; None if it has none."""
        return next((each.offset for each in self.buckets.values()), None)

    def declarations(self) -> list[str]:
        known = self.variables | set(self.buckets) | set(self.storages)
        return [line for line in self.lines if _symbols(line)[0] in known and (
            "holds [" in line or _symbols(line)[0] in self.variables)]

    def holds(self, symbol: str) -> bool:
        return symbol in self.variables or symbol in self.buckets or symbol in self.storages


# ---- Functions ----


class _Statement:
    """An op of a function with its regions. results and operands: values, such as "%5" or "%5#1"."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        first = lines[0]
        defined = DEFINED.match(first)
        rest = first[defined.end():] if defined else first.strip()
        self.results: list[str] = []
        for each in defined[1].split(",") if defined else ():
            base, _, count = each.strip().partition(":")
            self.results += [f"{base}#{number}" for number in range(int(count))] if count else [base]
        self.op = re.match(r"[\w.]*", rest)[0]  # type: ignore[index]
        self.operands = VALUE.findall(rest)
        self.rest = rest

    @property
    def symbol(self) -> str | None:
        """What a read or an assignment is of."""
        return next(iter(_symbols(self.rest)), None) if self.op in ASSIGNS + READS else None

    @property
    def is_move(self) -> bool:
        return MOVES.match(self.op) is not None and self.op not in ASSIGNS

    def number(self, before: str) -> int:
        """The number after a word such as `at`, or 0."""
        found = re.search(rf"\b{before} (\d+)", self.rest)
        return int(found[1]) if found else 0

    def results_called(self, name: re.Pattern[str]) -> list[str]:
        """The results with this name, or that are such a value within the op's regions."""
        found = [each for each in self.results if name.fullmatch(each)]
        for line in self.lines[1:]:
            if line.strip().startswith("nn.yield "):
                given = VALUE.findall(line.split(" : ")[0])
                found += [result for result, value in zip(self.results, given) if name.fullmatch(value)]
        return found


def _statements(lines: Sequence[str]) -> Iterator[_Statement]:
    """Those of a function's body."""
    number = 0
    while number < len(lines):
        indent = len(lines[number]) - len(lines[number].lstrip())
        end = number + 1
        if lines[number].endswith("{"):
            while not lines[end].startswith(" " * indent + "}"):
                end += 1
            end += 1
        yield _Statement(list(lines[number:end]))
        number = end


class _Function:
    """A function's statements, and which of them are about the parameter."""

    def __init__(self, head: str, lines: Sequence[str], symbols: _Symbols) -> None:
        self.head = head
        self._all = list(_statements(lines))
        self._symbols = symbols
        self._made = {result: each for each in self._all for result in each.results}
        self._users: dict[str, list[_Statement]] = {}
        for each in self._all:
            for operand in dict.fromkeys(each.operands):
                self._users.setdefault(operand, []).append(each)
        updates = [number for number, each in enumerate(self._all) if each.rest.startswith('sbp.scope "update"')]
        self._updating = set(map(id, self._all[updates[0]:])) if updates else set()
        plain = re.sub(r"[^\w.$-]", "_", symbols.name)
        self._gradient = re.compile(f"%{'_' if plain[0].isdigit() else ''}{re.escape(plain)}_grad(?:_\\d+)?")

    def excerpt(self) -> list[str]:
        """The lines that are about the parameter. Adds variables that carry it to other functions to the symbols."""
        kept: set[int] = set()
        values: list[str] = []
        for each in self._all:
            is_read = each.op in READS and each.symbol is not None and self._symbols.holds(each.symbol)
            found = each.results if is_read else each.results_called(self._gradient)
            if found:
                kept.add(id(each))
                values += found
        reached = self._follow(values, kept)
        self._keep_update(reached, kept)
        if not kept:
            return []
        for each in self._all:
            is_scope = each.op == "sbp.scope" and any(id(user) in kept for user in self._users.get(each.results[0], ()))
            if is_scope or each.op == "nn.minimize":
                kept.add(id(each))
        return [self.head, *(line for each in self._all if id(each) in kept for line in each.lines)]

    def _follow(self, values: Iterable[str], kept: set[int]) -> set[str]:
        """Keeps the ops that move these values and the first that compute with them, before the update. Returns the
        values that are the parameter, its states or its gradient."""
        todo, reached = list(values), set(values)
        while todo:
            for user in self._users.get(todo.pop(), ()):
                if user.op in ASSIGNS:
                    if user.symbol is not None and not self._symbols.holds(user.symbol):
                        kept.add(id(user))
                        self._symbols.variables.add(user.symbol)  # it is carried to another function
                elif user.is_move:
                    if self._is_of_another(user):
                        continue
                    kept.add(id(user))
                    new = [each for each in user.results if each not in reached]
                    reached |= set(new)
                    todo += new
                elif id(user) not in self._updating and user.op != "return":
                    kept.add(id(user))
        return reached

    def _is_of_another(self, move: _Statement) -> bool:
        """Whether it takes another member out of the bucket."""
        offset = self._symbols.offset()
        return move.op in ("sbp.bucket_member", "ccl.view") and offset is not None and move.number("at") != offset

    def _keep_update(self, reached: set[str], kept: set[int]) -> None:
        """Keeps the arithmetic by which these values become those that are assigned to the parameter and its states."""
        depends = set(reached)
        for each in self._all:
            if id(each) in self._updating and any(operand in depends for operand in each.operands):
                depends |= set(each.results)
        todo = [each for each in self._all if each.op in ASSIGNS and self._is_assigned(each)]
        for _ in range(DISTANCE):
            kept |= set(map(id, todo))
            makers = [self._made[operand] for each in todo for operand in each.operands if operand in depends]
            todo = [each for each in makers if id(each) in self._updating and id(each) not in kept]

    def _is_assigned(self, assign: _Statement) -> bool:
        symbol = assign.symbol
        if symbol is None or not self._symbols.holds(symbol):
            return False
        member = self._symbols.storages.get(symbol)
        is_whole = member is None or member.extent is None or assign.rest.endswith(member.type)
        return is_whole or member is None or assign.number("offset =") == member.offset


# ---- Plans ----


class _Plan:
    """The statements of a rank's plan, which have ranges of memory in place of values."""

    def __init__(self, head: str, lines: Sequence[str], symbols: _Symbols) -> None:
        self._lines = lines
        self._begin = head.split(" attributes ")[0]
        labels = {symbols.name, *symbols.storages, *(f"bucket {bucket}" for bucket in symbols.buckets)}
        # (space, first byte, byte behind the last, first statement, last statement)
        self._areas: list[tuple[str, int, int, int, int]] = []
        self._buffers = []
        for line in symbols.declarations():
            member, where = symbols.storages.get(_symbols(line)[0]), AREA.search(line)
            if member is not None and where is not None:
                begin, size = int(where[2]), int(where[3])
                self._areas.append((where[1], *_part(begin, size, member), -1, len(lines)))
        for found in BUFFER.finditer(head):
            if not any(found[1] == label or found[1].startswith(label + " ") for label in labels):
                continue
            self._buffers.append(found[0])
            begin, size, first, last = [int(each) for each in found.groups()[2:]]
            members = list(symbols.buckets.values())
            scattered = next((number for number in range(max(first, 0), last) if " reduce_scatter " in lines[number] and
                              self._touches(lines[number], found[2], begin, begin + size)), last)
            part = _part(begin, size, members[0]) if members else (begin, begin + size)
            self._areas.append((found[2], *part, first, scattered))
            self._areas.append((found[2], begin, begin + size, scattered, last))  # whose parts have no order of members

    @staticmethod
    def _touches(line: str, space: str, begin: int, end: int) -> bool:
        return any(where == space and int(of) < end and int(of) + int(size) > begin
                   for where, of, size in AREA.findall(line))

    def excerpt(self) -> list[str]:
        kept: list[str] = []
        tickets: set[str] = set()
        for number, line in enumerate(self._lines):
            waited = re.match(r"\s*exec\.wait (\d+)", line)
            if waited[1] in tickets if waited else any(
                    first <= number <= last and self._touches(line, space, begin, end)
                    for space, begin, end, first, last in self._areas):
                kept.append(line)
                tickets |= set(re.findall(r" ticket (\d+)", line))
        return [f"{self._begin} attributes {{buffers = [{', '.join(self._buffers)}]}} {{", *kept] if kept else []


def _part(begin: int, size: int, member: _Member) -> tuple[int, int]:
    """The bytes of a member in an area that holds all of them; all bytes if it does not hold them in this order."""
    each, rest = divmod(size, member.elements)
    if rest or member.extent is None:
        return begin, begin + size
    return begin + member.offset * each, begin + (member.offset + member.extent) * each


# ---- All of it ----


def _bodies(text: str) -> Iterator[tuple[str, list[str]]]:
    """(the first line, the lines within) of each function and plan, but not of kernels."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"  (?:func\.func|exec\.plan) .*\{$", line):
            yield line, lines[number + 1:lines.index("  }", number)]


def around(text: str, name: str) -> str:
    """The lines that declare a parameter, its states and what holds them; and of each function and plan those that
    read, move, use and update it and compute its gradient. Of plans, buffers of others are left out.

    Raises InvalidError if there is no such parameter.
    """
    symbols = _Symbols(text, name)
    if not any(line.startswith("  sbp.variable ") and _symbols(line)[0] == name for line in symbols.lines):
        raise sc.InvalidError(f"nothing at this level is called '{name}'; give the name of a parameter")
    bodies = list(_bodies(text))
    known = 0
    while known != len(symbols.variables):  # those that carry the parameter from one function to the next
        known = len(symbols.variables)
        found = [(_Plan if head.startswith("  exec.plan") else _Function)(head, lines, symbols).excerpt()
                 for head, lines in bodies]
        symbols.find_holders()
    return "\n".join(symbols.declarations() + [line for part in found for line in part]) + "\n"
