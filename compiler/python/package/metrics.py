"""What a training loop reports: a file of metrics, a progress bar and TensorBoard's event files, by rank 0 alone.

    from splitcast import metrics

    with metrics.Log("metrics.jsonl", total=1000, tensorboard="runs/1") as log:
        for step in range(first, 1000):
            loss = session.step(x=rows, labels=labels)["loss"]
            log.step(step + 1, loss=loss, tokens=tokens)

The file has one object of JSON per line: {"step": 1, "seconds": 0.25, "loss": 2.5, "tokens": 4096}. JSON has no NaN and
no infinities: they are the texts "NaN", "Infinity" and "-Infinity", of which float() makes the numbers again, as read()
does. A training that is resumed goes on with the same file: the steps that it takes again are in it once; one that
begins anew with it, from step 1 on, replaces what it has.
"""
import contextlib
import json
import math
import operator
import os
import shutil
import sys
import time

from splitcast import _splitcast
from splitcast._errors import Error, InvalidError

OWN = ("step", "seconds")  # what each line has besides the metrics
NAMES = ("NaN", "Infinity", "-Infinity")  # what JSON has no numbers for
MADE = "metrics.Log, which every rank makes: "  # before what is wrong with it
INTERVAL = 1.0  # seconds between two lines of progress
FLUSHED = 5  # seconds after which an event is in its file: what a killed job has of it


class Log:
    """Reports steps. Every rank makes it, at the same point, and calls the same methods; what rank 0 gives counts.

    path: of a file of JSON lines, which is made where there is none; its directory must be there.
    progress: whether stderr shows how far the training is, by tqdm where it is installed, else by a line per second at
      most. None: where stderr is a terminal, which it is not for ranks that mpirun starts; True shows it there, too.
    total: how many steps the training has in all, for the progress.
    tensorboard: a directory for event files, which is made; needs tensorboardX, or PyTorch and the package tensorboard.
      Events are in the files within 5 seconds; lines of JSON are in theirs at once.

    Raises splitcast.InvalidError, on all ranks: the file or the directory cannot be written, the file has other lines
    than those of metrics, or what tensorboard needs is not installed.
    """

    def __init__(self, path=None, progress=None, total=None, tensorboard=None):
        self._parts = []  # of rank 0
        self._last = None  # the number of the last step
        self._is_open = True
        wrong = ""
        if _splitcast.rank() == 0:
            try:
                self._parts = _parts(path, progress, total, tensorboard)
            except InvalidError as error:
                wrong = str(error)
        texts = _splitcast.exchange(MADE + wrong, "errors of metrics.Log")
        if not all(text.startswith(MADE) for text in texts):
            raise Error("a metrics.Log is made where another rank makes none; make it on every rank")
        if texts[0] != MADE:
            raise InvalidError(texts[0][len(MADE):])

    def step(self, number, /, **values):
        """Reports the metrics of a step: numbers, or arrays and tensors of one element.

        number: how many steps of the training are done, from 1 on. A step may be reported several times, with other
          metrics. Where it is the first one that this log reports, or is less than the one before, what the file and
          the event files have of it and of later ones is dropped.
        A line's "seconds" are those that the training has taken, the steps of earlier runs included that are kept.

        Raises, on rank 0, and so ends the job unless it is caught there: splitcast.InvalidError where a value is no
        number or is named step or seconds, splitcast.Error where a file cannot be written.
        """
        if not self._is_open:
            raise Error("the log of metrics is closed")
        if not self._parts:
            return
        number = _step_number(number)
        values = {name: _number(name, value) for name, value in values.items()}
        goes_back = self._last is None or number < self._last
        self._last = number
        for part in self._parts:
            if goes_back:
                part.drop(number)
            part.add(number, values)

    def close(self):
        """Ends the bar and closes the files; nothing is reported after."""
        self._is_open = False
        while self._parts:
            self._parts.pop().close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()


