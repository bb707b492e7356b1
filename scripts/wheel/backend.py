"""How pip builds the package (PEP 517): `pip install .` and `pip wheel .` make the wheel of scripts/wheel.sh, and a
source distribution is an archive of the sources, of which they make it, too.

Bazel builds the wheel with Debian's libraries. What is missing of them is an error, with the command that installs it:
pip should not install packages of the system.
"""
from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import pack  # noqa: E402

Settings = Mapping[str, str | list[str]] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return []


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Writes NAME-VERSION.dist-info, and returns that name."""
    of = pack.project()
    name = f"{of['name']}-{of['version']}.dist-info"
    for file, data in pack.information(of, _kind()):
        path = os.path.join(metadata_directory, name, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as to:
            to.write(data)
    return name


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Builds the wheel, and returns its file's name. Where the sources are not a Git clone, as those of a source
    distribution that pip has unpacked, nobody builds them again, and what Bazel keeps is removed."""
    kind = _kind()
    if subprocess.run(["bash", "scripts/setup.sh", "--check"], cwd=ROOT).returncode != 0:
        raise SystemExit("error: what the build needs is missing; run: bash scripts/setup.sh")
    environment, scratch = dict(os.environ), None
    if not os.path.exists(os.path.join(ROOT, ".git")):
        scratch = tempfile.mkdtemp(prefix="splitcast-build-")
        environment["BAZEL_STARTUP_OPTIONS"] = (
            environment.get("BAZEL_STARTUP_OPTIONS", "") + f" --output_base={scratch}").strip()
    try:
        subprocess.run(["bash", "scripts/wheel.sh", os.path.abspath(wheel_directory), kind], cwd=ROOT, env=environment,
                       stdin=subprocess.DEVNULL, check=True)
    finally:
        if scratch is not None:
            subprocess.run(["bazel", *environment["BAZEL_STARTUP_OPTIONS"].split(), "shutdown"], cwd=ROOT)
            subprocess.run(["chmod", "-R", "u+w", scratch])
            shutil.rmtree(scratch, ignore_errors=True)
    return pack.file_name(pack.project(), kind)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Archives the files that Git knows, as they are now, or else all files; returns the archive's name."""
    of = pack.project()
    base = f"{of['name']}-{of['version']}"
    name = base + ".tar.gz"
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in _sources():
            archive.add(os.path.join(ROOT, file), f"{base}/{file}", recursive=False)
        data = pack.metadata(of).encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return name


def _kind() -> str:
    """The kind of wheel for this Python."""
    kind = pack.kind_of(sys.version_info[:2])
    if kind is None:
        raise SystemExit(f"error: this is Python {sys.version.split()[0]}, and the package needs 3.11 or newer")
    return kind


def _sources() -> list[str]:
    if os.path.exists(os.path.join(ROOT, ".git")):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
        return sorted(file for file in listed.stdout.split("\0") if file and os.path.exists(os.path.join(ROOT, file)))
    found = []
    for folder, children, files in os.walk(ROOT):  # what builds leave here: links of Bazel, dist, __pycache__
        children[:] = [each for each in children if each not in ("dist", "__pycache__")
                       and not (folder == ROOT and each.startswith("bazel-"))]
        found += [os.path.relpath(os.path.join(folder, file), ROOT) for file in files]
    return sorted(file for file in found if file != "PKG-INFO")
