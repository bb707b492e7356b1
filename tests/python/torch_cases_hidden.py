"""What takes the place of what a loss has read without changing it: what an object's class gets where a base had it, a
global over a function of Python, another order of a dict. Each is followed or is an error."""
from __future__ import annotations

import collections
import functools
import math
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn

from torch_cases_changes import square
from torch_cases_reads import after
from torch_suite import Suite


class Plain:
    """An object with a number and a function, which classes that inherit from it may have otherwise."""
    shared = 1.0

    def __init__(self, tau: float = 1.0) -> None:
        self.tau = tau

    def of(self) -> float:
        return 1.0


class Derived(Plain):
    pass


class Threes:
    shared = 3.0

    def of(self) -> float:
        return 3.0


class Tripled(Plain):
    shared = 3.0


class Part(nn.Module):
    """The same as a module."""
    shared = 1.0

    def __init__(self, tau: float = 1.0) -> None:
        super().__init__()
        self.tau = tau

    def of(self) -> float:
        return 1.0


class DerivedPart(Part):
    pass


class Lacking(dict[str, float]):
    """A dict whose missing entries are 1."""

    def __missing__(self, key: str) -> float:
        return 1.0


OBJECT, PART, LACKING, ZERO = Derived(), DerivedPart(), Lacking(), Plain(0.0)
ORDER, SORTED = {"one": 1.0, "two": 3.0}, collections.OrderedDict(one=1.0, two=3.0)
TOWER = nn.ModuleDict({"one": Part(), "two": Part(3.0)})
GENERATOR = torch.Generator()

# These set something if they are called with another number than 1, and with 1 what there was before.


def hider(holder: type, name: str, hidden: object) -> Callable[[float], None]:
    """Sets an attribute that a base or an object of this class has."""

    def change(value: float) -> None:
        if value != 1.0:
            setattr(holder, name, hidden)
        elif name in vars(holder):
            delattr(holder, name)

    return change


def replacer(holder: object, name: str, other: object) -> Callable[[float], None]:
    before = getattr(holder, name)
    return lambda value: setattr(holder, name, other if value != 1.0 else before)


def adder(name: str, later: object) -> Callable[[float], None]:
    """Makes a global."""

    def change(value: float) -> None:
        if value != 1.0:
            globals()[name] = later
        else:
            globals().pop(name, None)

    return change


def set_order(holder: Any) -> Callable[[float], None]:
    return lambda value: operator.setitem(holder, last := "one" if value != 1.0 else "two", holder.pop(last))


def set_imported(value: float) -> None:
    sys.modules["settings_of_a_loss"] = module = types.ModuleType("settings_of_a_loss")
    vars(module)["tau"] = value


def by_import(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    import settings_of_a_loss  # type: ignore[import-not-found]
    return square(m, x) * float(settings_of_a_loss.tau)


def set_seed(value: float) -> None:
    GENERATOR.manual_seed(int(value))


HIDDEN: dict[str, tuple[Callable[..., torch.Tensor], Callable[[float], None]]] = {
    "a number, by a class": (lambda m, x: square(m, x) * OBJECT.shared, hider(Derived, "shared", 3.0)),
    "a method, by a class": (lambda m, x: square(m, x) * OBJECT.of(), hider(Derived, "of", lambda self: 3.0)),
    "a number of a module, by its class": (lambda m, x: square(m, x) * PART.shared, hider(DerivedPart, "shared", 3.0)),
    "a method of a module, by its class": (lambda m, x: square(m, x) * PART.of(),
                                           hider(DerivedPart, "of", lambda self: 3.0)),
    "an attribute of a module, by a property": (lambda m, x: square(m, x) * PART.tau,
                                                hider(DerivedPart, "tau", property(lambda self: 3.0))),
    "an attribute of an object, by a property": (lambda m, x: square(m, x) * OBJECT.tau,
                                                 hider(Derived, "tau", property(lambda self: 3.0))),
    "another class of an object": (lambda m, x: square(m, x) * OBJECT.shared, replacer(OBJECT, "__class__", Tripled)),
    "other bases of a class": (lambda m, x: square(m, x) * OBJECT.of(), replacer(Derived, "__bases__", (Threes, Plain))),
    "a missing entry, by a method": (lambda m, x: square(m, x) * LACKING["a"],
                                     replacer(Lacking, "__missing__", lambda self, key: 3.0)),
    "another order of a dict": (lambda m, x: square(m, x) * next(iter(ORDER.values())), set_order(ORDER)),
    "another order of an OrderedDict": (lambda m, x: square(m, x) * next(iter(SORTED.values())), set_order(SORTED)),
    "another order of parts": (lambda m, x: square(m, x) * next(iter(TOWER.values())).tau,  # type: ignore[operator]
                               set_order(TOWER)),
    "a global that comes later": (lambda m, x: square(m, x) * (3.0 if "LATER" in globals() else 1.0),
                                  adder("LATER", True)),
    "a global over a function of Python": (lambda m, x: square(m, x) * pow(1.0, 2), adder("pow", lambda *of: 3.0)),
    "a function of a library": (lambda m, x: square(m, x) * math.sqrt(1.0), replacer(math, "sqrt", lambda of: 3.0)),
    "a module that is imported": (by_import, set_imported),
    "the sign of 0": (lambda m, x: square(m, x) * (2.0 - math.copysign(1.0, ZERO.tau)),
                      lambda value: setattr(ZERO, "tau", 0.0 if value == 1.0 else -0.0)),
    "the seed of a generator": (lambda m, x: square(m, x) * GENERATOR.initial_seed(), set_seed),
}

SUITE = Suite({name: functools.partial(after, *of) for name, of in HIDDEN.items()}, ranks=(1, 3))

if __name__ == "__main__":
    SUITE.run()
