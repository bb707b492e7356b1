"""Writes a wheel, and prints its path: pack.py PACKAGE LIBRARIES DIRECTORY.

PACKAGE is the directory of the built package, LIBRARIES that of all libraries that its extension needs, and DIRECTORY
that of the wheel. The libraries of the C library are left out, since the interpreter has loaded them. The file appears
when it is complete.
"""
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

NAME, VERSION, TAG = "splitcast", "0.1.0", "cp311-cp311-linux_x86_64"
OF_C = ("ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so", "libresolv.so",
        "libmvec.so")
METADATA = """Metadata-Version: 2.1
Name: %s
Version: %s
Summary: Training graphs whose tensors are global, compiled for each rank, with ZeRO as passes
License: Apache-2.0
Requires-Python: ==3.11.*
Requires-Dist: numpy
""" % (NAME, VERSION)
WHEEL = "Wheel-Version: 1.0\nGenerator: scripts/wheel.sh\nRoot-Is-Purelib: false\nTag: %s\n" % TAG


def needs(path):
    text = subprocess.run(["objdump", "-p", path], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    return [line.split()[1] for line in text.splitlines() if line.strip().startswith("NEEDED")]


def in_order(directory, names):
    """Returns the names in such an order that each library comes after those that it needs."""
    done = []

    def visit(name):
        if name in done or name not in names:
            return
        for need in needs(os.path.join(directory, name)):
            visit(need)
        done.append(name)

    for name in sorted(names):
        visit(name)
    return done


def contents(package, libraries):
    """Yields (name in the wheel, bytes) for each file."""
    for folder, _, files in sorted(os.walk(package)):
        if ".runfiles" in folder:  # copies of the same files, if the extension was built by itself
            continue
        for file in sorted(files):
            if file.endswith((".py", ".pyi", ".so")) or file == "py.typed":
                path = os.path.join(folder, file)
                yield "%s/%s" % (NAME, os.path.relpath(path, package)), open(path, "rb").read()
    names = {name for name in os.listdir(libraries) if not name.startswith(OF_C) and name != "_splitcast.so"}
    for name in sorted(names):
        yield "%s/lib/%s" % (NAME, name), open(os.path.join(libraries, name), "rb").read()
    yield NAME + "/lib/order.txt", ("\n".join(in_order(libraries, names)) + "\n").encode()
    yield "%s-%s.dist-info/METADATA" % (NAME, VERSION), METADATA.encode()
    yield "%s-%s.dist-info/WHEEL" % (NAME, VERSION), WHEEL.encode()


def main():
    package, libraries, output = sys.argv[1:]
    for needed in ("_splitcast.so", "_splitcast.pyi", "py.typed"):
        if not os.path.exists(os.path.join(package, needed)):
            sys.exit("wheel: error: %s has no %s; build //compiler/python and //compiler/python:stubs" % (package, needed))
    os.makedirs(output, exist_ok=True)
    final = os.path.join(output, "%s-%s-%s.whl" % (NAME, VERSION, TAG))
    record = "%s-%s.dist-info/RECORD" % (NAME, VERSION)
    lines = []
    with tempfile.NamedTemporaryFile(dir=output, delete=False) as scratch:
        with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
            for name, data in contents(package, libraries):
                wheel.writestr(name, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append("%s,sha256=%s,%d" % (name, digest, len(data)))
            wheel.writestr(record, "\n".join(lines + [record + ",,"]) + "\n")
    os.chmod(scratch.name, 0o644)
    os.replace(scratch.name, final)
    print(final)


if __name__ == "__main__":
    main()
