#!/usr/bin/env python3
"""What is true after each event in a job of splitcast.launch, with real processes.

    launch_test.py [SEED] [unittest's arguments]

Schedules are drawn from the seed, which is printed: ranks that work, ignore SIGTERM, have stopped, have a child that
ignores SIGTERM or have ended; and then one event. 12 are drawn; LAUNCH_SCHEDULES says another number.
"""
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jobs

LAUNCH = os.path.join(jobs.ROOT, "compiler/python/splitcast/launch.py")
# The launcher with shorter times, so that many schedules run in seconds.
QUICK = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("launch", sys.argv[1])
launch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launch)
launch.PATIENCE, launch.GRACE = 0.2, 2.0
sys.argv = sys.argv[1:]
sys.exit(launch.main())
"""
# A rank: it writes its number and that of its child to files, behaves as it is told, and waits for what is to happen. If
# it is told to end, it writes that to a file and ends.
RANK = """
import os, signal, subprocess, sys, time
directory, kinds, event, victim, argument = sys.argv[1:]
rank = int(os.environ["RANK"])
kind = kinds.split(",")[rank]
def note(name, pid):
    with open(f"{directory}/.{name}", "w") as file:
        file.write(str(pid))
    os.rename(f"{directory}/.{name}", f"{directory}/{name}")
if kind in ("child", "large"):
    text = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    if kind == "large":
        text = "held = b'x' * 2**29; " + text
    child = subprocess.Popen([sys.executable, "-S", "-c", text], stdout=subprocess.PIPE)
    child.stdout.readline()
    note(f"{rank}.child", child.pid)
def end(number, frame):
    note(f"{rank}.told", 0)
    os._exit(1)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN if kind == "ignores" else end)
note(rank, os.getpid())
if kind == "ended":
    sys.exit(0)
if kind == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
for look in range(30000):  # ten minutes, if a test fails
    if rank == int(victim) and os.path.exists(f"{directory}/now"):
        if event == "exits":
            sys.exit(int(argument))
        if event == "killed":
            os.kill(os.getpid(), int(argument))
    time.sleep(0.02)
"""
# Rank 1 fails before it joins: at once, or when rank 0 listens for it. The clock is the same for all processes.
WAITS = """
import os, sys, time
if os.environ["RANK"] == "1":
    listens = f":{int(os.environ['MASTER_PORT']):04X} 00000000:0000 0A"
    while sys.argv[1] == "1" and listens not in open("/proc/net/tcp").read():
        time.sleep(0.02)
    sys.exit(f"no module named foo, at {time.monotonic()}")
import splitcast as sc
sc.init(timeout=90)
sc.exchange("a")
"""
KINDS = ["works", "works", "ignores", "stopped", "child", "ended"]
EVENTS = ["exits", "killed", "told", "launcher"]
# Signals of which a process dies that expects none of them, as the launcher does.
DEADLY = [signal.SIGKILL, signal.SIGSEGV, signal.SIGQUIT, signal.SIGABRT, signal.SIGBUS, signal.SIGUSR1, signal.SIGUSR2,
          signal.SIGALRM, signal.SIGXCPU]
SCHEDULES = int(os.environ.get("LAUNCH_SCHEDULES", "12"))
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else random.SystemRandom().randrange(10**6)


def is_alive(pid):
    """Whether the process runs; one that has ended, but was not waited for, does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter as it is read
        return False


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


class Started:
    """A job whose ranks have all written their numbers."""

    def __init__(self, kinds, event, victim, argument, quick=True):
        self.directory = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        program = jobs.write(RANK)
        launcher = ["-S", "-c", QUICK, LAUNCH] if quick else [LAUNCH]
        self.launcher = subprocess.Popen(
            [sys.executable, *launcher, "-n", str(len(kinds)), program, self.directory, ",".join(kinds), event,
             str(victim), str(argument)], stderr=subprocess.PIPE, universal_newlines=True, start_new_session=True)
        names = [str(rank) for rank in range(len(kinds))]
        assert wait_until(lambda: set(names) <= set(os.listdir(self.directory)), 20), "the ranks did not begin"
        self.pids = []
        for name in os.listdir(self.directory):
            with open(os.path.join(self.directory, name)) as file:
                self.pids.append(int(file.read()))
        for rank, kind in enumerate(kinds):
            if kind == "stopped":
                assert wait_until(lambda: self._state_of(names[rank]) == "T", 20), "the rank did not stop"

    def _state_of(self, name):
        with open(os.path.join(self.directory, name)) as file, open(f"/proc/{file.read()}/stat") as stat:
            return stat.read().rsplit(") ", 1)[1][0]

    def let_happen(self):
        open(os.path.join(self.directory, "now"), "w").close()

    def end(self):
        """The launcher's exit status, stderr, and the seconds until it had ended."""
        begin = time.monotonic()
        _, errors = self.launcher.communicate(timeout=30)
        return self.launcher.returncode, errors, time.monotonic() - begin

    def untold(self, kinds, victim):
        """The ranks that were not told to end, though they should have been."""
        return [rank for rank, kind in enumerate(kinds) if kind in ("works", "stopped", "child") and rank != victim and
                not os.path.exists(os.path.join(self.directory, f"{rank}.told"))]

    def left(self):
        return [pid for pid in self.pids if is_alive(pid)]


