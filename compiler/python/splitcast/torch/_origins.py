"""Whose code a file or a class is: what the user wrote may change, and is compared before each step."""
from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import sys
import sysconfig
import types
from collections.abc import Mapping

import numpy as np
import splitcast as sc
import torch

INSTALLED = ("/site-packages/", "/dist-packages/")


def _folder_of(module: types.ModuleType) -> str:
    return os.path.dirname(os.path.abspath(module.__file__ or "")) + os.sep


def _needed_by(package: str) -> list[str]:
    """Where the packages lie that an installed one needs, such as SymPy, which runs within torch.export."""
    places, seen, todo = [], {package}, [package]
    while todo:
        name = todo.pop()
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # of another system or Python
            continue
        if name != package:
            tops = (installed.read_text("top_level.txt") or name.replace("-", "_")).split()
            places += [str(installed.locate_file(top)) + end for top in tops for end in (os.sep, ".py")]
        for requirement in installed.requires or ():
            found = re.match(r"[\w.-]+", requirement)
            if found and "extra ==" not in requirement and found[0].lower() not in seen:
                seen.add(found[0].lower())
                todo.append(found[0].lower())
    return places


# By the folders themselves, not by their names: a user's own folder may be called torch, too.
PACKAGES = tuple(_folder_of(module) for module in (torch, np, sc)) + tuple(_needed_by("torch"))
LIBRARIES = tuple(sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}))


# The names, instead of a file's, of code that libraries generate.
GENERATED = ("<frozen ", "<eval_with_key>", "<attrs generated", "<decorator-gen", "<lambdifygenerated",
             "<__array_function__", "<built-in>")


@functools.cache
def origin_of(filename: str, module: str = "") -> str:
    """Whose code a file has: 'user', 'installed' (a library from outside), or 'own' (ours, or Python's,
    or PyTorch's with what it needs).

    module: the `__name__` of the code's globals, if it is known. It decides for code that is in no file, such as that
    of a notebook or a console ("<stdin>"), and what a library or the user's program executes.
    """
    if filename.startswith("<"):
        if filename.startswith(GENERATED) or module.startswith("namedtuple_"):
            return "own"
        if filename == "<string>" and not module:
            return "own"
        return origin_of_module(sys.modules.get(module))
    if os.path.abspath(filename).startswith(PACKAGES):
        return "own"
    if any(part in filename for part in INSTALLED):
        return "installed"
    return "own" if filename.startswith(LIBRARIES) else "user"


def origin_of_code(code: types.CodeType, space: Mapping[str, object]) -> str:
    """origin_of of a function's code, whose globals are `space`."""
    if "__create_fn__" in code.co_qualname:  # a dataclass's
        return "own"
    name = space.get("__name__")
    if name is None and code.co_filename == "<string>" and not code.co_name.startswith("<"):
        return "user"  # a function of exec(text, {}); libraries evaluate expressions so
    return origin_of(code.co_filename, str(name or ""))


def origin_of_module(module: types.ModuleType | None) -> str:
    """Whose a module is. One without a file, and that nobody imported, is the user's: that of a console, or one that
    the program made; so is None."""
    top = sys.modules.get(module.__name__.split(".")[0], module) if module else None
    file = getattr(module, "__file__", None) or getattr(top, "__file__", None)
    if file is not None:
        return origin_of(file)
    return "user" if getattr(top, "__spec__", None) is None else "own"


def is_written_by_user(kind: type) -> bool:
    """Whether the user's own code has the class."""
    return origin_of_module(sys.modules.get(kind.__module__)) == "user"


def is_of_users(kind: type) -> bool:
    """Whether a class is neither Python's nor PyTorch's nor NumPy's: its attributes are values of the program."""
    if issubclass(kind, types.SimpleNamespace):
        return True
    top = kind.__module__.split(".")[0]
    return top not in ("torch", "numpy", "splitcast") and (top not in sys.stdlib_module_names or top in (
        "__main__", "argparse", "collections"))
