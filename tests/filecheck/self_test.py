#!/usr/bin/env python3
"""Feeds run_filecheck.py tests that must not pass. The tool under test is a script that prints a line."""
import os
import subprocess
import sys
import tempfile
import unittest

RUNNER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "run_filecheck.py")


class RunnerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tool = self.write("tool", '#!/bin/sh\necho "the line"\necho "$@"\ncase "$*" in *fail*) exit 3;; esac\n')
        os.chmod(self.tool, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_(self, *tests):
        paths = [self.write(f"{index}.mlir", text) for index, text in enumerate(tests)]
        result = subprocess.run(
            [sys.executable, RUNNER, self.tool, *paths], capture_output=True, text=True, check=False
        )
        return result.returncode, result.stdout

    def expectFailure(self, text, words):
        status, output = self.run_(text)
        self.assertEqual(status, 1, output)
        self.assertIn(words, output)

    def testPasses(self):
        status, output = self.run_("// RUN: splitcast-opt %s | FileCheck-19 %s\n// CHECK: the line\n")
        self.assertEqual((status, output), (0, "1 of 1 tests passed\n"))

    def testContinuedLinesAndPrefixes(self):
        text = "// RUN: splitcast-opt a \\\n// RUN:   b | FileCheck-19 %s --check-prefix=X\n// X: the line\n// X-NEXT: a b\n"
        self.assertEqual(self.run_(text)[0], 0)

    def testOneOfSeveralFails(self):
        good = "// RUN: splitcast-opt | FileCheck-19 %s\n// CHECK: the line\n"
        status, output = self.run_(good, good.replace("CHECK: the", "CHECK: no"))
        self.assertEqual(status, 1)
        self.assertIn("1 of 2 tests passed", output)

    def testNothingRan(self):
        self.assertEqual(self.run_()[0], 1)
        self.expectFailure("// CHECK: the line\n", "no '// RUN:' line")

    def testNothingJudged(self):
        self.expectFailure("// RUN: splitcast-opt %s\n// CHECK: the line\n", "nothing judges")
        self.expectFailure("// RUN: splitcast-opt -verify-diagnostics %s\n", "expects none")

    def testNothingMustMatch(self):
        self.expectFailure("// RUN: splitcast-opt | FileCheck-19 %s\n", "must match")
        self.expectFailure("// RUN: splitcast-opt | FileCheck-19 %s\n// CHECK-NOT: other\n", "must match")
        text = "// RUN: splitcast-opt | FileCheck-19 %s --check-prefixes=CHECK,X\n// CHECK: the line\n"
        self.expectFailure(text, "prefix X")

    def testWrongOutput(self):
        self.expectFailure("// RUN: splitcast-opt | FileCheck-19 %s\n// CHECK: other\n", "expected string not found")

    def testEveryCommandOfAPipelineCounts(self):
        self.expectFailure("// RUN: splitcast-opt fail | FileCheck-19 %s\n// CHECK: the line\n", "exit status 3")

    def testEveryRunLineCounts(self):
        text = "// RUN: splitcast-opt fail -verify-diagnostics\n// RUN: splitcast-opt | FileCheck-19 %s\n"
        self.expectFailure(text + "// CHECK: the line\n// expected-error\n", "exit status 3")


if __name__ == "__main__":
    unittest.main()
