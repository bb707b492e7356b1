"""What the user's program is made of beside its tensors, as a table that is compared before each step.

A compiled model is a photograph: what tracing has read is in the graph, and a later change of it would have no effect.
`Reading` notes what user's code reads while it is traced: attributes of modules, globals, closure cells, defaults, and
the objects that these hold. `Facts` is the table of these values by name. Before a step, `Facts.check` first compares
objects by identity, all of them in a few calls of C; only if one is another object does it read the whole table again,
and compares values.
"""
from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import itertools
import operator
import os
import random
import reprlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import splitcast as sc
import torch
from splitcast.torch._code import globals_of, is_within, reads_first, stores
from splitcast.torch._contents import (
    OWN,
    SIMPLE,
    Absent,
    attributes_of,
    differs,
    entries_of,
    holds_tensor,
    is_iterator,
    named,
    numbers_of,
    slots_of,
    state_of,
)
from splitcast.torch._draws import Draws
from splitcast.torch._origins import is_of_users, is_written_by_user, origin_of
from splitcast.torch._purity import Kept

MANY = 32  # elements of a list of numbers that are compared one by one, so that errors can say which
DYNAMIC = {"getattr", "vars", "__dict__", "attrgetter", "eval", "exec"}  # by which any attribute may be read
CODE_LEAVES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, property, classmethod,
               staticmethod, functools.cached_property)


@dataclasses.dataclass(frozen=True)
class Fact:
    """A value that tracing has read, and where (a line of the user's program, in parentheses, or nothing)."""
    value: object
    where: str


