"""Whose code a file or a class is: what the user wrote may change, and is compared before each step."""
from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import sys
import sysconfig
import types

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


@functools.cache
def origin_of(filename: str) -> str:
    """Whose code a file has: 'user', 'installed' (a library from outside), or 'own' (ours, or Python's,
    or PyTorch's with what it needs)."""
    if filename.startswith("<") or os.path.abspath(filename).startswith(PACKAGES):
        return "own"
    if any(part in filename for part in INSTALLED):
        return "installed"
    return "own" if filename.startswith(LIBRARIES) else "user"


def is_written_by_user(kind: type) -> bool:
    """Whether the user's own files have the class."""
    return origin_of(getattr(sys.modules.get(kind.__module__), "__file__", None) or "") == "user"


def is_of_users(kind: type) -> bool:
    """Whether a class is neither Python's nor PyTorch's nor NumPy's: its attributes are values of the program."""
    if issubclass(kind, types.SimpleNamespace):
        return True
    top = kind.__module__.split(".")[0]
    return top not in ("torch", "numpy", "splitcast") and (top not in sys.stdlib_module_names or top in (
        "__main__", "argparse", "collections"))
