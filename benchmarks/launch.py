"""Code that the benchmarks share: it starts either side, and measures its memory."""
import os
import subprocess
import sys
import tempfile


def fail(message):
    script = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    sys.exit(f"{script}: error: {message}")


def run(command, suffices=lambda text: False, withErrors=False):
    """Runs a command, and returns its stdout, followed by stderr if `withErrors`. If the command fails, this program
    ends, unless `suffices(stdout)` holds."""
    result = subprocess.run(command, capture_output=True, text=True)
    if withErrors:
        result.stdout += result.stderr
    if result.returncode != 0 and not suffices(result.stdout):
        fail(f"{' '.join(command)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    if result.returncode != 0:
        print(f"note: {' '.join(command)} ended with {result.returncode}, after its result", file=sys.stderr)
    return result.stdout


def runMeasured(launcher, command, how=(), **options):
    """Runs a command under a launcher, measured by peak.py with the flags `how`. Returns (stdout, the peak resident
    memory of each rank in MB)."""
    with tempfile.TemporaryDirectory() as directory:
        text = run(launcher + [sys.executable, beside("peak.py"), *how, directory] + command, **options)
        peaks = []
        for rank in sorted(os.listdir(directory), key=int):
            with open(os.path.join(directory, rank), encoding="utf-8") as file:
                peaks.append(float(file.read()))
    return text, peaks


def beside(name):
    """Returns the path of a file in the directory of this one."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def mpirun(ranks):
    """Returns the command prefix that runs one of our programs as `ranks` ranks."""
    command = ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(ranks)]
    return command + ["--allow-run-as-root"] if os.geteuid() == 0 else command


def torchrun(python, ranks):
    """Returns the command prefix with which PyTorch's launcher runs a command as `ranks` ranks."""
    return [python, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--standalone", "--no-python"]
