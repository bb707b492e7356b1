"""What the user's program is made of beside its tensors, as a table that is compared before each step.

A compiled model is a photograph: what tracing has read is in the graph, and a later change of it would have no effect.
`Reading` (_reading.py) notes what user's code reads while it is traced: attributes of modules, globals, closure cells,
defaults, and the objects that these hold. `Facts` is the table of these values by name. Before a step, `Facts.check`
first compares objects by identity, all of them in a few calls of C; only if one is another object does it read the
whole table again, and compares values.
"""
from __future__ import annotations

import builtins
import collections
import dataclasses
import enum
import functools
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
from splitcast._splitcast import _have_entries, _have_lengths
from splitcast.torch._again import AGAIN, ANEW
from splitcast.torch._code import DYNAMIC, globals_of, imports_of, texts_of
from splitcast.torch._contents import (
    OWN,
    SIMPLE,
    Absent,
    attributes_of,
    differs,
    entries_of,
    is_iterator,
    named,
    numbers_of,
    slots_of,
    state_of,
)
from splitcast.torch._origins import is_of_users, origin_of_code, origin_of_module
from splitcast.torch._reading import Reading, is_filled, place_of_code
from splitcast.torch._watches import has_place, memory_of

MANY = 32  # elements of a list of numbers that are compared one by one, so that errors can say which
CODE_LEAVES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, property, classmethod,
               staticmethod, functools.cached_property)
# What is compared by its contents may have attributes, too, unless it is of one of Python's plain types.
BY_CONTENTS = (*SIMPLE, torch.Tensor, np.ndarray, list, tuple, dict, set, frozenset, collections.deque)
CODE = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, types.MethodType, torch.nn.Module)
# By whose names code may see the order of a module's parts, of its parameters, or of its buffers.
IN_ORDER = {"_modules": {"_modules", "children", "named_children", "modules", "named_modules"},
            "_parameters": {"_parameters"}, "_buffers": {"_buffers", "buffers", "named_buffers"}}
OF_ALL = {"parameters", "named_parameters", "state_dict"}
CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleDict, torch.nn.ModuleList, torch.nn.ParameterDict)
PLAIN = {bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set, frozenset, range, slice}


@dataclasses.dataclass(frozen=True)
class Fact:
    """A value that tracing has read, and where (a line of the user's program, in parentheses, or nothing)."""
    value: object
    where: str


class Facts:
    """The table of what one function was traced with."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._functions = reading.functions()
        self._all = bool(reading.mentioned & DYNAMIC)
        self._names = reading.mentioned if "hasattr" in reading.names else reading.names
        self._used = {memory_of(tensor) for tensor in reading.used.values() if has_place(tensor)}
        reading.used.clear()  # the table lives as long as the trainer
        self.tensors: dict[str, torch.Tensor] = {}  # by name; those that the module holds as parameters are not here
        self._walk = _Walk(self)
        self.tensors = self._walk.tensors

    def modules(self) -> list[torch.nn.Module]:
        """The modules that tracing has read."""
        return [module for module, _ in self._reading.modules.values() if _is_known_module(module)]

    def read(self, name: str) -> bool:
        """Whether code that was traced may read an attribute of this name."""
        return self._all or name in self._names

    def reads_order(self, module: torch.nn.Module, store: str) -> bool:
        """Whether traced code may see the order of what a module has as "_modules", "_parameters" or "_buffers"."""
        seen = IN_ORDER[store] | OF_ALL
        return self._all or isinstance(module, CONTAINERS) or bool(seen & self._reading.of_users)

    def read_of(self, holder: object, names: Iterable[str]) -> list[str]:
        """Those attributes of an optimizer or a scheduler that traced code may read: PyTorch's code does so in methods
        that the user's calls."""
        own = [name for name in names if name != "_opt_called"]  # which our own steps set
        found: set[str] = self._reading.of_users
        if found & DYNAMIC or any(callable(getattr(type(holder), name, None)) for name in found):
            return own
        return [name for name in own if name in found]

    def uses(self, tensor: torch.Tensor) -> bool:
        """Whether traced code has called a function with a tensor of this memory, and so may depend on its elements."""
        return has_place(tensor) and memory_of(tensor) in self._used

    def replace(self, before: torch.Tensor, now: torch.Tensor) -> None:
        """Takes a tensor that another table has found in the place of one of this table's."""
        self.tensors.update({name: now for name, tensor in self.tensors.items() if tensor is before})

    def check(self, values: Callable[[str, torch.Tensor, torch.Tensor], None]) -> None:
        """Raises InvalidError if a value is another one. Calls `values` with the name of each tensor in whose place
        there is another one, what it was, and what it is."""
        if self._walk.is_unchanged():
            return
        now = _Walk(self)
        before, after = self._walk.facts, now.facts
        for name, fact in before.items():
            if name in after and differs(after[name].value, fact.value):
                raise _changed(name, fact, _shown(after[name].value))
        for name, fact in after.items():  # before those that are missing, which it may hide, as a new forward does
            if name not in before:
                raise _changed(name, dataclasses.replace(fact, value=Absent), _shown(fact.value))
        for name, fact in before.items():
            if name not in after:
                raise _changed(name, fact, "there now" if fact.value is Absent else "not there any more")
        for name, tensor in now.tensors.items():
            old = self.tensors[name]
            if tensor is old:
                continue
            same = next((other for other, each in now.tensors.items() if each is old), None)
            if same is not None and self.tensors[same] is old:
                raise _changed(name, Fact((_Walk, f"the same tensor as {same}"), ""), "another tensor")
            if same is not None:
                raise sc.InvalidError(f"{same} is the tensor that {name} was when the model was compiled; copy its "
                                      f"values instead (copy_()), or {AGAIN}")
            values(name, old, tensor)
        self._walk = now
        self.tensors = now.tensors


