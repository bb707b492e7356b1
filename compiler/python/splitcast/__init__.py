"""Splitcast: training graphs of global tensors, compiled for each rank, with ZeRO as compiler passes.

    import splitcast as sc

    graph = sc.Graph()
    graph.function("train")
    x = graph.input("x", sc.f32, (128, 256), sc.split(0))
    labels = graph.input("labels", sc.i64, (128,), sc.split(0))
    logits = sc.linear(sc.relu(sc.linear(x, "fc1", 128)), "fc2", 10)
    loss = sc.mean(sc.softmax_cross_entropy(logits, labels))
    graph.minimize(loss, sc.Sgd(lr=1e-3))
    graph.output("loss", loss)
    session = graph.compile(enable_zero=2)
    print(session.step(x=rows, labels=labels_of_rows)["loss"])

`mpirun -n 4 python3 train.py` starts 4 ranks; srun and torchrun work, too. A program that is started without a launcher
is the only rank. An uncaught exception ends the job on all ranks, and so does sys.exit with a status other than 0.
"""
import atexit as _atexit
import os as _os
import sys as _sys
from types import TracebackType as _TracebackType
from typing import NoReturn as _NoReturn

from splitcast import _libraries

_libraries.load()  # before the extension, which needs them

# ruff: noqa: E402
from splitcast import _described, _splitcast
from splitcast import metrics as metrics
from splitcast._errors import Error as Error
from splitcast._errors import InvalidError as InvalidError
from splitcast._errors import NotFoundError as NotFoundError
from splitcast._splitcast import *  # noqa: F403 (all of its public names are the package's)

__version__ = "0.1.0"

_failure: str | None = None


def _end_job() -> None:
    if not _splitcast._has_begun():
        return
    _sys.stdout.flush()
    status = _splitcast._end(_failure)
    if status and _failure is None:  # another rank failed, and Python would exit with status 0
        _sys.stderr.flush()
        _os._exit(status)


def _become_rank() -> None:
    """Sees to it that the other ranks are told how this process ends. Importing the package changes nothing: the
    extension calls this when the job begins.

    An uncaught exception is noted by sys.excepthook. sys.exit does not call it, and is replaced.
    """
    previous_hook, previous_exit = _sys.excepthook, _sys.exit

    def note_failure(kind: type[BaseException], value: BaseException, trace: _TracebackType | None) -> None:
        global _failure
        _failure = f"{kind.__name__}: {value}" if str(value) else kind.__name__
        previous_hook(kind, value, trace)

    def exit_and_note(status: str | int | None = None) -> _NoReturn:
        global _failure
        if status not in (None, 0, False):
            _failure = f"sys.exit({status!r})"
        previous_exit(status)

    _sys.excepthook = note_failure
    _sys.exit = exit_and_note


_splitcast.Session.__repr__ = _described.session  # type: ignore[method-assign,assignment]
_atexit.register(_end_job)
_splitcast._at_begin(_become_rank)
