"""What a value of the user's program holds, and how to find out that it holds something else."""
from __future__ import annotations

import array
import collections
import configparser
import contextvars
import ctypes
import decimal
import enum
import fractions
import functools
import io
import itertools
import multiprocessing.sharedctypes
import queue
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

SIMPLE = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, enum.Enum, np.generic, range,
          slice, decimal.Decimal, fractions.Fraction)
OWN = set(vars(torch.nn.Module())) - {"training"}  # PyTorch's attributes of a module, such as its parameters
SHARED = multiprocessing.sharedctypes.SynchronizedBase


class Absent:
    """The value of what is not there."""


class Guarded(dict[Any, Any]):
    """A dict of ours whose methods raise where the user reads it: tracing reads it by those of dict."""


def named(*parts: object) -> str:
    """The parts of a name, without empty ones."""
    return ".".join(str(part) for part in parts if part != "")


def differs(value: object, before: object) -> bool:
    """Whether a value is another one; 1, 1.0 and True are three, 0.0 and -0.0 two, and a NaN is the same as a NaN."""
    if value is before:
        return False
    if type(value) is not type(before):
        return True
    if isinstance(value, tuple) and isinstance(before, tuple):
        return len(value) != len(before) or any(map(differs, value, before))
    if value == before:
        return bool(value == 0) and repr(value) != repr(before)
    return not (value != value and before != before)


class Contents(NamedTuple):
    """leaf: what is compared as a whole, if there is such. entries: what it holds by name or place."""
    leaf: object
    entries: dict[Any, Any]
    are_attributes: bool = False


def is_iterator(value: object) -> bool:
    """Whether it is an iterator of Python's own, such as enumerate() makes; others are objects with attributes."""
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase) and (
        type(value).__module__.split(".")[0] in sys.stdlib_module_names)


def state_of(iterator: Any) -> object:
    """What changes when an iterator gives its next value: one that does not tell has another state each time."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        return None if frame is None else (frame.f_lasti, _state_in(tuple(frame.f_locals.values())))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return _state_in(iterator.__reduce__())
    except TypeError:
        return object()


def _state_in(value: Any) -> object:
    """The states of the iterators in what an iterator is made of."""
    if isinstance(value, tuple):
        return tuple(map(_state_in, value))
    return state_of(value) if is_iterator(value) else repr(value)


def numbers_of(value: Any) -> object | None:
    """What an array holds that is no tensor, to be compared as a whole; None if the value is no such array."""
    if isinstance(value, np.poly1d):
        return numbers_of(value.coeffs)
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes() if value.dtype != object else repr(value)
    if isinstance(value, (array.array, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, SHARED):
        return bytes(value.get_obj())
    if isinstance(value, (ctypes._SimpleCData, ctypes.Array, ctypes.Structure)):
        return bytes(value)
    return None


def entries_of(value: Any) -> dict[Any, Any] | None:
    """What a container of any library holds; None if the value is none whose contents are known."""
    if isinstance(value, Guarded):
        return dict(dict.items(value))
    if isinstance(value, (dict, types.MappingProxyType, collections.ChainMap, collections.UserDict,
                          weakref.WeakValueDictionary, weakref.WeakKeyDictionary)):
        return dict(value)
    if isinstance(value, (list, tuple, collections.deque, collections.UserList)):
        return dict(enumerate(value))
    if isinstance(value, functools.partial):
        return {**dict(enumerate(value.args)), **value.keywords, "func": value.func}
    if isinstance(value, types.MethodType):
        return {"__self__": value.__self__}
    if isinstance(value, threading.local):
        return dict(vars(value))
    if isinstance(value, weakref.ref):
        return {"()": value()}
    if isinstance(value, contextvars.ContextVar):
        return {"get()": value.get(None)}
    if isinstance(value, configparser.RawConfigParser):
        return {f"{section}.{key}": text for section in [value.default_section, *value.sections()]
                for key, text in value.items(section, raw=True)}
    if isinstance(value, configparser.SectionProxy):
        return dict(value.parser.items(value.name, raw=True))
    if isinstance(value, threading.Event):
        return {"is_set()": value.is_set()}
    if isinstance(value, queue.Queue):
        return dict(enumerate(value.queue))
    if isinstance(value, queue.SimpleQueue):
        return {"qsize()": value.qsize()}
    if isinstance(value, (io.StringIO, io.BytesIO)) and not value.closed:
        return {"tell()": value.tell(), "getvalue()": value.getvalue()}
    return None


def slots_of(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [slot for slot in ([slots] if isinstance(slots, str) else slots) if slot not in ("__dict__", "__weakref__")]


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, without those of its class; None if it has none of its own."""
    held = getattr(value, "__dict__", None)
    slots = {slot: getattr(value, slot) for kind in type(value).__mro__ for slot in slots_of(kind)
             if hasattr(value, slot)}
    if not isinstance(held, dict):
        return slots or None
    return {**{key: each for key, each in held.items() if not isinstance(value, torch.nn.Module) or key not in OWN},
            **slots}


def contents_of(value: Any) -> Contents | None:
    """None if nothing is known of the value but which one it is."""
    if isinstance(value, torch.Tensor):
        return Contents(value._version, {})
    if (numbers := numbers_of(value)) is not None:
        return Contents(numbers, {})
    if isinstance(value, (set, frozenset)):
        return Contents(frozenset(value), {})
    if is_iterator(value):
        return Contents(state_of(value), {})
    entries = entries_of(value)
    return None if entries is None else Contents(None, entries)


def holds_tensor(value: Any, depth: int = 3) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    if depth == 0 or isinstance(value, SIMPLE):
        return False
    if isinstance(value, Guarded):
        value = list(dict.values(value))
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return any(holds_tensor(each, depth - 1) for each in itertools.islice(inner, 1000))


def holds_traced(value: Any, depth: int = 4) -> bool:
    """Whether a value holds a tensor of the tracing, which has no values."""
    if isinstance(value, torch.Tensor):
        return isinstance(value, (FakeTensor, FunctionalTensor))
    if depth == 0 or isinstance(value, (*SIMPLE, type, types.ModuleType, torch.nn.Module)):
        return False
    inner = entries_of(value) if isinstance(value, (Mapping, list, tuple, collections.deque)) else attributes_of(value)
    return any(holds_traced(each, depth - 1) for each in itertools.islice((inner or {}).values(), 1000))