class Reading:
    """Notes what is read, and refuses what the graph would leave out, while a `with` statement lasts."""

    def __init__(self, module: torch.nn.Module, loss: object, trains: bool = True) -> None:
        """trains: whether the modes of modules count; an evaluation is in evaluation mode whatever they are."""
        self.module = module
        self.loss = loss
        self.trains = trains
        self.modules: dict[int, tuple[torch.nn.Module, dict[str, str]]] = {}  # with the place by the attribute's name
        self.mentioned: set[str] = set()  # names and texts in the code that was called
        self.of_users: set[str] = set()  # those in the user's code
        self.codes: dict[types.CodeType, dict[str, Any]] = {}  # of users; with the globals
        self.objects: dict[int, Any] = {}  # users' objects whose methods were called
        self._made: dict[int, Any] = {}  # users' objects that are made while tracing: no state of the program
        self._kinds: dict[types.CodeType, bool] = {}
        self._calls: dict[types.CodeType, list[tuple[object, ...]]] = {}  # the values of free variables in each call
        # What functions take from around them, as it was when they were first called.
        self._kept = Kept(module, reads=self._reads_before)
        self._names: dict[tuple[types.CodeType, str], object] = {}  # free variables and globals at the first call
        self._last = ""
        self._drawn: tuple[str, str] | None = None

    # ---- While tracing ----

    def __enter__(self) -> Reading:
        self._draws = Draws()
        reads, kinds = self.modules, self._kinds

        def getattribute(module: torch.nn.Module, name: str) -> Any:
            if name.startswith("__") and name != "__dict__":  # such as isinstance() asks for
                return object.__getattribute__(module, name)
            known = reads.get(id(module))
            if known is None:
                known = reads[id(module)] = (module, {})
            if name not in known[1]:
                frame = sys._getframe(1)
                origin = origin_of(frame.f_code.co_filename)
                if name != "__dict__" or origin != "own":
                    known[1][name] = "" if origin == "own" else _place(frame.f_code.co_filename, frame.f_lineno)
            return object.__getattribute__(module, name)

        def called(frame: types.FrameType, event: str, argument: object) -> Any:
            code = frame.f_code
            if code.co_name == "__init__" and code.co_argcount:
                self._note_made(frame.f_locals.get(code.co_varnames[0]))
            is_users = kinds.get(code)
            if is_users is None:
                is_users = kinds[code] = self._note(frame, code)
            if is_users and code.co_freevars:
                self._note_call(frame, code)
            return self._line if is_users else None

        self._before = sys.gettrace()
        torch.nn.Module.__getattribute__ = getattribute  # type: ignore[method-assign, assignment]  # until __exit__
        sys.settrace(called)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        sys.settrace(self._before)
        del torch.nn.Module.__getattribute__
        if error is None:
            self._require_pure()

    def _note(self, frame: types.FrameType, code: types.CodeType) -> bool:
        """Notes a function that is called for the first time; returns whether its lines are to be followed."""
        origin = origin_of(code.co_filename)
        if origin == "own":
            return False
        for each in (code, *(inner for inner in code.co_consts if isinstance(inner, types.CodeType))):
            names = {*each.co_names, *(text for text in each.co_consts if isinstance(text, str))}
            self.mentioned |= names
            if origin == "user":
                self.of_users |= names
        values = frame.f_locals
        first = values.get(code.co_varnames[0]) if code.co_argcount else None
        # Objects of libraries count where a module, a closure or a global has them, not as what a library keeps itself.
        if (first is not None and id(first) not in self._made and is_of_users(type(first)) and
                not isinstance(first, (torch.nn.Module, type)) and
                (origin == "user" or is_written_by_user(type(first)))):
            self.objects[id(first)] = first
            self._see(code, code.co_varnames[0], first)
        if origin == "user":
            self.codes[code] = frame.f_globals
            for name in code.co_freevars:
                if name in values and not self._is_made(name, code, frame.f_back):
                    self._see(code, name, values[name])
            for name in globals_of(code):
                if name in frame.f_globals:
                    self._see(code, name, frame.f_globals[name])
        return origin == "user"

    def _is_made(self, name: str, code: types.CodeType, frame: types.FrameType | None) -> bool:
        """Whether a free variable is a local one of a call that is under way, and so no state of the program."""
        while frame is not None:
            outer = frame.f_code
            if outer in self.codes and name in outer.co_cellvars and is_within(code, outer):
                return True
            frame = frame.f_back
        return False

    def _note_made(self, value: object) -> None:
        if is_written_by_user(type(value)) and not getattr(value, "__dict__", None):  # not made before, or by a base
            self._made[id(value)] = value

    def _note_call(self, frame: types.FrameType, code: types.CodeType) -> None:
        """Notes what a function takes from around it: others of the same code may have other values."""
        values = frame.f_locals
        seen = tuple(values.get(name, Absent) for name in code.co_freevars)
        calls = self._calls.setdefault(code, [])
        if not any(all(map(operator.is_, seen, other)) for other in calls):
            calls.append(seen)

    def _was_called(self, function: types.FunctionType) -> bool:
        cells = function.__closure__ or ()
        held = [cell.cell_contents if _filled(cell) else Absent for cell in cells]
        return not cells or any(all(one is other or isinstance(other, SIMPLE) for one, other in zip(held, seen))
                                for seen in self._calls.get(function.__code__, []))

    def _see(self, code: types.CodeType, name: str, value: object) -> None:
        """Notes a value that a function takes from around it, to find out whether the function changes it."""
        self._names[(code, name)] = value
        self._kept.note(name, value, _place(code.co_filename, code.co_firstlineno))

    def _reads_before(self, key: object, is_attribute: bool) -> bool:
        """Whether the user's code reads an attribute or a key without having set it before."""
        return any(reads_first(code, key, is_attribute) for code in self.codes)

    def set_texts(self) -> list[str]:
        """The texts that the loss has set in place of None."""
        self._kept.changed()
        return self._kept.set_texts

    def _line(self, frame: types.FrameType, event: str, argument: object) -> Any:
        if self._drawn is None:
            drawn = self._draws.changed()
            if drawn:
                self._drawn = (drawn, self._last)
        if event == "line":
            self._last = _place(frame.f_code.co_filename, frame.f_lineno)
        return self._line

    def _require_pure(self) -> None:
        """Checks that the loss has neither drawn numbers nor changed Python's values, which steps would not do."""
        drawn = self._drawn or (self._draws.changed(), self._last if self._draws.changed() else "")
        if drawn[0]:
            raise sc.InvalidError(f"the loss draws random numbers from {drawn[0]}{drawn[1]}, which a compiled step "
                                  "would not draw again; draw them outside and give them as inputs of the batch, or "
                                  "use torch.rand or torch.randn without a generator of your own")
        changed = self._kept.changed()
        if changed is not None:
            name, place = changed
            raise sc.InvalidError(f"the loss changes {name}{place} while it is computed, which a compiled step would "
                                  "not do again; return it from the loss function in a dict beside 'loss', leave it "
                                  "out, or, if it is a cache, fill it before compile()")
        for (code, name), value in self._names.items():
            now = self.codes.get(code, {}).get(name, value) if name not in code.co_freevars else value
            carries = isinstance(value, SIMPLE) and holds_tensor(now)  # it is read here, by this function
            if carries or (isinstance(now, SIMPLE) and differs(now, value)):
                raise sc.InvalidError(f"the loss changes {name}{_place(code.co_filename, code.co_firstlineno)} while "
                                      "it is computed, which a compiled step would not do again; make it a buffer of "
                                      "the model, or an input of the batch")
        for function in self.functions():
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
                value = self._names.get((function.__code__, name))
                if isinstance(value, SIMPLE) and value is not None and _filled(cell) and isinstance(
                        cell.cell_contents, type(value)) and function.__code__.co_freevars and stores(
                            function.__code__, name) and differs(cell.cell_contents, value):
                    code = function.__code__
                    raise sc.InvalidError(f"the loss changes {name}{_place(code.co_filename, code.co_firstlineno)} "
                                          "while it is computed, which a compiled step would not do again; make it a "
                                          "buffer of the model, or an input of the batch")

    # ---- Afterwards ----

    def functions(self) -> list[types.FunctionType]:
        """The users' functions that were called."""
        found = [each for each in gc.get_referrers(*self.codes) if isinstance(each, types.FunctionType)
                 and each.__code__ in self.codes and self._was_called(each)] if self.codes else []
        return sorted(found, key=lambda each: (each.__code__.co_filename, each.__code__.co_firstlineno))

    def facts(self) -> Facts:
        return Facts(self)


