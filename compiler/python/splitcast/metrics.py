"""Reports of a training loop: a file of metrics, a progress bar and TensorBoard event files. Only rank 0 writes them.

    from splitcast import metrics

    with metrics.Log("metrics.jsonl", total=1000, tensorboard="runs/1") as log:
        for step in range(first, 1000):
            loss = session.step(x=rows, labels=labels)["loss"]
            log.step(step + 1, loss=loss, tokens=tokens)

The file has one JSON object per line: {"step": 1, "seconds": 0.25, "loss": 2.5, "tokens": 4096}. JSON has no NaN and no
infinities: they are written as the texts "NaN", "Infinity" and "-Infinity", which float() and read() convert back. A
resumed training continues the same file, in which steps that it repeats appear once. A training that starts again from
step 1 replaces the contents of the file.
"""
from __future__ import annotations

import contextlib
import json
import math
import operator
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import IO, Any, Protocol, SupportsIndex

from splitcast import _splitcast
from splitcast._errors import Error, InvalidError

OWN = ("step", "seconds")  # the keys of each line besides the metrics
NAMES = ("NaN", "Infinity", "-Infinity")  # floats that JSON has no numbers for
INTERVAL = 1.0  # seconds between two lines of progress
FLUSHED = 5  # seconds after which an event is in its file, so that it outlives a killed job

Path = str | os.PathLike[str]
Values = Mapping[str, float]  # of metrics; whole numbers are ints
Record = dict[str, Any]  # a line: the step is an int, all other values are numbers


class _Part(Protocol):
    """One of what a log writes, on rank 0. drop() is called first, then add() for each step, then close()."""

    def drop(self, number: int) -> None:
        """Removes the steps from `number` on, and begins with that."""

    def add(self, number: int, values: Values) -> None:
        ...

    def close(self) -> None:
        ...


class Log:
    """Reports the steps of a training.

    All ranks must create it at the same point and call the same methods; only rank 0 writes its values.

    path: the file of JSON lines, which is created if it does not exist, in an existing directory.
    progress: whether to show the progress on stderr: by tqdm if it is installed, else by at most one line per second.
      None: only if stderr is a terminal, which it is not for ranks that mpirun starts; True shows it there, too.
    total: the total number of steps of the training, for the progress.
    tensorboard: a directory for event files, which is created; needs tensorboardX, or PyTorch and the package
      tensorboard. Events are written within 5 seconds, JSON lines at once.

    Raises splitcast.InvalidError on all ranks if the file or the directory cannot be written, if the file has lines
    that are not metrics, or if no package for tensorboard is installed.
    """

    def __init__(self, path: Path | None = None, progress: bool | None = None, total: int | None = None,
                 tensorboard: Path | None = None) -> None:
        self._parts: list[_Part] = []  # only on rank 0
        self._last: int | None = None  # the number of the last step that was reported
        self._is_open = True
        wrong = ""
        if _splitcast.rank() == 0:
            try:
                self._parts = _parts(path, progress, total, tensorboard)
            except InvalidError as error:
                wrong = str(error)
        # Ranks that make no log are at another call, which is an error that names both.
        wrong = _splitcast.exchange(wrong, "creation of a metrics.Log")[0]
        if wrong:
            raise InvalidError(wrong)

    def step(self, number: SupportsIndex, /, **values: object) -> None:
        """Reports the metrics of a step: numbers, or arrays and tensors of one element.

        number: the number of steps that are done, from 1. A step may be reported several times with different metrics.
          On the first report of this log, and when the number is less than that of the report before, this step and
          all later ones are dropped from the file and the event files.
        The "seconds" of a line are those of the training so far, including the steps of earlier runs that are kept.

        Raises on rank 0 only: splitcast.InvalidError if a value is not a number or is named step or seconds,
        splitcast.Error if a file cannot be written. Unless it is caught there, the error ends the job.
        """
        if not self._is_open:
            raise Error("the metrics.Log is closed; report steps before close()")
        if not self._parts:
            return
        done = _step_number(number)
        metrics = {name: _number(name, value) for name, value in values.items()}
        goes_back = self._last is None or done < self._last
        self._last = done
        for part in self._parts:
            if goes_back:
                part.drop(done)
            part.add(done, metrics)

    def close(self) -> None:
        """Ends the progress bar and closes the files. No step can be reported afterwards."""
        self._is_open = False
        while self._parts:
            self._parts.pop().close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def read(path: Path) -> list[Record]:
    """Returns the lines of a file of metrics as dicts, in which NaN and infinite values are floats.

    A truncated last line, which a killed job may leave, is left out. Raises splitcast.InvalidError if a line is not one
    of metrics, and OSError if the file cannot be read.
    """
    return [record for _, record in _records(path)]


