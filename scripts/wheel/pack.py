"""Writes a wheel, and prints its path: pack.py PACKAGE BUNDLE KIND DIRECTORY.

PACKAGE is the directory of the built package, BUNDLE one of scripts/bundle/assemble.sh with the extension and all
libraries in lib and programs in libexec, KIND one of KINDS, and DIRECTORY that of the wheel. The libraries of the C
library are left out: the interpreter has loaded them. The same files give the same wheel, which appears when it is
complete. The metadata are those of pyproject.toml.
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# By kind, the file of the extension and the tag of Python: Debian 12's own, and the stable ABI of newer ones.
KINDS = {"cp311": ("_splitcast.so", "cp311-cp311"), "abi3": ("_splitcast.abi3.so", "cp312-abi3")}
PLATFORM = "manylinux_2_36_x86_64"  # the C library of Debian 12
OF_C = ("ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so", "libresolv.so",
        "libmvec.so")
MADE = (1980, 1, 1, 0, 0, 0)  # the time of all files, the first that an archive can have


def project() -> dict[str, Any]:
    """The table [project] of pyproject.toml, with the version of the package."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    with open(os.path.join(ROOT, "compiler/python/splitcast/__init__.py"), encoding="utf-8") as text:
        [version] = re.findall(r'^__version__ = "(.*)"$', text.read(), re.MULTILINE)
    return dict(table, version=version)


def kind_of(python: tuple[int, int]) -> str | None:
    """The kind of wheel for a version of Python, if there is one."""
    return "cp311" if python == (3, 11) else "abi3" if python >= (3, 12) else None


def tag_of(kind: str) -> str:
    return f"{KINDS[kind][1]}-{PLATFORM}"


def file_name(of: dict[str, Any], kind: str) -> str:
    """That of the wheel."""
    return f"{of['name']}-{of['version']}-{tag_of(kind)}.whl"


def metadata(of: dict[str, Any]) -> str:
    """The file METADATA of the wheel of a project; its text is README.md."""
    lines = ["Metadata-Version: 2.4", f"Name: {of['name']}", f"Version: {of['version']}",
             f"Summary: {of['description']}", f"License-Expression: {of['license']}",
             *(f"License-File: {file}" for file in of["license-files"]), f"Requires-Python: {of['requires-python']}",
             f"Keywords: {','.join(of['keywords'])}", *(f"Classifier: {each}" for each in of["classifiers"])]
    lines += [f"Requires-Dist: {needed}" for needed in of["dependencies"]]
    for extra, needs in of["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in needs]
    lines += ["Description-Content-Type: text/markdown", "", read(os.path.join(ROOT, of["readme"])).decode()]
    return "\n".join(lines)


def needs_of(path: str) -> list[str]:
    """The names of the libraries that a library is linked to."""
    text = subprocess.run(["objdump", "-p", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line.split()[1] for line in text.splitlines() if line.strip().startswith("NEEDED")]


def needed_by(roots: list[str], directory: str) -> set[str]:
    """The names of the libraries in a directory that some files need, directly or not, but for those of C."""
    found: set[str] = set()
    paths = list(roots)
    while paths:
        new = {name for name in needs_of(paths.pop()) if not name.startswith(OF_C)} - found
        paths += [os.path.join(directory, name) for name in new]
        found |= new
    return found


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


def entry_points(of: dict[str, Any]) -> str:
    """The file entry_points.txt: commands that pip makes."""
    return "".join(["[console_scripts]\n", *(f"{name} = {function}\n" for name, function in of["scripts"].items())])


def information(of: dict[str, Any], kind: str) -> Iterator[tuple[str, bytes]]:
    """Yields (name, bytes) for each file of the wheel's dist-info, but for RECORD."""
    yield "METADATA", metadata(of).encode()
    yield "WHEEL", ("Wheel-Version: 1.0\nGenerator: scripts/wheel.sh\nRoot-Is-Purelib: false\n"
                    f"Tag: {tag_of(kind)}\n").encode()
    yield "entry_points.txt", entry_points(of).encode()
    for file in of["license-files"]:
        yield f"licenses/{file}", read(os.path.join(ROOT, file))


def contents(of: dict[str, Any], package: str, bundle: str, kind: str) -> Iterator[tuple[str, bytes]]:
    """Yields (name in the wheel, bytes) for each file."""
    name, info, extension = of["name"], f"{of['name']}-{of['version']}.dist-info", KINDS[kind][0]
    libraries, programs = os.path.join(bundle, "lib"), os.path.join(bundle, "libexec")
    for folder, _, files in sorted(os.walk(package)):
        if ".runfiles" in folder:  # copies of the same files, if the extension was built by itself
            continue
        for file in sorted(files):
            if file.endswith((".py", ".pyi")) or file == "py.typed":
                path = os.path.join(folder, file)
                yield f"{name}/{os.path.relpath(path, package)}", read(path)
    yield f"{name}/{extension}", read(os.path.join(libraries, extension))
    for program in sorted(os.listdir(programs)):
        yield f"{name}/bin/{program}", read(os.path.join(programs, program))
    roots = [os.path.join(libraries, extension), *(os.path.join(programs, each) for each in os.listdir(programs))]
    packed = needed_by(roots, libraries)
    for library in sorted(packed):
        yield f"{name}/lib/{library}", read(os.path.join(libraries, library))
    yield f"{name}/lib/order.txt", ("\n".join(in_order(libraries, packed)) + "\n").encode()
    for file, data in information(of, kind):
        yield f"{info}/{file}", data


def write(to: IO[bytes], files: Iterable[tuple[str, bytes]], record: str) -> None:
    """Writes a wheel of these files and of `record`, which lists them. Programs, in bin, may be executed."""
    lines = []
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

        def add(name: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(name, MADE)
            entry.external_attr = (stat.S_IFREG | (0o755 if "/bin/" in name else 0o644)) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)

        for name, data in files:
            add(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}")
        add(record, ("\n".join([*lines, record + ",,"]) + "\n").encode())


def main() -> None:
    package, bundle, kind, output = sys.argv[1:]
    for needed in ("_splitcast.pyi", "py.typed"):
        if not os.path.exists(os.path.join(package, needed)):
            sys.exit(
                f"wheel: error: {package} has no {needed}; build //compiler/python and //compiler/python:stubs")
    os.makedirs(output, exist_ok=True)
    of = project()
    base = f"{of['name']}-{of['version']}"
    final = os.path.join(output, file_name(of, kind))
    with tempfile.NamedTemporaryFile(dir=output, delete=False) as scratch:
        write(scratch, contents(of, package, bundle, kind), f"{base}.dist-info/RECORD")
    os.chmod(scratch.name, 0o644)
    os.replace(scratch.name, final)
    print(final)


if __name__ == "__main__":
    main()
