"""The libraries that a wheel brings, in splitcast/lib; none in a tree that was built where the package runs.

They are loaded by their names before the extension is, which then finds them loaded: an installed file can thus be moved,
and no search path is changed. Libraries that the system has of its own come first where two copies in one process would
be in each other's way: MPI, whose launcher brings its own, and the C++ runtime, which other extensions use, too.
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
    """dlopen, which binds functions when they are first called: ctypes.CDLL binds all at once, and of two libraries that
    LLVM is linked to, and that nothing here reaches, a wheel has the names alone."""
    c = ctypes.CDLL(None)
    c.dlopen.argtypes, c.dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    c.dlerror.restype = ctypes.c_char_p

    def open_library(name):
        return c.dlopen(name.encode(), os.RTLD_LAZY)

    open_library.error = lambda: (c.dlerror() or b"").decode()
    return open_library
