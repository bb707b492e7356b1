"""Times the start of jobs of many ranks on this machine, over sockets and over MPI, also of two builds in turns.

    python3 benchmarks/start_up.py [--build=bazel-bin] [--other=DIRECTORY] [--ranks=2,4,16,64,256] [--rounds=3]
                                   [--over=sockets,mpi] [--timeout=120] [-- --its --flags]

Each job is examples/recipe with two small layers. Two times are taken from the start of the first process: "ready",
when rank 0 has printed its first line, after all ranks have met, compiled and built the session; and "step", when it
has printed that of the first step. Prints for each number of ranks the median and the minimum over the rounds, and with
--other, which names the bazel-bin of another checkout, their ratios: above 1 means that --build is faster. A start that
takes longer than --timeout is ended, and counts as that long. Kernels are kept in a directory of this run's own, filled
by a start that is not counted. Run it from the root of the project, after `bazel build //examples/recipe`.
"""
import argparse
import os
import secrets
import select
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import tty

from launch import fail, mpirun

MODEL = ["--steps=1", "--layers=2", "--width=512"]
MARKS = {"ready": b"memory: ", "step": b"step 1: "}  # what the lines begin with


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="bazel-bin", metavar="DIRECTORY", help="what is timed (%(default)s)")
    parser.add_argument("--other", metavar="DIRECTORY", help="another build to compare it with")
    parser.add_argument("--ranks", default="2,4,16,64,256", help="the numbers of ranks (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how many times each job is started (%(default)s)")
    parser.add_argument("--over", default="sockets,mpi", help="sockets, mpi, or both (%(default)s)")
    parser.add_argument("--timeout", type=float, default=120, help="the seconds after which a start is ended "
                        "(%(default)s)")
    parser.add_argument("flags", nargs="*", help="further flags of the program")
    return parser.parse_args()


def freePort():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Started:
    """A job that runs: its processes, of which the first prints rank 0's lines. Each leads a group of its own."""

    def __init__(self, over, ranks, command, environment, errors):
        # To a terminal, programs print each line at once.
        self.output, terminal = os.openpty()
        tty.setraw(terminal)
        self.errors = errors
        self.begin = time.monotonic()
        if over == "mpi":
            quiet = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_orte_base_help_aggregate": "1"}
            self.processes = [self.start(mpirun(ranks) + command, dict(environment, **quiet), terminal)]
            os.close(terminal)
            return
        job = dict(environment, WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                   MASTER_PORT=str(freePort()), SPLITCAST_SECRET=secrets.token_hex(32))
        self.processes = [
            self.start(command, dict(job, RANK=str(rank), LOCAL_RANK=str(rank)),
                       terminal if rank == 0 else subprocess.DEVNULL) for rank in range(ranks)
        ]
        os.close(terminal)

    def start(self, command, environment, output):
        return subprocess.Popen(command, env=environment, stdout=output, stderr=self.errors, start_new_session=True)

    def marks(self, deadline):
        """Returns the seconds from the start to each of MARKS, without those that were not there in time."""
        found, rest = {}, b""
        while len(found) < len(MARKS):
            left = self.begin + deadline - time.monotonic()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                break
            try:
                part = os.read(self.output, 1 << 16)
            except OSError:  # the end of a terminal
                break
            now = time.monotonic() - self.begin
            *lines, rest = (rest + part).split(b"\n")
            for name, mark in MARKS.items():
                if any(line.startswith(mark) for line in lines):
                    found.setdefault(name, now)
        return found

    def end(self, deadline):
        """Waits for the end of all processes, or ends them. Returns whether all succeeded."""
        try:
            statuses = [process.wait(max(0, self.begin + deadline - time.monotonic())) for process in self.processes]
            return not any(statuses)
        except subprocess.TimeoutExpired:
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
            time.sleep(1)  # mpirun ends its ranks
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return False
        finally:
            os.close(self.output)


def timeStart(arguments, over, ranks, build, environment):
    """Returns the seconds to each of MARKS; the time limit, if it took longer."""
    command = [os.path.join(build, "examples", "recipe", "recipe"), *MODEL, *arguments.flags]
    with tempfile.TemporaryFile() as errors:
        started = Started(over, ranks, command, environment, errors)
        found = started.marks(arguments.timeout)
        isLate = time.monotonic() - started.begin >= arguments.timeout
        # The end is not what is timed, but must not slow down the next start.
        if not started.end(arguments.timeout + (0 if isLate else 60)) and not isLate:
            errors.seek(0)
            fail(f"{' '.join(command)} on {ranks} ranks over {over} failed:\n{errors.read(4000).decode()}")
    if not isLate and len(found) < len(MARKS):
        fail(f"{' '.join(command)} did not print the lines {list(MARKS.values())}")
    return {name: found.get(name, arguments.timeout) for name in MARKS}


def main():
    arguments = parseArguments()
    builds = [build for build in (arguments.build, arguments.other) if build]
    with tempfile.TemporaryDirectory() as caches:
        environment = dict(os.environ, XDG_CACHE_HOME=caches)
        for build in builds:
            timeStart(arguments, "sockets", 2, build, environment)
        print(f"load of the machine: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}", flush=True)
        for over in arguments.over.split(","):
            for ranks in map(int, arguments.ranks.split(",")):
                seconds = {build: [] for build in builds}
                for _ in range(arguments.rounds):
                    for build in builds:
                        seconds[build].append(timeStart(arguments, over, ranks, build, environment))
                for name in MARKS:
                    for summary in (statistics.median, min):
                        times = [summary([times[name] for times in seconds[build]]) for build in builds]
                        ratio = f", ratio {times[1] / times[0]:.2f}" if len(times) > 1 else ""
                        word = "median" if summary is statistics.median else "minimum"
                        print(f"{ranks:3} ranks over {over}, {name:5} {word:7}: " +
                              ", other ".join(f"{value:.2f} s" for value in times) + ratio, flush=True)


if __name__ == "__main__":
    main()
