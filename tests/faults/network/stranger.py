"""A process on the ranks' network that knows all but the job's secret. Until its stdin ends, it overhears the ranks and
calls them to be taken for one: it greets, floods and replays.

    stranger.py ADDRESS PORT --own=ADDRESS --report=FILE [--seed=N] [--only-listens] [--recorded=FILE] [--save=FILE]
                [--secret=TEXT --rank=N --size=N]

FILE of --report has a Report as JSON, anew every 0.2 seconds. --recorded has what was overheard of an earlier job, and
--save is where this one's goes. With --secret it is no stranger: it greets as that rank of a job of this size.
"""
from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import random
import resource
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from typing import ClassVar

from overheard import Conversation, Listener, load, save

# A greeting of runtime/tcp/TcpHandshake.h: protocol, rank, size, attempt, job, port, whether it has a secret, and a
# random number.
GREETING = struct.Struct("<16sqqQQqQ32s")
PROTOCOL = b"splitcast rank 3"
PROOF_BYTES = 32
ANSWER_BYTES = GREETING.size + PROOF_BYTES  # all that a rank says to one who has not proved to be a rank

KNOWS, MANY = "knows the secret", "floods: one of many"  # kinds of calls that are not made in turn
CALLS_PER_SECOND = 150
BURST, BURST_EVERY = 300, 5.0  # so many calls at once, every so many seconds
# Seconds until it leaves a rank that does not answer, and one that keeps the connection. A rank closes a connection
# after 10 seconds without a proof, and at once after a wrong one.
LONGEST, LONGEST_KEPT = 16.0, 12.0
ENDS = (0, 1, -1, 2**31 - 1, 2**63 - 1, -(2**63), 2**30, 65535, 65536)

Target = tuple[str, int]


@dataclasses.dataclass
class Count:
    """How calls of one kind to one port ended."""
    calls: int = 0
    refused: int = 0  # nobody listened
    connected: int = 0
    answered: int = 0  # by a rank's greeting and proof
    closed: int = 0  # by the rank
    admitted: int = 0  # the rank said more than it says to strangers, or kept the connection after a wrong proof


@dataclasses.dataclass
class Report:
    counts: dict[str, dict[str, Count]]  # by kind, and "rank 0" or "others"
    most_open: dict[str, int]  # connections at a time
    overheard: int = 0  # connections between ranks
    others: list[Target] = dataclasses.field(default_factory=list)  # where ranks other than rank 0 were heard to listen


