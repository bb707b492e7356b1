#!/usr/bin/env python3
"""Jobs whose ranks are on three hosts, and a stranger on a fourth one. The hosts are network namespaces on one bridge.

    namespaces_test.py [SEED] [unittest's arguments]

What the stranger does is drawn from the seed, which is printed; when it does that is not. Where namespaces cannot be
made, nothing is tested, and a line that begins with 'skipped: ' says why.
"""
from __future__ import annotations

import contextlib
import json
import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import overheard
from network import Network, address_of, why_not

HERE = os.path.dirname(os.path.abspath(__file__))
RANK, STRANGER, FLOOD = (os.path.join(HERE, name) for name in ("trains.py", "stranger.py", "flood.py"))
HOSTS, PORT = 3, 29477  # the stranger's host is one more
STEPS = 300
TIMEOUT = 300  # seconds, within which all happens even on a busy machine
PATIENCE = 45  # seconds that ranks wait for one that does not come
FOLDER = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("SPLITCAST_")}
ENVIRONMENT.update(PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=FOLDER.name)
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else random.SystemRandom().randrange(10**6)

# What the stranger must have done, to rank 0 and to others, before the last ranks start.
ENOUGH_OF_A_KIND, ENOUGH_OPEN = 20, 300
ENOUGH_OF_A_FLOOD = 1000  # connections a second
ENOUGH_REFUSED = 300  # calls while the ranks train, when none of them listens
ANSWERED = {"greets: wrong proof", "greets: own proof", "greets: no proof", "floods: headers", "replays: at once",
            "replays: in turn"}


def temporary(name: str) -> str:
    return os.path.join(tempfile.mkdtemp(dir=FOLDER.name), name)


def text_of(path: str) -> str:
    with open(path) as file:
        return file.read()


def secret_file(secret: str) -> str:
    path = temporary("job.secret")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(f"{secret}\n")
    return path


def bits_in(output: str) -> list[str]:
    """Returns what the ranks said of their bits."""
    return re.findall(r"last loss \S+, bits of \d+ losses and \d+ variables [0-9a-f]{64}", output)


def bits_on_one_host(size: int) -> str:
    """Returns what each rank says if the job has no namespaces and no stranger."""
    command = [sys.executable, "-m", "splitcast.launch", "-n", str(size), RANK, str(STEPS), str(TIMEOUT)]
    result = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 0, result.stderr
    said = bits_in(result.stdout)
    assert len(said) == size and len(set(said)) == 1, said
    return said[0]


class Ended(NamedTuple):
    status: int
    output: str
    errors: str


