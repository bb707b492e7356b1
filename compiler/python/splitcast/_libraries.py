"""Loads the libraries of a wheel, in splitcast/lib. A package that runs where it was built has none.

They are loaded by name before the extension, which then finds them already loaded. So an installed package can be
moved, and no search path is changed. The system's own copy is preferred for libraries of which a process must not have
two: MPI, whose launcher has its own, and the C++ runtime, which other extensions use, too.
"""
import ctypes
import os

SYSTEM_FIRST = ("libmpi.", "libopen-", "libevent", "libhwloc", "libstdc++.", "libgcc_s.", "libgomp.")


def load() -> None:
    """Loads what lib/order.txt lists, in that order. Raises ImportError if one cannot be loaded."""
    directory = os.path.join(os.path.dirname(__file__), "lib")
    order = os.path.join(directory, "order.txt")
    if not os.path.exists(order):
        return
    loader = _Loader()
    with open(order) as names:
        for name in names.read().split():
            if not (name.startswith(SYSTEM_FIRST) and loader.open(name)) and not loader.open(
                    os.path.join(directory, name)):
                raise ImportError(f"{name} cannot be loaded: {loader.error()}")


class _Loader:
    """dlopen with lazy binding. ctypes.CDLL would bind all functions at once and fail: LLVM is linked to two libraries
    that nothing here calls, and a wheel has only stubs of them (scripts/bundle/assemble.sh)."""

    def __init__(self) -> None:
        c = ctypes.CDLL(None)
        self._dlopen, self._dlerror = c.dlopen, c.dlerror
        self._dlopen.argtypes, self._dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
        self._dlerror.restype = ctypes.c_char_p

    def open(self, name: str) -> bool:
        return bool(self._dlopen(name.encode(), os.RTLD_LAZY))

    def error(self) -> str:
        text: bytes | None = self._dlerror()
        return (text or b"").decode()
