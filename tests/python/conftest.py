"""Makes the cases of torch_cases*.py and torch_programs.py tests of pytest, such as torch_cases.py::where[1]: a case of a
file on a number of ranks.

    python -m pytest tests/python -k "where or short_last"       some
    python -m pytest tests/python --minutes=4                    as many as fit in that time; the others are skipped
    python -m pytest tests/python --shard=2/3                    the second third

The package is that of PYTHONPATH, or that of bazel-bin, or one that is installed. All chosen cases of a file run in one
job for each number of ranks, since starting a job takes some seconds. If a case ends its job, another job runs those
behind it.
"""
from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
BUILT = HERE.parent.parent / "bazel-bin/compiler/python"
# What finds most comes first where not all fits in the time.
FILES = ["torch_cases_changes.py", "torch_cases_trainers.py", "torch_cases_reads.py", "torch_cases_hidden.py",
         "torch_cases_ranks.py", "torch_programs.py", "torch_programs_trainers.py", "torch_cases_values.py",
         "torch_cases_types.py", "torch_refusals.py", "torch_cases_ir.py", "torch_cases_training.py", "torch_cases.py"]
PATIENCE = 300.0  # seconds for a case, with the start of its job
collect_ignore_glob = ["*_test.py"]  # Bazel's


def environment(cache: str) -> dict[str, str]:
    found = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=cache)
    if BUILT.is_dir():
        found.setdefault("PYTHONPATH", str(BUILT))
    return found


class Failed(Exception):
    """A case is wrong; its text is all that is shown."""


class TimeIsOver(Exception):
    pass


class Job:
    """Runs cases of a file, one after the other, and is asked for their outcomes in that order."""

    def __init__(self, file: Path, ranks: int, cache: str) -> None:
        self.file, self.ranks, self.cache = file, ranks, cache
        self.names: list[str] = []  # those of which no outcome is known
        self.process: subprocess.Popen[str] | None = None

    def require_ok(self, name: str, deadline: float) -> None:
        """Waits for a case. Raises Failed if it is wrong, and TimeIsOver at `deadline` (of time.monotonic)."""
        if self.process is None:
            self._start()
        self.names.remove(name)
        printed: list[str] = []
        end = time.monotonic() + PATIENCE
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, min(deadline, end) - time.monotonic()))
            except queue.Empty:
                self.end()
                if deadline < end:
                    raise TimeIsOver from None
                raise Failed(self._text(f"has no outcome after {PATIENCE:g} seconds", printed)) from None
            if line is None:
                raise Failed(self._text(f"ends its job with exit status {self._status()}", printed))
            if line.startswith(f"CASE {name}: "):
                break
            printed.append(line)
        outcome = line.removeprefix(f"CASE {name}: ").rstrip("\n").replace("\\n", "\n")
        text = self._text(outcome, printed, name)
        if outcome != "ok":
            raise Failed(text)
        if not self.names:
            self._require_success()

    def _start(self) -> None:
        self.errors = tempfile.NamedTemporaryFile("w", dir=self.cache)
        self.seen = 0  # bytes of errors that belong to earlier cases
        command = [sys.executable, "-m", "splitcast.launch", "-n", str(self.ranks), str(self.file), *self.names]
        self.process = subprocess.Popen(command, env=environment(self.cache), stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, start_new_session=True)
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def _require_success(self) -> None:
        """The job ends well after its last case."""
        printed = []
        with contextlib.suppress(queue.Empty):
            while (line := self.lines.get(timeout=60)) is not None:
                printed.append(line)
        status = self._status()
        if status:
            raise Failed(self._text(f"is ok, but the job ends with exit status {status} after it", printed))

    def _status(self) -> int:
        """That of the job, which is ended if it has not ended by itself."""
        assert self.process is not None
        try:
            status = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.end()
            return -1
        self.process = None
        return status

    def _text(self, what: str, printed: list[str], name: str = "") -> str:
        """What is wrong, and what was printed since the case before; if the case has ended, what is its own."""
        with open(self.errors.name, "rb") as file:
            file.seek(self.seen)
            errors = file.read()
        if name:
            errors, mark, _ = errors.partition(f"CASE {name}\n".encode())
            self.seen += len(errors) + len(mark)
        text = f"{self.file.name} on {self.ranks} ranks: {what}\n"
        for stream, part in (("stdout", "".join(printed)), ("stderr", errors.decode(errors="replace"))):
            text += f"--- {stream}\n{part[-6000:]}" if part.strip() else ""
        return text

    def end(self) -> None:
        """Ends the job, if it runs."""
        if self.process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=15)
                break
        self.process = None