class Rank:
    """A process that is a rank, on one of the hosts."""

    def __init__(self, network: Network, rank: int, size: int, secret: dict[str, str], port: int = PORT,
                 timeout: int = TIMEOUT, awaited: str = "") -> None:
        each = size // HOSTS
        environment = dict(ENVIRONMENT, RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank % each),
                           MASTER_ADDR=address_of(0), MASTER_PORT=str(port), **secret)
        self._output, self._errors = temporary("output"), temporary("errors")
        with open(self._output, "w") as output, open(self._errors, "w") as errors:
            program = [RANK, str(STEPS), str(timeout), *([awaited] if awaited else [])]
            self._process = subprocess.Popen(network.hosts[rank // each].command(sys.executable, *program),
                                             env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)

    def has_joined(self) -> bool:
        return "has joined" in text_of(self._output)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> Ended:
        status = self._process.wait(TIMEOUT)
        return Ended(status, text_of(self._output), text_of(self._errors))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Stranger:
    """A process on the last host; see stranger.py."""

    def __init__(self, network: Network, *flags: str) -> None:
        self._report = temporary("report")
        self._process = subprocess.Popen(
            network.hosts[HOSTS].command(sys.executable, STRANGER, address_of(0), str(PORT), f"--seed={SEED}",
                                         f"--own={address_of(HOSTS)}", f"--report={self._report}", *flags),
            env=ENVIRONMENT, stdin=subprocess.PIPE)
        deadline = time.monotonic() + TIMEOUT
        while not os.path.exists(self._report):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the stranger did not begin")
            time.sleep(0.05)

    def report(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(text_of(self._report))
        return read

    def total(self, what: str, kinds: str = "") -> int:
        """Returns a sum over the kinds that begin so."""
        return sum(count[what] for kind, counts in self.report()["counts"].items() if kind.startswith(kinds)
                   for count in counts.values())

    def lacks(self) -> list[str]:
        """Returns what it has not done often enough."""
        report = self.report()
        lacks = [f"{most} connections at once to {where}" for where, most in report["most_open"].items()
                 if most < ENOUGH_OPEN]
        for kind in set(report["counts"]) - {"knows the secret"}:
            count = report["counts"][kind]
            lacks += [f"{kind}, to {where}" for where in count if count[where]["connected"] < ENOUGH_OF_A_KIND]
            if kind in ANSWERED and count["rank 0"]["answered"] < ENOUGH_OF_A_KIND // 2:
                lacks.append(f"{kind}, answered by rank 0")
        return lacks

    def text(self) -> str:
        groups = [(group, self.total("calls", group), self.total("connected", group), self.total("answered", group))
                  for group in ("greets", "floods", "replays")]
        return ", ".join(f"{group} {calls} times ({connected} connected, {answered} answered)"
                         for group, calls, connected, answered in groups)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.communicate(timeout=20)
        if self._process.returncode != 0:
            raise AssertionError(f"the stranger has failed: {self._process.returncode}")


class Flood:
    """A process on the stranger's host that connects to ranks as fast as it can; see flood.py."""

    def __init__(self, network: Network, targets: list[tuple[str, int]]) -> None:
        self._report = temporary("report")
        self._process = subprocess.Popen(
            network.hosts[HOSTS].command(sys.executable, FLOOD, self._report,
                                         *(f"{address}:{port}" for address, port in targets)),
            env=ENVIRONMENT, stdin=subprocess.PIPE)
        self._last, self._before = time.monotonic(), 0

    def connected(self) -> int:
        return int(text_of(self._report)) if os.path.exists(self._report) else 0

    def is_enough(self) -> bool:
        """Returns whether it was fast enough in the last second, if a second has passed."""
        connected, now = self.connected(), time.monotonic()
        if now < self._last + 1:
            return False
        rate, self._last, self._before = (connected - self._before) / (now - self._last), now, connected
        return rate >= ENOUGH_OF_A_FLOOD

    def end(self) -> None:
        self._process.communicate(timeout=20)
        if self._process.returncode != 0:
            raise AssertionError(f"the flood has failed: {self._process.returncode}")


class NamespacesTest(unittest.TestCase):

    @contextlib.contextmanager
    def network(self) -> Iterator[Network]:
        """Makes the network. The processes that the test starts on it end before it does, even after a failure."""
        self.ranks: list[Rank] = []
        with Network(HOSTS + 1) as network:
            try:
                yield network
            finally:
                for rank in self.ranks:
                    rank.kill()

    @contextlib.contextmanager
    def stranger(self, network: Network, *flags: str) -> Iterator[Stranger]:
        stranger = Stranger(network, *flags)
        try:
            yield stranger
        finally:
            stranger.end()

    @contextlib.contextmanager
    def flood(self, network: Network, targets: list[tuple[str, int]]) -> Iterator[Flood]:
        flood = Flood(network, targets)
        try:
            yield flood
        finally:
            flood.end()

    def start(self, ranks: list[Rank]) -> list[Rank]:
        self.ranks += ranks
        return ranks

    def expect_bits(self, ranks: list[Rank], bits: str) -> None:
        ended = [rank.end() for rank in ranks]
        self.assertEqual([(one.status, one.errors) for one in ended], [(0, "")] * len(ended))
        self.assertEqual([bits_in(one.output) for one in ended], [[bits]] * len(ended))

    def train_beside_stranger(self, size: int, secret: str, given: dict[str, str]) -> None:
        bits = bits_on_one_host(size)
        with self.network() as network:
            recorded = temporary("recorded")
            with self.stranger(network, "--only-listens", f"--save={recorded}"):
                self.expect_bits(self.start([Rank(network, rank, size, given) for rank in range(size)]), bits)
            heard = overheard.load(recorded)
            self.assertEqual(len(heard), size * (size - size // HOSTS) // 2, "pairs of ranks on different hosts")
            self.assertTrue(all(len(one.sent) > 128 for one in heard), "after greeting and proof there are messages")
            self.expect_no_secret(heard, secret)

            again = temporary("recorded")
            with self.stranger(network, f"--recorded={recorded}", f"--save={again}") as stranger:
                last, half_time = size // HOSTS, temporary("half_time")
                ranks = self.start([Rank(network, rank, size, given, awaited=half_time) for rank in range(size - last)])
                self.wait_for(ranks, lambda: not stranger.lacks(), lambda: f"the stranger lacks {stranger.lacks()}")
                others = [(address, port) for address, port in stranger.report()["others"]]
                with self.flood(network, [(address_of(0), PORT), *others]) as flood:
                    self.wait_for(ranks, flood.is_enough,
                                  lambda: f"the flood has not {ENOUGH_OF_A_FLOOD} connections a second")
                    begin, before = time.monotonic(), flood.connected()
                    ranks += self.start([Rank(network, rank, size, given) for rank in range(size - last, size)])
                    self.wait_for(ranks, lambda: all(rank.has_joined() for rank in ranks),
                                  lambda: f"not all ranks joined beside {flood.connected()} connections of the flood")
                    joined, flooded = time.monotonic() - begin, flood.connected() - before
                refused, until_then = stranger.total("refused"), stranger.text()
                self.wait_for(ranks, lambda: stranger.total("refused") > refused + ENOUGH_REFUSED,
                              lambda: "the stranger does not go on calling beside ranks that train")
                open(half_time, "w").close()
                self.expect_bits(ranks, bits)
            self.assertEqual(stranger.total("admitted"), 0, stranger.report())
            self.expect_no_secret(overheard.load(again), secret)
        print(f"{size} ranks: {bits}; the last ones joined in {joined:.1f} s, in which a stranger connected {flooded} "
              f"times; it {until_then} until then; "
              f"{stranger.text()} in all; it was never admitted", flush=True)

    def wait_for(self, ranks: list[Rank], condition: Callable[[], bool], what: Callable[[], str]) -> None:
        """Waits for what happens while no rank ends."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            for rank in ranks:
                if rank.has_ended():
                    self.fail(f"a rank has ended, while {what()}: {rank.end()}")
            if time.monotonic() > deadline:
                self.fail(f"after {TIMEOUT} seconds {what()}")
            time.sleep(0.05)

    def expect_no_secret(self, heard: list[overheard.Conversation], secret: str) -> None:
        self.assertGreater(len(heard), 0)
        self.assertFalse(any(secret.encode() in one.sent + one.answered for one in heard))

    def test_one_rank_on_each_host(self) -> None:
        secret = secrets.token_hex(32)
        self.train_beside_stranger(3, secret, {"SPLITCAST_SECRET_FILE": secret_file(secret)})

    def test_two_ranks_on_each_host(self) -> None:
        secret = secrets.token_hex(32)
        self.train_beside_stranger(6, secret, {"SPLITCAST_SECRET": secret})

    def test_a_rank_with_another_secret(self) -> None:
        """Is an error on all ranks: at once on those that find another secret, on the others when the time is up. Three
        jobs run side by side, at ports of their own; in each another rank is the odd one."""
        right, wrong = ({"SPLITCAST_SECRET_FILE": secret_file(secrets.token_hex(32))} for _ in range(2))
        all_ranks = [(odd, rank) for odd in range(HOSTS) for rank in range(HOSTS)]
        at_once = [(0, 1), (0, 2), (1, 1), (2, 2)]
        with self.network() as network:
            ranks = self.start([Rank(network, rank, HOSTS, wrong if rank == odd else right, PORT + odd, PATIENCE)
                                for odd, rank in all_ranks])
            by_job = dict(zip(all_ranks, ranks, strict=True))
            for job in [*at_once, *(job for job in all_ranks if job not in at_once)]:
                ended = by_job[job].end()
                with self.subTest(odd=job[0], rank=job[1]):
                    self.assertEqual((ended.status, ended.output), (1, ""), ended)
                    self.assertIn(self.told(*job, job in at_once), ended.errors)
                    self.assertIn("it has another secret; give all ranks of a job the same SPLITCAST_", ended.errors)
                    self.assertFalse(job in at_once and by_job[job[0], 0].has_ended(), "rank 0 waits longer")

    def told(self, odd: int, rank: int, at_once: bool) -> str:
        """Returns what a rank is told in a job whose rank `odd` has another secret."""
        master = f"{address_of(0)}:{PORT + odd}"
        if at_once:
            return (f"rank {rank} of {HOSTS} has found at {master}, where rank 0 should listen, a process that is none "
                    f"of this job (")
        missing = "ranks 1, 2" if odd == 0 else f"rank {odd}"
        return f"{missing} of {HOSTS} did not connect to {master} within {PATIENCE}s; a process that calls itself rank "

    def test_a_stranger_who_knows_the_secret(self) -> None:
        """Is taken for a rank, so that the secret is all that the others lack, and it would be seen."""
        secret = secrets.token_hex(32)
        given = {"SPLITCAST_SECRET_FILE": secret_file(secret)}
        with self.network() as network:
            ranks = self.start([Rank(network, rank, HOSTS, given, timeout=PATIENCE) for rank in range(2)])
            with self.stranger(network, f"--secret={secret}", "--rank=2", f"--size={HOSTS}") as stranger:
                # No rank has to live on: the stranger does not train.
                self.wait_for([], lambda: stranger.total("admitted") == 1, lambda: "the stranger is not taken")
            for rank in ranks:
                self.assertNotEqual(rank.end().status, 0)


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(0)
    print(f"the stranger's calls are drawn from seed {SEED}", flush=True)
    unittest.main()
