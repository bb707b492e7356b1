"""Starts a program as several ranks on this machine, without mpirun or torchrun:

    python3 -m splitcast.launch -n 2 train.py --its --flags

The ranks communicate over loopback sockets. What happens:

    a rank fails                 it has printed its error. The launcher says which rank it was. Half a second later
                                 the other ranks get SIGTERM, and those that still run 5 seconds after that are killed
    SIGINT, SIGTERM or SIGHUP    is passed on to all ranks (SIGHUP as SIGTERM); those that still run 5 seconds later are
                                 killed. A second signal is passed on, too, and ends ranks at once
    SIGTSTP (Ctrl-Z)             stops the ranks and then the launcher; SIGCONT continues all
    the launcher is killed       all ranks get SIGTERM, and those that still run 2 seconds later are killed

Ranks that are stopped are continued when they are told to end. Processes that a rank started (such as workers that load
data) are killed once it has failed, and with the last rank of a job that failed; not those that have begun a session of
their own (setsid).

The exit status is 0 if all ranks succeed; that of the first rank that failed; or, if the launcher was told to end
before any rank had failed, 128 + the signal. A rank that was killed by a signal counts as 128 + that signal, too.
"""
import argparse
import contextlib
import ctypes
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

PATIENCE = 0.5  # seconds from a failure to SIGTERM: ranks that noticed the failure print why they end
GRACE = 5.0  # seconds from SIGTERM to SIGKILL: ranks remove unfinished files
ORPHAN_GRACE = 2.0  # the same once the launcher is dead
VANISHING = 2.0  # seconds that killed processes may take, which give their memory back first
PASSED_ON = {signal.SIGINT: signal.SIGINT, signal.SIGTERM: signal.SIGTERM, signal.SIGHUP: signal.SIGTERM}
PR_SET_PDEATHSIG = 1  # of Linux's prctl


class Failure(NamedTuple):
    rank: int
    status: int  # from 1 to 255, as of a shell
    text: str  # how the rank ended, such as "exit status 3"


class Rank:
    """A process that is a rank. It leads a session, and so a group that holds the processes that it starts.

    It is reaped by reap() alone: until then its number, which is also its group's, cannot be another process's.
    """

    def __init__(self, number: int, process: subprocess.Popen[bytes]) -> None:
        self.number = number
        self.process = process
        self.failure: Failure | None = None
        self.has_ended = False

    def look(self) -> None:
        """Notes whether the process has ended, and how. If it failed, kills the processes that it started: they would
        hold its connections open, by which other ranks see its end."""
        if self.has_ended:
            return
        ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return
        self.has_ended = True
        if ended.si_code != os.CLD_EXITED:
            self.failure = Failure(self.number, 128 + ended.si_status, _name_of(ended.si_status))
        elif ended.si_status != 0:
            self.failure = Failure(self.number, ended.si_status, f"exit status {ended.si_status}")
        if self.failure is not None:
            self.tell_group(signal.SIGKILL)

    def tell(self, number: int) -> None:
        """Sends a signal to the process, and continues it if it is stopped."""
        if not self.has_ended:
            os.kill(self.process.pid, number)
            os.kill(self.process.pid, signal.SIGCONT)

    def tell_group(self, number: int) -> None:
        """Sends a signal to the process and those that it started; the process has not been reaped."""
        _tell_group(self.process.pid, number)

    def reap(self) -> None:
        self.process.wait()


class Signals:
    """The signals that this process gets, to be looked at between sleeps. Signals that are ignored stay so (nohup)."""

    def __init__(self) -> None:
        self.told: list[signal.Signals] = []  # those that end the job, in their order
        self.is_stop_wanted = False
        self.wakeups, self.alarm = os.pipe()
        for end in (self.wakeups, self.alarm):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self.alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # ends sleep()
        for number in PASSED_ON:
            self._handle(number, lambda given, frame: self.told.append(signal.Signals(given)))
        self._handle(signal.SIGTSTP, self._want_stop)

    def sleep(self, seconds: float | None) -> None:
        """Sleeps for so long, or without end, but at most until a signal arrives; none is missed between two calls."""
        select.select([self.wakeups], [], [], seconds)
        with contextlib.suppress(BlockingIOError):  # the time is over
            os.read(self.wakeups, 4096)

    def _want_stop(self, number: int, frame: object) -> None:
        self.is_stop_wanted = True

    @staticmethod
    def _handle(number: int, handler: Callable[[int, object], None]) -> None:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


