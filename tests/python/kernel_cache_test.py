#!/usr/bin/env python3
"""Jobs whose cache of compiled kernels others may have written do not use it, say so once, and compute the same bits.

Each cache holds files that would be executed: their digests are right, and what they hold is no kernel.
"""
import hashlib
import os
import pathlib
import re
import tempfile
import unittest

import jobs

NOBODY = 65534
PROGRAM = """
import sys
import numpy as np
import splitcast as sc

sc.init(timeout=20, kernel_cache=sys.argv[1])
graph = sc.Graph()
x = graph.input("x", sc.f32, (13, 6), sc.split(0))
loss = sc.mean(sc.gelu(sc.linear(sc.tanh(sc.linear(x, "a", 5)), "b", 3)))
graph.minimize(loss, sc.AdamW(lr=0.1))
graph.output("loss", loss)
session = graph.compile(enable_zero=2)
x = np.arange(78, dtype=np.float32).reshape(13, 6) / 50
losses = [session.run("main", whole=True, x=x)["loss"] for step in range(4)]
print("bits " + b"".join(loss.tobytes() for loss in losses).hex() + " " + session.read("b.weight").tobytes().hex() +
      "\\n", end="", flush=True)
"""


def read_all(directory):
    """The contents of all files, by name."""
    return {file.name: file.read_bytes() for file in pathlib.Path(directory).iterdir()}


def forge(directory):
    """Puts something else into each kernel's file, whose digest is that of a true one."""
    for name, contents in read_all(directory).items():
        key, magic, kernel = name.removesuffix(".kernel").encode(), contents[:8], b"no kernel"
        assert contents[8:40] == hashlib.sha256(key + contents[40:]).digest(), "the format is another one"
        pathlib.Path(directory, name).write_bytes(magic + hashlib.sha256(key + kernel).digest() + kernel)


class KernelCache(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.directory = os.path.join(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), "kernels")
        result = jobs.run(3, PROGRAM, cls.directory)
        cls.bits = cls.bits_of(result)
        assert "warning" not in result.stderr, result.stderr
        cls.written = read_all(cls.directory)
        assert cls.written, "no kernels are kept"

    def setUp(self):
        forge(self.directory)

    def tearDown(self):
        os.chown(self.directory, os.geteuid(), -1)
        os.chmod(self.directory, 0o700)
        for name in os.listdir(self.directory):
            os.chmod(os.path.join(self.directory, name), 0o600)

    @staticmethod
    def bits_of(result):
        """What all ranks have computed."""
        assert result.returncode == 0, result.stderr
        bits = [line for line in result.stdout.splitlines() if line.startswith("bits ")]
        assert len(bits) == 3 and len(set(bits)) == 1 and len(bits[0]) > 100, result.stdout
        return bits[0]

    def check(self, says, launcher=jobs.MPIRUN):
        result = jobs.run(3, PROGRAM, self.directory, launcher=launcher)
        self.assertEqual(self.bits_of(result), self.bits)
        warnings = [line for line in result.stderr.splitlines() if "compiled kernels are not taken" in line]
        self.assertEqual(len(warnings), 1, result.stderr)
        self.assertRegex(warnings[0], f"^warning: .*, or not kept for the next run: '{re.escape(self.directory)}"
                                      f"{says}.*; --kernel-cache names another directory, or none$")

    def test_of_this_user_alone_is_used(self):
        result = jobs.run(3, PROGRAM, self.directory)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("kernel @", result.stderr)

    def test_that_others_may_write_to_is_not(self):
        for mode, launcher in ((0o777, jobs.MPIRUN), (0o770, jobs.LAUNCH)):
            os.chmod(self.directory, mode)
            forged = read_all(self.directory)
            self.check(f"': has mode {mode:o}, so others may have written to it; .*chmod go-w", launcher)
            self.assertEqual(read_all(self.directory), forged)
            self.assertEqual(os.stat(self.directory).st_mode & 0o777, mode)

    @unittest.skipUnless(os.geteuid() == 0, "only root gives directories away")
    def test_of_another_user_is_not(self):
        os.chown(self.directory, NOBODY, -1)
        forged = read_all(self.directory)
        self.check(f"': belongs to user {NOBODY}, but this process runs as user 0; remove it")
        self.assertEqual(read_all(self.directory), forged)

    def test_with_files_that_others_may_write_to_gets_new_ones(self):
        for name in os.listdir(self.directory):
            os.chmod(os.path.join(self.directory, name), 0o666)
        self.check("/[0-9A-Fa-f]+.kernel': has mode 666, so others may have written to it; remove it")
        self.assertEqual(read_all(self.directory), self.written)


if __name__ == "__main__":
    unittest.main()
