"""Starts programs in Python as ranks."""
import os
import subprocess
import sys
import tempfile

ROOT = os.getcwd()  # of the runfiles
ENVIRONMENT = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "compiler/python"), PYTHONDONTWRITEBYTECODE="1",
                   XDG_CACHE_HOME=tempfile.mkdtemp(), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n"]
LAUNCH = [sys.executable, "-m", "splitcast.launch", "-n"]


def run(ranks, program, *arguments, timeout=60, launcher=MPIRUN):
    """A finished process, with stdout and stderr as text; `program` is a file, or Python's text."""
    if "\n" in program:
        program = write(program)
    command = ([] if launcher == LAUNCH else [sys.executable]) + [program] + [str(argument) for argument in arguments]
    return subprocess.run(launcher + [str(ranks)] + command, env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=timeout)


def write(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".py", dir=os.environ.get("TEST_TMPDIR"), delete=False)
    file.write(text)
    file.close()
    return file.name


def start_as_torchrun_does(ranks, program, port, *arguments, stderr=None):
    """The processes; each rank told by the environment who it is."""
    return [subprocess.Popen([sys.executable, program, *arguments], stdout=subprocess.PIPE, stderr=stderr,
                             universal_newlines=True,
                             env=dict(ENVIRONMENT, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
            for rank in range(ranks)]


def run_as_torchrun_does(ranks, text, port):
    """Their exit statuses and stdouts."""
    processes = start_as_torchrun_does(ranks, write(text), port)
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    return [process.returncode for process in processes], outputs
