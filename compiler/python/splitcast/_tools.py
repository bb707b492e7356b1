"""The commands splitcast-opt, splitcast-run and splitcast-lsp-server of a wheel. Each becomes the program of that name
in splitcast/bin, with the libraries of splitcast/lib.

The system's loader is called, and told of the libraries by its options: programs that this one starts should not use
them, as they would if they were in the environment.
"""
import os
import sys
from typing import NoReturn

from splitcast._libraries import SYSTEM_FIRST

LOADER = "/lib64/ld-linux-x86-64.so.2"
PACKAGE = os.path.dirname(os.path.abspath(__file__))


def opt() -> NoReturn:
    """Runs passes over modules: splitcast-opt [OPTION]... FILE"""
    _become("splitcast-opt")


def run() -> NoReturn:
    """Runs a module as a rank: python3 -m splitcast.launch -n RANKS .../bin/splitcast-run FILE [FLAG]..."""
    _become("splitcast-run")


def lsp_server() -> NoReturn:
    """Tells an editor of modules, over standard input and output."""
    _become("splitcast-lsp-server")


def _become(name: str) -> NoReturn:
    program = os.path.join(PACKAGE, "bin", name)
    if not os.path.exists(program):
        sys.exit(f"{name}: error: there is no {program}; wheels have it, and else bazel build //compiler/tools:{name}")
    libraries = ":".join(filter(None, [os.path.join(PACKAGE, "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    command = [LOADER, "--argv0", name, "--library-path", libraries]
    if preferred := _preferred():
        command += ["--preload", ":".join(preferred)]
    os.execv(LOADER, [*command, program, *sys.argv[1:]])


def _preferred() -> list[str]:
    """Paths of the system's libraries that this process has, by importing the package, instead of the wheel's."""
    with open("/proc/self/maps") as maps:
        paths = {line.rstrip("\n").split(None, 5)[5] for line in maps if "/" in line}
    return sorted(path for path in paths
                  if os.path.basename(path).startswith(SYSTEM_FIRST) and not path.startswith(PACKAGE + os.sep))
