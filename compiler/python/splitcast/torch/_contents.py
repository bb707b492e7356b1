"""What a value of the user's program holds, and how to find out that it holds something else."""
from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import decimal
import enum
import fractions
import functools
import itertools
import multiprocessing.sharedctypes
import threading
import types
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

SIMPLE = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, enum.Enum, np.generic, range,
          slice, decimal.Decimal, fractions.Fraction)
OWN = set(vars(torch.nn.Module())) - {"training"}  # PyTorch's attributes of a module, such as its parameters
ITERATORS = (types.GeneratorType, itertools.count, itertools.cycle, itertools.chain, zip, map)
SHARED = multiprocessing.sharedctypes.SynchronizedBase


class Absent:
    """The value of what is not there."""


def named(*parts: object) -> str:
    """The parts of a name, without empty ones."""
    return ".".join(str(part) for part in parts if part != "")


def differs(value: object, before: object) -> bool:
    """Whether a value is another one; 1, 1.0 and True are three, and a NaN is the same as a NaN."""
    if value is before:
        return False
    if type(value) is not type(before):
        return True
    if isinstance(value, tuple) and isinstance(before, tuple):
        return len(value) != len(before) or any(map(differs, value, before))
    return bool(value != before) and not (value != value and before != before)


class Contents(NamedTuple):
    """leaf: what is compared as a whole, if there is such. entries: what it holds by name or place."""
    leaf: object
    entries: dict[Any, Any]
    are_attributes: bool = False


def is_iterator(value: object) -> bool:
    return isinstance(value, ITERATORS) or type(value).__name__.endswith("iterator")


def state_of(iterator: Any) -> object:
    """What changes when an iterator gives its next value."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        return None if frame is None else (frame.f_lasti, repr(frame.f_locals))
    try:
        return repr(iterator.__reduce__())
    except TypeError:
        return None


def numbers_of(value: Any) -> object | None:
    """What an array holds that is no tensor, to be compared as a whole; None if the value is no such array."""
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
    if isinstance(value, (dict, types.MappingProxyType, collections.ChainMap, collections.UserDict)):
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
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return any(holds_tensor(each, depth - 1) for each in itertools.islice(inner, 1000))