# ---- Values ----


def _step_number(number: SupportsIndex) -> int:
    try:
        found = operator.index(number)
    except TypeError:
        raise InvalidError(f"the step is {number!r}; it must be an integer") from None
    if found < 0:
        raise InvalidError(f"the step is {found}; it must not be negative")
    return found


def _number(name: str, value: object) -> float:
    """The value of a metric as an int or a float."""
    if name in OWN:
        raise InvalidError(f"a metric is named '{name}', a key that every line already has; rename it")
    with contextlib.suppress(TypeError, ValueError, RuntimeError):  # PyTorch raises RuntimeError
        one: Any = value.item() if hasattr(value, "item") else value  # NumPy's and PyTorch's values have item()
        if not isinstance(one, (str, bytes)):
            return operator.index(one) + 0 if hasattr(one, "__index__") else float(one)  # + 0: a bool becomes a number
    raise InvalidError(f"metric '{name}' is a {type(value).__name__}, which is not a single number: {value!r:.60}")


def _in_json(value: float) -> float | str:
    if isinstance(value, int) or math.isfinite(value):
        return value
    return next(name for name in NAMES if repr(float(name)) == repr(value))


def _of_json(value: Any) -> float:
    if isinstance(value, str) and value not in NAMES:
        raise ValueError(value)
    return value if isinstance(value, int) else float(value)


def _shown(number: int, total: int | None, values: Values) -> str:
    """The line that shows the progress."""
    of = "" if total is None else f" of {total}"
    return f"step {number}{of}{': ' + _in_words(values) if values else ''}"


def _in_words(values: Values) -> str:
    return ", ".join(f"{name} {value}" if isinstance(value, int) else f"{name} {value:.5g}"
                     for name, value in values.items())


# ---- The parts of a log ----


def _parts(path: Path | None, progress: bool | None, total: int | None, tensorboard: Path | None) -> list[_Part]:
    parts: list[_Part] = []
    if path is not None:
        parts.append(_File(os.fspath(path)))
    if tensorboard is not None:
        parts.append(_Events(os.fspath(tensorboard)))
    if progress or (progress is None and sys.stderr.isatty()):
        parts.append(_progress(total))
    return parts


@contextlib.contextmanager
def _saying(kind: type[Error], what: str) -> Iterator[None]:
    """Raises errors of the operating system as `kind`, an error of this package."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what} cannot be written: {error.strerror or error}") from error


class _File:
    """The file of JSON lines. Nothing is written before the first step."""

    def __init__(self, path: str) -> None:
        self._what = f"the file of metrics '{path}'"
        self._path = os.path.realpath(path)  # so that _replace() replaces the file, not a link to it
        self._file: IO[bytes] | None = None
        self._seconds, self._then = 0.0, time.monotonic()  # "seconds" of the last line, and when it was written
        directory = os.path.dirname(self._path)
        if not os.path.isdir(directory):
            raise InvalidError(f"{self._what} cannot be written: there is no directory '{directory}'")
        if not os.path.exists(self._path):
            if not os.access(directory, os.W_OK):
                raise InvalidError(f"{self._what} cannot be written: no file can be created in '{directory}'")
            return
        if not os.path.isfile(self._path):
            raise InvalidError(f"{self._what} is not a file, but a directory or a special file")
        if not os.access(self._path, os.R_OK | os.W_OK):
            raise InvalidError(f"{self._what} cannot be read and written; check its permissions")
        next(_records(self._path), None)  # raises if the first line is not one of metrics

    def drop(self, number: int) -> None:
        self.close()
        kept, self._seconds = 0, 0.0  # kept: in bytes
        with _saying(Error, self._what):
            if os.path.exists(self._path):
                for line, record in self._before(number):
                    kept += len(line)
                    self._seconds = record["seconds"]
                if kept != os.path.getsize(self._path):
                    self._replace(number)
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 (close() closes it)

    def _before(self, number: int) -> Iterator[tuple[bytes, Record]]:
        return ((line, record) for line, record in _records(self._path) if record["step"] < number)

    def _replace(self, number: int) -> None:
        """Replaces the file by one with the lines before step `number`.

        A reader, or a later run after a crash, finds either the old file or the new one.
        """
        scratch = self._path + ".new"
        with open(scratch, "wb") as file:
            file.writelines(line for line, _ in self._before(number))
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(self._path, scratch)
        os.replace(scratch, self._path)

    def add(self, number: int, values: Values) -> None:
        now = time.monotonic()
        self._seconds, self._then = self._seconds + now - self._then, now
        record: Record = {"step": number, "seconds": round(self._seconds, 6)}
        record.update((name, _in_json(value)) for name, value in values.items())
        assert self._file is not None  # since drop() was called first
        with _saying(Error, self._what):
            line = (json.dumps(record, allow_nan=False) + "\n").encode()
            while line:  # a disk that is nearly full takes only a part of it
                line = line[self._file.write(line):]

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with _saying(Error, self._what):
                file.close()


def _records(path: Path) -> Iterator[tuple[bytes, Record]]:
    """Yields (line as bytes, its record) for each line, but not for a truncated last one."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            record = _parsed(line)
            if record is not None:
                yield line if line.endswith(b"\n") else line + b"\n", record
            elif line.endswith(b"\n"):
                raise InvalidError(
                    f"line {number} of '{path}' is not a line of metrics; the file is left as it is, give another path")