def _place(filename: str, line: int) -> str:
    return f' (File "{filename}", line {line})'


def _filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not Absent
    except ValueError:
        return False


class Facts:
    """The table of what one function was traced with."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._functions = reading.functions()
        self._all = bool(reading.mentioned & DYNAMIC)
        self.tensors: dict[str, torch.Tensor] = {}  # by name; those that the module holds as parameters are not here
        self._walk = _Walk(self)
        self.tensors = self._walk.tensors

    def modules(self) -> list[torch.nn.Module]:
        """The modules that tracing has read."""
        return [module for module, _ in self._reading.modules.values() if _is_known_module(module)]

    def read(self, name: str) -> bool:
        """Whether code that was traced may read an attribute of this name."""
        return self._all or name in self._reading.mentioned

    def read_of(self, holder: object, names: Iterable[str]) -> list[str]:
        """Those attributes of an optimizer or a scheduler that traced code may read: PyTorch's code does so in methods
        that the user's calls."""
        own = [name for name in names if name != "_opt_called"]  # which our own steps set
        found: set[str] = self._reading.of_users
        if found & DYNAMIC or any(callable(getattr(type(holder), name, None)) for name in found):
            return own
        return [name for name in own if name in found]

    def replace(self, before: torch.Tensor, now: torch.Tensor) -> None:
        """Takes a tensor that another table has found in the place of one of this table's."""
        self.tensors.update({name: now for name, tensor in self.tensors.items() if tensor is before})

    def check(self, values: Callable[[str, torch.Tensor, torch.Tensor], None]) -> None:
        """Raises InvalidError if a value is another one. Calls `values` with the name of each tensor in whose place
        there is another one, what it was, and what it is."""
        if self._walk.is_unchanged():
            return
        now = _Walk(self)
        for name, fact in self._walk.facts.items():
            new = now.facts.get(name)
            if new is None or differs(new.value, fact.value):
                raise _changed(name, fact, "not there any more" if new is None else _shown(new.value))
        for name, fact in now.facts.items():
            if name not in self._walk.facts:
                raise _changed(name, dataclasses.replace(fact, value=Absent), _shown(fact.value))
        for name, tensor in now.tensors.items():
            before = self.tensors[name]
            if tensor is before:
                continue
            same = next((other for other, each in now.tensors.items() if each is before), None)
            if same is not None:
                raise _changed(name, Fact((_Walk, f"the same tensor as {same}"), ""), "another tensor")
            values(name, before, tensor)
        self._walk = now
        self.tensors = now.tensors


