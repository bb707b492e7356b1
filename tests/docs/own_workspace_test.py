#!/usr/bin/env python3
"""docs/own_workspace.md: a folder with the page's files and no others builds the smallest program with the page's
commands, and it prints what it prints in this workspace. Runs in the root of the runfiles, builds with a Bazel of its
own, and reads the real checkout: it is not known beforehand which of its files that build needs."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGE = "docs/own_workspace.md"
MINIMAL = "examples/minimal/minimal"
FILES = {".bazelrc", "BUILD", "WORKSPACE"}
# Without the variables of a test, such as TEST_TMPDIR, in which a Bazel puts its own files.
ENVIRONMENT = dict({name: os.environ[name] for name in ("HOME", "PATH")}, OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_hwloc_base_binding_policy="none", OMPI_MCA_mpi_yield_when_idle="1")
# The page's commands as they are, but beside the Bazel that runs this test: what `bazel` is, and its further options.
BAZEL = '#!/bin/sh\nexec %s --output_base=%s --bazelrc=%s "$@"\n'
OPTIONS = "build --jobs=2 --noshow_progress --disk_cache=%s\n"


def text_of(path):
    with open(path) as file:
        return file.read()


class Workspace(unittest.TestCase):

    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.models, program, options = [os.path.join(folder, name) for name in ("models", "bazel", "options")]
        os.mkdir(self.models)
        self.page = text_of(PAGE).replace("/path/to/splitcast", ROOT)
        [cache] = re.findall(r"--disk_cache=(\S+)", text_of(os.path.join(ROOT, ".bazelrc")))
        self.write(options, OPTIONS % cache)
        self.write(program, BAZEL % (shutil.which("bazel"), os.path.join(folder, "base"), options), 0o755)
        self.environment = dict(ENVIRONMENT, PATH=folder + ":" + ENVIRONMENT["PATH"])

    def write(self, path, text, mode=0o644):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def run_in(self, folder, command):
        """What the command prints; what goes to stderr is seen where this test's own does."""
        result = subprocess.run(command, cwd=folder, env=self.environment, stdout=subprocess.PIPE,
                                text=True)
        self.assertEqual(result.returncode, 0, command)
        return result.stdout

    def test_builds_and_prints_the_same(self):
        files = dict(re.findall(r"^`([\w.]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", self.page, re.M | re.S))
        self.assertEqual(set(files), FILES)
        [commands] = re.findall(r"^```bash\n(.*?)^```$", self.page, re.M | re.S)
        self.assertEqual(self.page.count("\n```\n"), len(files) + 1, "a block that is neither a file nor the commands")
        for name, text in files.items():
            self.write(os.path.join(self.models, name), text)
        self.addCleanup(self.run_in, self.models, ["bazel", "shutdown"])
        printed = self.run_in(self.models, ["bash", "-euc", commands])
        expected = self.run_in(os.getcwd(), ["mpirun", "-n", "2", MINIMAL])
        self.assertRegex(expected, r"\Astep  1  loss (.*\n)+step 20  loss .*\n\Z")
        self.assertEqual(printed, expected)


if __name__ == "__main__":
    # At its time limit Bazel ends this test alone: what is to be cleaned up is cleaned up all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    unittest.main(verbosity=2)