def draw(rng):
    """A schedule: the kinds of ranks, the event, the rank that it happens to, and its number."""
    kinds = [rng.choice(KINDS) for _ in range(rng.randint(1, 4))]
    victim = rng.randrange(len(kinds))
    kinds[victim] = rng.choice(["works", "child"])
    event = rng.choice(EVENTS)
    argument = {
        "exits": rng.randint(1, 120),
        "killed": rng.choice(DEADLY),
        "told": rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]),
        "launcher": rng.choice(DEADLY),
    }[event]
    return kinds, event, victim, int(argument)


def problems_of(schedule):
    """Runs a schedule; returns what is not as the launcher promises."""
    kinds, event, victim, argument = schedule
    job = Started(*schedule)
    if event in ("told", "launcher"):
        job.launcher.send_signal(argument)
    else:
        job.let_happen()
    status, errors, seconds = job.end()
    problems = []
    expected = {"exits": argument, "killed": 128 + argument, "told": 128 + argument, "launcher": -argument}[event]
    if status != expected:
        problems.append(f"the status is {status}, not {expected}")
    if event in ("exits", "killed") and f"rank {victim} has failed" not in errors:
        problems.append(f"nothing names rank {victim}: {errors}")
    if event != "launcher" and job.left():
        problems.append("processes are left when the launcher has ended")
    if event == "launcher" and not wait_until(lambda: not job.left(), 5):
        problems.append("processes are left 5 seconds after the launcher's death")
    untold = job.untold(kinds, victim if event in ("exits", "killed") else None)
    if untold:
        problems.append(f"ranks {untold} were killed before they were told to end")
    if seconds > 8:  # beside other work; PATIENCE and GRACE are 2.2 seconds together
        problems.append(f"it took {seconds:.1f} seconds")
    return problems


class LaunchTest(unittest.TestCase):

    def test_ends_each_drawn_job_as_it_promises(self):
        rng = random.Random(SEED)
        schedules = [draw(rng) for _ in range(SCHEDULES)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for schedule, problems in zip(schedules, pool.map(problems_of, schedules)):
                self.assertEqual(problems, [], f"seed {SEED}: {schedule}")

    def test_leaves_no_rank_whatever_signal_it_dies_of(self):
        with concurrent.futures.ThreadPoolExecutor(len(DEADLY)) as pool:
            for number, problems in zip(DEADLY, pool.map(
                    lambda number: problems_of((["works", "child"], "launcher", 0, int(number))), DEADLY)):
                self.assertEqual(problems, [], number.name)

    def test_sees_a_failure_while_rank_0_lives(self):
        for victim in (1, 2):
            job = Started(["works"] * 3, "exits", victim, 40 + victim, quick=False)
            job.let_happen()
            status, errors, seconds = job.end()
            self.assertEqual(status, 40 + victim)
            self.assertIn(f"rank {victim} has failed (exit status {40 + victim})", errors)
            self.assertLess(seconds, 3)
            self.assertEqual(job.left(), [])

    def test_ends_after_what_ranks_left_behind(self):
        # What is killed runs on until it has given its memory back.
        self.assertEqual(problems_of((["large", "works"], "exits", 1, 3)), [])

    def test_succeeds_if_all_ranks_do(self):
        started = Started(["ended", "ended"], "none", 0, 0)
        self.assertEqual(started.end()[:2], (0, ""))

    def test_ends_ranks_that_wait_for_one_that_fails_before_it_joins(self):
        """Half a second later, whether rank 0 has begun to wait or not."""
        for waits in (False, True):
            begin = time.monotonic()
            result = jobs.run(2, WAITS, int(waits), launcher=jobs.LAUNCH)
            end = time.monotonic()
            self.assertEqual(result.returncode, 1)
            died = re.search(r"^no module named foo, at (\S+)$", result.stderr, re.MULTILINE)
            self.assertIsNotNone(died, result.stderr)
            self.assertIn("rank 1 has failed (exit status 1)", result.stderr)
            self.assertNotIn("did not end within", result.stderr)  # as it was told, without being killed
            if waits:
                self.assertRegex(result.stderr, "Error: .*told to end by SIGTERM, while rank 0 waited for rank 1")
            self.assertGreater(end - float(died[1]), 0.5)
            self.assertLess(end - float(died[1]), 8)  # on a busy machine
            self.assertLess(end - begin, 15)

    def test_of_torchrun_leaves_no_rank_when_its_agent_dies(self):
        rank = jobs.write("import os, time\nimport splitcast as sc\nsc.init()\nprint(os.getpid(), flush=True)\n"
                          "time.sleep(600)\n")
        agent = "import subprocess, sys\nsubprocess.Popen(sys.argv[1:]).wait()\n"
        environment = dict(jobs.ENVIRONMENT, RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29400",
                           TORCHELASTIC_RUN_ID="none")
        process = subprocess.Popen([sys.executable, "-c", agent, sys.executable, rank], env=environment,
                                   stdout=subprocess.PIPE, universal_newlines=True)
        pid = int(process.stdout.readline())
        process.kill()
        self.assertTrue(wait_until(lambda: not is_alive(pid), 5))
        process.communicate()

    def test_stops_and_continues_with_its_ranks(self):
        job = Started(["works", "child"], "exits", 0, 3)
        job.launcher.send_signal(signal.SIGTSTP)
        stopped = lambda: all(job._state_of(name) == "T" for name in ("0", "1", "1.child"))
        self.assertTrue(wait_until(stopped, 5))
        job.launcher.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: not stopped(), 5))
        job.let_happen()
        self.assertEqual(job.end()[0], 3)
        self.assertEqual(job.left(), [])


if __name__ == "__main__":
    print(f"schedules are drawn from seed {SEED}", flush=True)
    unittest.main()
