"""Hosts that are network namespaces of Linux, on one bridge that passes every frame to all of them.

Each namespace is held by a process that ends with this one, so nothing is left behind, however a test ends. All links
are made within these namespaces: the machine's own network is not touched.
"""
from __future__ import annotations

import os
import shutil
import subprocess

TOOLS = ("ip", "nsenter", "unshare")  # of Debian's iproute2 and util-linux


def why_not() -> str:
    """Returns why namespaces cannot be made here, or an empty text."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"there is no {' and no '.join(missing)}; install iproute2 and util-linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with Network(2):
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        told = getattr(error, "stderr", "") or str(error)
        return f"network namespaces cannot be made: {told.strip()}"


class Namespace:
    """A network of its own, which ends when this process ends or close() is called."""

    def __init__(self) -> None:
        # It says so once it is there, and ends when its stdin does.
        self._holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None and self._holder.stderr is not None
        if not self._holder.stdout.readline():
            told = self._holder.stderr.read()
            self.close()
            raise OSError(told)
        self.pid = self._holder.pid
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *words: str) -> list[str]:
        """Returns the command that runs `words` in this network; the process is the same one."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", *words]

    def run(self, *words: str) -> None:
        subprocess.run(self.command(*words), check=True, capture_output=True, text=True, timeout=20)

    def close(self) -> None:
        self._holder.communicate()


class Network:
    """A bridge in a namespace of its own, and hosts whose addresses are 10.77.0.1, 10.77.0.2 and so on. The bridge does
    not learn where an address is, as a hub does not, so each host can overhear what the others send."""

    def __init__(self, hosts: int) -> None:
        self._bridge: Namespace | None = None
        self.hosts: list[Namespace] = []
        try:
            self._bridge = Namespace()
            self._bridge.run("ip", "link", "add", "bridge", "type", "bridge", "ageing_time", "0")
            self._bridge.run("ip", "link", "set", "bridge", "up")
            for number in range(hosts):
                self._connect(self._bridge, number)
        except BaseException:
            self.close()
            raise

    def _connect(self, bridge: Namespace, number: int) -> None:
        host = Namespace()
        self.hosts.append(host)
        port = f"port{number}"
        bridge.run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
        bridge.run("ip", "link", "set", port, "master", "bridge", "up")
        host.run("ip", "address", "add", f"{address_of(number)}/24", "dev", "eth0")
        host.run("ip", "link", "set", "eth0", "up")

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for namespace in [*self.hosts, *([self._bridge] if self._bridge else [])]:
            namespace.close()


def address_of(host: int) -> str:
    return f"10.77.0.{1 + host}"