def read(path):
    """The lines of a file of metrics, as dicts; values that are NaN or infinite are floats.

    A last line that is cut short, as a killed job may leave it, is left out. Raises splitcast.InvalidError where a line
    is none of metrics, and OSError where the file cannot be read.
    """
    return [record for _, record in _records(path)]


# ---- Values ----


def _step_number(number):
    try:
        number = operator.index(number)
    except TypeError:
        raise InvalidError("the step is %r; it must be an integer" % (number,)) from None
    if number < 0:
        raise InvalidError("the step is %d; it must not be negative" % number)
    return number


def _number(name, value):
    """An int or a float."""
    if name in OWN:
        raise InvalidError("a metric is named '%s', which each line has of its own; rename it" % name)
    with contextlib.suppress(TypeError, ValueError, RuntimeError):  # the last is PyTorch's
        one = value.item() if hasattr(value, "item") else value  # of NumPy and PyTorch
        if not isinstance(one, (str, bytes)):
            return operator.index(one) + 0 if hasattr(one, "__index__") else float(one)  # + 0: a bool becomes a number
    raise InvalidError("metric '%s' is a %s, which is not one number: %.60r" % (name, type(value).__name__, value))


def _in_json(value):
    if isinstance(value, int) or math.isfinite(value):
        return value
    return next(name for name in NAMES if repr(float(name)) == repr(value))


def _of_json(value):
    if isinstance(value, str) and value not in NAMES:
        raise ValueError(value)
    return value if isinstance(value, int) else float(value)


def _shown(number, total, values):
    """For people."""
    of = "" if total is None else " of %d" % total
    return "step %d%s%s" % (number, of, ": " + _in_words(values) if values else "")


def _in_words(values):
    return ", ".join("%s %s" % (name, value if isinstance(value, int) else "%.5g" % value)
                     for name, value in values.items())


# ---- What rank 0 has: drop() comes first, then add() for each step, then close() ----


def _parts(path, progress, total, tensorboard):
    parts = []
    if path is not None:
        parts.append(_File(os.fspath(path)))
    if tensorboard is not None:
        parts.append(_Events(os.fspath(tensorboard)))
    if progress or (progress is None and sys.stderr.isatty()):
        parts.append(_progress(total))
    return parts


@contextlib.contextmanager
def _saying(kind, what):
    """Errors of the system, as those of this package."""
    try:
        yield
    except OSError as error:
        raise kind("%s cannot be written: %s" % (what, error.strerror or error)) from error


class _File:
    """The JSON lines. Nothing is written before the first step."""

    def __init__(self, path):
        self._what = "the file of metrics '%s'" % path
        self._path = os.path.realpath(path)  # a link stays one
        self._file = None
        self._seconds, self._then = 0.0, time.monotonic()  # of the last line, and when it was written
        directory = os.path.dirname(self._path)
        if not os.path.isdir(directory):
            raise InvalidError("%s cannot be written: there is no directory '%s'" % (self._what, directory))
        if not os.path.exists(self._path):
            if not os.access(directory, os.W_OK):
                raise InvalidError("%s cannot be written: nothing can be made in '%s'" % (self._what, directory))
            return
        if not os.path.isfile(self._path):
            raise InvalidError("%s is not a file, but something else" % self._what)
        if not os.access(self._path, os.R_OK | os.W_OK):
            raise InvalidError("%s cannot be read and written" % self._what)
        next(_records(self._path), None)  # whether it holds metrics

    def drop(self, number):
        self.close()
        kept, self._seconds = 0, 0.0  # bytes
        with _saying(Error, self._what):
            if os.path.exists(self._path):
                for line, record in self._before(number):
                    kept += len(line)
                    self._seconds = record["seconds"]
                if kept != os.path.getsize(self._path):
                    self._replace(number)
            self._file = open(self._path, "ab", buffering=0)

    def _before(self, number):
        return ((line, record) for line, record in _records(self._path) if record["step"] < number)

    def _replace(self, number):
        """By a file of the lines before: who reads it meanwhile, or after a crash, finds the old or the new one."""
        scratch = self._path + ".new"
        with open(scratch, "wb") as file:
            file.writelines(line for line, _ in self._before(number))
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(self._path, scratch)
        os.replace(scratch, self._path)

    def add(self, number, values):
        now = time.monotonic()
        self._seconds, self._then = self._seconds + now - self._then, now
        record = dict(step=number, seconds=round(self._seconds, 6))
        record.update((name, _in_json(value)) for name, value in values.items())
        with _saying(Error, self._what):
            line = (json.dumps(record, allow_nan=False) + "\n").encode()
            while line:  # of which a disk that fills up takes a part
                line = line[self._file.write(line):]

    def close(self):
        file, self._file = self._file, None
        if file is not None:
            with _saying(Error, self._what):
                file.close()


