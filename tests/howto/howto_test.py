#!/usr/bin/env python3
"""Does what CONTRIBUTING.md says suffice? The patches of this folder add an op, a pass, an optimizer and a collective to
a copy of the tree, in which the tests that the page names are built and run.

    python3 tests/howto/howto_test.py [--jobs=N] [--keep=DIRECTORY]

Prints the files that each patch touches. The copy and what is built of it lie in a temporary directory, or in one that
is kept for the next run. Bazel's disk cache has what did not change since the last run, wherever it was.
"""
import argparse
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import pages

import sources

# Here the patches have been applied, which the lint must not take for patches that apply no more.
LEFT_OUT = "tests/howto/"


def filesOf(root):
    """Of the project, new ones too; where Git cannot tell, those that no tool has made."""
    if os.path.exists(os.path.join(root, ".git")):
        command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if listed.returncode == 0:
            return [path for path in listed.stdout.split("\0") if path and os.path.isfile(os.path.join(root, path))]
    return sources.sources(root, ("",))


def copyTree(root, to):
    for path in filesOf(root):
        if not path.startswith(LEFT_OUT):
            os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
            shutil.copy2(os.path.join(root, path), os.path.join(to, path))


def applyPatch(name, copy):
    """Whether it applies. Prints the files."""
    path = os.path.join(pages.ROOT, pages.patchPath(name))
    applied = subprocess.run(["git", "apply", path], cwd=copy, check=False)
    added = pages.addedOf(pages.textOf(pages.patchPath(name)))
    print(f"{name}.patch: {len(added)} files" if applied.returncode == 0 else f"{name}.patch DOES NOT APPLY")
    for file, lines in added.items():
        print(f"  {file} +{len(lines)}")
    return applied.returncode == 0


class Bazel:
    """In a folder, as a user would start it: no variable of the test that this is gets there. In PATH a test has /bin
    first, and the disk cache has nothing that was compiled by /bin/clang-19 where users run /usr/bin/clang-19."""

    def __init__(self, folder, outputBase):
        self.folder, self.start = folder, ["bazel", f"--output_base={outputBase}"]
        self.environment = {"HOME": os.environ["HOME"], "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def run(self, *arguments):
        client = subprocess.Popen(self.start + list(arguments), cwd=self.folder, env=self.environment,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        try:
            return client.wait()
        except SystemExit:
            # Asked in this way, the server ends what it runs; of a client that is gone it does not hear.
            client.send_signal(signal.SIGINT)
            client.wait()
            raise


def removeTree(path):
    """If it is there; also what Bazel has made read-only."""
    for folder, _, _ in os.walk(path):
        os.chmod(folder, stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    options = parser.parse_args()
    # At a timeout, too, the server ends and the copy goes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = os.path.abspath(options.keep) if options.keep else tempfile.mkdtemp(prefix="howto.")
    copy = os.path.join(work, "tree")
    bazel = Bazel(copy, os.path.join(work, "output"))
    try:
        removeTree(copy)
        copyTree(pages.ROOT, copy)
        if not all([applyPatch(name, copy) for name in pages.SECTIONS]):  # noqa: C419 (each of them says what is wrong)
            return 1
        page = pages.textOf(pages.PAGE)
        labels = sorted({label for heading in pages.SECTIONS.values()
                         for label in pages.labelsOf(pages.sectionOf(page, heading))})
        print("bazel test", *labels, flush=True)
        # Not the compiler's warnings about files that no patch touches. A machine that does other work, too, has time.
        return bazel.run("test", f"--jobs={options.jobs}", f"--local_test_jobs={options.jobs}", "--keep_going",
                         "--noshow_progress", "--output_filter=^$", "--test_timeout=1200",
                         "--test_tag_filters=-slow,-exhaustive", *labels)
    finally:
        if os.path.isdir(copy):
            bazel.run("shutdown")
        removeTree(copy if options.keep else work)


if __name__ == "__main__":
    sys.exit(main())
