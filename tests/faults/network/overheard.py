"""What others say to each other on a network on which a host receives every frame."""
from __future__ import annotations

import contextlib
import json
import socket
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

ALL_FRAMES, IPV4, TCP = 0x0003, 0x0800, 6
SYN = 0x02
MOST_BYTES = 1 << 16  # of each direction of a connection
FRAMES_AT_ONCE, BUFFER_BYTES = 200, 1 << 26
SO_RCVBUFFORCE = 33  # of Linux: beyond what is allowed without root


class Conversation(NamedTuple):
    """The first bytes of a connection: whose it was, what its caller sent and what was answered."""
    caller: str
    called: tuple[str, int]
    sent: bytes
    answered: bytes


@dataclass
class Direction:
    """The bytes from one end of a connection to the other; segments may come twice, late or never."""
    first: int  # the sequence number of the first byte
    segments: dict[int, bytes] = field(default_factory=dict)
    end: int = 0

    def take(self, sequence: int, payload: bytes) -> None:
        offset = (sequence - self.first) % (1 << 32)
        if payload and offset < MOST_BYTES and len(payload) > len(self.segments.get(offset, b"")):
            self.segments[offset] = payload

    def text(self) -> bytes:
        """Returns what is known from the beginning on without a gap."""
        text = b""
        for offset, payload in sorted(self.segments.items()):
            if offset > len(text):
                break
            text += payload[len(text) - offset:]
        return text


class Listener:
    """Overhears the connections between other hosts, from their first frame on."""

    def __init__(self, own: str) -> None:
        self.own = socket.inet_aton(own)
        self.directions: dict[bytes, Direction] = {}  # by addresses and ports of sender and receiver
        self.callers: list[bytes] = []  # the directions that began connections
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
        with contextlib.suppress(PermissionError):  # root of a container may not
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self.socket.setblocking(False)

    def listen(self) -> None:
        """Takes the frames that have arrived; returns after some at the latest."""
        for _ in range(FRAMES_AT_ONCE):
            try:
                frame = self.socket.recv(1 << 16)
            except BlockingIOError:
                return
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        if len(frame) < 54 or struct.unpack_from("!H", frame, 12)[0] != IPV4 or frame[23] != TCP:
            return
        tcp = 14 + 4 * (frame[14] & 15)
        end = 14 + int.from_bytes(frame[16:18], "big")  # what follows fills a short frame
        source, target = frame[26:30], frame[30:34]
        if self.own in (source, target):
            return
        key = source + frame[tcp:tcp + 2] + target + frame[tcp + 2:tcp + 4]
        sequence, acknowledged, offset, flags = struct.unpack_from("!IIBB", frame, tcp + 4)
        if flags & SYN:
            if key not in self.directions or self.directions[key].first != sequence + 1:
                self.directions[key] = Direction(sequence + 1)
                if acknowledged == 0:
                    self.callers.append(key)
        elif key in self.directions:
            self.directions[key].take(sequence, frame[tcp + 4 * (offset >> 4):end])

    def conversations(self) -> list[Conversation]:
        """Returns the connections in which something was sent, in their order."""
        found = []
        for key in self.callers:
            back = self.directions.get(key[6:] + key[:6])
            sent = self.directions[key].text()
            if sent:
                called = (socket.inet_ntoa(key[6:10]), int.from_bytes(key[10:], "big"))
                found.append(Conversation(socket.inet_ntoa(key[:4]), called, sent, back.text() if back else b""))
        return found


def save(path: str, conversations: list[Conversation]) -> None:
    with open(path, "w") as file:
        json.dump([[said.caller, *said.called, said.sent.hex(), said.answered.hex()] for said in conversations], file)


def load(path: str) -> list[Conversation]:
    with open(path) as file:
        return [Conversation(caller, (host, port), bytes.fromhex(sent), bytes.fromhex(answered))
                for caller, host, port, sent, answered in json.load(file)]
