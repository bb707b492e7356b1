"""Connects to ranks as fast as it can until its stdin ends. Every other connection greets, the others say nothing. It
keeps each until the rank closes it.

    flood.py REPORT ADDRESS:PORT...

REPORT has how many connections there were, anew every 0.1 seconds.
"""
from __future__ import annotations

import collections
import contextlib
import os
import resource
import select
import socket
import sys
import time

from stranger import GREETING, PROTOCOL

MOST_OPEN, AT_ONCE = 8000, 50  # the kernel keeps 4096 for a rank


def is_closed(one: socket.socket) -> bool:
    """Returns whether the rank has closed the connection, or does not listen any more."""
    try:
        return not one.recv(200)
    except BlockingIOError:
        return False
    except OSError:
        return True


class Flood:

    def __init__(self, report: str, targets: list[tuple[str, int]]) -> None:
        self.report, self.targets = report, targets
        self.open: collections.deque[socket.socket] = collections.deque()
        self.connected = 0

    def connect(self) -> None:
        """Connects to each rank some times."""
        made = []
        for number in range(AT_ONCE if len(self.open) < MOST_OPEN else 0):
            for target in self.targets:
                made.append((number, socket.socket()))
                made[-1][1].setblocking(False)
                made[-1][1].connect_ex(target)
        for number, one in made:
            with contextlib.suppress(OSError):  # nobody listens there, or does not answer yet
                one.getpeername()
                self.connected += 1
                if number % 2:
                    one.send(GREETING.pack(PROTOCOL, 1, 3, 0, 0, 1234, 1, os.urandom(32)))
            self.open.append(one)
        for _ in range(min(len(self.open), 2 * AT_ONCE * len(self.targets))):
            if not is_closed(self.open[0]):
                self.open.append(self.open[0])
            self.open.popleft()

    def tell(self) -> None:
        with open(self.report + ".new", "w") as file:
            file.write(str(self.connected))
        os.rename(self.report + ".new", self.report)

    def live(self) -> None:
        told = 0.0
        while not select.select([sys.stdin], [], [], 0)[0]:
            self.connect()
            if time.monotonic() > told + 0.1:
                self.tell()
                told = time.monotonic()


def main() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    targets = [target.rsplit(":", 1) for target in sys.argv[2:]]
    Flood(sys.argv[1], [(address, int(port)) for address, port in targets]).live()


if __name__ == "__main__":
    main()
