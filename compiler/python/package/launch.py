"""Starts a program as several ranks on this machine, without mpirun or torchrun:

    python3 -m splitcast.launch -n 2 train.py --its --flags

The ranks communicate over loopback sockets. When one fails, the others notice within seconds and end; after 10 seconds
they are terminated, and after 10 more killed. The exit status is that of the first rank that failed.
"""
import argparse
import os
import signal
import socket
import subprocess
import sys
import time

PATIENCE = 10  # seconds after a failure until the other ranks are terminated; they use them to print why they end
GRACE = 10  # seconds from then until they are killed: a rank that is stopped, say, does not notice the first


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _start(count, command):
    port = str(_free_port())
    job = dict(os.environ, WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    return [subprocess.Popen(command, env=dict(job, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(count)]


def _wait(ranks):
    """Waits until all ranks have ended; returns the first status that is not 0."""
    status, deadline, end = 0, None, subprocess.Popen.terminate
    while any(rank.poll() is None for rank in ranks):
        failed = [rank.returncode for rank in ranks if rank.returncode]
        if failed and deadline is None:
            status, deadline = failed[0], time.monotonic() + PATIENCE
        if deadline is not None and time.monotonic() > deadline:
            for rank in ranks:
                end(rank)
            deadline, end = time.monotonic() + GRACE, subprocess.Popen.kill
        time.sleep(0.02)
    return status or next((rank.returncode for rank in ranks if rank.returncode), 0)


def main():
    parser = argparse.ArgumentParser(prog="python3 -m splitcast.launch", description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, required=True, metavar="RANKS", help="the number of ranks")
    parser.add_argument("program", help="the Python file to run on each rank")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    flags = parser.parse_args()
    if flags.n < 1:
        parser.error("-n is %d; it must be at least 1" % flags.n)
    if not os.path.isfile(flags.program):
        parser.error("there is no file '%s'" % flags.program)
    ranks = _start(flags.n, [sys.executable, flags.program] + flags.arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # are passed on to the ranks, which end
        signal.signal(number, lambda given, frame: [rank.send_signal(given) for rank in ranks])
    status = _wait(ranks)
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
