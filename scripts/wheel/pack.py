"""Writes a wheel, and prints its path: pack.py PACKAGE LIBRARIES DIRECTORY.

PACKAGE is the directory of the built package, LIBRARIES that of all libraries that its extension needs, and DIRECTORY
that of the wheel. The libraries of the C library are left out, since the interpreter has loaded them. The file appears
when it is complete. The metadata are those of pyproject.toml.
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TAG = "cp311-cp311-linux_x86_64"
OF_C = ("ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so", "libresolv.so",
        "libmvec.so")
WHEEL = f"Wheel-Version: 1.0\nGenerator: scripts/wheel.sh\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def project() -> dict[str, Any]:
    """The table [project] of pyproject.toml, with the version of the package."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    with open(os.path.join(ROOT, "compiler/python/splitcast/__init__.py"), encoding="utf-8") as text:
        [version] = re.findall(r'^__version__ = "(.*)"$', text.read(), re.MULTILINE)
    return dict(table, version=version)


def metadata(of: dict[str, Any]) -> str:
    """The file METADATA of the wheel of a project."""
    lines = ["Metadata-Version: 2.1", f"Name: {of['name']}", f"Version: {of['version']}",
             f"Summary: {of['description']}", f"License: {of['license']}", f"Requires-Python: {of['requires-python']}"]
    lines += [f"Requires-Dist: {needed}" for needed in of["dependencies"]]
    for extra, needs in of["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in needs]
    return "\n".join(lines) + "\n"


def needs_of(path: str) -> list[str]:
    """The names of the libraries that a library is linked to."""
    text = subprocess.run(["objdump", "-p", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line.split()[1] for line in text.splitlines() if line.strip().startswith("NEEDED")]


def in_order(directory: str, names: set[str]) -> list[str]:
    """Returns the names in such an order that each library comes after those that it needs."""
    done: list[str] = []

    def visit(name: str) -> None:
        if name in done or name not in names:
            return
        for needed in needs_of(os.path.join(directory, name)):
            visit(needed)
        done.append(name)

    for name in sorted(names):
        visit(name)
    return done


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def contents(of: dict[str, Any], package: str, libraries: str) -> Iterator[tuple[str, bytes]]:
    """Yields (name in the wheel, bytes) for each file."""
    name, info = of["name"], f"{of['name']}-{of['version']}.dist-info"
    for folder, _, files in sorted(os.walk(package)):
        if ".runfiles" in folder:  # copies of the same files, if the extension was built by itself
            continue
        for file in sorted(files):
            if file.endswith((".py", ".pyi", ".so")) or file == "py.typed":
                path = os.path.join(folder, file)
                yield f"{name}/{os.path.relpath(path, package)}", read(path)
    packed = {each for each in os.listdir(libraries) if not each.startswith(OF_C) and each != "_splitcast.so"}
    for library in sorted(packed):
        yield f"{name}/lib/{library}", read(os.path.join(libraries, library))
    yield f"{name}/lib/order.txt", ("\n".join(in_order(libraries, packed)) + "\n").encode()
    yield f"{info}/METADATA", metadata(of).encode()
    yield f"{info}/WHEEL", WHEEL.encode()


def write(to: IO[bytes], files: Iterable[tuple[str, bytes]], record: str) -> None:
    """Writes a wheel of these files and of `record`, which lists them."""
    lines = []
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files:
            wheel.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}")
        wheel.writestr(record, "\n".join([*lines, record + ",,"]) + "\n")


def main() -> None:
    package, libraries, output = sys.argv[1:]
    for needed in ("_splitcast.so", "_splitcast.pyi", "py.typed"):
        if not os.path.exists(os.path.join(package, needed)):
            sys.exit(
                f"wheel: error: {package} has no {needed}; build //compiler/python and //compiler/python:stubs")
    os.makedirs(output, exist_ok=True)
    of = project()
    base = f"{of['name']}-{of['version']}"
    final = os.path.join(output, f"{base}-{TAG}.whl")
    with tempfile.NamedTemporaryFile(dir=output, delete=False) as scratch:
        write(scratch, contents(of, package, libraries), f"{base}.dist-info/RECORD")
    os.chmod(scratch.name, 0o644)
    os.replace(scratch.name, final)
    print(final)


if __name__ == "__main__":
    main()
