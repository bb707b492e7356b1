"""Runs a rank and writes its peak resident memory, in MB (10^6 bytes), to DIRECTORY/RANK: one measure for any program.

    mpirun -np 2 python3 peak.py [--without-files] DIRECTORY COMMAND...

With --without-files, less what was resident of files at most, seen 100 times a second: how much of a library a
touched page brings along is the page cache's affair, the same for all ranks and another from day to day (3 MB and more seen).
Ends as the command does. The rank is what mpirun or torchrun say; 0 without them.
"""
import os
import re
import resource
import signal
import subprocess
import sys


def waitLookingAtFiles(process):
    """(exit status, MB of files that were resident at most)"""
    files = 0.0
    while True:
        try:
            return process.wait(timeout=0.01), files
        except subprocess.TimeoutExpired:
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
                if found := re.search(r"^RssFile:\s+(\d+) kB$", status.read(), re.MULTILINE):
                    files = max(files, int(found[1]) * 1024 / 1e6)


def main():
    withoutFiles = sys.argv[1] == "--without-files"
    directory, *command = sys.argv[2 if withoutFiles else 1:]
    process = subprocess.Popen(command)
    # A launcher ends the ranks that are left when one fails: this process alone would leave its rank behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: process.send_signal(received))
    status, filesMb = waitLookingAtFiles(process) if withoutFiles else (process.wait(), 0.0)
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", "0"))
    # ru_maxrss is in units of 1024 bytes, of the largest process that this one has waited for.
    peakMb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    with open(os.path.join(directory, rank), "w", encoding="utf-8") as file:
        file.write(f"{peakMb - filesMb:.3f}\n")
    # Killed by a signal is negative; a shell says 128 and more.
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
