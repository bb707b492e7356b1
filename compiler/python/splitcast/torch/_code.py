"""What the code of a function reads and sets, as its lines are written."""
from __future__ import annotations

import dis
import functools
import types

CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}  # the latter since Python 3.14
GETTERS = {"get", "pop", "setdefault"}  # by which an entry of a dict is read
# By which any attribute may be read.
DYNAMIC = {"getattr", "vars", "__dict__", "attrgetter", "eval", "exec", "astuple", "asdict", "fields", "__match_args__",
           "__getattribute__"}


def stores(code: types.CodeType, name: str) -> bool:
    return any(each.opname == "STORE_DEREF" and each.argval == name for each in dis.get_instructions(code))


def texts_of(code: types.CodeType) -> set[str]:
    """The texts that a function mentions, of which some may name attributes."""
    found = set()
    for each in code.co_consts:
        found |= {each} if isinstance(each, str) else {
            text for text in each if isinstance(text, str)} if isinstance(each, tuple) else set()
    return found


def names_of(code: types.CodeType) -> set[str]:
    """The names by which a function reads attributes, if it does not compute them (DYNAMIC). A pattern of a class has
    them beside its texts, and reads those that the class lists, too."""
    matches = dis.opmap["MATCH_CLASS"] in code.co_code[::2]
    return {*code.co_names, *({"__match_args__", *texts_of(code)} if matches else ())}


@functools.cache
def globals_of(code: types.CodeType) -> list[str]:
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    names = [each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return list(dict.fromkeys(names + [name for each in inner for name in globals_of(each)]))


@functools.cache
def imports_of(code: types.CodeType) -> list[str]:
    """The modules that a function imports when it is called, with those that they are parts of."""
    names = [each.argval for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME" and each.argval]
    return list(dict.fromkeys(".".join(parts[:end]) for parts in (name.split(".") for name in names)
                              for end in range(1, len(parts) + 1)))


def _name_of(step: dis.Instruction) -> str:
    """The name of an instruction. Since Python 3.14, reading an entry is a BINARY_OP, which dis writes as brackets."""
    return "BINARY_SUBSCR" if step.opname == "BINARY_OP" and step.argrepr == "[]" else step.opname


def is_within(code: types.CodeType, outer: types.CodeType) -> bool:
    inner = [each for each in outer.co_consts if isinstance(each, types.CodeType)]
    return code in inner or any(is_within(code, each) for each in inner)


def reads_first(code: types.CodeType, key: object, is_attribute: bool) -> bool:
    """Whether a function reads an attribute or an entry of this name before it sets it, as its lines are written."""
    steps = list(dis.get_instructions(code))
    for number, step in enumerate(steps):
        following = [_name_of(each) for each in steps[number + 1:number + 4]]
        if is_attribute and step.argval == key and step.opname in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
            return step.opname != "STORE_ATTR"
        if not is_attribute and step.opname in CONSTANTS and step.argval == key:
            if following[0] == "STORE_SUBSCR":
                return False
            if following[0] == "BINARY_SUBSCR" or "CONTAINS_OP" in following or GETTERS & set(code.co_names):
                return True
    return False
