"""Feeds each check bad files, and good ones that differ by little."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import hygiene
import layers
import names
import patches
import prose
import sources
import structure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
UNFINISHED = "TO" + "DO"


def include(path):
    return f'#include "{path}"\n'


class LayersTest(unittest.TestCase):
    def forbids(self, path, used):
        findings = layers.check(path, "// A comment.\n" + include(used))
        self.assertEqual(len(findings), 1, (path, used))
        self.assertIn(f"{path}:2:", findings[0])

    def testEachLineOfTheTableForbids(self):
        for path, used in (
            ("dialects/nn/A.cc", "passes/global/B.h"),
            ("dialects/nn/A.cc", "compiler/B.h"),
            ("dialects/nn/A.cc", "dialects/ccl/Ccl.h"),
            ("dialects/ccl/A.cc", "dialects/nn/Nn.h"),
            ("dialects/exec/A.cc", "dialects/nn/Nn.h"),
            ("dialects/sbp/A.h", "runtime/api/Device.h"),
            ("dialects/sbp/algebra/A.cc", "dialects/sbp/Sbp.h"),
            ("dialects/sbp/algebra/A.cc", "mlir/IR/Types.h"),
            ("passes/global/A.cc", "passes/local/B.h"),
            ("passes/global/A.cc", "dialects/ccl/Ccl.h"),
            ("passes/local/A.cc", "passes/plan/B.h"),
            ("passes/local/A.cc", "dialects/exec/Exec.h"),
            ("passes/local/A.cc", "compiler/graph/Graph.h"),
            ("dialects/sbp/algebra/A.cc", "dialects/ccl/algebra/Collective.h"),
            ("dialects/ccl/algebra/A.cc", "dialects/ccl/Ccl.h"),
            ("dialects/ccl/algebra/A.cc", "mlir/IR/Types.h"),
            ("passes/local/A.cc", "runtime/executor/Executor.h"),
            ("passes/plan/A.cc", "passes/global/B.h"),
            ("runtime/api/A.h", "runtime/host/HostDevice.h"),
            ("runtime/codegen/A.cc", "runtime/api/Device.h"),
            ("runtime/executor/A.cc", "dialects/nn/Nn.h"),
            ("runtime/executor/A.cc", "dialects/ccl/Ccl.h"),
            ("runtime/executor/A.cc", "passes/plan/B.h"),
            ("runtime/executor/A.cc", "compiler/graph/Graph.h"),
            ("runtime/executor/A.cc", "runtime/host/HostDevice.h"),
            ("runtime/executor/A.cc", "tests/reference/GlobalInterpreter.h"),
            ("runtime/gpu/A.cc", "runtime/cuda/CudaDevice.h"),
            ("runtime/gpu/A.cc", "cuda_runtime_api.h"),
            ("runtime/host/jit/A.cc", "runtime/host/HostDevice.h"),
            ("runtime/host/calls/A.cc", "runtime/host/jit/Jit.h"),
            ("runtime/host/communicator/A.cc", "runtime/host/calls/Gemm.h"),
            ("runtime/io/A.cc", "runtime/executor/Executor.h"),
            ("runtime/job/A.cc", "runtime/nccl/B.h"),
            ("runtime/job/A.cc", "mpi.h"),
            ("runtime/process/A.cc", "runtime/api/Device.h"),
            ("runtime/process/A.cc", "llvm/ADT/SmallVector.h"),
            ("runtime/host/A.cc", "dnnl.h"),
            ("compiler/A.cc", "runtime/api/Device.h"),
            ("compiler/A.cc", "compiler/launch/Session.h"),
            ("compiler/A.cc", "tests/Helper.h"),
            ("compiler/graph/A.cc", "compiler/launch/Session.h"),
            ("compiler/graph/A.cc", "runtime/executor/Executor.h"),
            ("compiler/launch/A.cc", "compiler/graph/Graph.h"),
            ("compiler/launch/A.cc", "nccl.h"),
            ("compiler/launch/A.cc", "tests/reference/Simulator.h"),
            ("compiler/tools/A.cc", "runtime/cuda/CudaDevice.h"),
            ("examples/gpt/A.cc", "passes/global/Passes.h"),
            ("examples/gpt/A.cc", "runtime/executor/Executor.h"),
            ("benchmarks/device/A.cc", "tests/Helper.h"),
            ("tests/reference/A.cc", "passes/global/B.h"),
            ("tests/reference/A.cc", "runtime/api/Device.h"),
            ("tests/reference/A.cc", "tests/reference/tests/Fixture.h"),
            ("tests/reference/tests/A.cc", "tests/differential/Oracle.h"),
        ):
            self.forbids(path, used)

    def testNoBackendIncludesAnother(self):
        backends = ("host", "host/communicator", "host/jit", "host/calls", "mpi", "tcp", "gpu", "cuda", "nccl")
        legal = {
            ("host", "host/jit"),
            ("host", "host/calls"),
            ("cuda", "gpu"),
            ("nccl", "gpu"),
            ("nccl", "cuda"),
        }
        for one in backends:
            for other in backends:
                if one != other and (one, other) not in legal:
                    self.forbids(f"runtime/{one}/A.cc", f"runtime/{other}/B.h")

    def testEachLineOfTheTableAllows(self):
        for path, used in (
            ("dialects/nn/A.cc", "dialects/sbp/Sbp.h"),
            ("dialects/sbp/A.cc", "mlir/IR/Types.h"),
            ("passes/local/A.cc", "dialects/ccl/Ccl.h"),
            ("compiler/A.cc", "passes/global/B.h"),
            ("compiler/launch/A.cc", "runtime/executor/Executor.h"),
            ("compiler/tools/A.cc", "compiler/launch/Session.h"),
            ("runtime/executor/A.cc", "dialects/exec/Exec.h"),
            ("runtime/host/communicator/A.cc", "dialects/sbp/algebra/Boxing.h"),
            ("runtime/host/calls/A.cc", "dnnl.h"),
            ("runtime/cuda/A.cc", "cudnn.h"),
            ("runtime/mpi/A.cc", "mpi.h"),
            ("tests/reference/A.cc", "dialects/nn/Nn.h"),
            ("tests/compiler/A.cc", "compiler/graph/Graph.h"),
            ("tests/gpu/A.cc", "tests/reference/Simulator.h"),
            ("runtime/host/communicator/A.cc", "dialects/ccl/algebra/Collective.h"),
        ):
            self.assertEqual(layers.check(path, include(used)), [], (path, used))

    def testTheTableNamesRoomsAndHasNoCycle(self):
        below = {room: set(used) - {room} for room, used in layers.MAY_USE.items()}
        self.assertEqual(set().union(*below.values()) - set(below), set())
        while below:
            lowest = {room for room, used in below.items() if not used}
            self.assertTrue(lowest, f"each of these uses another of them: {sorted(below)}")
            below = {room: used - lowest for room, used in below.items() if room not in lowest}

    def testEachFolderOfTheProductHasALine(self):
        for path in ("runtime/rdma/A.cc", "runtime/host/numa/BUILD", "passes/A.cc", "compiler/graph/layers/A.h"):
            findings = layers.check(path, "int x;\n")
            self.assertEqual(len(findings), 1, path)
            self.assertIn("no line in the table", findings[0])
        self.assertEqual(layers.check("examples/gpt/A.cc", "int x;\n"), [])
        self.assertEqual(layers.check("tests/numa/A.cc", "int x;\n"), [])

    def testDefinitionsOfTablegenImport(self):
        self.assertEqual(len(layers.check("dialects/sbp/A.td", 'include "dialects/nn/Nn.td"\n')), 1)
        self.assertEqual(layers.check("dialects/nn/A.td", 'include "dialects/sbp/SbpBase.td"\n'), [])

    def testLabelsOfBuildFilesAreImports(self):
        for path, line, count in (
            ("runtime/host/BUILD", 'deps = ["//passes/global"],', 1),
            ("runtime/host/BUILD", 'deps = ["//runtime/api"],', 0),
            ("runtime/host/BUILD", 'visibility = ["//compiler:__subpackages__"],', 0),
            ("runtime/mpi/BUILD", 'deps = ["//runtime/host:device"],', 1),
            ("runtime/mpi/BUILD", 'deps = ["@splitcast//runtime/host:device"],', 1),
            ("runtime/executor/BUILD", 'deps = ["//tests/reference:simulator"],', 1),
            ("runtime/gpu/BUILD", 'deps = ["@cuda//:cuda"],', 1),
            ("runtime/cuda/BUILD", 'deps = ["@cuda//:cuda"],', 0),
            ("runtime/gpu/BUILD", 'load("@cuda//:found.bzl", "CUDA_FOUND")', 0),
            ("runtime/host/BUILD", 'deps = ["//third_party:dnnl"],', 1),
            ("runtime/host/BUILD", 'deps = ["//third_party:absl"],', 0),
            ("dialects/sbp/algebra/BUILD", 'deps = ["@llvm//:mlir"],', 1),
        ):
            self.assertEqual(len(layers.check(path, line + "\n")), count, (path, line))


class NamesTest(unittest.TestCase):
    def testNoTwoSourcesShareAName(self):
        good = ["runtime/io/Text.h", "runtime/io/Text.cc", "passes/local/Passes.td", "passes/plan/Passes.td"]
        self.assertEqual(names.check(good + ["tests/io/Text.h", "docs/Text.h", "runtime/io/BUILD", "compiler/BUILD"]), [])
        findings = names.check(good + ["examples/common/Text.cc", "dialects/nn/Text.td"])
        self.assertEqual(len(findings), 2, findings)
        self.assertTrue(findings[0].startswith("examples/common/Text.cc: 'Text'"), findings)


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

    def testReadersOfModules(self):
        call = "mlir::parseSource" + "File<mlir::ModuleOp>(path, &context);\n"
        self.expectOne("compiler/tools/Other.cc", call, "ModuleFile.h")
        for path in ("compiler/tools/ModuleFile.cc", "tests/docs/OpTable.cc"):
            self.assertEqual(hygiene.check(path, call), [])

    def testUnfinished(self):
        self.expectOne("a.cc", f"// {UNFINISHED}: more\n", UNFINISHED)
        self.expectOne("a.cc", "// FIX" + "ME(me)\n", "FIX" + "ME")
        self.assertEqual(hygiene.check("a.cc", f"int {UNFINISHED}s;\n"), [])


class ProseTest(unittest.TestCase):
    FULL = "x" * (prose.MAX_COLUMNS - 2) + " y"

    def testProseFitsItsColumns(self):
        self.assertEqual(prose.check("a.md", f"# A\n\n{self.FULL}\n"), [])
        for line in (f"{self.FULL} z", f"- {self.FULL[1:]} z", f"    {self.FULL}"):
            findings = prose.check("docs/a.md", f"# A\n\n{line}\n")
            self.assertEqual(len(findings), 1, line)
            self.assertIn(f"docs/a.md:3: {len(line)} columns", findings[0])
        # Columns are characters, not bytes.
        self.assertEqual(prose.check("a.md", "\u2192" * (prose.MAX_COLUMNS - 2) + " y\n"), [])
        self.assertEqual(prose.check("a.cc", f"// {self.FULL} z\n"), [])

    def testWhatCannotBeWrappedMayBeLonger(self):
        long = f"{self.FULL} z"
        for text in (f"| {long} |", f"  | {long} |", f"```bash\n{long}\n```", f"- A:\n\n  ```\n  {long}\n  ```"):
            self.assertEqual(prose.check("a.md", text + "\n"), [], text)
        self.assertEqual(prose.check("a.md", f"[A link](https://{'x' * prose.MAX_COLUMNS}).\n"), [])
        # Behind a block of code the limit holds again.
        findings = prose.check("a.md", f"```\n{long}\n```\n{long}\n")
        self.assertEqual([finding.split()[0] for finding in findings], ["a.md:4:"])


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
        for path in ("docs/reference/nn.md", "docs/reference/README.md", "tests/docs/reference/nn.md"):
            self.write(path, "")
        os.symlink("/usr", os.path.join(self.root, "linked"))
        written = [".ci/run", "docs/reference/README.md", "runtime/A.cc", "tests/docs/reference/nn.md"]
        self.assertEqual(sources.sources(self.root), written)

    def testStructureReadsTheTree(self):
        self.write("dialects/nn/A.cc", include("compiler/graph/Graph.h") + "\tint x;\n")
        self.write("dialects/ccl/A.cc", "int x;\n")
        self.write("docs/a.md", "word " * 30 + "end\n")
        count, findings = structure.findingsIn(self.root)
        self.assertEqual((count, len(findings)), (3, 4), findings)

    def testPatchesApply(self):
        self.write("a.cc", "one\ntwo\n\nthree\n")
        patch = "What it does.\nLevel: plan\n\n--- a/a.cc\n+++ b/a.cc\n@@ -1,4 +1,3 @@ f()\n {}\n-two\n \n+2\n three\n"
        self.write("tests/property/mutations/a.patch", patch.format("one"))
        self.assertEqual(patches.check(self.root), [])
        self.write("tests/property/mutations/a.patch", patch.format("1"))
        self.write("tests/property/mutations/b.patch", "Nothing.\nTest: //a/b:c\n")
        findings = patches.check(self.root)
        self.assertEqual(len(findings), 2)
        self.assertIn("a.patch: a.cc has no such lines", findings[0])
        self.assertIn("b.patch: changes nothing", findings[1])

    def testMutationsSayWhatFindsThem(self):
        self.write("a.cc", "one\n")
        patch = "What it does.\n{}\n--- a/a.cc\n+++ b/a.cc\n@@ -1 +1 @@\n-one\n+two\n"
        for line in ("Level: local\n", "Level: plan\n", "Test: //tests/a_b/c:d_test\n"):
            self.write("tests/property/mutations/a.patch", patch.format(line))
            self.assertEqual(patches.check(self.root), [], line)
        for line in ("", "Level: global\n", "Test: a:b\n", "Test: //a/b:c d\n", "Level: plan\nTest: //a/b:c\n"):
            self.write("tests/property/mutations/a.patch", patch.format(line))
            [finding] = patches.check(self.root)
            self.assertIn("a.patch: does not say what finds it", finding)

    def testNewFilesOfPatchesAreNew(self):
        self.write("tests/howto/a.patch", "What it adds.\n\n--- /dev/null\n+++ b/b.cc\n@@ -0,0 +1,2 @@\n+one\n+two\n")
        self.assertEqual(patches.check(self.root), [])
        self.write("b.cc", "one\n")
        [finding] = patches.check(self.root)
        self.assertIn("a.patch: b.cc is there already", finding)
        self.write("tests/howto/a.patch", "--- a/c.cc\n+++ b/c.cc\n@@ -1 +1 @@\n-one\n+two\n")
        [finding] = patches.check(self.root)
        self.assertIn("a.patch: c.cc has no such lines", finding)

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
        other = self.write("BUILD", "cc_library(\n    name = 'x',\n)\n")
        result = subprocess.run(["bash", script, good, other], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not a C++ source", result.stderr)
        with open(other, encoding="utf-8") as file:
            self.assertEqual(file.read(), "cc_library(\n    name = 'x',\n)\n")

    def judge(self, reports, expected, checked="A.cc", folders="no-such-folder"):
        return self.judgeWith([self.write("list", checked), str(expected), folders], reports)

    def judgeWith(self, arguments, reports):
        paths = [self.write(f"{index}.tidy", report) for index, report in enumerate(reports)]
        return subprocess.run(
            [sys.executable, os.path.join(ROOT, "tests/lint/tidy_report.py"), *arguments],
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

    def testTidyReportLeavesOutWhatComesByWayOfAnotherHeader(self):
        missing = 'runtime/A.cc:1:2: warning: no header providing "std::string" is directly included [misc-include-cleaner]\n'
        unused = "runtime/A.cc:1:1: warning: included header map is not used directly [misc-include-cleaner]\n"
        self.assertEqual(self.judge([missing], 0).returncode, 0)
        self.assertEqual(self.judge([missing + unused], 0).returncode, 1)
        self.assertEqual(self.judge([missing + unused], 1).returncode, 0)

    def testTidyReportJudgesWhatIsFinishedAlike(self):
        missing = 'runtime/A.cc:1:2: warning: no header providing "std::string" is directly included [misc-include-cleaner]\n'
        bad = "runtime/A.cc:1:1: warning: bad [some-check]\n"
        self.assertEqual(self.judgeWith([], []).returncode, 0)
        self.assertEqual(self.judgeWith([], ["", missing]).returncode, 0)
        result = self.judgeWith([], ["", missing + bad, bad])
        self.assertEqual(result.returncode, 1)
        self.assertIn("1 findings in the 3 reports that are finished", result.stdout)

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
