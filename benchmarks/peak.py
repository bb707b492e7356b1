"""Runs a rank and writes its peak resident memory, in MB (10^6 bytes), to DIRECTORY/RANK: one measure for any program.

    mpirun -np 2 python3 peak.py DIRECTORY COMMAND...

Ends as the command does. The rank is what mpirun or torchrun say; 0 without them.
"""
import os
import resource
import signal
import subprocess
import sys


def main():
    directory, *command = sys.argv[1:]
    process = subprocess.Popen(command)
    # A launcher ends the ranks that are left when one fails: this process alone would leave its rank behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: process.send_signal(received))
    status = process.wait()
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", "0"))
    # ru_maxrss is in units of 1024 bytes, of the largest process that this one has waited for.
    peakMb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    with open(os.path.join(directory, rank), "w", encoding="utf-8") as file:
        file.write(f"{peakMb:.3f}\n")
    # Killed by a signal is negative; a shell says 128 and more.
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