class Job:
    """The ranks of a job, from their start to the end of the last one."""

    def __init__(self, ranks: list[Rank], signals: Signals) -> None:
        self.ranks = ranks
        self.signals = signals
        self.passed_on = 0  # how many of signals.told all ranks were sent
        self.failure: Failure | None = None  # the first
        self.status = 0  # the launcher's exit status
        self.end_by = signal.SIGTERM  # the signal that is sent at the deadline
        self.deadline: float | None = None

    def run(self) -> int:
        """Waits until all ranks have ended, and makes them end if one fails. Returns the launcher's exit status."""
        while True:
            for rank in self.ranks:
                rank.look()
            self._note_failure()
            if all(rank.has_ended for rank in self.ranks):
                break
            self._pass_on_signals()
            self._keep_deadline()
            if self.signals.is_stop_wanted:
                self._stop()
            self.signals.sleep(None if self.deadline is None else max(0.0, self.deadline - time.monotonic()))
        self._leave_nothing()
        return self.status

    def _note_failure(self) -> None:
        """Notes the first failure. Of ranks that failed since the last look, one that a signal killed comes first: the
        others may have ended because of it."""
        failures = [rank.failure for rank in self.ranks if rank.failure is not None]
        if self.failure is not None or not failures:
            return
        self.failure = min(failures, key=lambda failure: (failure.status <= 128, failure.rank))
        self.status = self.failure.status
        if self.signals.told:
            self.status = 128 + self.signals.told[0]
            return
        if any(not rank.has_ended for rank in self.ranks):
            self.deadline = time.monotonic() + PATIENCE
        _say(f"rank {self.failure.rank} has failed ({self.failure.text}), which ends the job")

    def _pass_on_signals(self) -> None:
        while self.passed_on < len(self.signals.told):
            number = PASSED_ON[self.signals.told[self.passed_on]]
            self.passed_on += 1
            for rank in self.ranks:
                rank.tell(number)
            self._kill_in(GRACE)

    def _keep_deadline(self) -> None:
        if self.deadline is None or time.monotonic() < self.deadline:
            return
        if self.end_by == signal.SIGTERM:
            for rank in self.ranks:
                rank.tell(signal.SIGTERM)
            self._kill_in(GRACE)
            return
        late = [str(rank.number) for rank in self.ranks if not rank.has_ended]
        _say(f"rank{'s' if len(late) > 1 else ''} {', '.join(late)} did not end within {GRACE:g} seconds of being told "
             f"to, and {'are' if len(late) > 1 else 'is'} killed")
        for rank in self.ranks:
            rank.tell_group(signal.SIGKILL)
        self.deadline = None

    def _kill_in(self, seconds: float) -> None:
        if self.end_by == signal.SIGTERM:
            self.end_by, self.deadline = signal.SIGKILL, time.monotonic() + seconds

    def _stop(self) -> None:
        """Stops the ranks and this process; returns once this process is continued."""
        self.signals.is_stop_wanted = False
        for rank in self.ranks:
            rank.tell_group(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        for rank in self.ranks:
            rank.tell_group(signal.SIGCONT)

    def _leave_nothing(self) -> None:
        """Kills what ranks have left behind, unless all succeeded, and reaps the ranks; then nothing of them runs."""
        for rank in self.ranks:
            if self.failure is not None:
                rank.tell_group(signal.SIGKILL)
            rank.reap()
        deadline = time.monotonic() + VANISHING
        while self.failure is not None and time.monotonic() < deadline and any(
                _tell_group(rank.process.pid, 0) for rank in self.ranks):
            time.sleep(0.005)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it, which is no reason to leave the ranks alone
        print(f"splitcast.launch: {text}", file=sys.stderr, flush=True)


def _name_of(number: int) -> str:
    return signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"


def _tell_group(group: int, number: int) -> bool:
    """Sends a signal to all processes of a group; returns whether it has any."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # it is empty, or has only processes of another user (sudo)
        return False
    return True


# Whatever ends the launcher, two things end the ranks. Linux sends each rank SIGTERM when its parent dies
# (PR_SET_PDEATHSIG). And a process of its own, the keeper, reads the ranks' numbers from a pipe of which the launcher
# has the other end; once this closes, the keeper kills what remains of the ranks' groups.


def _start_keeper() -> tuple[int, int]:
    """Starts the keeper. Returns its number and the end of the pipe to which ranks write their numbers."""
    numbers, registry = os.pipe()
    keeper = os.fork()
    if keeper != 0:
        os.close(numbers)
        return keeper, registry
    try:
        os.setsid()  # so that Ctrl-C and a terminal that is closed do not end it
        os.close(registry)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        _close_all_but(numbers)
        _keep(numbers)
    finally:
        os._exit(0)


def _close_all_but(kept: int) -> None:
    """Closes all other files that this process was given, so that nobody who waits for their end waits for it."""
    for number in [int(name) for name in os.listdir("/proc/self/fd")]:
        if number != kept:
            with contextlib.suppress(OSError):  # the directory that was listed
                os.close(number)
    for _ in range(3):  # the lowest free numbers
        os.open(os.devnull, os.O_RDWR)


def _keep(numbers: int) -> None:
    """Waits for the launcher's death, and then kills the groups of ranks that do not end."""
    text = b""
    while part := os.read(numbers, 4096):
        text += part
    groups = [int(number) for number in text.split()]
    deadline = time.monotonic() + ORPHAN_GRACE
    for group in groups:
        _tell_group(group, signal.SIGCONT)  # a stopped rank then gets the SIGTERM of its parent's death
    while groups and time.monotonic() < deadline:
        time.sleep(0.05)
        groups = [group for group in groups if _tell_group(group, 0)]
    for group in groups:
        _tell_group(group, signal.SIGKILL)


def _end_keeper(keeper: int) -> None:
    os.kill(keeper, signal.SIGKILL)
    os.waitpid(keeper, 0)


def _tie_to(launcher: int, registry: int, prctl: Callable[[int, int], int]) -> None:
    """Ties this process, which is about to become a rank, to the launcher's life."""
    if signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the launcher's handler would take it, and do nothing
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != launcher:  # it died before the call above, which then has no effect
        os._exit(128 + signal.SIGTERM)
    os.write(registry, f"{os.getpid()}\n".encode())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(count: int, command: list[str], registry: int) -> list[Rank]:
    """Starts the ranks; if one cannot be started, kills those before it and raises the error."""
    job = dict(os.environ, WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
               MASTER_PORT=str(_free_port()))
    if not job.get("SPLITCAST_SECRET") and not job.get("SPLITCAST_SECRET_FILE"):
        job["SPLITCAST_SECRET"] = secrets.token_hex(32)  # only these ranks know it
    launcher, prctl = os.getpid(), ctypes.CDLL(None).prctl
    ranks: list[Rank] = []
    try:
        for number in range(count):
            ranks.append(Rank(number, subprocess.Popen(
                command, env=dict(job, RANK=str(number), LOCAL_RANK=str(number)), start_new_session=True,
                preexec_fn=lambda: _tie_to(launcher, registry, prctl))))
    except BaseException:
        for rank in ranks:
            rank.tell_group(signal.SIGKILL)
            rank.reap()
        raise
    return ranks


def _parse() -> tuple[int, list[str]]:
    """Returns the number of ranks and the command that each of them runs."""
    parser = argparse.ArgumentParser(prog="python3 -m splitcast.launch", description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, required=True, metavar="RANKS", help="the number of ranks")
    parser.add_argument("program", help="the Python file to run on each rank")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    flags = parser.parse_args()
    if flags.n < 1:
        parser.error(f"-n is {flags.n}; it must be at least 1")
    if not os.path.isfile(flags.program):
        parser.error(f"there is no file '{flags.program}'")
    return flags.n, [sys.executable, flags.program, *flags.arguments]


def main() -> int:
    """Runs the job of the command line; returns the exit status of this module's description."""
    count, command = _parse()
    keeper, registry = _start_keeper()
    signals = Signals()
    try:
        ranks = _start(count, command, registry)
    except OSError as error:
        _say(f"error: {count} ranks could not be started: {error}")
        _end_keeper(keeper)
        return 1
    status = Job(ranks, signals).run()
    _end_keeper(keeper)  # after an exception it stays, and ends the ranks
    return status


if __name__ == "__main__":
    sys.exit(main())