def _shown(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 2 and value[0] is _Walk:
        return str(value[1])
    if isinstance(value, CODE) and not isinstance(value, torch.nn.Module):
        return f"{getattr(value, '__qualname__', getattr(value, '__name__', value))}"
    return reprlib.repr(value) if not isinstance(value, torch.nn.Module) else f"a {type(value).__name__}"


def _changed(name: str, fact: Fact, now: str) -> sc.InvalidError:
    name = name.rstrip("'")  # see _Walk._add
    if name.rpartition(".")[2] == "training":
        part = name.rpartition(".")[0]
        mode = {True: "training", False: "evaluation"}
        was, is_ = mode[bool(fact.value)], mode[not fact.value]
        what = f"part '{part}'" if part else "the model"
        return sc.InvalidError(f"{what} is in {is_} mode, but it was in {was} mode when the model was compiled; call "
                               f"{'train' if fact.value else 'eval'}() of it before the step, or {AGAIN}")
    if isinstance(fact.value, _Same) and fact.value.is_tensor:
        return sc.InvalidError(f"{name} is another Parameter than when the model was compiled, whose values the step "
                               "would still use; put that one back, call write_back(), and copy the new values into it "
                               f"(copy_(), load_state_dict() without assign=True); or {ANEW}")
    was = "was not there" if fact.value is Absent else f"was {_shown(fact.value)}"
    what = f"{name} is {now}, but it {was} when" if was != f"was {now}" else (
        f"{name} is another {now.removeprefix('a ')} than when")
    cure = "make it a buffer or an input of the batch, if it may be a tensor, or "
    cure = "" if isinstance(fact.value, (*CODE, _Order)) else cure
    if name.rpartition(".")[2] == "__class__" or _has_tensors(fact.value):
        cure, again = "", ANEW
    else:
        again = AGAIN
    return sc.InvalidError(f"{what} the model was compiled, which the step would still use{fact.where}; {cure}{again}")


def _has_tensors(value: object) -> bool:
    """Whether it is a part of a model with parameters or buffers."""
    return isinstance(value, torch.nn.Module) and bool([*value.parameters(), *value.buffers()])


class _Walk:
    """One reading of all values: facts and tensors by name, and how to find out fast that none of them changed."""

    def __init__(self, table: Facts) -> None:
        self.facts: dict[str, Fact] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self._table = table
        self._seen: dict[int | tuple[int, str], object] = {}  # by id; of a class's attribute, by the class's and name
        self._holders: list[Any] = []
        self._keys: list[tuple[Any, ...]] = []  # of the holders' entries
        self._entries: list[Any] = []
        self._getters: list[Callable[[Any], Any]] = []
        self._objects: list[Any] = []
        self._expected: list[Any] = []
        self._typed: list[Any] = []
        self._types: list[type] = []
        self._missing: dict[int, tuple[dict[str, Any], set[str]]] = {}  # names that are in no globals, by these
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
            self._of_globals(code, space)
        self._of_environment(reading.mentioned)
        if reading.mentioned & {"modules", "import_module", "__import__"}:
            for name in sorted(reading.mentioned & sys.modules.keys()):
                self._visit(name, sys.modules[name], "")
        for each in reading.objects.values():
            self._visit(f"{type(each).__name__}", each, "")
        for module, reads in list(reading.modules.values()):
            if (reads or id(module) in self._tree) and (id(module) in self._paths or _is_known_module(module)):
                self._of_module(self._paths.get(id(module), type(module).__name__), module, reads)

    def is_unchanged(self) -> bool:
        """Whether all values are the same objects as they were."""
        try:
            found = itertools.chain.from_iterable(map(operator.call, self._getters, self._objects))
            return (_have_entries(self._holders, self._keys, self._entries) and
                    _have_lengths(self._sized, self._lengths) and all(map(operator.is_, found, self._expected)) and
                    list(map(type, self._typed)) == self._types and
                all(space.keys().isdisjoint(names) for space, names in self._missing.values()) and
                    all(map(operator.call, self._others)))
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            return False

    def _add(self, name: str, value: object, where: str) -> None:
        while name in self.facts:  # of another function, say
            name += "'"
        self.facts[name] = Fact(value, where)

    # ---- What is compared fast ----

    def _hold(self, holder: Any, keys: list[Any]) -> None:
        """Compares these entries of a dict, or attributes of a class, by identity; and the order, if they are all."""
        if keys and len(keys) == len(holder):
            keys = list(holder)
            if type(holder) is not dict and isinstance(holder, dict):
                self._getters.append(tuple)
                self._objects.append(holder)
                self._expected += keys
        if keys:
            self._holders.append(holder)
            self._keys.append(tuple(keys))
            self._entries += [holder[key] for key in keys]

    def _size(self, holder: Any) -> None:
        self._sized.append(holder)
        self._lengths.append(len(holder))

    def _type(self, value: object) -> None:
        self._typed.append(value)
        self._types.append(type(value))

    # ---- Values ----

    def _visit(self, name: str, value: Any, where: str) -> None:
        if type(value) not in PLAIN and isinstance(value, BY_CONTENTS):
            self._of_beside(name, value, where)
        if isinstance(value, SIMPLE):
            self._add(name, value, where)
            return
        if isinstance(value, torch.Tensor):
            while self.tensors.get(name, value) is not value:  # another one of this name
                name += "'"
            self.tensors[name] = value
            self._add(name, (_Walk, f"a tensor {value.dtype} {tuple(value.shape)}"), where)
            if self._table.read("requires_grad"):
                self._getters.append(_flags)
                self._objects.append(value)
                self._expected += _flags(value)
                self._add(named(name, "requires_grad"), value.requires_grad, where)
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
            self._objects.append(value)
            self._expected += _defaults(value)
            keys = [key for key in vars(value) if self._table.read(key)]
            self._hold(vars(value), keys)
            for key in keys:
                self._visit(named(name, key), vars(value)[key], where)
        elif isinstance(value, functools._lru_cache_wrapper):
            self._add(name, _Same(value), where)
            self._of_cached(value.__wrapped__)
        elif isinstance(value, torch.Generator):
            if self._table.read("initial_seed"):
                seed = value.initial_seed()
                self._add(named(name, "initial_seed()"), seed, where)
                self._others.append(lambda: value.initial_seed() == seed)
        elif isinstance(value, (random.Random, np.random.Generator, np.random.RandomState)):
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

    def _of_beside(self, name: str, value: Any, where: str) -> None:
        """The class of a value that is otherwise compared by its contents, and the attributes that it was given."""
        if is_of_users(type(value)) and not isinstance(value, enum.Enum):
            self._type(value)
            self._of_class(type(value).__name__, type(value), where)
        held = getattr(value, "__dict__", None)
        if not isinstance(held, dict) or id(held) in self._seen:
            return
        self._seen[id(held)] = held
        self._size(held)
        keys = [key for key, each in held.items() if self._table.read(key) and not _is_of_trace(each)]
        self._hold(held, keys)
        for key in keys:
            self._visit(named(name, key), held[key], where)

    def _of_dict(self, name: str, value: Mapping[Any, Any], where: str) -> None:
        keys = [key for key, each in value.items() if not _is_of_trace(each)]
        if len(keys) == len(value):
            self._size(value)
            self._add(f"the order of {name}", _Order(keys), where)
        self._hold(value, keys)
        for key in keys:
            if not isinstance(key, SIMPLE):
                self._visit(f"{name}.keys()[{type(key).__name__}]", key, where)
            self._visit(f"{name}[{key!r}]", value[key], where)

    def _of_entries(self, name: str, value: Any, where: str) -> None:
        """A container or a reference whose contents cannot be compared in a call of C."""
        entries = entries_of(value) or {}
        self._add(name, type(value), where)

        def is_same() -> bool:
            now = entries_of(value) or {}
            return list(now) == list(entries) and all(
                each is entries[key] or (isinstance(each, SIMPLE) and not differs(each, entries[key]))
                for key, each in now.items())

        self._others.append(is_same)
        self._add(f"the order of {name}", _Order(entries), where)
        for key, each in entries.items():
            if not _is_of_trace(each):
                self._visit(f"{name}[{key!r}]", each, where)

    def _of_elements(self, name: str, value: Any, where: str) -> None:
        if isinstance(value, (set, frozenset)):
            before = frozenset(value)
            self._add(name, before, where)
            self._others.append(lambda: value == before)
            for each in value:
                if not isinstance(each, SIMPLE):
                    self._visit(f"{name}[{type(each).__name__}]", each, where)
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
            self._objects.append(value)
            self._expected += value

    def _of_object(self, name: str, value: Any, where: str) -> None:
        self._add(name, type(value), where)
        self._type(value)
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
            self._objects.append(value)
            self._expected += operator.attrgetter(*slots, slots[0])(value)
            for slot in slots:
                self._visit(named(name, slot), getattr(value, slot), where)
        self._of_class(type(value).__name__, type(value), where)

    def _of_bases(self, kind: type) -> None:
        """The classes that a class inherits from: what one of them gets later may hide what another one has. Methods
        that Python calls itself, such as __call__, count whatever the code names."""
        users = [each for each in kind.__mro__ if is_of_users(each)]
        if not users or (id(kind), "__mro__") in self._seen:
            return
        self._seen[(id(kind), "__mro__")] = kind
        self._getters.append(operator.attrgetter("__mro__"))
        self._objects.append(kind)
        self._expected += kind.__mro__
        self._add(f"{kind.__name__}.__mro__", kind.__mro__, "")
        for each in users:
            if (id(each), "") in self._seen:
                continue
            self._seen[(id(each), "")] = each
            self._size(vars(each))
            methods = [key for key, value in vars(each).items()
                       if key.startswith("__") and isinstance(value, types.FunctionType)]
            self._hold(vars(each), methods)
            for key in methods:
                self._add(named(each.__name__, key), vars(each)[key], "")

    def _of_class(self, name: str, kind: type, where: str) -> None:
        self._of_bases(kind)
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
        """A module of Python: the user's, such as one of settings, or the functions and classes of a library's."""
        keys = [key for key in vars(space) if key in self._table._reading.mentioned and not key.startswith("__")]
        if origin_of_module(space) != "user":
            functions = (types.FunctionType, types.BuiltinFunctionType)
            keys = [key for key in keys if isinstance(vars(space)[key], functions)]
            self._hold(vars(space), keys)
            for key in keys:
                self._add(named(name, key), vars(space)[key], where)
            return
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
        where = f", which {code.co_name} takes from around it{place_of_code(code)}"
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            if is_filled(cell):
                self._getters.append(_contents)
                self._objects.append(cell)
                self._expected.append(cell.cell_contents)
                self._visit(name, cell.cell_contents, where)
        self._add(f"{code.co_name}.__code__", code, "")
        where = f", a default of {code.co_name}{place_of_code(code)}"
        defaults = function.__defaults__ or ()
        positional = code.co_varnames[:code.co_argcount]
        self._getters.append(_defaults)
        self._objects.append(function)
        self._expected += _defaults(function)
        for name, value in zip(positional[len(positional) - len(defaults):], defaults):
            self._visit(name, value, where)
        if function.__kwdefaults__:
            self._hold(function.__kwdefaults__, list(function.__kwdefaults__))
            for name, value in function.__kwdefaults__.items():
                self._visit(name, value, where)

    def _of_cached(self, function: Any) -> None:
        """A function whose result a cache may have kept from before compile()."""
        code = getattr(function, "__code__", None)
        if code is None or origin_of_code(code, function.__globals__) != "user":
            return
        self._of_globals(code, function.__globals__)
        self._of_function(function)

    def _of_globals(self, code: types.CodeType, space: dict[str, Any]) -> None:
        names = globals_of(code)
        if "globals" in code.co_names:
            names = list(dict.fromkeys([*names, *texts_of(code)]))
        here, where = [name for name in names if name in space], f", a global of {code.co_name}{place_of_code(code)}"
        self._hold(space, here)
        for name in here:
            self._visit(name, space[name], where)
        imported = [name for name in imports_of(code) if name in sys.modules]
        self._hold(sys.modules, imported)
        for name in imported:
            self._visit(name, sys.modules[name], f", which {code.co_name} imports{place_of_code(code)}")
        self._of_missing([name for name in names if name not in space], space, where)

    def _of_missing(self, names: list[str], space: dict[str, Any], where: str) -> None:
        """Names that are no globals: such a global would hide a function of Python's own, or end a NameError."""
        _, known = self._missing.setdefault(id(space), (space, set()))
        for name in names:
            if name not in known:
                known.add(name)
                self._add(name, Absent, where)
                if name in vars(builtins):
                    self._hold(vars(builtins), [name])
                    self._add(f"builtins.{name}", vars(builtins)[name], where)

    def _of_module(self, path: str, module: torch.nn.Module, reads: dict[str, str]) -> None:
        held, names = vars(module), list(reads)
        if "__dict__" in reads or "__getattribute__" in self._table._reading.of_users:
            names += [name for name in held if name not in OWN]
        names = [name for name in names if name != "training" or self._table._reading.trains]
        is_ours = id(module) in self._tree
        self._add(named(path, "__class__"), type(module), "")
        self._type(module)
        self._of_bases(type(module))
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
            if self._table.reads_order(module, store):
                self._add(f"the order of {named(path or 'the model', store)}", _Order(entries), "")
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
                    self._of_beside(name, value, "")
        for name in names:
            is_own = name in held or any(name in held[store] for store in ("_parameters", "_buffers", "_modules"))
            self._of_class_attribute(module, name, reads.get(name, ""), is_own)

    def _of_class_attribute(self, module: torch.nn.Module, name: str, where: str, is_own: bool) -> None:
        """is_own: whether the module itself has an attribute of this name, which only a property, say, hides."""
        owner = next((kind for kind in type(module).__mro__ if name in vars(kind)), None)
        if owner is None or name.startswith("__"):
            return
        value = vars(owner)[name]
        if is_own and not hasattr(type(value), "__set__"):
            return
        if owner.__module__.split(".")[0] == "torch" and name != "forward":
            return
        if (id(owner), name) not in self._seen:
            self._seen[(id(owner), name)] = owner
            self._hold(vars(owner), [name])
        if isinstance(value, CODE_LEAVES):
            self._add(f"{owner.__name__}.{name}", value, where)
        else:
            self._visit(f"{owner.__name__}.{name}", value, where)


class _Order:
    """The keys of a dict in their order. Others are no other order of them."""

    def __init__(self, keys: Iterable[Any]) -> None:
        self._keys = tuple(keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Order) and (other._keys == self._keys or set(other._keys) != set(self._keys))

    def __hash__(self) -> int:
        return hash(frozenset(self._keys))

    def __repr__(self) -> str:
        return ", ".join(map(str, self._keys))


class _Same:
    """A parameter, or another object of which nothing is known, by its identity."""

    def __init__(self, value: object) -> None:
        self._value = value

    @property
    def is_tensor(self) -> bool:
        return isinstance(self._value, torch.Tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)

    def __repr__(self) -> str:
        kind = "parameter" if self.is_tensor else type(self._value).__name__
        return f"the {kind} at {id(self._value):#x}"


def _flags(tensor: torch.Tensor) -> tuple[bool]:
    return (tensor.requires_grad,)


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