def _shown(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 2 and value[0] is _Walk:
        return str(value[1])
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, types.MethodType)):
        return f"{getattr(value, '__qualname__', getattr(value, '__name__', value))}"
    return reprlib.repr(value) if not isinstance(value, torch.nn.Module) else f"a {type(value).__name__}"


def _changed(name: str, fact: Fact, now: str) -> sc.InvalidError:
    if name.rpartition(".")[2] == "training":
        part = name.rpartition(".")[0]
        mode = {True: "training", False: "evaluation"}
        was, is_ = mode[bool(fact.value)], mode[not fact.value]
        what = f"part '{part}'" if part else "the model"
        return sc.InvalidError(f"{what} is in {is_} mode, but it was in {was} mode when the model was compiled; call "
                               f"{'train' if fact.value else 'eval'}() of it before the step, or compile again")
    was = "was not there" if fact.value is Absent else f"was {_shown(fact.value)}"
    return sc.InvalidError(f"{name} is {now}, but it {was} when the model was compiled, which the step would still "
                           f"use{fact.where}; make it a buffer that forward changes or an input of the batch, or "
                           "compile again")


class _Walk:
    """One reading of all values: facts and tensors by name, and how to find out fast that none of them changed."""

    def __init__(self, table: Facts) -> None:
        self.facts: dict[str, Fact] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self._table = table
        self._seen: dict[int | tuple[int, str], object] = {}  # by id; of a class's attribute, by the class's and name
        self._getters: list[Callable[[Any], Any]] = []
        self._holders: list[Any] = []
        self._expected: list[Any] = []
        self._modules: list[torch.nn.Module] = []
        self._types: list[type] = []
        self._sized: list[Any] = []
        self._lengths: list[int] = []
        self._others: list[Callable[[], bool]] = []
        reading = table._reading
        self._paths = {id(part): name for name, part in reading.module.named_modules(remove_duplicate=False)}
        self._tree = set(self._paths)
        self._of_callable(reading.loss)
        for function in table._functions:
            self._of_function(function)
        for code, space in reading.codes.items():
            place = _place(code.co_filename, code.co_firstlineno)
            names = [name for name in globals_of(code) if name in space]
            self._hold(space, names)
            for name in names:
                self._visit(name, space[name], f", a global of {code.co_name}{place}")
        self._of_environment(reading.mentioned)
        for each in reading.objects.values():
            self._visit(f"{type(each).__name__}", each, "")
        for module, reads in list(reading.modules.values()):
            if id(module) in self._paths or _is_known_module(module):
                self._of_module(self._paths.get(id(module), type(module).__name__), module, reads)

    def is_unchanged(self) -> bool:
        """Whether all values are the same objects as they were."""
        try:
            found = itertools.chain.from_iterable(map(operator.call, self._getters, self._holders))
            return (all(map(operator.is_, found, self._expected)) and list(map(len, self._sized)) == self._lengths and
                    list(map(type, self._modules)) == self._types and
                    all(map(operator.call, self._others)))
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            return False

    def _add(self, name: str, value: object, where: str) -> None:
        while name in self.facts:  # of another function, say
            name += "'"
        self.facts[name] = Fact(value, where)

    # ---- What is compared fast ----

    def _hold(self, holder: Any, keys: list[Any]) -> None:
        """Compares these entries of a dict, or attributes of a class, by identity."""
        if keys:
            get = operator.itemgetter(*keys) if len(keys) > 1 else operator.itemgetter(keys[0], keys[0])
            self._getters.append(get)
            self._holders.append(holder)
            self._expected += get(holder)

    def _size(self, holder: Any) -> None:
        self._sized.append(holder)
        self._lengths.append(len(holder))

    # ---- Values ----

    def _visit(self, name: str, value: Any, where: str) -> None:
        if isinstance(value, SIMPLE):
            self._add(name, value, where)
            return
        if isinstance(value, torch.Tensor):
            while self.tensors.get(name, value) is not value:  # another one of this name
                name += "'"
            self.tensors[name] = value
            self._add(name, (_Walk, f"a tensor {value.dtype} {tuple(value.shape)}"), where)
            return
        if isinstance(value, torch.nn.Module):
            for inner, part in value.named_modules(remove_duplicate=False):
                self._paths.setdefault(id(part), named(name, inner))
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, (dict, types.MappingProxyType)):
            self._of_dict(name, value, where)
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            self._of_elements(name, value, where)
        elif numbers_of(value) is not None:
            numbers = numbers_of(value)
            self._add(name, numbers, where)
            self._others.append(lambda: numbers_of(value) == numbers)
        elif is_iterator(value):
            state = state_of(value)
            self._add(name, _Same(value), where)
            self._add(named(name, "(place)"), state, where)
            self._others.append(lambda: state_of(value) == state)
        elif isinstance(value, functools.partial):
            self._of_callable(value, name)
        elif isinstance(value, types.MethodType):
            self._visit(named(name, "__self__"), value.__self__, where)
            self._add(name, value.__func__, where)
        elif isinstance(value, types.ModuleType):
            self._of_space(name, value, where)
        elif isinstance(value, type):
            self._add(name, value, where)
            self._of_class(name, value, where)
        elif isinstance(value, types.FunctionType):
            self._add(name, value, where)
            self._add(named(name, "__code__"), value.__code__, where)
            self._getters.append(_defaults)
            self._holders.append(value)
            self._expected += _defaults(value)
            keys = [key for key in vars(value) if self._table.read(key)]
            self._hold(vars(value), keys)
            for key in keys:
                self._visit(named(name, key), vars(value)[key], where)
        elif isinstance(value, (random.Random, np.random.Generator, np.random.RandomState, torch.Generator)):
            return
        elif entries_of(value) is not None:
            self._of_entries(name, value, where)
        elif is_of_users(type(value)):
            self._of_object(name, value, where)
        elif isinstance(value, CODE_LEAVES):
            self._add(name, value, where)
        elif not _is_of_trace(value):
            self._add(name, _Same(value), where)
            if attributes_of(value) is not None:
                self._of_object(name, value, where)

    def _of_dict(self, name: str, value: Mapping[Any, Any], where: str) -> None:
        keys = [key for key, each in value.items() if not _is_of_trace(each)]
        if len(keys) == len(value):
            self._size(value)
        self._hold(value, keys)
        for key in keys:
            self._visit(f"{name}[{key!r}]", value[key], where)

    def _of_entries(self, name: str, value: Any, where: str) -> None:
        """A container or a reference whose contents cannot be compared in a call of C."""
        entries = entries_of(value) or {}
        self._add(name, type(value), where)

        def is_same() -> bool:
            now = entries_of(value) or {}
            return now.keys() == entries.keys() and all(each is entries[key] for key, each in now.items())

        self._others.append(is_same)
        for key, each in entries.items():
            if not _is_of_trace(each):
                self._visit(f"{name}[{key!r}]", each, where)

    def _of_elements(self, name: str, value: Any, where: str) -> None:
        if isinstance(value, (set, frozenset)):
            before = frozenset(value)
            self._add(name, before, where)
            self._others.append(lambda: value == before)
            return
        self._size(value)
        if len(value) > MANY and all(isinstance(each, SIMPLE) for each in value):
            self._add(name, tuple(value), where)
        else:
            self._add(name, (_Walk, f"a {type(value).__name__} of {len(value)}"), where)
            for number, each in enumerate(value):
                if not _is_of_trace(each):
                    self._visit(f"{name}[{number}]", each, where)
        if isinstance(value, (list, collections.deque)) and value:
            self._getters.append(tuple)
            self._holders.append(value)
            self._expected += value

    def _of_object(self, name: str, value: Any, where: str) -> None:
        self._add(name, type(value), where)
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            are_read = isinstance(value, torch.distributions.Distribution)  # by PyTorch's code, which is not looked at
            keys = [key for key, each in held.items() if (are_read or self._table.read(key)) and not _is_of_trace(each)]
            if isinstance(value, (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)):
                keys = self._table.read_of(value, held)  # steps and schedulers note things in others
            else:
                self._size(held)
            self._hold(held, keys)
            for key in keys:
                self._visit(named(name, key), held[key], where)
        slots = [slot for kind in type(value).__mro__ for slot in slots_of(kind) if hasattr(value, slot)]
        if slots:
            self._getters.append(operator.attrgetter(*slots, slots[0]))
            self._holders.append(value)
            self._expected += operator.attrgetter(*slots, slots[0])(value)
            for slot in slots:
                self._visit(named(name, slot), getattr(value, slot), where)
        self._of_class(type(value).__name__, type(value), where)

    def _of_class(self, name: str, kind: type, where: str) -> None:
        for each in kind.__mro__:
            if not is_of_users(each) or each is object or (id(each) in self._seen and each is not kind):
                continue
            self._seen[id(each)] = each
            keys = [key for key in vars(each) if self._table.read(key) and not key.startswith("__")]
            self._hold(vars(each), keys)
            for key in keys:
                value = vars(each)[key]
                if isinstance(value, CODE_LEAVES):
                    self._add(named(name, key), value, where)
                elif not isinstance(value, types.MemberDescriptorType):
                    self._visit(named(name, key), value, where)

    def _of_space(self, name: str, space: types.ModuleType, where: str) -> None:
        """A module of Python that is the user's, such as one of settings."""
        if origin_of(getattr(space, "__file__", None) or "<built-in>") != "user":
            return
        keys = [key for key in vars(space) if key in self._table._reading.mentioned and not key.startswith("__")]
        self._hold(vars(space), keys)
        for key in keys:
            self._visit(named(name, key), vars(space)[key], where)

    # ---- Roots ----

    def _of_environment(self, mentioned: set[str]) -> None:
        """The variables of the environment that the code names, if it may look at any."""
        if not mentioned & {"environ", "getenv"}:
            return
        names = sorted(text for text in mentioned if text and "=" not in text and "\0" not in text)

        def values() -> list[str | None]:
            return [os.environ.get(name) for name in names]

        before = values()
        self._others.append(lambda: values() == before)
        for name, value in zip(names, before):
            self._add(f"os.environ[{name!r}]", value, "")

    def _of_callable(self, loss: Any, name: str = "loss") -> None:
        if isinstance(loss, functools.partial):
            self._size(loss.keywords)
            self._hold(loss.keywords, list(loss.keywords))
            for number, value in enumerate(loss.args):
                self._visit(f"{name}.args[{number}]", value, ", an argument of the partial function")
            for key, value in loss.keywords.items():
                self._visit(key, value, ", an argument of the partial function")
            self._of_callable(loss.func)
        elif isinstance(loss, types.MethodType):
            self._visit("self", loss.__self__, "")
        elif not isinstance(loss, types.FunctionType):
            self._visit(name, loss, "")

    def _of_function(self, function: types.FunctionType) -> None:
        code = function.__code__
        where = f", which {code.co_name} takes from around it{_place(code.co_filename, code.co_firstlineno)}"
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            if _filled(cell):
                self._getters.append(_contents)
                self._holders.append(cell)
                self._expected.append(cell.cell_contents)
                self._visit(name, cell.cell_contents, where)
        self._add(f"{code.co_name}.__code__", code, "")
        where = f", a default of {code.co_name}{_place(code.co_filename, code.co_firstlineno)}"
        defaults = function.__defaults__ or ()
        positional = code.co_varnames[:code.co_argcount]
        self._getters.append(_defaults)
        self._holders.append(function)
        self._expected += _defaults(function)
        for name, value in zip(positional[len(positional) - len(defaults):], defaults):
            self._visit(name, value, where)
        if function.__kwdefaults__:
            self._hold(function.__kwdefaults__, list(function.__kwdefaults__))
            for name, value in function.__kwdefaults__.items():
                self._visit(name, value, where)

    def _of_module(self, path: str, module: torch.nn.Module, reads: dict[str, str]) -> None:
        held, names = vars(module), [name for name in reads if name != "training" or self._table._reading.trains]
        if "__dict__" in reads:
            names += [name for name in held if name not in OWN]
        is_ours = id(module) in self._tree
        self._add(named(path, "__class__"), type(module), "")
        self._modules.append(module)
        self._types.append(type(module))
        self._size(held)
        own = [name for name in dict.fromkeys(names) if name in held and name not in OWN]
        own = [name for name in own if not _is_of_trace(held[name])]
        self._hold(held, own)
        for name in own:
            self._visit(named(path, name), held[name], reads.get(name, ""))
        for store in ("_parameters", "_buffers", "_modules"):
            entries = held[store]
            self._size(entries)
            self._hold(entries, list(entries))
            for key, value in entries.items():
                name = named(path, key)
                if store == "_modules":
                    self._add(name, value, "")
                elif value is None:
                    self._add(name, None, "")
                elif store == "_buffers" or not is_ours:
                    self._visit(name, value, "")
                else:
                    self._add(name, _Same(value), "")
        for name in names:
            if name not in held and not any(name in held[store] for store in ("_parameters", "_buffers", "_modules")):
                self._of_class_attribute(path, module, name, reads.get(name, ""))

    def _of_class_attribute(self, path: str, module: torch.nn.Module, name: str, where: str) -> None:
        owner = next((kind for kind in type(module).__mro__ if name in vars(kind)), None)
        if owner is None or name.startswith("__"):
            return
        value = vars(owner)[name]
        if owner.__module__.split(".")[0] == "torch" and name != "forward":
            return
        if (id(owner), name) not in self._seen:
            self._seen[(id(owner), name)] = owner
            self._hold(vars(owner), [name])
        if isinstance(value, CODE_LEAVES):
            self._add(f"{owner.__name__}.{name}", value, where)
        else:
            self._visit(f"{owner.__name__}.{name}", value, where)


class _Same:
    """A parameter, or another object of which nothing is known, by its identity."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)

    def __repr__(self) -> str:
        kind = "parameter" if isinstance(self._value, torch.Tensor) else type(self._value).__name__
        return f"the {kind} at {id(self._value):#x}"


def _contents(cell: types.CellType) -> tuple[Any]:
    return (cell.cell_contents,)


def _defaults(function: types.FunctionType) -> tuple[Any, ...]:
    return (function.__defaults__, function.__kwdefaults__, function.__code__)


def _is_of_trace(value: object) -> bool:
    """Whether a value is a tensor of the tracing itself, which the loss has saved."""
    from torch._subclasses.fake_tensor import FakeTensor
    if isinstance(value, (list, tuple)) and value:
        return any(isinstance(each, FakeTensor) for each in value)
    return isinstance(value, FakeTensor)


def _is_known_module(module: torch.nn.Module) -> bool:
    """Whether it is a module of the program rather than of torch.export or of ours."""
    kind = type(module).__module__
    return type(module) is not torch.nn.Module and not isinstance(module, torch.fx.GraphModule) and not kind.startswith(
        ("torch.fx", "torch.export", "torch._", "splitcast", "torch.jit"))
