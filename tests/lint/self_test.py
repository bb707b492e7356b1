"""Feeds each check bad files, and good ones that differ by little."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import hygiene
import layers
import sources
import structure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
UNFINISHED = "TO" + "DO"


def include(path):
    return f'#include "{path}"\n'


class LayersTest(unittest.TestCase):
    def testEachLineOfTheTableForbids(self):
        for path, used in (
            ("dialects/nn/A.cc", "passes/global/B.h"),
            ("dialects/nn/A.cc", "compiler/B.h"),
            ("dialects/sbp/A.h", "runtime/api/Device.h"),
            ("dialects/sbp/algebra/A.cc", "dialects/sbp/Sbp.h"),
            ("dialects/sbp/algebra/A.cc", "mlir/IR/Types.h"),
            ("passes/local/A.cc", "compiler/graph/Graph.h"),
            ("passes/local/A.cc", "runtime/executor/Executor.h"),
            ("runtime/executor/A.cc", "dialects/nn/Nn.h"),
            ("runtime/executor/A.cc", "dialects/ccl/Ccl.h"),
            ("runtime/executor/A.cc", "passes/plan/B.h"),
            ("runtime/executor/A.cc", "compiler/graph/Graph.h"),
            ("runtime/executor/A.cc", "tests/reference/GlobalInterpreter.h"),
            ("tests/reference/A.cc", "passes/global/B.h"),
            ("tests/reference/A.cc", "runtime/api/Device.h"),
            ("compiler/A.cc", "tests/Helper.h"),
        ):
            findings = layers.check(path, "// A comment.\n" + include(used))
            self.assertEqual(len(findings), 1, (path, used))
            self.assertIn(f"{path}:2:", findings[0])

    def testEachLineOfTheTableAllows(self):
        for path, used in (
            ("dialects/nn/A.cc", "dialects/sbp/Sbp.h"),
            ("dialects/sbp/A.cc", "mlir/IR/Types.h"),
            ("passes/local/A.cc", "dialects/ccl/Ccl.h"),
            ("compiler/A.cc", "passes/global/B.h"),
            ("compiler/tools/A.cc", "runtime/executor/Executor.h"),
            ("runtime/executor/A.cc", "dialects/exec/Exec.h"),
            ("runtime/host/A.cc", "dialects/sbp/algebra/Boxing.h"),
            ("tests/reference/A.cc", "dialects/nn/Nn.h"),
            ("tests/compiler/A.cc", "compiler/graph/Graph.h"),
        ):
            self.assertEqual(layers.check(path, include(used)), [], (path, used))

    def testLabelsOfBuildFilesAreImports(self):
        self.assertEqual(len(layers.check("runtime/host/BUILD", 'deps = ["//passes/global"],\n')), 1)
        self.assertEqual(layers.check("runtime/host/BUILD", 'deps = ["//runtime/api"],\n'), [])
        self.assertEqual(layers.check("runtime/host/BUILD", 'visibility = ["//compiler:__subpackages__"],\n'), [])


class HygieneTest(unittest.TestCase):
    GUARD = "#ifndef SPLITCAST_RUNTIME_IO_FILE_H\n#define SPLITCAST_RUNTIME_IO_FILE_H\n#endif\n"

    def expectOne(self, path, text, words):
        findings = hygiene.check(path, text)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(words, findings[0])

    def testGuards(self):
        self.assertEqual(hygiene.check("runtime/io/File.h", "// Text.\n" + self.GUARD), [])
        self.expectOne("runtime/io/Other.h", self.GUARD, "SPLITCAST_RUNTIME_IO_OTHER_H")
        self.expectOne("runtime/io/File.h", "#pragma once\n", "SPLITCAST_RUNTIME_IO_FILE_H")
        self.expectOne("runtime/io/File.h", '#include "a.h"\n' + self.GUARD, "must open with")
        self.expectOne("runtime/io/File.h", "int x;\n", "must open with")

    def testLines(self):
        self.assertEqual(hygiene.check("a.cc", "int x;\n" * hygiene.MAX_LINES), [])
        self.expectOne("a.cc", "int x;\n" * (hygiene.MAX_LINES + 1), "701 lines")
        self.expectOne("a.cc", "int x; \n", "blanks")
        self.expectOne("a.cc", "int x;\r\n", "blanks")
        self.expectOne("a.cc", "\tint x;\n", "a tab")
        self.expectOne("a.cc", "int x;", "no newline")

    def testUnfinished(self):
        self.expectOne("a.cc", f"// {UNFINISHED}: more\n", UNFINISHED)
        self.expectOne("a.cc", "// FIX" + "ME(me)\n", "FIX" + "ME")
        self.assertEqual(hygiene.check("a.cc", f"int {UNFINISHED}s;\n"), [])


class TreeTestBase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def run_(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False)


class TreeTest(TreeTestBase):
    def testSourcesLeaveOutWhatIsNotOurs(self):
        for path in ("runtime/A.cc", ".ci/run", ".git/A.cc", "bazel-out/A.cc", "data.txt"):
            self.write(path, "")
        os.symlink("/usr", os.path.join(self.root, "linked"))
        self.assertEqual(sources.sources(self.root), [".ci/run", "runtime/A.cc"])

    def testStructureReadsTheTree(self):
        self.write("dialects/nn/A.cc", include("compiler/graph/Graph.h") + "\tint x;\n")
        count, findings = structure.findingsIn(self.root)
        self.assertEqual((count, len(findings)), (1, 2), findings)

    def testStructureOfNothingFails(self):
        result = self.run_(sys.executable, os.path.join(ROOT, "tests/lint/structure.py"), self.root)
        self.assertEqual(result.returncode, 1, result.stdout)

    def testFormat(self):
        script = os.path.join(ROOT, "scripts/format.sh")
        good = self.write("Good.cc", "int x;\n")
        bad = self.write("Bad.cc", "int  x ;\n")
        self.assertEqual(self.run_("bash", script, "--check", good).returncode, 0)
        result = self.run_("bash", script, "--check", good, bad)
        self.assertEqual(result.returncode, 1)
        self.assertIn("Bad.cc:1:", result.stdout)
        self.assertEqual(self.run_("bash", script, bad).returncode, 0)
        with open(bad, encoding="utf-8") as file:
            self.assertEqual(file.read(), "int x;\n")

    def judge(self, reports, expected, checked="A.cc", folders="no-such-folder"):
        paths = [self.write(f"{index}.tidy", report) for index, report in enumerate(reports)]
        listPath = self.write("list", checked)
        return subprocess.run(
            [sys.executable, os.path.join(ROOT, "tests/lint/tidy_report.py"), listPath, str(expected), folders],
            input="\n".join(paths),
            capture_output=True,
            text=True,
            check=False,
        )

    def testTidyReportCountsEachFindingOnce(self):
        finding = "runtime/A.h:1:2: warning: bad [some-check]\n    1 | int X;\n      |     ^\n"
        self.assertEqual(self.judge(["", ""], 0).returncode, 0)
        self.assertEqual(self.judge([finding, finding], 0).returncode, 1)
        self.assertEqual(self.judge([finding, finding], 1).returncode, 0)
        self.assertEqual(self.judge([finding, finding.replace("A.h", "B.h")], 1).returncode, 1)
        self.assertEqual(self.judge([], 0, checked="").returncode, 1)

    def testTidyReportMissesNoSource(self):
        result = self.judge([""], 0, folders="dialects")
        self.assertEqual(result.returncode, 1)
        self.assertIn("dialects/sbp/algebra/Signature.cc: no target", result.stdout)
        # A folder below tests, without its tests.
        result = self.judge([""], 0, folders="tests/reference,-tests/reference/tests/")
        self.assertEqual(result.returncode, 1)
        self.assertIn("tests/reference/Simulator.cc: no target", result.stdout)
        self.assertNotIn("SimulatorTest.cc", result.stdout)
        self.assertNotIn("tests/gpu", result.stdout)


class SummaryTest(TreeTestBase):
    """scripts/test_summary.py"""

    @staticmethod
    def configured(label):
        return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}

    @staticmethod
    def ran(label, status):
        return {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}}

    def summarize(self, events, bazelStatus):
        path = self.write("events", "".join(json.dumps(event) + "\n" for event in events))
        result = self.run_(sys.executable, os.path.join(ROOT, "scripts/test_summary.py"), path, str(bazelStatus))
        return result.stdout.splitlines()[-1], result.returncode

    def testCounts(self):
        a, b = self.configured("//a"), self.configured("//b")
        library = {"id": {"targetConfigured": {"label": "//c"}}, "configured": {"targetKind": "cc_library rule"}}
        good = self.ran("//a", "PASSED")
        self.assertEqual(self.summarize([a, good, library], 0), ("1 passed, 0 failed", 0))
        self.assertEqual(self.summarize([a, b, good, self.ran("//b", "FLAKY")], 0), ("2 passed, 0 failed", 0))
        for status in ("FAILED", "TIMEOUT", "NO_STATUS", "FAILED_TO_BUILD"):
            self.assertEqual(self.summarize([a, b, good, self.ran("//b", status)], 3), ("1 passed, 1 failed", 3))
        # A test of which nothing was heard again has not passed.
        self.assertEqual(self.summarize([a, b, good], 0), ("1 passed, 1 failed", 1))

    def testNothingRan(self):
        self.assertEqual(self.summarize([], 0), ("0 passed, 1 failed", 1))
        self.assertEqual(self.summarize([], 4), ("0 passed, 1 failed", 4))
        result = self.run_(sys.executable, os.path.join(ROOT, "scripts/test_summary.py"), self.root + "/none", "0")
        self.assertEqual((result.stdout.splitlines()[-1], result.returncode), ("0 passed, 1 failed", 1))

    def testBazelFailedThoughAllPassed(self):
        self.assertEqual(
            self.summarize([self.configured("//a"), self.ran("//a", "PASSED")], 1), ("1 passed, 1 failed", 1)
        )


if __name__ == "__main__":
    unittest.main()
