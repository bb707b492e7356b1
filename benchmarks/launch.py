"""What the benchmarks share: how either side is started, and how its memory is measured."""
import os
import subprocess
import sys
import tempfile


def fail(message):
    script = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    sys.exit(f"{script}: error: {message}")


def run(command, suffices=lambda text: False, withErrors=False):
    """What it prints; ends this program when it fails, unless what it has printed suffices."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if withErrors:
        result.stdout += result.stderr
    if result.returncode != 0 and not suffices(result.stdout):
        fail(f"{' '.join(command)} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    if result.returncode != 0:
        print(f"note: {' '.join(command)} ended with {result.returncode}, after its result", file=sys.stderr)
    return result.stdout


def runMeasured(launcher, command, how=(), **options):
    """(what it prints, peak resident memory in MB of each rank that the launcher makes), measured with these flags of peak.py"""
    with tempfile.TemporaryDirectory() as directory:
        text = run(launcher + [sys.executable, beside("peak.py"), *how, directory] + command, **options)
        peaks = []
        for rank in sorted(os.listdir(directory), key=int):
            with open(os.path.join(directory, rank), encoding="utf-8") as file:
                peaks.append(float(file.read()))
    return text, peaks


def beside(name):
    """The path of a file of this folder."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def mpirun(ranks):
    """What to put before a program of ours, so that it runs as so many ranks."""
    command = ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(ranks)]
    return command + ["--allow-run-as-root"] if os.geteuid() == 0 else command


def torchrun(python, ranks):
    """What to put before a command, so that PyTorch's launcher runs it as so many ranks."""
    return [python, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--standalone", "--no-python"]