def _parsed(line: bytes) -> Record | None:
    """The record of a line, or None if it is not a line of metrics."""
    try:
        record = {name: _of_json(value) for name, value in json.loads(line).items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return record if isinstance(record.get("step"), int) and "seconds" in record else None


class _Events:
    """TensorBoard's event files. Each drop() begins a new one, whose purge_step hides repeated steps in older ones."""

    def __init__(self, directory: str) -> None:
        self._what = f"TensorBoard's directory '{directory}'"
        self._directory = directory
        self._make = _summary_writer(directory)
        self._writer: Any = None  # a SummaryWriter of either package
        self._files = 0
        with _saying(InvalidError, self._what):
            os.makedirs(directory, exist_ok=True)

    def drop(self, number: int) -> None:
        self.close()
        self._files += 1
        suffix = f".{os.getpid()}.{self._files}"  # names of files that begin in the same second would be equal
        with _saying(Error, self._what):
            self._writer = self._make(self._directory, purge_step=number, filename_suffix=suffix, flush_secs=FLUSHED)

    def add(self, number: int, values: Values) -> None:
        with _saying(Error, self._what):
            for name, value in values.items():
                self._writer.add_scalar(name, value, number)

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with _saying(Error, self._what):
                writer.close()


def _summary_writer(directory: str) -> Callable[..., Any]:
    with contextlib.suppress(ImportError):
        from tensorboardX import SummaryWriter  # tried first: importing PyTorch takes seconds and memory
        writer: Callable[..., Any] = SummaryWriter
        return writer
    with contextlib.suppress(ImportError):
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter
        return writer
    raise InvalidError(
        f"tensorboard is '{directory}': event files are written by tensorboardX, or by PyTorch with the package "
        "tensorboard, but this interpreter has neither: pip install tensorboardX")


def _progress(total: int | None) -> _Part:
    try:
        from tqdm import tqdm
    except ImportError:
        return _Lines(total)
    return _Bar(tqdm, total)


class _Bar:

    def __init__(self, tqdm: Callable[..., Any], total: int | None) -> None:
        self._make, self._total = tqdm, total
        self._bar: Any = None  # a tqdm

    def drop(self, number: int) -> None:
        if self._bar is None:
            self._bar = self._make(total=self._total, initial=max(number - 1, 0), unit="step", dynamic_ncols=True)

    def add(self, number: int, values: Values) -> None:
        self._bar.set_postfix_str(_in_words(values), refresh=False)
        self._bar.update(number - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Lines:
    """Lines of progress on stderr, at most one per INTERVAL. close() shows the last step if it was not shown yet."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._due = 0.0
        self._text: str | None = None

    def drop(self, number: int) -> None:
        pass

    def add(self, number: int, values: Values) -> None:
        self._text = _shown(number, self._total, values)
        if time.monotonic() >= self._due:
            self.close()
            self._due = time.monotonic() + INTERVAL

    def close(self) -> None:
        if self._text is not None:
            print(self._text, file=sys.stderr, flush=True)
            self._text = None