def _records(path):
    """(line, as bytes, what it says) of each; without the last one where it is cut short."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            record = _parsed(line)
            if record is not None:
                yield line if line.endswith(b"\n") else line + b"\n", record
            elif line.endswith(b"\n"):
                raise InvalidError("line %d of '%s' is none of metrics; the file is left as it is, give another path" %
                                   (number, path))


def _parsed(line):
    """None: it is no line of metrics."""
    try:
        record = {name: _of_json(value) for name, value in json.loads(line).items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return record if isinstance(record.get("step"), int) and "seconds" in record else None


class _Events:
    """TensorBoard's. It forgets the steps that are taken again when it reads where a later file begins."""

    def __init__(self, directory):
        self._what = "TensorBoard's directory '%s'" % directory
        self._directory = directory
        self._make = _summary_writer(directory)
        self._writer, self._files = None, 0
        with _saying(InvalidError, self._what):
            os.makedirs(directory, exist_ok=True)

    def drop(self, number):
        self.close()
        self._files += 1
        suffix = ".%d.%d" % (os.getpid(), self._files)  # else a name of the same second is the same
        with _saying(Error, self._what):
            self._writer = self._make(self._directory, purge_step=number, filename_suffix=suffix, flush_secs=FLUSHED)

    def add(self, number, values):
        with _saying(Error, self._what):
            for name, value in values.items():
                self._writer.add_scalar(name, value, number)

    def close(self):
        writer, self._writer = self._writer, None
        if writer is not None:
            with _saying(Error, self._what):
                writer.close()


def _summary_writer(directory):
    with contextlib.suppress(ImportError):
        from tensorboardX import SummaryWriter  # before PyTorch, which takes seconds and memory to import
        return SummaryWriter
    with contextlib.suppress(ImportError):
        from torch.utils.tensorboard import SummaryWriter
        return SummaryWriter
    raise InvalidError("tensorboard is '%s': its files are written by tensorboardX, or by PyTorch with the package "
                       "tensorboard, and this interpreter has neither: pip install tensorboardX" % directory)


def _progress(total):
    try:
        from tqdm import tqdm
    except ImportError:
        return _Lines(total)
    return _Bar(tqdm, total)


class _Bar:

    def __init__(self, tqdm, total):
        self._make, self._total = tqdm, total
        self._bar = None

    def drop(self, number):
        if self._bar is None:
            self._bar = self._make(total=self._total, initial=max(number - 1, 0), unit="step", dynamic_ncols=True)

    def add(self, number, values):
        self._bar.set_postfix_str(_in_words(values), refresh=False)
        self._bar.update(number - self._bar.n)

    def close(self):
        if self._bar is not None:
            self._bar.close()


class _Lines:
    """The last one is shown, too."""

    def __init__(self, total):
        self._total = total
        self._due, self._text = 0.0, None

    def drop(self, number):
        pass

    def add(self, number, values):
        self._text = _shown(number, self._total, values)
        if time.monotonic() >= self._due:
            self.close()
            self._due = time.monotonic() + INTERVAL

    def close(self):
        if self._text is not None:
            print(self._text, file=sys.stderr, flush=True)
            self._text = None
