"""Finds out whether a loss draws random numbers from Python or NumPy, which a compiled step would not draw again."""
from __future__ import annotations

import gc
import pickle
import random
import sys
import tempfile

import numpy as np


class Draws:
    """The states of all generators of Python and NumPy, to find out whether one has drawn a number. Those that Python
    draws the names of temporary files and locks from do not count."""

    def __init__(self) -> None:
        kinds = _with_subclasses(random.Random) | _with_subclasses(np.random.BitGenerator)
        of_names: type = vars(tempfile)["_RandomNameSequence"]
        kinds = kinds - {random.SystemRandom} | {of_names}
        found = [each for each in gc.get_objects() if type(each) in kinds]
        shared = np.random.mtrand.get_bit_generator()
        of_libraries = _of_libraries() | {id(getattr(each, "_rng", None)) for each in found if type(each) is of_names}
        self._python = [each for each in found if isinstance(each, random.Random) and id(each) not in of_libraries]
        self._numpy = [each for each in found if isinstance(each, np.random.BitGenerator)]
        if not any(each is shared for each in self._numpy):
            self._numpy.append(shared)
        self._states = [each.getstate() for each in self._python]
        self._of_numpy = [pickle.dumps(each.state) for each in self._numpy]

    def changed(self) -> str:
        """Whose state has changed, or nothing."""
        for generator, state in zip(self._python, self._states):
            if generator.getstate() != state:
                return "random" if generator is random._inst else "a random.Random"
        for bits, text in zip(self._numpy, self._of_numpy):
            if pickle.dumps(bits.state) != text:
                return "np.random" if bits is np.random.mtrand.get_bit_generator() else "a generator of NumPy"
        return ""


def _with_subclasses(kind: type) -> set[type]:
    """The class and those that inherit from it. Of hundreds of thousands of objects, to look up the type is faster than
    issubclass()."""
    parts: list[type] = kind.__subclasses__()
    return {kind}.union(*map(_with_subclasses, parts))


def _of_libraries() -> set[int]:
    """The ids of generators that installed libraries have as globals, such as SymPy, which torch.export draws from."""
    spaces = [vars(space) for space in list(sys.modules.values())
              if "-packages/" in (getattr(space, "__file__", None) or "")]
    return {id(each) for space in spaces for each in list(space.values()) if type(each) is random.Random}