class Call:
    """A connection to a rank."""

    def __init__(self, target: Target, rng: random.Random) -> None:
        self.target, self.rng = target, rng
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.heard = b""
        self.is_closed = False  # by the rank
        self.has_proved = False

    async def send(self, text: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self.socket, text)
        except OSError:
            self.is_closed = True

    async def hear(self, count: int) -> bytes:
        """Returns up to `count` bytes in all of what the rank has said; fewer if it has closed the connection."""
        while len(self.heard) < count and not self.is_closed and self.socket.fileno() >= 0:
            try:
                part = await asyncio.get_running_loop().sock_recv(self.socket, count - len(self.heard))
            except OSError:
                part = b""
            self.heard += part
            self.is_closed = not part
        return self.heard[:count]

    async def prove(self, proof: bytes) -> None:
        await self.send(proof)
        self.has_proved = True

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Stranger:
    """Its ways to call are the methods of KINDS."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self.flags = flags
        self.rng = random.Random(flags.seed)
        self.master: Target = (flags.address, flags.port)
        self.others: list[Target] = []
        self.overheard: list[Conversation] = []
        self.listener = Listener(flags.own)
        self.recorded: list[Conversation] = load(flags.recorded) if flags.recorded else []
        self.greetings: list[bytes] = []  # that ranks of this job were heard to send
        self.open = {"rank 0": 0, "others": 0}
        self.report = Report({kind: {where: Count() for where in self.open} for kind in [*self.KINDS, KNOWS]},
                             dict(self.open))
        self.tasks: set[asyncio.Task[None]] = set()

    # ---- What it says ----

    def greeting(self) -> bytes:
        """Returns a greeting as a rank of this job could send it, or almost."""
        rng = self.rng
        heard = [GREETING.unpack(text) for text in self.greetings]
        _, _, size, attempt, job, port, _, _ = rng.choice(heard) if heard else (b"", 1, 3, 0, 0, 1234, 1, b"")
        rank = rng.randrange(1, max(2, size)) if rng.random() < 0.7 else rng.choice([0, size, *ENDS])
        if rng.random() < 0.2:
            size, attempt, job = rng.choice([2, size + 1, *ENDS]), rng.choice([0, 1, 2**63]), rng.getrandbits(64)
        if rng.random() < 0.1:
            port = rng.choice(ENDS)
        return GREETING.pack(PROTOCOL, rank, size, attempt, job, port, int(rng.random() < 0.8), rng.randbytes(32))

    async def wrong_proof(self, call: Call) -> None:
        greeting = self.greeting()
        await call.send(greeting)
        answer = await call.hear(ANSWER_BYTES)
        guess = self.rng.choice([b"", bytes(16), b"secret", b"0123456789abcdef"])
        await call.prove(self.rng.choice([proof_of(guess, greeting, answer), self.rng.randbytes(32), bytes(32)]))

    async def own_proof(self, call: Call) -> None:
        """Gives the rank's own proof back, after the rank's own greeting or another."""
        greeting = self.rng.choice([self.greeting(), *self.greetings])
        await call.send(greeting)
        await call.prove((await call.hear(ANSWER_BYTES))[GREETING.size:])

    async def half_greeting(self, call: Call) -> None:
        await call.send(self.greeting()[:self.rng.randrange(1, GREETING.size)])

    async def no_proof(self, call: Call) -> None:
        await call.send(self.greeting() + bytes(self.rng.randrange(PROOF_BYTES)))

    async def silence(self, call: Call) -> None:
        pass

    async def other_protocol(self, call: Call) -> None:
        await call.send(self.rng.choice([b"GET / HTTP/1.1\r\nHost: rank\r\n\r\n", b"SSH-2.0-scan\r\n",
                                         b"splitcast rank 1" + bytes(200)]))

    async def random_bytes(self, call: Call) -> None:
        await call.send(self.rng.randbytes(self.rng.randrange(1, 5000)))

    async def megabyte(self, call: Call) -> None:
        begin = self.rng.choice([b"", PROTOCOL, self.greeting()])
        await call.send(begin + bytes(1 << 20))

    async def headers(self, call: Call) -> None:
        """Goes on at once as a rank does that has joined: messages, of lengths that no rank sends among them."""
        words = [self.rng.choice(ENDS) for _ in range(8 * self.rng.randrange(1, 50))]
        await call.send(self.greeting() + self.rng.randbytes(PROOF_BYTES) + struct.pack(f"<{len(words)}q", *words))
        call.has_proved = True

    async def resets(self, call: Call) -> None:
        if self.rng.random() < 0.5:
            await call.send(self.greeting())
        call.reset()

    async def replay_at_once(self, call: Call) -> None:
        if said := self._some_conversation():
            await call.send(self.rng.choice([said.sent, said.answered]))
            call.has_proved = True

    async def replay_in_turn(self, call: Call) -> None:
        if said := self._some_conversation():
            await call.send(said.sent[:GREETING.size])
            await call.hear(ANSWER_BYTES)
            await call.prove(said.sent[GREETING.size:ANSWER_BYTES])
            await call.send(said.sent[ANSWER_BYTES:])

    def _some_conversation(self) -> Conversation | None:
        """Returns one of this job or of an earlier one, or nothing if it knows none."""
        known = [one for one in (self.recorded, self.overheard) if one]
        return self.rng.choice(self.rng.choice(known)) if known else None

    async def one_of_many(self, call: Call) -> None:
        """Of many calls at once, each of which the rank has to wait for."""
        talk = self.rng.choice([Stranger.silence, Stranger.half_greeting, Stranger.no_proof, Stranger.random_bytes])
        await talk(self, call)

    KINDS: ClassVar[dict[str, Callable[[Stranger, Call], Awaitable[None]]]] = {
        "greets: wrong proof": wrong_proof, "greets: own proof": own_proof, "greets: half": half_greeting,
        "greets: no proof": no_proof, "greets: silence": silence, "greets: other protocol": other_protocol,
        "floods: random bytes": random_bytes, "floods: megabyte": megabyte, "floods: headers": headers,
        "floods: resets": resets, MANY: one_of_many,
        "replays: at once": replay_at_once, "replays: in turn": replay_in_turn,
    }

    # ---- Whom it calls ----

    async def call(self, kind: str, target: Target) -> None:
        where = "rank 0" if target == self.master else "others"
        count = self.report.counts[kind][where]
        count.calls += 1
        call = Call(target, self.rng)
        self.open[where] += 1
        self.report.most_open[where] = max(self.report.most_open[where], self.open[where])
        was_kept = False
        try:
            async with asyncio.timeout(LONGEST):
                await asyncio.get_running_loop().sock_connect(call.socket, target)
                count.connected += 1
                await (self.KINDS[kind](self, call) if kind != KNOWS else self._prove_to_know(call))
            try:
                async with asyncio.timeout(LONGEST_KEPT):
                    await call.hear(ANSWER_BYTES + 1)
            except TimeoutError:
                was_kept = call.has_proved and len(call.heard) >= ANSWER_BYTES
        except ConnectionRefusedError:
            count.refused += 1
        except OSError:  # it took too long
            pass
        finally:
            self.open[where] -= 1
            count.answered += len(call.heard) >= ANSWER_BYTES
            count.closed += call.is_closed
            count.admitted += was_kept or len(call.heard) > ANSWER_BYTES
            call.socket.close()

    async def _prove_to_know(self, call: Call) -> None:
        flags = self.flags
        greeting = GREETING.pack(PROTOCOL, flags.rank, flags.size, 0, 0, 1234, 1, self.rng.randbytes(32))
        await call.send(greeting)
        await call.prove(proof_of(flags.secret.encode(), greeting, await call.hear(ANSWER_BYTES)))

    def start(self, kind: str, target: Target) -> None:
        task = asyncio.create_task(self.call(kind, target))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def strike(self) -> None:
        """Calls all ranks whose ports it knows, in all ways."""
        in_turn = [kind for kind in self.KINDS if kind != MANY]
        while True:
            for number in range(int(BURST_EVERY * CALLS_PER_SECOND)):
                for target in [self.master, *self.others]:
                    self.start(in_turn[number % len(in_turn)], target)
                await asyncio.sleep((1 + len(self.others)) / CALLS_PER_SECOND)
            for _ in range(BURST):
                for target in [self.master, *self.others]:
                    self.start(MANY, target)

    # ---- What it learns and tells ----

    def learn(self) -> None:
        """Reads greetings: they say where the ranks listen that send them."""
        self.overheard = [one for one in self.listener.conversations()
                          if one.sent.startswith(PROTOCOL) and len(one.sent) >= GREETING.size]
        self.greetings = [one.sent[:GREETING.size] for one in self.overheard]
        self.others = sorted({(one.caller, GREETING.unpack(one.sent[:GREETING.size])[5]) for one in self.overheard})
        self.report.overheard, self.report.others = len(self.overheard), self.others

    def tell(self) -> None:
        unfinished = self.flags.report + ".new"
        with open(unfinished, "w") as file:
            json.dump(dataclasses.asdict(self.report), file)
        os.rename(unfinished, self.flags.report)

    async def live(self) -> None:
        loop = asyncio.get_running_loop()
        is_over = asyncio.Event()
        loop.add_reader(sys.stdin, is_over.set)
        loop.add_reader(self.listener.socket, self.listener.listen)
        striking = None if self.flags.only_listens or self.flags.secret else asyncio.create_task(self.strike())
        while not is_over.is_set():
            if self.flags.secret and not self.report.counts[KNOWS]["rank 0"].connected:
                self.start(KNOWS, self.master)
            self.learn()
            self.tell()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), 0.2)
        if striking:
            striking.cancel()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.learn()
        self.tell()
        if self.flags.save:
            save(self.flags.save, self.overheard)


def proof_of(secret: bytes, greeting: bytes, answer: bytes) -> bytes:
    """Returns the proof of the side that connects."""
    return hmac.new(secret, b"connects" + greeting + answer[:GREETING.size], hashlib.sha256).digest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--own", required=True)
    parser.add_argument("--report", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only-listens", action="store_true")
    parser.add_argument("--recorded")
    parser.add_argument("--save")
    parser.add_argument("--secret")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--size", type=int)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(Stranger(parser.parse_args()).live())


if __name__ == "__main__":
    main()
