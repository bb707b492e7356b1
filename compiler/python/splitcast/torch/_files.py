"""The session of a trainer: Session, whose files and writes the model and the optimizer are told of."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

import splitcast as sc


class TrainedSession:
    """A Session that calls `before` ahead of what reads or sets variables, `before_save` ahead of what keeps all of
    them, and `after` with the names of variables that were set, or None for all of them, and whether learning rates may
    be among them. Everything else is the session's.
    """

    def __init__(self, session: sc.Session, before: Callable[[], None], before_save: Callable[[], None],
                 after: Callable[[list[str] | None, bool], None], rates: str,
                 counts: Mapping[str, list[str]]) -> None:
        """rates: which learning rates count where load() and load_known() are not told. counts: the states whose first
        updates a count of updates corrects, by its name."""
        self._session = session
        self._before = before
        self._before_save = before_save
        self._after = after
        self._rates = rates
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def __repr__(self) -> str:
        return f"<splitcast.torch.TrainedSession of {self._session!r}>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._session)})

    def read(self, name: str) -> Any:
        """As Session.read; what was changed in the model since counts."""
        self._before()
        return self._session.read(name)

    def write(self, name: str, value: Any) -> None:
        """As Session.write."""
        self._before()
        self._session.write(name, value)
        self._after([name], name.endswith("learning_rate"))

    def save(self, path: str) -> None:
        """As Session.save; what was changed in the model since counts."""
        self._before_save()
        self._session.save(path)

    def load(self, path: str, rates: str | None = None) -> None:
        """As Session.load. The groups of an optimizer of PyTorch get the learning rates that count: without rates=,
        those of the file, as in PyTorch, unless there is a schedule=."""
        self._before()
        rates = self._rates if rates is None else rates
        self._session.load(path, rates=rates)
        self._after(None, rates != "command")

    def load_weights(self, path: str, renamings: list[tuple[str, str]] | None = None) -> list[str]:
        """As Session.load_weights."""
        self._before()
        unused: list[str] = self._session.load_weights(path, renamings or [])
        self._after(None, False)
        return unused

    def load_known(self, path: str, rates: str | None = None) -> tuple[list[str], list[str]]:
        """As Session.load_known; the learning rates are as in load().

        Raises InvalidError, with nothing changed, if the file has a count of updates that is not that of all that have
        it now.
        """
        self._before()
        self._require_own_counts(path)
        rates = self._rates if rates is None else rates
        result: tuple[list[str], list[str]] = self._session.load_known(path, rates=rates)
        self._after(None, rates != "command")
        return result

    def _require_own_counts(self, path: str) -> None:
        """In PyTorch each parameter counts its own updates, and here those of a group do together."""
        names = _names_in(path)
        if not any(each in names for states in self._counts.values() for each in states):
            return  # then no count is loaded
        for count, states in self._counts.items():
            begin = [each for each in states if each not in names]
            if count in names and begin:
                raise sc.InvalidError(
                    f"'{path}' has '{count}', the count of updates of a group of the optimizer, but no '{begin[0]}': "
                    "this parameter begins now, and its first updates would not be corrected as such; give the "
                    "parameters that begin now a group of their own in the optimizer")


def _names_in(path: str) -> Collection[str]:
    """The names of a safetensors file's tensors; none if it is no such file, as loading it says then."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, os.path.getsize(path))))
    except (OSError, ValueError):
        return []
    return header if isinstance(header, dict) else []
