#!/usr/bin/env python3
"""Feeds the .mlir tests' runner, constraints_test.py and examples_test.py what must not pass.

The tool that the tests run is a script that prints a line.
"""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
RUNNER = os.path.join(HERE, "lit.sh")
CONFIG = os.path.join(os.path.dirname(HERE), "lit.cfg.py")
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import constraints_test
import descriptions
import examples_test


class RunnerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tool = self.write(
            "bin/splitcast-opt", '#!/bin/sh\necho "the line"\necho "$@"\ncase "$*" in *fail*) exit 3;; esac\n'
        )
        os.chmod(self.tool, 0o755)
        self.write("lit.cfg.py", f"lit_config.load_config(config, {CONFIG!r})\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_(self, *tests):
        paths = [self.write(f"{index}.mlir", text) for index, text in enumerate(tests)]
        result = subprocess.run(["bash", RUNNER, self.tool, *paths], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def expectFailure(self, text, words):
        status, output = self.run_(text)
        self.assertEqual(status, 1, output)
        self.assertIn(words, output)

    def testPasses(self):
        status, output = self.run_("// RUN: splitcast-opt %s | FileCheck %s\n// CHECK: the line\n")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"Passed: 1 \(100.00%\)")

    def testContinuedLinesAndPrefixes(self):
        text = "// RUN: splitcast-opt a \\\n// RUN:   b | FileCheck %s --check-prefix=X\n// X: the line\n// X-NEXT: a b\n"
        status, output = self.run_(text)
        self.assertEqual(status, 0, output)

    def testOneOfSeveralFails(self):
        good = "// RUN: splitcast-opt | FileCheck %s\n// CHECK: the line\n"
        status, output = self.run_(good, good.replace("CHECK: the", "CHECK: no"))
        self.assertEqual(status, 1)
        self.assertRegex(output, r"Passed: 1 \(50.00%\)\s+Failed: 1 ")

    def testNothingRan(self):
        self.assertNotEqual(self.run_()[0], 0)
        self.expectFailure("// CHECK: the line\n", "Test has no 'RUN:' line")

    def testNothingJudged(self):
        self.expectFailure("// RUN: splitcast-opt %s\n// CHECK: the line\n", "nothing judges")
        self.expectFailure("// RUN: splitcast-opt -verify-diagnostics %s\n", "expects none")

    def testNothingMustMatch(self):
        self.expectFailure("// RUN: splitcast-opt | FileCheck %s\n", "must match")
        self.expectFailure("// RUN: splitcast-opt | FileCheck %s\n// CHECK-NOT: other\n", "must match")
        text = "// RUN: splitcast-opt | FileCheck %s --check-prefixes=CHECK,X\n// CHECK: the line\n"
        self.expectFailure(text, "prefix X")

    def testMayBeSkipped(self):
        text = "// RUN: splitcast-opt | FileCheck %s\n// CHECK: the line\n"
        for condition in ("UNSUPPORTED: true", "REQUIRES: a_gpu"):
            self.expectFailure(f"// {condition}\n" + text, "may keep the test from failing")
        self.expectFailure("// XFAIL: *\n" + text.replace("the", "no"), "may keep the test from failing")
        # lit finds its words within others, and reads nothing behind END.
        self.expectFailure("// _XFAIL: *\n" + text.replace("the", "no"), "may keep the test from failing")
        self.expectFailure(text + "// AT THE END.\n// RUN: splitcast-opt | FileCheck %s --check-prefix=X\n", "END.")

    def testCommandsThatGoOn(self):
        for command in ("%if nope %{ splitcast-opt | FileCheck %s %}", "splitcast-opt fail | FileCheck %s || true",
                        "splitcast-opt fail | FileCheck %s; true"):
            self.expectFailure(f"// RUN: {command}\n// CHECK: the line\n", "may keep it from failing")
        for command in ("echo FileCheck", "splitcast-opt | not FileCheck %s", "not splitcast-opt fail -verify-diagnostics",
                        "splitcast-opt -verify-diagnostics=false"):
            self.expectFailure(f"// RUN: {command}\n// CHECK: the line\n// expected-error\n", "nothing judges")

    def testWrongOutput(self):
        self.expectFailure("// RUN: splitcast-opt | FileCheck %s\n// CHECK: other\n", "expected string not found")

    def testEveryCommandOfAPipelineCounts(self):
        self.expectFailure("// RUN: splitcast-opt fail | FileCheck %s\n// CHECK: the line\n", "error: command failed with exit status: 3")

    def testEveryRunLineCounts(self):
        text = "// RUN: splitcast-opt fail -verify-diagnostics\n// RUN: splitcast-opt | FileCheck %s\n"
        self.expectFailure(text + "// CHECK: the line\n// expected-error\n", "error: command failed with exit status: 3")


DIALECT = '''
class A_Op<string mnemonic, list<Trait> traits = []> : Op<A_Dialect, mnemonic, traits>;
def A_BoxOp : Other<"box"> {
  let description = [{
    ```mlir
    %1 = a.box %0 {value = 0.5 : f64} : tensor<4xf32>
    ```
    - C1: One constraint.
    - C2: Another one.
  }];
}
class Other<string name, string type = "::a::Type">
    : A_Op<name> {}
def A_SlotAttr : A_Attr<"Slot", "slot"> {
  let description = "None.";
}
'''

PASS = '''
def MovePass : Pass<"a-move-it", "mlir::ModuleOp"> {
  let description = [{
    Moves. From tests/passes/a/move_it_example.mlir:
    ```mlir
    %w = a.read @w : tensor<4xf32>          // before: one line
    %0 = a.read @w : tensor<4xf32, #S>      // after
    %w = a.box %0 {value = 0.5, ...}
    ```
  }];
}
def VerifyPass : Pass<"a-verify-local", "mlir::ModuleOp"> {
  let description = [{
    ```mlir
    %w = a.read @w : tensor<4xf32>          // refused
    ```
  }];
}
'''

EXAMPLE = """// The example.
%w = a.read @w : tensor<4xf32>
// CHECK: %[[_0:.*]] = a.read @w : tensor<4xf32, #S>
// CHECK-NEXT: %[[w:.*]] = a.box %[[_0]] {value = 5.000000e-01 : f64, {{.*}}}
"""


class DescriptionsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.write("dialects/a/A.td", DIALECT)
        self.write("passes/a/Passes.td", PASS)
        self.write("tests/passes/a/move_it_example.mlir", EXAMPLE)
        self.write(
            "tests/dialects/a/box.mlir",
            "@box_c1 expected-error\n// -----\n@box_c1_legal\n// -----\n@box_c2 expected-error\n"
            "// -----\n@box_c2_legal\n%1 = a.box %0 {value = 5.0e-1 : f64} : tensor<4xf32>\n",
        )

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def replace(self, path, old, new):
        full = os.path.join(self.folder.name, path)
        with open(full, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def expectOne(self, module, words):
        count, findings = module.findingsIn(self.folder.name)
        self.assertGreater(count, 0)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(words, findings[0])

    def testNames(self):
        names = [entry.name for entry in descriptions.entries(self.folder.name)]
        self.assertEqual(names, ["box", "slot", "move_it", "verify_local"])

    def testOps(self):
        ops = [entry.op for entry in descriptions.entries(self.folder.name)]
        self.assertEqual(ops, ["a.box", None, None, None])

    def testNothingIsMissing(self):
        self.assertEqual(constraints_test.findingsIn(self.folder.name), (2, []))
        self.assertEqual(examples_test.findingsIn(self.folder.name), (5, []))

    def testBothSidesOfABound(self):
        self.replace("tests/dialects/a/box.mlir", "@box_c2 expected-error", "@box_c2")
        self.expectOne(constraints_test, "@box_c2: no section")

    def testLegalSideExpectsNothing(self):
        self.replace("tests/dialects/a/box.mlir", "@box_c1_legal", "@box_c1_legal expected-error")
        self.expectOne(constraints_test, "@box_c1_legal: no section")

    def testNewLabel(self):
        self.replace("dialects/a/A.td", "- C2: Another one.", "- C2: Another one.\n    - C3: A third.")
        self.assertEqual(len(constraints_test.findingsIn(self.folder.name)[1]), 2)

    def testChangedSnippet(self):
        self.replace("dialects/a/A.td", "value = 0.5", "value = 0.25")
        self.expectOne(examples_test, "value = 0.25")

    def testInputIsNoOutput(self):
        self.replace("tests/passes/a/move_it_example.mlir", "// CHECK: %[[_0:.*]]", "%0")
        self.expectOne(examples_test, "shows, after")

    def testPassWithoutExample(self):
        self.replace("passes/a/Passes.td", "%w = a.read @w : tensor<4xf32>          // refused\n", "")
        self.expectOne(examples_test, "'verify_local' shows no example")

    def testOpWithoutExample(self):
        self.write("dialects/a/B.td", 'def A_ViewOp : A_Op<"view", [Pure]>;\ndef Traits : NativeOpTrait<"Traits">;\n')
        self.expectOne(examples_test, "'a.view' shows no example")

    def testExampleOfAnotherOp(self):
        for other in ("a.box2", "a.box.b"):
            self.replace("dialects/a/A.td", "= a.box %0", f"= {other} %0")
            self.replace("tests/dialects/a/box.mlir", "= a.box %0", f"= {other} %0")
            self.expectOne(examples_test, "'a.box' shows no example")
            self.tearDown()
            self.setUp()

    def testExampleOfARefusedModule(self):
        self.replace("tests/dialects/a/box.mlir", "@box_c1 ", "// RUN: splitcast-opt %s -verify-diagnostics\n@box_c1 ")
        self.expectOne(examples_test, "is not in the tests")
        self.replace("dialects/a/A.td", "```mlir", "From tests/dialects/a/box.mlir:\n    ```mlir")
        self.expectOne(examples_test, "is not in tests/dialects/a/box.mlir")

    def testExampleOfNoFile(self):
        self.replace("passes/a/Passes.td", "move_it_example", "gone_example")
        self.expectOne(examples_test, "does not exist")


if __name__ == "__main__":
    unittest.main()