class Case(pytest.Item):
    """A case on a number of ranks."""

    def __init__(self, *, case: str, ranks: int, **more: Any) -> None:
        super().__init__(**more)
        self.case, self.ranks = case, ranks
        self.job: Job | None = None

    def runtest(self) -> None:
        deadline = self.config.stash[DEADLINE]
        if time.monotonic() >= deadline:
            pytest.skip("the time is over")
        assert self.job is not None
        try:
            self.job.require_ok(self.case, deadline)
        except TimeIsOver:
            pytest.skip("the time is over")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, Failed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class CaseFile(pytest.File):

    def collect(self) -> Iterator[Case]:
        suite = suites(self.config.stash[CACHE])[self.path.name]
        for ranks in suite["ranks"]:
            for name in suite["names"]:
                yield Case.from_parent(self, name=f"{name}[{ranks}]", case=name, ranks=ranks)


@functools.cache
def suites(cache: str) -> dict[str, dict[str, Any]]:
    """Of all files, by one process: importing PyTorch takes seconds."""
    run = subprocess.run([sys.executable, "torch_suite.py", *FILES], cwd=HERE, env=environment(cache),
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise pytest.Collector.CollectError(run.stderr)
    return dict(json.loads(run.stdout))


CACHE = pytest.StashKey[str]()
DEADLINE = pytest.StashKey[float]()
JOBS = pytest.StashKey[list[Job]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", type=float, help="the time for cases of PyTorch; those that do not fit are skipped")
    parser.addoption("--shard", metavar="K/N", help="only the K-th of N parts of these cases, from 1 on")


def pytest_configure(config: pytest.Config) -> None:
    directory = tempfile.TemporaryDirectory(prefix="splitcast-cases-", ignore_cleanup_errors=True)
    config.add_cleanup(directory.cleanup)
    minutes = config.getoption("--minutes")
    config.stash[CACHE] = directory.name
    config.stash[DEADLINE] = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    config.stash[JOBS] = []


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    return CaseFile.from_parent(parent, path=file_path) if file_path.name in FILES else None


def shard_of(text: str) -> tuple[int, int]:
    part, slash, count = text.partition("/")
    if not (slash and part.isdigit() and count.isdigit() and 1 <= int(part) <= int(count)):
        raise pytest.UsageError(f"--shard={text}: K/N is needed, with K from 1 to N")
    return int(part), int(count)


@pytest.hookimpl(trylast=True)  # after -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases = [item for item in items if isinstance(item, Case)]
    shard = config.getoption("--shard")
    if shard is not None:
        part, count = shard_of(shard)
        config.hook.pytest_deselected(items=[each for at, each in enumerate(cases) if at % count != part - 1])
        cases = cases[part - 1::count]
    cases.sort(key=lambda case: (-case.ranks, FILES.index(case.path.name)))
    jobs: dict[tuple[Path, int], Job] = {}
    for case in cases:
        case.job = jobs.setdefault((case.path, case.ranks), Job(case.path, case.ranks, config.stash[CACHE]))
        case.job.names.append(case.case)
    config.stash[JOBS] = list(jobs.values())
    items[:] = [item for item in items if not isinstance(item, Case)] + cases


def pytest_sessionfinish(session: pytest.Session) -> None:
    for job in session.config.stash[JOBS]:
        job.end()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    def count(kinds: Iterable[str]) -> int:
        return sum(len(terminalreporter.stats.get(kind, [])) for kind in kinds)

    ran, chosen = count(["passed", "failed"]), count(["passed", "failed", "skipped"])
    if config.option.collectonly:
        return
    minutes = config.getoption("--minutes")
    within = "" if minutes is None else f" within {minutes:g} minutes"
    terminalreporter.write_line(f"{ran} of {chosen} cases ran{within}")
