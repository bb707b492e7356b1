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

OWN = ("step", "seconds")  # the keys of each line besides the metrics
NAMES = ("NaN", "Infinity", "-Infinity")  # floats that JSON has no numbers for
MADE = "metrics.Log, which every rank makes: "  # the prefix of the texts by which ranks exchange their errors
INTERVAL = 1.0  # seconds between two lines of progress
FLUSHED = 5  # seconds after which an event is in its file, so that it outlives a killed job


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

    def __init__(self, path=None, progress=None, total=None, tensorboard=None):
        self._parts = []  # only on rank 0
        self._last = None  # the number of the last step that was reported
        self._is_open = True
        wrong = ""
        if _splitcast.rank() == 0:
            try:
                self._parts = _parts(path, progress, total, tensorboard)
            except InvalidError as error:
                wrong = str(error)
        texts = _splitcast.exchange(MADE + wrong, "errors of metrics.Log")
        if not all(text.startswith(MADE) for text in texts):
            raise Error("this rank creates a metrics.Log where another rank does not; create it on all ranks")
        if texts[0] != MADE:
            raise InvalidError(texts[0][len(MADE):])

    def step(self, number, /, **values):
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
        number = _step_number(number)
        values = {name: _number(name, value) for name, value in values.items()}
        goes_back = self._last is None or number < self._last
        self._last = number
        for part in self._parts:
            if goes_back:
                part.drop(number)
            part.add(number, values)

    def close(self):
        """Ends the progress bar and closes the files. No step can be reported afterwards."""
        self._is_open = False
        while self._parts:
            self._parts.pop().close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()


def read(path):
    """Returns the lines of a file of metrics as dicts, in which NaN and infinite values are floats.

    A truncated last line, which a killed job may leave, is left out. Raises splitcast.InvalidError if a line is not one
    of metrics, and OSError if the file cannot be read.
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
    """The value of a metric as an int or a float."""
    if name in OWN:
        raise InvalidError("a metric is named '%s', a key that every line already has; rename it" % name)
    with contextlib.suppress(TypeError, ValueError, RuntimeError):  # PyTorch raises RuntimeError
        one = value.item() if hasattr(value, "item") else value  # NumPy's and PyTorch's values have item()
        if not isinstance(one, (str, bytes)):
            return operator.index(one) + 0 if hasattr(one, "__index__") else float(one)  # + 0: a bool becomes a number
    raise InvalidError("metric '%s' is a %s, which is not a single number: %.60r" % (name, type(value).__name__, value))


def _in_json(value):
    if isinstance(value, int) or math.isfinite(value):
        return value
    return next(name for name in NAMES if repr(float(name)) == repr(value))


def _of_json(value):
    if isinstance(value, str) and value not in NAMES:
        raise ValueError(value)
    return value if isinstance(value, int) else float(value)


def _shown(number, total, values):
    """The line that shows the progress."""
    of = "" if total is None else " of %d" % total
    return "step %d%s%s" % (number, of, ": " + _in_words(values) if values else "")


def _in_words(values):
    return ", ".join("%s %s" % (name, value if isinstance(value, int) else "%.5g" % value)
                     for name, value in values.items())


# ---- The parts of a log, on rank 0: drop() is called first, then add() for each step, then close() ----


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
    """Raises errors of the operating system as `kind`, an error of this package."""
    try:
        yield
    except OSError as error:
        raise kind("%s cannot be written: %s" % (what, error.strerror or error)) from error


class _File:
    """The file of JSON lines. Nothing is written before the first step."""

    def __init__(self, path):
        self._what = "the file of metrics '%s'" % path
        self._path = os.path.realpath(path)  # so that _replace() replaces the file, not a link to it
        self._file = None
        self._seconds, self._then = 0.0, time.monotonic()  # "seconds" of the last line, and when it was written
        directory = os.path.dirname(self._path)
        if not os.path.isdir(directory):
            raise InvalidError("%s cannot be written: there is no directory '%s'" % (self._what, directory))
        if not os.path.exists(self._path):
            if not os.access(directory, os.W_OK):
                raise InvalidError("%s cannot be written: no file can be created in '%s'" % (self._what, directory))
            return
        if not os.path.isfile(self._path):
            raise InvalidError("%s is not a file, but a directory or a special file" % self._what)
        if not os.access(self._path, os.R_OK | os.W_OK):
            raise InvalidError("%s cannot be read and written; check its permissions" % self._what)
        next(_records(self._path), None)  # raises if the first line is not one of metrics

    def drop(self, number):
        self.close()
        kept, self._seconds = 0, 0.0  # kept: in bytes
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

    def add(self, number, values):
        now = time.monotonic()
        self._seconds, self._then = self._seconds + now - self._then, now
        record = dict(step=number, seconds=round(self._seconds, 6))
        record.update((name, _in_json(value)) for name, value in values.items())
        with _saying(Error, self._what):
            line = (json.dumps(record, allow_nan=False) + "\n").encode()
            while line:  # a disk that is nearly full takes only a part of it
                line = line[self._file.write(line):]

    def close(self):
        file, self._file = self._file, None
        if file is not None:
            with _saying(Error, self._what):
                file.close()


def _records(path):
    """Yields (line as bytes, its record) for each line, but not for a truncated last one."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            record = _parsed(line)
            if record is not None:
                yield line if line.endswith(b"\n") else line + b"\n", record
            elif line.endswith(b"\n"):
                raise InvalidError("line %d of '%s' is not a line of metrics; the file is left as it is, give another "
                                   "path" % (number, path))


def _parsed(line):
    """The record of a line, or None if it is not a line of metrics."""
    try:
        record = {name: _of_json(value) for name, value in json.loads(line).items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return record if isinstance(record.get("step"), int) and "seconds" in record else None


class _Events:
    """TensorBoard's event files. Each drop() begins a new one, whose purge_step hides repeated steps in older ones."""

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
        suffix = ".%d.%d" % (os.getpid(), self._files)  # names of files that begin in the same second would be equal
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
        from tensorboardX import SummaryWriter  # tried first: importing PyTorch takes seconds and memory
        return SummaryWriter
    with contextlib.suppress(ImportError):
        from torch.utils.tensorboard import SummaryWriter
        return SummaryWriter
    raise InvalidError("tensorboard is '%s': event files are written by tensorboardX, or by PyTorch with the package "
                       "tensorboard, but this interpreter has neither: pip install tensorboardX" % directory)


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
    """Lines of progress on stderr, at most one per INTERVAL. close() shows the last step if it was not shown yet."""

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
