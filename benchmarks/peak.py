"""Runs a command as a rank, and writes its peak resident memory, in MB (10^6 bytes), to DIRECTORY/RANK.

    mpirun -np 2 python3 peak.py [--without-files | --without-mpi] DIRECTORY COMMAND...

With --without-files, the largest resident size of mapped files, sampled 100 times a second, is subtracted. The page
cache decides how much of a library becomes resident when a page of it is touched; this varies by 3 MB and more from day
to day. With --without-mpi, that of shared memory is subtracted, too, of a command that shares none but MPI's. The exit
status is that of the command. RANK is the rank that mpirun or torchrun sets; 0 without them.
"""
import os
import re
import resource
import signal
import subprocess
import sys


def waitLookingAt(kinds, process):
    """Waits for the process, and returns (exit status, largest resident size of these kinds of memory in MB)."""
    most = 0.0
    while True:
        try:
            return process.wait(timeout=0.01), most
        except subprocess.TimeoutExpired:
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
                sizes = dict(re.findall(r"^(Rss\w+):\s+(\d+) kB$", status.read(), re.MULTILINE))
            most = max(most, sum(int(sizes.get(kind, 0)) for kind in kinds) * 1024 / 1e6)


def main():
    kinds = {"--without-files": ["RssFile"], "--without-mpi": ["RssFile", "RssShmem"]}.get(sys.argv[1], [])
    directory, *command = sys.argv[2 if kinds else 1:]
    process = subprocess.Popen(command)
    # If a rank fails, a launcher ends the others: it signals this process, which must pass that on to its child.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: process.send_signal(received))
    status, leftOutMb = waitLookingAt(kinds, process) if kinds else (process.wait(), 0.0)
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", "0"))
    # ru_maxrss is that of the largest process that was waited for, in units of 1024 bytes.
    peakMb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    with open(os.path.join(directory, rank), "w", encoding="utf-8") as file:
        file.write(f"{peakMb - leftOutMb:.3f}\n")
    # The status of a process that a signal killed is negative. Like a shell, exit with 128 plus the signal's number.
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
