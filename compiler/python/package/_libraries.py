"""Loads the libraries of a wheel, in splitcast/lib. A package that runs where it was built has none.

They are loaded by name before the extension, which then finds them already loaded. So an installed package can be
moved, and no search path is changed. The system's own copy is preferred for libraries of which a process must not have
two: MPI, whose launcher has its own, and the C++ runtime, which other extensions use, too.
"""
import ctypes
import os

SYSTEM_FIRST = ("libmpi.", "libopen-", "libevent", "libhwloc", "libstdc++.", "libgcc_s.", "libgomp.")


def load():
    directory = os.path.join(os.path.dirname(__file__), "lib")
    order = os.path.join(directory, "order.txt")
    if not os.path.exists(order):
        return
    open_library = _opener()
    with open(order) as names:
        for name in names.read().split():
            if not (name.startswith(SYSTEM_FIRST) and open_library(name)) and not open_library(
                    os.path.join(directory, name)):
                raise ImportError("%s cannot be loaded: %s" % (name, open_library.error()))


def _opener():
    """A function that calls dlopen with lazy binding. ctypes.CDLL would bind all functions at once and fail: LLVM is
    linked to two libraries that nothing here calls, and a wheel has only stubs of them (scripts/bundle/assemble.sh)."""
    c = ctypes.CDLL(None)
    c.dlopen.argtypes, c.dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    c.dlerror.restype = ctypes.c_char_p

    def open_library(name):
        return c.dlopen(name.encode(), os.RTLD_LAZY)

    open_library.error = lambda: (c.dlerror() or b"").decode()
    return open_library
